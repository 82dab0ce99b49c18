//! The custom fields of a project's contacts.

use std::collections::BTreeSet;

use mailwright_core::custom_data::{Data, FieldType};
use mailwright_core::ids::{ContactId, ProjectNumber};
use mailwright_core::time::Timestamp;
use serde_json::Value as Json;

use crate::args;
use crate::database::error::{Error, Result};
use crate::database::tx::{Rx, Tx};
use crate::database::value::{Arg, json_text};
use crate::insight::counter::{self, Counter};
use crate::insight::deltas::Deltas;

/// A field with its type and how many contacts have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Name, without the `data.` prefix.
    pub name: String,
    /// Type of the first value seen.
    pub kind: FieldType,
    /// Contacts that have it.
    pub count: i64,
}

/// Every custom field, by name.
pub async fn all(rx: &mut Rx<'_>, project: ProjectNumber) -> Result<Vec<Field>> {
    let counts: std::collections::HashMap<_, _> =
        counter::values(rx, project, Counter::Field).await?.into_iter().collect();
    let known = rx
        .all(
            "select name, type from contact_fields where project_id = $1 order by name",
            args![project],
            |r| Ok((r.get::<String>(0)?, r.get::<String>(1)?)),
        )
        .await?;
    Ok(known
        .into_iter()
        .map(|(name, kind)| Field {
            count: counts.get(&name).copied().unwrap_or(0),
            kind: FieldType::from_name(&kind).unwrap_or(FieldType::String),
            name,
        })
        .collect())
}

/// Those of some names that are custom fields.
pub async fn known(
    rx: &Rx<'_>,
    project: ProjectNumber,
    names: &BTreeSet<String>,
) -> Result<BTreeSet<String>> {
    let names = Arg::Texts(names.iter().map(|name| Some(name.as_str().into())).collect());
    let found = rx
        .all(
            "select name from contact_fields where project_id = $1 and name {in $2}",
            &[project.into(), names],
            |r| r.get::<String>(0),
        )
        .await?;
    Ok(found.into_iter().collect())
}

/// How many contacts one call of [`values`] looks at, newest first: enough for a list to pick from, bounded at any
/// size.
const VALUES_SCANNED: i64 = 20_000;

/// Distinct values of a field among the newest contacts, as stored, at most `limit` values.
pub async fn values(rx: &mut Rx<'_>, project: ProjectNumber, name: &str, limit: usize) -> Result<Vec<Json>> {
    let (sql, key) = if rx.is_postgres() {
        (
            "select distinct v from (select data -> $2::text as v from contacts where project_id = $1 \
             order by id desc limit $3) s where v is not null limit $4",
            name.to_owned(),
        )
    } else {
        (
            "select distinct v from (select data -> $2 as v from contacts where project_id = $1 \
             order by id desc limit $3) s where v is not null limit $4",
            json_path(name),
        )
    };
    rx.all(sql, args![project, key, VALUES_SCANNED, limit], |r| r.get(0)).await
}

/// The SQLite JSON path of a top-level key, whatever characters it has.
fn json_path(key: &str) -> String {
    format!("$.{}", Json::String(key.to_owned()))
}

/// How many contacts one call of [`remove`] changes at most.
const REMOVE_CHUNK: usize = 200;

/// Removes a field from the contacts after `after`, a chunk per call. Returns how many lost it and where to go on;
/// `None` when the last contact was reached, and then the field is forgotten.
pub async fn remove(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    name: &str,
    after: Option<ContactId>,
    now: Timestamp,
) -> Result<(usize, Option<ContactId>)> {
    let after = after.unwrap_or(ContactId::first_of(Timestamp(0)));
    let rows = tx
        .all(
            "select id, {json_out data}, revision, email from contacts where project_id = $1 and id > $2 order by id limit $3",
            args![project, after, REMOVE_CHUNK],
            |r| Ok((r.get::<ContactId>(0)?, r.get::<Data>(1)?, r.get::<i64>(2)?, r.get::<String>(3)?)),
        )
        .await?;
    let next = (rows.len() == REMOVE_CHUNK).then(|| rows.last().map(|(id, ..)| *id)).flatten();
    let mut having: Vec<_> = rows
        .into_iter()
        .filter_map(|(id, mut data, revision, email)| {
            data.remove(name).map(|_| (id, json_text(&data), email, revision))
        })
        .collect();
    // in the order in which other writers lock contacts, so that nobody waits for each other
    having.sort_by(|(.., one, _), (.., other, _)| one.cmp(other));
    let changed = tx.each(
        "update contacts set data = r.data, revision = contacts.revision + 1, updated_at = $5 \
         from {rows r: project_id int, contact_id id, data json, revision int} \
         where contacts.project_id = r.project_id and contacts.id = r.contact_id and contacts.revision = r.revision",
        &[
            Arg::Ints(having.iter().map(|_| Some(project.0)).collect()),
            Arg::Ids(having.iter().map(|(id, ..)| Some((*id).into())).collect()),
            Arg::Jsons(having.iter().map(|(_, data, ..)| Some(data.as_str().into())).collect()),
            Arg::Ints(having.iter().map(|(.., revision)| Some(*revision)).collect()),
            now.into(),
        ],
    )
    .await?;
    if changed != having.len() as u64 {
        return Err(Error::Contention("a contact was changed meanwhile".into()));
    }
    let mut deltas = Deltas::default();
    deltas.add(project, Counter::Field, name, -(having.len() as i64));
    for (id, ..) in &having {
        deltas.touch(project, *id, now);
    }
    deltas.save(tx).await?;
    if next.is_none() {
        tx.execute("delete from contact_fields where project_id = $1 and name = $2", args![project, name])
            .await?;
    }
    Ok((having.len(), next))
}
