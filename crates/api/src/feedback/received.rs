//! `/emails/{id}/attachments` and `/emails/{id}/raw`: the files of mails that came in, and the mails as they came.

use axum::extract::State;
use axum::http::{HeaderName, header};
use axum::response::IntoResponse;
use mailwright_app::sending::email::{Contents, Inbound};
use mailwright_app::{App, Resource};
use mailwright_core::ids::EmailId;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::auth::ProjectAccess;
use crate::auth::needs::ReadMail;
use crate::error::{ErrorEnvelope, Result};
use crate::json::Json;
use crate::params::{self, OpenedInBrowser, PathText, PathTexts};

/// What strangers wrote is never opened as a page of this host.
const SANDBOX: &str = "sandbox; default-src 'none'; frame-ancestors 'none'";

/// What more is known of a mail that came in. All of it is what a stranger wrote: show it as text.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InboundView {
    /// All recipients of the project.
    #[schema(value_type = Vec<String>)]
    recipients: Value,
    /// `From` as it stands in the mail.
    from_header: String,
    /// The mail of the project that it answers.
    in_reply_to: Option<EmailId>,
    /// Whether a machine wrote it.
    is_automatic: bool,
    /// Whether the domain of its sender vouches for it (DMARC). Otherwise anybody may have written the address.
    is_sender_verified: bool,
    /// At most 256 KiB.
    text: Option<String>,
    /// HTML without scripts, forms and styles, at most 256 KiB.
    html: Option<String>,
    #[schema(value_type = Vec<ReceivedAttachment>)]
    attachments: Value,
    #[schema(value_type = VerdictsView)]
    verdicts: Value,
    /// Bytes of the mail as it came; 0 when it was brought without its content.
    size: i64,
}

/// A file of a mail that came in.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "describes what is stored")]
pub(crate) struct ReceivedAttachment {
    filename: Option<String>,
    /// Its type, as the sender says.
    content_type: String,
    /// Bytes.
    size: i64,
    /// Name by which the HTML refers to it.
    content_id: Option<String>,
    /// Whether it is to be shown within the mail.
    is_inline: bool,
}

/// What was found out of a mail's sender: `PASS`, `FAIL`, `GRAY` (there is nothing to check, or no certain result),
/// `PROCESSING_FAILED` or `DISABLED` (it is not checked).
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "describes what is stored")]
#[expect(clippy::struct_field_names, reason = "the names of the event")]
pub(crate) struct VerdictsView {
    spam_verdict: Option<String>,
    virus_verdict: Option<String>,
    spf_verdict: Option<String>,
    dkim_verdict: Option<String>,
    dmarc_verdict: Option<String>,
}

impl From<(Inbound, Contents)> for InboundView {
    fn from((mail, contents): (Inbound, Contents)) -> Self {
        Self {
            recipients: mail.recipients,
            from_header: mail.from_header,
            in_reply_to: mail.in_reply_to,
            is_automatic: mail.is_automatic,
            is_sender_verified: mail.verdicts["dmarcVerdict"] == "PASS",
            text: contents.text,
            html: contents.html,
            attachments: mail.attachments,
            verdicts: mail.verdicts,
            size: mail.size,
        }
    }
}

/// List the files of a mail that came in
///
/// At most 100, in their order.
#[utoipa::path(get, path = "/emails/{id}/attachments", tag = "Emails", operation_id = "listAttachments", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses(
        (status = 200, body = Vec<ReceivedAttachment>),
        (status = 404, description = "No such mail came in", body = ErrorEnvelope)))]
pub(crate) async fn list(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadMail>,
    PathText(id): PathText,
) -> Result<Json<Value>> {
    Ok(Json(app.attachments(&project, params::id(&id, Resource::Email)?).await?))
}

/// Get a file of a mail that came in
///
/// `index` is its place in the list, from 0. It is there for as long as mails are kept as they came, 30 days unless the
/// instance says otherwise.
#[utoipa::path(get, path = "/emails/{id}/attachments/{index}", tag = "Emails", operation_id = "getAttachment", security(("secretKey" = []), ("session" = [])),
    params(
        ("id" = String, Path),
        ("index" = String, Path),
        OpenedInBrowser,
    ),
    responses(
        (status = 200, description = "The file", content_type = "application/octet-stream", body = String),
        (status = 404, description = "No such mail or file, or it is not kept any longer", body = ErrorEnvelope)))]
pub(crate) async fn get(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadMail>,
    PathTexts(id, index): PathTexts,
) -> Result<impl IntoResponse> {
    let mail = params::id(&id, Resource::Email)?;
    let number = params::id(&index, Resource::Attachment)?;
    let (file, bytes) = app.attachment(&project, mail, number).await?;
    let name = file.filename.unwrap_or_else(|| format!("attachment-{number}"));
    Ok((download("application/octet-stream", &name), bytes))
}

/// Get a mail as it came in
///
/// It is there for as long as mails are kept as they came, 30 days unless the instance says otherwise.
#[utoipa::path(get, path = "/emails/{id}/raw", tag = "Emails", operation_id = "getReceivedSource", security(("secretKey" = []), ("session" = [])),
    params(
        ("id" = String, Path),
        OpenedInBrowser,
    ),
    responses(
        (status = 200, description = "The message", content_type = "message/rfc822", body = String),
        (status = 404, description = "No such mail came in, or it is not kept any longer", body = ErrorEnvelope)))]
pub(crate) async fn raw(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadMail>,
    PathText(id): PathText,
) -> Result<impl IntoResponse> {
    let bytes = app.received_source(&project, params::id(&id, Resource::Email)?).await?;
    Ok((download("message/rfc822", "mail.eml"), bytes))
}

/// The header of an answer that is saved as a file (RFC 6266).
pub(crate) fn download(kind: &'static str, name: &str) -> [(HeaderName, String); 4] {
    let encoded: String = form_urlencoded::byte_serialize(name.as_bytes()).collect();
    [
        (header::CONTENT_TYPE, kind.to_owned()),
        (
            header::CONTENT_DISPOSITION,
            format!("attachment; filename*=UTF-8''{}", encoded.replace('+', "%20").replace('*', "%2A")),
        ),
        (header::CONTENT_SECURITY_POLICY, SANDBOX.to_owned()),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
    ]
}

#[cfg(test)]
mod tests {
    use super::download;

    #[test]
    fn no_name_of_a_file_ends_the_header() {
        let [_, (_, disposition), ..] = download("text/plain", "a\" b\r\nX: \u{fc}*.txt");
        assert_eq!(disposition, "attachment; filename*=UTF-8''a%22%20b%0D%0AX%3A%20%C3%BC%2A.txt");
    }
}
