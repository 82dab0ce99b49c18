//! The feed as it happens: a log of its entries, for projects whose feed somebody follows.
//!
//! A transaction that makes entries appends them as one row, without a place: transactions commit in another order than
//! that of their ids, so whoever reads by id or time would miss what commits late. [`place_new`] gives places to the rows
//! that are committed, while it holds the row of the project in `activity_streams`. So places are in the order of
//! commits, without gaps, and whoever has read up to a place has missed nothing before it.
//!
//! Only projects whose feed is followed have a log: without `activity_streams.is_on` nothing is appended.

use std::collections::BTreeMap;

use mailwright_core::activity::Place;
use mailwright_core::ids::{ActivityLogId, ProjectNumber};
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::{Error, Result};
use crate::database::tx::{Row, Rx, Tx};
use crate::database::value::Arg;

/// Entries of each project.
pub(crate) type Entries = BTreeMap<ProjectNumber, Vec<Place>>;

/// Most entries in a row of the log.
pub const MOST_IN_ROW: usize = 100;

/// Appends entries to the logs of the projects whose feed is followed.
pub(crate) async fn append(tx: &Tx<'_>, entries: &Entries) -> Result<()> {
    let (mut projects, mut ids, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    for (project, places) in entries {
        let Some(at) = places.first().map(|place| place.at) else { continue };
        let mut places = places.clone();
        places.sort_unstable();
        // ids of one time are in the order in which they are made
        for places in places.chunks(MOST_IN_ROW) {
            projects.push(Some(project.0));
            ids.push(Some(ActivityLogId::new(at, rand::random()).into()));
            rows.push(Some(places.iter().flat_map(Place::to_bytes).collect::<Vec<u8>>().into()));
        }
    }
    if projects.is_empty() {
        return Ok(());
    }
    tx.each(
        "insert into activity_log (project_id, id, position, entries) select r.project_id, r.id, null, r.entries \
         from {rows r: project_id int, id id, entries bytes} \
         where exists (select 1 from activity_streams s where s.project_id = r.project_id and s.is_on)",
        &[Arg::Ints(projects), Arg::Ids(ids), Arg::Blobs(rows)],
    )
    .await?;
    Ok(())
}

/// Appends one entry to the log of a project, if its feed is followed.
pub async fn append_one(tx: &Tx<'_>, project: ProjectNumber, place: Place) -> Result<()> {
    append(tx, &Entries::from([(project, vec![place])])).await
}

/// Where the log of a project is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The place of the newest row that has one.
    pub position: i64,
    /// Up to which place the log was removed: who has read no further cannot go on.
    pub removed_to: i64,
}

impl Head {
    fn read(row: &Row<'_>) -> Result<Self> {
        Ok(Self { position: row.get(0)?, removed_to: row.get(1)? })
    }
}

/// Has a project keep a log, and notes that somebody follows its feed. Where no log was kept until now, who followed
/// before has missed something: the places up to here are gone.
pub async fn follow(tx: &mut Tx<'_>, project: ProjectNumber, now: Timestamp) -> Result<Head> {
    tx.one(
        "insert into activity_streams (project_id, is_on, position, removed_to, used_at) values ($1, $2, 0, 0, $3) \
         on conflict (project_id) do update set is_on = excluded.is_on, used_at = excluded.used_at, \
         position = activity_streams.position + case when activity_streams.is_on then 0 else 1 end, \
         removed_to = case when activity_streams.is_on then activity_streams.removed_to \
         else activity_streams.position + 1 end returning position, removed_to",
        args![project, true, now],
        Head::read,
    )
    .await
}

/// Where the log is; `None` where nobody ever followed.
pub async fn head(rx: &Rx<'_>, project: ProjectNumber) -> Result<Option<Head>> {
    rx.optional(
        "select position, removed_to from activity_streams where project_id = $1",
        args![project],
        Head::read,
    )
    .await
}

/// Whether there are rows without a place.
pub async fn has_new(rx: &Rx<'_>, project: ProjectNumber) -> Result<bool> {
    let sql = "select cast(1 as {int}) from activity_log where project_id = $1 and position is null limit 1";
    Ok(rx.optional(sql, args![project], |r| r.get::<i64>(0)).await?.is_some())
}

/// Most rows that get their places in one transaction.
pub const PLACED_AT_ONCE: i64 = 1_000;

/// Gives the next places to rows that have none, at most [`PLACED_AT_ONCE`]. Returns the newest place, and how many got
/// one.
pub async fn place_new(tx: &mut Tx<'_>, project: ProjectNumber, now: Timestamp) -> Result<(i64, u64)> {
    let held = tx
        .optional(
            "select position, removed_to from activity_streams where project_id = $1 {for_update}",
            args![project],
            Head::read,
        )
        .await?;
    let Some(Head { position, .. }) = held else { return Ok((0, 0)) };
    let placed = tx
        .execute(
            "update activity_log set position = $2 + n.number, placed_at = $4 from (select id, row_number() over (order by id) as number \
             from (select id from activity_log where project_id = $1 and position is null order by id limit $3) as new) \
             as n where activity_log.project_id = $1 and activity_log.id = n.id",
            args![project, position, PLACED_AT_ONCE, now],
        )
        .await?;
    let newest = position + placed as i64;
    if placed > 0 {
        tx.execute_one(
            "update activity_streams set position = $2 where project_id = $1",
            args![project, newest],
        )
        .await?;
    }
    Ok((newest, placed))
}

/// The rows from a place on, in the order of places, so many at most.
pub async fn read(
    rx: &Rx<'_>,
    project: ProjectNumber,
    from: i64,
    limit: i64,
) -> Result<Vec<(i64, Vec<Place>)>> {
    rx.all(
        "select position, entries from activity_log where project_id = $1 and position >= $2 order by position limit $3",
        args![project, from, limit],
        |r| {
            let bytes: Vec<u8> = r.get(1)?;
            let places: Option<Vec<Place>> = bytes.chunks(Place::BYTES).map(Place::from_bytes).collect();
            Ok((r.get(0)?, places.ok_or_else(corrupt)?))
        },
    )
    .await
}

fn corrupt() -> Error {
    Error::Corrupt { column: 1, expected: "entries", detail: "an entry is incomplete".to_owned() }
}

/// By how many places the log goes on behind those that a restore or a reset lost: more than any log has.
const LOST: i64 = 1 << 40;

/// Puts an end to the log as it is, after a restore: who followed has read what is lost, at places that others get now.
pub async fn forget_places(tx: &Tx<'_>, project: ProjectNumber) -> Result<()> {
    tx.execute(
        "update activity_streams set position = position + $2, removed_to = position + $2 where project_id = $1",
        args![project, LOST],
    )
    .await?;
    Ok(())
}

/// Has the log of a project that was reset begin behind that of the number which it had: places that somebody remembers
/// must not be those of other entries.
pub(crate) async fn go_on_behind(tx: &Tx<'_>, old: ProjectNumber, new: ProjectNumber) -> Result<()> {
    tx.execute(
        "insert into activity_streams (project_id, is_on, position, removed_to, used_at) \
         select $2, $4, position + $3, position + $3, used_at from activity_streams where project_id = $1",
        args![old, new, LOST, false],
    )
    .await?;
    Ok(())
}

/// Most rows that one step removes.
const REMOVED_AT_ONCE: i64 = 500;

/// Removes rows that got their places before a time, some at a time, and stops the log when nobody has followed since
/// then. Returns whether there may be more.
pub async fn remove_old(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    before: Timestamp,
    now: Timestamp,
) -> Result<bool> {
    if place_new(tx, project, now).await?.1 > 0 {
        // places first: who has read up to one must not be told that nothing came after it
        return Ok(true);
    }
    tx.execute(
        "update activity_streams set is_on = $3 where project_id = $1 and used_at < $2 and is_on",
        args![project, before, false],
    )
    .await?;
    let removed = tx
        .all(
            "delete from activity_log where project_id = $1 and id in (select id from (select id, placed_at \
             from activity_log where project_id = $1 and position is not null order by position limit $3) as oldest \
             where placed_at < $2) returning position",
            args![project, before, REMOVED_AT_ONCE],
            |r| r.get::<i64>(0),
        )
        .await?;
    if let Some(newest) = removed.iter().max() {
        tx.execute_one(
            "update activity_streams set removed_to = case when removed_to < $2 then $2 else removed_to end \
             where project_id = $1",
            args![project, *newest],
        )
        .await?;
    }
    Ok(removed.len() as i64 == REMOVED_AT_ONCE)
}
