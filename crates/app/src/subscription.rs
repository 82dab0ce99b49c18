//! What recipients can do without an account: see and change their own subscription.

use mailwright_core::event::subscription_event;
use mailwright_core::ids::{ContactId, EmailId, EventId};
use mailwright_core::locale::Locale;
use mailwright_core::project::Project;
use mailwright_store::campaign::ledger;
use mailwright_store::contact::{self, Change};
use mailwright_store::counter::Deltas;
use mailwright_store::event::{self, NewEvent};
use mailwright_store::{email, project};

use crate::App;
use crate::error::{Error, Resource, Result};

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
    /// A contact by its id alone: ids are long and random, which is what protects them.
    pub async fn public_contact(&self, id: ContactId) -> Result<PublicContact> {
        let found = self
            .0
            .db
            .read(move |rx| {
                Box::pin(async move {
                    let Some(number) = contact::project_of(rx, id).await? else { return Ok(None) };
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

    /// Sets the subscription of a contact. `because_of` is the mail whose link was followed; it counts only when it
    /// was sent to this contact. An event is emitted when something changes; a wish that is fulfilled already writes nothing.
    pub async fn set_subscription(
        &self,
        id: ContactId,
        subscribed: bool,
        because_of: Option<EmailId>,
    ) -> Result<PublicContact> {
        let before = self.public_contact(id).await?;
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
        let changed = self
            .retry(move |tx| {
                Box::pin(async move {
                    let mail = match because_of {
                        Some(mail) => {
                            email::get(tx, number, mail).await?.filter(|m| m.contact == id).map(|m| m.id)
                        }
                        None => None,
                    };
                    let change = Change { subscribed: Some(subscribed), ..Change::default() };
                    let changed = contact::change(tx, number, id, &change, now).await?;
                    if changed.as_ref().is_some_and(|c| c.flip.is_some()) {
                        let mut deltas = Deltas::default();
                        let flip = NewEvent {
                            id: EventId::new(now),
                            email: mail,
                            ..NewEvent::bare(number, subscription_event(subscribed), id, now)
                        };
                        event::append(tx, &[flip], &mut deltas).await?;
                        if let (Some(mail), false) = (mail, subscribed) {
                            ledger::count_unsubscribed(tx, number, mail, &mut deltas, now).await?;
                        }
                        deltas.save(tx).await?;
                    }
                    Ok(changed.is_some())
                })
            })
            .await?;
        if changed {
            Ok(PublicContact { subscribed, ..before })
        } else {
            Err(Error::not_found(Resource::Contact, id))
        }
    }
}
