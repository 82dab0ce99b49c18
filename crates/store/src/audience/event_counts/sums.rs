//! How many events of each name happened in hours that are over: the counters of these hours, folded into a row for each
//! hour and name, one for each day and name, and one for each block of 32 days and name. So a year costs little more than a
//! day: it is made of ten or eleven blocks, at most 62 days beside them, and at most 46 hours beside these.
//!
//! What is counted later of an hour, such as events that are removed, is in counters again until it is folded as well.
//!
//! Before there were hours, events were counted by day. Counters of days are folded into days and blocks. The hours of that
//! time are not known, and none of them is kept.

use std::collections::{BTreeMap, BTreeSet};

use mailwright_core::ids::{EventId, ProjectNumber};
use mailwright_core::time::Timestamp;

use super::hour::{HOURS, Key, day, hour, parse};
use super::uncounted::Uncounted;
use crate::args;
use crate::database::error::Result;
use crate::database::migrate::{EVENT_DAYS, EVENT_SUMS};
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;
use crate::insight::counter::{self, BEYOND_DIGITS, Counter};

/// Days of a block.
const BLOCK: i64 = 32;
/// Counters of hours that one step folds, and of days.
const STEP: i64 = 1_000;

/// The hour from which on hours are known.
pub(super) async fn hours_known_from(rx: &Rx<'_>) -> Result<i64> {
    if !rx.exists("select 1 from events_by_day", &[]).await? {
        return Ok(i64::MIN);
    }
    let applied_at: Timestamp = rx
        .one("select applied_at from schema_migrations where name = $1", args![EVENT_SUMS], |r| r.get(0))
        .await?;
    // processes that counted by day alone may have done so for a while
    Ok((day(applied_at) + 2) * HOURS)
}

/// What the names of counters of a day began with.
fn beginning_of_day(day: i64) -> String {
    format!("{:06} ", day.max(0))
}

/// Reads the event's name behind it in SQL.
const NAME_BEHIND_DAY: &str = "substr(name, 8)";

/// A stretch of hours, days or blocks: from one on and before another.
type Stretch = (i64, i64);

/// The whole units of a stretch that is made of smaller ones, so many in each, and what is before and behind them.
fn split((first, end): Stretch, in_each: i64) -> (Stretch, [Stretch; 2]) {
    let (whole, beyond) = ((first + in_each - 1).div_euclid(in_each), end.div_euclid(in_each));
    if whole < beyond {
        ((whole, beyond), [(first, whole * in_each), (beyond * in_each, end)])
    } else {
        ((whole, whole), [(first, end), (end, end)])
    }
}

/// What is counted of some hours.
#[derive(Debug, Default)]
pub(super) struct Counted {
    /// How often events of each name happened.
    pub(super) sums: Vec<(String, i64)>,
    /// Which older events are not counted yet, if any.
    pub(super) uncounted: Option<Uncounted>,
}

/// What is counted of the hours from one on and before another. It is one statement, so that what is counted or folded
/// meanwhile is found once.
pub(super) async fn between(rx: &Rx<'_>, project: ProjectNumber, stretch: Stretch) -> Result<Counted> {
    let (whole_days, [hours_before, hours_behind]) = split(stretch, HOURS);
    let (blocks, [days_before, days_behind]) = split(whole_days, BLOCK);
    let beginning = |hour: i64| Key { hour: hour.max(0), name: "" }.to_string();
    let rows = rx
        .all(
        // the first row of the union is there for what is left to count, which is told with each row
        format!(
            "select name, cast(sum(value) as {{int}}), (select counted_to from event_days where project_id = $1), \
               (select m.applied_at from event_days d join schema_migrations m on m.name = $16 where d.project_id = $1) \
             from (select '' as name, 0 as value \
               union all select name, value from event_block_sums where project_id = $1 and block >= $2 and block < $3 \
               union all select name, value from event_day_sums where project_id = $1 and day >= $4 and day < $5 \
               union all select name, value from event_day_sums where project_id = $1 and day >= $6 and day < $7 \
               union all select name, value from event_hour_sums where project_id = $1 and hour >= $8 and hour < $9 \
               union all select name, value from event_hour_sums where project_id = $1 and hour >= $10 and hour < $11 \
               union all select {of_hour}, value from counters where project_id = $1 and kind = 'event_hour' \
                 and name >= $12 and name < $13 \
               union all select {of_day}, value from counters where project_id = $1 and kind = 'event_day' \
                 and name >= $14 and name < $15 \
             ) as sums group by name",
            of_hour = Key::NAME,
            of_day = NAME_BEHIND_DAY,
        ),
        args![
            project,
            blocks.0,
            blocks.1,
            days_before.0,
            days_before.1,
            days_behind.0,
            days_behind.1,
            hours_before.0,
            hours_before.1,
            hours_behind.0,
            hours_behind.1,
            beginning(stretch.0),
            beginning(stretch.1),
            beginning_of_day(whole_days.0),
            beginning_of_day(whole_days.1),
            EVENT_DAYS
        ],
        |r| Ok((r.get::<String>(0)?, r.get::<i64>(1)?, r.get::<Option<EventId>>(2)?, r.get::<Option<Timestamp>>(3)?)),
    )
    .await?;
    let mut counted = Counted::default();
    for (name, sum, behind, until) in rows {
        counted.uncounted = until.map(|until| Uncounted::new(behind, until));
        if !name.is_empty() {
            counted.sums.push((name, sum));
        }
    }
    Ok(counted)
}

/// Folds counters of hours that are over, and those of days; whether there may be more.
pub async fn fold(tx: &mut Tx<'_>, project: ProjectNumber, now: Timestamp) -> Result<bool> {
    let this_hour = Key { hour: hour(now), name: "" }.to_string();
    let of_hours = counter::take_before(tx, project, Counter::EventHour, &this_hour, STEP).await?;
    let of_days = counter::take_before(tx, project, Counter::EventDay, BEYOND_DIGITS, STEP).await?;
    if of_hours.shards.is_empty() && of_days.shards.is_empty() {
        return Ok(false);
    }
    let known_from = hours_known_from(tx).await?;
    let [mut hours, mut days, mut blocks] = [Sums::new(), Sums::new(), Sums::new()];
    for (key, value) in &of_hours.shards {
        let Some((hour, name)) = parse(key) else { continue };
        if hour >= known_from {
            *hours.entry((hour, name)).or_default() += value;
        }
        *days.entry((hour.div_euclid(HOURS), name)).or_default() += value;
    }
    for (key, value) in &of_days.shards {
        let Some(day) = parse(key) else { continue };
        *days.entry(day).or_default() += value;
    }
    for ((day, name), value) in &days {
        *blocks.entry((day.div_euclid(BLOCK), *name)).or_default() += value;
    }
    for (statements, sums) in [(HOUR_SUMS, hours), (DAY_SUMS, days), (BLOCK_SUMS, blocks)] {
        add(tx, project, &statements, &sums).await?;
    }
    Ok(of_hours.has_more || of_days.has_more)
}

/// Sums by hour, day or block, and name.
type Sums<'n> = BTreeMap<(i64, &'n str), i64>;

/// How sums are added to a table, and how those that have come to nothing leave it.
struct Statements {
    add: &'static str,
    clear: &'static str,
}

const HOUR_SUMS: Statements = Statements {
    add: "insert into event_hour_sums (project_id, hour, name, value) \
          select r.project_id, r.hour, r.name, r.value from {rows r: project_id int, hour int, name text, value int} \
          where true on conflict (project_id, hour, name) do update set value = event_hour_sums.value + excluded.value",
    clear: "delete from event_hour_sums where project_id = $1 and hour {in $2} and value = 0",
};

const DAY_SUMS: Statements = Statements {
    add: "insert into event_day_sums (project_id, day, name, value) \
          select r.project_id, r.day, r.name, r.value from {rows r: project_id int, day int, name text, value int} \
          where true on conflict (project_id, day, name) do update set value = event_day_sums.value + excluded.value",
    clear: "delete from event_day_sums where project_id = $1 and day {in $2} and value = 0",
};

const BLOCK_SUMS: Statements = Statements {
    add: "insert into event_block_sums (project_id, block, name, value) \
          select r.project_id, r.block, r.name, r.value from {rows r: project_id int, block int, name text, value int} \
          where true on conflict (project_id, block, name) do update set value = event_block_sums.value + excluded.value",
    clear: "delete from event_block_sums where project_id = $1 and block {in $2} and value = 0",
};

async fn add(
    tx: &Tx<'_>,
    project: ProjectNumber,
    Statements { add, clear }: &Statements,
    sums: &Sums<'_>,
) -> Result<()> {
    tx.each(
        *add,
        &[
            Arg::Ints(sums.keys().map(|_| Some(project.0)).collect()),
            Arg::Ints(sums.keys().map(|(at, _)| Some(*at)).collect()),
            Arg::Texts(sums.keys().map(|(_, name)| Some((*name).into())).collect()),
            Arg::Ints(sums.values().map(|value| Some(*value)).collect()),
        ],
    )
    .await?;
    let touched: BTreeSet<i64> = sums.keys().map(|(at, _)| *at).collect();
    let touched = Arg::Ints(touched.into_iter().map(Some).collect());
    tx.execute(*clear, &[project.into(), touched]).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_is_split_into_whole_units_and_what_is_beside_them() {
        assert_eq!(split((5, 80), 24), ((1, 3), [(5, 24), (72, 80)]));
        assert_eq!(split((24, 72), 24), ((1, 3), [(24, 24), (72, 72)]));
        for (first, end) in [(5, 20), (20, 30), (24, 24), (24, 47), (25, 48)] {
            let (whole, beside) = split((first, end), 24);
            assert_eq!((whole.1 - whole.0, beside), (0, [(first, end), (end, end)]));
        }
        assert_eq!(split((-30, 30), 24), ((-1, 1), [(-30, -24), (24, 30)]));
    }
}
