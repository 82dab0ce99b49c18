//! Confirming what somebody else asked for: the page behind the link of a confirmation mail.

use mailwright_core::consent::Evidence;
use mailwright_core::ids::ContactId;
use mailwright_core::topic::Topic;
use mailwright_store::audience::contact::{self, Change};
use mailwright_store::audience::event::{self, NewEvent};
use mailwright_store::audience::{confirmation, topic};
use mailwright_store::body;
use mailwright_store::insight::deltas::Deltas;

use super::person::{Act, PublicContact, known, public};
use crate::App;
use crate::audience::topic::choose;
use crate::error::{Error, Resource, Result};

/// What a contact is asked to confirm.
#[derive(Debug, Clone)]
pub struct ToConfirm {
    /// The contact as its pages know it.
    pub contact: PublicContact,
    /// The topic; `None` for the subscription as a whole.
    pub topic: Option<Topic>,
    /// Whether it is done already.
    pub is_done: bool,
}

impl App {
    /// What the link of a confirmation mail asks a contact to confirm. A link that is too old, or whose request is gone,
    /// leads to nothing.
    pub async fn to_confirm(&self, id: ContactId, tag: &str) -> Result<ToConfirm> {
        let nothing = || Error::not_found(Resource::Contact, id);
        let ticket = self.read_ticket(id, tag).ok_or_else(nothing)?;
        let (number, of) = (ticket.project, ticket.topic);
        let found = self
            .read(body!(async |rx| {
                let Some(contact) = known(rx, number, id, None).await? else { return Ok(None) };
                let topic = match of {
                    None => None,
                    Some(of) => match topic::get(rx, number, of).await? {
                        Some(found) => Some(found),
                        None => return Ok(None),
                    },
                };
                let is_open =
                    confirmation::of_contact(rx, number, id).await?.iter().any(|open| open.topic == of);
                let chosen = topic::choices(rx, number, id).await?;
                let is_in = topic
                    .as_ref()
                    .map_or(contact.0.subscribed, |topic| topic.has(chosen.get(&topic.id).copied()));
                Ok((is_open || is_in).then_some((contact, topic, is_in)))
            }))
            .await?;
        let (contact, topic, is_in) = found.ok_or_else(nothing)?;
        Ok(ToConfirm { contact: public(contact), topic, is_done: is_in })
    }

    /// Confirms what the link of a confirmation mail asks. What is confirmed already changes nothing.
    pub async fn confirm(&self, id: ContactId, tag: &str, act: Act) -> Result<ToConfirm> {
        let asked = self.to_confirm(id, tag).await?;
        if asked.is_done {
            return Ok(asked);
        }
        let (number, now) = (asked.contact.project.number, self.0.clock.now());
        let (who, topic) = (asked.contact.clone(), asked.topic.clone());
        self.write(body!(async |tx| {
            let nothing = || Error::not_found(Resource::Contact, id);
            if !contact::hold(tx, number, id).await? {
                return Err(nothing());
            }
            let of = topic.as_ref().map(|topic| topic.id);
            if !confirmation::withdraw(tx, number, id, of).await? {
                return Err(nothing());
            }
            let evidence = Evidence { confirms: true, ..who.evidence(act, None) };
            if let Some(topic) = &topic {
                choose(tx, number, id, &[(topic, true)], evidence, now).await?;
                return Ok(());
            }
            let change = Change { subscribed: Some(true), ..Change::default() };
            let changed = contact::change(tx, number, id, &change, evidence, now).await?;
            if changed.ok_or_else(nothing)?.flip.is_some() {
                let mut deltas = Deltas::default();
                event::append(tx, &[NewEvent::flip(number, id, true, evidence, now)], &mut deltas).await?;
                deltas.save(tx).await?;
            }
            Ok(())
        }))
        .await?;
        self.wake_segments();
        Ok(ToConfirm { is_done: true, ..asked })
    }
}
