//! A log of each project whose rows get positions after they were committed.
//!
//! Transactions commit in another order than that of their ids, so whoever reads by id or time would miss what commits
//! late. A transaction appends rows without a position. [`PlacedLog::place_new`] gives positions to the rows that are
//! committed, while it holds the row of the project among the heads. So positions are in the order of commits, without
//! gaps, and whoever has read up to one has missed nothing before it.
//!
//! Only projects that somebody follows have a log: without `is_on` nothing is appended.

use mailwright_core::ids::ProjectNumber;
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Row, Rx, Tx};

/// The two tables of a log.
#[derive(Debug, Clone, Copy)]
pub struct PlacedLog {
    /// The rows: `project_id`, `id`, `position`, `placed_at`, and what they say.
    pub(crate) rows: &'static str,
    /// A row for each project that was ever followed: `is_on`, `position`, `removed_to`, `used_at`.
    pub(crate) heads: &'static str,
}

/// Where the log of a project is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The position of the newest row that has one.
    pub position: i64,
    /// Up to which position the log was removed: who has read no further cannot go on.
    pub removed_to: i64,
    /// Whether rows are appended.
    pub is_on: bool,
}

impl Head {
    /// Whether the log has all that came after a position.
    pub(crate) fn tells_after(self, position: i64) -> bool {
        self.is_on && self.removed_to <= position
    }

    fn read(row: &Row<'_>) -> Result<Self> {
        Ok(Self { position: row.get(0)?, removed_to: row.get(1)?, is_on: row.get(2)? })
    }
}

/// What is old in a log.
#[derive(Debug, Clone, Copy)]
pub struct Old {
    /// Rows that got their positions before.
    pub placed_before: Timestamp,
    /// Only rows up to this position.
    pub up_to: i64,
    /// The log stops when nobody has followed since then.
    pub used_before: Timestamp,
}

impl Old {
    /// What is older than a time, without regard to who has read it.
    pub fn before(time: Timestamp) -> Self {
        Self { placed_before: time, up_to: i64::MAX, used_before: time }
    }
}

/// Most rows that get their positions in one transaction.
pub const PLACED_AT_ONCE: i64 = 1_000;
/// Most rows that one step removes.
const REMOVED_AT_ONCE: i64 = 500;
/// By how many positions the log goes on behind those that a restore or a reset lost: more than any log has.
const LOST: i64 = 1 << 40;

impl PlacedLog {
    /// Has a project keep a log, and notes that somebody follows it. Where no log was kept until now, who followed
    /// before has missed something: the positions up to here are gone.
    pub async fn follow(self, tx: &mut Tx<'_>, project: ProjectNumber, now: Timestamp) -> Result<Head> {
        let heads = self.heads;
        tx.one(
            format!(
                "insert into {heads} (project_id, is_on, position, removed_to, used_at) values ($1, $2, 0, 0, $3) \
                 on conflict (project_id) do update set is_on = excluded.is_on, used_at = excluded.used_at, \
                 position = {heads}.position + case when {heads}.is_on then 0 else 1 end, \
                 removed_to = case when {heads}.is_on then {heads}.removed_to \
                 else {heads}.position + 1 end returning position, removed_to, is_on"
            ),
            args![project, true, now],
            Head::read,
        )
        .await
    }

    /// Where the log is; `None` where nobody ever followed.
    pub async fn head(self, rx: &Rx<'_>, project: ProjectNumber) -> Result<Option<Head>> {
        let heads = self.heads;
        rx.optional(
            format!("select position, removed_to, is_on from {heads} where project_id = $1"),
            args![project],
            Head::read,
        )
        .await
    }

    /// Whether there are rows without a position.
    pub async fn has_new(self, rx: &Rx<'_>, project: ProjectNumber) -> Result<bool> {
        let rows = self.rows;
        rx.exists(
            format!("select 1 from {rows} where project_id = $1 and position is null limit 1"),
            args![project],
        )
        .await
    }

    /// Gives the next positions to rows that have none, at most [`PLACED_AT_ONCE`]. Returns the newest position, and how
    /// many got one.
    pub async fn place_new(
        self,
        tx: &mut Tx<'_>,
        project: ProjectNumber,
        now: Timestamp,
    ) -> Result<(i64, u64)> {
        let Self { rows, heads } = self;
        let held = tx
            .optional(
                format!(
                    "select position, removed_to, is_on from {heads} where project_id = $1 {{for_update}}"
                ),
                args![project],
                Head::read,
            )
            .await?;
        let Some(Head { position, .. }) = held else { return Ok((0, 0)) };
        let placed = tx
            .execute(
                format!(
                    "update {rows} set position = $2 + n.number, placed_at = $4 \
                     from (select id, row_number() over (order by id) as number \
                     from (select id from {rows} where project_id = $1 and position is null order by id limit $3) \
                     as new) as n where {rows}.project_id = $1 and {rows}.id = n.id"
                ),
                args![project, position, PLACED_AT_ONCE, now],
            )
            .await?;
        let newest = position + placed as i64;
        if placed > 0 {
            tx.execute_one(
                format!("update {heads} set position = $2 where project_id = $1"),
                args![project, newest],
            )
            .await?;
        }
        Ok((newest, placed))
    }

    /// Puts an end to the log as it is, after a restore: who followed has read what is lost, at positions that others
    /// get now.
    pub async fn forget_positions(self, tx: &Tx<'_>, project: ProjectNumber) -> Result<()> {
        let heads = self.heads;
        tx.execute(
            format!(
                "update {heads} set position = position + $2, removed_to = position + $2 where project_id = $1"
            ),
            args![project, LOST],
        )
        .await?;
        Ok(())
    }

    /// Has the log of a project that was reset begin behind that of the number which it had: positions that somebody
    /// remembers must not be those of other rows.
    pub(crate) async fn go_on_behind(
        self,
        tx: &Tx<'_>,
        old: ProjectNumber,
        new: ProjectNumber,
    ) -> Result<()> {
        let heads = self.heads;
        tx.execute(
            format!(
                "insert into {heads} (project_id, is_on, position, removed_to, used_at) \
                 select $2, $4, position + $3, position + $3, used_at from {heads} where project_id = $1"
            ),
            args![old, new, LOST, false],
        )
        .await?;
        Ok(())
    }

    /// Removes old rows, some at a time, and stops the log when nobody follows any more. Returns whether there may be more
    /// rows.
    pub async fn remove_old(
        self,
        tx: &mut Tx<'_>,
        project: ProjectNumber,
        old: Old,
        now: Timestamp,
    ) -> Result<bool> {
        if self.place_new(tx, project, now).await?.1 > 0 {
            // positions first: who has read up to one must not be told that nothing came after it
            return Ok(true);
        }
        let Self { rows, heads } = self;
        tx.execute(
            format!("update {heads} set is_on = $3 where project_id = $1 and used_at < $2 and is_on"),
            args![project, old.used_before, false],
        )
        .await?;
        let removed = tx
            .all(
                format!(
                    "delete from {rows} where project_id = $1 and id in (select id from (select id, placed_at \
                     from {rows} where project_id = $1 and position <= $4 order by position limit $3) as oldest \
                     where placed_at < $2) returning position"
                ),
                args![project, old.placed_before, REMOVED_AT_ONCE, old.up_to],
                |r| r.get::<i64>(0),
            )
            .await?;
        if let Some(newest) = removed.iter().max() {
            tx.execute_one(
                format!(
                    "update {heads} set removed_to = case when removed_to < $2 then $2 else removed_to end \
                     where project_id = $1"
                ),
                args![project, *newest],
            )
            .await?;
        }
        Ok(removed.len() as i64 == REMOVED_AT_ONCE)
    }
}
