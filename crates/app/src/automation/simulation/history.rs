//! Rehearsing with the events that a project recorded, contact by contact.

use std::collections::BTreeMap;
use std::sync::Arc;

use mailwright_core::ids::{ContactId, ProjectNumber, WorkflowId};
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::world::Happening;
use mailwright_store::audience::{contact, event_data};
use mailwright_store::{Result as StoreResult, Rx, body};

use super::plan::{Rehearsal, Which};
use super::rehearsed::Rehearsed;
use super::setting::Setting;
use crate::App;
use crate::automation::whom::Whom;
use crate::error::{Error, Resource, Result};

/// How many contacts are read at a time.
pub(super) const TOGETHER: i64 = 500;
/// The most events of one name that are looked at of a contact.
const MOST_EVENTS: i64 = 1000;

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
                let trace = rehearsed.add(&rehearsal, &setting, known, events);
                rehearsed.keep(&rehearsal, trace);
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
        let (mut after, mut looked_at) = (None, 0);
        loop {
            let (rehearsal, mut into) = (Arc::clone(&rehearsal), rehearsed);
            let page = self.read_slow(
                number,
                body!(async |rx| {
                    let setting = Setting::load(rx, number, &rehearsal).await?;
                    let page = next_contacts(rx, number, &rehearsal, &setting, after, &mut into).await?;
                    Ok((page, into))
                }),
            );
            let ((last, count), into) = page.await?;
            rehearsed = into;
            looked_at += count;
            told(looked_at);
            if count < TOGETHER {
                return Ok(rehearsed);
            }
            after = last;
        }
    }
}

/// Rehearses the next contacts of a project, and adds what became of them. Returns the last one that was looked at, and
/// how many there were.
pub(super) async fn next_contacts(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    rehearsal: &Rehearsal,
    setting: &Setting,
    after: Option<ContactId>,
    into: &mut Rehearsed,
) -> StoreResult<(Option<ContactId>, i64)> {
    let until = ContactId::first_of(Timestamp(rehearsal.script.until + 1));
    let page = contact::next_ids(rx, project, after, until, TOGETHER).await?;
    let mut histories = histories(rx, project, setting, rehearsal, &page).await?;
    // whoever has no event of the workflow's is not looked at any further
    histories.retain(|_, events| !events.is_empty());
    let concerned: Vec<ContactId> = histories.keys().copied().collect();
    let known = setting.known(rx, project, &concerned, Timestamp(rehearsal.script.from)).await?;
    for (id, known) in known {
        let events = histories.remove(&id).unwrap_or_default();
        into.add(rehearsal, setting, known, events);
    }
    Ok((page.last().copied(), page.len() as i64))
}

/// The events of some contacts that a rehearsal looks at, in order.
async fn histories(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    setting: &Setting,
    rehearsal: &Rehearsal,
    contacts: &[ContactId],
) -> StoreResult<BTreeMap<ContactId, Vec<Happening>>> {
    let names: Vec<&str> = setting.events.iter().map(String::as_str).collect();
    let (from, until) = (Timestamp(rehearsal.script.from), Timestamp(rehearsal.script.until + 1));
    let found = event_data::between(rx, project, contacts, &names, (from, until), MOST_EVENTS).await?;
    let mut histories: BTreeMap<ContactId, Vec<Happening>> = BTreeMap::new();
    for (contact, event) in found {
        histories.entry(contact).or_default().push(event);
    }
    for events in histories.values_mut() {
        events.sort_by_key(|event| event.id);
    }
    Ok(histories)
}
