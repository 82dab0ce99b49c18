//! What recipients can do without an account: see and change their own subscription.

use mailwright_core::event::subscription_event;
use mailwright_core::ids::{ContactId, EmailId, EventId, ProjectNumber};
use mailwright_core::locale::Locale;
use mailwright_core::project::Project;
use mailwright_store::audience::contact::{self, Change};
use mailwright_store::audience::event::{self, NewEvent};
use mailwright_store::insight::counter::Deltas;
use mailwright_store::sending::campaign::ledger;
use mailwright_store::sending::email;
use mailwright_store::{Rx, project};

use crate::App;
use crate::error::{Error, Resource, Result};

/// What the tags of links are for.
const PURPOSE: &str = "recipient";
/// Bytes of a tag.
const TAG: usize = 16;

/// What a link to a contact's own pages carries beside the contact's id.
#[derive(Debug, Clone, Default)]
pub struct Pass {
    /// The mail that the link was in.
    pub mail: Option<EmailId>,
    /// What only the service can make of the contact's id.
    pub tag: Option<String>,
}

/// A contact as the public pages know it.
#[derive(Debug, Clone)]
pub struct PublicContact {
    /// Identifier.
    pub id: ContactId,
    /// Address.
    pub email: String,
    /// State of the subscription.
    pub subscribed: bool,
    /// The language that the contact, or else the project, asks for. There may be no texts in it.
    pub language: String,
    /// The language of the pages.
    pub locale: Locale,
    /// Whose mails these are.
    pub project: Project,
}

impl App {
    /// What the links in mails to a contact carry, so that they lead to the contact's pages.
    pub(crate) fn link_tag(&self, id: ContactId) -> Result<String> {
        let mut signature = self.0.secret.sign(PURPOSE, id.as_uuid().as_bytes())?;
        signature.truncate(TAG);
        Ok(hex::encode(signature))
    }

    /// Whether a tag is that of a contact. The time taken tells nothing.
    fn is_tag(&self, id: ContactId, given: &str) -> bool {
        let Ok(right) = self.link_tag(id) else { return false };
        let differs = right.bytes().zip(given.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
        right.len() == given.len() && differs == 0
    }

    /// A contact by a link to its pages. The id alone is enough, being long and random, as long as nobody with the
    /// public key was told it; then the link has to carry the tag, or to name a mail that was sent to the contact.
    pub async fn public_contact(&self, id: ContactId, pass: &Pass) -> Result<PublicContact> {
        let tagged = pass.tag.as_deref().is_some_and(|tag| self.is_tag(id, tag));
        let mail = pass.mail;
        let found = self
            .0
            .db
            .read(move |rx| {
                Box::pin(async move {
                    let Some(number) = contact::project_of(rx, id).await? else { return Ok(None) };
                    if !tagged
                        && contact::is_id_told(rx, number, id).await?
                        && sent_to(rx, number, id, mail).await?.is_none()
                    {
                        return Ok(None);
                    }
                    Ok(contact::get(rx, number, id).await?.zip(project::get(rx, number).await?))
                })
            })
            .await?;
        let (contact, project) = found.ok_or_else(|| Error::not_found(Resource::Contact, id))?;
        let locale = contact.data.get("locale").and_then(|v| v.as_str());
        Ok(PublicContact {
            id,
            email: contact.email.to_string(),
            subscribed: contact.subscribed,
            locale: Locale::resolve(locale, &project.language),
            language: locale.map_or_else(|| project.language.clone(), str::to_owned),
            project,
        })
    }

    /// Sets the subscription of a contact by a link to its pages. The mail that the link was in counts only when it was
    /// sent to this contact. An event is emitted when something changes; a wish that is fulfilled already writes
    /// nothing.
    pub async fn set_subscription(
        &self,
        id: ContactId,
        subscribed: bool,
        pass: &Pass,
    ) -> Result<PublicContact> {
        let before = self.public_contact(id, pass).await?;
        let because_of = pass.mail;
        if before.subscribed == subscribed {
            return Ok(before);
        }
        // the way out is always open; the way back in is what the number of changes is bounded by
        if subscribed {
            let left = self.limiter().take_resubscription(id);
            if !left.allowed {
                return Err(Error::TooManyChanges { retry_after: left.reset });
            }
        }
        let (number, now) = (before.project.number, self.0.clock.now());
        let changed = self.write(move |tx| {
            Box::pin(async move {
                let mail = sent_to(tx, number, id, because_of).await?;
                let change = Change { subscribed: Some(subscribed), ..Change::default() };
                let changed = contact::change(tx, number, id, &change, now).await?;
                let changed = changed.ok_or_else(|| Error::not_found(Resource::Contact, id))?;
                if changed.flip.is_some() {
                    let mut deltas = Deltas::default();
                    let flip = NewEvent {
                        id: EventId::new(now, rand::random()),
                        email: mail,
                        ..NewEvent::bare(number, subscription_event(subscribed), id, now)
                    };
                    event::append(tx, &[flip], &mut deltas).await?;
                    if let (Some(mail), false) = (mail, subscribed) {
                        ledger::count_unsubscribed(tx, number, mail, &mut deltas, now).await?;
                    }
                    deltas.save(tx).await?;
                }
                Ok(())
            })
        });
        changed.await?;
        Ok(PublicContact { subscribed, ..before })
    }
}

/// A mail, if it was sent to a contact.
async fn sent_to(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    contact: ContactId,
    mail: Option<EmailId>,
) -> mailwright_store::Result<Option<EmailId>> {
    let Some(mail) = mail else { return Ok(None) };
    Ok(email::is_to(rx, project, mail, contact).await?.then_some(mail))
}
