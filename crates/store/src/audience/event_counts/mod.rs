//! How many events of each name happened in a stretch of time: sums by hour that are kept in the transactions that append
//! and remove events, and that [`sums`] folds. What is left of the first and the last hour is counted when it is
//! asked for. Older events, from before these sums existed, are counted by the maintenance in steps, the oldest first.

mod hour;
mod sums;
#[cfg(test)]
mod tests;
mod uncounted;

use std::collections::BTreeMap;

use futures_util::future::try_join3;
use mailwright_core::ids::{EventId, ProjectNumber};
use mailwright_core::rollup::Metric;
use mailwright_core::time::Timestamp;

use self::hour::{DAY, HOUR, HOURS, Key, day, hour};
use self::sums::Counted;
use self::uncounted::Uncounted;
use crate::args;
use crate::body;
use crate::database::db::Db;
use crate::database::error::Result;
use crate::database::migrate::EVENT_DAYS;
use crate::database::tx::{Rx, Tx};
use crate::insight::counter::Counter;
use crate::insight::deltas::Deltas;
use crate::insight::rollup;

pub use self::sums::fold;

/// Events that one step of counting takes.
const STEP: usize = 5_000;

/// Counts events of a name at a time, or that they are gone.
pub(crate) fn count(deltas: &mut Deltas, project: ProjectNumber, name: &str, at: Timestamp, delta: i64) {
    rollup::count(deltas.sums(), project, Metric::Events, at, delta);
    count_by_hour(deltas, project, name, at, delta);
}

fn count_by_hour(deltas: &mut Deltas, project: ProjectNumber, name: &str, at: Timestamp, delta: i64) {
    deltas.add(project, Counter::EventHour, &Key { hour: hour(at), name }.to_string(), delta);
}

/// Which events of a project are not counted. It stays so until the transaction ends.
async fn uncounted(tx: &Tx<'_>, project: ProjectNumber) -> Result<Option<Uncounted>> {
    let sql = "select counted_to from event_days where project_id = $1 {for_update}";
    let row = tx.optional(sql, args![project], |r| r.get::<Option<EventId>>(0)).await?;
    let Some(counted_to) = row else { return Ok(None) };
    let until = tx
        .one("select applied_at from schema_migrations where name = $1", args![EVENT_DAYS], |r| r.get(0))
        .await?;
    Ok(Some(Uncounted::new(counted_to, until)))
}

/// Whether all events of a project are counted.
pub(crate) async fn are_counted(rx: &Rx<'_>, project: ProjectNumber) -> Result<bool> {
    Ok(!rx.exists("select 1 from event_days where project_id = $1", args![project]).await?)
}

/// Takes removed events from the sums, those left out that are not in them yet. Nobody counts them meanwhile.
pub(crate) async fn forget<'e>(
    tx: &Tx<'_>,
    project: ProjectNumber,
    removed: impl Iterator<Item = (EventId, &'e str, Timestamp)> + Send,
    deltas: &mut Deltas,
) -> Result<()> {
    let uncounted = uncounted(tx, project).await?;
    for (id, name, at) in removed {
        rollup::count(deltas.sums(), project, Metric::Events, at, -1);
        if uncounted.is_none_or(|uncounted| !uncounted.holds(id)) {
            count_by_hour(deltas, project, name, at, -1);
        }
    }
    Ok(())
}

/// Does one step of counting the events of a project that are not counted yet. Returns whether there are more.
pub async fn count_step(db: &Db, project: ProjectNumber) -> Result<bool> {
    if db.read(body!(async |rx| are_counted(rx, project).await)).await? {
        return Ok(false);
    }
    db.write_in_background(body!(async |tx| step(tx, project).await)).await
}

async fn step(tx: &mut Tx<'_>, project: ProjectNumber) -> Result<bool> {
    let Some(uncounted) = uncounted(tx, project).await? else { return Ok(false) };
    let found = tx
        .all(
            "select id, name, created_at from events where project_id = $1 and id > $2 and id < $3 order by id limit $4",
            args![project, uncounted.from, EventId::first_of(uncounted.until), STEP],
            |r| Ok((r.get::<EventId>(0)?, r.get::<String>(1)?, r.get::<Timestamp>(2)?)),
        )
        .await?;
    let mut deltas = Deltas::default();
    for (_, name, at) in &found {
        count_by_hour(&mut deltas, project, name, *at, 1);
    }
    deltas.save(tx).await?;
    match found.last() {
        Some((last, ..)) if found.len() == STEP => {
            tx.execute_one(
                "update event_days set counted_to = $2 where project_id = $1",
                args![project, *last],
            )
            .await?;
            Ok(true)
        }
        _ => {
            tx.execute_one("delete from event_days where project_id = $1", args![project]).await?;
            Ok(false)
        }
    }
}

/// How often events of each name happened in a stretch of time, the most frequent first. Whole hours are looked up, what
/// is left of the first and the last one is counted.
pub async fn counts_between(
    rx: &Rx<'_>,
    project: ProjectNumber,
    from: Timestamp,
    until: Timestamp,
    now: Timestamp,
) -> Result<Vec<(String, i64)>> {
    let mut sums = Sums::default();
    // nothing is later than now, give or take the clocks of several processes: the day ends with it
    let until = if until > now { Timestamp((day(now) + 2) * DAY) } else { until };
    let (first, end) = whole_hours(from, until, sums::hours_known_from(rx).await?);
    if first >= end {
        sums.add(scan(rx, project, from, until).await?);
        return Ok(sums.sorted());
    }
    let (begin, stop) = (Timestamp(first * HOUR), Timestamp(end * HOUR));
    let (before, behind, Counted { sums: whole, uncounted }) = try_join3(
        scan(rx, project, from, begin),
        scan(rx, project, stop, until),
        sums::between(rx, project, (first, end)),
    )
    .await?;
    for counts in [before, behind, whole] {
        sums.add(counts);
    }
    if let Some(Uncounted { from, until }) = uncounted {
        let from = from.max(EventId::first_of(begin));
        let until = EventId::first_of(until.min(stop));
        // the event with the very id of `from` is counted
        sums.add(scan_ids(rx, project, from, until, ">").await?);
    }
    Ok(sums.sorted())
}

/// The whole hours of a stretch of time: the first one, and the one behind the last. Where hours are not known, they are
/// those of whole days.
fn whole_hours(from: Timestamp, until: Timestamp, known_from: i64) -> (i64, i64) {
    let first = from.0.saturating_add(HOUR - 1).div_euclid(HOUR);
    let first =
        if first < known_from { first.saturating_add(HOURS - 1).div_euclid(HOURS) * HOURS } else { first };
    let end = hour(until);
    let end = if end < known_from { end.div_euclid(HOURS) * HOURS } else { end };
    (first, end)
}

#[derive(Default)]
struct Sums(BTreeMap<String, i64>);

impl Sums {
    fn add(&mut self, counts: Vec<(String, i64)>) {
        for (name, count) in counts {
            *self.0.entry(name).or_default() += count;
        }
    }

    fn sorted(self) -> Vec<(String, i64)> {
        let mut sums: Vec<_> = self.0.into_iter().filter(|(_, count)| *count > 0).collect();
        sums.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        sums
    }
}

async fn scan(
    rx: &Rx<'_>,
    project: ProjectNumber,
    from: Timestamp,
    until: Timestamp,
) -> Result<Vec<(String, i64)>> {
    if from >= until {
        return Ok(Vec::new());
    }
    scan_ids(rx, project, EventId::first_of(from), EventId::first_of(until), ">=").await
}

async fn scan_ids(
    rx: &Rx<'_>,
    project: ProjectNumber,
    from: EventId,
    until: EventId,
    beyond: &'static str,
) -> Result<Vec<(String, i64)>> {
    rx.all(
        format!(
            "select name, count(*) from events where project_id = $1 and id {beyond} $2 and id < $3 group by name"
        ),
        args![project, from, until],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )
    .await
}
