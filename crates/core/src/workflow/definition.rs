//! A workflow, and what a version of it consists of.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::ids::{SegmentId, StepId, TemplateId, WorkflowId};
use crate::issue::Issue;
use crate::short_text;
use crate::time::Timestamp;
use crate::workflow::goal::Goal;
use crate::workflow::graph::{Graph, Position, Step};
use crate::workflow::kind::{StepType, TriggerType};
use crate::workflow::limits::MAX_NAME;
use crate::workflow::trigger::Trigger;
use crate::workflow::version::Version;

/// What a version of a workflow consists of, as its owner edits it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    /// What starts executions.
    pub trigger_type: TriggerType,
    /// How, as it was given.
    pub trigger_config: Option<Value>,
    /// What ends executions early, as it was given.
    pub goal: Option<Value>,
    /// The steps and transitions.
    pub graph: Graph,
}

/// A workflow.
#[derive(Debug, Clone, PartialEq)]
pub struct Workflow {
    /// Identifier.
    pub id: WorkflowId,
    /// Name.
    pub name: String,
    /// Internal note.
    pub description: Option<String>,
    /// Whether contacts are enrolled.
    pub enabled: bool,
    /// Whether a contact may go through it again.
    pub allow_reentry: bool,
    /// What is edited.
    pub edited: Definition,
    /// The number of the version in force; `None` before the workflow is first enabled.
    pub version: Option<i64>,
    /// Whether what is edited differs from the version in force.
    pub is_draft: bool,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// What a definition names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Uses {
    /// Templates.
    pub templates: BTreeSet<TemplateId>,
    /// Segments.
    pub segments: BTreeSet<SegmentId>,
    /// Fields of contacts, as `/contacts/fields` names them.
    pub fields: BTreeSet<String>,
    /// Names of events.
    pub events: BTreeSet<String>,
}

impl Definition {
    /// The definition of a new workflow, which an event starts.
    pub fn new(event: &str, trigger: StepId, now: Timestamp) -> Self {
        let mut new = Self {
            trigger_type: TriggerType::Event,
            trigger_config: None,
            goal: None,
            graph: Graph::default(),
        };
        new.graph.steps.push(Step {
            id: trigger,
            kind: StepType::Trigger,
            name: String::new(),
            position: Position { x: 100.0, y: 100.0 },
            config: json!({}),
            template: None,
            created_at: now,
            updated_at: now,
        });
        new.set_trigger(TriggerType::Event, Some(json!({ "eventName": event })), now);
        new
    }

    /// Changes what starts executions. The TRIGGER step says the same (reference 1.2).
    pub fn set_trigger(&mut self, kind: TriggerType, config: Option<Value>, now: Timestamp) {
        (self.trigger_type, self.trigger_config) = (kind, config);
        let event = self.trigger_config.as_ref().map(|config| &config["eventName"]).and_then(Value::as_str);
        let event = event.filter(|_| kind == TriggerType::Event);
        let (name, config) = match event {
            Some(event) => (format!("Trigger: {event}"), json!({ "eventName": event })),
            None => (format!("Trigger: {kind}"), json!({})),
        };
        if let Some(step) = self.graph.steps.iter_mut().find(|step| step.kind == StepType::Trigger) {
            step.name = short_text::shortened(&name, MAX_NAME);
            (step.config, step.updated_at) = (config, now);
        }
    }

    /// Whether contacts go through both in the same way: only names, times of change, and places on the canvas differ.
    pub fn acts_like(&self, other: &Self) -> bool {
        let alike = |definition: &Self| {
            let mut alike = definition.clone();
            for step in &mut alike.graph.steps {
                step.name.clear();
                step.position = Position { x: 0.0, y: 0.0 };
                (step.created_at, step.updated_at) = (Timestamp(0), Timestamp(0));
            }
            for transition in &mut alike.graph.transitions {
                (transition.created_at, transition.updated_at) = (Timestamp(0), Timestamp(0));
            }
            alike
        };
        alike(self) == alike(other)
    }

    /// A step of a version as it is called now: a name alone makes no version.
    pub fn named(&self, step: &Step) -> Step {
        let name =
            self.graph.steps.iter().find(|edited| edited.id == step.id).map(|edited| edited.name.clone());
        Step { name: name.unwrap_or_else(|| step.name.clone()), ..step.clone() }
    }

    /// What starts executions, if the configuration is valid.
    pub fn trigger(&self) -> Result<Trigger, Vec<Issue>> {
        Trigger::parse(self.trigger_type, self.trigger_config.as_ref().unwrap_or(&Value::Null))
    }

    /// What the definition names.
    pub fn uses(&self) -> Uses {
        let version = self.version(0);
        let mut references = version.references();
        let mut uses = Uses { templates: version.templates(), ..Uses::default() };
        match self.trigger() {
            Ok(Trigger::Event { name, filter }) => {
                uses.events.insert(name);
                references.extend(filter.map(|filter| filter.references()).unwrap_or_default());
            }
            Ok(Trigger::Schedule { segment, .. }) => drop(uses.segments.insert(segment)),
            Ok(Trigger::Manual) | Err(_) => {}
        }
        uses.events.extend(version.events().into_iter().map(str::to_owned));
        uses.events.extend(references.events);
        uses.segments.extend(version.segments());
        uses.segments.extend(references.segments);
        uses.fields.extend(version.fields());
        uses.fields.extend(references.fields);
        uses
    }

    /// The version with a number. A goal that is not valid is none.
    pub fn version(&self, number: i64) -> Version {
        let goal = self.goal.as_ref().and_then(|goal| Goal::parse(goal).ok());
        Version::new(number, &self.graph, goal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trigger_step_says_what_starts_the_workflow() {
        let mut definition = Definition::new("signed_up", StepId::first_of(Timestamp(1)), Timestamp(1));
        let step = |definition: &Definition| {
            let step = &definition.graph.steps[0];
            (step.name.clone(), step.config.clone())
        };
        assert_eq!(step(&definition), ("Trigger: signed_up".into(), json!({ "eventName": "signed_up" })));
        let long = "é".repeat(200);
        definition.set_trigger(TriggerType::Event, Some(json!({ "eventName": long })), Timestamp(2));
        assert_eq!(step(&definition).0.chars().count(), MAX_NAME);
        definition.set_trigger(TriggerType::Manual, None, Timestamp(3));
        assert_eq!(step(&definition), ("Trigger: MANUAL".into(), json!({})));
        assert_eq!(definition.trigger(), Ok(Trigger::Manual));
        assert_eq!(definition.graph.steps[0].updated_at, Timestamp(3));
    }
}
