//! What holds for every graph and every history.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::stage::Board;
use super::{Flow, HOUR, MINUTE, START, begun, event, inputs, punctually};
use crate::ids::{EventId, WorkflowId};
use crate::template::TemplateType;
use crate::time::Timestamp;
use crate::workflow::execution::Execution;
use crate::workflow::figures::{Change, changes};
use crate::workflow::kind::WaitOutcome::{Event, Timeout};
use crate::workflow::kind::{Refused, StepType};
use crate::workflow::rehearsal::{Audience, Piece, rehearse};
use crate::workflow::run::run;
use crate::workflow::summary::Summary;
use crate::workflow::trigger::Trigger;
use crate::workflow::version::Version;
use crate::workflow::world::Happening;

/// A step of a random flow: what it does, and how far ahead its ways lead.
type Part = (u8, u8, u8);

/// Longer than all waits of a flow together that end by themselves.
const FOREVER: i64 = 60 * 24 * HOUR;
const NAMES: [&str; 3] = ["a", "b", "c"];

fn config(kind: StepType, variant: u8, board: &mut Board) -> Value {
    let name = NAMES[usize::from(variant) % NAMES.len()];
    match kind {
        StepType::SendEmail => board.template(TemplateType::ALL[usize::from(variant) % 3]),
        StepType::Delay => json!({ "amount": i64::from(variant % 5) + 1, "unit": "minutes" }),
        StepType::WaitForEvent => json!({ "eventName": name, "timeout": i64::from(variant % 4) * 300 }),
        StepType::WaitUntil => json!({ "mode": "window", "from": "10:03", "to": "10:04" }),
        StepType::Condition => json!({ "field": format!("event.{name}"), "operator": "exists" }),
        StepType::RandomSplit => {
            json!({ "branches": [{ "id": "x", "weight": 1 }, { "id": "y", "weight": 2 }] })
        }
        StepType::UpdateContact => {
            json!({ "updates": { (name): variant }, "subscriptionAction": if variant.is_multiple_of(2) { "none" } else { "unsubscribe" } })
        }
        _ => json!({}),
    }
}

/// A flow whose ways all lead ahead.
fn flow(parts: &[Part], board: &mut Board) -> Flow {
    const KINDS: [StepType; 8] = [
        StepType::SendEmail,
        StepType::Delay,
        StepType::WaitForEvent,
        StepType::WaitUntil,
        StepType::Condition,
        StepType::RandomSplit,
        StepType::UpdateContact,
        StepType::Exit,
    ];
    let kinds: Vec<_> = parts.iter().map(|(kind, ..)| KINDS[usize::from(*kind) % KINDS.len()]).collect();
    let mut flow = Flow::new();
    for (kind, (_, variant, _)) in kinds.iter().zip(parts) {
        flow = flow.step(*kind, config(*kind, *variant, board));
    }
    flow = flow.link(0, 1);
    for (index, (kind, (_, _, jump))) in kinds.iter().zip(parts).enumerate() {
        let from = index + 1;
        let (near, far) = (from + 1, from + 1 + usize::from(*jump % 3));
        let last = parts.len();
        let ways: &[_] = &[near, far];
        for (number, to) in ways.iter().enumerate().filter(|(_, to)| **to <= last) {
            flow = match (kind, number) {
                (StepType::Condition, n) => flow.branch(from, *to, ["yes", "no"][n]),
                (StepType::RandomSplit, n) => flow.branch(from, *to, ["x", "y"][n]),
                (StepType::WaitForEvent, n) => flow.outcome(from, *to, [Event, Timeout][n]),
                (StepType::Exit, _) | (_, 1) => flow,
                _ => flow.link(from, *to),
            };
        }
    }
    flow
}

fn history(events: &[(u8, i64)]) -> Vec<Happening> {
    let mut at = START.0;
    let happening = |(name, after): &(u8, i64)| {
        at += after;
        let name = NAMES[usize::from(*name) % NAMES.len()];
        event(name, Timestamp(at), json!({ (name): at }))
    };
    events.iter().map(happening).collect()
}

fn parts() -> impl Strategy<Value = Vec<Part>> {
    prop::collection::vec(any::<Part>(), 1..14)
}

fn events() -> impl Strategy<Value = Vec<(u8, i64)>> {
    prop::collection::vec((any::<u8>(), 0..400_000_i64), 0..20)
}

/// What a rehearsal comes to.
struct Seen<'v> {
    version: &'v Version,
    executions: Vec<Execution>,
    summary: Summary,
}

impl Audience for Seen<'_> {
    fn see(&mut self, execution: Execution) {
        self.summary.add_execution(self.version, &execution);
        self.executions.push(execution);
    }

    fn miss(&mut self, _: Option<EventId>, why: Refused) {
        self.summary.add_refused(why);
    }
}

proptest! {
    /// However often somebody looks, however short, and as long as nobody looks more than a minute late, the log is the same.
    #[test]
    fn the_log_does_not_depend_on_when_somebody_looks(
        parts in parts(),
        events in events(),
        looks in 1..50_000_i64,
        time in 2..20_u32,
    ) {
        let mut board = Board::new(json!({}));
        let flow = flow(&parts, &mut board);
        let version = flow.version();
        let history = history(&events);
        let end = Timestamp(history.last().map_or(START.0, |event| event.at.0) + FOREVER);

        // as a rehearsal does: whenever something is due or happens
        let (mut whole_board, mut whole) = (board.clone(), begun(&board, json!({})));
        punctually(&version, &mut whole, &history, &mut whole_board, end);

        // as the engine does: whenever it comes to it
        let mut real = begun(&board, json!({}));
        let mut rest = &history[..];
        let mut at = START.0;
        let mut turn = 0;
        while real.status.is_active() && at < end.0 && (real.due_at.is_some() || !rest.is_empty()) {
            // at random moments, but never a minute after something was due
            turn += 1;
            let next = real.due_at.map_or(i64::MAX, |due| due.0).min(rest.first().map_or(i64::MAX, |e| e.at.0));
            at = next.max(at) + (looks * turn) % 59_000;
            let (mut seen, later) = rest.split_at(rest.iter().take_while(|event| event.at.0 <= at).count());
            loop {
                board.time.set(time);
                let ran = run(&version, &mut real, &inputs(seen), &mut board, Timestamp(at));
                seen = &seen[ran.told..];
                if seen.is_empty() && !real.is_due(Timestamp(at)) {
                    break;
                }
            }
            rest = later;
        }
        prop_assert_eq!(&real.log, &whole.log);
        prop_assert_eq!((real.status, &real.context), (whole.status, &whole.context));
        prop_assert_eq!(board.told, whole_board.told);
    }

    /// An execution takes each step once, in an order that time has, and ends or waits for something.
    #[test]
    fn each_step_is_taken_once(parts in parts(), events in events()) {
        let mut board = Board::new(json!({}));
        let flow = flow(&parts, &mut board);
        let execution = flow.run(&mut board, json!({}), &history(&events), FOREVER / MINUTE);
        let taken: BTreeSet<_> = execution.log.iter().map(|record| record.step).collect();
        prop_assert_eq!(taken.len(), execution.log.len());
        prop_assert!(execution.log.is_sorted_by_key(|record| record.started_at));
        let closed = execution.log.iter().all(|record| record.completed_at.is_some());
        prop_assert_eq!(closed, !execution.status.is_active());
        if execution.status.is_active() {
            prop_assert!(execution.due_at.is_none_or(|due| due > super::minutes(FOREVER / MINUTE)));
        } else {
            prop_assert_eq!(execution.due_at, None);
        }
    }

    /// A rehearsal of a history comes to the log of an execution that it happens to.
    #[test]
    fn a_rehearsal_comes_to_the_same_log(parts in parts(), events in events()) {
        let mut board = Board::new(json!({}));
        let flow = flow(&parts, &mut board);
        let history = history(&events);
        let end = Timestamp(history.last().map_or(START.0, |event| event.at.0) + FOREVER);
        let first = event("begin", START, json!({}));
        let trigger = Trigger::Event { name: "begin".to_owned(), filter: None };
        let version = flow.version();
        let workflow = WorkflowId::first_of(START);
        let piece = Piece { workflow, version: &version, trigger: &trigger, starts: &[], allow_reentry: false };
        let mut rehearsed_board = board.clone();
        let all = std::iter::once(first).chain(history.iter().cloned()).collect();
        let mut seen = Seen { version: &version, executions: Vec::new(), summary: Summary::default() };
        rehearse(piece, board.contact.id, all, (&mut rehearsed_board, &mut seen), end).unwrap();

        let mut real = begun(&board, json!({}));
        punctually(&version, &mut real, &history, &mut board, end);
        prop_assert_eq!(seen.executions.len(), 1);
        prop_assert_eq!(&seen.executions[0].log, &real.log);
        prop_assert_eq!(board.told, rehearsed_board.told);
        prop_assert_eq!(seen.summary.steps.values().map(|step| step.entered).sum::<i64>(), real.log.len() as i64);
    }

    /// The figures that changes add up to are those of the execution as it ends.
    #[test]
    fn figures_add_up(parts in parts(), events in events(), cut in 0..20_usize) {
        let mut board = Board::new(json!({}));
        let flow = flow(&parts, &mut board);
        let (version, history) = (flow.version(), history(&events));
        let mut execution = begun(&board, json!({}));
        let (begin, middle) = (execution.clone(), Timestamp(START.0 + FOREVER / 2));
        let (early, late) = history.split_at(cut.min(history.len()));
        let mut sums: std::collections::BTreeMap<_, i64> = std::collections::BTreeMap::new();
        let mut add = |changes: Vec<Change>| {
            for (step, figure, by) in changes {
                *sums.entry((step, figure)).or_default() += by;
            }
        };
        let split = early.last().map_or(START, |event| event.at);
        punctually(&version, &mut execution, early, &mut board, split);
        add(changes(&version, &begin, &execution));
        let before = execution.clone();
        let end = late.last().map_or(middle, |event| Timestamp(event.at.0 + FOREVER));
        punctually(&version, &mut execution, late, &mut board, end);
        add(changes(&version, &before, &execution));
        for (step, figure, by) in changes(&version, &begin, &execution) {
            *sums.entry((step, figure)).or_default() -= by;
        }
        prop_assert!(sums.values().all(|sum| *sum == 0), "{sums:?}");
    }
}
