//! Sending a template or a campaign to one address, as a test.

use mailwright_core::address::EmailAddress;
use mailwright_core::billing::Category;
use mailwright_core::campaign::Campaign;
use mailwright_core::contact::Contact;
use mailwright_core::custom_data::Data;
use mailwright_core::email::Lane;
use mailwright_core::ids::{CampaignId, ContactId, EmailId, TopicId};
use mailwright_core::project::Project;
use mailwright_core::template::TemplateType;
use mailwright_core::time::Timestamp;
use mailwright_store::audience::contact::Contacts;
use mailwright_store::body;
use mailwright_store::insight::deltas::Deltas;
use mailwright_store::json_text;
use mailwright_store::project::billing::allowance::Allowances;
use mailwright_store::sending::campaign::review;
use mailwright_store::sending::content;
use mailwright_store::sending::email::{self, NewEmail};

use crate::App;
use crate::error::{Error, Result};
use crate::project::billing::refusal::limit_reached;
use crate::sending::content::compose;
use crate::sending::domain::check_may_send;

/// A template or campaign that is tested.
#[derive(Debug, Clone)]
pub(crate) struct Tested {
    pub(crate) subject: String,
    pub(crate) body: String,
    pub(crate) from: EmailAddress,
    pub(crate) from_name: Option<String>,
    pub(crate) reply_to: Option<EmailAddress>,
    pub(crate) kind: TemplateType,
    pub(crate) topic: Option<TopicId>,
    /// The campaign, which notes that it was tested.
    pub(crate) campaign: Option<CampaignId>,
}

impl App {
    /// Sends a test to one address: with the data of the contact who has it, if there is one. It is no part of any
    /// stats.
    pub(crate) async fn send_test(
        &self,
        project: &Project,
        tested: Tested,
        to: EmailAddress,
    ) -> Result<EmailId> {
        let (number, now, leaves) = (project.number, self.0.clock.now(), self.mail_leaves());
        let subject = format!("[TEST] {}", tested.subject);
        let (mut content, _) = compose(subject, tested.body.clone(), None, &[], &[], Some(false));
        let prepared = self.contents().prepare(number, &mut content, &[]);
        let mail = EmailId::new(now, rand::random());
        let free = self.free_allowance();
        let source = Campaign::source(tested.kind);
        let category = Category::of(source, tested.kind);
        let sent = self.write(body!(async |tx| {
            check_may_send(tx, number, &tested.from, leaves).await?;
            let mut allowances = Allowances::of_project(tx, free, number, now).await?;
            if !allowances.take(number, category, now, 1) {
                return Err(limit_reached(category, now));
            }
            allowances.save(tx, now).await?;
            let contacts = Contacts::load(tx, std::iter::once((number, &to))).await?;
            let contact = contacts.get(number, &to).cloned().unwrap_or_else(|| stranger(&to, now));
            content::save(tx, &[(number, &content)], now).await?;
            let email = NewEmail {
                project: number,
                id: mail,
                contact: contact.id,
                recipient: to,
                recipient_name: None,
                reply_to: Some(tested.reply_to.unwrap_or_else(|| tested.from.clone())),
                has_attachments: false,
                message_id: format!("{mail}@{}", tested.from.domain()),
                from: tested.from,
                from_name: tested.from_name,
                subject: content.subject.clone(),
                content_hash: content.hash,
                variables: json_text(&prepared.variables(&contact, &Data::new())),
                source,
                kind: tested.kind,
                lane: Lane::Transactional,
                template: None,
                topic: tested.topic,
                step: None,
                suppression: None, // it is looked for when the mail is claimed
                is_held: false,
                at: now,
            };
            let mut deltas = Deltas::default();
            email::enqueue(tx, &[email], &mut deltas).await?;
            if let Some(campaign) = tested.campaign {
                review::tested(tx, number, campaign, now).await?;
            }
            Ok(deltas.save(tx).await?)
        }));
        match sent.await {
            Err(error @ Error::LimitReached(_)) => {
                self.tell_of_refusal(number).await?;
                return Err(error);
            }
            sent => sent?,
        }
        self.dispatcher().wake(Lane::Transactional, number);
        Ok(mail)
    }
}

/// A recipient who is no contact: there is no data, and the links in the mail lead to no contact.
pub(crate) fn stranger(email: &EmailAddress, now: Timestamp) -> Contact {
    Contact {
        id: ContactId::new(now, rand::random()),
        email: email.clone(),
        subscribed: false,
        data: Data::new(),
        created_at: now,
        updated_at: now,
    }
}
