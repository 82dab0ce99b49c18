//! `/mailbox`: mails that the capture transport kept instead of sending them.

use crate::json::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use mailwright_app::delivery::mailbox::{Captured, Message};
use mailwright_app::{App, Resource};
use mailwright_core::ids::EmailId;
use mailwright_core::time::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use crate::auth::ProjectAccess;
use crate::auth::needs::{ReadMail, WriteMail};
use crate::envelope::CursorPage;
use crate::error::{ErrorEnvelope, Result};
use crate::feedback::received::download;
use crate::framed::{FrameParams, Framed};
use crate::params::{self, OpenedInBrowser, Params, PathText, PathTexts, RowLimit};

/// A captured mail as lists show it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CapturedView {
    id: EmailId,
    /// Id of the mail; the same as `id`.
    email_id: EmailId,
    from: String,
    to: String,
    subject: String,
    /// Bytes.
    size: i64,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl From<Captured> for CapturedView {
    fn from(mail: Captured) -> Self {
        Self {
            id: mail.id,
            email_id: mail.id,
            from: mail.sender,
            to: mail.recipient,
            subject: mail.subject,
            size: mail.size,
            created_at: mail.created_at,
        }
    }
}

/// List captured mails
///
/// Newest first.
#[utoipa::path(get, path = "/mailbox", tag = "Mailbox", operation_id = "listMailbox", security(("secretKey" = []), ("session" = [])),
    params(
        ("limit" = inline(Option<RowLimit>), Query, description = "Rows per page"),
        ("cursor" = Option<String>, Query, description = "The `cursor` of the previous page"),
    ),
    responses((status = 200, body = CursorPage<CapturedView>), (status = 400, description = "The cursor does not belong to this list", body = ErrorEnvelope)))]
pub(crate) async fn list(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadMail>,
    params: Params,
) -> Result<Json<CursorPage<CapturedView>>> {
    let page = app.captured(&project, params.cursor()?, params.bounded::<RowLimit>() as usize).await?;
    let cursor = page.mails.last().filter(|_| page.has_more).map(|last| last.id.to_string());
    Ok(Json(CursorPage {
        data: page.mails.into_iter().map(CapturedView::from).collect(),
        cursor,
        has_more: page.has_more,
        total: page.total,
    }))
}

/// Remove every captured mail
#[utoipa::path(delete, path = "/mailbox", tag = "Mailbox", operation_id = "clearMailbox", security(("secretKey" = []), ("session" = [])),
    responses((status = 204)))]
pub(crate) async fn clear(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteMail>,
) -> Result<StatusCode> {
    app.clear_mailbox(&project, &caller.actor).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A captured mail with its parts.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MessageView {
    #[serde(flatten)]
    mail: CapturedView,
    /// Header fields in order.
    headers: Vec<HeaderView>,
    /// Plain text part.
    text: Option<String>,
    /// HTML part.
    html: Option<String>,
    attachments: Vec<AttachmentView>,
    /// The whole message.
    raw: String,
}

/// A header field.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HeaderView {
    name: String,
    value: String,
}

/// A file of a captured mail.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AttachmentView {
    filename: String,
    content_type: String,
    /// Bytes.
    size: usize,
    content_id: Option<String>,
}

impl From<Message> for MessageView {
    fn from(message: Message) -> Self {
        Self {
            mail: message.captured.into(),
            headers: message.headers.into_iter().map(|(name, value)| HeaderView { name, value }).collect(),
            text: message.text,
            html: message.html,
            attachments: message
                .attachments
                .into_iter()
                .map(|file| AttachmentView {
                    filename: file.filename,
                    content_type: file.content_type,
                    size: file.size,
                    content_id: file.content_id,
                })
                .collect(),
            raw: String::from_utf8_lossy(&message.raw).into_owned(),
        }
    }
}

/// Get a captured mail
#[utoipa::path(get, path = "/mailbox/{id}", tag = "Mailbox", operation_id = "getMailboxMessage", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 200, body = MessageView), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn get(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadMail>,
    PathText(id): PathText,
) -> Result<Json<MessageView>> {
    Ok(Json(app.captured_message(&project, params::id(&id, Resource::CapturedEmail)?).await?.into()))
}

/// Remove a captured mail
#[utoipa::path(delete, path = "/mailbox/{id}", tag = "Mailbox", operation_id = "deleteMailboxMessage", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 204), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn delete(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<WriteMail>,
    PathText(id): PathText,
) -> Result<StatusCode> {
    app.delete_captured(&project, params::id(&id, Resource::CapturedEmail)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Get the source of a captured mail
#[utoipa::path(get, path = "/mailbox/{id}/raw", tag = "Mailbox", operation_id = "getMailboxSource", security(("secretKey" = []), ("session" = [])),
    params(
        ("id" = String, Path),
        OpenedInBrowser,
    ),
    responses((status = 200, description = "The message as it would have been sent", content_type = "message/rfc822", body = String), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn raw(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadMail>,
    PathText(id): PathText,
) -> Result<impl IntoResponse> {
    let message = app.captured_message(&project, params::id(&id, Resource::CapturedEmail)?).await?;
    Ok((download("message/rfc822", "mail.eml"), message.raw))
}

/// Show a captured mail
///
/// Its HTML as a page for a frame, with the pictures that came with it; its text where it has no HTML. Nothing in the
/// page can act or lead out of it, and looking at it counts as no open. Pictures from other servers are shown with
/// `images=1` alone.
#[utoipa::path(get, path = "/mailbox/{id}/html", tag = "Mailbox", operation_id = "showMailboxMessage", security(("secretKey" = []), ("session" = [])),
    params(
        ("id" = String, Path),
        FrameParams,
        OpenedInBrowser,
    ),
    responses(
        (status = 200, description = "The page", content_type = "text/html", body = String),
        (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn html(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadMail>,
    PathText(id): PathText,
    params: Params,
) -> Result<Framed> {
    let page = app.captured_page(&project, params::id(&id, Resource::CapturedEmail)?).await?;
    Ok(Framed::new(page, &params))
}

/// Get a file of a captured mail
///
/// `index` is its place among the `attachments` of the mail, from 0.
#[utoipa::path(get, path = "/mailbox/{id}/attachments/{index}", tag = "Mailbox", operation_id = "getMailboxAttachment", security(("secretKey" = []), ("session" = [])),
    params(
        ("id" = String, Path),
        ("index" = String, Path),
        OpenedInBrowser,
    ),
    responses(
        (status = 200, description = "The file", content_type = "application/octet-stream", body = String),
        (status = 404, description = "No such mail or file", body = ErrorEnvelope)))]
pub(crate) async fn attachment(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadMail>,
    PathTexts(id, index): PathTexts,
) -> Result<impl IntoResponse> {
    let mail = params::id(&id, Resource::CapturedEmail)?;
    let number = params::id(&index, Resource::Attachment)?;
    let (file, bytes) = app.captured_file(&project, mail, number).await?;
    let name = if file.filename.is_empty() { format!("attachment-{number}") } else { file.filename };
    Ok((download("application/octet-stream", &name), bytes))
}
