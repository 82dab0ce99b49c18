//! What happens close together: in one request, before the engine looked, or more of it than is looked at together.

use std::time::Duration;

use mailwright_testkit::receiver::{Receiver, Reply};
use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::workflow::{Flow, output, taken};
use mailwright_tests::{create_contact, items, read, text, track_ok};
use serde_json::{Value, json};

/// Events that the service keeps for an execution before it looks at them.
const MANY: usize = 12;

async fn track(app: &App, event: &str) -> Value {
    track_ok(app, json!({"email": "ann@example.com", "event": event})).await
}

/// Starts the service again without, or with, the work that happens in the background.
async fn restart(app: &mut App, arguments: &[&str]) {
    app.kill();
    app.restart_as(arguments, &[]).await;
}

/// A workflow that an event starts and that waits for another one. How it ends says why.
async fn awaiting<'a>(app: &'a App, event: &str, awaited: &str, timeout: Value) -> Flow<'a> {
    let flow = Flow::new(app, event).await;
    let wait = flow.then("WAIT_FOR_EVENT", json!({"eventName": awaited, "timeout": timeout})).await;
    for (outcome, reason) in [("EVENT", "in time"), ("TIMEOUT", "late")] {
        let exit = flow.loose("EXIT", json!({"reason": reason})).await;
        flow.link(&wait, &exit, json!({"waitOutcome": outcome})).await;
    }
    flow.enable().await;
    flow
}

both_engines! {
    async fn what_a_request_brings_about_with_its_event_ends_waits(engine: Engine) {
        let app = App::start(engine).await;
        create_contact(&app, "ann@example.com", false, json!({})).await;
        let flow = awaiting(&app, "signup", "contact.subscribed", json!(null)).await;
        let goal = Flow::new(&app, "signup").await;
        goal.then("WAIT_FOR_EVENT", json!({"eventName": "never"})).await;
        goal.change(json!({"goal": {"eventName": "contact.subscribed"}})).await;
        goal.enable().await;
        // both events are stored together, the signup first
        track_ok(&app, json!({"email": "ann@example.com", "event": "signup", "subscribed": true})).await;
        let ended = flow.only("EXITED").await;
        assert_eq!(ended["exitReason"], "in time");
        let resumed = &items(&ended["stepExecutions"])[1];
        let events = read(&app, &format!("/events/contact/{}", text(&ended["contactId"]))).await;
        let named = |event: &&Value| event["name"] == "contact.subscribed";
        assert_eq!(resumed["resumeEventId"], items(&events["events"]).iter().find(named).expect("it")["id"]);
        assert_eq!(items(&ended["stepExecutions"])[0]["resumeEventId"], json!(null));
        assert_eq!(goal.only("EXITED").await["converted"], true);
        let rehearsed = app.post(&flow.path("/simulate")).json(&json!({"contact": "ann@example.com"}));
        let trace = rehearsed.send().await.assert_status(200).json()["trace"].clone();
        assert_eq!(items(&trace)[0]["exitReason"], "in time");
    }

    async fn what_was_before_an_execution_is_not_its_goal(engine: Engine) {
        let mut app = App::start(engine).await;
        let (first, second) = {
            let first = awaiting(&app, "began", "bought", json!(null)).await;
            let second = Flow::new(&app, "opened").await;
            second.then("WAIT_FOR_EVENT", json!({"eventName": "never"})).await;
            second.change(json!({"goal": {"eventName": "bought"}})).await;
            second.enable().await;
            track(&app, "began").await;
            first.only("WAITING").await;
            (json!({"id": first.id}), json!({"id": second.id}))
        };
        restart(&mut app, &["--roles", "api"]).await;
        track(&app, "bought").await;
        track(&app, "opened").await;
        restart(&mut app, &[]).await;
        assert_eq!(Flow::of(&app, &first).await.only("EXITED").await["exitReason"], "in time");
        let second = Flow::of(&app, &second).await;
        let waiting = second.only("WAITING").await;
        assert_eq!(waiting["converted"], false);
        track(&app, "bought").await;
        assert_eq!(second.only("EXITED").await["converted"], true);
    }

    async fn an_event_behind_many_others_is_in_time(engine: Engine) {
        let mut app = App::start(engine).await;
        let flow = {
            let noise = awaiting(&app, "began", "noise", json!(null)).await;
            let flow = awaiting(&app, "began", "paid", json!(60)).await;
            track(&app, "began").await;
            noise.only("WAITING").await;
            flow.only("WAITING").await;
            json!({"id": flow.id})
        };
        restart(&mut app, &["--roles", "api"]).await;
        for _ in 0..MANY {
            track(&app, "noise").await;
        }
        track(&app, "paid").await;
        app.advance(Duration::from_secs(90)).await;
        restart(&mut app, &[]).await;
        let ended = Flow::of(&app, &flow).await.only("EXITED").await;
        assert_eq!(ended["exitReason"], "in time", "{ended}");
    }

    async fn a_goal_on_members_of_a_tracked_segment_is_reached(engine: Engine) {
        let app = App::start(engine).await;
        let condition = json!({"logic": "AND", "groups": [{"filters": [
            {"field": "data.plan", "operator": "equals", "value": "pro"},
        ]}]});
        let made = json!({"name": "Pro", "condition": condition, "trackMembership": true});
        let segment = app.post("/segments").json(&made).send().await.assert_status(201).json();
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        let flow = Flow::new(&app, "began").await;
        flow.then("WAIT_FOR_EVENT", json!({"eventName": "never"})).await;
        let member = json!({"field": format!("segment.{}", text(&segment["id"])), "operator": "memberOfSegment"});
        let filter = json!({"logic": "AND", "groups": [{"filters": [member]}]});
        flow.change(json!({"goal": {"filter": filter}})).await;
        flow.enable().await;
        let id = flow.start(&ann["id"], json!({})).await;
        flow.once(&id, "WAITING").await;
        let path = format!("/contacts/{}", text(&ann["id"]));
        app.patch(&path).json(&json!({"data": {"plan": "pro"}})).send().await.assert_status(200);
        assert_eq!(flow.once(&id, "EXITED").await["converted"], true);
    }

    async fn one_event_begins_as_many_executions_as_a_contact_may_have(engine: Engine) {
        let app = App::start(engine).await;
        for _ in 0..103 {
            let flow = Flow::new(&app, "began").await;
            flow.then("WAIT_FOR_EVENT", json!({"eventName": "never"})).await;
            flow.enable().await;
        }
        track(&app, "began").await;
        let counts = async || {
            let mut count = 0;
            for page in 1..=2 {
                let listed = read(&app, &format!("/workflows?pageSize=100&page={page}")).await;
                let of = |workflow: &Value| workflow["_count"]["executions"].as_u64().expect("a count");
                count += items(&listed["data"]).iter().map(of).sum::<u64>();
            }
            count
        };
        app.eventually("a hundred executions", async || (counts().await >= 100).then_some(())).await;
        assert_eq!(counts().await, 100);
    }

    async fn executions_of_a_disabled_project_are_cancelled_when_they_would_go_on(engine: Engine) {
        let app = App::start(engine).await;
        let timed = awaiting(&app, "began", "paid", json!(60)).await;
        let other = awaiting(&app, "began", "bought", json!(null)).await;
        track(&app, "began").await;
        let id = text(&timed.only("WAITING").await["id"]).to_owned();
        other.only("WAITING").await;
        app.run(&["project", "disable", app.project_id()]).await;
        app.advance(Duration::from_secs(90)).await;
        app.eventually("the execution is cancelled", async || {
            let rows = app.rows().await;
            rows["workflow_executions"].iter().any(|row| row.contains("project_disabled")).then_some(())
        })
        .await;
        app.run(&["project", "enable", app.project_id()]).await;
        let ended = timed.once(&id, "CANCELLED").await;
        assert_eq!(ended["exitReason"], "project_disabled");
        other.only("WAITING").await;
    }

    async fn an_answer_that_is_nested_deep_stops_nobody(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_ALLOW_PRIVATE_NETWORKS", "true").start().await;
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let receiver = Receiver::start(move |call, _| {
            let levels = call.target.trim_start_matches('/').parse().expect("a number of levels");
            Reply::Status(200, deep(levels))
        })
        .await;
        let flow = Flow::new(&app, "began").await;
        flow.then("WEBHOOK", json!({"url": receiver.url("/{{event.levels}}")})).await;
        flow.then("EXIT", json!({})).await;
        flow.enable().await;
        for (levels, is_json) in [(32, true), (33, false), (125, false), (126, false), (127, false), (5000, false)] {
            let contact = create_contact(&app, &format!("c{levels}@example.com"), true, json!({})).await;
            let id = flow.start(&contact["id"], json!({"levels": levels})).await;
            let ended = flow.once(&id, "EXITED").await;
            assert_eq!(taken(&ended)[1], "WEBHOOK COMPLETED");
            let response = output(&ended, "WEBHOOK")["response"].clone();
            assert_eq!((response.is_array(), response.is_string()), (is_json, !is_json), "{levels}: {response}");
        }
    }
}
