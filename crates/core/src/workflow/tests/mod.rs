//! Workflows run in memory, on a time of their own.

mod editing;
mod properties;
mod stage;
mod steps;
mod waiting;

use serde_json::{Value, json};

use self::stage::Board;
use crate::custom_data::Data;
use crate::ids::{EventId, ExecutionId, StepId, TransitionId, WorkflowId};
use crate::time::Timestamp;
use crate::workflow::execution::Execution;
use crate::workflow::goal::Goal;
use crate::workflow::graph::{Graph, Position, Step, Transition};
use crate::workflow::kind::{StepType, WaitOutcome};
use crate::workflow::lifecycle::{Beginning, begin};
use crate::workflow::run::{Told, run};
use crate::workflow::version::Version;
use crate::workflow::world::{Happening, Input};

/// When the executions of these tests begin: 2026-01-31T10:00:00Z.
const START: Timestamp = Timestamp(1_769_853_600_000);
const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;

fn step_id(number: usize) -> StepId {
    StepId::first_of(Timestamp(number as i64))
}

fn minutes(number: i64) -> Timestamp {
    Timestamp(START.0 + number * MINUTE)
}

fn object(json: Value) -> Data {
    json.as_object().cloned().unwrap_or_default()
}

fn event(name: &str, at: Timestamp, data: Value) -> Happening {
    Happening { id: EventId::first_of(at), name: name.to_owned(), data: object(data), at }
}

/// A workflow as a test writes it. Its trigger has the place 0.
struct Flow {
    graph: Graph,
    goal: Option<Goal>,
}

impl Flow {
    fn new() -> Self {
        let flow = Self { graph: Graph::default(), goal: None };
        flow.step(StepType::Trigger, json!({ "eventName": "signup" }))
    }

    /// Adds a step that nothing leads to.
    fn step(mut self, kind: StepType, config: Value) -> Self {
        let number = self.graph.steps.len();
        self.graph.steps.push(Step {
            id: step_id(number),
            kind,
            name: format!("step {number}"),
            position: Position { x: 0.0, y: 0.0 },
            config,
            template: None,
            created_at: START,
            updated_at: START,
        });
        self
    }

    /// Adds a step after the one that was added before.
    fn then(self, kind: StepType, config: Value) -> Self {
        let last = self.graph.steps.len() - 1;
        self.step(kind, config).link(last, last + 1)
    }

    fn link(self, from: usize, to: usize) -> Self {
        self.route(from, to, None, None)
    }

    fn branch(self, from: usize, to: usize, branch: &str) -> Self {
        self.route(from, to, Some(branch), None)
    }

    fn outcome(self, from: usize, to: usize, outcome: WaitOutcome) -> Self {
        self.route(from, to, None, Some(outcome))
    }

    fn route(mut self, from: usize, to: usize, branch: Option<&str>, outcome: Option<WaitOutcome>) -> Self {
        self.graph.transitions.push(Transition {
            id: TransitionId::first_of(Timestamp(self.graph.transitions.len() as i64)),
            from: step_id(from),
            to: step_id(to),
            branch: branch.map(str::to_owned),
            outcome,
            priority: 0,
            created_at: START,
            updated_at: START,
        });
        self
    }

    fn goal(self, goal: Goal) -> Self {
        Self { goal: Some(goal), ..self }
    }

    fn version(&self) -> Version {
        Version::new(1, &self.graph, self.goal.clone())
    }

    /// Runs an execution from its beginning until so many minutes later.
    fn run(&self, board: &mut Board, context: Value, events: &[Happening], until: i64) -> Execution {
        let mut execution = begun(board, context);
        punctually(&self.version(), &mut execution, events, board, minutes(until));
        execution
    }
}

/// An execution that begins, for the contact of a board.
fn begun(board: &Board, context: Value) -> Execution {
    begin(Beginning {
        id: ExecutionId::first_of(START),
        workflow: WorkflowId::first_of(START),
        contact: board.contact.id,
        source: None,
        context: object(context),
        at: START,
    })
}

/// Events as inputs.
fn inputs(events: &[Happening]) -> Vec<Told<'_>> {
    events.iter().map(|event| (event.at, Input::Event(event))).collect()
}

/// Runs an execution until an instant, looking whenever something is due or happens.
fn punctually(
    version: &Version,
    execution: &mut Execution,
    mut events: &[Happening],
    board: &mut Board,
    until: Timestamp,
) {
    loop {
        let next = events.first().map_or(until, |event| event.at);
        let now = execution.due_at.map_or(next, |due| due.min(next)).min(until);
        let seen = events.iter().take_while(|event| event.at <= now).count();
        let (seen, later) = events.split_at(seen);
        run(version, execution, &inputs(seen), board, now);
        events = later;
        if now == until && !execution.is_due(until) {
            return;
        }
    }
}

/// The steps of an execution as `place status`, in order.
fn told(execution: &Execution) -> Vec<String> {
    execution.log.iter().map(|record| format!("{} {}", record.step, record.status)).collect()
}

/// The names of what a board was told to do.
fn done(board: &Board) -> Vec<&str> {
    board.told.iter().map(stage::Told::name).collect()
}
