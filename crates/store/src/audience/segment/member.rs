//! Members of segments. A contact that left keeps its row, with the time at which it left.

use std::collections::{BTreeMap, BTreeSet};

use mailwright_core::contact::Contact;
use mailwright_core::filter::Filter;
use mailwright_core::ids::{ContactId, ProjectNumber, SegmentId};
use mailwright_core::time::Timestamp;

use super::resolve;
use crate::args;
use crate::audience::contact::record;
use crate::audience::filter::{self, Segments};
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;

/// A contact in a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Membership {
    /// The segment.
    pub segment: SegmentId,
    /// The contact.
    pub contact: ContactId,
}

/// Keeps contacts from being removed before the transaction ends; those that exist.
pub async fn hold(tx: &mut Tx<'_>, project: ProjectNumber, contacts: &[ContactId]) -> Result<Vec<ContactId>> {
    tx.all(
        "select id from contacts where project_id = $1 and id {in $2} order by id {for_key_share}",
        &[project.into(), contact_set(contacts)],
        |r| r.get(0),
    )
    .await
}

/// Keeps static segments from being removed before the transaction ends; those of some that exist.
pub async fn hold_static(
    tx: &Tx<'_>,
    project: ProjectNumber,
    segments: &BTreeSet<SegmentId>,
) -> Result<BTreeSet<SegmentId>> {
    let found = tx
        .all(
            "select id from segments where project_id = $1 and id {in $2} and type = 'STATIC' order by id \
             {for_key_share}",
            &[project.into(), Arg::Ids(segments.iter().map(|id| Some((*id).into())).collect())],
            |r| r.get(0),
        )
        .await?;
    Ok(found.into_iter().collect())
}

/// The segments that contacts are stored members of.
pub async fn memberships(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    contacts: &[ContactId],
) -> Result<Vec<Membership>> {
    rx.all(
        "select segment_id, contact_id from segment_members \
         where project_id = $1 and contact_id {in $2} and exited_at is null",
        &[project.into(), contact_set(contacts)],
        |r| Ok(Membership { segment: r.get(0)?, contact: r.get(1)? }),
    )
    .await
}

/// The segments that a contact is a stored member of, and since when.
pub async fn entered(
    rx: &Rx<'_>,
    project: ProjectNumber,
    contact: ContactId,
) -> Result<BTreeMap<SegmentId, Timestamp>> {
    let found = rx
        .all(
            "select segment_id, entered_at from segment_members \
             where project_id = $1 and contact_id = $2 and exited_at is null",
            args![project, contact],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )
        .await?;
    Ok(found.into_iter().collect())
}

/// Makes contacts members. Returns how many were not; the segments' sums are kept with [`count_changes`]. Who calls this, or
/// [`exit`], touches the contacts in its `Deltas`.
pub async fn enter(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    entering: &[Membership],
    now: Timestamp,
) -> Result<u64> {
    let [projects, segments, contacts] = columns(project, entering);
    tx.each(
        "insert into segment_members (project_id, segment_id, contact_id, entered_at, reported) \
         select r.project_id, r.segment_id, r.contact_id, cast($4 as {int}), false \
         from {rows r: project_id int, segment_id id, contact_id id} where true \
         on conflict (project_id, segment_id, contact_id) do update \
         set entered_at = excluded.entered_at, exited_at = null where segment_members.exited_at is not null",
        &[projects, segments, contacts, now.into()],
    )
    .await
}

/// Ends memberships. Returns how many there were.
pub async fn exit(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    leaving: &[Membership],
    now: Timestamp,
) -> Result<u64> {
    let [projects, segments, contacts] = columns(project, leaving);
    tx.each(
        "update segment_members set exited_at = $4 \
         from {rows r: project_id int, segment id, contact id} \
         where segment_members.project_id = r.project_id and segment_members.segment_id = r.segment \
         and segment_members.contact_id = r.contact and segment_members.exited_at is null",
        &[projects, segments, contacts, now.into()],
    )
    .await
}

/// Adds to the sums of stored members.
pub async fn count_changes(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    changes: &BTreeMap<SegmentId, i64>,
) -> Result<()> {
    let changes: Vec<_> = changes.iter().filter(|(_, delta)| **delta != 0).collect();
    tx.each(
        "update segments set member_count = segments.member_count + r.delta \
         from {rows r: project_id int, segment id, delta int} \
         where segments.project_id = r.project_id and segments.id = r.segment",
        &[
            Arg::Ints(changes.iter().map(|_| Some(project.0)).collect()),
            Arg::Ids(changes.iter().map(|(id, _)| Some((**id).into())).collect()),
            Arg::Ints(changes.iter().map(|(_, delta)| Some(**delta)).collect()),
        ],
    )
    .await?;
    Ok(())
}

/// Puts contacts that [`hold`] found on the list of a static segment. Returns how many were not on it.
pub async fn add(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    segment: SegmentId,
    contacts: &[ContactId],
    now: Timestamp,
) -> Result<u64> {
    let added = enter(tx, project, &of_segment(segment, contacts), now).await?;
    count_changes(tx, project, &BTreeMap::from([(segment, added as i64)])).await?;
    Ok(added)
}

/// Takes contacts off the list of a static segment. Returns how many were on it.
pub async fn remove(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    segment: SegmentId,
    contacts: &[ContactId],
    now: Timestamp,
) -> Result<u64> {
    let removed = exit(tx, project, &of_segment(segment, contacts), now).await?;
    count_changes(tx, project, &BTreeMap::from([(segment, -(removed as i64))])).await?;
    Ok(removed)
}

/// Removes every membership of a contact that is being removed.
pub async fn forget(tx: &mut Tx<'_>, project: ProjectNumber, contact: ContactId) -> Result<()> {
    let left = tx
        .all(
            "delete from segment_members where project_id = $1 and contact_id = $2 returning segment_id, exited_at",
            args![project, contact],
            |r| Ok((r.get::<SegmentId>(0)?, r.get::<Option<i64>>(1)?)),
        )
        .await?;
    let changes = left.into_iter().filter(|(_, exited)| exited.is_none()).map(|(id, _)| (id, -1)).collect();
    count_changes(tx, project, &changes).await?;
    tx.execute(
        "delete from segment_timers where project_id = $1 and contact_id = $2",
        args![project, contact],
    )
    .await?;
    Ok(())
}

/// A page of the stored members of a segment, the newest membership first.
pub async fn page(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    segment: SegmentId,
    offset: i64,
    limit: i64,
) -> Result<Vec<Contact>> {
    rx.all(
        format!(
            "with listed as materialized (select contact_id, entered_at from segment_members \
             where project_id = $1 and segment_id = $2 and exited_at is null \
             order by entered_at desc, contact_id desc limit $3 offset $4) \
             select {} from listed l join contacts c on c.project_id = $1 and c.id = l.contact_id \
             order by l.entered_at desc, l.contact_id desc",
            record::COLUMNS
        ),
        args![project, segment, limit, offset],
        record::read,
    )
    .await
}

/// What [`report`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reported {
    /// Contacts that joined.
    pub added: i64,
    /// Contacts that left.
    pub removed: i64,
    /// The last of them.
    pub last: ContactId,
}

/// How many memberships one call of [`report`] looks at.
const REPORT_CHUNK: i64 = 500;

/// Counts who joined and who left since the last report, a chunk per call: the contacts after `after`, in their order.
/// `None` when nobody is left to report. The caller holds the project's lock, so that nobody is reported twice.
pub async fn report(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    segment: SegmentId,
    after: ContactId,
) -> Result<Option<Reported>> {
    // goes on where it was: on PostgreSQL, rows that were passed leave dead entries in the index
    let contacts: Vec<ContactId> = tx
        .all(
            "select contact_id from segment_members where project_id = $1 and segment_id = $2 and contact_id > $3 \
             and reported <> (exited_at is null) order by contact_id limit $4",
            args![project, segment, after, REPORT_CHUNK],
            |r| r.get(0),
        )
        .await?;
    let changed = tx
        .all(
            "update segment_members set reported = not reported where project_id = $1 and segment_id = $2 \
             and contact_id {in $3} returning reported",
            &[project.into(), segment.into(), contact_set(&contacts)],
            |r| r.get::<bool>(0),
        )
        .await?;
    let added = changed.iter().filter(|joined| **joined).count() as i64;
    let removed = changed.len() as i64 - added;
    Ok(contacts.last().map(|last| Reported { added, removed, last: *last }))
}

/// A part of a project's contacts, by id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The last contact before the part.
    pub after: ContactId,
    /// The last contact of the part; `None` at the end of the project.
    pub last: Option<ContactId>,
}

/// The part of `size` contacts that begins after one of them.
pub async fn part(rx: &mut Rx<'_>, project: ProjectNumber, after: ContactId, size: usize) -> Result<Part> {
    let last = rx
        .optional(
            "select id from contacts where project_id = $1 and id > $2 order by id limit 1 offset $3",
            args![project, after, size - 1],
            |r| r.get(0),
        )
        .await?;
    Ok(Part { after, last })
}

/// The contacts of a part whose stored membership is not what the segment's condition says, and those for which `also`
/// holds.
pub async fn differing(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    segment: SegmentId,
    part: Part,
    tree: &Filter,
    also: Option<&Filter>,
    now: Timestamp,
) -> Result<Vec<ContactId>> {
    let segments = resolve(rx, project, tree).await?;
    let counts = filter::event_counts(rx, project, &segments.references(tree).events).await?;
    let postgres = rx.is_postgres();
    let mut args: Vec<Arg<'static>> = vec![project.into(), segment.into(), part.after.into()];
    let condition = filter::condition(tree, &segments, &counts, now, postgres, &mut args)?;
    let also = match also {
        Some(also) => {
            format!(" or {}", filter::condition(also, &Segments::new(), &counts, now, postgres, &mut args)?)
        }
        None => String::new(),
    };
    let bound = match part.last {
        Some(last) => {
            args.push(last.into());
            format!(" and c.id <= ${}", args.len())
        }
        None => String::new(),
    };
    let sql = format!(
        "select c.id from contacts c where c.project_id = $1 and c.id > $3{bound} \
         and (case when {condition} then 1 else 0 end <> case when exists (select 1 from segment_members m \
         where m.project_id = $1 and m.segment_id = $2 and m.contact_id = c.id and m.exited_at is null) \
         then 1 else 0 end{also}) order by c.id"
    );
    rx.query_uncached(sql, &args, |r| r.get(0)).await
}

fn of_segment(segment: SegmentId, contacts: &[ContactId]) -> Vec<Membership> {
    contacts.iter().map(|contact| Membership { segment, contact: *contact }).collect()
}

fn columns(project: ProjectNumber, members: &[Membership]) -> [Arg<'static>; 3] {
    [
        Arg::Ints(members.iter().map(|_| Some(project.0)).collect()),
        Arg::Ids(members.iter().map(|m| Some(m.segment.into())).collect()),
        Arg::Ids(members.iter().map(|m| Some(m.contact.into())).collect()),
    ]
}

pub(super) fn contact_set(contacts: &[ContactId]) -> Arg<'static> {
    Arg::Ids(contacts.iter().map(|id| Some((*id).into())).collect())
}
