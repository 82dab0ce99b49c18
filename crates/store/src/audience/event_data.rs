//! The events of contacts, as workflows look at them.

use std::collections::BTreeMap;

use mailwright_core::custom_data::Data;
use mailwright_core::ids::{ContactId, EventId, ProjectNumber};
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::world::Happening;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::Rx;
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

/// The events of some contacts that have one of some names, from an instant up to another: of each name the first ones, in
/// order.
pub async fn between(
    rx: &Rx<'_>,
    project: ProjectNumber,
    contacts: &[ContactId],
    names: &[&str],
    (from, until): (Timestamp, Timestamp),
    limit: i64,
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
    let pairs: Vec<(ContactId, &str)> =
        contacts.iter().flat_map(|contact| names.iter().map(move |name| (*contact, *name))).collect();
    rx.each_returning(
        sql,
        &[
            Arg::Ids(pairs.iter().map(|(contact, _)| Some((*contact).into())).collect()),
            Arg::Texts(pairs.iter().map(|(_, name)| Some((*name).into())).collect()),
            project.into(),
            EventId::first_of(from).into(),
            EventId::first_of(until).into(),
            limit.into(),
        ],
        |r| {
            let data = r.get::<Option<Data>>(3)?.unwrap_or_default();
            Ok((r.get(0)?, Happening { id: r.get(1)?, name: r.get(2)?, data, at: r.get(4)? }))
        },
    )
    .await
}
