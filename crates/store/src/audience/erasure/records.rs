//! Records that are found by the contact or by the address: they are removed, some at a time.

use mailwright_core::address::EmailAddress;
use mailwright_core::erasure::Counted;
use mailwright_core::ids::ProjectNumber;
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;

use super::stage::{Part, Running};
use crate::args;
use crate::audience::event_removal;
use crate::automation::forget;
use crate::database::error::Result;
use crate::database::tx::Tx;
use crate::delivery::mailbox;
use crate::feedback::inbound_removal;
use crate::insight::deltas::Deltas;

/// Events that one step removes.
const EVENTS: i64 = 2_500;
/// Executions, signals or refusals that one step removes.
const EXECUTIONS: i64 = 500;
/// Captured mails, or mails that came in, that one step removes: some are large.
const MESSAGES: i64 = 100;
/// How a complaint is stored as the reason of a suppression.
const COMPLAINT: &str = "complaint";

/// How many records went, by their kinds.
#[derive(Debug, Default)]
pub(super) struct Counts(BTreeMap<Counted, u64>);

impl Counts {
    pub(super) fn from_json(stored: &Json) -> Self {
        let known = |(name, number): (&String, &Json)| Some((Counted::from_name(name)?, number.as_u64()?));
        Self(stored.as_object().into_iter().flatten().filter_map(known).collect())
    }

    pub(super) fn to_json(&self) -> Json {
        let named = self.0.iter().map(|(what, number)| (what.as_str().to_owned(), (*number).into()));
        Json::Object(named.collect::<Map<_, _>>())
    }

    pub(super) fn add(&mut self, what: Counted, number: u64) {
        if number > 0 {
            *self.0.entry(what).or_default() += number;
        }
    }
}

/// Removes an address from the list of those that get no mail, and what is counted of its bounces. Whether its owner had
/// complained.
pub(super) async fn forget_suppression(
    tx: &Tx<'_>,
    project: ProjectNumber,
    email: &EmailAddress,
    counts: &mut Counts,
) -> Result<bool> {
    let reasons = tx
        .all(
            "delete from suppressions where project_id = $1 and email = $2 returning reason",
            args![project, email],
            |r| r.get::<String>(0),
        )
        .await?;
    let bounces = tx
        .execute("delete from soft_bounces where project_id = $1 and email = $2", args![project, email])
        .await?;
    counts.add(Counted::Suppressions, reasons.len() as u64);
    counts.add(Counted::SoftBounces, bounces);
    Ok(reasons.iter().any(|reason| reason == COMPLAINT))
}

pub(super) async fn executions(
    tx: &Tx<'_>,
    running: &Running,
    counts: &mut Counts,
    deltas: &mut Deltas,
) -> Result<Part> {
    let Some(contact) = running.contact else { return Ok(Part::Done) };
    let gone = forget::contact(tx, running.project, contact, EXECUTIONS, deltas).await?;
    counts.add(Counted::Executions, gone.executions as u64);
    counts.add(Counted::Signals, gone.signals as u64);
    counts.add(Counted::Refusals, gone.refusals as u64);
    Ok(Part::of(gone.most(), EXECUTIONS))
}

pub(super) async fn captured(
    tx: &Tx<'_>,
    running: &Running,
    counts: &mut Counts,
    deltas: &mut Deltas,
) -> Result<Part> {
    let Some(contact) = running.contact else { return Ok(Part::Done) };
    let gone = mailbox::forget_contact(tx, running.project, contact, MESSAGES, deltas).await?;
    counts.add(Counted::Captured, gone as u64);
    Ok(Part::of(gone, MESSAGES))
}

pub(super) async fn received(
    tx: &mut Tx<'_>,
    running: &Running,
    counts: &mut Counts,
    deltas: &mut Deltas,
) -> Result<Part> {
    let Some(contact) = running.contact else { return Ok(Part::Done) };
    let gone = inbound_removal::of_contact(tx, running.project, contact, MESSAGES, deltas).await?;
    counts.add(Counted::Received, gone as u64);
    Ok(Part::of(gone, MESSAGES))
}

pub(super) async fn received_from(
    tx: &mut Tx<'_>,
    running: &Running,
    counts: &mut Counts,
    deltas: &mut Deltas,
) -> Result<Part> {
    for address in running.addresses() {
        let gone = inbound_removal::of_address(tx, running.project, address, MESSAGES, deltas).await?;
        counts.add(Counted::Received, gone as u64);
        if gone > 0 {
            return Ok(Part::Goes(String::new()));
        }
    }
    Ok(Part::Done)
}

pub(super) async fn events(
    tx: &Tx<'_>,
    running: &Running,
    counts: &mut Counts,
    deltas: &mut Deltas,
) -> Result<Part> {
    let Some(contact) = running.contact else { return Ok(Part::Done) };
    let gone = event_removal::of_contact(tx, running.project, contact, EVENTS, deltas).await?;
    counts.add(Counted::Events, gone as u64);
    Ok(Part::of(gone, EVENTS))
}
