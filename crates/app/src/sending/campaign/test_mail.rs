//! Sending a campaign to one address, as a test.

use mailwright_core::address::EmailAddress;
use mailwright_core::billing::Category;
use mailwright_core::campaign::Campaign;
use mailwright_core::contact::Contact;
use mailwright_core::custom_data::Data;
use mailwright_core::email::Lane;
use mailwright_core::ids::{CampaignId, ContactId, EmailId};
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use mailwright_store::audience::contact::Contacts;
use mailwright_store::body;
use mailwright_store::insight::deltas::Deltas;
use mailwright_store::json_text;
use mailwright_store::project::billing::allowance::Allowances;
use mailwright_store::sending::content;
use mailwright_store::sending::email::{self, NewEmail};

use crate::App;
use crate::error::{Error, Result};
use crate::project::billing::refusal::limit_reached;
use crate::sending::content::compose;
use crate::sending::domain::check_may_send;

impl App {
    /// Sends a campaign to one address, as a test: with the data of the contact who has it, if there is one. It is no
    /// part of the campaign's stats.
    pub async fn test_campaign(
        &self,
        project: &Project,
        id: CampaignId,
        to: EmailAddress,
    ) -> Result<EmailId> {
        let campaign = self.campaign(project, id).await?.campaign;
        let (number, now, leaves) = (project.number, self.0.clock.now(), self.mail_leaves());
        let subject = format!("[TEST] {}", campaign.subject);
        let (mut content, _) = compose(subject, campaign.body.clone(), None, &[], &[], Some(false));
        let prepared = self.0.sending.contents.prepare(number, &mut content, &[]);
        let mail = EmailId::new(now, rand::random());
        let free = self.free_allowance();
        let category = Category::of(Campaign::source(campaign.kind), campaign.kind);
        let sent = self.write(body!(async |tx| {
            check_may_send(tx, number, &campaign.from, leaves).await?;
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
                reply_to: Some(campaign.reply_to.unwrap_or_else(|| campaign.from.clone())),
                has_attachments: false,
                message_id: format!("{mail}@{}", campaign.from.domain()),
                from: campaign.from,
                from_name: campaign.from_name,
                subject: content.subject.clone(),
                content_hash: content.hash,
                variables: json_text(&prepared.variables(&contact, &Data::new())),
                source: Campaign::source(campaign.kind),
                kind: campaign.kind,
                lane: Lane::Transactional,
                template: None,
                topic: campaign.topic,
                step: None,
                suppression: None, // it is looked for when the mail is claimed
                is_held: false,
                at: now,
            };
            let mut deltas = Deltas::default();
            email::enqueue(tx, &[email], &mut deltas).await?;
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
fn stranger(email: &EmailAddress, now: Timestamp) -> Contact {
    Contact {
        id: ContactId::new(now, rand::random()),
        email: email.clone(),
        subscribed: false,
        data: Data::new(),
        created_at: now,
        updated_at: now,
    }
}
