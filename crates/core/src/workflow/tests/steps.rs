//! What each kind of step does.

use serde_json::{Value, json};

use super::stage::{Board, Told, one_off};
use super::{Flow, START, done, event, minutes, object, told};
use crate::ids::{SegmentId, TemplateId};
use crate::suppression::Held::{All, AllButTransactional, Nothing};
use crate::template::TemplateType::{Headless, Marketing, Transactional};
use crate::time::Timestamp;
use crate::workflow::advance::advance;
use crate::workflow::kind::ExecutionStatus as Status;
use crate::workflow::kind::StepType::{
    AddToSegment, Condition, Delay, Exit, RandomSplit, RemoveFromSegment, SendEmail, UpdateContact, Webhook,
};
use crate::workflow::output::shown;
use crate::workflow::run::{run, take};
use crate::workflow::world::{Answered, Input};

#[test]
fn a_workflow_with_a_trigger_alone_is_completed_at_once() {
    let flow = Flow::new();
    let execution = flow.run(&mut Board::new(json!({})), json!({}), &[], 0);
    assert_eq!((execution.status, execution.current), (Status::Completed, None));
    assert_eq!(execution.completed_at, Some(START));
    assert_eq!(told(&execution), ["0 COMPLETED"]);
}

#[test]
fn mail_is_sent_or_a_reason_is_told() {
    for (kind, subscribed, held, expected) in [
        (Transactional, false, Nothing, None),
        (Transactional, true, All, Some("suppressed")),
        (Transactional, true, AllButTransactional, None),
        (Marketing, true, Nothing, None),
        (Marketing, false, Nothing, Some("unsubscribed")),
        (Headless, false, Nothing, Some("unsubscribed")),
        (Marketing, true, All, Some("suppressed")),
        (Marketing, true, AllButTransactional, Some("suppressed")),
    ] {
        let mut board = Board::new(json!({}));
        (board.contact.subscribed, board.held) = (subscribed, held);
        let flow = Flow::new().then(SendEmail, board.template(kind)).then(Delay, hours(1));
        let execution = flow.run(&mut board, json!({}), &[], 0);
        assert_eq!(execution.log[1].output["skipped"].as_str(), expected, "{kind} {subscribed}");
        assert_eq!(done(&board).len(), usize::from(expected.is_none()));
        // the execution goes on in any case
        assert_eq!((execution.status, execution.current), (Status::Waiting, Some(2)));
    }
}

#[test]
fn a_mail_to_somebody_else_heeds_no_subscription() {
    let mut board = Board::new(json!({}));
    board.contact.subscribed = false;
    let mut config = board.template(Marketing);
    config["recipient"] = json!({ "type": "CUSTOM", "customEmail": "boss@example.com" });
    let flow = Flow::new().then(SendEmail, config);
    flow.run(&mut board, json!({}), &[], 0);
    assert!(
        matches!(&board.told[..], [Told::Mail(_, to, _)] if to == "boss@example.com"),
        "{:?}",
        board.told
    );
}

#[test]
fn a_capped_mail_is_skipped_or_waits() {
    let mut board = Board::new(json!({}));
    board.capped_until = Some(minutes(90));
    let (marketing, transactional) = (board.template(Marketing), board.template(Transactional));
    let mut waiting = marketing.clone();
    waiting["overCap"] = json!("WAIT");
    let flow = Flow::new()
        .then(SendEmail, marketing)
        .then(SendEmail, transactional)
        .then(SendEmail, waiting)
        .then(Exit, json!({}));
    let mut execution = flow.run(&mut board, json!({}), &[], 0);
    assert_eq!(told(&execution), ["0 COMPLETED", "1 SKIPPED", "2 COMPLETED", "3 WAITING"]);
    assert_eq!(execution.log[1].output["skipped"], "capped");
    // it looks again before the wait is over, since the cap may be another one by then
    assert_eq!((execution.due_at, execution.log[3].until), (Some(minutes(60)), Some(minutes(90))));
    run(&flow.version(), &mut execution, &[], &mut board, minutes(60));
    assert_eq!((execution.due_at, done(&board)), (Some(minutes(90)), vec!["mail"]));
    run(&flow.version(), &mut execution, &[], &mut board, minutes(90));
    assert_eq!((execution.status, done(&board)), (Status::Exited, vec!["mail", "mail"]));
}

#[test]
fn a_mail_that_a_limit_leaves_no_room_for_is_skipped() {
    let mut board = Board::new(json!({}));
    board.used_up = Some(Marketing);
    let (marketing, transactional) = (board.template(Marketing), board.template(Transactional));
    let flow = Flow::new().then(SendEmail, marketing).then(SendEmail, transactional);
    let execution = flow.run(&mut board, json!({}), &[], 0);
    assert_eq!(told(&execution), ["0 COMPLETED", "1 SKIPPED", "2 COMPLETED"]);
    assert_eq!(execution.log[1].output["skipped"], "billing_limit");
    assert_eq!(done(&board), vec!["mail"]);
}

#[test]
fn what_cannot_be_done_fails_step_and_execution() {
    let unknown = json!({ "templateId": TemplateId::first_of(Timestamp(77)) });
    for (kind, config, error) in [
        (SendEmail, json!({}), "The step has no template."),
        (SendEmail, unknown, "The project has no template with the id"),
        (Delay, json!({ "amount": -1, "unit": "days" }), "config.amount: Must be greater than 0."),
        (AddToSegment, json!({ "segmentId": SegmentId::first_of(START) }), "has no static segment"),
    ] {
        let flow = Flow::new().then(kind, config).then(Delay, hours(1));
        let mut board = Board::new(json!({}));
        let execution = flow.run(&mut board, json!({}), &[], 0);
        assert_eq!((execution.status, execution.current), (Status::Failed, Some(1)), "{kind}");
        assert_eq!((execution.due_at, execution.completed_at), (None, Some(START)));
        let found = execution.log[1].error.clone().unwrap();
        assert!(found.contains(error), "{found}");
        assert_eq!(done(&board), Vec::<&str>::new());
    }
}

fn hours(number: i64) -> Value {
    json!({ "amount": number, "unit": "hours" })
}

#[test]
fn conditions_choose_the_first_branch_that_matches() {
    let config = json!({ "mode": "multi", "field": "event.total", "branches": [
        { "id": "large", "name": "Large", "operator": "greaterThan", "value": 100 },
        { "id": "some", "name": "Some", "operator": "greaterThan", "value": "10" },
    ] });
    let flow = Flow::new()
        .then(Condition, config)
        .step(Exit, json!({ "reason": "large" }))
        .step(Exit, json!({ "reason": "some" }))
        .branch(1, 2, "large")
        .branch(1, 3, "some");
    for (total, reason, branch) in
        [(500, Some("large"), "large"), (50, Some("some"), "some"), (5, None, "default")]
    {
        let execution = flow.run(&mut Board::new(json!({})), json!({ "total": total }), &[], 0);
        assert_eq!(execution.exit_reason.as_deref(), reason);
        // a branch that leads nowhere ends the execution
        assert_eq!(execution.status, if reason.is_some() { Status::Exited } else { Status::Completed });
        assert_eq!(execution.log[1].output, json!({ "branch": branch, "value": total }));
    }
}

#[test]
fn a_filter_sees_contact_and_events() {
    let tree = json!({ "logic": "AND", "groups": [{ "filters": [
        { "field": "data.plan", "operator": "equals", "value": "pro" },
        { "field": "event.paid", "operator": "triggeredWithin", "value": 2, "unit": "hours" },
    ] }] });
    let flow = Flow::new()
        .then(Condition, json!({ "condition": tree }))
        .step(Exit, json!({ "reason": "yes" }))
        .branch(1, 2, "yes");
    for (plan, paid, expected) in [("pro", 60, Some("yes")), ("pro", 240, None), ("free", 60, None)] {
        let mut board = Board::new(json!({ "plan": plan }));
        board.events.insert("paid".into(), minutes(-paid));
        let execution = flow.run(&mut board, json!({}), &[], 0);
        assert_eq!(execution.exit_reason.as_deref(), expected, "{plan} {paid}");
    }
}

#[test]
fn a_step_sees_what_the_one_before_wrote() {
    let flow = Flow::new()
        .then(
            UpdateContact,
            json!({ "updates": { "plan": "pro", "trial": null }, "subscriptionAction": "unsubscribe" }),
        )
        .then(Condition, json!({ "field": "data.plan", "operator": "equals", "value": "pro" }))
        .step(Exit, json!({ "reason": "seen" }))
        .branch(2, 3, "yes");
    let mut board = Board::new(json!({ "trial": true }));
    let execution = flow.run(&mut board, json!({}), &[], 0);
    assert_eq!(execution.exit_reason.as_deref(), Some("seen"));
    assert_eq!((board.contact.data, board.contact.subscribed), (object(json!({ "plan": "pro" })), false));
    assert_eq!(board.told, [Told::Contact(START)]);
}

#[test]
fn one_off_values_are_seen_and_stay_off_the_contact() {
    let flow = Flow::new()
        .then(Condition, json!({ "field": "event.order", "operator": "equals", "value": 7 }))
        .step(Exit, json!({ "reason": "seen" }))
        .branch(1, 2, "yes");
    let mut board = Board::new(json!({}));
    let context = one_off(json!(7));
    let execution = flow.run(&mut board, context.clone().into(), &[], 0);
    assert_eq!(execution.exit_reason.as_deref(), Some("seen"));
    assert_eq!((execution.context, board.contact.data.len()), (context, 0));
}

#[test]
fn chance_keeps_to_the_weights_and_to_the_contact() {
    let branches = json!([{ "id": "a", "weight": 3 }, { "id": "b", "weight": 1 }]);
    let flow = Flow::new().then(RandomSplit, json!({ "branches": branches }));
    let mut taken = 0;
    for number in 0..4000 {
        let mut board = Board::of(number, json!({}));
        let first = flow.run(&mut board, json!({}), &[], 0).log[1].output.clone();
        let again = flow.run(&mut board, json!({ "again": true }), &[], 5).log[1].output.clone();
        assert_eq!(first, again, "the same contact takes the same branch");
        taken += i32::from(first["branch"] == "a");
    }
    assert!((2900..3100).contains(&taken), "{taken} of 4000");
}

#[test]
fn segments_are_joined_and_left() {
    let segment = SegmentId::first_of(Timestamp(1));
    let flow = Flow::new()
        .then(AddToSegment, json!({ "segmentId": segment }))
        .then(RemoveFromSegment, json!({ "segmentId": segment }));
    let mut board = Board::new(json!({}));
    let execution = flow.run(&mut board, json!({}), &[], 0);
    assert_eq!(execution.status, Status::Completed);
    assert_eq!(board.told, [Told::Segment(segment, true), Told::Segment(segment, false)]);
}

#[test]
fn a_request_is_awaited_and_its_answer_ends_the_step() {
    let flow = Flow::new().then(Webhook, json!({ "url": "https://example.com" })).then(Exit, json!({}));
    let answered = |error: Option<&str>| Answered {
        output: json!({ "statusCode": 500, "success": false }),
        error: error.map(str::to_owned),
    };
    for (error, status) in [(None, Status::Exited), (Some("no connection"), Status::Failed)] {
        let mut board = Board::new(json!({}));
        let mut execution = flow.run(&mut board, json!({}), &[], 60);
        assert_eq!((execution.status, execution.due_at), (Status::Running, None));
        assert_eq!((told(&execution)[1].as_str(), done(&board)), ("1 RUNNING", vec!["request"]));
        // other things that happen meanwhile do not end it
        let version = flow.version();
        let other = event("signup", minutes(61), json!({}));
        for input in [Input::Due, Input::Event(&other), Input::Changed] {
            assert_eq!(advance(&version, &execution, input, &board, minutes(61)).execution, execution);
        }
        let answered = answered(error);
        take(&version, &mut execution, Input::Answered(&answered), &mut board, minutes(62));
        assert_eq!(execution.log[1].error.as_deref(), error);
        assert_eq!(
            (&execution.log[1].output, execution.log[1].completed_at),
            (&answered.output, Some(minutes(62)))
        );
        run(&version, &mut execution, &[], &mut board, minutes(62));
        assert_eq!((execution.status, done(&board)), (status, vec!["request"]));
        // a second answer comes too late
        let before = execution.clone();
        take(&version, &mut execution, Input::Answered(&answered), &mut board, minutes(63));
        assert_eq!(execution, before);
    }
}

#[test]
fn what_a_step_did_is_told_as_its_configuration_says_it() {
    let filter = json!({ "logic": "AND", "groups": [{ "filters": [
        { "field": "event.total", "operator": "greaterThan", "value": 3 },
        { "field": "event.signup", "operator": "notTriggered" }] }] });
    let mut board = Board::new(json!({ "plan": "pro" }));
    let mail = board.template(Transactional);
    let flow = Flow::new()
        .then(SendEmail, mail)
        .then(Condition, json!({ "field": "data.plan", "operator": "equals", "value": "free" }))
        .step(Condition, json!({ "condition": filter }))
        .branch(2, 3, "no")
        .step(UpdateContact, json!({ "updates": { "seen": true } }))
        .branch(3, 4, "yes")
        .then(Delay, json!({ "amount": 2, "unit": "hours" }));
    let execution = flow.run(&mut board, json!({ "total": 5 }), &[], 0);
    let told: Vec<_> = execution
        .log
        .iter()
        .map(|record| shown(&execution, &flow.graph.steps[record.step], record).unwrap())
        .collect();
    let now = START.to_string();
    let expected = [
        json!({ "triggered": true, "eventName": "manual", "timestamp": now }),
        json!({ "emailId": "a mail", "sentAt": now, "recipientType": "CONTACT" }),
        json!({
            "field": "data.plan", "operator": "equals", "expectedValue": "free", "actualValue": "pro",
            "result": false, "branch": "no", "value": "pro",
        }),
        json!({ "mode": "filter", "result": true, "branch": "yes", "seen": [
            { "field": "event.total", "value": 5, "holds": true },
            { "field": "event.signup", "value": null, "holds": true },
        ] }),
        json!({
            "updated": true, "updates": { "seen": true }, "newData": { "plan": "pro", "seen": true }, "subscribed": true,
            "subscriptionAction": "none",
        }),
        json!({ "delayAmount": 2, "delayUnit": "hours", "resumeAt": minutes(120) }),
    ];
    assert_eq!(told, expected);
}
