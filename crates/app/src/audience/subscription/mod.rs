//! What recipients can do without an account: see and change their own subscription, and choose topics.
//!
//! An opt-out by the link of a mail is attributed to it: the mail, its campaign, template and workflow count it, and
//! `email.unsubscribe` tells of it.

mod confirm;
mod opt_out;
mod person;
pub(crate) mod tag;

use mailwright_core::ids::{ContactId, TopicId};
use mailwright_core::topic::Topic;
use mailwright_store::audience::confirmation;
use mailwright_store::audience::consent;
use mailwright_store::audience::contact::{self, Change};
use mailwright_store::audience::event::{self, NewEvent};
use mailwright_store::body;
use mailwright_store::insight::deltas::Deltas;

use self::opt_out::OptOut;
use self::person::{find, known, public, sent_to};
use crate::App;
use crate::audience::topic::choose;
use crate::error::{Error, Resource, Result};

pub use self::confirm::ToConfirm;
pub use self::person::{Act, Choice, Door, Pass, PublicContact, Scope};

impl App {
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
                known(rx, number, id, mail).await
            }))
            .await?;
        found.map(public).ok_or_else(|| Error::not_found(Resource::Contact, id))
    }

    /// Subscribes a contact by a link to its pages. An event is emitted when something changes; a wish that is fulfilled
    /// already writes nothing.
    pub async fn subscribe_by_link(&self, id: ContactId, pass: &Pass, act: Act) -> Result<PublicContact> {
        let before = self.public_contact(id, pass).await?;
        if before.subscribed {
            return Ok(before);
        }
        self.take_way_in(id)?;
        let (number, now, because_of) = (before.project.number, self.0.clock.now(), pass.mail);
        let who = before.clone();
        self.write(body!(async |tx| {
            let mail = sent_to(tx, number, id, because_of).await?;
            let evidence = who.evidence(act, mail);
            let change = Change { subscribed: Some(true), ..Change::default() };
            let changed = contact::change(tx, number, id, &change, evidence, now).await?;
            let changed = changed.ok_or_else(|| Error::not_found(Resource::Contact, id))?;
            if changed.flip.is_some() {
                let mut deltas = Deltas::default();
                event::append(tx, &[NewEvent::flip(number, id, true, evidence, now)], &mut deltas).await?;
                deltas.save(tx).await?;
            }
            Ok(())
        }))
        .await?;
        Ok(PublicContact { subscribed: true, ..before })
    }

    /// The way out is always open; the way back in is what the number of changes is bounded by.
    fn take_way_in(&self, id: ContactId) -> Result<()> {
        let left = self.limiter().take_resubscription(id);
        if left.allowed { Ok(()) } else { Err(Error::TooManyChanges { retry_after: left.reset }) }
    }

    /// Opts a contact out by a link to its pages. The mail that the link was in counts only when it was sent to this
    /// contact.
    pub async fn opt_out(&self, id: ContactId, scope: Scope, pass: &Pass, act: Act) -> Result<PublicContact> {
        let before = self.public_contact(id, pass).await?;
        let topic = before.topic.as_ref().filter(|_| scope == Scope::Mail && before.subscribed).cloned();
        let (number, now, because_of) = (before.project.number, self.0.clock.now(), pass.mail);
        let (who, left) = (before.clone(), topic.clone());
        self.write(body!(async |tx| {
            if left.is_none() {
                // who refuses does not wait to be asked
                confirmation::withdraw_all(tx, number, id).await?;
            }
            // mails are locked before contacts, as by who brings news of them
            let mail = sent_to(tx, number, id, because_of).await?;
            let evidence = who.evidence(act, mail);
            let opt_out = OptOut::open(tx, number, mail).await?;
            // from here on nobody brings the contact back, as the undo of a bulk operation would
            if !contact::hold(tx, number, id).await? {
                return Err(Error::not_found(Resource::Contact, id));
            }
            let mut deltas = Deltas::default();
            let is_changed = if let Some(left) = &left {
                choose(tx, number, id, &[(&left.topic, false)], evidence, now).await?
            } else {
                let change = Change { subscribed: Some(false), ..Change::default() };
                let changed = contact::change(tx, number, id, &change, evidence, now).await?;
                changed.ok_or_else(|| Error::not_found(Resource::Contact, id))?.flip.is_some()
            };
            if is_changed {
                let topic = left.as_ref().map(|left| &left.topic);
                let mut events = opt_out.count(tx, (number, id), topic, evidence, &mut deltas, now).await?;
                if left.is_none() {
                    events.push(NewEvent::flip(number, id, false, evidence, now));
                }
                event::append(tx, &events, &mut deltas).await?;
                deltas.save(tx).await?;
            } else if left.is_none() {
                consent::refuse_again(tx, number, id, evidence, now).await?;
            }
            Ok(())
        }))
        .await?;
        Ok(match topic {
            Some(topic) => before.with_choice(topic.topic.id, false),
            None => PublicContact { subscribed: false, ..before },
        })
    }

    /// Stores which topics a contact chose on its page: of those that it showed, the chosen ones are joined, and the
    /// others left. Who is not subscribed chooses nothing.
    pub async fn choose_topics(
        &self,
        id: ContactId,
        shown: &[TopicId],
        chosen: &[TopicId],
        pass: &Pass,
        act: Act,
    ) -> Result<PublicContact> {
        let before = self.public_contact(id, pass).await?;
        let is_shown = |choice: &&Choice| shown.contains(&choice.topic.id);
        let wanted: Vec<(Topic, bool)> = before
            .choices
            .iter()
            .filter(is_shown)
            .map(|choice| (choice.topic.clone(), chosen.contains(&choice.topic.id), choice.subscribed))
            .filter(|(_, wanted, is)| wanted != is)
            .map(|(topic, wanted, _)| (topic, wanted))
            .collect();
        if !before.subscribed || wanted.is_empty() {
            return Ok(before);
        }
        if wanted.iter().any(|(_, joins)| *joins) {
            self.take_way_in(id)?;
        }
        let (number, now, because_of) = (before.project.number, self.0.clock.now(), pass.mail);
        let (who, changes) = (before.clone(), wanted.clone());
        self.write(body!(async |tx| {
            let mail = sent_to(tx, number, id, because_of).await?;
            let opt_out = OptOut::open(tx, number, mail).await?;
            if !contact::hold(tx, number, id).await? {
                return Err(Error::not_found(Resource::Contact, id));
            }
            let evidence = who.evidence(act, mail);
            let changes: Vec<(&Topic, bool)> = changes.iter().map(|(topic, is)| (topic, *is)).collect();
            choose(tx, number, id, &changes, evidence, now).await?;
            let left = |of: &Choice| changes.iter().any(|(topic, is)| topic.id == of.topic.id && !is);
            if let Some(of_mail) = who.topic.as_ref().filter(|of| left(of)) {
                let mut deltas = Deltas::default();
                let topic = Some(&of_mail.topic);
                let events = opt_out.count(tx, (number, id), topic, evidence, &mut deltas, now).await?;
                event::append(tx, &events, &mut deltas).await?;
                deltas.save(tx).await?;
            }
            Ok(())
        }))
        .await?;
        Ok(wanted.into_iter().fold(before, |now, (topic, is)| now.with_choice(topic.id, is)))
    }
}
