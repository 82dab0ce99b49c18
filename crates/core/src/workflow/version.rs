//! A version of a workflow, ready to be run: what its owner edited, at the moment at which it came into force.
//!
//! An execution runs the version it began with, so a version never changes once there is an execution of it. Steps are
//! named by their place in the version ([`Place`]), which is what executions store.

use std::collections::{BTreeSet, HashMap};

use crate::filter::References;
use crate::ids::{SegmentId, StepId, TemplateId};
use crate::workflow::action::Action;
use crate::workflow::goal::Goal;
use crate::workflow::graph::{Graph, Step, Transition};
use crate::workflow::kind::{StepType, WaitOutcome};
use crate::workflow::wait_until::{Until, ZONE_FIELD};

/// The place of a step in its version, from 0.
pub type Place = usize;

/// The place of the trigger: it is the first step of a graph.
pub const TRIGGER: Place = 0;

/// A step, ready to be run.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// Identifier.
    pub id: StepId,
    /// What kind of step it is.
    pub kind: StepType,
    /// Name.
    pub name: String,
    /// What it does; why it cannot, for a configuration that is not valid.
    pub action: Result<Action, String>,
    /// Where it leads, in the order in which the ways are tried.
    routes: Vec<Route>,
}

#[derive(Debug, Clone, PartialEq)]
struct Route {
    to: Place,
    branch: Option<String>,
    outcome: Option<WaitOutcome>,
}

/// A version of a workflow.
#[derive(Debug, Clone, PartialEq)]
pub struct Version {
    number: i64,
    steps: Vec<Planned>,
    goal: Option<Goal>,
}

impl Version {
    /// Prepares a graph. Nothing is refused: what cannot be run fails when it is its turn.
    pub fn new(number: i64, graph: &Graph, goal: Option<Goal>) -> Self {
        let places: HashMap<StepId, Place> =
            graph.steps.iter().enumerate().map(|(place, step)| (step.id, place)).collect();
        let mut steps: Vec<Planned> = graph.steps.iter().map(Planned::new).collect();
        let mut transitions: Vec<&Transition> = graph.transitions.iter().collect();
        transitions.sort_by_key(|transition| transition.priority);
        for transition in transitions {
            let (Some(from), Some(to)) = (places.get(&transition.from), places.get(&transition.to)) else {
                continue;
            };
            let (branch, outcome) = (transition.branch.clone(), transition.outcome);
            steps[*from].routes.push(Route { to: *to, branch, outcome });
        }
        Self { number, steps, goal }
    }

    /// The number of the version.
    pub fn number(&self) -> i64 {
        self.number
    }

    /// Its steps.
    pub fn steps(&self) -> &[Planned] {
        &self.steps
    }

    /// The place of a step.
    pub fn place(&self, id: StepId) -> Option<Place> {
        self.steps.iter().position(|step| step.id == id)
    }

    /// The steps that can be reached from a step, without itself.
    pub fn reachable(&self, from: Place) -> BTreeSet<Place> {
        let (mut found, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(place) = open.pop() {
            let routes = self.steps.get(place).into_iter().flat_map(|step| &step.routes);
            open.extend(routes.map(|route| route.to).filter(|to| found.insert(*to)));
        }
        found
    }

    /// What ends an execution early.
    pub fn goal(&self) -> Option<&Goal> {
        self.goal.as_ref()
    }

    /// The names of the events that executions wait for, or that end them.
    pub fn events(&self) -> BTreeSet<&str> {
        let waited = self.actions().filter_map(|action| match action {
            Action::WaitForEvent { name, .. } => Some(name.as_str()),
            _ => None,
        });
        let goal = match &self.goal {
            Some(Goal::Event(name)) => Some(name.as_str()),
            _ => None,
        };
        waited.chain(goal).collect()
    }

    /// What the filters of the version look at.
    pub fn references(&self) -> References {
        let mut references = References::default();
        for action in self.actions() {
            if let Action::Filter(filter) = action {
                references.extend(filter.references());
            }
        }
        if let Some(Goal::Filter(filter)) = &self.goal {
            references.extend(filter.references());
        }
        references
    }

    /// The templates that mails are made from.
    pub fn templates(&self) -> BTreeSet<TemplateId> {
        let template = |action: &Action| match action {
            Action::SendEmail(mail) => mail.template,
            _ => None,
        };
        self.actions().filter_map(template).collect()
    }

    /// The static segments that contacts are added to, or removed from.
    pub fn segments(&self) -> BTreeSet<SegmentId> {
        let segment = |action: &Action| match action {
            Action::Segment { id, .. } => Some(*id),
            _ => None,
        };
        self.actions().filter_map(segment).collect()
    }

    /// The fields of contacts that steps look at or write, as `/contacts/fields` names them; those of filters are among
    /// the [references](Self::references).
    pub fn fields(&self) -> BTreeSet<String> {
        let mut fields = BTreeSet::new();
        for action in self.actions() {
            match action {
                Action::Choose(choice) => fields.extend(choice.field.of_contact()),
                Action::WaitUntil(until) => {
                    fields.insert(format!("data.{ZONE_FIELD}"));
                    if let Until::Field { field, .. } = until {
                        fields.extend(field.of_contact());
                    }
                }
                Action::Update { patch, .. } => {
                    fields.extend(patch.stored.keys().map(|key| format!("data.{key}")));
                }
                _ => {}
            }
        }
        fields
    }

    fn actions(&self) -> impl Iterator<Item = &Action> {
        self.steps.iter().filter_map(|step| step.action.as_ref().ok())
    }
}

impl Planned {
    fn new(step: &Step) -> Self {
        let action = Action::parse(step.kind, &step.config, step.template).map_err(|issues| {
            let first = issues.into_iter().next();
            first.map_or_else(
                || "The configuration of the step is not valid.".to_owned(),
                |issue| {
                    format!("The configuration of the step is not valid: {}: {}", issue.field, issue.message)
                },
            )
        });
        Self { id: step.id, kind: step.kind, name: step.name.clone(), action, routes: Vec::new() }
    }

    /// Whether it sends a mail.
    pub(crate) fn is_mail(&self) -> bool {
        self.kind == StepType::SendEmail
    }

    /// The next step after a branch was chosen, or after any other step with `None`.
    pub(crate) fn next(&self, branch: Option<&str>) -> Option<Place> {
        let fits = |route: &&Route| route.branch.is_none() || route.branch.as_deref() == branch;
        self.routes.iter().find(fits).map(|route| route.to)
    }

    /// The next step after a wait. A way for this outcome alone comes before one for both.
    pub(crate) fn next_after(&self, outcome: WaitOutcome) -> Option<Place> {
        let with = |wanted| self.routes.iter().find(move |route| route.outcome == wanted);
        with(Some(outcome)).or_else(|| with(None)).map(|route| route.to)
    }
}
