//! How many events of each name happened on each day: sums that are kept in the transactions that append and remove
//! events. Older events, from before these sums existed, are counted by the maintenance in steps, the oldest first.

use std::collections::BTreeMap;
use std::fmt;

use futures_util::future::try_join4;
use mailwright_core::ids::{EventId, ProjectNumber};
use mailwright_core::rollup::Metric;
use mailwright_core::time::Timestamp;

use crate::args;
use crate::body;
use crate::database::db::Db;
use crate::database::error::Result;
use crate::database::migrate::EVENT_DAYS;
use crate::database::tx::{Rx, Tx};
use crate::insight::counter::Counter;
use crate::insight::deltas::Deltas;
use crate::insight::rollup;

/// Events that one step of counting takes.
const STEP: usize = 5_000;
/// Milliseconds of a day.
const DAY: i64 = 24 * 60 * 60 * 1000;

/// The day of an instant: days since the Unix epoch, UTC.
fn day(at: Timestamp) -> i64 {
    at.0.div_euclid(DAY)
}

/// The name of a counter: the day, as wide for every day, so that the days stand in their order, and the event's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key<'n> {
    day: i64,
    name: &'n str,
}

impl fmt::Display for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:06} {}", self.day, self.name)
    }
}

impl Key<'_> {
    /// Reads the event's name in SQL: it begins at the same place on all days.
    const NAME: &'static str = "substr(name, 8)";
}

/// Counts events of a name at a time, or that they are gone.
pub(crate) fn count(deltas: &mut Deltas, project: ProjectNumber, name: &str, at: Timestamp, delta: i64) {
    rollup::count(deltas.sums(), project, Metric::Events, at, delta);
    count_by_day(deltas, project, name, at, delta);
}

fn count_by_day(deltas: &mut Deltas, project: ProjectNumber, name: &str, at: Timestamp, delta: i64) {
    deltas.add(project, Counter::EventDay, &Key { day: day(at), name }.to_string(), delta);
}

/// The events of a project that are not counted by day yet: those from `from` on and before `until`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Uncounted {
    from: EventId,
    until: Timestamp,
}

impl Uncounted {
    /// Whether an event is one of them.
    fn holds(&self, id: EventId) -> bool {
        id > self.from && id < EventId::first_of(self.until)
    }
}

/// Which events of a project are not counted.
const COUNTED_TO: &str = "select counted_to from event_days where project_id = $1";
/// The same, kept as it is until the transaction ends.
const LOCKED: &str = "select counted_to from event_days where project_id = $1 {for_update}";

async fn uncounted(rx: &Rx<'_>, project: ProjectNumber, sql: &'static str) -> Result<Option<Uncounted>> {
    let row = rx.optional(sql, args![project], |r| r.get::<Option<EventId>>(0)).await?;
    let Some(counted_to) = row else { return Ok(None) };
    let until = rx
        .one("select applied_at from schema_migrations where name = $1", args![EVENT_DAYS], |r| r.get(0))
        .await?;
    Ok(Some(Uncounted { from: counted_to.unwrap_or(EventId::first_of(Timestamp(0))), until }))
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
    let uncounted = uncounted(tx, project, LOCKED).await?;
    for (id, name, at) in removed {
        rollup::count(deltas.sums(), project, Metric::Events, at, -1);
        if uncounted.is_none_or(|uncounted| !uncounted.holds(id)) {
            count_by_day(deltas, project, name, at, -1);
        }
    }
    Ok(())
}

/// Does one step of counting the events of a project that are not counted yet. Returns whether there are more.
pub async fn count_step(db: &Db, project: ProjectNumber) -> Result<bool> {
    let unfinished = db.read(body!(async |rx| uncounted(rx, project, COUNTED_TO).await)).await?;
    if unfinished.is_none() {
        return Ok(false);
    }
    db.write_in_background(body!(async |tx| step(tx, project).await)).await
}

async fn step(tx: &mut Tx<'_>, project: ProjectNumber) -> Result<bool> {
    let Some(uncounted) = uncounted(tx, project, LOCKED).await? else { return Ok(false) };
    let found = tx
        .all(
            "select id, name, created_at from events where project_id = $1 and id > $2 and id < $3 order by id limit $4",
            args![project, uncounted.from, EventId::first_of(uncounted.until), STEP],
            |r| Ok((r.get::<EventId>(0)?, r.get::<String>(1)?, r.get::<Timestamp>(2)?)),
        )
        .await?;
    let mut deltas = Deltas::default();
    for (_, name, at) in &found {
        count_by_day(&mut deltas, project, name, *at, 1);
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

/// How often events of each name happened in a stretch of time, the most frequent first. Whole days are looked up, what
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
    let first = from.0.saturating_add(DAY - 1).div_euclid(DAY);
    let end = day(until);
    if first >= end {
        sums.add(scan(rx, project, from, until).await?);
        return Ok(sums.sorted());
    }
    let (days_begin, days_end) = (Timestamp(first * DAY), Timestamp(end * DAY));
    let (before, behind, days, uncounted) = try_join4(
        scan(rx, project, from, days_begin),
        scan(rx, project, days_end, until),
        of_days(rx, project, first, end),
        uncounted(rx, project, COUNTED_TO),
    )
    .await?;
    for counts in [before, behind, days] {
        sums.add(counts);
    }
    if let Some(rest) = uncounted {
        let from = rest.from.max(EventId::first_of(days_begin));
        let until = EventId::first_of(rest.until.min(days_end));
        // the event with the very id of `from` is counted
        sums.add(scan_ids(rx, project, from, until, ">").await?);
    }
    Ok(sums.sorted())
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

/// The sums of the days from `first` on and before `end`.
async fn of_days(rx: &Rx<'_>, project: ProjectNumber, first: i64, end: i64) -> Result<Vec<(String, i64)>> {
    let beginning = |day: i64| Key { day: day.max(0), name: "" }.to_string();
    rx.all(
        format!(
            "select {name}, cast(sum(value) as {{int}}) from counters where project_id = $1 and kind = 'event_day' \
             and name >= $2 and name < $3 group by {name}",
            name = Key::NAME
        ),
        args![project, beginning(first), beginning(end)],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )
    .await
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

#[cfg(test)]
mod tests {
    use mailwright_core::ids::ContactId;

    use super::*;
    use crate::audience::event::{self, NewEvent};
    use crate::database::location::Location;
    use crate::database::metrics::StoreMetrics;

    const PROJECT: ProjectNumber = ProjectNumber(7);
    /// When events began to be counted.
    const APPLIED: Timestamp = Timestamp(20_000 * DAY + 5_000);

    fn at(day: i64, millis: i64) -> Timestamp {
        Timestamp(day * DAY + millis)
    }

    async fn append(db: &Db, times: Vec<Timestamp>) {
        let written = db.write(body!(async |tx| {
            let contact = ContactId::first_of(Timestamp(1));
            let new = |at: &Timestamp| NewEvent::bare(PROJECT, "seen", contact, *at);
            let events: Vec<_> = times.iter().map(new).collect();
            let mut deltas = Deltas::default();
            event::append(tx, &events, &mut deltas).await?;
            deltas.save(tx).await
        }));
        written.await.unwrap();
    }

    async fn between(db: &Db, from: Timestamp, until: Timestamp) -> i64 {
        let now = at(20_003, 0);
        let read = db.read(body!(async |rx| counts_between(rx, PROJECT, from, until, now).await));
        read.await.unwrap().iter().map(|(_, count)| count).sum()
    }

    /// Events of before the counting have no counters, as in a database that is older than it.
    async fn older(db: &Db) {
        append(db, (0..STEP as i64 + 3).map(|n| at(19_990 + n % 10, n)).collect()).await;
        let written = db.write(body!(async |tx| {
            tx.execute("delete from counters where project_id = $1 and kind = 'event_day'", args![PROJECT])
                .await?;
            tx.execute("insert into event_days (project_id) values ($1)", args![PROJECT]).await
        }));
        written.await.unwrap();
        append(db, vec![at(20_000, 6_000), at(20_001, 0), at(20_001, DAY - 1), at(20_002, 0)]).await;
    }

    async fn check(db: &Db, all: i64) {
        assert_eq!(between(db, at(0, 0), at(20_004, 0)).await, all);
        assert_eq!(between(db, at(20_001, 0), at(20_002, 0)).await, 2);
        assert_eq!(between(db, at(20_001, 1), at(20_002, 1)).await, 2);
        assert_eq!(between(db, at(20_001, 1), at(20_001, 2)).await, 0);
        assert_eq!(between(db, at(20_000, 0), at(20_001, 1)).await, 2);
        assert_eq!(
            between(db, at(19_999, 0), at(20_000, 0)).await,
            between(db, at(19_999, 0), at(19_999, DAY - 1)).await
        );
        assert_eq!(between(db, at(5, 0), at(4, 0)).await, 0);
    }

    #[tokio::test]
    async fn days_have_the_same_sums_before_during_and_after_the_counting_on_postgres() {
        let database = crate::database::migrate::tests::Database::create("days").await;
        days_have_the_same_sums(database.open()).await;
        database.drop().await;
    }

    #[tokio::test]
    async fn days_have_the_same_sums_before_during_and_after_the_counting() {
        let folder = tempfile::tempdir().unwrap();
        let db =
            Db::open(&Location::Sqlite(folder.path().join("test.sqlite")), StoreMetrics::default()).unwrap();
        days_have_the_same_sums(db).await;
    }

    async fn days_have_the_same_sums(db: Db) {
        crate::database::migrate::migrate(&db, APPLIED).await.unwrap();
        older(&db).await;
        let mut all = STEP as i64 + 3 + 4;
        check(&db, all).await;
        assert!(count_step(&db, PROJECT).await.unwrap(), "there is more than one step");
        check(&db, all).await;
        // removed while some are counted and some are not
        let removed =
            db.write(
                body!(async |tx| event::remove(tx, PROJECT, "seen", at(19_991, 0), at(20_003, 0)).await),
            );
        all -= removed.await.unwrap() as i64;
        check(&db, all).await;
        assert!(!count_step(&db, PROJECT).await.unwrap());
        check(&db, all).await;
        assert!(!count_step(&db, PROJECT).await.unwrap(), "it is done once");
        check(&db, all).await;
    }
}
