//! What a request to send says.

use mailwright_app::App;
use mailwright_app::sending::send::{Recipient, Send};
use mailwright_core::address::{EmailAddress, Mailbox};
use mailwright_core::custom_data;
use mailwright_core::header::{self, HeaderError};
use mailwright_core::ids::TemplateId;
use mailwright_core::issue::Issue;
use serde::Deserialize;
use utoipa::ToSchema;

use super::attachment::{Attachment, Disposition, files, too_long};
use crate::error::ApiError;
use crate::fields::{DataObject, DisplayName, Email, HeaderValue, MailHtml, MailText, MailboxText, Subject};
use crate::schema::{Payload, object, objects};

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

/// Where replies to a mail go.
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

/// A mail to send.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SendRequest {
    pub(super) to: To,
    /// Required without a template.
    pub(super) subject: Option<Subject>,
    /// HTML. Required without a template.
    pub(super) body: Option<MailHtml>,
    /// Plain text for programs that show no HTML, with variables. Made from the HTML when absent.
    pub(super) text: Option<MailText>,
    /// A saved template whose subject, body, sender and reply address are used where the request gives none.
    pub(super) template: Option<TemplateId>,
    /// Required unless the template has a sender. Its domain must be verified.
    pub(super) from: Option<From>,
    /// Deprecated: use `from: {name, email}`.
    #[schema(deprecated)]
    pub(super) from_name: Option<DisplayName>,
    /// The same as `fromName`.
    #[schema(deprecated)]
    pub(super) name: Option<DisplayName>,
    /// False by default for new contacts; existing ones keep their state when omitted.
    pub(super) subscribed: Option<bool>,
    /// Variables of the mail and changes to the contact's data.
    #[serde(default)]
    pub(super) data: Option<DataObject>,
    /// Custom headers.
    #[serde(default)]
    pub(super) headers: Option<std::collections::BTreeMap<String, HeaderValue>>,
    /// Where replies go.
    pub(super) reply: Option<Reply>,
    /// Files.
    #[serde(default, deserialize_with = "objects")]
    pub(super) attachments: Option<Vec<Attachment>>,
    /// Whether opens and clicks are tracked. Left out or null: what the template says, or else the project.
    pub(super) tracking: Option<bool>,
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

/// Rules on the fields of a mail that a schema cannot say.
pub(super) fn check_mail(
    data: Option<&DataObject>,
    headers: Option<&std::collections::BTreeMap<String, HeaderValue>>,
    attachments: &[Attachment],
) -> Vec<Issue> {
    let mut issues = Vec::new();
    if let Some(DataObject(data)) = data {
        issues.extend(custom_data::check(data, "data"));
    }
    issues.extend(headers.and_then(too_many_headers));
    for (name, value) in headers.into_iter().flatten() {
        if let Err(error) = header::check(name, &value.0) {
            let code = if error == HeaderError::Reserved { "custom" } else { "invalid_string" };
            issues.push(Issue::new(format!("headers.{name}"), code, error.to_string()));
        }
    }
    for (index, attachment) in attachments.iter().enumerate() {
        if attachment.disposition == Some(Disposition::Inline) && attachment.content_id.is_none() {
            let field = format!("attachments.{index}.contentId");
            issues.push(Issue::new(field, "custom", "An inline attachment needs a contentId."));
        }
    }
    issues
}

/// Refuses a mail that says nothing.
pub(super) fn check_says(has_template: bool, has_subject: bool, has_body: bool) -> Vec<Issue> {
    if has_template || (has_subject && has_body) {
        return Vec::new();
    }
    vec![Issue::new("template", "custom", "Pass a template, or both subject and body.")]
}

impl Payload for SendRequest {
    // attachments in base64 included
    const MAX_BODY: usize = 50 * 1024 * 1024;

    fn check(&self) -> Vec<Issue> {
        let attachments = self.attachments.as_deref().unwrap_or_default();
        let mut issues = check_mail(self.data.as_ref(), self.headers.as_ref(), attachments);
        if let To::Many(many) = &self.to
            && many.len() > MAX_RECIPIENTS
        {
            issues.push(Issue::new(
                "to",
                "too_big",
                format!("Must have at most {MAX_RECIPIENTS} recipients."),
            ));
        }
        issues
    }

    fn check_across(&self) -> Vec<Issue> {
        check_says(self.template.is_some(), self.subject.is_some(), self.body.is_some())
    }
}

pub(super) fn checked(body: SendRequest, app: &App) -> Result<Send, ApiError> {
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
        tracking: body.tracking,
    })
}

fn recipient(named: NamedAddress) -> Recipient {
    Recipient { email: named.email.0, name: named.name.map(String::from) }
}
