//! Reads columns of all contacts of a project, a part at a time.
//!
//! The parts are read at different moments. What changes meanwhile is in the log of contacts, which was on before the
//! first part was read, and is read again afterwards.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use mailwright_core::filter::columns::{Aspect, Columns, Fact};
use mailwright_core::filter::{Activity, DataPath};
use mailwright_core::ids::{ContactId, EmailId, EventId, ProjectNumber};
use mailwright_core::time::Timestamp;
use serde_json::Value as Json;
use uuid::Uuid;

use super::Unfit;
use crate::args;
use crate::audience::filter::facts::{self, Times};
use crate::body;
use crate::database::db::Db;
use crate::database::error::{Error, Result};
use crate::database::tx::{Row, Rx};
use crate::database::value::Arg;

/// Contacts of a part.
const CONTACTS: usize = 5_000;
/// Characters of JSON that a value may have. Columns in which one has more take too much memory.
const MAX_VALUE: usize = 1_024;
/// Events or mails of a part.
const EVENTS: usize = 50_000;
/// Keys of custom data that are read together.
const KEYS: usize = 6;
/// How long the transactions that began earlier are waited for.
const PATIENCE: Duration = Duration::from_mins(2);
/// How often it is looked whether they have ended.
const PAUSE: Duration = Duration::from_millis(20);

/// Waits until every transaction has ended that may have begun before the log was on, and does not write into it.
pub(super) async fn earlier_transactions(db: &Db) -> Result<()> {
    if !db.is_shared() {
        return Ok(()); // there is one writer
    }
    let mut left: Option<BTreeSet<String>> = None;
    let until = tokio::time::Instant::now() + PATIENCE;
    loop {
        let now: BTreeSet<String> =
            db.read(body!(async |rx| transactions(rx).await)).await?.into_iter().collect();
        let still = left.map_or_else(|| now.clone(), |left| left.intersection(&now).cloned().collect());
        if still.is_empty() {
            return Ok(());
        }
        if tokio::time::Instant::now() > until {
            return Err(Error::Busy);
        }
        left = Some(still);
        tokio::time::sleep(PAUSE).await;
    }
}

/// The transactions of other connections, as PostgreSQL calls them.
async fn transactions(rx: &Rx<'_>) -> Result<Vec<String>> {
    rx.all(
        "select l.virtualtransaction from pg_locks l join pg_stat_activity a on a.pid = l.pid \
         where l.locktype = 'virtualxid' and a.datname = current_database() and l.pid <> pg_backend_pid()",
        args![],
        |r| r.get(0),
    )
    .await
}

/// What is read for some columns.
#[derive(Debug)]
pub(super) struct Wanted {
    steps: Vec<Arc<Step>>,
    events: BTreeSet<String>,
    activities: bool,
}

/// What some contacts have in all columns.
#[derive(Debug, Default)]
pub(super) struct Part {
    contacts: Vec<ContactId>,
    /// What is in the rows of the contacts, in each step.
    rows: Vec<Vec<Read>>,
    events: Vec<(ContactId, String, Option<EventId>)>,
    mails: Vec<(ContactId, Times)>,
}

impl Wanted {
    /// What is read for columns.
    pub(super) fn of(aspects: &BTreeSet<Aspect>) -> Self {
        let event =
            |aspect: &Aspect| if let Aspect::Event(name) = aspect { Some(name.clone()) } else { None };
        Self {
            steps: Step::all(aspects),
            events: aspects.iter().filter_map(event).collect(),
            activities: aspects.iter().any(|aspect| matches!(aspect, Aspect::Activity(_))),
        }
    }

    /// Reads what all contacts have. The columns are there and empty, and take at most `most` bytes.
    pub(super) async fn load(
        &self,
        db: &Db,
        project: ProjectNumber,
        most: usize,
        columns: &mut Columns,
    ) -> Result<Result<(), Unfit>> {
        for step in &self.steps {
            let mut after = ContactId::from(Uuid::nil());
            loop {
                let reading = Arc::clone(step);
                let part = db.read_in_background(
                    project,
                    body!(async |rx| reading.read(rx, project, &Which::After(after)).await),
                );
                let part = part.await?;
                let is_last = part.len() < CONTACTS;
                after = part.last().map_or(after, |last| last.id);
                let fits = part.into_iter().all(|contact| step.put(contact, columns));
                if !fits || columns.is_full() || columns.bytes() > most {
                    return Ok(Err(Unfit));
                }
                if is_last {
                    break;
                }
            }
        }
        for name in &self.events {
            events(db, project, name, columns).await?;
        }
        if self.activities {
            mails(db, project, columns).await?;
        }
        Ok(Ok(()))
    }

    /// Reads what some contacts have.
    pub(super) async fn read_these(
        &self,
        rx: &Rx<'_>,
        project: ProjectNumber,
        contacts: Vec<ContactId>,
    ) -> Result<Part> {
        if contacts.is_empty() {
            return Ok(Part::default());
        }
        let which = Which::These(contacts);
        let mut rows = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            rows.push(step.read(rx, project, &which).await?);
        }
        let Which::These(contacts) = which else { return Ok(Part::default()) };
        let events = facts::newest_events(rx, project, &contacts, &self.events, Timestamp::LAST).await?;
        let mails =
            if self.activities { facts::activities(rx, project, &contacts).await? } else { Vec::new() };
        Ok(Part { contacts, rows, events, mails })
    }

    /// Sets what contacts have, and removes those that are gone. Returns whether all fits in.
    pub(super) fn put(&self, part: Part, columns: &mut Columns) -> bool {
        let there: BTreeSet<ContactId> = part.rows.iter().flatten().map(|read| read.id).collect();
        for contact in part.contacts {
            if there.contains(&contact) {
                columns.add(contact);
                columns.forget_times(contact);
            } else {
                columns.remove(contact);
            }
        }
        let rows = self.steps.iter().zip(part.rows);
        let mut fits = true;
        for (step, rows) in rows {
            fits &= rows.into_iter().all(|read| step.put(read, columns));
        }
        for (contact, name, last) in part.events {
            if let Some(last) = last {
                columns.raise(contact, &Aspect::Event(name), last.instant());
            }
        }
        for (contact, times) in part.mails {
            put_times(contact, times, columns);
        }
        fits
    }
}

/// The contacts that are read.
enum Which {
    /// The first ones after this one.
    After(ContactId),
    These(Vec<ContactId>),
}

/// What is read in one go through the contacts.
#[derive(Debug)]
struct Step {
    email: bool,
    subscribed: bool,
    updated_at: bool,
    paths: Vec<DataPath>,
    /// The keys of custom data that the paths lead through: one with dots may be a key by itself.
    keys: Vec<String>,
}

/// A contact that was read.
#[derive(Debug)]
struct Read {
    id: ContactId,
    email: Option<String>,
    subscribed: bool,
    updated_at: Timestamp,
    values: [Option<String>; KEYS],
}

fn read(row: &Row<'_>) -> Result<Read> {
    let mut values: [Option<String>; KEYS] = Default::default();
    for (at, value) in values.iter_mut().enumerate() {
        *value = row.get(4 + at)?;
    }
    Ok(Read { id: row.get(0)?, email: row.get(1)?, subscribed: row.get(2)?, updated_at: row.get(3)?, values })
}

impl Step {
    /// The steps in which columns are read.
    fn all(aspects: &BTreeSet<Aspect>) -> Vec<Arc<Self>> {
        let path = |aspect: &Aspect| if let Aspect::Data(path) = aspect { Some(path.clone()) } else { None };
        let paths: Vec<DataPath> = aspects.iter().filter_map(path).collect();
        let mut steps: Vec<Self> = paths.chunks(KEYS / 2).map(|paths| Self::of(paths.to_vec())).collect();
        if steps.is_empty() {
            steps.push(Self::of(Vec::new()));
        }
        if let Some(first) = steps.first_mut() {
            first.email = aspects.contains(&Aspect::Email);
            first.subscribed = aspects.contains(&Aspect::Subscribed);
            first.updated_at = aspects.contains(&Aspect::UpdatedAt);
        }
        steps.into_iter().map(Arc::new).collect()
    }

    fn of(paths: Vec<DataPath>) -> Self {
        let keys: BTreeSet<&str> =
            paths.iter().flat_map(|path| [Some(path.as_str()), path.keys().next()]).flatten().collect();
        let keys = keys.into_iter().map(str::to_owned).collect();
        Self { email: false, subscribed: false, updated_at: false, paths, keys }
    }

    async fn read(&self, rx: &Rx<'_>, project: ProjectNumber, which: &Which) -> Result<Vec<Read>> {
        let mut args: Vec<Arg<'static>> = vec![project.into()];
        let which = match which {
            Which::After(after) => {
                args.extend([(*after).into(), CONTACTS.into()]);
                "c.id > $2 order by c.id limit $3"
            }
            Which::These(ids) => {
                args.push(Arg::Ids(ids.iter().map(|id| Some((*id).into())).collect()));
                "c.id {in $2}"
            }
        };
        let email = if self.email { "c.email" } else { "null" };
        let mut columns = format!("c.id, {email}, c.subscribed, c.updated_at");
        for at in 0..KEYS {
            match self.keys.get(at) {
                Some(key) => {
                    args.push(key.clone().into());
                    let most = MAX_VALUE + 1;
                    let _ = write!(columns, ", substr({{json_of c.data ${}}}, 1, {most})", args.len());
                }
                None => columns += ", null",
            }
        }
        rx.all(format!("select {columns} from contacts c where c.project_id = $1 and {which}"), &args, read)
            .await
    }

    /// Sets what was read of a contact. Returns whether it fits in.
    fn put(&self, contact: Read, columns: &mut Columns) -> bool {
        let id = contact.id;
        columns.add(id);
        if let Some(email) = &contact.email {
            columns.set(id, &Aspect::Email, Fact::Text(email));
        }
        if self.subscribed {
            columns.set(id, &Aspect::Subscribed, Fact::Flag(contact.subscribed));
        }
        if self.updated_at {
            columns.set(id, &Aspect::UpdatedAt, Fact::Time(Some(contact.updated_at)));
        }
        if self.paths.is_empty() {
            return true;
        }
        if contact.values.iter().flatten().any(|value| value.chars().nth(MAX_VALUE).is_some()) {
            return false;
        }
        let values = self.keys.iter().zip(&contact.values).filter_map(|(key, value)| {
            let value: Json = serde_json::from_str(value.as_deref()?).ok()?;
            Some((key.clone(), value))
        });
        let data = values.collect();
        for path in &self.paths {
            columns.set(id, &Aspect::Data(path.clone()), Fact::Value(path.find(&data)));
        }
        true
    }
}

/// Reads when the newest event of a name of each contact was.
async fn events(db: &Db, project: ProjectNumber, name: &str, columns: &mut Columns) -> Result<()> {
    let aspect = Aspect::Event(name.to_owned());
    let mut after = EventId::from(Uuid::nil());
    loop {
        let name = name.to_owned();
        let part = db.read_in_background(
            project,
            body!(async |rx| rx.all(
                "select id, contact_id from events where project_id = $1 and name = $2 and id > $3 order by id limit $4",
                args![project, name, after, EVENTS],
                |r| Ok((r.get::<EventId>(0)?, r.get::<Option<ContactId>>(1)?)),
            )
            .await),
        );
        let part = part.await?;
        let is_last = part.len() < EVENTS;
        after = part.last().map_or(after, |(id, _)| *id);
        for (id, contact) in part {
            if let Some(contact) = contact {
                columns.raise(contact, &aspect, id.instant());
            }
        }
        if is_last {
            return Ok(());
        }
    }
}

/// Reads when each activity was last seen on the mails of each contact.
async fn mails(db: &Db, project: ProjectNumber, columns: &mut Columns) -> Result<()> {
    let mut after = EmailId::from(Uuid::nil());
    loop {
        let part = db.read_in_background(
            project,
            body!(async |rx| rx.all(
                "select id, contact_id, sent_at, delivered_at, opened_at, clicked_at, bounced_at, complained_at \
                 from emails where project_id = $1 and id > $2 order by id limit $3",
                args![project, after, EVENTS],
                |r| {
                    let times = (2..2 + Activity::ALL.len()).map(|column| r.get(column));
                    Ok((r.get::<EmailId>(0)?, r.get::<ContactId>(1)?, times.collect::<Result<Times>>()?))
                },
            )
            .await),
        );
        let part = part.await?;
        let is_last = part.len() < EVENTS;
        after = part.last().map_or(after, |(id, ..)| *id);
        for (_, contact, times) in part {
            put_times(contact, times, columns);
        }
        if is_last {
            return Ok(());
        }
    }
}

fn put_times(contact: ContactId, times: Times, columns: &mut Columns) {
    for (kind, time) in Activity::ALL.into_iter().zip(times) {
        if let Some(time) = time {
            columns.raise(contact, &Aspect::Activity(kind), time);
        }
    }
}
