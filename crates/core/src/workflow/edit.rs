//! The rules for changing a graph (reference 1.2, 1.6, 1.7). A change that is refused leaves the graph as it was.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::custom_data;
use crate::ids::{StepId, TemplateId, TransitionId};
use crate::issue::Issue;
use crate::patch::Patch;
use crate::time::Timestamp;
use crate::workflow::action::Action;
use crate::workflow::graph::{Graph, Position, Step, Transition};
use crate::workflow::kind::{StepType, WaitOutcome};
use crate::workflow::limits::{MAX_GRAPH, MAX_STEPS, MAX_TRANSITIONS};

/// What a step counts for beside its configuration, in bytes.
const STEP_SIZE: usize = 200;

/// Why a change is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Something is wrong with what was asked, at these fields.
    Invalid(Vec<Issue>),
    /// The graph would not be one that can be run. What is wrong.
    Structure(String),
    /// There is no such step.
    NoStep,
    /// There is no such transition.
    NoTransition,
}

type Result<T, E = Refusal> = std::result::Result<T, E>;

fn structure<T>(message: impl Into<String>) -> Result<T> {
    Err(Refusal::Structure(message.into()))
}

/// A step to add.
#[derive(Debug, Clone)]
pub struct NewStep {
    /// Its identifier.
    pub id: StepId,
    /// What it does.
    pub kind: StepType,
    /// Name.
    pub name: String,
    /// Where it is shown.
    pub position: Position,
    /// How it does it.
    pub config: Value,
    /// The template of a `SEND_EMAIL` step.
    pub template: Option<TemplateId>,
}

/// A transition to add.
#[derive(Debug, Clone)]
pub struct NewTransition {
    /// Its identifier.
    pub id: TransitionId,
    /// The step it leaves.
    pub from: StepId,
    /// The step it leads to.
    pub to: StepId,
    /// The branch that takes it.
    pub branch: Option<String>,
    /// The outcome of a wait that takes it.
    pub outcome: Option<WaitOutcome>,
    /// The lowest is tried first.
    pub priority: i64,
}

/// Changes to a step.
#[derive(Debug, Clone, Default)]
pub struct StepChange {
    /// A new name.
    pub name: Option<String>,
    /// A new place.
    pub position: Option<Position>,
    /// A new configuration.
    pub config: Option<Value>,
    /// A new template, or none.
    pub template: Patch<TemplateId>,
}

impl Graph {
    /// Adds a step. `link` is the identifier of a transition that leads to it from the step that was created last and
    /// leads nowhere, if there is one and that is wanted.
    pub fn add_step(&mut self, new: NewStep, link: Option<TransitionId>, now: Timestamp) -> Result<StepId> {
        if new.kind == StepType::Trigger {
            return structure("A workflow has one TRIGGER step, which is created with it.");
        }
        let (step, _) = self.fitting(new, now)?;
        let id = step.id;
        let loose = link.and_then(|_| self.loose_end());
        if loose.is_some() {
            self.check_room_for_transition()?;
        }
        self.steps.push(step);
        if let (Some(link), Some(from)) = (link, loose) {
            self.transitions.push(plain(link, from, id, now));
        }
        Ok(id)
    }

    fn check_room_for_transition(&self) -> Result<()> {
        if self.transitions.len() >= MAX_TRANSITIONS {
            return structure(format!("A workflow has at most {MAX_TRANSITIONS} transitions."));
        }
        Ok(())
    }

    /// A new step and what it does, if there is room for it and it can be run.
    fn fitting(&self, new: NewStep, now: Timestamp) -> Result<(Step, Action)> {
        if self.steps.len() >= MAX_STEPS {
            return structure(format!("A workflow has at most {MAX_STEPS} steps."));
        }
        let NewStep { id, kind, name, position, config, template } = new;
        let template = template.or_else(|| named_template(kind, &config));
        let action = Action::parse(kind, &config, template).map_err(Refusal::Invalid)?;
        let step = Step { id, kind, name, position, config, template, created_at: now, updated_at: now };
        self.check_size(&step)?;
        Ok((step, action))
    }

    /// Whether the graph is small enough with a step, which takes the place of the one with its id.
    fn check_size(&self, step: &Step) -> Result<()> {
        let others = self.steps.iter().filter(|other| other.id != step.id);
        let sizes = others.chain([step]).map(|step| custom_data::value_size(&step.config) + STEP_SIZE);
        if sizes.sum::<usize>() > MAX_GRAPH {
            return structure(format!(
                "The steps of a workflow have at most {MAX_GRAPH} bytes of configuration together."
            ));
        }
        Ok(())
    }

    /// The step that was created last among those that lead nowhere and could lead to any step.
    fn loose_end(&self) -> Option<StepId> {
        let is_loose = |step: &&Step| {
            step.kind != StepType::Exit && !step.kind.has_branches() && self.leaving(step.id).is_empty()
        };
        self.steps.iter().rev().find(is_loose).map(|step| step.id)
    }

    /// Changes a step. Its type stays.
    pub fn change_step(&mut self, id: StepId, change: StepChange, now: Timestamp) -> Result<()> {
        let mut step = self.step(id).ok_or(Refusal::NoStep)?.clone();
        let touches_action = change.config.is_some() || change.template != Patch::Absent;
        step.name = change.name.unwrap_or(step.name);
        step.position = change.position.unwrap_or(step.position);
        if let (Some(config), Patch::Absent) = (&change.config, change.template) {
            // one that was there before, and that the template of the step takes precedence over, is no change
            let named = named_template(step.kind, config);
            let is_new = named != named_template(step.kind, &step.config);
            step.template = named.filter(|_| is_new).or(step.template);
        }
        if change.template == Patch::Null && change.config.is_none() {
            // either place can name it
            step.config.as_object_mut().map(|config| config.remove("templateId"));
        }
        // what a TRIGGER step shows is that of the workflow
        step.config = change.config.filter(|_| step.kind != StepType::Trigger).unwrap_or(step.config);
        change.template.apply(&mut step.template);
        step.updated_at = now;
        if touches_action {
            Action::parse(step.kind, &step.config, step.template).map_err(Refusal::Invalid)?;
        }
        self.check_size(&step)?;
        if let Some(place) = self.step_mut(id) {
            *place = step;
        }
        Ok(())
    }

    /// Removes a step and every step that can be reached from it; or, when it is `spliced` out, only the step, with the
    /// ways to it leading to where it led. Returns what was removed.
    pub fn remove_step(&mut self, id: StepId, spliced: bool, now: Timestamp) -> Result<BTreeSet<StepId>> {
        let step = self.step(id).ok_or(Refusal::NoStep)?;
        if step.kind == StepType::Trigger {
            return structure("The TRIGGER step cannot be removed.");
        }
        if !spliced {
            let removed = self.reachable(id);
            self.forget(&removed);
            return Ok(removed);
        }
        if step.kind.has_branches() {
            return structure(
                "A step with branches cannot be spliced out, because it leads to several steps. Remove it without \
                 splice, or remove its other branches first.",
            );
        }
        let next = self.leaving(id).first().map(|transition| transition.to);
        if let Some(next) = next {
            for transition in self.transitions.iter_mut().filter(|transition| transition.to == id) {
                (transition.to, transition.updated_at) = (next, now);
            }
        }
        let removed = BTreeSet::from([id]);
        self.forget(&removed);
        Ok(removed)
    }

    fn forget(&mut self, removed: &BTreeSet<StepId>) {
        self.steps.retain(|step| !removed.contains(&step.id));
        self.transitions.retain(|t| !removed.contains(&t.from) && !removed.contains(&t.to));
    }

    /// Adds a transition.
    pub fn add_transition(&mut self, new: NewTransition, now: Timestamp) -> Result<()> {
        let (Some(from), Some(to)) = (self.step(new.from), self.step(new.to)) else {
            return Err(Refusal::NoStep);
        };
        self.check_room_for_transition()?;
        if from.id == to.id {
            return structure("A step cannot lead to itself.");
        }
        if from.kind == StepType::Exit {
            return structure("An EXIT step leads nowhere.");
        }
        let transition = self.routed(from, new, now)?;
        if to.kind == StepType::Trigger || self.reachable(to.id).contains(&from.id) {
            return structure("The transition would close a loop. An execution takes each step once.");
        }
        self.transitions.push(transition);
        Ok(())
    }

    /// The transition with the branch or outcome that its step needs, if it is free.
    fn routed(&self, from: &Step, new: NewTransition, now: Timestamp) -> Result<Transition> {
        let NewTransition { id, from: _, to, branch, outcome, priority } = new;
        let (branch, outcome) = match (from.kind, branch.as_deref(), outcome) {
            // as earlier clients wrote it
            (StepType::WaitForEvent, Some("timeout"), None) => (None, Some(WaitOutcome::Timeout)),
            (StepType::WaitForEvent, Some("event"), None) => (None, Some(WaitOutcome::Event)),
            _ => (branch, outcome),
        };
        check_branch(from, branch.as_deref())?;
        if outcome.is_some() && from.kind != StepType::WaitForEvent {
            let message = "Only transitions that leave a WAIT_FOR_EVENT step have an outcome.";
            return Err(Refusal::Invalid(vec![Issue::new("waitOutcome", "custom", message)]));
        }
        let is_same = |other: &&Transition| other.branch == branch && other.outcome == outcome;
        if self.leaving(from.id).iter().any(is_same) {
            return structure(match (&branch, outcome) {
                (Some(branch), _) => format!("The branch {branch:?} of the step has a transition already."),
                (None, Some(outcome)) => format!("The outcome {outcome} has a transition already."),
                (None, None) => {
                    "The step has a transition already. Only steps with branches lead to several steps."
                        .to_owned()
                }
            });
        }
        let (created_at, updated_at) = (now, now);
        Ok(Transition { id, from: from.id, to, branch, outcome, priority, created_at, updated_at })
    }

    /// Puts a step between two others: the transition leads to it, and `onward` from it to where the transition led.
    pub fn insert_step(
        &mut self,
        on: TransitionId,
        new: NewStep,
        onward: TransitionId,
        now: Timestamp,
    ) -> Result<StepId> {
        let to = self.transition(on).ok_or(Refusal::NoTransition)?.to;
        if matches!(new.kind, StepType::Trigger | StepType::Exit) {
            return structure(format!("A step of the type {} cannot stand between two others.", new.kind));
        }
        self.check_room_for_transition()?;
        let (step, action) = self.fitting(new, now)?;
        let first = action.branches().and_then(|known| known.first().copied());
        let (id, branch) = (step.id, first.map(str::to_owned));
        self.steps.push(step);
        if let Some(transition) = self.transitions.iter_mut().find(|transition| transition.id == on) {
            (transition.to, transition.updated_at) = (id, now);
        }
        self.transitions.push(Transition { branch, ..plain(onward, id, to, now) });
        Ok(id)
    }

    /// Removes a transition.
    pub fn remove_transition(&mut self, id: TransitionId) -> Result<Transition> {
        let place = self.transitions.iter().position(|transition| transition.id == id);
        place.map(|place| self.transitions.remove(place)).ok_or(Refusal::NoTransition)
    }
}

/// The template that a configuration names, as earlier clients do.
fn named_template(kind: StepType, config: &Value) -> Option<TemplateId> {
    let id = config["templateId"].as_str().filter(|_| kind == StepType::SendEmail)?;
    id.parse().ok()
}

fn plain(id: TransitionId, from: StepId, to: StepId, now: Timestamp) -> Transition {
    let (created_at, updated_at) = (now, now);
    Transition { id, from, to, branch: None, outcome: None, priority: 0, created_at, updated_at }
}

fn check_branch(from: &Step, branch: Option<&str>) -> Result<()> {
    let invalid = |code, message: String| Err(Refusal::Invalid(vec![Issue::new("branch", code, message)]));
    let action = Action::parse(from.kind, &from.config, from.template).ok();
    let known = action.as_ref().and_then(Action::branches);
    match (known, branch) {
        (None, Some(_)) => {
            invalid("custom", "Only transitions that leave a step with branches have one.".into())
        }
        (Some(known), None) => invalid("required", format!("Required: one of {}.", known.join(", "))),
        (Some(known), Some(branch)) if !known.contains(&branch) => {
            invalid("invalid_enum_value", format!("Must be one of {}.", known.join(", ")))
        }
        _ => Ok(()),
    }
}
