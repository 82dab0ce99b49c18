//! `POST /v1/send`.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use base64::Engine;
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use mailwright_app::App;
use mailwright_app::project::key::Identity;
use mailwright_app::sending::content::File;
use mailwright_app::sending::send::{Recipient, Send};
use mailwright_core::address::{EmailAddress, Mailbox};
use mailwright_core::custom_data;
use mailwright_core::header::{self, HeaderError};
use mailwright_core::ids::{ContactId, EmailId, TemplateId};
use mailwright_core::issue::Issue;
use mailwright_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::auth::{SendKey, idempotency_key};
use crate::envelope::Success;
use crate::error::{ApiError, ErrorEnvelope, Failure};
use crate::fields::{
    Base64Text, ContentId, DataObject, DisplayName, Email, FileName, HeaderValue, MailHtml, MailText,
    MailboxText, MediaType, Subject,
};
use crate::schema::{KeptBody, Payload, object, objects};

/// Most recipients of one request: each is a row of one transaction.
pub(crate) const MAX_RECIPIENTS: usize = 1000;

/// Whom a mail goes to.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum To {
    /// An address.
    Address(Email),
    /// An address with a name.
    #[serde(deserialize_with = "object")]
    Named(NamedAddress),
    /// Several of either.
    Many(Vec<OneRecipient>),
}

/// One of several recipients.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum OneRecipient {
    /// An address.
    Address(Email),
    /// An address with a name.
    #[serde(deserialize_with = "object")]
    Named(NamedAddress),
}

/// An address with a name.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct NamedAddress {
    /// The address.
    email: Email,
    /// The name.
    name: Option<DisplayName>,
}

/// Who a mail comes from.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum From {
    /// An address.
    Address(Email),
    /// An address with a name.
    #[serde(deserialize_with = "object")]
    Named(NamedAddress),
}

/// Where answers to a mail go.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum Reply {
    /// An address, or a name with an address in angle brackets.
    Mailbox(MailboxText),
    /// An address with a name.
    #[serde(deserialize_with = "object")]
    Named(NamedAddress),
}

impl Reply {
    /// The address and the name, the same whichever way they were written.
    fn parts(self) -> Option<(EmailAddress, Option<String>)> {
        let (address, name) = match self {
            Self::Mailbox(text) => {
                let mailbox = Mailbox::parse(&text.0)?;
                (EmailAddress::parse(&mailbox.address)?, mailbox.name)
            }
            Self::Named(named) => (named.email.0, named.name.map(String::from)),
        };
        Some((address, name.filter(|name| !name.trim().is_empty())))
    }
}

/// A file that goes with a mail.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Attachment {
    /// Name of the file.
    filename: FileName,
    /// The file in base64.
    content: Base64Text,
    /// MIME type.
    content_type: MediaType,
    /// Name by which the HTML refers to an inline file, as `cid:<contentId>`.
    content_id: Option<ContentId>,
    /// How the file is shown; `attachment` by default.
    disposition: Option<Disposition>,
}

/// How an attached file is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Disposition {
    /// Beside the mail.
    Attachment,
    /// Inside the HTML.
    Inline,
}

/// A mail to send.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SendRequest {
    to: To,
    /// Required without a template.
    subject: Option<Subject>,
    /// HTML. Required without a template.
    body: Option<MailHtml>,
    /// Plain text for programs that show no HTML, with variables. Made from the HTML when absent.
    text: Option<MailText>,
    /// A saved template whose subject, body, sender and reply address are used where the request gives none.
    template: Option<TemplateId>,
    /// Required unless the template has a sender. Its domain must be verified.
    from: Option<From>,
    /// Deprecated: use `from: {name, email}`.
    #[schema(deprecated)]
    from_name: Option<DisplayName>,
    /// The same as `fromName`.
    #[schema(deprecated)]
    name: Option<DisplayName>,
    /// False by default for new contacts; existing ones keep their state when omitted.
    subscribed: Option<bool>,
    /// Variables of the mail and changes to the contact's data.
    #[serde(default)]
    data: Option<DataObject>,
    /// Custom headers.
    #[serde(default)]
    headers: Option<std::collections::BTreeMap<String, HeaderValue>>,
    /// Where answers go.
    reply: Option<Reply>,
    /// Files.
    #[serde(default, deserialize_with = "objects")]
    attachments: Option<Vec<Attachment>>,
}

/// Whether there are more headers than a mail may have.
fn too_many_headers(headers: &std::collections::BTreeMap<String, HeaderValue>) -> Option<Issue> {
    let bytes: usize = headers.iter().map(|(name, value)| name.len() + value.0.len()).sum();
    let is_too_much = headers.len() > header::MAX_HEADERS || bytes > header::MAX_BYTES;
    is_too_much.then(|| {
        let (most, kilobytes) = (header::MAX_HEADERS, header::MAX_BYTES / 1024);
        let message =
            format!("Must have at most {most} headers, and {kilobytes} KB of names and values together.");
        Issue::new("headers", "too_big", message)
    })
}

impl Payload for SendRequest {
    // attachments in base64 included
    const MAX_BODY: usize = 50 * 1024 * 1024;

    fn check(&self) -> Vec<Issue> {
        let mut issues = Vec::new();
        if let Some(DataObject(data)) = &self.data {
            issues.extend(custom_data::check(data, "data"));
        }
        issues.extend(self.headers.as_ref().and_then(too_many_headers));
        for (name, value) in self.headers.iter().flatten() {
            if let Err(error) = header::check(name, &value.0) {
                let code = if error == HeaderError::Reserved { "custom" } else { "invalid_string" };
                issues.push(Issue::new(format!("headers.{name}"), code, error.to_string()));
            }
        }
        if let To::Many(many) = &self.to
            && many.len() > MAX_RECIPIENTS
        {
            issues.push(Issue::new(
                "to",
                "too_big",
                format!("Must have at most {MAX_RECIPIENTS} recipients."),
            ));
        }
        for (index, attachment) in self.attachments.iter().flatten().enumerate() {
            if attachment.disposition == Some(Disposition::Inline) && attachment.content_id.is_none() {
                let field = format!("attachments.{index}.contentId");
                issues.push(Issue::new(field, "custom", "An inline attachment needs a contentId."));
            }
        }
        // rules across fields come after all rules on fields (reference 1.1)
        if issues.is_empty() && self.template.is_none() && (self.subject.is_none() || self.body.is_none()) {
            issues.push(Issue::new("template", "custom", "Pass a template, or both subject and body."));
        }
        issues
    }
}

/// A mail was accepted for each recipient.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SendResult {
    /// One element per recipient, in the order of `to`.
    emails: Vec<AcceptedEmail>,
    /// When processing began.
    #[schema(value_type = String, format = DateTime)]
    timestamp: Timestamp,
}

/// A mail that will be handed over.
#[derive(Debug, Serialize, ToSchema)]
struct AcceptedEmail {
    contact: ContactRef,
    /// Identifier of the mail.
    email: EmailId,
}

/// The recipient's contact.
#[derive(Debug, Serialize, ToSchema)]
struct ContactRef {
    id: ContactId,
    /// Address in its normal form.
    email: String,
}

/// Send a transactional mail
///
/// Upserts each recipient as a contact and queues a mail of its own for each. Either all recipients are accepted or
/// none. An answer of 200 means that the mails are stored and will be handed over.
#[utoipa::path(post, path = "/v1/send", tag = "Public API", security(("secretKey" = [])),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 printable ASCII characters. Of all requests of a project with the same key, one is performed.")),
    request_body = SendRequest,
    responses(
        (status = 200, description = "Accepted", body = Success<SendResult>),
        (status = 400, description = "Malformed JSON, or a marketing template and an unsubscribed recipient", body = ErrorEnvelope),
        (status = 401, description = "Missing or invalid key", body = ErrorEnvelope),
        (status = 403, description = "The sender's domain is not verified", body = ErrorEnvelope),
        (status = 404, description = "No such template", body = ErrorEnvelope),
        (status = 409, description = "The idempotency key was used", body = ErrorEnvelope),
        (status = 422, description = "Validation failed", body = ErrorEnvelope),
        (status = 429, description = "Too many requests", body = ErrorEnvelope),
    ))]
pub(crate) async fn send(
    State(app): State<App>,
    SendKey(key): SendKey,
    headers: HeaderMap,
    request: axum::extract::Request,
) -> Result<Json<Success<SendResult>>, Failure> {
    let mut body = KeptBody::of(request);
    let mut sent = accept(&app, &key.caller, &headers, &mut body).await;
    // without a recipient there was no transaction that would have looked
    if sent.as_ref().map_or(true, |sent| sent.emails.is_empty())
        && let Some(caller) = key.confirm(&app).await?
    {
        sent = accept(&app, &caller, &headers, &mut body).await;
    }
    Ok(Json(Success::new(sent?)))
}

async fn accept(
    app: &App,
    caller: &Identity,
    headers: &HeaderMap,
    body: &mut KeptBody,
) -> Result<SendResult, Failure> {
    let key = idempotency_key(app, caller, headers, "/v1/send").await?;
    let body: SendRequest = body.parse().await?;
    let send = checked(body, app)?;
    let (accepted, timestamp) = app.send(caller, send, key).await?;
    let emails = accepted.into_iter().map(|a| AcceptedEmail {
        contact: ContactRef { id: a.contact, email: a.address.to_string() },
        email: a.email,
    });
    Ok(SendResult { emails: emails.collect(), timestamp })
}

fn checked(body: SendRequest, app: &App) -> Result<Send, ApiError> {
    let attachments = files(body.attachments.unwrap_or_default(), app)?;
    let html = body.body.as_ref().map_or(0, |html| html.0.len());
    let text = body.text.as_ref().map(|text| text.0.len());
    let headers = body.headers.iter().flatten().map(|(name, value)| name.len() + value.0.len() + 4).sum();
    if let Some(issue) = too_long(html, text, headers, &attachments, app.settings().attachments.message_bytes)
    {
        return Err(ApiError::invalid(vec![issue]));
    }
    let to = match body.to {
        To::Address(email) => vec![Recipient { email: email.0, name: None }],
        To::Named(named) => vec![recipient(named)],
        To::Many(many) => many
            .into_iter()
            .map(|one| match one {
                OneRecipient::Address(email) => Recipient { email: email.0, name: None },
                OneRecipient::Named(named) => recipient(named),
            })
            .collect(),
    };
    let from = body.from.map(|from| match from {
        From::Address(email) => (email.0, None),
        From::Named(named) => (named.email.0, named.name.map(String::from).filter(|name| !name.is_empty())),
    });
    Ok(Send {
        to,
        subject: body.subject.map(String::from),
        body: body.body.map(String::from),
        text: body.text.map(String::from),
        template: body.template,
        from,
        from_name: body.from_name.or(body.name).map(String::from).filter(|name| !name.is_empty()),
        subscribed: body.subscribed,
        data: body.data.unwrap_or_default().0,
        headers: body.headers.unwrap_or_default().into_iter().map(|(name, value)| (name, value.0)).collect(),
        reply: body.reply.and_then(Reply::parts),
        attachments,
    })
}

fn recipient(named: NamedAddress) -> Recipient {
    Recipient { email: named.email.0, name: named.name.map(String::from) }
}

/// Bytes that a part takes beside its content, and a message beside its parts.
const PART_BYTES: usize = 1024;

/// Whether the message would be longer than `most` bytes (contract, Limits). An estimate: what variables and a template
/// make of it is known only when it is rendered.
fn too_long(html: usize, text: Option<usize>, headers: usize, files: &[File], most: usize) -> Option<Issue> {
    // in quoted-printable, once as HTML and once as text
    let body = html * 7 / 5 + text.unwrap_or(html) * 7 / 5;
    // in base64, 57 bytes to a line of 78
    let attached: usize = files.iter().map(|file| file.content.len().div_ceil(57) * 78 + PART_BYTES).sum();
    if body + attached + headers + PART_BYTES <= most {
        return None;
    }
    let field = match text {
        _ if attached > body => "attachments",
        Some(text) if text > html => "text",
        _ => "body",
    };
    let megabytes = most / 1024 / 1024;
    let message =
        format!("The whole message, encoded, with a text part and attachments, may have {megabytes} MB.");
    Some(Issue::new(field, "too_big", message))
}

/// How many bytes a text in base64 stands for, padded or not.
fn decoded_len(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / 4
}

/// Decodes the attachments, within the limits of the contract.
fn files(attachments: Vec<Attachment>, app: &App) -> Result<Vec<File>, ApiError> {
    let limits = app.settings().attachments;
    let issue =
        |field: String, code, message: String| ApiError::invalid(vec![Issue::new(field, code, message)]);
    if attachments.len() > limits.count {
        return Err(issue(
            "attachments".into(),
            "too_big",
            format!("Must have at most {} elements.", limits.count),
        ));
    }
    let total: usize = attachments.iter().map(|a| decoded_len(&a.content.0)).sum();
    if total > limits.total_bytes {
        let megabytes = limits.total_bytes / 1024 / 1024;
        return Err(issue(
            "attachments".into(),
            "custom",
            format!("All attachments together may have {megabytes} MB, before they are encoded."),
        ));
    }
    // files that other systems encoded without padding are no reason to refuse a mail
    let lenient = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let base64 = GeneralPurpose::new(&ALPHABET, lenient);
    let mut issues = Vec::new();
    let mut files = Vec::with_capacity(attachments.len());
    for (index, attachment) in attachments.into_iter().enumerate() {
        match base64.decode(attachment.content.0.as_bytes()) {
            Ok(content) => files.push(File {
                filename: attachment.filename.0,
                content_type: attachment.content_type.0,
                content_id: attachment.content_id.map(String::from),
                inline: attachment.disposition == Some(Disposition::Inline),
                content: content.into(),
            }),
            Err(_) => issues.push(Issue::new(
                format!("attachments.{index}.content"),
                "invalid_string",
                "Must be base64 text: the standard alphabet, without a data: prefix and without line ends.",
            )),
        }
    }
    if issues.is_empty() { Ok(files) } else { Err(ApiError::invalid(issues)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: usize = 1024 * 1024;

    fn file(bytes: usize) -> File {
        File {
            filename: "a.bin".into(),
            content_type: "application/octet-stream".into(),
            content_id: None,
            inline: false,
            content: vec![0; bytes].into(),
        }
    }

    #[test]
    fn files_are_measured_as_they_will_arrive() {
        for bytes in 0..10 {
            let padded = base64::engine::general_purpose::STANDARD.encode(vec![7; bytes]);
            assert_eq!(decoded_len(&padded), bytes);
            assert_eq!(decoded_len(padded.trim_end_matches('=')), bytes);
        }
    }

    #[test]
    fn a_message_has_at_most_forty_megabytes() {
        let field = |html, files: &[File]| too_long(html, None, 100, files, 40 * MB).map(|issue| issue.field);
        assert_eq!(field(0, &[]), None);
        assert_eq!(field(14 * MB, &[]), None);
        assert_eq!(field(15 * MB, &[]).as_deref(), Some("body"));
        assert_eq!(field(9 * MB, &[file(10 * MB)]), None);
        assert_eq!(field(10 * MB, &[file(10 * MB)]).as_deref(), Some("body"));
        assert_eq!(field(1000, &[file(30 * MB)]).as_deref(), Some("attachments"));
        assert_eq!(too_long(0, None, 100, &[], 1000).map(|issue| issue.code), Some("too_big"));
        let with_text = |html, text| too_long(html, Some(text), 100, &[], 40 * MB).map(|issue| issue.field);
        assert_eq!(with_text(28 * MB, 100), None);
        assert_eq!(with_text(100, 28 * MB), None);
        assert_eq!(with_text(100, 29 * MB).as_deref(), Some("text"));
        assert_eq!(with_text(29 * MB, 100).as_deref(), Some("body"));
    }
}
