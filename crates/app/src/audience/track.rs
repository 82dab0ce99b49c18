//! `POST /v1/track`: record an event and upsert the contact.
//!
//! [`App::track`] hands an operation to a coalescer, routed by contact. [`run`] handles a group of operations in one
//! transaction: look the keys up again, claim the idempotency keys, load the contacts, look up which names of fields
//! and events are known, apply, save, append the events, add to the counters, tell the workflows. If the key's project was reset meanwhile,
//! the operation is refused, and the handler repeats it for the project's new number.

use std::hash::{DefaultHasher, Hash, Hasher};

use futures_util::future::join4;
use mailwright_core::address::EmailAddress;
use mailwright_core::consent::{ConsentWay, Evidence};
use mailwright_core::contact::Subscription;
use mailwright_core::custom_data::{Data, DataPatch};
use mailwright_core::excess::{Excess, MAX_LOADED};
use mailwright_core::ids::{ContactId, EventId, ProjectNumber};
use mailwright_core::time::Timestamp;
use mailwright_store::audience::contact::{Contacts, Upsert};
use mailwright_store::audience::event::{self, NewEvent};
use mailwright_store::audience::event_field::{self, EventField};
use mailwright_store::audience::names::{Names, Wanted};
use mailwright_store::insight::deltas::Deltas;
use mailwright_store::project::api_key::KeyHash;
use mailwright_store::sending::idempotency::{self, Claim, Used};
use mailwright_store::{Load, Tx, json_text};

use crate::App;
use crate::audience::locale::check_locale;
use crate::error::{Error, Result};
use crate::project::key::{Identity, Rechecked, Stale, recheck};
use crate::sending::idempotency::{IdempotencyKey, claim_all, reused};

/// A checked request.
#[derive(Debug, Clone)]
pub struct Track {
    /// The contact's address.
    pub email: EmailAddress,
    /// Name of the event; not a reserved one.
    pub event: String,
    /// Subscription asked for.
    pub subscribed: Option<bool>,
    /// Whether `subscribed` applies to a new contact only.
    pub preserve_existing_subscription: bool,
    /// Contact data and event variables.
    pub data: Option<Data>,
}

/// The recorded event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tracked {
    /// The contact.
    pub contact: ContactId,
    /// The event.
    pub event: EventId,
    /// When the event was recorded.
    pub timestamp: Timestamp,
    /// Whether workflows may be concerned, by this event or one that was recorded together with it.
    pub(crate) is_heard: bool,
}

pub(crate) type Outcome = std::result::Result<Tracked, Refusal>;

#[derive(Debug)]
pub(crate) enum Refusal {
    Stale(Stale),
    Used(Used),
    Excess(Excess),
}

#[derive(Debug)]
pub(crate) struct Operation {
    key: Option<KeyHash>,
    project: ProjectNumber,
    email: EmailAddress,
    event: String,
    subscription: Subscription,
    double_opt_in: bool,
    patch: DataPatch,
    event_data: Option<String>,
    /// Keys of the data that may be new to the project.
    new_fields: Vec<EventField>,
    claim: Option<Claim>,
    at: Timestamp,
}

/// Operations on the same contact must not run against each other.
pub(crate) fn route(project: ProjectNumber, email: &EmailAddress) -> u64 {
    let mut hasher = DefaultHasher::new();
    (project, email).hash(&mut hasher);
    hasher.finish()
}

impl App {
    /// Records an event. Once this returns, it is on disk.
    pub async fn track(
        &self,
        caller: &Identity,
        track: Track,
        key: Option<IdempotencyKey>,
    ) -> Result<Tracked> {
        if let Some(data) = &track.data {
            check_locale(data)?;
        }
        let project = &caller.project;
        let used_key = key.as_ref().map(|k| k.key.clone());
        let fields = &self.0.audience.event_fields;
        let new_fields = track.data.as_ref().map(|data| fields.unknown(project.number, &track.event, data));
        let new_fields = new_fields.unwrap_or_default();
        let new_names: Vec<String> = new_fields.iter().map(|field| field.name.clone()).collect();
        let event = track.event.clone();
        let operation = Operation {
            new_fields,
            key: caller.hash,
            project: project.number,
            subscription: Subscription {
                given: track.subscribed,
                default_for_new: true,
                preserve_existing: track.preserve_existing_subscription,
            },
            double_opt_in: project.double_opt_in,
            // the event keeps its data as it was sent, wrappers and nulls included
            event_data: track.data.as_ref().map(json_text),
            patch: DataPatch::new(track.data.unwrap_or_default()),
            email: track.email,
            event: track.event,
            claim: self.claim(caller, key),
            at: self.0.clock.now(),
        };
        let route = route(project.number, &operation.email);
        // the event and the contact each keep it
        let bytes = 2 * operation.event_data.as_ref().map_or(0, String::len);
        let load = Load { project: project.number, rows: 1, bytes };
        let tracked = self.0.audience.tracks.call_sized(route, load, operation).await?.map_err(
            |refusal| match refusal {
                Refusal::Used(used) => reused(used_key.unwrap_or_default(), used),
                Refusal::Stale(stale) => self.stale(caller, stale),
                Refusal::Excess(excess) => Error::Invalid(vec![excess.issue()]),
            },
        )?;
        fields.remember(project.number, &event, &new_names);
        self.wake_segments();
        if tracked.is_heard {
            self.wake_workflows();
        }
        Ok(tracked)
    }
}

pub(crate) async fn run(tx: &mut Tx<'_>, operations: &[Operation]) -> mailwright_store::Result<Vec<Outcome>> {
    let mut wanted = Wanted::default();
    for operation in operations {
        wanted.event(operation.project, &operation.event);
        wanted.fields(operation.project, operation.patch.names());
    }
    let (callers, holders, contacts, names) = join4(
        recheck(tx, operations.iter().map(|o| (o.key, o.project)).collect()),
        claim_all(tx, operations, |o| o.claim.as_ref()),
        Contacts::load_within(tx, operations.iter().map(|o| (o.project, &o.email)), MAX_LOADED),
        Names::load(tx, &wanted),
    )
    .await;
    let (callers, holders, mut contacts, mut names) = (callers?, holders?, contacts?, names?);
    let mut events = Vec::with_capacity(operations.len());
    let mut outcomes = Vec::with_capacity(operations.len());
    for ((operation, caller), holder) in operations.iter().zip(callers).zip(holders) {
        let outcome = match (caller, holder) {
            (_, Some(used)) => Err(Refusal::Used(used)),
            (Err(stale), None) => Err(Refusal::Stale(stale)),
            (Ok(caller), None) => check(operation, caller, &mut contacts, &mut names)
                .map(|()| apply(operation, caller, &mut contacts, &mut events))
                .map_err(Refusal::Excess),
        };
        let refused = matches!(&outcome, Err(refusal) if !matches!(refusal, Refusal::Used(_)));
        if let (true, Some(claim)) = (refused, &operation.claim) {
            // refused: the key stays free for a corrected request
            idempotency::release(tx, claim.project, &claim.key).await?;
        }
        outcomes.push(outcome);
    }
    let mut deltas = Deltas::default();
    let saved = contacts.save(tx, &mut deltas);
    let appended = event::append(tx, &events, &mut deltas);
    let saved = join4(saved, appended, deltas.write(tx), names.save(tx));
    let (saved, appended, heard, registered) = saved.await;
    saved.and(appended).and(registered)?;
    let heard = heard?;
    for tracked in outcomes.iter_mut().flatten() {
        tracked.is_heard = !heard.is_nothing();
    }
    heard.tell(tx).await?;
    register_fields(tx, operations, &outcomes).await?;
    Ok(outcomes)
}

/// Notes the keys of the events that were stored.
async fn register_fields(
    tx: &Tx<'_>,
    operations: &[Operation],
    outcomes: &[Outcome],
) -> mailwright_store::Result<()> {
    let stored = operations.iter().zip(outcomes).filter(|(_, outcome)| outcome.is_ok());
    let new: Vec<_> = stored
        .flat_map(|(operation, _)| operation.new_fields.iter().map(|field| (operation.project, field)))
        .collect();
    let Some(now) = operations.iter().map(|operation| operation.at).max() else { return Ok(()) };
    event_field::register(tx, &new, now).await
}

/// Whether contact and project can hold what an operation brings.
///
/// A person who was erased and is kept out comes back with a form of the project's pages that subscribes: with the public
/// key, where that may subscribe people again.
fn check(
    operation: &Operation,
    caller: Rechecked,
    contacts: &mut Contacts,
    names: &mut Names,
) -> std::result::Result<(), Excess> {
    if caller.is_public && caller.may_resubscribe && operation.subscription.given == Some(true) {
        contacts.readmit(operation.project, &operation.email);
    }
    contacts.check(operation.project, &operation.email, &operation.patch)?;
    let Operation { project, event, at, .. } = operation;
    if caller.is_public {
        return names.take_publicly(*project, operation.patch.names(), event, *at);
    }
    names.take(*project, operation.patch.names(), Some(event), *at)
}

fn apply(
    operation: &Operation,
    caller: Rechecked,
    contacts: &mut Contacts,
    events: &mut Vec<NewEvent>,
) -> Tracked {
    let mut subscription = operation.subscription;
    if subscription.given == Some(true) && !caller.may_resubscribe {
        subscription.preserve_existing = true;
    }
    let way = if caller.is_public { ConsentWay::PublicKey } else { ConsentWay::Track };
    let evidence = Evidence::by(way);
    let upserted = contacts.upsert(
        Upsert {
            project: operation.project,
            email: &operation.email,
            subscription,
            patch: &operation.patch,
            evidence,
            double_opt_in: caller.double_opt_in.unwrap_or(operation.double_opt_in),
        },
        operation.at,
    );
    if caller.is_public {
        contacts.tell_id(operation.project, &operation.email);
    }
    let contact = upserted.contact.id;
    let event = NewEvent {
        data: operation.event_data.clone(),
        ..NewEvent::bare(operation.project, &operation.event, contact, operation.at)
    };
    let tracked = Tracked { contact, event: event.id, timestamp: operation.at, is_heard: false };
    events.push(event);
    // after the event that caused it, which has the earlier id
    if let Some(subscribed) = upserted.flip {
        events.push(NewEvent::flip(operation.project, contact, subscribed, evidence, operation.at));
    }
    tracked
}
