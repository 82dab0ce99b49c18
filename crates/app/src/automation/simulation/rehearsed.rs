//! What a rehearsal comes to, contact by contact.

use std::collections::BTreeMap;

use mailwright_core::ids::StepId;
use mailwright_core::workflow::kind::StepType;
use mailwright_core::workflow::rehearsal::Outcome;
use mailwright_core::workflow::summary::Summary;
use mailwright_core::workflow::world::Happening;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::person::Person;
use super::plan::{Prepared, Rehearsal};
use super::setting::{Known, Setting};

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
    /// What became of the contact, if there was only one.
    pub trace: Option<Vec<Value>>,
    /// The steps of the versions, with their names.
    pub steps: BTreeMap<StepId, (String, StepType)>,
}

impl Rehearsed {
    /// What nobody went through yet.
    pub(super) fn begin(rehearsal: &Rehearsal) -> Self {
        let steps = rehearsal.both().flat_map(Prepared::steps);
        Self {
            compared: rehearsal.second.as_ref().map(|_| Summary::default()),
            steps: steps.map(|step| (step.id, (step.name.clone(), step.kind))).collect(),
            ..Self::default()
        }
    }

    /// Rehearses a contact, and adds what became of it.
    pub(super) fn add(
        &mut self,
        rehearsal: &Rehearsal,
        setting: &Setting,
        contact: &Known,
        events: Vec<Happening>,
    ) -> Outcome {
        let id = contact.id();
        let play = |prepared: &Prepared, events| {
            let mut person = Person::new(&setting.scene, contact.facts.clone(), contact.is_suppressed);
            prepared.rehearse(&rehearsal.script, &mut person, id, events)
        };
        let count = events.len();
        let compared = rehearsal.second.as_ref().map(|second| (second, play(second, events.clone())));
        let outcome = play(&rehearsal.first, events);
        self.summary.add(&rehearsal.first.version, count, &outcome);
        if let Some((second, other)) = compared {
            let told = |prepared: &Prepared, outcome: &Outcome| {
                outcome.executions.iter().map(|execution| prepared.told(execution)).collect::<Vec<_>>()
            };
            let differs = told(&rehearsal.first, &outcome) != told(second, &other);
            self.differing += i64::from(differs);
            self.compared.get_or_insert_default().add(&second.version, count, &other);
        }
        outcome
    }

    /// Keeps all that became of a contact.
    pub(super) fn keep_trace(&mut self, rehearsal: &Rehearsal, outcome: &Outcome) {
        self.trace =
            Some(outcome.executions.iter().map(|execution| rehearsal.first.told(execution)).collect());
    }
}
