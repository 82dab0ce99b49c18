//! Segments.
//!
//! The number of members that a segment shows is one of two sums. `member_count` is kept with the stored memberships,
//! and `counted` is the result of the last count by the condition. The first is shown once the segment is `settled`:
//! always for static segments, never for dynamic segments that are not tracked, and for tracked segments as soon as
//! every contact was judged by the current condition. `due_at` is when the background work looks at a segment next.
//! `revision` counts the changes to the meaning of its condition.

pub(crate) mod definition;
pub mod history;
mod member;
mod refresher;
mod uses;

use std::collections::BTreeSet;

use mailwright_core::ids::{ContactId, ProjectNumber, SegmentId};
use mailwright_core::segment::Segment;
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;
use crate::insight::deltas::Deltas;

pub use definition::{all, resolve, resolve_all, some, tree_of};
pub use member::{
    Membership, Part, Reported, add, count_changes, differing, enter, entered, exit, forget, hold,
    hold_static, memberships, page, part, remove, report,
};
pub use uses::{Uses, uses};

use definition::{COLUMNS, read};

pub use refresher::{
    Swept, Taken, Tracking, changed, created_between, events_between, is_timer_due, lock, lock_if_free,
    pending, set_timers, sweep_done, take, take_timers, tracking, tracking_state,
};

/// One segment.
pub async fn get(rx: &mut Rx<'_>, project: ProjectNumber, id: SegmentId) -> Result<Option<Segment>> {
    rx.optional(
        format!("select {COLUMNS} from segments s where s.project_id = $1 and s.id = $2"),
        args![project, id],
        read,
    )
    .await
}

/// One segment, which nobody else changes before the transaction ends.
pub async fn get_for_update(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    id: SegmentId,
) -> Result<Option<Segment>> {
    tx.optional(
        format!("select {COLUMNS} from segments s where s.project_id = $1 and s.id = $2 {{for_update}}"),
        args![project, id],
        read,
    )
    .await
}

/// The state of a segment for the background work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// How often the meaning of the condition changed.
    pub revision: i64,
    /// Whether the stored members are all there are.
    pub settled: bool,
    /// When the background work looks at the segment next.
    pub due_at: Option<Timestamp>,
    /// Whether it was to look at it already when the backup was made that the instance was restored from.
    pub is_lost: bool,
}

/// The state of a segment.
pub async fn state(rx: &mut Rx<'_>, project: ProjectNumber, id: SegmentId) -> Result<Option<State>> {
    rx.optional(
        "select revision, settled, due_at, lost_until is not null from segments where project_id = $1 and id = $2",
        args![project, id],
        |r| Ok(State { revision: r.get(0)?, settled: r.get(1)?, due_at: r.get(2)?, is_lost: r.get(3)? }),
    )
    .await
}

/// How a segment stands after its condition was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Result of the last count by the condition.
    pub counted: i64,
    /// Whether the stored members are all there are, provided that there are none yet.
    pub settled: bool,
    /// When the background work looks at the segment next.
    pub due_at: Option<Timestamp>,
}

/// Stores a new segment.
pub async fn create(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    segment: &Segment,
    standing: Standing,
) -> Result<()> {
    tx.execute_one(
        "insert into segments (project_id, id, name, description, type, condition, track_membership, created_at, \
         updated_at, counted, settled, due_at, member_count, revision) \
         values ($1, $2, $3, $4, $5, {json $6}, $7, $8, $9, $10, $11, $12, 0, 1)",
        args![
            project,
            segment.id,
            &segment.name,
            segment.description.as_deref(),
            segment.kind.as_str(),
            segment.condition.as_ref(),
            segment.track_membership,
            segment.created_at,
            segment.updated_at,
            standing.counted,
            standing.settled,
            standing.due_at,
        ],
    )
    .await
}

/// Stores a changed segment.
pub async fn update(tx: &mut Tx<'_>, project: ProjectNumber, segment: &Segment) -> Result<()> {
    tx.execute_one(
        "update segments set name = $3, description = $4, condition = {json $5}, track_membership = $6, updated_at = $7 \
         where project_id = $1 and id = $2",
        args![
            project,
            segment.id,
            &segment.name,
            segment.description.as_deref(),
            segment.condition.as_ref(),
            segment.track_membership,
            segment.updated_at,
        ],
    )
    .await
}

/// Notes that the condition of a segment means something else from now on.
pub async fn restate(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    id: SegmentId,
    standing: Standing,
) -> Result<()> {
    tx.execute_one(
        "update segments set counted = $3, settled = ($4 and member_count = 0), due_at = $5, revision = revision + 1 \
         where project_id = $1 and id = $2",
        args![project, id, standing.counted, standing.settled, standing.due_at],
    )
    .await
}

/// The same for the segments that refer to it: until they were looked at, they show the count they have.
pub async fn unsettle(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    ids: &BTreeSet<SegmentId>,
    due_at: Timestamp,
) -> Result<()> {
    tx.execute(
        "update segments set counted = case when settled then member_count else counted end, settled = false, \
         due_at = $3, revision = revision + 1 where project_id = $1 and id {in $2} and type = 'DYNAMIC'",
        &[project.into(), id_set(ids), due_at.into()],
    )
    .await?;
    Ok(())
}

/// Notes that every contact was judged by the condition that the segment had at `revision`; whether it still has it.
/// The background work looks at it again at `due_at`.
pub async fn settle(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    id: SegmentId,
    revision: i64,
    due_at: Option<Timestamp>,
) -> Result<bool> {
    let touched = tx
        .execute(
            "update segments set settled = true, due_at = $4, \
             lost_until = case when cast($4 as {int}) is null then null else lost_until end where project_id = $1 and id = $2 and revision = $3 \
             and track_membership",
            args![project, id, revision, due_at],
        )
        .await?;
    Ok(touched == 1)
}

/// Notes what a count by the condition found; the background counts again at `due_at`, where that is given.
pub async fn set_counted(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    id: SegmentId,
    counted: i64,
    due_at: Option<Timestamp>,
) -> Result<()> {
    tx.execute(
        "update segments set counted = $3, due_at = coalesce($4, due_at) where project_id = $1 and id = $2",
        args![project, id, counted, due_at],
    )
    .await?;
    Ok(())
}

/// Some projects, about `limit` at most, with a segment that the background work is to look at.
pub async fn due_projects(rx: &mut Rx<'_>, now: Timestamp, limit: i64) -> Result<Vec<ProjectNumber>> {
    rx.projects_with_work(
        "select u.project_id from segment_upkeep u where exists \
         (select 1 from segments s where s.project_id = u.project_id and s.due_at <= $1) limit $2",
        args![now, limit],
    )
    .await
}

/// Claims the segment of a project that is due for longest until `next`.
pub async fn claim_due(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    now: Timestamp,
    next: Timestamp,
) -> Result<Option<SegmentId>> {
    tx.optional(
        "with picked as (select id from segments where project_id = $1 and due_at <= $2 order by due_at limit 1 \
         {skip_locked}) update segments set due_at = $3 where project_id = $1 and id in (select id from picked) \
         returning id",
        args![project, now, next],
        |r| r.get(0),
    )
    .await
}

/// How many segments a project has.
pub async fn count(rx: &mut Rx<'_>, project: ProjectNumber) -> Result<i64> {
    rx.one("select count(*) from segments where project_id = $1", args![project], |r| r.get(0)).await
}

/// Some projects, about `limit` at most, in which removed segments left memberships behind.
pub async fn removals(rx: &mut Rx<'_>, limit: i64) -> Result<Vec<ProjectNumber>> {
    rx.projects_with_work("select distinct project_id from segment_removals limit $1", args![limit]).await
}

/// Removes a segment; whether there was one. Its memberships follow with [`remove_members_step`].
pub async fn delete(tx: &mut Tx<'_>, project: ProjectNumber, id: SegmentId) -> Result<bool> {
    let removed =
        tx.execute("delete from segments where project_id = $1 and id = $2", args![project, id]).await?;
    if removed == 1 {
        tx.execute(
            "insert into segment_removals (project_id, segment_id) values ($1, $2)",
            args![project, id],
        )
        .await?;
        history::forget_segment(tx, project, id).await?;
    }
    Ok(removed == 1)
}

/// How many memberships of a removed segment one step removes at most.
const REMOVE_CHUNK: usize = 500;

/// Removes some of the memberships that removed segments left behind. Returns whether there are more.
pub async fn remove_members_step(tx: &mut Tx<'_>, project: ProjectNumber, now: Timestamp) -> Result<bool> {
    let next: Option<SegmentId> = tx
        .optional(
            "select segment_id from segment_removals where project_id = $1 limit 1",
            args![project],
            |r| r.get(0),
        )
        .await?;
    let Some(segment) = next else { return Ok(false) };
    let contacts: Vec<ContactId> = tx
        .all(
            "select contact_id from segment_members where project_id = $1 and segment_id = $2 limit $3",
            args![project, segment, REMOVE_CHUNK],
            |r| r.get(0),
        )
        .await?;
    tx.execute(
        "delete from segment_members where project_id = $1 and segment_id = $2 and contact_id {in $3}",
        &[project.into(), segment.into(), member::contact_set(&contacts)],
    )
    .await?;
    let mut deltas = Deltas::default();
    for contact in &contacts {
        deltas.followed(project, *contact, now);
    }
    deltas.save(tx).await?;
    if contacts.len() < REMOVE_CHUNK {
        tx.execute(
            "delete from segment_removals where project_id = $1 and segment_id = $2",
            args![project, segment],
        )
        .await?;
    }
    Ok(true)
}

fn id_set(ids: &BTreeSet<SegmentId>) -> Arg<'static> {
    Arg::Ids(ids.iter().map(|id| Some((*id).into())).collect())
}
