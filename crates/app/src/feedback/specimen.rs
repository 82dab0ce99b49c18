//! A campaign's mail that is rendered and goes nowhere: it shows what tracking costs each mail, which nothing outside of
//! the render threads could measure.

use std::time::Duration;

use mailwright_core::address::EmailAddress;
use mailwright_core::custom_data::Data;
use mailwright_core::email::{EmailSource, EmailStatus};
use mailwright_core::ids::{CampaignId, ContactId, EmailId, ProjectId, ProjectNumber};
use mailwright_core::project::{Project, Tracking};
use mailwright_core::template::TemplateType;
use mailwright_core::time::Timestamp;
use mailwright_store::sending::email::Claimed;

use super::token::TokenKey;
use crate::secret::InstanceSecret;
use crate::sending::content::{Prepared, compose};
use crate::sending::footer::Footers;
use crate::sending::render::render;
use crate::settings::{BaseUrl, BaseUrlError};

/// The mail of a campaign to one contact.
pub struct Specimen {
    base_url: BaseUrl,
    footers: Footers,
    mail: Claimed,
    content: Prepared,
    token_key: TokenKey,
}

impl Specimen {
    /// Prepares a mail with a subject, an HTML body and the contact's values.
    pub fn new(base_url: &str, subject: &str, html: &str, values: Data) -> Result<Self, BaseUrlError> {
        let at = Timestamp(1_763_000_000_000);
        let id = EmailId::new(at, rand::random());
        let project = Project {
            number: ProjectNumber(1),
            id: ProjectId::new(at, rand::random()),
            name: "Specimen".to_owned(),
            language: "en".to_owned(),
            disabled: false,
            tracking: Tracking::Enabled,
            double_opt_in: false,
            consent_keeps_address: false,
        };
        let mail = Claimed {
            project: project.number,
            id,
            claim: 1,
            contact: ContactId::new(at, rand::random()),
            recipient: EmailAddress::from_stored("user000123@host17.example.com"),
            recipient_name: None,
            from: EmailAddress::from_stored("hello@specimen.example"),
            from_name: None,
            reply_to: None,
            content_hash: Vec::new(),
            variables: values,
            kind: TemplateType::Marketing,
            source: EmailSource::Campaign,
            template: None,
            campaign: Some(CampaignId::new(at, rand::random())),
            status: EmailStatus::Pending,
            attempts: 0,
            in_doubt: 0,
            log: Vec::new(),
            message_id: format!("{id}@specimen.example"),
            created_at: at,
            waited: Duration::ZERO,
            first_attempt_at: Some(at),
            topic: None,
            transport: None,
        };
        let (content, _) = compose(subject.to_owned(), html.to_owned(), None, &[], &[], None);
        Ok(Self {
            base_url: BaseUrl::parse(base_url)?,
            footers: Footers::new(&project, false),
            mail,
            content: Prepared::new(&content, Vec::new()),
            token_key: TokenKey::tracking(&InstanceSecret::new([7; 32])),
        })
    }

    /// How many links it has.
    pub fn links(&self) -> usize {
        self.content.links.all.len()
    }

    /// Renders the mail as it is handed over, unsigned; `None` where a part outgrows its room.
    pub fn render(&self, is_tracked: bool) -> Option<Vec<u8>> {
        let tracked = is_tracked.then(|| {
            let token = self.token_key.token(self.mail.project, self.mail.id);
            self.base_url.link(&format!("/t/{token}/"))
        });
        let rendered = render(
            &self.base_url,
            &self.footers,
            &self.mail,
            &self.content,
            "00112233445566778899aabb",
            tracked,
            None,
        );
        rendered.ok().map(|rendered| rendered.raw)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_specimen_is_tracked_when_it_is_asked_to_be() {
        let html = "<p>Hello {{name}}, <a href=\"https://shop.test/\">look</a></p>";
        let values = serde_json::json!({ "name": "Ada" });
        let values = values.as_object().unwrap().clone();
        let specimen = Specimen::new("https://m.test", "News", html, values).unwrap();
        let text = |is_tracked| {
            let raw = String::from_utf8(specimen.render(is_tracked).unwrap()).unwrap();
            raw.replace("=\r\n", "")
        };
        assert_eq!(specimen.links(), 1);
        assert!(text(true).contains("https://m.test/t/") && text(true).contains("/o.gif"));
        assert!(!text(false).contains("https://m.test/t/") && text(false).contains("Ada"));
    }
}
