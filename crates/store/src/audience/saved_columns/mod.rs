//! Columns in the database, from which a process that has just been started goes on.
//!
//! They are stored in parts of the contacts, by id. Each part is true of a position of the log of contacts, and is written
//! in one transaction. Whoever reads them reads what changed after the earliest of these positions, which does no harm to
//! the parts that are further.
//!
//! What is personal must not stay when a contact is removed: the transaction that removes it takes the part with it. The
//! row of the project among those who follow the log keeps that transaction and one that writes a part apart, and counts
//! removals: a part that was read before one is not written.

mod forget;

use std::borrow::Cow;
use std::collections::BTreeSet;

use futures_util::future::join;
use mailwright_core::filter::columns::{Aspect, StoredPart};
use mailwright_core::ids::{ContactId, ProjectNumber};
use mailwright_core::time::Timestamp;

use crate::args;
use crate::audience::contact_log::LOG;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;
use crate::insight::counter::{self, Counter};

pub use forget::forget_old;
pub(crate) use forget::{forget, forget_contact};

/// The name of the column of ids.
const IDS: &str = "";
/// Most parts of a project.
const MOST_PARTS: i64 = 10_000;

/// Where a part begins, and what it is true of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) first: ContactId,
    /// The position of the log; `None` where nothing is stored.
    pub(crate) position: Option<i64>,
}

/// How the columns of a project are stored.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Outline {
    /// The parts, in their order.
    pub(crate) places: Vec<Place>,
    /// The columns that all parts have which are stored.
    pub(crate) aspects: BTreeSet<Aspect>,
}

impl Outline {
    /// The earliest position that a part is true of; `None` where nothing is stored.
    pub(crate) fn position(&self) -> Option<i64> {
        self.places.iter().filter_map(|place| place.position).min()
    }

    /// The id before which a part ends.
    pub(crate) fn end(&self, part: usize) -> Option<ContactId> {
        self.places.get(part + 1).map(|place| place.first)
    }
}

/// Reads how columns are stored.
pub(crate) async fn outline(rx: &Rx<'_>, project: ProjectNumber) -> Result<Outline> {
    let places: Vec<Place> = rx
        .all(
            "select first_id, position from contact_column_parts where project_id = $1 order by first_id limit $2",
            args![project, MOST_PARTS],
            |r| Ok(Place { first: r.get(0)?, position: r.get(1)? }),
        )
        .await?;
    let columns: Vec<(String, i64)> = rx
        .all(
            "select aspect, count(*) from contact_columns where project_id = $1 group by aspect",
            args![project],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )
        .await?;
    let stored = places.iter().filter(|place| place.position.is_some()).count() as i64;
    let everywhere = columns.into_iter().filter(|(_, parts)| *parts == stored);
    Ok(Outline { places, aspects: everywhere.filter_map(|(name, _)| Aspect::of_name(&name)).collect() })
}

/// The contacts of a part: from an id on, up to another one.
pub(crate) type Bounds = (ContactId, Option<ContactId>);

/// Columns from which one can go on.
#[derive(Debug)]
pub(crate) struct Saved {
    /// From where the log has to be read.
    pub(crate) position: i64,
    pub(crate) outline: Outline,
    /// About how many contacts there are.
    pub(crate) contacts: usize,
}

/// How columns are stored from which one can go on; `None` where there are none.
pub(crate) async fn usable(rx: &Rx<'_>, project: ProjectNumber) -> Result<Option<Saved>> {
    rx.begin_snapshot().await?;
    let found = async {
        let outline = outline(rx, project).await?;
        let head = LOG.head(rx, project).await?;
        let contacts = counter::value(rx, project, Counter::Contacts, "").await?;
        let position = outline.position().filter(|at| head.is_some_and(|head| head.tells_after(*at)));
        let contacts = usize::try_from(contacts).unwrap_or(0);
        Ok(position.map(|position| Saved { position, outline, contacts }))
    };
    let found = found.await;
    rx.end_snapshot().await?;
    found
}

/// Reads some columns of some parts. `None` for a part that is not stored so any more: nothing of it, other contacts, or
/// not all of these columns. A part may be true of a later position than before.
pub(crate) async fn read(
    rx: &Rx<'_>,
    project: ProjectNumber,
    parts: &[Bounds],
    wanted: &BTreeSet<Aspect>,
) -> Result<Vec<Option<StoredPart>>> {
    rx.begin_snapshot().await?;
    let found = async {
        let mut found = Vec::with_capacity(parts.len());
        for bounds in parts {
            found.push(read_part(rx, project, *bounds, wanted).await?);
        }
        Ok(found)
    };
    let found = found.await;
    rx.end_snapshot().await?;
    found
}

async fn read_part(
    rx: &Rx<'_>,
    project: ProjectNumber,
    (first, end): Bounds,
    wanted: &BTreeSet<Aspect>,
) -> Result<Option<StoredPart>> {
    let names = wanted.iter().map(|aspect| Some(aspect.name())).chain([Some(IDS.into())]).collect();
    let asked = [project.into(), first.into(), Arg::Texts(names)];
    let (place, columns) = join(
        place(rx, project, (first, end)),
        rx.all(
            "select aspect, bytes from contact_columns \
             where project_id = $1 and first_id = $2 and aspect {in $3}",
            &asked,
            |r| Ok((r.get::<String>(0)?, r.get::<Vec<u8>>(1)?)),
        ),
    )
    .await;
    let (place, columns) = (place?, columns?);
    if place.and_then(|place| place.position).is_none() || columns.len() != wanted.len() + 1 {
        return Ok(None);
    }
    let mut part = StoredPart::default();
    for (name, bytes) in columns {
        match Aspect::of_name(&name) {
            Some(aspect) => drop(part.columns.insert(aspect, bytes)),
            None => part.ids = bytes,
        }
    }
    Ok(Some(part))
}

/// A part, if it still has these contacts.
async fn place(rx: &Rx<'_>, project: ProjectNumber, (first, end): Bounds) -> Result<Option<Place>> {
    let found: Vec<Place> = rx
        .all(
            "select first_id, position from contact_column_parts where project_id = $1 and first_id >= $2 \
             order by first_id limit 2",
            args![project, first],
            |r| Ok(Place { first: r.get(0)?, position: r.get(1)? }),
        )
        .await?;
    let is_same =
        found.first().is_some_and(|place| place.first == first) && found.get(1).map(|next| next.first) == end;
    Ok(found.first().copied().filter(|_| is_same))
}

/// By how many rows the log is ahead of what is stored of some columns; `None` where one cannot go on from them.
pub async fn behind(rx: &Rx<'_>, project: ProjectNumber, wanted: &BTreeSet<Aspect>) -> Result<Option<i64>> {
    let outline = outline(rx, project).await?;
    let head = LOG.head(rx, project).await?;
    let (Some(position), Some(head)) = (outline.position(), head) else { return Ok(None) };
    let is_usable = head.tells_after(position) && wanted.is_subset(&outline.aspects);
    Ok(is_usable.then_some(head.position - position))
}

/// How often contacts were removed while the log was on.
pub(crate) async fn removals(rx: &Rx<'_>, project: ProjectNumber) -> Result<i64> {
    let removals = rx
        .optional("select removals from contact_followers where project_id = $1", args![project], |r| {
            r.get(0)
        })
        .await?;
    Ok(removals.unwrap_or(0))
}

/// When a process last took the turn to save.
pub(crate) async fn saved_at(rx: &Rx<'_>, project: ProjectNumber) -> Result<Timestamp> {
    let saved_at = rx
        .optional("select saved_at from contact_followers where project_id = $1", args![project], |r| {
            r.get(0)
        })
        .await?;
    Ok(saved_at.unwrap_or_default())
}

/// Takes the turn to save, unless somebody took it after it was last taken at `before`.
pub(crate) async fn take_turn(
    tx: &Tx<'_>,
    project: ProjectNumber,
    before: Timestamp,
    now: Timestamp,
) -> Result<bool> {
    let taken = tx
        .execute(
            "update contact_followers set saved_at = $3 where project_id = $1 and saved_at = $2",
            args![project, before, now],
        )
        .await?;
    Ok(taken == 1)
}

/// Divides a part, of which nothing is stored afterwards.
pub(crate) async fn divide(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    first: ContactId,
    at: &[ContactId],
) -> Result<()> {
    hold(tx, project).await?;
    let firsts: Vec<_> = std::iter::once(&first).chain(at).collect();
    tx.each(
        "insert into contact_column_parts (project_id, first_id) select r.project_id, r.first_id \
         from {rows r: project_id int, first_id id} where true on conflict (project_id, first_id) do nothing",
        &[
            Arg::Ints(firsts.iter().map(|_| Some(project.0)).collect()),
            Arg::Ids(firsts.iter().map(|id| Some((**id).into())).collect()),
        ],
    )
    .await?;
    empty(tx, project, first).await
}

/// A part that is to be stored.
#[derive(Debug)]
pub(crate) struct Writing {
    pub(crate) project: ProjectNumber,
    pub(crate) first: ContactId,
    pub(crate) end: Option<ContactId>,
    /// What it is true of.
    pub(crate) position: i64,
    pub(crate) removals: i64,
    pub(crate) part: StoredPart,
    /// Columns that are stored so already, if the part is still that of a position.
    pub(crate) same: Option<(i64, BTreeSet<Cow<'static, str>>)>,
}

/// Stores a part, unless the parts were divided meanwhile or a contact was removed. Returns whether it is stored.
pub(crate) async fn write(tx: &mut Tx<'_>, writing: &Writing) -> Result<bool> {
    let &Writing { project, first, end, position, removals, .. } = writing;
    let now = hold(tx, project).await?;
    if !now.is_some_and(|now| now.is_on && now.removed_to <= position && now.removals == removals) {
        return Ok(false);
    }
    let Some(place) = place(tx, project, (first, end)).await? else { return Ok(false) };
    let same = writing.same.as_ref().filter(|(position, _)| Some(*position) == place.position);
    store(tx, writing, same.map(|(_, columns)| columns)).await?;
    tx.execute(
        "update contact_column_parts set position = $3 where project_id = $1 and first_id = $2",
        args![project, first, position],
    )
    .await?;
    Ok(true)
}

/// Stores the columns of a part, but those that are `same`.
async fn store(tx: &mut Tx<'_>, writing: &Writing, same: Option<&BTreeSet<Cow<'static, str>>>) -> Result<()> {
    let &Writing { project, first, ref part, .. } = writing;
    let columns: Vec<_> = named(part).collect();
    tx.execute(
        "delete from contact_columns where project_id = $1 and first_id = $2 and not aspect {in $3}",
        &[
            project.into(),
            first.into(),
            Arg::Texts(columns.iter().map(|(name, _)| Some(name.clone())).collect()),
        ],
    )
    .await?;
    let is_new = |name: &Cow<'_, str>| same.is_none_or(|same| !same.contains(name));
    let columns: Vec<_> = columns.into_iter().filter(|(name, _)| is_new(name)).collect();
    tx.each(
        "insert into contact_columns (project_id, first_id, aspect, bytes) \
         select r.project_id, r.first_id, r.aspect, r.bytes \
         from {rows r: project_id int, first_id id, aspect text, bytes bytes} where true \
         on conflict (project_id, first_id, aspect) do update set bytes = excluded.bytes",
        &[
            Arg::Ints(columns.iter().map(|_| Some(project.0)).collect()),
            Arg::Ids(columns.iter().map(|_| Some(first.into())).collect()),
            Arg::Texts(columns.iter().map(|(name, _)| Some(name.clone())).collect()),
            Arg::Blobs(columns.iter().map(|(_, bytes)| Some((*bytes).into())).collect()),
        ],
    )
    .await?;
    Ok(())
}

/// The columns of a part, and the ids, by the names that they are stored by.
pub(crate) fn named(part: &StoredPart) -> impl Iterator<Item = (Cow<'static, str>, &[u8])> {
    let columns = part.columns.iter().map(|(aspect, bytes)| (aspect.name(), bytes.as_slice()));
    columns.chain([(IDS.into(), part.ids.as_slice())])
}

/// Notes that parts are true of a later position as well.
pub(crate) async fn advance(
    tx: &Tx<'_>,
    project: ProjectNumber,
    firsts: &[ContactId],
    position: i64,
) -> Result<()> {
    tx.execute(
        "update contact_column_parts set position = $3 \
         where project_id = $1 and first_id {in $2} and position < $3",
        &[project.into(), Arg::Ids(firsts.iter().map(|id| Some((*id).into())).collect()), position.into()],
    )
    .await?;
    Ok(())
}

/// How the log of a project is kept.
struct Held {
    is_on: bool,
    removed_to: i64,
    removals: i64,
}

/// Keeps others from storing, or removing contacts, until the transaction ends.
async fn hold(tx: &mut Tx<'_>, project: ProjectNumber) -> Result<Option<Held>> {
    tx.optional(
        "select is_on, removed_to, removals from contact_followers where project_id = $1 {for_update}",
        args![project],
        |r| Ok(Held { is_on: r.get(0)?, removed_to: r.get(1)?, removals: r.get(2)? }),
    )
    .await
}

/// Removes what is stored of a part.
async fn empty(tx: &Tx<'_>, project: ProjectNumber, first: ContactId) -> Result<()> {
    tx.execute(
        "update contact_column_parts set position = null \
         where project_id = $1 and first_id = $2 and position is not null",
        args![project, first],
    )
    .await?;
    tx.execute("delete from contact_columns where project_id = $1 and first_id = $2", args![project, first])
        .await?;
    Ok(())
}
