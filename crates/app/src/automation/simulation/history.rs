//! Rehearsing with the events that a project recorded, contact by contact.
//!
//! It is done some contacts at a time, in a read of its own. Where contacts have more than a few small events, how much
//! there is of them is asked before it is read, so that memory is bounded however many events there are, and however large.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mailwright_core::ids::{ContactId, ProjectNumber, WorkflowId};
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::world::Happening;
use mailwright_store::audience::contact;
use mailwright_store::audience::event_data::{self, Between, Load};
use mailwright_store::{Result as StoreResult, Rx, body};
use tokio::task::block_in_place;

use super::plan::{Rehearsal, Which};
use super::rehearsed::Rehearsed;
use super::setting::Setting;
use crate::App;
use crate::automation::whom::Whom;
use crate::error::{Error, Resource, Result};

/// How many contacts are looked at with one read; fewer if there are many names of events.
const TOGETHER: usize = 500;
/// How many pairs of a contact and a name of events are.
const PAIRS: usize = 2_000;
/// What most contacts have less of: events of a name, and bytes of data of one. They are read without asking before how
/// much there is.
const FEW: (i64, i64) = (20, 1024);
/// The most events of one name that are looked at of a contact.
const MOST_EVENTS: i64 = 1000;
/// How much of events is read at a time; of a contact that has more, the first ones of each name are.
const ROOM: Load = Load { events: 10_000, bytes: 16 * 1024 * 1024 };
/// For how long contacts are rehearsed before the next read.
const LONGEST: Duration = Duration::from_millis(200);

impl App {
    /// Rehearses a workflow with what a project recorded of one contact in the last days, and tells all of it.
    pub async fn simulate_contact(
        &self,
        project: &Project,
        id: WorkflowId,
        which: (Which, Option<Which>),
        days: i64,
        whom: Whom,
    ) -> Result<Rehearsed> {
        let (from, until) = self.last_days(days);
        let script = self.script(project, id, which, (from, until)).await?;
        let contact = self.find_contact(project, whom).await?;
        let (number, rehearsal) = (project.number, Rehearsal::new(script));
        let found = self.read_slow(
            number,
            body!(async |rx| {
                let setting = Setting::load(rx, number, &rehearsal).await?;
                let mut known = setting.known(rx, number, &[contact], from).await?;
                let mut histories = histories(rx, number, &setting, &rehearsal, &[contact]).await?;
                let Some(known) = known.remove(&contact) else { return Ok(None) };
                let mut rehearsed = Rehearsed::begin(&rehearsal);
                let events = histories.remove(&contact).unwrap_or_default();
                block_in_place(|| rehearsed.add(&rehearsal, &setting, known, events, true))?;
                Ok(Some(rehearsed))
            }),
        );
        found.await?.ok_or_else(|| Error::not_found(Resource::Contact, contact))
    }

    /// Rehearses a workflow with all that a project recorded in the last days, and says after some contacts each how
    /// many there were.
    pub async fn simulate_all(
        &self,
        project: &Project,
        id: WorkflowId,
        which: (Which, Option<Which>),
        days: i64,
        mut told: impl FnMut(i64),
    ) -> Result<Rehearsed> {
        let script = self.script(project, id, which, self.last_days(days)).await?;
        let (number, rehearsal) = (project.number, Arc::new(Rehearsal::new(script)));
        let mut rehearsed = Rehearsed::begin(&rehearsal);
        let (mut after, mut count) = (None, 0);
        loop {
            let (rehearsal, mut into) = (Arc::clone(&rehearsal), rehearsed);
            let page = self.read_slow(
                number,
                body!(async |rx| {
                    let setting = Setting::load(rx, number, &rehearsal).await?;
                    let looked = next_contacts(rx, number, &rehearsal, &setting, after, &mut into).await?;
                    Ok((looked, into))
                }),
            );
            let (looked, into) = page.await?;
            rehearsed = into;
            count += looked.contacts;
            told(count);
            if looked.is_all {
                return Ok(rehearsed);
            }
            after = looked.last;
        }
    }
}

/// What was looked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Looked {
    /// The last contact.
    pub(super) last: Option<ContactId>,
    /// How many contacts.
    pub(super) contacts: i64,
    /// Whether there are no more.
    pub(super) is_all: bool,
}

/// Rehearses the next contacts of a project, as many as there is room and time for, and adds what became of them.
pub(super) async fn next_contacts(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    rehearsal: &Rehearsal,
    setting: &Setting,
    after: Option<ContactId>,
    into: &mut Rehearsed,
) -> StoreResult<Looked> {
    let until = ContactId::first_of(Timestamp(rehearsal.script.until + 1));
    let together = (PAIRS / setting.events.len().max(1)).clamp(1, TOGETHER);
    let mut page = contact::next_ids(rx, project, after, until, together as i64).await?;
    let mut is_all = page.len() < together;
    let few = between(setting, rehearsal, FEW.0);
    let mut histories = if let Some(events) = event_data::few(rx, project, &page, &few, FEW.1).await? {
        by_contact(events)
    } else {
        let all = between(setting, rehearsal, MOST_EVENTS);
        let loads = event_data::loads(rx, project, &page, &all).await?;
        let fitting = fitting(&page, &loads);
        is_all &= fitting == page.len();
        page.truncate(fitting);
        histories(rx, project, setting, rehearsal, &page).await?
    };
    let concerned: Vec<ContactId> = if rehearsal.has_starts(&setting.scene.zone) {
        page.clone()
    } else {
        // whoever has no event of the workflow's is not looked at any further
        histories.iter().filter(|(_, events)| !events.is_empty()).map(|(contact, _)| *contact).collect()
    };
    let known = setting.known(rx, project, &concerned, Timestamp(rehearsal.script.from)).await?;
    let last = known.keys().next_back().copied();
    let stopped_at = block_in_place(|| -> StoreResult<Option<ContactId>> {
        // what reading took does not count: where it is slow, each read would be for one contact
        let began = Instant::now();
        for (id, known) in known {
            let events = histories.remove(&id).unwrap_or_default();
            into.add(rehearsal, setting, known, events, false)?;
            if began.elapsed() > LONGEST && Some(id) != last {
                return Ok(Some(id));
            }
        }
        Ok(None)
    })?;
    if let Some(stopped_at) = stopped_at {
        page.retain(|contact| *contact <= stopped_at);
        is_all = false;
    }
    Ok(Looked { last: page.last().copied(), contacts: page.len() as i64, is_all })
}

/// How many contacts of a page there is room for, one at least.
fn fitting(page: &[ContactId], loads: &BTreeMap<ContactId, Load>) -> usize {
    let mut all = Load::default();
    let fitting = page.iter().take_while(|contact| {
        let load = loads.get(contact).copied().unwrap_or_default();
        all = Load { events: all.events + load.events, bytes: all.bytes + load.bytes };
        all.fits(ROOM)
    });
    fitting.count().max(1).min(page.len())
}

/// The events that a rehearsal looks at, so many of each name at most.
fn between<'s>(setting: &'s Setting, rehearsal: &Rehearsal, limit: i64) -> Between<'s> {
    Between {
        names: setting.events.iter().map(String::as_str).collect(),
        from: Timestamp(rehearsal.script.from),
        until: Timestamp(rehearsal.script.until + 1),
        limit,
    }
}

/// The events of some contacts that a rehearsal looks at, in order. If there is not room for those of one contact, fewer
/// of each name are read.
async fn histories(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    setting: &Setting,
    rehearsal: &Rehearsal,
    contacts: &[ContactId],
) -> StoreResult<BTreeMap<ContactId, Vec<Happening>>> {
    let mut between = between(setting, rehearsal, MOST_EVENTS);
    if let [contact] = contacts {
        while between.limit > 1 {
            let loads = event_data::loads(rx, project, contacts, &between).await?;
            if loads.get(contact).is_none_or(|load| load.fits(ROOM)) {
                break;
            }
            between.limit /= 2;
        }
    }
    Ok(by_contact(event_data::between(rx, project, contacts, &between).await?))
}

/// The events of each contact in order.
fn by_contact(events: Vec<(ContactId, Happening)>) -> BTreeMap<ContactId, Vec<Happening>> {
    let mut histories: BTreeMap<ContactId, Vec<Happening>> = BTreeMap::new();
    for (contact, event) in events {
        histories.entry(contact).or_default().push(event);
    }
    for events in histories.values_mut() {
        events.sort_by_key(|event| event.id);
    }
    histories
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_as_large_as_there_is_room_for() {
        let contact = |number: u8| ContactId::from_bytes([number; 16]);
        let page: Vec<ContactId> = (1..=4).map(contact).collect();
        let fits = |loads: &[(u8, u64, u64)]| {
            let loads = loads
                .iter()
                .map(|(number, events, bytes)| (contact(*number), Load { events: *events, bytes: *bytes }));
            fitting(&page, &loads.collect())
        };
        assert_eq!(fits(&[]), 4, "nobody has events");
        assert_eq!(fits(&[(2, ROOM.events, 0), (4, 1, 0)]), 3, "too many events");
        assert_eq!(fits(&[(1, 1, ROOM.bytes / 2), (2, 1, ROOM.bytes / 2), (3, 1, 1)]), 2, "too many bytes");
        assert_eq!(fits(&[(1, ROOM.events + 1, 0)]), 1, "one at least");
        assert_eq!(fitting(&[], &BTreeMap::new()), 0);
    }
}
