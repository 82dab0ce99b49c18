//! What a rehearsal comes to, contact by contact.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use mailwright_core::filter::Facts as _;
use mailwright_core::ids::StepId;
use mailwright_core::workflow::kind::StepType;
use mailwright_core::workflow::rehearsal::BrokenOff;
use mailwright_core::workflow::summary::Summary;
use mailwright_core::workflow::world::Happening;
use mailwright_store::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::person::{Known, Person};
use super::plan::{Prepared, Rehearsal, Told};
use super::seen::Seen;
use super::setting::Setting;

/// For how long a contact is rehearsed at most.
const LONGEST: Duration = Duration::from_secs(10);

/// What a rehearsal comes to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rehearsed {
    /// What the version comes to.
    pub summary: Summary,
    /// What the version comes to that it is compared with.
    pub compared: Option<Summary>,
    /// Contacts that the two versions do not do the same with.
    pub differing: i64,
    /// What became of the contact, if there was only one; the first executions, as far as there is room.
    pub trace: Option<Vec<Value>>,
    /// The steps of the version, with their names.
    pub steps: BTreeMap<StepId, (String, StepType)>,
    /// Those of the version that it is compared with.
    pub compared_steps: BTreeMap<StepId, (String, StepType)>,
}

impl Rehearsed {
    /// What nobody went through yet.
    pub(super) fn begin(rehearsal: &Rehearsal) -> Self {
        let names = |prepared: &Prepared| {
            prepared.steps().iter().map(|step| (step.id, (step.name.clone(), step.kind))).collect()
        };
        Self {
            compared: rehearsal.second.as_ref().map(|_| Summary::default()),
            steps: names(&rehearsal.first),
            compared_steps: rehearsal.second.as_ref().map(names).unwrap_or_default(),
            ..Self::default()
        }
    }

    /// Rehearses a contact, and adds what became of it, unless the workflow looks at none of its events. All of it is kept
    /// if it `is_told`, as far as there is room. This computes, for long where many events each go a long way.
    pub(super) fn add(
        &mut self,
        rehearsal: &Rehearsal,
        setting: &Setting,
        contact: Known,
        events: Vec<Happening>,
        is_told: bool,
    ) -> Result<()> {
        let count = events.iter().filter(|event| setting.events.contains(&event.name)).count();
        if count == 0 && !rehearsal.has_starts(&setting.scene.zone) {
            self.trace = is_told.then(Vec::new).or(self.trace.take());
            return Ok(());
        }
        let (ends, compares) = (Instant::now() + LONGEST, rehearsal.second.is_some());
        let told = is_told.then(|| Told::new(contact.facts.contact().email.clone(), &events));
        let play = |prepared: &Prepared, contact: Known, events: Vec<Happening>, seen: &mut Seen<'_>| {
            let id = contact.id();
            let mut person = Person::new(&setting.scene, contact, ends);
            let played = prepared.rehearse(&rehearsal.script, id, events, (&mut person, seen));
            played.map_err(|BrokenOff| Error::TooSlow(LONGEST))
        };
        let mut other = None;
        if let Some(second) = &rehearsal.second {
            let summary = self.compared.get_or_insert_default();
            summary.add_contact(count);
            let mut seen = Seen::new(second, summary, compares, None);
            play(second, contact.clone(), events.clone(), &mut seen)?;
            other = Some(seen.end());
        }
        self.summary.add_contact(count);
        let mut seen = Seen::new(&rehearsal.first, &mut self.summary, compares, told);
        play(&rehearsal.first, contact, events, &mut seen)?;
        let (essence, trace) = seen.end();
        self.differing += i64::from(other.is_some_and(|(other, _)| other != essence));
        self.trace = trace.or(self.trace.take());
        Ok(())
    }
}
