//! The graph of a workflow as its owner edits it: steps, and the transitions between them.

use std::collections::{BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{StepId, TemplateId, TransitionId};
use crate::time::Timestamp;
use crate::workflow::kind::{StepType, WaitOutcome};

/// A place on the canvas.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Position {
    /// From the left.
    pub x: f64,
    /// From the top.
    pub y: f64,
}

/// A step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Identifier.
    pub id: StepId,
    /// What it does.
    #[serde(rename = "type")]
    pub kind: StepType,
    /// Name.
    pub name: String,
    /// Where it is shown.
    pub position: Position,
    /// How it does it, as it was given.
    pub config: Value,
    /// The template of a `SEND_EMAIL` step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<TemplateId>,
    /// When it was created.
    #[serde(with = "millis")]
    pub created_at: Timestamp,
    /// When it last changed.
    #[serde(with = "millis")]
    pub updated_at: Timestamp,
}

/// A way from one step to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Transition {
    /// Identifier.
    pub id: TransitionId,
    /// The step it leaves.
    pub from: StepId,
    /// The step it leads to.
    pub to: StepId,
    /// The branch that takes it; `None` for every branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The outcome of a `WAIT_FOR_EVENT` step that takes it; `None` for both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<WaitOutcome>,
    /// The lowest is tried first.
    #[serde(default)]
    pub priority: i64,
    /// When it was created.
    #[serde(with = "millis")]
    pub created_at: Timestamp,
    /// When it last changed.
    #[serde(with = "millis")]
    pub updated_at: Timestamp,
}

/// Steps and transitions, in the order in which they were created.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Graph {
    /// The steps. The first is the trigger.
    pub steps: Vec<Step>,
    /// The transitions.
    pub transitions: Vec<Transition>,
}

impl Graph {
    /// A step.
    pub fn step(&self, id: StepId) -> Option<&Step> {
        self.steps.iter().find(|step| step.id == id)
    }

    /// A step, to be changed.
    pub fn step_mut(&mut self, id: StepId) -> Option<&mut Step> {
        self.steps.iter_mut().find(|step| step.id == id)
    }

    /// A transition.
    pub fn transition(&self, id: TransitionId) -> Option<&Transition> {
        self.transitions.iter().find(|transition| transition.id == id)
    }

    /// The trigger.
    pub fn trigger(&self) -> Option<&Step> {
        self.steps.iter().find(|step| step.kind == StepType::Trigger)
    }

    /// The transitions that leave a step, in the order in which they are tried.
    pub fn leaving(&self, id: StepId) -> Vec<&Transition> {
        let mut leaving: Vec<_> = self.transitions.iter().filter(|t| t.from == id).collect();
        leaving.sort_by_key(|transition| transition.priority);
        leaving
    }

    /// The transitions that lead to a step.
    pub fn entering(&self, id: StepId) -> Vec<&Transition> {
        self.transitions.iter().filter(|transition| transition.to == id).collect()
    }

    /// A step and every step that can be reached from it.
    pub fn reachable(&self, from: StepId) -> BTreeSet<StepId> {
        let mut found = BTreeSet::from([from]);
        let mut open = VecDeque::from([from]);
        while let Some(id) = open.pop_front() {
            for transition in self.transitions.iter().filter(|transition| transition.from == id) {
                if found.insert(transition.to) {
                    open.push_back(transition.to);
                }
            }
        }
        found
    }
}

/// Instants as they are stored: milliseconds.
mod millis {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::time::Timestamp;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    pub(super) fn serialize<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(at.0)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        i64::deserialize(deserializer).map(Timestamp)
    }
}
