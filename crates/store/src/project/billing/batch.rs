//! What is reported to the payment service: batches of units, each with an id of its own.
//!
//! Units are not gathered mail by mail. A batch is what the counters of a month have grown by since the last one; how far
//! they are in batches is written in the same transaction, under the lock of the account. So each unit is in one batch,
//! however many processes gather, and whenever a transaction that counts commits.

use std::collections::BTreeMap;
use std::time::Duration;

use mailwright_core::ids::{BatchId, ProjectNumber};
use mailwright_core::month::Month;
use mailwright_core::time::Timestamp;

use super::account::Account;
use super::usage;
use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};

/// How many months before the current one are looked at: transactions that count for an earlier one have ended long ago.
const PAST_MONTHS: i64 = 2;

/// Something to report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// Identifier, by which the payment service knows one that it has.
    pub id: BatchId,
    /// The customer.
    pub customer: String,
    /// Units.
    pub units: i64,
    /// When they were used.
    pub happened_at: Timestamp,
    /// How often it was tried to report it.
    pub tries: i64,
    /// Until when it is left alone.
    pub due_at: Timestamp,
}

fn months(now: Timestamp) -> impl Iterator<Item = Month> {
    let current = Month::of(now);
    (0..=PAST_MONTHS).map(move |ago| current.plus(-ago))
}

/// Units of a month, and how many of them are in batches.
async fn figures(rx: &Rx<'_>, project: ProjectNumber, now: Timestamp) -> Result<BTreeMap<Month, (i64, i64)>> {
    let used = usage::of_months(rx, project, months(now)).await?;
    let first = Month::of(now).plus(-PAST_MONTHS).number();
    let metered: BTreeMap<i64, i64> = rx
        .all(
            "select month, units from billing_metered where project_id = $1 and month >= $2",
            args![project, first],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )
        .await?
        .into_iter()
        .collect();
    let figures = used.into_iter().map(|(month, used)| {
        (month, (used.total_units(), metered.get(&month.number()).copied().unwrap_or_default()))
    });
    Ok(figures.collect())
}

async fn set_metered(tx: &Tx<'_>, project: ProjectNumber, month: Month, units: i64) -> Result<()> {
    tx.execute_one(
        "insert into billing_metered (project_id, month, units) values ($1, $2, $3) \
         on conflict (project_id, month) do update set units = excluded.units",
        args![project, month.number(), units],
    )
    .await
}

/// Begins to gather: what was used before is in no batch. The caller has locked the account.
pub async fn begin(tx: &Tx<'_>, project: ProjectNumber, now: Timestamp) -> Result<()> {
    for (month, (used, _)) in figures(tx, project, now).await? {
        set_metered(tx, project, month, used).await?;
    }
    Ok(())
}

/// Whether a project used something that is in no batch, as far as is known without a lock.
pub async fn is_more(rx: &Rx<'_>, project: ProjectNumber, now: Timestamp) -> Result<bool> {
    Ok(figures(rx, project, now).await?.into_values().any(|(used, metered)| used > metered))
}

/// Puts what a project with a subscription used since the last time into batches; how many. The caller has locked the
/// account.
pub async fn gather(tx: &Tx<'_>, project: ProjectNumber, account: &Account, now: Timestamp) -> Result<usize> {
    let (Some(customer), Some(_)) = (&account.customer, &account.subscription) else { return Ok(0) };
    let mut batches = 0;
    for (month, (used, metered)) in figures(tx, project, now).await? {
        // less than before: a campaign was cancelled, and gave back more than was used since
        if used <= metered {
            continue;
        }
        // the end of a past month, so that it stands on the invoice of that month
        let happened_at = if month.end() > now { now } else { month.end().minus(Duration::from_secs(1)) };
        tx.execute_one(
            "insert into meter_batches (id, customer, units, happened_at, created_at, due_at, tries) \
             values ($1, $2, $3, $4, $5, $5, 0)",
            args![BatchId::new(now, rand::random()), customer.as_str(), used - metered, happened_at, now],
        )
        .await?;
        set_metered(tx, project, month, used).await?;
        batches += 1;
    }
    Ok(batches)
}

/// The batches that are to be reported now, the longest due first; also those that are due after `beyond`, which no try
/// puts them off to: the clock was set back since.
pub async fn due(rx: &Rx<'_>, now: Timestamp, beyond: Timestamp, limit: i64) -> Result<Vec<Batch>> {
    rx.all(
        "select id, customer, units, happened_at, tries, due_at from meter_batches where due_at <= $1 or due_at > $2 \
         order by due_at limit $3",
        args![now, beyond, limit],
        |r| {
            Ok(Batch {
                id: r.get(0)?,
                customer: r.get(1)?,
                units: r.get(2)?,
                happened_at: r.get(3)?,
                tries: r.get(4)?,
                due_at: r.get(5)?,
            })
        },
    )
    .await
}

/// Takes a batch until a time, and counts the try; false when another process has it.
pub async fn claim(tx: &Tx<'_>, batch: &Batch, until: Timestamp) -> Result<bool> {
    let claimed = tx
        .execute(
            "update meter_batches set due_at = $3, tries = tries + 1 where id = $1 and due_at = $2",
            args![batch.id, batch.due_at, until],
        )
        .await?;
    Ok(claimed == 1)
}

/// Notes that a batch was reported.
pub async fn reported(tx: &Tx<'_>, id: BatchId) -> Result<()> {
    tx.execute("update meter_batches set due_at = null, error = null where id = $1", args![id]).await?;
    Ok(())
}

/// Notes why a batch was not reported, and when it is tried again.
pub async fn failed(tx: &Tx<'_>, id: BatchId, error: &str, until: Timestamp) -> Result<()> {
    tx.execute(
        "update meter_batches set due_at = $3, error = $2 where id = $1 and due_at is not null",
        args![id, error, until],
    )
    .await?;
    Ok(())
}

/// Forgets batches that were reported, some at a time, and were made before a time; how many.
pub async fn forget(tx: &Tx<'_>, before: Timestamp, limit: i64) -> Result<u64> {
    tx.execute(
        "delete from meter_batches where id in (select id from meter_batches where created_at < $1 \
         and due_at is null order by created_at limit $2)",
        args![before, limit],
    )
    .await
}
