//! The one place where what is learnt of mails is applied: their standing, the counters, the events, and what follows for
//! the contacts, in one transaction.

use mailwright_core::address::EmailAddress;
use mailwright_core::event::{Activity, event_of};
use mailwright_core::ids::{EmailId, EventId, ProjectNumber};
use mailwright_core::time::Timestamp;
use mailwright_store::audience::event;
use mailwright_store::feedback::mail::{self, Mail};
use mailwright_store::insight::deltas::Deltas;
use mailwright_store::{Result, Tx};
use serde_json::Value;

use crate::delivery::bookkeeping::{self, About, Entry, Suppress};

/// What is learnt of some mails of a project.
pub(super) struct Intake {
    project: ProjectNumber,
    /// In the order of their ids.
    mails: Vec<Mail>,
    told: Vec<Told>,
    withdrawn: Vec<(EventId, &'static str, Timestamp)>,
    pub(super) deltas: Deltas,
}

/// An event to emit of a mail, and what follows from it.
struct Told {
    /// The place of the mail.
    mail: usize,
    /// Its id, where the source gives it one.
    id: Option<EventId>,
    name: &'static str,
    /// What it says beside what is known of the mail.
    data: Vec<(&'static str, Value)>,
    suppress: Suppress,
    at: Timestamp,
}

/// Something that is learnt of a mail.
pub(super) struct Learnt {
    pub(super) activity: Activity,
    pub(super) at: Timestamp,
    /// The id of its event, where the source gives it one.
    pub(super) id: Option<EventId>,
    /// What the event says beside what is known of the mail.
    pub(super) data: Vec<(&'static str, Value)>,
    pub(super) suppress: Suppress,
}

impl Intake {
    /// Locks the mails, as far as the project has them.
    pub(super) async fn open(tx: &Tx<'_>, project: ProjectNumber, ids: &[EmailId]) -> Result<Self> {
        let mails = mail::lock(tx, project, ids).await?;
        Ok(Self { project, mails, told: Vec::new(), withdrawn: Vec::new(), deltas: Deltas::default() })
    }

    /// A mail, if the project has it.
    pub(super) fn mail(&mut self, id: EmailId) -> Option<&mut Mail> {
        let place = self.mails.binary_search_by_key(&id, |mail| mail.id).ok()?;
        self.mails.get_mut(place)
    }

    /// Notes what is learnt of a mail that left, and the event that tells of it.
    pub(super) fn learn(&mut self, id: EmailId, learnt: Learnt) {
        let Ok(place) = self.mails.binary_search_by_key(&id, |mail| mail.id) else { return };
        let Some(mail) = self.mails.get_mut(place) else { return };
        let Learnt { activity, at, id, mut data, suppress } = learnt;
        let before = mail.now.clone();
        mail.now.learn(activity, at);
        match activity {
            Activity::Opened => {
                data.push(("openedAt", at.to_string().into()));
                data.push(("opens", mail.now.opens.into()));
                data.push(("isFirstOpen", before.opened_at.is_none().into()));
            }
            Activity::Clicked => {
                data.push(("clickedAt", at.to_string().into()));
                data.push(("clicks", mail.now.clicks.into()));
                data.push(("isFirstClick", before.clicked_at.is_none().into()));
            }
            Activity::Delivered => data.push(("deliveredAt", at.to_string().into())),
            Activity::Bounced => data.push(("bouncedAt", at.to_string().into())),
            Activity::Complained => data.push(("complainedAt", at.to_string().into())),
            Activity::Sent => {}
        }
        self.told.push(Told { mail: place, id, name: event_of(activity), data, suppress, at });
    }

    /// Notes an event about a mail of which nothing else is to be stored.
    pub(super) fn tell(
        &mut self,
        id: EmailId,
        activity: Activity,
        data: Vec<(&'static str, Value)>,
        suppress: Suppress,
        at: Timestamp,
    ) {
        let Ok(mail) = self.mails.binary_search_by_key(&id, |mail| mail.id) else { return };
        let name = event_of(activity);
        self.told.push(Told { mail, id: None, name, data, suppress, at });
    }

    /// Takes back an event that should not have been told.
    pub(super) fn withdraw(&mut self, id: EventId, activity: Activity, at: Timestamp) {
        self.withdrawn.push((id, event_of(activity), at));
    }

    /// Writes it all.
    pub(super) async fn save(mut self, tx: &mut Tx<'_>, now: Timestamp) -> Result<()> {
        mail::save(tx, self.project, &self.mails, now, &mut self.deltas).await?;
        event::withdraw(tx, self.project, &self.withdrawn, &mut self.deltas).await?;
        let project = self.project;
        let mails = &self.mails;
        // nothing is told of a contact that was removed
        let entries: Vec<Entry<'_>> = self
            .told
            .iter()
            .filter_map(|told| {
                let mail = mails.get(told.mail)?;
                Some(entry(project, mail, mail.recipient.as_ref()?, told))
            })
            .collect();
        bookkeeping::write(tx, &entries, self.deltas).await
    }
}

fn entry<'a>(project: ProjectNumber, mail: &Mail, recipient: &'a EmailAddress, told: &Told) -> Entry<'a> {
    let mut data = About::from(mail).data();
    for (name, value) in &told.data {
        data[*name] = value.clone();
    }
    Entry {
        project,
        email: mail.id,
        contact: mail.contact,
        recipient,
        event: Some((told.name, data.to_string())),
        event_id: told.id,
        suppress: told.suppress,
        at: told.at,
    }
}
