//! What follows for a contact from what became of a mail, whether a hand-over said so or news that came later: the
//! event, the end of the subscription, the suppression of the address.

use futures_util::future::join;
use mailwright_core::address::EmailAddress;
use mailwright_core::consent::{ConsentWay, Evidence};
use mailwright_core::contact::Subscription;
use mailwright_core::custom_data::DataPatch;
use mailwright_core::email::EmailSource;
use mailwright_core::ids::{CampaignId, ContactId, EmailId, EventId, ProjectNumber, TemplateId};
use mailwright_core::time::Timestamp;
use mailwright_store::audience::contact::{Contacts, Upsert};
use mailwright_store::audience::event::{self, NewEvent};
use mailwright_store::audience::suppression::soft_bounce::soft_bounce;
use mailwright_store::audience::suppression::{self, Cause};
use mailwright_store::feedback::mail::Mail;
use mailwright_store::insight::deltas::Deltas;
use mailwright_store::{Result, Tx};
use serde_json::{Value, json};

/// What became of a mail whose contact is there.
pub(crate) struct Entry<'a> {
    pub(crate) project: ProjectNumber,
    pub(crate) email: EmailId,
    pub(crate) contact: ContactId,
    pub(crate) recipient: &'a EmailAddress,
    /// Event to emit: its name and, as JSON text, its data.
    pub(crate) event: Option<(&'static str, String)>,
    /// The id of the event, where what is told has one.
    pub(crate) event_id: Option<EventId>,
    pub(crate) suppress: Suppress,
    pub(crate) at: Timestamp,
}

/// Whether the address gets nothing more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Suppress {
    /// It does, as before.
    Never,
    /// It does, unless the same happens again over days: its mailbox is full.
    AfterRepetition,
    /// It gets nothing more, and its contact is unsubscribed.
    AtOnce(Cause),
}

/// What every event about a mail carries (reference 4.1).
pub(crate) struct About<'a> {
    pub(crate) subject: &'a str,
    pub(crate) from: &'a EmailAddress,
    pub(crate) from_name: Option<&'a str>,
    pub(crate) message_id: &'a str,
    pub(crate) email: EmailId,
    pub(crate) template: Option<TemplateId>,
    pub(crate) campaign: Option<CampaignId>,
    pub(crate) source: EmailSource,
}

impl<'a> From<&'a Mail> for About<'a> {
    fn from(mail: &'a Mail) -> Self {
        Self {
            subject: &mail.subject,
            from: &mail.from,
            from_name: mail.from_name.as_deref(),
            message_id: &mail.message_id,
            email: mail.id,
            template: mail.template,
            campaign: mail.campaign,
            source: mail.source,
        }
    }
}

impl About<'_> {
    /// The data that all these events have.
    pub(crate) fn data(&self) -> Value {
        json!({
            "subject": self.subject,
            "from": self.from,
            "fromName": self.from_name,
            "messageId": self.message_id,
            "emailId": self.email,
            "templateId": self.template,
            "campaignId": self.campaign,
            "sourceType": self.source.as_str(),
        })
    }
}

/// Writes what follows, and the counters.
pub(crate) async fn write(tx: &mut Tx<'_>, entries: &[Entry<'_>], mut deltas: Deltas) -> Result<()> {
    let mut events: Vec<NewEvent> = entries.iter().filter_map(told).collect();
    for cause in [Cause::Bounce, Cause::Complaint] {
        unsubscribe(tx, entries, cause, &mut events, &mut deltas).await?;
    }
    let full = entries.iter().filter(|entry| entry.suppress == Suppress::AfterRepetition);
    for entry in full {
        soft_bounce(tx, entry.project, entry.recipient, Some(entry.email), entry.at).await?;
    }
    let appended = event::append(tx, &events, &mut deltas);
    let (appended, heard) = join(appended, deltas.write(tx)).await;
    appended?;
    heard?.tell(tx).await
}

/// The event that tells of an entry.
fn told(entry: &Entry<'_>) -> Option<NewEvent> {
    let (name, data) = entry.event.as_ref()?;
    let bare = NewEvent::bare(entry.project, name, entry.contact, entry.at);
    let id = entry.event_id.unwrap_or(bare.id);
    Some(NewEvent { id, email: Some(entry.email), data: Some(data.clone()), ..bare })
}

/// Unsubscribes the contacts that still have an address of which a bounce or a complaint came, and suppresses the
/// address.
async fn unsubscribe(
    tx: &mut Tx<'_>,
    entries: &[Entry<'_>],
    cause: Cause,
    events: &mut Vec<NewEvent>,
    deltas: &mut Deltas,
) -> Result<()> {
    let concerned: Vec<_> =
        entries.iter().filter(|entry| entry.suppress == Suppress::AtOnce(cause)).collect();
    let Some(first) = concerned.first() else { return Ok(()) };
    let addresses: Vec<_> =
        concerned.iter().map(|entry| (entry.project, entry.recipient, entry.email)).collect();
    suppression::add(tx, &addresses, cause, first.at).await?;
    let none = DataPatch::default();
    let mut contacts =
        Contacts::load(tx, concerned.iter().map(|entry| (entry.project, entry.recipient))).await?;
    for entry in concerned {
        if contacts.get(entry.project, entry.recipient).is_none() {
            continue; // the contact has another address by now
        }
        let subscription =
            Subscription { given: Some(false), default_for_new: false, preserve_existing: false };
        let way = match cause {
            Cause::Bounce => ConsentWay::Bounce,
            Cause::Complaint => ConsentWay::Complaint,
        };
        let (project, evidence) = (entry.project, Evidence::by(way).because_of(Some(entry.email)));
        let upsert = Upsert {
            project,
            email: entry.recipient,
            subscription,
            patch: &none,
            evidence,
            double_opt_in: false,
        };
        let upserted = contacts.upsert(upsert, entry.at);
        if let Some(subscribed) = upserted.flip {
            events.push(NewEvent::flip(project, upserted.contact.id, subscribed, evidence, entry.at));
        }
    }
    contacts.save(tx, deltas).await
}
