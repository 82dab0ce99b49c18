//! What recipients can do without an account: see and change their own subscription.

use mailwright_core::event::subscription_event;
use mailwright_core::ids::{ContactId, EmailId, EventId, ProjectNumber};
use mailwright_core::locale::Locale;
use mailwright_core::project::Project;
use mailwright_store::audience::contact::{self, Change};
use mailwright_store::audience::event::{self, NewEvent};
use mailwright_store::body;
use mailwright_store::insight::deltas::Deltas;
use mailwright_store::sending::campaign::ledger;
use mailwright_store::sending::email;
use mailwright_store::{Rx, project};

use crate::App;
use crate::error::{Error, Resource, Result};

/// Purpose under which the tags of links are derived.
const PURPOSE: &str = "recipient";
/// Bytes of a tag.
const TAG: usize = 16;

/// The parameters of a link to a contact's own pages, besides the contact's id.
#[derive(Debug, Clone, Default)]
pub struct Pass {
    /// The mail that the link was in.
    pub mail: Option<EmailId>,
    /// The tag: hex of 16 bytes of an HMAC of the contact's id, then the masked number of the project.
    pub tag: Option<String>,
}

/// The content of a tag that is valid for its contact.
struct Tagged {
    project: Option<ProjectNumber>,
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
    /// The project that sends the mails.
    pub project: Project,
}

impl App {
    /// The tag for links in mails to a contact: a signature of the contact's id, then the number of its project, masked
    /// so that only the service can read it.
    pub(crate) fn link_tag(&self, project: ProjectNumber, id: ContactId) -> Result<String> {
        let signature = self.0.secret.sign(PURPOSE, id.as_uuid().as_bytes())?;
        let (tag, mask) = signature.split_at(TAG);
        Ok(hex::encode([tag, &masked(project.0.to_be_bytes(), mask)].concat()))
    }

    /// Reads a tag; `None` when it is not that of the contact. The time taken tells nothing of the right one.
    fn read_tag(&self, id: ContactId, given: &str) -> Option<Tagged> {
        let signature = self.0.secret.sign(PURPOSE, id.as_uuid().as_bytes()).ok()?;
        let (right, mask) = signature.split_at(TAG);
        let given = hex::decode(given).ok()?;
        let (tag, number) = given.split_at_checked(TAG)?;
        let differs = right.iter().zip(tag).fold(0, |all, (a, b)| all | (a ^ b));
        let project = <[u8; 8]>::try_from(number).ok();
        let project = project.map(|number| ProjectNumber(i64::from_be_bytes(masked(number, mask))));
        // tags made by earlier versions name no project
        (differs == 0 && (project.is_some() || number.is_empty())).then_some(Tagged { project })
    }

    /// A contact by a link to its pages. The id alone is enough, because it is long and random, unless an answer to the
    /// public key contained it. In that case the link needs the tag, or the id of a mail to the contact.
    pub async fn public_contact(&self, id: ContactId, pass: &Pass) -> Result<PublicContact> {
        let tagged = pass.tag.as_deref().and_then(|tag| self.read_tag(id, tag));
        let mail = pass.mail;
        let found = self
            .read(body!(async |rx| {
                let named = tagged.as_ref().and_then(|tagged| tagged.project);
                let Some(number) = find(rx, named, id).await? else { return Ok(None) };
                if tagged.is_none()
                    && contact::is_id_told(rx, number, id).await?
                    && sent_to(rx, number, id, mail).await?.is_none()
                {
                    return Ok(None);
                }
                Ok(contact::get(rx, number, id).await?.zip(project::get(rx, number).await?))
            }))
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
        self.write(body!(async |tx| {
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
        }))
        .await?;
        Ok(PublicContact { subscribed, ..before })
    }
}

/// A project's number, hidden or shown by a mask.
fn masked(mut number: [u8; 8], mask: &[u8]) -> [u8; 8] {
    number.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
    number
}

/// The project of a contact: the one that the link names, or any, where the link does not.
async fn find(
    rx: &mut Rx<'_>,
    named: Option<ProjectNumber>,
    id: ContactId,
) -> mailwright_store::Result<Option<ProjectNumber>> {
    if let Some(number) = named
        && contact::get(rx, number, id).await?.is_some()
    {
        return Ok(Some(number));
    }
    contact::project_of(rx, id).await
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
