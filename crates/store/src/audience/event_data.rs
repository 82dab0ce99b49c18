//! The events of contacts, as workflows look at them.

use std::collections::BTreeMap;

use mailwright_core::custom_data::Data;
use mailwright_core::ids::{ContactId, EventId, ProjectNumber};
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::world::Happening;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Row, Rx};
use crate::database::value::Arg;

/// The data of some events, by their ids; those without data are left out.
pub async fn of(rx: &Rx<'_>, project: ProjectNumber, ids: &[EventId]) -> Result<BTreeMap<EventId, Data>> {
    let rows = rx
        .all(
            "select id, {json_out data} from events where project_id = $1 and id {in $2} and data is not null",
            &[project.into(), Arg::Ids(ids.iter().map(|id| Some((*id).into())).collect())],
            |r| Ok((r.get::<EventId>(0)?, r.get::<Data>(1)?)),
        )
        .await?;
    Ok(rows.into_iter().collect())
}

/// The names of some events.
pub async fn names(
    rx: &Rx<'_>,
    project: ProjectNumber,
    ids: &[EventId],
) -> Result<BTreeMap<EventId, String>> {
    let rows = rx
        .all(
            "select id, name from events where project_id = $1 and id {in $2}",
            &[project.into(), Arg::Ids(ids.iter().map(|id| Some((*id).into())).collect())],
            |r| Ok((r.get::<EventId>(0)?, r.get::<String>(1)?)),
        )
        .await?;
    Ok(rows.into_iter().collect())
}

/// The newest events of a contact of one name.
pub async fn of_contact_named(
    rx: &Rx<'_>,
    project: ProjectNumber,
    contact: ContactId,
    name: &str,
    limit: i64,
) -> Result<Vec<EventId>> {
    rx.all(
        "select id from events where project_id = $1 and contact_id = $2 and name = $3 order by id desc limit $4",
        args![project, contact, name, limit],
        |r| r.get(0),
    )
    .await
}

/// Events of some names, in a time.
#[derive(Debug, Clone)]
pub struct Between<'a> {
    /// The names.
    pub names: Vec<&'a str>,
    /// The first instant.
    pub from: Timestamp,
    /// The instant after the last one.
    pub until: Timestamp,
    /// How many of each contact and name at most, the first ones.
    pub limit: i64,
}

impl Between<'_> {
    /// What statements are about, as their parameters: contacts, names, project, first id, id behind the last, limit.
    fn args(&self, project: ProjectNumber, contacts: &[ContactId]) -> Vec<Arg<'_>> {
        let pairs = contacts.iter().flat_map(|contact| self.names.iter().map(move |name| (*contact, *name)));
        let (contacts, names) =
            pairs.map(|(contact, name)| (Some(contact.into()), Some(name.into()))).unzip();
        vec![
            Arg::Ids(contacts),
            Arg::Texts(names),
            project.into(),
            EventId::first_of(self.from).into(),
            EventId::first_of(self.until).into(),
            self.limit.into(),
        ]
    }
}

/// How much there is of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Load {
    /// How many.
    pub events: u64,
    /// Bytes of their data.
    pub bytes: u64,
}

impl Load {
    /// Whether there is room for it.
    pub fn fits(self, room: Self) -> bool {
        self.events <= room.events && self.bytes <= room.bytes
    }
}

/// How much there is of the events of some contacts that [`between`] finds; contacts without any are left out.
pub async fn loads(
    rx: &Rx<'_>,
    project: ProjectNumber,
    contacts: &[ContactId],
    of: &Between<'_>,
) -> Result<BTreeMap<ContactId, Load>> {
    // differs as in `between`
    let sql = if rx.is_postgres() {
        "select r.contact_id, count(*), cast(sum(n.bytes) as bigint) from {rows r: contact_id id, name text} \
         cross join lateral (select coalesce({json_bytes e.data}, 0) as bytes from events e \
         where e.project_id = $3 and e.contact_id = r.contact_id and e.name = r.name and e.id >= $4 and e.id < $5 \
         order by e.id limit $6) n group by r.contact_id"
    } else {
        "select n.contact_id, count(*), sum(n.bytes) from (select e.contact_id, coalesce({json_bytes e.data}, 0) as bytes \
         from events e indexed by events_contact where e.project_id = $3 and e.contact_id = $1 and e.name = $2 \
         and e.id >= $4 and e.id < $5 order by e.id limit $6) n group by n.contact_id"
    };
    let found = rx
        .each_returning(sql, &of.args(project, contacts), |r| {
            let (events, bytes) = (r.get::<i64>(1)?, r.get::<i64>(2)?);
            Ok((r.get::<ContactId>(0)?, Load { events: events.unsigned_abs(), bytes: bytes.unsigned_abs() }))
        })
        .await?;
    let mut loads: BTreeMap<ContactId, Load> = BTreeMap::new();
    for (contact, of_name) in found {
        let load = loads.entry(contact).or_default();
        *load = Load { events: load.events + of_name.events, bytes: load.bytes + of_name.bytes };
    }
    Ok(loads)
}

/// The events of some contacts, of each name in order, if there are few: fewer than the limit of each contact and name,
/// none with more than so many bytes of data. Otherwise `None`, and nothing much was read.
pub async fn few(
    rx: &Rx<'_>,
    project: ProjectNumber,
    contacts: &[ContactId],
    of: &Between<'_>,
    bytes: i64,
) -> Result<Option<Vec<(ContactId, Happening)>>> {
    // differs as in `between`
    let sql = if rx.is_postgres() {
        "select n.contact_id, n.id, n.name, case when n.fits then n.data end, n.created_at, n.fits \
         from {rows r: contact_id id, name text} cross join lateral (select e.contact_id, e.id, e.name, e.data, \
         e.created_at, coalesce({json_bytes e.data}, 0) <= $7 as fits from events e where e.project_id = $3 \
         and e.contact_id = r.contact_id and e.name = r.name and e.id >= $4 and e.id < $5 order by e.id limit $6) n"
    } else {
        "select e.contact_id, e.id, e.name, case when coalesce({json_bytes e.data}, 0) <= $7 then {json_out e.data} end, \
         e.created_at, coalesce({json_bytes e.data}, 0) <= $7 from events e indexed by events_contact \
         where e.project_id = $3 and e.contact_id = $1 and e.name = $2 and e.id >= $4 and e.id < $5 \
         order by e.id limit $6"
    };
    let mut args = of.args(project, contacts);
    args.push(bytes.into());
    let found = rx.each_returning(sql, &args, |r| Ok((r.get::<bool>(5)?, read(r)?))).await?;
    let mut counts: BTreeMap<(ContactId, &str), i64> = BTreeMap::new();
    for (_, (contact, event)) in &found {
        *counts.entry((*contact, event.name.as_str())).or_default() += 1;
    }
    let are_few = found.iter().all(|(fits, _)| *fits) && counts.values().all(|count| *count < of.limit);
    Ok(are_few.then(|| found.into_iter().map(|(_, event)| event).collect()))
}

/// The events of some contacts, of each name in order.
pub async fn between(
    rx: &Rx<'_>,
    project: ProjectNumber,
    contacts: &[ContactId],
    of: &Between<'_>,
) -> Result<Vec<(ContactId, Happening)>> {
    // differs because SQLite has no lateral joins, and looks up pair by pair anyway
    let sql = if rx.is_postgres() {
        "select n.contact_id, n.id, n.name, n.data, n.created_at from {rows r: contact_id id, name text} \
         cross join lateral (select e.contact_id, e.id, e.name, e.data, e.created_at from events e \
         where e.project_id = $3 and e.contact_id = r.contact_id and e.name = r.name and e.id >= $4 and e.id < $5 \
         order by e.id limit $6) n"
    } else {
        // without a word it takes the primary key, since that has the order
        "select e.contact_id, e.id, e.name, {json_out e.data}, e.created_at from events e indexed by events_contact \
         where e.project_id = $3 and e.contact_id = $1 and e.name = $2 and e.id >= $4 and e.id < $5 \
         order by e.id limit $6"
    };
    rx.each_returning(sql, &of.args(project, contacts), read).await
}

fn read(row: &Row<'_>) -> Result<(ContactId, Happening)> {
    let data = row.get::<Option<Data>>(3)?.unwrap_or_default();
    Ok((row.get(0)?, Happening { id: row.get(1)?, name: row.get(2)?, data, at: row.get(4)? }))
}
