//! `SEND_EMAIL`.

use super::{Reader, at};
use crate::address::EmailAddress;
use crate::ids::TemplateId;
use crate::issue::Issue;
use crate::reading::{Noted, Object, member, unknown};
use crate::workflow::action::{Action, SendEmail};
use crate::workflow::kind::OverCap;

impl Reader {
    pub(super) fn send_email(&mut self, object: &Object, own: Option<TemplateId>) -> Option<Action> {
        let template = match self.optional_text(object, "templateId").ok()?.filter(|text| !text.is_empty()) {
            None => Some(own),
            Some(text) => match text.parse::<TemplateId>() {
                Ok(id) => Some(own.or(Some(id))),
                Err(_) => self.issues.note(Issue::new(at("templateId"), "invalid_string", "Must be a UUID.")),
            },
        };
        let to = self.recipient(object).ok();
        let over_cap = match self.optional_text(object, "overCap").ok()? {
            None => Some(OverCap::Skip),
            Some(name) => OverCap::from_name(name)
                .or_else(|| self.issues.note(unknown(&at("overCap"), "Must be one of WAIT, SKIP.", name))),
        };
        Some(Action::SendEmail(SendEmail { template: template?, to: to?, over_cap: over_cap? }))
    }

    /// Who gets the mail, if it is not the contact.
    fn recipient(&mut self, object: &Object) -> Result<Option<EmailAddress>, Noted> {
        let Some(json) = member(object, "recipient") else { return Ok(None) };
        let recipient = self.issues.object(json, &at("recipient")).ok_or(Noted)?;
        match self.issues.text(recipient.get("type"), &at("recipient.type")).ok_or(Noted)? {
            "CONTACT" => Ok(None),
            "CUSTOM" => self.custom_email(recipient).map(Some).ok_or(Noted),
            other => {
                let message = "Must be one of CONTACT, CUSTOM.";
                self.issues.note::<()>(unknown(&at("recipient.type"), message, other));
                Err(Noted)
            }
        }
    }

    fn custom_email(&mut self, recipient: &Object) -> Option<EmailAddress> {
        let place = at("recipient.customEmail");
        let text = self.issues.text(member(recipient, "customEmail"), &place)?;
        EmailAddress::parse(text.trim())
            .or_else(|| self.issues.note(Issue::new(place, "invalid_string", "Must be an email address.")))
    }
}
