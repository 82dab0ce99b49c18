//! Events. They are only appended; removing an event name removes its events. Nobody can remove the service's own events,
//! because they show why somebody gets mail, or none; the service takes an open or a click back that was a machine's.

use std::collections::BTreeSet;

use futures_util::future::BoxFuture;
use mailwright_core::activity::{Place, Source};
use mailwright_core::address::EmailAddress;
use mailwright_core::event::EMAIL_OPEN;
use mailwright_core::filter::{Condition, EventTest, Filter, Group, Logic};
use mailwright_core::ids::{ContactId, EmailId, EventId, ProjectNumber};
use mailwright_core::month::Month;
use mailwright_core::time::Timestamp;
use serde_json::Value as Json;

use crate::args;
use crate::audience::event_counts;
use crate::audience::event_index::{NAMES_OF_CONTACT, newest_of_names};
use crate::audience::filter::{self, Segments};
use crate::automation::enrol::Happened;
use crate::database::error::Result;
use crate::database::tx::{Row, Rx, Tx};
use crate::database::value::Arg;
use crate::insight::cohorts;
use crate::insight::counter::Counter;
use crate::insight::deltas::Deltas;

/// An event to append.
#[derive(Debug, Clone)]
pub struct NewEvent {
    /// Project it belongs to.
    pub project: ProjectNumber,
    /// Identifier; its time is `at`.
    pub id: EventId,
    /// Name.
    pub name: String,
    /// The contact of the event.
    pub contact: ContactId,
    /// The mail it is about.
    pub email: Option<EmailId>,
    /// Data of the event, as JSON text.
    pub data: Option<String>,
    /// When it happened.
    pub at: Timestamp,
}

impl NewEvent {
    /// An event without data.
    pub fn bare(project: ProjectNumber, name: &str, contact: ContactId, at: Timestamp) -> Self {
        Self {
            project,
            id: EventId::new(at, rand::random()),
            name: name.to_owned(),
            contact,
            email: None,
            data: None,
            at,
        }
    }
}

/// A stored event.
#[derive(Debug, Clone)]
pub struct Event {
    /// Identifier.
    pub id: EventId,
    /// Name.
    pub name: String,
    /// The contact of the event.
    pub contact: Option<ContactId>,
    /// The mail it is about.
    pub email: Option<EmailId>,
    /// Data of the event.
    pub data: Option<Json>,
    /// When it happened.
    pub created_at: Timestamp,
    /// Address of the contact, where the query asks for it.
    pub contact_email: Option<EmailAddress>,
}

/// Appends events. They are counted at once, and written when the future is awaited.
pub fn append<'t>(tx: &'t Tx<'_>, events: &'t [NewEvent], deltas: &mut Deltas) -> BoxFuture<'t, Result<()>> {
    for event in events {
        deltas.add(event.project, Counter::Event, &event.name, 1);
        event_counts::count(deltas, event.project, &event.name, event.at, 1);
        deltas.touch(event.project, event.contact, event.at);
        deltas.sums().note(event.project, Place { at: event.at, id: event.id.into(), source: Source::Event });
        if event.name == EMAIL_OPEN {
            deltas.opened(event.project, event.contact, event.at);
        }
        deltas.happened(Happened {
            project: event.project,
            event: event.id,
            name: event.name.clone(),
            contact: event.contact,
            at: event.at,
        });
    }
    Box::pin(insert(tx, events))
}

async fn insert(tx: &Tx<'_>, events: &[NewEvent]) -> Result<()> {
    tx.each(
        "insert into events (project_id, id, name, contact_id, email_id, data, created_at, origin_id, template_id) \
         select r.project_id, r.id, r.name, r.contact_id, r.email_id, r.data, r.created_at, \
         (select coalesce(m.campaign_id, m.workflow_id) from emails m where m.project_id = r.project_id \
         and m.id = r.email_id), \
         (select m.template_id from emails m where m.project_id = r.project_id and m.id = r.email_id) \
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
    Ok(())
}

/// Takes back events of the service that should not have been told: their ids, names and times. Those that are gone
/// already change nothing. Executions that they began go on.
pub async fn withdraw(
    tx: &Tx<'_>,
    project: ProjectNumber,
    events: &[(EventId, &str, Timestamp)],
    deltas: &mut Deltas,
) -> Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    let ids = Arg::Ids(events.iter().map(|(id, ..)| Some((*id).into())).collect());
    let gone: Vec<(EventId, Option<ContactId>)> = tx
        .all(
            "delete from events where project_id = $1 and id {in $2} returning id, contact_id",
            &[project.into(), ids],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )
        .await?;
    let mut opens = BTreeSet::new();
    for (id, contact) in gone {
        let Some((_, name, at)) = events.iter().find(|(event, ..)| *event == id) else { continue };
        deltas.add(project, Counter::Event, name, -1);
        event_counts::count(deltas, project, name, *at, -1);
        if let Some(contact) = contact {
            deltas.touch(project, contact, *at);
            if *name == EMAIL_OPEN {
                opens.insert((contact, Month::of(*at)));
            }
        }
    }
    cohorts::take_back(tx, project, &opens, deltas.sums()).await
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
    let filter = if name.is_some() { "and e.name = $3" } else { "and cast($3 as text) is null" };
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

/// The newest events of a contact. The index has them by name: those of each name are looked up in it, newest first,
/// and the newest of all are among them.
pub async fn of_contact(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    contact: ContactId,
    limit: i64,
) -> Result<Vec<Event>> {
    let names = names_of_contact(rx, project, contact, limit).await?;
    let ever = (EventId::from_bytes([0; 16]), EventId::from_bytes([0xff; 16]));
    let about = Some(("contact_id", contact.into()));
    let mut ids = newest_of_names(rx, project, &names, about, ever, limit).await?;
    ids.sort_unstable_by(|one, other| other.cmp(one));
    ids.truncate(limit as usize);
    rx.all(
        format!(
            "select {COLUMNS} from events e left join contacts c on c.project_id = e.project_id and c.id = e.contact_id \
             where e.project_id = $1 and e.id {{in $2}} order by e.id desc"
        ),
        &[project.into(), Arg::Ids(ids.into_iter().map(|id| Some(id.into())).collect())],
        read,
    )
    .await
}

/// The names of a contact's events, those with the newest event first.
async fn names_of_contact(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    contact: ContactId,
    limit: i64,
) -> Result<Vec<String>> {
    rx.all(
        format!(
            "{NAMES_OF_CONTACT} select n.name, (select e.id from events e where e.project_id = $1 and e.contact_id = $2 \
             and e.name = n.name order by e.id desc limit 1) as newest from names n where n.name is not null \
             order by newest desc limit $3"
        ),
        args![project, contact, limit],
        |r| r.get(0),
    )
    .await
}

/// Up to so many events of a name, their contacts are counted one by one.
const FEW: i64 = 100_000;

/// How many contacts have an event of a name that has `total` events. If there are many events, the contacts are
/// scanned instead.
pub async fn unique_contacts(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    name: &str,
    total: i64,
    now: Timestamp,
) -> Result<i64> {
    if total > FEW {
        let has_one = Condition::Event { name: name.to_owned(), test: EventTest::Triggered };
        let group = Group { conditions: vec![has_one], nested: None };
        let tree = Filter { logic: Logic::And, groups: vec![group] };
        return filter::count(rx, project, &tree, &Segments::new(), now).await;
    }
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
            "delete from events where project_id = $1 and id {in $2} returning contact_id, id, created_at",
            &[project.into(), Arg::Ids(ids.iter().map(|id| Some((*id).into())).collect())],
            |r| Ok((r.get::<Option<ContactId>>(0)?, r.get::<EventId>(1)?, r.get::<Timestamp>(2)?)),
        )
        .await?;
    let mut deltas = Deltas::default();
    deltas.add(project, Counter::Event, name, -(removed.len() as i64));
    let gone = removed.iter().map(|(_, id, at)| (*id, name, *at));
    event_counts::forget(tx, project, gone, &mut deltas).await?;
    for contact in removed.iter().filter_map(|(contact, ..)| contact.as_ref()) {
        deltas.touch(project, *contact, now);
    }
    deltas.save(tx).await?;
    Ok(removed.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args;
    use crate::body;
    use crate::database::db::Db;
    use crate::database::location::Location;
    use crate::database::metrics::StoreMetrics;

    const PROJECT: ProjectNumber = ProjectNumber(7);
    const NOW: Timestamp = Timestamp(1_763_000_000_000);

    /// A contact of this project, or of another one.
    async fn contact(tx: &mut Tx<'_>, project: ProjectNumber, number: i64) -> Result<ContactId> {
        let id = ContactId::first_of(Timestamp(number));
        tx.execute_one(
            "insert into contacts (project_id, id, email, subscribed, data, revision, created_at, updated_at) \
             values ($1, $2, $3, $4, {json $5}, 1, $6, $6)",
            args![project, id, format!("a{number}@example.com"), true, serde_json::json!({}), NOW],
        )
        .await?;
        Ok(id)
    }

    async fn unique(db: &Db, name: &'static str, total: i64) -> i64 {
        let read = db.read(body!(async |rx| unique_contacts(rx, PROJECT, name, total, NOW).await));
        read.await.unwrap()
    }

    /// Has the counters say that there are so many more events of a name.
    async fn pretend(db: &Db, name: &'static str, more: i64) {
        let written = db.write(body!(async |tx| {
            let mut deltas = Deltas::default();
            deltas.add(PROJECT, Counter::Event, name, more);
            deltas.save(tx).await
        }));
        written.await.unwrap();
    }

    async fn contacts_are_counted_alike_however_many_events_there_are(db: Db) {
        crate::database::migrate::migrate(&db, NOW).await.unwrap();
        let written = db.write(body!(async |tx| {
            let mut events = Vec::new();
            for number in 0..30 {
                let id = contact(tx, PROJECT, number).await?;
                // 20 contacts have the one, from 1 to 20 of them each; all have the other
                let seen = if number < 20 { number + 1 } else { 0 };
                events.extend((0..seen).map(|_| NewEvent::bare(PROJECT, "seen", id, NOW)));
                events.push(NewEvent::bare(PROJECT, "all", id, NOW));
            }
            let other = contact(tx, ProjectNumber(8), 50).await?;
            events.push(NewEvent::bare(ProjectNumber(8), "seen", other, NOW));
            let mut deltas = Deltas::default();
            deltas.add(PROJECT, Counter::Contacts, "", 30);
            append(tx, &events, &mut deltas).await?;
            deltas.save(tx).await
        }));
        written.await.unwrap();
        for (name, expected) in [("seen", 20), ("all", 30), ("nothing", 0)] {
            for total in [FEW, FEW + 1] {
                assert_eq!(unique(&db, name, total).await, expected, "{name}, {total} events");
            }
            // of so many events, contact after contact is asked whether it has one
            pretend(&db, name, 10_000_000).await;
            assert_eq!(unique(&db, name, FEW + 1).await, expected, "{name}, of very many");
        }
    }

    #[tokio::test]
    async fn contacts_are_counted_alike_however_many_events_there_are_on_postgres() {
        let database = crate::database::migrate::tests::Database::create("unique");
        contacts_are_counted_alike_however_many_events_there_are(database.open()).await;
    }

    #[tokio::test]
    async fn contacts_are_counted_alike_however_many_events_there_are_on_sqlite() {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Sqlite(folder.path().join("test.sqlite"));
        let db = Db::open(&location, StoreMetrics::default()).unwrap();
        contacts_are_counted_alike_however_many_events_there_are(db).await;
    }
}
