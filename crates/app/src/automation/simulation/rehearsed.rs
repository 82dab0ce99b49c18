//! What a rehearsal comes to, contact by contact.

use std::collections::BTreeMap;

use mailwright_core::address::EmailAddress;
use mailwright_core::filter::Facts as _;
use mailwright_core::ids::StepId;
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::execution::{Execution, StepRecord};
use mailwright_core::workflow::kind::{ExecutionStatus, StepStatus, StepType};
use mailwright_core::workflow::rehearsal::Outcome;
use mailwright_core::workflow::summary::Summary;
use mailwright_core::workflow::world::Happening;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::person::{Known, Person};
use super::plan::{Prepared, Rehearsal, Told};
use super::setting::Setting;

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

    /// Rehearses a contact, and adds what became of it, unless the workflow looks at none of its events. Returns what is
    /// told of it by itself.
    pub(super) fn add(
        &mut self,
        rehearsal: &Rehearsal,
        setting: &Setting,
        contact: Known,
        events: Vec<Happening>,
    ) -> Trace {
        let id = contact.id();
        let email = contact.facts.contact().email.clone();
        let count = events.iter().filter(|event| setting.events.contains(&event.name)).count();
        if count == 0 && !rehearsal.has_starts(&setting.scene.zone) {
            return Trace { email, events: Vec::new(), executions: Vec::new() };
        }
        let play = |prepared: &Prepared, begins: Known, events| {
            let mut person = Person::new(&setting.scene, begins);
            prepared.rehearse(&rehearsal.script, &mut person, id, events)
        };
        let second =
            rehearsal.second.as_ref().map(|second| (second, play(second, contact.clone(), events.clone())));
        let outcome = play(&rehearsal.first, contact, events.clone());
        self.summary.add(&rehearsal.first.version, count, &outcome);
        if let Some((second, other)) = second {
            let differs = essence(&rehearsal.first, &outcome) != essence(second, &other);
            self.differing += i64::from(differs);
            self.compared.get_or_insert_default().add(&second.version, count, &other);
        }
        Trace { email, events, executions: outcome.executions }
    }

    /// Keeps all that became of a contact.
    pub(super) fn keep(&mut self, rehearsal: &Rehearsal, trace: Trace) {
        let Trace { email, events, executions } = trace;
        let with_data = events.into_iter().filter(|event| !event.data.is_empty());
        let events = with_data.map(|event| (event.id, event.data)).collect();
        let whom = Told { email: &email, events: &events };
        self.trace =
            Some(executions.iter().map(|execution| rehearsal.first.told(execution, &whom)).collect());
    }
}

/// What became of a contact.
pub(super) struct Trace {
    email: EmailAddress,
    events: Vec<Happening>,
    executions: Vec<Execution>,
}

/// What an execution did that makes a difference: its end, and its steps with their times.
type Essence =
    (ExecutionStatus, Option<String>, bool, Vec<(StepId, StepStatus, Timestamp, Option<Timestamp>)>);

fn essence(prepared: &Prepared, outcome: &Outcome) -> Vec<Essence> {
    let step = |record: &StepRecord| {
        let step = prepared.steps().get(record.step)?;
        Some((step.id, record.status, record.started_at, record.completed_at))
    };
    let executions = outcome.executions.iter().map(|execution| {
        let steps = execution.log.iter().filter_map(step).collect();
        (execution.status, execution.exit_reason.clone(), execution.is_converted, steps)
    });
    executions.collect()
}
