//! The state that keeps tracked segments current: the contacts to judge again, and how far the passing of time was
//! followed.
//!
//! `contact_changes` is a queue without a lock. Every transaction that changes a contact adds rows, so no writer waits
//! for another; only the holder of the project's row in `segment_upkeep` removes rows. A row that the holder sees was
//! committed together with its change, so everything that the holder reads afterwards includes that change. A later
//! change has a later row.

use std::collections::{BTreeMap, BTreeSet};

use mailwright_core::ids::{ChangeId, ContactId, EventId, ProjectNumber};
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Row, Rx, Tx};
use crate::database::value::Arg;

/// The state of a project's tracked segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tracking {
    /// Whether there are any.
    pub tracks: bool,
    /// Counts the changes to the project's segments.
    pub version: i64,
    /// Up to when the passing of time was followed.
    pub swept_to: Timestamp,
}

const STATE: &str = "select tracks, version, swept_to from segment_upkeep where project_id = $1";

fn read(row: &Row<'_>) -> Result<Tracking> {
    Ok(Tracking { tracks: row.get(0)?, version: row.get(1)?, swept_to: row.get(2)? })
}

/// The state as it is.
pub async fn tracking_state(rx: &mut Rx<'_>, project: ProjectNumber) -> Result<Option<Tracking>> {
    rx.optional(STATE, args![project], read).await
}

/// Makes this transaction the only one that changes the project's segments or judges contacts; waits for another one.
pub async fn lock(tx: &mut Tx<'_>, project: ProjectNumber, now: Timestamp) -> Result<Tracking> {
    tx.execute(
        "insert into segment_upkeep (project_id, tracks, version, swept_to) values ($1, false, 0, $2) \
         on conflict (project_id) do nothing",
        args![project, now],
    )
    .await?;
    tx.read_in_order().await?;
    tx.one(format!("{STATE} {{for_update}}"), args![project], read).await
}

/// The same without waiting: `None` while another transaction has the project's segments.
pub async fn lock_if_free(tx: &mut Tx<'_>, project: ProjectNumber) -> Result<Option<Tracking>> {
    tx.read_in_order().await?;
    tx.optional(format!("{STATE} {{skip_locked}}"), args![project], read).await
}

/// Notes that segments of a project changed, and whether it tracks any from now on. Time is followed from `now` on
/// when it did not before.
pub async fn changed(tx: &mut Tx<'_>, project: ProjectNumber, now: Timestamp) -> Result<()> {
    tx.execute_one(
        "update segment_upkeep set version = version + 1, \
         swept_to = case when tracks then swept_to else cast($2 as {int}) end, \
         tracks = exists (select 1 from segments where project_id = $1 and type = 'DYNAMIC' and track_membership) \
         where project_id = $1",
        args![project, now],
    )
    .await
}

/// The next `limit` projects after `after` that track segments, in order.
pub async fn tracking(rx: &mut Rx<'_>, after: ProjectNumber, limit: i64) -> Result<Vec<ProjectNumber>> {
    let mut projects = rx
        .projects_with_work(
            "select project_id from segment_upkeep where tracks and project_id > $1 order by project_id limit $2",
            args![after, limit],
        )
        .await?;
    // several servers may have been asked, each for so many
    projects.sort_unstable();
    projects.truncate(usize::try_from(limit).unwrap_or_default());
    Ok(projects)
}

/// Some projects, about `limit` at most, that track segments and have contacts to judge.
pub async fn pending(rx: &mut Rx<'_>, limit: i64) -> Result<Vec<ProjectNumber>> {
    rx.projects_with_work(
        "select u.project_id from segment_upkeep u where u.tracks \
         and exists (select 1 from contact_changes q where q.project_id = u.project_id) limit $1",
        args![limit],
    )
    .await
}

/// Entries of the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// The contacts they are about.
    pub contacts: Vec<ContactId>,
    /// How many entries there were.
    pub entries: usize,
    /// When the newest was made, by the clock of the process that made it.
    pub newest: Timestamp,
    /// When the oldest was made.
    pub oldest: Timestamp,
}

/// Takes the oldest entries of the queue, at most `limit`. The caller holds the lock.
pub async fn take(tx: &mut Tx<'_>, project: ProjectNumber, limit: usize) -> Result<Taken> {
    let taken = tx
        .all(
            "select id, contact_id from contact_changes where project_id = $1 order by id limit $2",
            args![project, limit],
            |r| Ok((r.get::<ChangeId>(0)?, r.get::<ContactId>(1)?)),
        )
        .await?;
    // by their ids: how PostgreSQL goes about a queue that was empty a moment ago must not hang on its statistics
    tx.execute(
        "delete from contact_changes where project_id = $1 and id {in $2}",
        &[project.into(), Arg::Ids(taken.iter().map(|(id, _)| Some((*id).into())).collect())],
    )
    .await?;
    let contacts: BTreeSet<_> = taken.iter().map(|(_, contact)| *contact).collect();
    Ok(Taken {
        contacts: contacts.into_iter().collect(),
        entries: taken.len(),
        newest: taken.iter().map(|(id, _)| id.instant()).max().unwrap_or_default(),
        oldest: taken.iter().map(|(id, _)| id.instant()).min().unwrap_or(Timestamp::LAST),
    })
}

/// Remembers when contacts are to be judged again; those without a time no longer are.
pub async fn set_timers(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    due: &BTreeMap<ContactId, Option<Timestamp>>,
) -> Result<()> {
    let (set, cleared): (Vec<_>, Vec<_>) = due.iter().partition(|(_, at)| at.is_some());
    tx.each(
        "insert into segment_timers (project_id, contact_id, due_at) select r.project_id, r.contact_id, r.due_at \
         from {rows r: project_id int, contact_id id, due_at int} where true \
         on conflict (project_id, contact_id) do update set due_at = excluded.due_at \
         where segment_timers.due_at <> excluded.due_at",
        &[
            Arg::Ints(set.iter().map(|_| Some(project.0)).collect()),
            Arg::Ids(set.iter().map(|(contact, _)| Some((**contact).into())).collect()),
            Arg::Ints(set.iter().map(|(_, at)| at.map(|at| at.0)).collect()),
        ],
    )
    .await?;
    tx.execute(
        "delete from segment_timers where project_id = $1 and contact_id {in $2}",
        &[project.into(), Arg::Ids(cleared.iter().map(|(contact, _)| Some((**contact).into())).collect())],
    )
    .await?;
    Ok(())
}

/// Takes contacts whose time to be judged again has come.
pub async fn take_timers(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<ContactId>> {
    tx.read_in_order().await?;
    let due: Vec<ContactId> = tx
        .all(
            "select contact_id from segment_timers where project_id = $1 and due_at <= $2 order by due_at limit $3 \
             {skip_locked}",
            args![project, now, limit],
            |r| r.get(0),
        )
        .await?;
    tx.execute(
        "delete from segment_timers where project_id = $1 and contact_id {in $2}",
        &[project.into(), Arg::Ids(due.iter().map(|id| Some((*id).into())).collect())],
    )
    .await?;
    Ok(due)
}

/// Whether a contact's time to be judged again has come.
pub async fn is_timer_due(rx: &mut Rx<'_>, project: ProjectNumber, now: Timestamp) -> Result<bool> {
    rx.exists(
        "select 1 from segment_timers where project_id = $1 and due_at <= $2 limit 1",
        args![project, now],
    )
    .await
}

/// Contacts found by a look at a stretch of time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Swept<I> {
    /// The contacts.
    pub contacts: Vec<ContactId>,
    /// Where to go on; `None` at the end of the stretch.
    pub next: Option<I>,
}

/// Contacts created from one instant, or one contact, up to another instant.
pub async fn created_between(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    from: ContactId,
    until: Timestamp,
    limit: usize,
) -> Result<Swept<ContactId>> {
    let mut contacts = rx
        .all(
            "select id from contacts where project_id = $1 and id >= $2 and id < $3 order by id limit $4",
            args![project, from, ContactId::first_of(until), limit + 1],
            |r| r.get(0),
        )
        .await?;
    let next = if contacts.len() > limit { contacts.pop() } else { None };
    Ok(Swept { contacts, next })
}

/// Contacts with an event of a name from one instant, or one event, up to another instant.
pub async fn events_between(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    name: &str,
    from: EventId,
    until: Timestamp,
    limit: usize,
) -> Result<Swept<EventId>> {
    let mut found = rx
        .all(
            "select id, contact_id from events where project_id = $1 and name = $2 and id >= $3 and id < $4 \
             order by id limit $5",
            args![project, name, from, EventId::first_of(until), limit + 1],
            |r| Ok((r.get::<EventId>(0)?, r.get::<Option<ContactId>>(1)?)),
        )
        .await?;
    let next = if found.len() > limit { found.pop().map(|(id, _)| id) } else { None };
    Ok(Swept { contacts: found.into_iter().filter_map(|(_, contact)| contact).collect(), next })
}

/// Notes up to when the passing of time was followed; false when another process was faster.
pub async fn sweep_done(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    from: Timestamp,
    to: Timestamp,
) -> Result<bool> {
    let touched = tx
        .execute(
            "update segment_upkeep set swept_to = $3 where project_id = $1 and swept_to = $2",
            args![project, from, to],
        )
        .await?;
    Ok(touched == 1)
}
