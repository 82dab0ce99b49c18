//! What is to be rehearsed.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::Duration;

use mailwright_core::address::EmailAddress;
use mailwright_core::custom_data::Data;
use mailwright_core::event::CONTACT_UNSUBSCRIBED;
use mailwright_core::ids::{ContactId, EventId, WorkflowId};
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use mailwright_core::time_zone::Zone;
use mailwright_core::workflow::definition::Definition;
use mailwright_core::workflow::execution::{Execution, StepRecord};
use mailwright_core::workflow::graph::Step;
use mailwright_core::workflow::kind::{StepStatus, StepType};
use mailwright_core::workflow::output::shown;
use mailwright_core::workflow::rehearsal::{Audience, BrokenOff, Piece, rehearse};
use mailwright_core::workflow::trigger::Trigger;
use mailwright_core::workflow::version::Version;
use mailwright_core::workflow::world::Happening;
use mailwright_store::automation::version;
use mailwright_store::body;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::person::{Person, flip_data};
use crate::App;
use crate::error::Error;

/// The most days of history that are looked at.
pub const MAX_DAYS: i64 = 365;
/// The most times at which a schedule starts a workflow: one that does so each hour of a year has fewer.
const MOST_STARTS: usize = 10_000;
/// How many are looked at where nobody says.
pub const DEFAULT_DAYS: i64 = 30;

/// When a rehearsal of given events ends where nobody says: a year after the last of them.
pub fn afterwards(last: Timestamp) -> Timestamp {
    last.plus(Duration::from_hours(365 * 24)).min(Timestamp::LAST)
}

/// A version to rehearse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// What is edited.
    Edited,
    /// A version by its number.
    Number(i64),
}

/// What is rehearsed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Script {
    pub(super) workflow: WorkflowId,
    allow_reentry: bool,
    first: Definition,
    /// Another version, to compare with.
    second: Option<Definition>,
    pub(super) from: i64,
    pub(super) until: i64,
}

/// A definition, ready to be rehearsed.
pub(super) struct Prepared {
    definition: Definition,
    pub(super) version: Version,
    pub(super) trigger: Trigger,
    /// When a schedule starts it.
    starts: OnceLock<Vec<Timestamp>>,
}

impl Prepared {
    fn new(definition: &Definition) -> Self {
        Self {
            version: definition.version(0),
            // one that nothing starts by itself does nothing in a rehearsal
            trigger: definition.trigger().unwrap_or(Trigger::Manual),
            starts: OnceLock::new(),
            definition: definition.clone(),
        }
    }

    pub(super) fn steps(&self) -> &[Step] {
        &self.definition.graph.steps
    }

    /// When its schedule starts it while the project's events are looked at, the first times.
    pub(super) fn starts(&self, script: &Script, zone: &Zone) -> &[Timestamp] {
        let Trigger::Schedule { schedule, .. } = &self.trigger else { return &[] };
        if script.from == Timestamp::FIRST.0 {
            return &[]; // the events are given, and no time is
        }
        let (after, until) = (Timestamp(script.from - 1), Timestamp(script.until));
        self.starts.get_or_init(|| schedule.times(zone, after, until, MOST_STARTS))
    }

    /// Rehearses it with a contact.
    pub(super) fn rehearse(
        &self,
        script: &Script,
        contact: ContactId,
        events: Vec<Happening>,
        (person, seen): (&mut Person<'_>, &mut impl Audience),
    ) -> Result<(), BrokenOff> {
        let piece = Piece {
            workflow: script.workflow,
            version: &self.version,
            trigger: &self.trigger,
            starts: self.starts(script, &person.scene.zone),
            allow_reentry: script.allow_reentry,
        };
        rehearse(piece, contact, events, (person, seen), Timestamp(script.until))
    }

    /// What an execution did, as `GET` of an execution tells it, without the ids of what was never made.
    pub(super) fn told(&self, execution: &Execution, whom: &Told) -> Value {
        let steps = execution.log.iter().filter_map(|record| {
            let step = self.steps().get(record.step)?;
            Some(json!({
                "stepId": step.id,
                "name": step.name,
                "type": step.kind,
                "status": record.status,
                "executeAfter": record.until,
                "output": whom.output(execution, step, record),
                "error": record.error,
                "startedAt": record.started_at,
                "completedAt": record.completed_at,
            }))
        });
        json!({
            "contactId": execution.contact,
            "sourceEventId": execution.source,
            "status": execution.status,
            "exitReason": execution.exit_reason,
            "converted": execution.is_converted,
            "startedAt": execution.started_at,
            "completedAt": execution.completed_at,
            "stepExecutions": steps.collect::<Vec<_>>(),
        })
    }
}

/// What is told beside the log.
pub(super) struct Told {
    email: EmailAddress,
    /// The data of the events that happen.
    events: BTreeMap<EventId, Data>,
}

impl Told {
    pub(super) fn new(email: EmailAddress, events: &[Happening]) -> Self {
        Self { email, events: events.iter().map(|event| (event.id, event.data.clone())).collect() }
    }

    fn output(&self, execution: &Execution, step: &Step, record: &StepRecord) -> Option<Value> {
        let mut output = shown(execution, step, record)?;
        if step.kind == StepType::SendEmail && record.status == StepStatus::Completed {
            let other = step.config["recipient"]["customEmail"].as_str().and_then(EmailAddress::parse);
            let to = other.filter(|_| output["recipientType"] == "CUSTOM");
            output["recipientEmail"] = to.as_ref().unwrap_or(&self.email).to_string().into();
        }
        if let Some(event) = record.event() {
            // what was not given, a step of the workflow itself caused
            let is_opt_out = || output["eventName"] == CONTACT_UNSUBSCRIBED;
            let data = self.events.get(&event).cloned().unwrap_or_else(|| flip_data(!is_opt_out()));
            if !data.is_empty() {
                output["eventData"] = data.into();
            }
        }
        Some(output)
    }
}

/// The versions of a script, ready to be rehearsed.
pub(super) struct Rehearsal {
    pub(super) script: Script,
    pub(super) first: Prepared,
    pub(super) second: Option<Prepared>,
}

impl Rehearsal {
    pub(super) fn new(script: Script) -> Self {
        let (first, second) = (Prepared::new(&script.first), script.second.as_ref().map(Prepared::new));
        Self { script, first, second }
    }

    /// Whether a schedule starts one of the versions.
    pub(super) fn has_starts(&self, zone: &Zone) -> bool {
        self.both().any(|prepared| !prepared.starts(&self.script, zone).is_empty())
    }

    /// The versions.
    pub(super) fn both(&self) -> impl Iterator<Item = &Prepared> {
        std::iter::once(&self.first).chain(&self.second)
    }
}

impl App {
    /// What is to be rehearsed of a workflow.
    pub(super) async fn script(
        &self,
        project: &Project,
        id: WorkflowId,
        (first, second): (Which, Option<Which>),
        (from, until): (Timestamp, Timestamp),
    ) -> crate::error::Result<Script> {
        let workflow = self.workflow(project, id).await?;
        let number = project.number;
        let definition = async |which: Which| match which {
            Which::Edited => Ok(workflow.edited.clone()),
            Which::Number(version) => {
                let found = self.read(body!(async |rx| version::get(rx, number, id, version).await)).await?;
                found.map(|stored| stored.definition).ok_or_else(|| {
                    Error::BadRequest(format!("The workflow has no version {version} any more, or not yet."))
                })
            }
        };
        let first = definition(first).await?;
        let second = match second {
            Some(which) => Some(definition(which).await?),
            None => None,
        };
        let allow_reentry = workflow.allow_reentry;
        Ok(Script { workflow: id, allow_reentry, first, second, from: from.0, until: until.0 })
    }

    /// The time that recorded events are looked at for.
    pub(super) fn last_days(&self, days: i64) -> (Timestamp, Timestamp) {
        let now = self.0.clock.now();
        let days = u64::try_from(days.clamp(1, MAX_DAYS)).unwrap_or(1);
        (now.minus(Duration::from_hours(days * 24)), now)
    }
}
