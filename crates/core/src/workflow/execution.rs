//! A contact's way through a workflow: where it stands, and the log of its steps.

use serde_json::Value;

use crate::custom_data::{self, Data};
use crate::ids::{ContactId, EventId, ExecutionId, StepId, WorkflowId};
use crate::time::Timestamp;
use crate::workflow::kind::{ExecutionStatus, StepStatus};
use crate::workflow::limits::{MAX_CONTEXT, PUNCTUAL};
use crate::workflow::version::Place;
use crate::workflow::world::Happening;

/// A contact's way through a workflow.
#[derive(Debug, Clone, PartialEq)]
pub struct Execution {
    /// Identifier.
    pub id: ExecutionId,
    /// Who goes through the workflow.
    pub contact: ContactId,
    /// What chance depends on.
    pub seed: u64,
    /// The event that enrolled the contact; `None` when nobody's event did.
    pub source: Option<EventId>,
    /// Its state.
    pub status: ExecutionStatus,
    /// The step that it stands at; `None` once it came to the end.
    pub current: Option<Place>,
    /// When there is something to do, if nothing happens before.
    pub due_at: Option<Timestamp>,
    /// Values of this execution: the data of the events that enrolled and resumed it, or what its caller gave.
    pub context: Data,
    /// Why it ended, if there is more to say than that it did.
    pub exit_reason: Option<String>,
    /// Whether it ended because the contact reached the goal.
    pub is_converted: bool,
    /// What its steps did, in order.
    pub log: Vec<StepRecord>,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub completed_at: Option<Timestamp>,
}

/// What a step did in an execution.
#[derive(Debug, Clone, PartialEq)]
pub struct StepRecord {
    /// The step.
    pub step: Place,
    /// The version in which the step has this place; `None` for the one that the execution runs. It ran another one
    /// before it was moved.
    pub of: Option<i64>,
    /// Its state.
    pub status: StepStatus,
    /// When it began.
    pub started_at: Timestamp,
    /// Until when it waits, or waited, at most.
    pub until: Option<Timestamp>,
    /// When it ended.
    pub completed_at: Option<Timestamp>,
    /// What it decided and saw; null where there is nothing to tell beyond its configuration.
    pub output: Value,
    /// Why it failed.
    pub error: Option<String>,
}

impl Execution {
    /// What chance depends on in the executions of a contact: the same each time.
    pub fn seed(workflow: WorkflowId, contact: ContactId) -> u64 {
        mixed(&[workflow.as_uuid().as_bytes(), contact.as_uuid().as_bytes()])
    }

    /// Whether there is something to do.
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.status.is_active() && self.due_at.is_some_and(|due| due <= now)
    }

    /// The instant that counts for what is due: the one at which it was due, or the present when the service is late.
    pub fn counted_now(&self, now: Timestamp) -> Timestamp {
        match self.due_at {
            Some(due) if due <= now && now.since(due) <= PUNCTUAL => due,
            _ => now,
        }
    }

    /// Whether an event came before the execution, or began it. Of events at the same instant the ids tell the order.
    pub fn begins_after(&self, event: &Happening) -> bool {
        match self.source {
            Some(source) if event.at == self.started_at => event.id <= source,
            _ => event.at < self.started_at,
        }
    }

    /// The record of the step that it stands at, if the step began.
    pub fn open(&self) -> Option<&StepRecord> {
        self.log.last().filter(|record| record.completed_at.is_none() && Some(record.step) == self.current)
    }

    pub(crate) fn open_mut(&mut self) -> Option<&mut StepRecord> {
        let current = self.current;
        self.log.last_mut().filter(|record| record.completed_at.is_none() && Some(record.step) == current)
    }

    /// The identifier of what a step did in it, which is made from both ids: UUID version 8 (RFC 9562).
    pub fn id_of_step(&self, step: StepId) -> StepId {
        let (own, of_step) = (self.id.as_uuid().as_bytes(), step.as_uuid().as_bytes());
        let (high, low) = (mixed(&[own, of_step]), mixed(&[of_step, own]));
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&high.to_be_bytes());
        bytes[8..].copy_from_slice(&low.to_be_bytes());
        uuid::Builder::from_custom_bytes(bytes).into_uuid().into()
    }

    /// When something last happened to it.
    pub fn changed_at(&self) -> Timestamp {
        let steps = self.log.last().map(|record| record.completed_at.unwrap_or(record.started_at));
        let times = [Some(self.started_at), steps, self.completed_at];
        times.into_iter().flatten().max().unwrap_or(self.started_at)
    }

    /// Since when it stands where it does: when its last step began, or it ended.
    pub fn stands_since(&self) -> Timestamp {
        let step = self.log.last().map(|record| record.started_at);
        self.completed_at.or(step).unwrap_or(self.started_at)
    }

    /// Ends the execution.
    pub(crate) fn end(&mut self, status: ExecutionStatus, reason: Option<String>, at: Timestamp) {
        self.status = status;
        self.exit_reason = reason;
        self.due_at = None;
        self.completed_at = Some(at);
    }

    /// Adds the data of an event to the context, key by key. What would make it too large is left out.
    pub(crate) fn add_to_context(&mut self, data: &Data) {
        let mut size = custom_data::size(&self.context);
        for (key, value) in data {
            let added = custom_data::entry_size(key, value);
            if size + added <= MAX_CONTEXT {
                self.context.insert(key.clone(), value.clone());
                size += added;
            }
        }
    }
}

impl StepRecord {
    /// The event that ended the step: what it waited for, or the goal.
    pub fn event(&self) -> Option<EventId> {
        self.output["event"].as_str()?.parse().ok()
    }

    /// The event that the step waited for.
    pub fn resumed_by(&self) -> Option<EventId> {
        self.event().filter(|_| self.output["waitOutcome"] == "EVENT")
    }
}

/// A number that looks like chance and depends on bytes alone: FNV-1a, with the finisher of `SplitMix64`.
pub(crate) fn mixed(parts: &[&[u8]]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in parts.iter().copied().flatten() {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    let mut mixed = hash;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
