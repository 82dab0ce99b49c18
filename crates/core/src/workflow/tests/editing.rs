//! Changing graphs.

use serde_json::{Value, json};

use super::{START, step_id};
use crate::ids::{StepId, TransitionId};
use crate::time::Timestamp;
use crate::workflow::edit::{NewStep, NewTransition, Refusal, StepChange};
use crate::workflow::graph::{Graph, Position, Step};
use crate::workflow::kind::StepType::{Condition, Delay, Exit, RandomSplit, Trigger, WaitForEvent};
use crate::workflow::kind::{StepType, WaitOutcome};
use crate::workflow::limits::MAX_STEPS;

/// Gives steps and transitions their numbers.
struct Editor {
    graph: Graph,
    next: usize,
}

impl Editor {
    fn new() -> Self {
        let graph = Graph {
            steps: vec![Step {
                id: step_id(0),
                kind: Trigger,
                name: "signup".into(),
                position: Position { x: 100.0, y: 100.0 },
                config: json!({ "eventName": "signup" }),
                template: None,
                created_at: START,
                updated_at: START,
            }],
            transitions: Vec::new(),
        };
        Self { graph, next: 1 }
    }

    fn number(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }

    fn link(&mut self) -> TransitionId {
        TransitionId::first_of(Timestamp(self.number() as i64))
    }

    fn new_step(&mut self, kind: StepType, config: Value) -> NewStep {
        let id = step_id(self.number());
        NewStep {
            id,
            kind,
            name: kind.to_string(),
            position: Position { x: 0.0, y: 0.0 },
            config,
            template: None,
        }
    }

    fn try_add(&mut self, kind: StepType, config: Value, connects: bool) -> Result<StepId, Refusal> {
        let new = self.new_step(kind, config);
        let link = connects.then(|| self.link());
        self.graph.add_step(new, link, START)
    }

    fn add(&mut self, kind: StepType, config: Value) -> StepId {
        self.try_add(kind, config, true).unwrap()
    }

    fn connect(&mut self, from: StepId, to: StepId) -> Result<(), Refusal> {
        self.route(from, to, None, None)
    }

    fn route(
        &mut self,
        from: StepId,
        to: StepId,
        branch: Option<&str>,
        outcome: Option<WaitOutcome>,
    ) -> Result<(), Refusal> {
        let (id, branch) = (self.link(), branch.map(str::to_owned));
        self.graph.add_transition(NewTransition { id, from, to, branch, outcome, priority: 0 }, START)
    }

    /// The transitions as pairs of the places of their steps.
    fn links(&self) -> Vec<(usize, usize, Option<&str>)> {
        let place = |id| self.graph.steps.iter().position(|step| step.id == id).unwrap();
        let links = self.graph.transitions.iter();
        links.map(|t| (place(t.from), place(t.to), t.branch.as_deref())).collect()
    }
}

fn delay() -> Value {
    json!({ "amount": 1, "unit": "hours" })
}

fn condition() -> Value {
    json!({ "field": "data.plan", "operator": "exists" })
}

fn refused<T: std::fmt::Debug>(result: Result<T, Refusal>, part: &str) {
    match result.unwrap_err() {
        Refusal::Structure(message) => assert!(message.contains(part), "{message}"),
        Refusal::Invalid(issues) => assert!(issues.iter().any(|i| i.field == part), "{issues:?}"),
        other => panic!("{other:?} instead of {part}"),
    }
}

#[test]
fn a_new_step_follows_the_last_one_that_leads_nowhere() {
    let mut editor = Editor::new();
    editor.add(Delay, delay());
    let condition = editor.add(Condition, condition());
    // a step with branches and an EXIT are no ends to go on from
    let exit = editor.add(Exit, json!({}));
    assert_eq!(editor.links(), [(0, 1, None), (1, 2, None)]);
    editor.route(condition, exit, Some("no"), None).unwrap();
    editor.try_add(Delay, delay(), false).unwrap();
    editor.add(Delay, delay());
    assert_eq!(editor.links()[3..], [(4, 5, None)]);
}

#[test]
fn graphs_that_cannot_be_run_are_refused() {
    let mut editor = Editor::new();
    let (one, two) = (editor.add(Delay, delay()), editor.add(Delay, delay()));
    let branches = editor.add(Condition, condition());
    let exit = editor.add(Exit, json!({}));
    let before = editor.graph.clone();
    refused(editor.try_add(Trigger, json!({}), true), "one TRIGGER");
    refused(editor.try_add(Delay, json!({ "amount": "1" }), true), "config.amount");
    refused(editor.connect(one, one), "to itself");
    refused(editor.connect(exit, one), "EXIT step leads nowhere");
    refused(editor.connect(one, exit), "has a transition already");
    refused(editor.route(branches, one, Some("yes"), None), "loop");
    refused(editor.route(branches, step_id(0), Some("yes"), None), "loop");
    refused(editor.route(branches, exit, None, None), "branch");
    refused(editor.route(branches, exit, Some("maybe"), None), "branch");
    refused(editor.route(two, exit, Some("yes"), None), "branch");
    refused(editor.route(exit, one, None, Some(WaitOutcome::Event)), "EXIT");
    refused(editor.route(branches, exit, Some("no"), Some(WaitOutcome::Event)), "waitOutcome");
    assert_eq!(editor.connect(one, step_id(99)), Err(Refusal::NoStep));
    refused(editor.graph.remove_step(step_id(0), false, START), "cannot be removed");
    refused(editor.graph.remove_step(branches, true, START), "spliced out");
    let change = StepChange { config: Some(json!({ "amount": 0, "unit": "days" })), ..StepChange::default() };
    refused(editor.graph.change_step(one, change, START), "config.amount");
    assert_eq!(editor.graph, before, "what is refused changes nothing");
    editor.route(branches, exit, Some("no"), None).unwrap();
    refused(editor.route(branches, exit, Some("no"), None), "branch \"no\"");
    editor.route(branches, exit, Some("yes"), None).unwrap();
}

#[test]
fn a_wait_leads_to_one_step_for_each_outcome() {
    let mut editor = Editor::new();
    let wait = editor.add(WaitForEvent, json!({ "eventName": "activated", "timeout": 60 }));
    let ends: Vec<_> = (0..3).map(|_| editor.try_add(Exit, json!({}), false).unwrap()).collect();
    editor.route(wait, ends[0], None, Some(WaitOutcome::Event)).unwrap();
    refused(editor.route(wait, ends[1], None, Some(WaitOutcome::Event)), "outcome EVENT");
    // as earlier clients wrote it
    editor.route(wait, ends[1], Some("timeout"), None).unwrap();
    assert_eq!(editor.graph.transitions.last().unwrap().outcome, Some(WaitOutcome::Timeout));
    editor.connect(wait, ends[2]).unwrap();
    refused(editor.connect(wait, ends[2]), "has a transition already");
}

#[test]
fn removing_a_step_takes_what_follows_or_closes_the_gap() {
    let mut editor = Editor::new();
    let steps: Vec<_> = (0..3).map(|_| editor.add(Delay, delay())).collect();
    let mut spliced = editor.graph.clone();
    assert_eq!(editor.graph.remove_step(steps[1], false, START).unwrap(), [steps[1], steps[2]].into());
    assert_eq!(editor.links(), [(0, 1, None)]);
    assert_eq!(spliced.remove_step(steps[1], true, START).unwrap(), [steps[1]].into());
    let links: Vec<_> = spliced.transitions.iter().map(|t| (t.from, t.to)).collect();
    assert_eq!(links, [(step_id(0), steps[0]), (steps[0], steps[2])]);
    // the last one leaves nothing behind
    spliced.remove_step(steps[2], true, START).unwrap();
    assert_eq!(spliced.transitions.len(), 1);
    assert_eq!(spliced.remove_step(steps[2], true, START), Err(Refusal::NoStep));
}

#[test]
fn a_step_is_put_between_two_others() {
    let mut editor = Editor::new();
    let branches = editor.add(Condition, condition());
    let exit = editor.try_add(Exit, json!({}), false).unwrap();
    editor.route(branches, exit, Some("no"), None).unwrap();
    for kind in [Trigger, Exit] {
        let (on, new, onward) =
            (editor.graph.transitions[1].id, editor.new_step(kind, json!({})), editor.link());
        refused(editor.graph.insert_step(on, new, onward, START), "between");
    }
    let split = json!({ "branches": [{ "id": "a", "weight": 1 }, { "id": "b", "weight": 1 }] });
    for (kind, config) in [(Condition, condition()), (Delay, delay()), (RandomSplit, split)] {
        let (on, new, onward) =
            (editor.graph.transitions[1].id, editor.new_step(kind, config), editor.link());
        editor.graph.insert_step(on, new, onward, START).unwrap();
    }
    let expected = [(0, 1, None), (1, 5, Some("no")), (3, 2, Some("yes")), (4, 3, None), (5, 4, Some("a"))];
    assert_eq!(editor.links(), expected);
    let (new, onward) = (editor.new_step(Delay, delay()), editor.link());
    let unknown = TransitionId::first_of(Timestamp(9999));
    assert_eq!(editor.graph.insert_step(unknown, new, onward, START), Err(Refusal::NoTransition));
}

#[test]
fn a_graph_is_bounded_and_stored_as_it_was() {
    let mut editor = Editor::new();
    for _ in 1..MAX_STEPS {
        editor.add(Delay, delay());
    }
    refused(editor.try_add(Delay, delay(), true), "at most 500 steps");
    let stored = serde_json::to_value(&editor.graph).unwrap();
    assert_eq!(serde_json::from_value::<Graph>(stored).unwrap(), editor.graph);

    let mut large = Editor::new();
    let text = "x".repeat(60_000);
    let config = || json!({ "url": "https://example.com", "body": { "text": text } });
    for _ in 0..17 {
        large.add(StepType::Webhook, config());
    }
    let before = large.graph.clone();
    refused(large.try_add(StepType::Webhook, config(), true), "bytes of configuration");
    assert_eq!(large.graph, before);
}
