//! Reads columns from the contacts of a project, their events and their mails, a part at a time.

use std::collections::BTreeSet;
use std::sync::Arc;

use mailwright_core::filter::Activity;
use mailwright_core::filter::columns::{Aspect, Columns, Fact};
use mailwright_core::ids::{ContactId, EmailId, EventId, ProjectNumber, SegmentId};
use mailwright_core::time::Timestamp;
use uuid::Uuid;

use super::room::{Room, Unfit};
use super::step::{CONTACTS, Read, Step, Which};
use crate::args;
use crate::audience::filter::facts::{self, Times};
use crate::body;
use crate::database::db::Db;
use crate::database::error::Result;
use crate::database::tx::Rx;

/// Events, mails or members of a part.
const EVENTS: usize = 50_000;

/// What is read for some columns.
#[derive(Debug)]
pub(super) struct Wanted {
    steps: Vec<Arc<Step>>,
    events: BTreeSet<String>,
    activities: bool,
    segments: BTreeSet<SegmentId>,
}

/// What some contacts have in all columns.
#[derive(Debug, Default)]
pub(super) struct Part {
    contacts: Vec<ContactId>,
    /// What is in the rows of the contacts, in each step.
    rows: Vec<Vec<Read>>,
    events: Vec<(ContactId, String, Option<EventId>)>,
    mails: Vec<(ContactId, Times)>,
    members: Vec<(ContactId, SegmentId)>,
}

impl Part {
    /// The contacts, those that are gone included.
    pub(super) fn contacts(&self) -> &[ContactId] {
        &self.contacts
    }

    /// About how many bytes of memory it takes.
    pub(super) fn bytes(&self) -> usize {
        let rows: usize = self.rows.iter().flatten().map(Read::bytes).sum();
        let events: usize = self.events.iter().map(|event| size_of_val(event) + event.1.len()).sum();
        rows + events + size_of_val(&*self.contacts) + size_of_val(&*self.mails) + size_of_val(&*self.members)
    }
}

impl Wanted {
    /// What is read for columns.
    pub(super) fn of(aspects: &BTreeSet<Aspect>) -> Self {
        let event =
            |aspect: &Aspect| if let Aspect::Event(name) = aspect { Some(name.clone()) } else { None };
        let segment = |aspect: &Aspect| if let Aspect::Segment(id) = aspect { Some(*id) } else { None };
        Self {
            steps: Step::all(aspects),
            events: aspects.iter().filter_map(event).collect(),
            activities: aspects.iter().any(|aspect| matches!(aspect, Aspect::Activity(_))),
            segments: aspects.iter().filter_map(segment).collect(),
        }
    }

    /// What is read for more columns of contacts that are there already.
    pub(super) fn more(aspects: &BTreeSet<Aspect>) -> Self {
        let mut wanted = Self::of(aspects);
        wanted.steps.retain(|step| step.reads_something());
        wanted
    }

    /// Reads what all contacts have, into columns that have nothing yet.
    pub(super) async fn load(
        &self,
        db: &Db,
        project: ProjectNumber,
        room: &Room,
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
                for contact in part {
                    step.put(contact, columns);
                }
                if !room.admits(columns.bytes()) {
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
        for segment in &self.segments {
            members(db, project, *segment, columns).await?;
        }
        Ok(Ok(()))
    }

    /// Reads what the contacts have from an id on, up to another one, into columns that end there.
    pub(super) async fn load_between(
        self: &Arc<Self>,
        db: &Db,
        project: ProjectNumber,
        (first, end): (ContactId, Option<ContactId>),
        room: &Room,
        columns: &mut Columns,
    ) -> Result<Result<(), Unfit>> {
        let mut from = first;
        loop {
            let wanted = Arc::clone(self);
            let part = db.read_in_background(
                project,
                body!(async |rx| {
                    let contacts = between(rx, project, from, end).await?;
                    wanted.read_these(rx, project, contacts).await
                }),
            );
            let part = part.await?;
            let last = part.contacts.last().copied();
            let is_last = part.contacts.len() < CONTACTS;
            self.put(part, columns);
            if !room.admits(columns.bytes()) {
                return Ok(Err(Unfit));
            }
            match last {
                Some(last) if !is_last => from = after(last),
                _ => return Ok(Ok(())),
            }
        }
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
        let members = facts::stored_members(rx, project, &contacts, &self.segments).await?;
        Ok(Part { contacts, rows, events, mails, members })
    }

    /// Sets what contacts have, and removes those that are gone.
    pub(super) fn put(&self, part: Part, columns: &mut Columns) {
        let there: BTreeSet<ContactId> = part.rows.iter().flatten().map(|read| read.id).collect();
        for contact in part.contacts {
            if there.contains(&contact) {
                columns.add(contact);
                columns.forget_related(contact);
            } else {
                columns.remove(contact);
            }
        }
        for (step, rows) in self.steps.iter().zip(part.rows) {
            for read in rows {
                step.put(read, columns);
            }
        }
        for (contact, name, last) in part.events {
            if let Some(last) = last {
                columns.raise(contact, &Aspect::Event(name), last.instant());
            }
        }
        for (contact, times) in part.mails {
            put_times(contact, times, columns);
        }
        for (contact, segment) in part.members {
            columns.set(contact, &Aspect::Segment(segment), Fact::Flag(true));
        }
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

/// Reads who is a stored member of a segment.
async fn members(db: &Db, project: ProjectNumber, segment: SegmentId, columns: &mut Columns) -> Result<()> {
    let mut last = ContactId::from(Uuid::nil());
    loop {
        let part = db.read_in_background(
            project,
            body!(async |rx| rx
                .all(
                    "select contact_id from segment_members where project_id = $1 and segment_id = $2 \
                     and contact_id > $3 and exited_at is null order by contact_id limit $4",
                    args![project, segment, last, EVENTS],
                    |r| r.get::<ContactId>(0),
                )
                .await),
        );
        let part = part.await?;
        for contact in &part {
            columns.set(*contact, &Aspect::Segment(segment), Fact::Flag(true));
        }
        match part.last() {
            Some(newest) if part.len() == EVENTS => last = *newest,
            _ => return Ok(()),
        }
    }
}

/// Contacts from an id on, up to another one: the first ones.
async fn between(
    rx: &Rx<'_>,
    project: ProjectNumber,
    first: ContactId,
    end: Option<ContactId>,
) -> Result<Vec<ContactId>> {
    let end = end.unwrap_or(ContactId::from(Uuid::max()));
    rx.all(
        "select id from contacts where project_id = $1 and id >= $2 and id < $3 order by id limit $4",
        args![project, first, end, CONTACTS],
        |r| r.get(0),
    )
    .await
}

/// The id after one.
fn after(id: ContactId) -> ContactId {
    ContactId::from(Uuid::from_u128(id.as_uuid().as_u128().saturating_add(1)))
}

fn put_times(contact: ContactId, times: Times, columns: &mut Columns) {
    for (kind, time) in Activity::ALL.into_iter().zip(times) {
        if let Some(time) = time {
            columns.raise(contact, &Aspect::Activity(kind), time);
        }
    }
}
