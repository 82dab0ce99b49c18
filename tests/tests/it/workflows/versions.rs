//! Versions of workflows: drafts, publishing, and which steps an execution follows.

use std::time::Duration;

use mailwright_testkit::{App, Engine, Request, both_engines};
use mailwright_tests::workflow::{Flow, taken};
use mailwright_tests::{column, contact, create_contact, items, read, shown, text, track_ok};
use serde_json::{Value, json};

/// A little more than contacts wait here.
const OVER_AN_HOUR: Duration = Duration::from_secs(3_601);

/// An enabled workflow that has contacts wait for an hour and then writes `first` to their data; and its two steps.
async fn waits_and_marks<'a>(app: &'a App, event: &str) -> (Flow<'a>, [String; 2]) {
    let flow = Flow::new(app, event).await;
    let delay = flow.then("DELAY", json!({"amount": 1, "unit": "hours"})).await;
    let mark = flow.then("UPDATE_CONTACT", json!({"updates": {"mark": "first"}})).await;
    flow.enable().await;
    (flow, [delay, mark])
}

/// The version in force, and whether what is edited differs from it.
async fn state(app: &App, flow: &Flow<'_>) -> (Option<i64>, Option<bool>) {
    let found = read(app, &flow.path("")).await;
    (found["version"].as_i64(), found["isDraft"].as_bool())
}

/// Makes a contact and begins an execution, which waits then. Returns its id.
async fn begun(app: &App, flow: &Flow<'_>, name: &str) -> String {
    let contact = create_contact(app, &format!("{name}@example.com"), true, json!({})).await;
    let id = flow.start(&contact["id"], json!({})).await;
    flow.once(&id, "WAITING").await;
    id
}

/// The version of a completed execution, and what it wrote.
async fn outcome(app: &App, flow: &Flow<'_>, execution: &str) -> (Option<i64>, Value) {
    let ended = flow.once(execution, "COMPLETED").await;
    let found = contact(app, &ended["contactId"]).await;
    (ended["version"].as_i64(), found["data"]["mark"].clone())
}

/// Has a step write something else.
async fn rewrite(app: &App, flow: &Flow<'_>, mark: &str, to: &str) {
    let change = json!({"config": {"updates": {"mark": to}}});
    app.patch(&flow.path(&format!("/steps/{mark}"))).json(&change).send().await.assert_status(200);
}

async fn publish(app: &App, flow: &Flow<'_>) -> Value {
    app.post(&flow.path("/publish")).send().await.assert_status(200).json()
}

/// One edit of each kind, to be sent in this order.
async fn edits(app: &App, flow: &Flow<'_>, [delay, mark]: &[String; 2]) -> Vec<(&'static str, Request)> {
    let whole = read(app, &flow.path("")).await;
    let link = |to: &str| {
        let found = items(&whole["transitions"]).iter().find(|link| link["toStepId"] == to);
        flow.path(&format!("/transitions/{}", text(&found.expect("a transition")["id"])))
    };
    let step = |id: &str| flow.path(&format!("/steps/{id}"));
    let after = |hours: u8| json!({"amount": hours, "unit": "hours"});
    let exit = json!({"type": "EXIT", "name": "Exit", "position": {"x": 0, "y": 0}, "config": {}});
    let between = json!({"type": "DELAY", "name": "More", "config": after(3)});
    let trigger = json!({"triggerConfig": {"eventName": "other"}});
    let linked = json!({"fromStepId": delay, "toStepId": mark});
    vec![
        ("another configuration", app.patch(&step(delay)).json(&json!({"config": after(2)}))),
        ("a new step", app.post(&flow.path("/steps")).json(&exit)),
        ("a step between two others", app.post(&format!("{}/insert-step", link(delay))).json(&between)),
        ("a transition removed", app.delete(&link(mark))),
        ("a new transition", app.post(&flow.path("/transitions")).json(&linked)),
        ("another trigger", app.patch(&flow.path("")).json(&trigger)),
        ("a step spliced out", app.delete(&format!("{}?splice=true", step(mark)))),
        ("a step removed with what follows", app.delete(&step(delay))),
    ]
}

both_engines! {
    async fn enabling_puts_what_is_edited_into_force(engine: Engine) {
        let app = App::start(engine).await;
        let flow = Flow::new(&app, "signup").await;
        assert_eq!(state(&app, &flow).await, (None, Some(false)));
        let mark = flow.then("UPDATE_CONTACT", json!({"updates": {"mark": "first"}})).await;
        assert_eq!(state(&app, &flow).await, (None, Some(false)), "nothing is in force yet");
        app.post(&flow.path("/publish")).send().await.assert_error(400, "BAD_REQUEST");
        let enabled = flow.change(json!({"enabled": true})).await;
        assert_eq!((&enabled["version"], &enabled["isDraft"]), (&json!(1), &json!(false)));
        let disabled = flow.change(json!({"enabled": false})).await;
        assert_eq!((&disabled["version"], &disabled["isDraft"]), (&json!(1), &json!(false)));
        rewrite(&app, &flow, &mark, "second").await;
        assert_eq!(state(&app, &flow).await, (Some(1), Some(true)));
        app.post(&flow.path("/publish")).send().await.assert_error(400, "BAD_REQUEST");
        assert_eq!(state(&app, &flow).await, (Some(1), Some(true)), "it is disabled");
        flow.enable().await;
        assert_eq!(state(&app, &flow).await, (Some(2), Some(false)));
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        let execution = flow.start(&ann["id"], json!({})).await;
        assert_eq!(outcome(&app, &flow, &execution).await, (Some(2), json!("second")));
    }

    async fn edits_of_an_idle_workflow_take_effect_at_once(engine: Engine) {
        let app = App::start(engine).await;
        let (flow, steps) = waits_and_marks(&app, "signup").await;
        let mut version = 1;
        for (what, edit) in edits(&app, &flow, &steps).await {
            let answer = edit.send().await;
            assert!((200..300).contains(&answer.status), "{what}: {}", shown(&answer));
            version += 1;
            assert_eq!(state(&app, &flow).await, (Some(version), Some(false)), "{what}");
        }
        let (flow, [_, mark]) = waits_and_marks(&app, "paid").await;
        rewrite(&app, &flow, &mark, "second").await;
        let execution = begun(&app, &flow, "ann").await;
        app.advance(OVER_AN_HOUR).await;
        assert_eq!(outcome(&app, &flow, &execution).await, (Some(2), json!("second")));
    }

    async fn edits_of_a_disabled_workflow_wait_for_it_to_be_enabled(engine: Engine) {
        let app = App::start(engine).await;
        let (flow, steps) = waits_and_marks(&app, "signup").await;
        let mut version = 1;
        for (what, edit) in edits(&app, &flow, &steps).await {
            flow.change(json!({"enabled": false})).await;
            let answer = edit.send().await;
            assert!((200..300).contains(&answer.status), "{what}: {}", shown(&answer));
            assert_eq!(state(&app, &flow).await, (Some(version), Some(true)), "{what}");
            flow.enable().await;
            version += 1;
            assert_eq!(state(&app, &flow).await, (Some(version), Some(false)), "{what}");
        }
    }

    async fn no_edit_is_refused_or_felt_while_contacts_are_on_their_way(engine: Engine) {
        let app = App::start(engine).await;
        let (flow, steps) = waits_and_marks(&app, "signup").await;
        let execution = begun(&app, &flow, "ann").await;
        let mut version = 1;
        for (what, edit) in edits(&app, &flow, &steps).await {
            let answer = edit.send().await;
            assert!((200..300).contains(&answer.status), "{what}: {}", shown(&answer));
            assert_eq!(state(&app, &flow).await, (Some(version), Some(true)), "{what}");
            let published = publish(&app, &flow).await;
            version += 1;
            assert_eq!((&published["version"], &published["isDraft"]), (&json!(version), &json!(false)), "{what}");
            assert_eq!(state(&app, &flow).await, (Some(version), Some(false)), "{what}");
        }
        let left = read(&app, &flow.path("")).await;
        assert!(!column(&left["steps"], "id").contains(&steps[0].as_str()), "the DELAY is gone: {left}");
        let waiting = flow.execution(&execution).await;
        assert_eq!((&waiting["status"], &waiting["version"]), (&json!("WAITING"), &json!(1)));
        assert_eq!(taken(&waiting), ["TRIGGER COMPLETED", "DELAY WAITING"]);
        app.advance(OVER_AN_HOUR).await;
        assert_eq!(outcome(&app, &flow, &execution).await, (Some(1), json!("first")), "as it began");
        let ended = flow.execution(&execution).await;
        assert_eq!(taken(&ended), ["TRIGGER COMPLETED", "DELAY COMPLETED", "UPDATE_CONTACT COMPLETED"]);
    }

    async fn an_execution_stays_on_the_version_it_began_with(engine: Engine) {
        let app = App::start(engine).await;
        let (flow, [_, mark]) = waits_and_marks(&app, "signup").await;
        let ann = begun(&app, &flow, "ann").await;
        rewrite(&app, &flow, &mark, "second").await;
        let more = flow.then("UPDATE_CONTACT", json!({"updates": {"more": true}})).await;
        assert_eq!(state(&app, &flow).await, (Some(1), Some(true)), "two edits, one draft");
        let draft = read(&app, &flow.path("")).await;
        assert_eq!(draft["steps"][2]["config"]["updates"]["mark"], "second", "what is edited is shown");
        assert!(column(&draft["steps"], "id").contains(&more.as_str()), "{draft}");
        let bob = begun(&app, &flow, "bob").await;
        let published = publish(&app, &flow).await;
        assert_eq!((&published["id"], &published["version"]), (&json!(flow.id), &json!(2)));
        assert_eq!((&published["isDraft"], &published["enabled"]), (&json!(false), &json!(true)));
        let cid = begun(&app, &flow, "cid").await;
        let listed = flow.executions().await;
        let versions: Vec<_> = listed.iter().map(|execution| execution["version"].as_i64()).collect();
        assert_eq!(versions, [Some(2), Some(1), Some(1)], "the newest first");

        app.advance(OVER_AN_HOUR).await;
        for (execution, version, mark, more) in
            [(&ann, 1, "first", Value::Null), (&bob, 1, "first", Value::Null), (&cid, 2, "second", json!(true))]
        {
            assert_eq!(outcome(&app, &flow, execution).await, (Some(version), json!(mark)));
            let ended = flow.execution(execution).await;
            assert_eq!(contact(&app, &ended["contactId"]).await["data"]["more"], more, "{ended}");
        }
    }

    async fn a_draft_of_the_trigger_is_in_force_once_it_is_published(engine: Engine) {
        let app = App::start(engine).await;
        let (flow, _) = waits_and_marks(&app, "signup").await;
        begun(&app, &flow, "ann").await;
        flow.change(json!({"triggerConfig": {"eventName": "paid"}})).await;
        assert_eq!(state(&app, &flow).await, (Some(1), Some(true)));
        let event = |name: &str, event: &str| json!({"email": format!("{name}@example.com"), "event": event});
        // the event that begins nothing comes first, so that it would be there when the other one is
        let too_early = track_ok(&app, event("bob", "paid")).await["contact"].clone();
        let cid = track_ok(&app, event("cid", "signup")).await["contact"].clone();
        assert_eq!(flow.of_contact(&cid, 1).await[0]["version"], 1);
        publish(&app, &flow).await;
        let too_late = track_ok(&app, event("dee", "signup")).await["contact"].clone();
        let eve = track_ok(&app, event("eve", "paid")).await["contact"].clone();
        assert_eq!(flow.of_contact(&eve, 1).await[0]["version"], 2);
        for contact in [&too_early, &too_late] {
            assert!(flow.of_contact(contact, 0).await.is_empty());
        }
        assert_eq!(read(&app, &flow.path("")).await["steps"][0]["name"], "Trigger: paid");
    }

    async fn a_draft_outlives_the_executions_that_made_it_one(engine: Engine) {
        let app = App::start(engine).await;
        let (flow, [_, mark]) = waits_and_marks(&app, "signup").await;
        let ann = begun(&app, &flow, "ann").await;
        rewrite(&app, &flow, &mark, "second").await;
        app.advance(OVER_AN_HOUR).await;
        assert_eq!(outcome(&app, &flow, &ann).await, (Some(1), json!("first")));
        assert_eq!(state(&app, &flow).await, (Some(1), Some(true)), "nobody published it");
        let bob = begun(&app, &flow, "bob").await;
        assert_eq!(publish(&app, &flow).await["version"], 2);
        app.advance(OVER_AN_HOUR).await;
        assert_eq!(outcome(&app, &flow, &bob).await, (Some(1), json!("first")));

        rewrite(&app, &flow, &mark, "third").await;
        assert_eq!(state(&app, &flow).await, (Some(3), Some(false)), "executions that ended are no reason");
        begun(&app, &flow, "cid").await;
        app.post(&flow.path("/executions/cancel-all")).send().await.assert_status(200);
        rewrite(&app, &flow, &mark, "fourth").await;
        assert_eq!(state(&app, &flow).await, (Some(4), Some(false)), "nor are those that were cancelled");
    }

    async fn disabling_lets_those_on_their_way_go_on(engine: Engine) {
        let app = App::start(engine).await;
        let (flow, [_, mark]) = waits_and_marks(&app, "signup").await;
        let ann = begun(&app, &flow, "ann").await;
        rewrite(&app, &flow, &mark, "second").await;
        flow.change(json!({"enabled": false})).await;
        assert_eq!(state(&app, &flow).await, (Some(1), Some(true)), "the draft stays one");
        rewrite(&app, &flow, &mark, "third").await;
        assert_eq!(state(&app, &flow).await, (Some(1), Some(true)));
        app.post(&flow.path("/publish")).send().await.assert_error(400, "BAD_REQUEST");
        let bob = track_ok(&app, json!({"email": "bob@example.com", "event": "signup"})).await["contact"].clone();
        flow.try_start(&bob, json!({})).await.assert_error(400, "BAD_REQUEST");
        app.advance(OVER_AN_HOUR).await;
        assert_eq!(outcome(&app, &flow, &ann).await, (Some(1), json!("first")));

        flow.enable().await;
        assert_eq!(state(&app, &flow).await, (Some(2), Some(false)));
        assert_eq!(flow.executions().await.len(), 1, "the event came while it was disabled");
        let execution = flow.start(&bob, json!({})).await;
        flow.once(&execution, "WAITING").await;
        app.advance(OVER_AN_HOUR).await;
        assert_eq!(outcome(&app, &flow, &execution).await, (Some(2), json!("third")));
    }

    async fn a_restart_forgets_no_version(engine: Engine) {
        let mut app = App::start(engine).await;
        let (path, mark, ann) = {
            let (flow, [_, mark]) = waits_and_marks(&app, "signup").await;
            let ann = begun(&app, &flow, "ann").await;
            rewrite(&app, &flow, &mark, "second").await;
            publish(&app, &flow).await;
            rewrite(&app, &flow, &mark, "third").await;
            (flow.path(""), mark, ann)
        };
        app.kill();
        app.restart().await;
        let workflow = read(&app, &path).await;
        let flow = Flow::of(&app, &workflow).await;
        assert_eq!(state(&app, &flow).await, (Some(2), Some(true)));
        let bob = begun(&app, &flow, "bob").await;
        app.advance(OVER_AN_HOUR).await;
        assert_eq!(outcome(&app, &flow, &ann).await, (Some(1), json!("first")));
        assert_eq!(outcome(&app, &flow, &bob).await, (Some(2), json!("second")));
        let shown = read(&app, &flow.path("")).await;
        let marks = items(&shown["steps"]).iter().find(|step| step["id"] == mark).expect("the step");
        assert_eq!(marks["config"]["updates"]["mark"], "third", "the draft");
        assert_eq!(publish(&app, &flow).await["version"], 3);
    }
}
