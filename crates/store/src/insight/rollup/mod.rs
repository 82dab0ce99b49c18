//! How much happened in each quarter of an hour: sums that are kept in the transactions that change the rows that they
//! count, so that a year of them costs what a day costs.
//!
//! A transaction adds to a counter of the quarter. The maintenance folds counters of past quarters into one row for each
//! day (UTC), `rollup_days`, and what is learnt later of that day is folded into it again. All offsets of time zones are
//! whole quarters of an hour, so the days of any zone are sums of quarters.
//!
//! What becomes of a mail counts for the quarter in which the mail was accepted (reference 7).

mod stored;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use mailwright_core::ids::{EmailId, ProjectNumber};
use mailwright_core::rollup::{Metric, Quarter};
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::{Error, Result};
use crate::database::tx::{Rx, Tx};
use crate::insight::counter::{self, Counter, Sums, Taken};
use crate::insight::domains;
use crate::insight::figures::{self, Stored};

pub use crate::insight::figures::Figures;

/// Counters that one step folds.
const STEP: i64 = 2_000;

/// Counts something in the quarter of a time: of mails the time when they were accepted.
pub(crate) fn count(sums: &mut Sums, project: ProjectNumber, metric: Metric, at: Timestamp, delta: i64) {
    let mut name = beginning(Quarter::of(at));
    let _ = write!(name, "{metric}");
    sums.add(project, Counter::Quarter, &name, delta);
}

/// Counts something of a mail to a recipient, who may be unknown: for the project, and for the domain of the recipient.
pub(crate) fn count_mail(
    sums: &mut Sums,
    project: ProjectNumber,
    metric: Metric,
    (mail, recipient): (EmailId, &str),
    delta: i64,
) {
    count(sums, project, metric, mail.instant(), delta);
    domains::count(sums, project, metric, (mail.instant(), recipient), delta);
}

/// What the names of the counters of a quarter begin with. Numbers of quarters have seven digits from 1998 to 2255.
fn beginning(quarter: Quarter) -> String {
    format!("{:07} ", quarter.0)
}

fn parse(name: &str) -> Option<(Quarter, Metric)> {
    let (quarter, metric) = name.split_once(' ')?;
    Some((Quarter(quarter.parse().ok()?), Metric::from_name(metric)?))
}

/// Tells what happened in a project in the quarters from one on and before another, in no order. A quarter and a metric may
/// be told of more than once.
pub async fn read(
    rx: &Rx<'_>,
    project: ProjectNumber,
    (from, until): (Quarter, Quarter),
    mut tell: impl FnMut(Quarter, Metric, i64),
) -> Result<()> {
    let names = (&*beginning(from), &*beginning(until));
    let table = ("rollup_days", Counter::Quarter);
    let Stored { days, counters } =
        figures::stored(rx, project, table, (from.day(), until.day()), names).await?;
    for (day, bytes) in days {
        for (quarter, metric, value) in stored::decode(day, &bytes).ok_or_else(corrupt)? {
            if (from..until).contains(&quarter) {
                tell(quarter, metric, value);
            }
        }
    }
    for (name, value) in counters {
        let Some((quarter, metric)) = parse(&name) else { continue };
        tell(quarter, metric, value);
    }
    Ok(())
}

fn corrupt() -> Error {
    Error::Corrupt { column: 1, expected: "figures", detail: "the list of a day does not end".to_owned() }
}

/// Folds counters of quarters before `now` into the rows of their days; whether there may be more.
pub async fn fold(tx: &mut Tx<'_>, project: ProjectNumber, now: Timestamp) -> Result<bool> {
    let before = beginning(Quarter::of(now));
    let Taken { shards, has_more } =
        counter::take_before(tx, project, Counter::Quarter, &before, STEP).await?;
    let mut days: BTreeMap<i64, BTreeMap<(Quarter, Metric), i64>> = BTreeMap::new();
    for (name, value) in &shards {
        let Some((quarter, metric)) = parse(name) else { continue };
        *days.entry(quarter.day()).or_default().entry((quarter, metric)).or_default() += value;
    }
    for (day, mut sums) in days {
        let sql = "select figures from rollup_days where project_id = $1 and day = $2 {for_update}";
        if let Some(bytes) = tx.optional(sql, args![project, day], |r| r.get::<Vec<u8>>(0)).await? {
            for (quarter, metric, value) in stored::decode(day, &bytes).ok_or_else(corrupt)? {
                *sums.entry((quarter, metric)).or_default() += value;
            }
        }
        tx.execute_one(
            "insert into rollup_days (project_id, day, figures) values ($1, $2, $3) \
             on conflict (project_id, day) do update set figures = excluded.figures",
            args![project, day, &stored::encode(day, &sums)[..]],
        )
        .await?;
    }
    Ok(has_more)
}
