//! Events: append-only.

use mailwright_core::address::EmailAddress;
use mailwright_core::ids::{ContactId, EmailId, EventId, ProjectNumber};
use mailwright_core::time::Timestamp;
use serde_json::Value as Json;

use crate::args;
use crate::counter::{Counter, Deltas};
use crate::error::Result;
use crate::tx::{Row, Rx, Tx};
use crate::value::Arg;

/// An event to append.
#[derive(Debug, Clone)]
pub struct NewEvent {
    /// Project it belongs to.
    pub project: ProjectNumber,
    /// Identifier; its time is `at`.
    pub id: EventId,
    /// Name.
    pub name: String,
    /// Whom it is about.
    pub contact: ContactId,
    /// The mail it is about.
    pub email: Option<EmailId>,
    /// What came with it, as JSON text.
    pub data: Option<String>,
    /// When it happened.
    pub at: Timestamp,
}

impl NewEvent {
    /// An event without data.
    pub fn bare(project: ProjectNumber, name: &str, contact: ContactId, at: Timestamp) -> Self {
        Self { project, id: EventId::new(at), name: name.to_owned(), contact, email: None, data: None, at }
    }
}

/// A stored event.
#[derive(Debug, Clone)]
pub struct Event {
    /// Identifier.
    pub id: EventId,
    /// Name.
    pub name: String,
    /// Whom it is about.
    pub contact: Option<ContactId>,
    /// The mail it is about.
    pub email: Option<EmailId>,
    /// What came with it.
    pub data: Option<Json>,
    /// When it happened.
    pub created_at: Timestamp,
    /// Address of the contact, where the query asks for it.
    pub contact_email: Option<EmailAddress>,
}

/// Appends events and counts them.
pub async fn append(tx: &mut Tx<'_>, events: &[NewEvent], deltas: &mut Deltas) -> Result<()> {
    tx.each(
        "insert into events (project_id, id, name, contact_id, email_id, data, created_at) \
         select r.project_id, r.id, r.name, r.contact_id, r.email_id, r.data, r.created_at \
         from {rows r: project_id int, id id, name text, contact_id id, email_id id, data json, created_at int}",
        &[
            Arg::Ints(events.iter().map(|e| Some(e.project.0)).collect()),
            Arg::Ids(events.iter().map(|e| Some(e.id.into())).collect()),
            Arg::Texts(events.iter().map(|e| Some(e.name.as_str().into())).collect()),
            Arg::Ids(events.iter().map(|e| Some(e.contact.into())).collect()),
            Arg::Ids(events.iter().map(|e| e.email.map(Into::into)).collect()),
            Arg::Jsons(events.iter().map(|e| e.data.as_deref().map(Into::into)).collect()),
            Arg::Ints(events.iter().map(|e| Some(e.at.0)).collect()),
        ],
    )
    .await?;
    for event in events {
        deltas.add(event.project, Counter::Event, &event.name, 1);
        deltas.touch(event.project, event.contact, event.at);
    }
    Ok(())
}

const COLUMNS: &str = "e.id, e.name, e.contact_id, e.email_id, {json_out e.data}, e.created_at, c.email";

fn read(row: &Row<'_>) -> Result<Event> {
    Ok(Event {
        id: row.get(0)?,
        name: row.get(1)?,
        contact: row.get(2)?,
        email: row.get(3)?,
        data: row.get(4)?,
        created_at: row.get(5)?,
        contact_email: row.get(6)?,
    })
}

/// The newest events, of one name if given.
pub async fn recent(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    name: Option<&str>,
    limit: i64,
) -> Result<Vec<Event>> {
    let filter = if name.is_some() { "and e.name = $3" } else { "and $3 is null" };
    // differs in the type of the null because PostgreSQL wants to know it
    let filter =
        if rx.is_postgres() { filter.replace("$3 is null", "$3::text is null") } else { filter.to_owned() };
    rx.all(
        format!(
            "select {COLUMNS} from events e left join contacts c on c.project_id = e.project_id and c.id = e.contact_id \
             where e.project_id = $1 {filter} order by e.id desc limit $2"
        ),
        args![project, limit, name],
        read,
    )
    .await
}

/// The newest events of a contact. The index has them by name, so all of them are looked up there and sorted.
pub async fn of_contact(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    contact: ContactId,
    limit: i64,
) -> Result<Vec<Event>> {
    rx.all(
        format!(
            "with newest as materialized (select id from events where project_id = $1 and contact_id = $2) \
             select {COLUMNS} from newest n join events e on e.project_id = $1 and e.id = n.id \
             left join contacts c on c.project_id = e.project_id and c.id = e.contact_id \
             order by n.id desc limit $3"
        ),
        args![project, contact, limit],
        read,
    )
    .await
}

/// How often events of each name happened in a stretch of time, the most frequent first.
pub async fn counts_between(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    from: Timestamp,
    until: Timestamp,
) -> Result<Vec<(String, i64)>> {
    rx.all(
        "select name, count(*) from events where project_id = $1 and id >= $2 and id < $3 \
         group by name order by count(*) desc, name",
        args![project, EventId::first_of(from), EventId::first_of(until)],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )
    .await
}

/// How many contacts have an event of a name.
pub async fn unique_contacts(rx: &mut Rx<'_>, project: ProjectNumber, name: &str) -> Result<i64> {
    rx.one(
        "select count(distinct contact_id) from events where project_id = $1 and name = $2",
        args![project, name],
        |r| r.get(0),
    )
    .await
}

/// How many events one call of [`remove`] removes at most.
const REMOVE_CHUNK: i64 = 500;

/// Removes events of a name that happened before `until`, a chunk per call. Returns how many; 0 at the end.
pub async fn remove(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    name: &str,
    until: Timestamp,
    now: Timestamp,
) -> Result<usize> {
    let ids: Vec<EventId> = tx
        .all(
            "select id from events where project_id = $1 and name = $2 and id < $3 order by id limit $4",
            args![project, name, EventId::first_of(until), REMOVE_CHUNK],
            |r| r.get(0),
        )
        .await?;
    let removed = tx
        .all(
            "delete from events where project_id = $1 and id {in $2} returning contact_id",
            &[project.into(), Arg::Ids(ids.iter().map(|id| Some((*id).into())).collect())],
            |r| r.get::<Option<ContactId>>(0),
        )
        .await?;
    let mut deltas = Deltas::default();
    deltas.add(project, Counter::Event, name, -(removed.len() as i64));
    for contact in removed.iter().flatten() {
        deltas.touch(project, *contact, now);
    }
    deltas.save(tx).await?;
    Ok(removed.len())
}
