//! Waits for times and events, and what ends them.

use serde_json::json;

use super::stage::Board;
use super::{Flow, HOUR, START, begun, done, event, inputs, minutes, told};
use crate::filter::Filter;
use crate::template::TemplateType::Marketing;
use crate::time::Timestamp;
use crate::workflow::advance::advance;
use crate::workflow::execution::StepRecord;
use crate::workflow::goal::Goal;
use crate::workflow::kind::ExecutionStatus as Status;
use crate::workflow::kind::StepType::{Delay, Exit, SendEmail, WaitForEvent, WaitUntil};
use crate::workflow::kind::WaitOutcome::{Event, Timeout};
use crate::workflow::run::run;
use crate::workflow::world::Input;

#[test]
fn two_delays_in_a_row_both_wait_and_a_last_one_ends_the_execution() {
    let flow = Flow::new()
        .then(Delay, json!({ "amount": 1, "unit": "hours" }))
        .then(Delay, json!({ "amount": 30, "unit": "minutes" }));
    let mut board = Board::new(json!({}));
    for (until, expected) in [
        (0, (Status::Waiting, Some(1), Some(minutes(60)))),
        (59, (Status::Waiting, Some(1), Some(minutes(60)))),
        (60, (Status::Waiting, Some(2), Some(minutes(90)))),
        (90, (Status::Completed, None, None)),
    ] {
        let execution = flow.run(&mut board, json!({}), &[], until);
        assert_eq!(
            (execution.status, execution.current, execution.due_at),
            expected,
            "after {until} minutes"
        );
    }
}

#[test]
fn time_is_counted_on_unless_the_service_was_away_for_long() {
    let flow = Flow::new()
        .then(Delay, json!({ "amount": 1, "unit": "hours" }))
        .then(Delay, json!({ "amount": 1, "unit": "hours" }));
    for (late, second) in [(0, 0), (900, 0), (60_000, 0), (60_001, 60_001), (10 * HOUR, 10 * HOUR)] {
        let mut board = Board::new(json!({}));
        let mut execution = flow.run(&mut board, json!({}), &[], 0);
        let now = Timestamp(START.0 + HOUR + late);
        run(&flow.version(), &mut execution, &[], &mut board, now);
        assert_eq!(execution.due_at, Some(Timestamp(START.0 + 2 * HOUR + second)), "{late} ms late");
    }
}

fn wait() -> Flow {
    Flow::new()
        .then(WaitForEvent, json!({ "eventName": "activated", "timeout": 3600 }))
        .step(Exit, json!({ "reason": "event" }))
        .step(Exit, json!({ "reason": "timeout" }))
        .outcome(1, 2, Event)
        .outcome(1, 3, Timeout)
}

#[test]
fn an_event_or_the_timeout_ends_a_wait_and_never_both() {
    for (at, until, reason) in
        [(30, 30, Some("event")), (60, 200, Some("event")), (61, 200, Some("timeout")), (30, 29, None)]
    {
        let mut board = Board::new(json!({}));
        let events = [event("activated", minutes(at), json!({ "by": "link" }))];
        let events = if until < at { &[][..] } else { &events };
        let execution = wait().run(&mut board, json!({ "from": "ad" }), events, until);
        assert_eq!(execution.exit_reason.as_deref(), reason, "at {at}, seen at {until}");
        let merged = json!({ "from": "ad", "by": "link" });
        let expected = if reason == Some("event") { merged } else { json!({ "from": "ad" }) };
        assert_eq!(serde_json::Value::from(execution.context), expected);
    }
}

#[test]
fn events_of_another_name_or_before_the_wait_do_not_end_it() {
    let flow = Flow::new()
        .then(Delay, json!({ "amount": 10, "unit": "minutes" }))
        .then(WaitForEvent, json!({ "eventName": "activated" }));
    let mut board = Board::new(json!({}));
    let events = [
        event("activated", minutes(5), json!({})),
        event("opened", minutes(20), json!({})),
        event("Activated", minutes(21), json!({})),
    ];
    let execution = flow.run(&mut board, json!({}), &events, 1_000_000);
    assert_eq!((execution.status, execution.due_at), (Status::Waiting, None));
    assert_eq!(told(&execution), ["0 COMPLETED", "1 COMPLETED", "2 WAITING"]);
}

#[test]
fn an_event_that_came_while_the_engine_was_busy_still_ends_the_wait() {
    // both happen before anybody looks
    let mut board = Board::new(json!({}));
    let at = Timestamp(START.0 + 3);
    let execution = wait().run(&mut board, json!({}), &[event("activated", at, json!({}))], 5);
    assert_eq!(execution.exit_reason.as_deref(), Some("event"));
    assert_eq!((execution.log[1].started_at, execution.log[1].completed_at), (START, Some(at)));
}

#[test]
fn what_is_told_later_came_later_whatever_its_time_says() {
    let version = wait().version();
    let mut board = Board::new(json!({}));
    let early = event("activated", Timestamp(START.0 - 2_000), json!({}));
    // it came before the execution did, and both are looked at together
    let mut execution = begun(&board, json!({}));
    run(&version, &mut execution, &inputs(std::slice::from_ref(&early)), &mut board, START);
    assert_eq!(execution.status, Status::Waiting);
    // the clock of whoever stored it is behind
    run(&version, &mut execution, &inputs(&[early]), &mut board, minutes(1));
    assert_eq!(execution.exit_reason.as_deref(), Some("event"));
    let times = |record: &StepRecord| record.completed_at.map(|ended| ended.0 - record.started_at.0);
    assert!(execution.log.iter().all(|record| times(record) >= Some(0)), "{execution:?}");
}

#[test]
fn an_older_transition_serves_the_outcomes_that_have_none() {
    let flow = Flow::new()
        .then(WaitForEvent, json!({ "eventName": "activated", "timeout": 60 }))
        .step(Exit, json!({ "reason": "any" }))
        .step(Exit, json!({ "reason": "timeout" }))
        .link(1, 2)
        .outcome(1, 3, Timeout);
    let mut board = Board::new(json!({}));
    let activated = [event("activated", START, json!({}))];
    for (events, reason) in [(&activated[..], "any"), (&[], "timeout")] {
        let execution = flow.run(&mut board, json!({}), events, 10);
        assert_eq!(execution.exit_reason.as_deref(), Some(reason));
    }
}

#[test]
fn waits_until_a_date_pass_at_once_when_it_is_over_or_missing() {
    let field =
        json!({ "mode": "field", "field": "data.renewal", "offset": { "amount": -1, "unit": "hours" } });
    let flow = Flow::new().then(WaitUntil, field);
    for (renewal, status, step) in [
        (json!("2026-01-31T12:00:00Z"), Status::Waiting, "1 WAITING"),
        (json!("2026-01-31T11:00:00Z"), Status::Completed, "1 COMPLETED"),
        (json!("soon"), Status::Completed, "1 SKIPPED"),
    ] {
        let mut board = Board::new(json!({ "renewal": renewal }));
        let execution = flow.run(&mut board, json!({}), &[], 0);
        assert_eq!((execution.status, told(&execution)[1].as_str()), (status, step), "{renewal}");
        assert_eq!(execution.log[1].output["value"], renewal);
        let later = flow.run(&mut board, json!({}), &[], 60);
        assert_eq!(later.status, Status::Completed);
    }
}

#[test]
fn a_goal_ends_the_execution_wherever_it_stands() {
    let mut board = Board::new(json!({}));
    let send = board.template(Marketing);
    let flow = |goal| {
        Flow::new()
            .then(Delay, json!({ "amount": 1, "unit": "hours" }))
            .then(SendEmail, send.clone())
            .goal(goal)
    };
    let by_event = flow(Goal::Event("paid".into()));
    let execution = by_event.run(&mut board, json!({}), &[event("paid", minutes(10), json!({}))], 100);
    assert_eq!((execution.status, execution.exit_reason.as_deref()), (Status::Exited, Some("goal")));
    assert_eq!((execution.is_converted, execution.completed_at), (true, Some(minutes(10))));
    assert_eq!(told(&execution), ["0 COMPLETED", "1 SKIPPED"]);

    let tree = json!({ "logic": "AND", "groups": [{ "filters": [
        { "field": "data.plan", "operator": "equals", "value": "pro" }] }] });
    let by_filter = flow(Goal::Filter(Box::new(Filter::parse(&tree).unwrap())));
    let waiting = by_filter.run(&mut board, json!({}), &[], 1);
    let version = by_filter.version();
    let unchanged = advance(&version, &waiting, Input::Changed, &board, minutes(2)).execution;
    assert_eq!(unchanged, waiting);
    board.contact.data.insert("plan".into(), json!("pro"));
    let reached = advance(&version, &waiting, Input::Changed, &board, minutes(2)).execution;
    assert!(reached.is_converted);
    // without anybody saying so it is seen before the next step
    let mut late = waiting;
    run(&version, &mut late, &[], &mut board, minutes(60));
    assert!(late.is_converted && done(&board).is_empty());
}

#[test]
fn what_is_over_stays_so() {
    let mut board = Board::new(json!({}));
    let mut execution = wait().run(&mut board, json!({}), &[], 10);
    execution.end(Status::Cancelled, Some("cancelled".into()), minutes(11));
    let before = execution.clone();
    let events = [event("activated", minutes(12), json!({}))];
    let ran = run(&wait().version(), &mut execution, &inputs(&events), &mut board, minutes(500));
    assert_eq!(ran.steps, 0);
    assert_eq!(execution, before);
}
