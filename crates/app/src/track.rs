//! `POST /v1/track`: record an event and upsert the contact.

use std::hash::{DefaultHasher, Hash, Hasher};

use futures_util::future::join3;
use mailwright_core::address::EmailAddress;
use mailwright_core::contact::Subscription;
use mailwright_core::custom_data::{Data, DataPatch};
use mailwright_core::event::subscription_event;
use mailwright_core::ids::{ContactId, EventId, ProjectNumber};
use mailwright_core::time::Timestamp;
use mailwright_store::api_key::KeyHash;
use mailwright_store::contact::{Contacts, Upsert};
use mailwright_store::counter::Deltas;
use mailwright_store::event::{self, NewEvent};
use mailwright_store::idempotency::{self, Claim, Used};
use mailwright_store::{Tx, json_text};

use crate::App;
use crate::contact::check_locale;
use crate::error::Result;
use crate::idempotency::{IdempotencyKey, claim_all, reused};
use crate::key::{Identity, Stale, Tracker, recheck_trackers};

/// A checked request.
#[derive(Debug, Clone)]
pub struct Track {
    /// Whom the event is about.
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

/// What was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tracked {
    /// The contact.
    pub contact: ContactId,
    /// The event.
    pub event: EventId,
    /// When the event was recorded.
    pub timestamp: Timestamp,
}

pub(crate) type Outcome = std::result::Result<Tracked, Refusal>;

#[derive(Debug)]
pub(crate) enum Refusal {
    Stale(Stale),
    Used(Used),
}

#[derive(Debug)]
pub(crate) struct Operation {
    key: Option<KeyHash>,
    project: ProjectNumber,
    email: EmailAddress,
    event: String,
    subscription: Subscription,
    patch: DataPatch,
    event_data: Option<String>,
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
        let operation = Operation {
            key: caller.hash,
            project: project.number,
            subscription: Subscription {
                given: track.subscribed,
                default_for_new: true,
                preserve_existing: track.preserve_existing_subscription,
            },
            // the event keeps its data as it was sent, wrappers and nulls included
            event_data: track.data.as_ref().map(json_text),
            patch: DataPatch::new(track.data.unwrap_or_default()),
            email: track.email,
            event: track.event,
            claim: self.claim(project.number, key),
            at: self.0.clock.now(),
        };
        let route = route(project.number, &operation.email);
        let tracked = self.0.tracks.call(route, operation).await?.map_err(|refusal| match refusal {
            Refusal::Used(used) => reused(used_key.unwrap_or_default(), used),
            Refusal::Stale(stale) => self.stale(caller, stale),
        })?;
        self.hint();
        Ok(tracked)
    }
}

pub(crate) async fn run(tx: &mut Tx<'_>, operations: &[Operation]) -> mailwright_store::Result<Vec<Outcome>> {
    let (callers, holders, contacts) = join3(
        recheck_trackers(tx, operations.iter().map(|o| (o.key, o.project)).collect()),
        claim_all(tx, operations, |o| o.claim.as_ref()),
        Contacts::load(tx, operations.iter().map(|o| (o.project, &o.email))),
    )
    .await;
    let (callers, holders, mut contacts) = (callers?, holders?, contacts?);
    let mut events = Vec::with_capacity(operations.len());
    let mut outcomes = Vec::with_capacity(operations.len());
    for ((operation, caller), holder) in operations.iter().zip(callers).zip(holders) {
        outcomes.push(match (caller, holder) {
            (_, Some(used)) => Err(Refusal::Used(used)),
            (Err(stale), None) => {
                if let Some(claim) = &operation.claim {
                    idempotency::release(tx, claim.project, &claim.key).await?;
                }
                Err(Refusal::Stale(stale))
            }
            (Ok(caller), None) => Ok(apply(operation, caller, &mut contacts, &mut events)),
        });
    }
    let mut deltas = Deltas::default();
    let saved = contacts.save(tx, &mut deltas);
    let appended = event::append(tx, &events, &mut deltas);
    let (saved, appended, counted) = join3(saved, appended, deltas.save(tx)).await;
    saved.and(appended).and(counted).map(|()| outcomes)
}

fn apply(
    operation: &Operation,
    caller: Tracker,
    contacts: &mut Contacts,
    events: &mut Vec<NewEvent>,
) -> Tracked {
    let mut subscription = operation.subscription;
    if subscription.given == Some(true) && !caller.may_resubscribe {
        subscription.preserve_existing = true;
    }
    let upserted = contacts.upsert(
        Upsert { project: operation.project, email: &operation.email, subscription, patch: &operation.patch },
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
    let tracked = Tracked { contact, event: event.id, timestamp: operation.at };
    events.push(event);
    // after the event that caused it, which has the earlier id
    if let Some(subscribed) = upserted.flip {
        events.push(NewEvent::bare(operation.project, subscription_event(subscribed), contact, operation.at));
    }
    tracked
}
