//! What a request says that has a mail checked before it is sent: the mail itself, or which one.

use std::collections::BTreeMap;

use mailwright_app::App;
use mailwright_app::delivery::checks::Asked;
use mailwright_core::custom_data::{self, Data};
use mailwright_core::ids::{CampaignId, ContactId, TemplateId};
use mailwright_core::issue::Issue;
use mailwright_core::template::TemplateType;
use serde::Deserialize;
use utoipa::ToSchema;

use super::attachment::Attachment;
use super::body::{From, Reply, SendRequest, To, check_mail, check_says, checked};
use crate::error::ApiError;
use crate::fields::{DataObject, DisplayName, HeaderValue, MailHtml, MailText, Subject};
use crate::schema::{Payload, objects};

/// What is wrong with a request that names several mails.
const EITHER: &str = "Pass one of these: a mail, templateId, or campaignId.";

/// A mail that is checked: one as `/v1/send` takes it, a template, or a campaign.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CheckEmailRequest {
    /// Required of a mail without a template.
    subject: Option<Subject>,
    /// HTML. Required of a mail without a template.
    body: Option<MailHtml>,
    /// Plain text for programs that show no HTML, with variables. Made from the HTML when absent.
    text: Option<MailText>,
    /// A saved template whose subject, body, sender and reply address are used where the mail gives none.
    template: Option<TemplateId>,
    /// Required of a mail unless its template has a sender.
    from: Option<From>,
    /// Deprecated: use `from: {name, email}`.
    #[schema(deprecated)]
    from_name: Option<DisplayName>,
    /// The same as `fromName`.
    #[schema(deprecated)]
    name: Option<DisplayName>,
    /// Custom headers.
    #[serde(default)]
    headers: Option<BTreeMap<String, HeaderValue>>,
    /// Where replies go.
    reply: Option<Reply>,
    /// Files.
    #[serde(default, deserialize_with = "objects")]
    attachments: Option<Vec<Attachment>>,
    /// Whether opens and clicks are tracked. Left out or null: what the template says, or else the project.
    tracking: Option<bool>,
    /// What kind of mail it is: that of its template by default, or else `TRANSACTIONAL`.
    r#type: Option<TemplateType>,
    /// The saved template that is checked, instead of a mail.
    template_id: Option<TemplateId>,
    /// The campaign that is checked, instead of a mail.
    campaign_id: Option<CampaignId>,
    /// The contact who reads it; nobody in particular by default.
    contact_id: Option<ContactId>,
    /// Values of its variables, which come before the contact's.
    data: Option<DataObject>,
}

impl CheckEmailRequest {
    /// The fields of a mail that it has.
    fn mail(&self) -> impl Iterator<Item = &'static str> {
        let fields = [
            ("subject", self.subject.is_some()),
            ("body", self.body.is_some()),
            ("text", self.text.is_some()),
            ("template", self.template.is_some()),
            ("from", self.from.is_some()),
            ("fromName", self.from_name.is_some()),
            ("name", self.name.is_some()),
            ("headers", self.headers.is_some()),
            ("reply", self.reply.is_some()),
            ("attachments", self.attachments.is_some()),
            ("tracking", self.tracking.is_some()),
            ("type", self.r#type.is_some()),
        ];
        given(fields)
    }

    /// Whether a contact reads it.
    pub(crate) fn names_contact(&self) -> bool {
        self.contact_id.is_some()
    }

    /// What is checked, who reads it, and the values of its variables.
    pub(crate) fn asked(self, app: &App) -> Result<(Asked, Option<ContactId>, Data), ApiError> {
        let (contact, data) = (self.contact_id, self.data.unwrap_or_default().0);
        if let Some(id) = self.template_id {
            return Ok((Asked::Template(id), contact, data));
        }
        if let Some(id) = self.campaign_id {
            return Ok((Asked::Campaign(id), contact, data));
        }
        let request = SendRequest {
            to: To::Many(Vec::new()),
            subject: self.subject,
            body: self.body,
            text: self.text,
            template: self.template,
            from: self.from,
            from_name: self.from_name,
            name: self.name,
            subscribed: None,
            data: None,
            headers: self.headers,
            reply: self.reply,
            attachments: self.attachments,
            tracking: self.tracking,
        };
        Ok((Asked::Mail(Box::new(checked(request, app)?), self.r#type), contact, data))
    }
}

/// The names of the fields that are given.
fn given<const N: usize>(fields: [(&'static str, bool); N]) -> impl Iterator<Item = &'static str> {
    fields.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name)
}

impl Payload for CheckEmailRequest {
    const MAX_BODY: usize = SendRequest::MAX_BODY;

    fn check(&self) -> Vec<Issue> {
        let attachments = self.attachments.as_deref().unwrap_or_default();
        check_mail(self.data.as_ref(), self.headers.as_ref(), attachments)
    }

    fn check_across(&self) -> Vec<Issue> {
        let mail: Vec<_> = self.mail().collect();
        let saved = [("templateId", self.template_id.is_some()), ("campaignId", self.campaign_id.is_some())];
        let saved: Vec<_> = given(saved).collect();
        match saved.len() + usize::from(!mail.is_empty()) {
            0 => vec![Issue::new("template", "custom", "Pass a mail, templateId, or campaignId.")],
            1 if mail.is_empty() => Vec::new(),
            1 => check_says(self.template.is_some(), self.subject.is_some(), self.body.is_some()),
            _ => mail.into_iter().chain(saved).map(|field| Issue::new(field, "custom", EITHER)).collect(),
        }
    }
}

/// Who reads a template or a campaign that is checked.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CheckSavedRequest {
    /// The contact who reads it; nobody in particular by default.
    pub(crate) contact_id: Option<ContactId>,
    /// Values of its variables, which come before the contact's.
    pub(crate) data: Option<DataObject>,
}

impl Payload for CheckSavedRequest {
    fn check(&self) -> Vec<Issue> {
        self.data.as_ref().map(|data| custom_data::check(&data.0, "data")).unwrap_or_default()
    }
}
