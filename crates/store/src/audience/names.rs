//! Which names of custom fields and events a project has, and how many more it may have.
//!
//! A transaction looks up all names that it uses together, with its other reads. Only if one of them is new to its
//! project are the project's names counted, under a lock of the project that is held until the transaction ends. So the
//! limits are exact, however many transactions add names at once, and cost nothing if no name is new.
//!
//! An operation that does not fit is refused by itself (`core::excess`); the rest of its group goes on, and its
//! idempotency key stays free. Names of the service's own events are not limited.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use futures_util::future::join;
use mailwright_core::custom_data::{MAX_FIELDS, MAX_PUBLIC_FIELDS};
use mailwright_core::event::{MAX_EVENT_NAMES, MAX_PUBLIC_EVENT_NAMES};
use mailwright_core::excess::Excess;
use mailwright_core::ids::ProjectNumber;
use mailwright_core::time::Timestamp;

use crate::args;
use crate::audience::event_field;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;
use crate::insight::counter::{self, Counter, Sums};

/// Names that a transaction uses.
#[derive(Debug, Clone, Default)]
pub struct Wanted<'w> {
    fields: BTreeSet<(ProjectNumber, &'w str)>,
    events: BTreeSet<(ProjectNumber, &'w str)>,
}

impl<'w> Wanted<'w> {
    /// Adds names of custom fields.
    pub fn fields(&mut self, project: ProjectNumber, names: impl Iterator<Item = &'w str>) {
        self.fields.extend(names.map(|name| (project, name)));
    }

    /// Adds the name of an event.
    pub fn event(&mut self, project: ProjectNumber, name: &'w str) {
        self.events.insert((project, name));
    }
}

/// The names of one kind.
#[derive(Debug, Default)]
struct Kind {
    known: HashMap<ProjectNumber, HashSet<String>>,
    /// How many new names each project may still have; projects that named nothing new are missing.
    room: HashMap<ProjectNumber, usize>,
}

impl Kind {
    fn note(&mut self, rows: Vec<(ProjectNumber, String)>) {
        for (project, name) in rows {
            self.known.entry(project).or_default().insert(name);
        }
    }

    fn knows(&self, project: ProjectNumber, name: &str) -> bool {
        self.known.get(&project).is_some_and(|names| names.contains(name))
    }

    fn unknown<'w>(&self, wanted: &BTreeSet<(ProjectNumber, &'w str)>) -> BTreeSet<(ProjectNumber, &'w str)> {
        wanted.iter().filter(|(project, name)| !self.knows(*project, name)).copied().collect()
    }

    /// The new ones of some names, each once; `None` when there are more than the project may still have without what
    /// is kept for others.
    fn fitting<'n>(
        &self,
        project: ProjectNumber,
        names: impl Iterator<Item = &'n str>,
        kept: usize,
    ) -> Option<HashSet<&'n str>> {
        let new: HashSet<&str> = names.filter(|name| !self.knows(project, name)).collect();
        let room = self.room.get(&project).copied().unwrap_or(0).saturating_sub(kept);
        (new.len() <= room).then_some(new)
    }

    fn take(&mut self, project: ProjectNumber, new: HashSet<&str>) {
        if let Some(room) = self.room.get_mut(&project) {
            *room -= new.len();
        }
        self.known.entry(project).or_default().extend(new.into_iter().map(str::to_owned));
    }
}

/// What is known of the names that a transaction uses.
#[derive(Debug, Default)]
pub struct Names {
    fields: Kind,
    events: Kind,
    new_events: BTreeMap<(ProjectNumber, String), Timestamp>,
}

impl Names {
    /// Looks names up.
    pub async fn load(tx: &Tx<'_>, wanted: &Wanted<'_>) -> Result<Self> {
        let mut names = Self::default();
        names.read(tx, wanted).await?;
        let unknown = names.unknown(wanted);
        let of = |names: &BTreeSet<(ProjectNumber, &str)>| -> BTreeSet<_> {
            names.iter().map(|(project, _)| *project).collect()
        };
        let (fields, events) = (of(&unknown.fields), of(&unknown.events));
        for project in fields.union(&events) {
            lock(tx, *project).await?;
        }
        // what another transaction named until it gave the lock back
        names.read(tx, &unknown).await?;
        for project in fields {
            let count = count(tx, project, "contact_fields", MAX_FIELDS).await?;
            names.fields.room.insert(project, MAX_FIELDS.saturating_sub(count));
        }
        for project in events {
            let count = count(tx, project, "event_names", MAX_EVENT_NAMES).await?;
            names.events.room.insert(project, MAX_EVENT_NAMES.saturating_sub(count));
        }
        Ok(names)
    }

    async fn read(&mut self, rx: &Rx<'_>, wanted: &Wanted<'_>) -> Result<()> {
        let fields = existing(
            rx,
            "select r.project_id, r.name from {rows r: project_id int, name text} \
             join contact_fields f on f.project_id = r.project_id and f.name = r.name",
            &wanted.fields,
        );
        let events = existing(
            rx,
            "select r.project_id, r.name from {rows r: project_id int, name text} \
             join event_names n on n.project_id = r.project_id and n.name = r.name",
            &wanted.events,
        );
        let (fields, events) = join(fields, events).await;
        self.fields.note(fields?);
        self.events.note(events?);
        Ok(())
    }

    fn unknown<'w>(&self, wanted: &Wanted<'w>) -> Wanted<'w> {
        Wanted { fields: self.fields.unknown(&wanted.fields), events: self.events.unknown(&wanted.events) }
    }

    /// Takes the names of one operation, those that are new from what the project may still have: all of them or none.
    pub fn take<'n>(
        &mut self,
        project: ProjectNumber,
        fields: impl Iterator<Item = &'n str>,
        event: Option<&'n str>,
        at: Timestamp,
    ) -> std::result::Result<(), Excess> {
        let fields = self.fields.fitting(project, fields, 0).ok_or(Excess::Fields)?;
        let events = self.events.fitting(project, event.into_iter(), 0).ok_or(Excess::EventNames)?;
        self.note(project, fields, events, at);
        Ok(())
    }

    /// The same for an operation with the public key, which can use only half of the names that a project may have: the
    /// other half is for secret keys.
    pub fn take_publicly<'n>(
        &mut self,
        project: ProjectNumber,
        fields: impl Iterator<Item = &'n str>,
        event: &'n str,
        at: Timestamp,
    ) -> std::result::Result<(), Excess> {
        let (fields_kept, events_kept) =
            (MAX_FIELDS - MAX_PUBLIC_FIELDS, MAX_EVENT_NAMES - MAX_PUBLIC_EVENT_NAMES);
        let fields = self.fields.fitting(project, fields, fields_kept).ok_or(Excess::PublicFields)?;
        let events = self.events.fitting(project, [event].into_iter(), events_kept);
        let events = events.ok_or(Excess::PublicEventNames)?;
        self.note(project, fields, events, at);
        Ok(())
    }

    fn note(&mut self, project: ProjectNumber, fields: HashSet<&str>, events: HashSet<&str>, at: Timestamp) {
        for name in &events {
            self.new_events.insert((project, (*name).to_owned()), at);
        }
        self.fields.take(project, fields);
        self.events.take(project, events);
    }

    /// Stores the new names of events. Those of fields are stored with the contacts.
    pub async fn save(&self, tx: &Tx<'_>) -> Result<()> {
        tx.each(
            "insert into event_names (project_id, name, created_at) select r.project_id, r.name, r.created_at \
             from {rows r: project_id int, name text, created_at int} where true \
             on conflict (project_id, name) do nothing",
            &[
                Arg::Ints(self.new_events.keys().map(|(project, _)| Some(project.0)).collect()),
                Arg::Texts(self.new_events.keys().map(|(_, name)| Some(name.as_str().into())).collect()),
                Arg::Ints(self.new_events.values().map(|at| Some(at.0)).collect()),
            ],
        )
        .await?;
        Ok(())
    }
}

async fn existing(
    rx: &Rx<'_>,
    sql: &'static str,
    wanted: &BTreeSet<(ProjectNumber, &str)>,
) -> Result<Vec<(ProjectNumber, String)>> {
    rx.each_returning(
        sql,
        &[
            Arg::Ints(wanted.iter().map(|(project, _)| Some(project.0)).collect()),
            Arg::Texts(wanted.iter().map(|(_, name)| Some((*name).into())).collect()),
        ],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )
    .await
}

/// Space of the locks of projects among PostgreSQL's advisory locks, whose keys are numbers of 64 bits.
const LOCKS: i64 = 0x6e61_6d65_0000_0000;

/// Locks the names of a project: other transactions cannot add names or topics to it, or recount its mailbox, until this
/// one ends.
pub(crate) async fn lock(tx: &Tx<'_>, project: ProjectNumber) -> Result<()> {
    tx.hold_of(project, LOCKS ^ project.0).await
}

async fn count(tx: &Tx<'_>, project: ProjectNumber, table: &str, most: usize) -> Result<usize> {
    let sql = format!("select count(*) from (select 1 from {table} where project_id = $1 limit $2) as names");
    let found = tx.all(sql, args![project, most], |r| r.get::<i64>(0)).await?;
    Ok(found.first().copied().unwrap_or(0) as usize)
}

/// Forgets the name of events that were removed, unless there are others by now.
pub async fn forget_event(tx: &mut Tx<'_>, project: ProjectNumber, name: &str) -> Result<()> {
    lock(tx, project).await?;
    if tx.exists("select 1 from events where project_id = $1 and name = $2", args![project, name]).await? {
        return Ok(());
    }
    // those that went because of their age are counted still
    let mut sums = Sums::default();
    sums.add(project, Counter::Event, name, -counter::value(tx, project, Counter::Event, name).await?);
    sums.save(tx).await?;
    tx.execute("delete from event_names where project_id = $1 and name = $2", args![project, name]).await?;
    event_field::forget(tx, project, name).await
}
