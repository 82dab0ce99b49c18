//! Why contacts go through a workflow, or do not: what stopped events, and what steps saw, waited for and left out.

use std::time::Duration;

use futures_util::future::join_all;
use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::workflow::Flow;
use mailwright_tests::{UNKNOWN_ID, as_project, assert_only_keys, column, create_contact};
use mailwright_tests::{encoded, events_of, items, members, read, text, track_ok};
use serde_json::{Value, json};

mod steps;

/// A little more than contacts wait here.
const OVER_AN_HOUR: Duration = Duration::from_secs(3_601);

/// What was decided about a contact.
async fn why(app: &App, flow: &Flow<'_>, name: &str) -> Vec<Value> {
    let told = read(app, &flow.path(&format!("/why?contact={name}@example.com"))).await;
    assert_only_keys(&told, &["workflowId", "contactId", "decisions"]);
    assert_eq!(told["workflowId"], flow.id);
    items(&told["decisions"]).to_vec()
}

/// The same in short: `began`, or why not.
async fn reasons(app: &App, flow: &Flow<'_>, name: &str) -> Vec<String> {
    let decisions = why(app, flow, name).await;
    let short = |one: &Value| one["reason"].as_str().unwrap_or_else(|| text(&one["decision"])).to_owned();
    decisions.iter().map(short).collect()
}

/// What the filter of a trigger saw of a contact's only event.
async fn seen(app: &App, flow: &Flow<'_>, name: &str) -> Value {
    assert_eq!(reasons(app, flow, name).await, ["filter"]);
    why(app, flow, name).await[0]["seen"].clone()
}

/// Steps without what changes while their mail is on its way.
fn apart_from_mail(steps: &Value) -> Value {
    let mut steps = steps.clone();
    for step in steps.as_array_mut().expect("steps") {
        if let Some(output) = step["output"].as_object_mut() {
            output.retain(|name, _| !["emailStatus", "emailReason", "emailError"].contains(&name.as_str()));
        }
    }
    steps
}

/// The steps of a contact's only execution, which are the same wherever they are shown.
async fn steps_of(app: &App, flow: &Flow<'_>, name: &str) -> Vec<Value> {
    let decisions = why(app, flow, name).await;
    assert_eq!(decisions.len(), 1, "{decisions:?}");
    let execution = flow.execution(text(&decisions[0]["execution"]["id"])).await;
    assert_eq!(apart_from_mail(&decisions[0]["steps"]), apart_from_mail(&execution["stepExecutions"]));
    items(&decisions[0]["steps"]).to_vec()
}

/// Why each step behind the trigger was skipped; null for one that was not.
async fn skipped(app: &App, flow: &Flow<'_>, name: &str) -> Vec<Value> {
    let steps = steps_of(app, flow, name).await;
    steps[1..].iter().map(|step| step["output"]["skipped"].clone()).collect()
}

/// An enabled workflow of these steps.
async fn enabled<'a>(app: &'a App, event: &str, steps: &[(&str, Value)]) -> Flow<'a> {
    let flow = Flow::new(app, event).await;
    for (kind, config) in steps {
        flow.then(kind, config.clone()).await;
    }
    flow.enable().await;
    flow
}

/// The same of one EXIT, for events that a condition holds for.
async fn filtered<'a>(app: &'a App, event: &str, conditions: &[(&str, &str, Value)]) -> Flow<'a> {
    let flow = enabled(app, event, &[("EXIT", json!({}))]).await;
    flow.change(json!({"triggerConfig": {"eventName": event, "filter": all_of(conditions)}})).await;
    flow
}

/// A filter of these conditions, all of which must hold.
fn all_of(conditions: &[(&str, &str, Value)]) -> Value {
    let filter = |of: &(&str, &str, Value)| json!({"field": of.0, "operator": of.1, "value": of.2});
    let filters: Vec<Value> = conditions.iter().map(filter).collect();
    json!({"logic": "AND", "groups": [{"filters": filters}]})
}

async fn track(app: &App, name: &str, event: &str, data: Value) -> Value {
    let body = json!({"email": format!("{name}@example.com"), "event": event, "data": data});
    track_ok(app, body).await["event"].clone()
}

/// Begins an execution for a new contact. Returns its id.
async fn begun(app: &App, flow: &Flow<'_>, name: &str, subscribed: bool, data: Value) -> String {
    let contact = create_contact(app, &format!("{name}@example.com"), subscribed, data).await;
    flow.start(&contact["id"], json!({})).await
}

fn assert_members(found: &Value, expected: &Value) {
    for (key, value) in members(expected) {
        assert_eq!(found[key], *value, "{key} of {found}");
    }
}

both_engines! {
    async fn each_event_that_did_not_begin_an_execution_says_why(engine: Engine) {
        let app = App::start(engine).await;
        let order = |total: i64| track(&app, "ann", "order", json!({"total": total}));
        order(50).await; // before the workflow is there
        let flow = Flow::new(&app, "order").await;
        flow.then("DELAY", json!({"amount": 1, "unit": "hours"})).await;
        let filter = all_of(&[("event.total", "greaterThan", json!(10))]);
        flow.change(json!({"triggerConfig": {"eventName": "order", "filter": filter}})).await;
        let mut events = vec![order(50).await];
        flow.enable().await;
        for total in [5, 50, 50] {
            events.push(order(total).await);
        }
        flow.only("WAITING").await;
        app.advance(OVER_AN_HOUR).await;
        flow.only("COMPLETED").await;
        events.push(order(50).await);
        flow.change(json!({"enabled": false})).await;
        events.push(order(50).await);
        flow.change(json!({"enabled": true, "allowReentry": true})).await;
        events.push(order(50).await);
        flow.once(text(&flow.executions().await[0]["id"]), "WAITING").await;
        let expected = ["disabled", "filter", "began", "active", "reentry", "disabled", "began"];
        assert_eq!(reasons(&app, &flow, "ann").await, expected);
        let decisions = why(&app, &flow, "ann").await;
        let contact = &flow.executions().await[0]["contactId"];
        let stored = events_of(&app, contact).await;
        for (decision, event) in decisions.iter().zip(&events) {
            let keys = ["at", "decision", "eventId", "eventName", "reason", "seen", "execution", "steps"];
            assert_only_keys(decision, &keys);
            assert_eq!(decision["eventId"], *event, "the oldest first");
            let stored = stored.iter().find(|one| one["id"] == *event).expect("the event");
            assert_eq!(decision["at"], stored["createdAt"]);
            if decision["decision"] == "refused" {
                assert_eq!((&decision["execution"], &decision["steps"]), (&Value::Null, &json!([])));
                assert_eq!(decision["eventName"], "order");
                assert_eq!(decision["seen"].is_null(), decision["reason"] != "filter", "{decision}");
            } else {
                let execution = flow.execution(text(&decision["execution"]["id"])).await;
                assert_eq!(decision["steps"], execution["stepExecutions"]);
            }
        }
    }

    async fn a_filter_tells_the_values_that_it_saw(engine: Engine) {
        let app = App::start(engine).await;
        let list = app.post("/segments").json(&json!({"name": "List", "type": "STATIC"})).send().await;
        let list = format!("segment.{}", text(&list.assert_status(201).json()["id"]));
        let flow = filtered(&app, "order", &[
            ("data.plan", "equals", json!("pro")),
            ("subscribed", "equals", json!(true)),
            ("event.total", "greaterThan", json!(100)),
            (list.as_str(), "memberOfSegment", Value::Null),
        ]).await;
        let conditions = [("email", "contains", json!("bob")), ("event.seen", "triggered", Value::Null)];
        let other = filtered(&app, "order", &conditions).await;
        create_contact(&app, "ann@example.com", true, json!({"plan": "free"})).await;
        track(&app, "ann", "order", json!({"total": 50})).await;
        track(&app, "bob", "order", json!({})).await;
        let failed = |field: &str, value: Value| json!({"field": field, "value": value, "holds": false});
        let outside = failed(&list, json!(false));
        let of_ann = [failed("data.plan", json!("free")), failed("event.total", json!(50)), outside.clone()];
        assert_eq!(seen(&app, &flow, "ann").await, json!(of_ann));
        let of_bob = [failed("data.plan", Value::Null), failed("event.total", Value::Null), outside];
        assert_eq!(seen(&app, &flow, "bob").await, json!(of_bob));
        // each workflow has its own reasons
        let unseen = failed("event.seen", Value::Null);
        let of_ann = [failed("email", json!("ann@example.com")), unseen.clone()];
        assert_eq!(seen(&app, &other, "ann").await, json!(of_ann));
        assert_eq!(seen(&app, &other, "bob").await, json!([unseen]));
    }

    async fn what_begins_too_often_or_brings_too_much_is_refused(engine: Engine) {
        let app = App::start(engine).await;
        let flow = enabled(&app, "ping", &[("EXIT", json!({}))]).await;
        flow.change(json!({"allowReentry": true})).await;
        let contact = create_contact(&app, "ann@example.com", true, json!({})).await;
        for _ in 0..100 {
            app.eventually("it may begin again", async || {
                (flow.try_start(&contact["id"], json!({})).await.status == 201).then_some(())
            }).await;
        }
        app.eventually("all are over", async || {
            let over = read(&app, &flow.path("/executions?status=EXITED&pageSize=1")).await;
            (over["total"] == 100).then_some(())
        }).await;
        for expected in ["too_many", "began"] {
            track(&app, "ann", "ping", json!({})).await;
            assert_eq!(reasons(&app, &flow, "ann").await.pop().as_deref(), Some(expected));
            app.advance(OVER_AN_HOUR).await;
        }
        let large = json!({"value": "x".repeat(66_000), "persistent": false});
        track(&app, "bob", "ping", json!({"large": large})).await;
        assert_eq!(reasons(&app, &flow, "bob").await, ["too_large"]);
    }

    async fn what_began_is_never_told_as_refused(engine: Engine) {
        let app = App::start(engine).await;
        let flow = enabled(&app, "ping", &[("EXIT", json!({}))]).await;
        flow.change(json!({"allowReentry": true})).await;
        for count in 1..=22 {
            track(&app, "ann", "ping", json!({})).await;
            app.eventually("it is over", async || {
                let found = flow.executions().await;
                (found.len() == count && found[0]["status"] == "EXITED").then_some(())
            }).await;
        }
        let found = reasons(&app, &flow, "ann").await;
        assert!(found.len() >= 20 && found.iter().all(|reason| reason == "began"), "{found:?}");
    }

    async fn a_reason_is_not_taken_for_another_one(engine: Engine) {
        let app = App::start(engine).await;
        let pro = [("data.plan", "equals", json!("pro"))];
        let (flow, _) = (filtered(&app, "order", &pro).await, filtered(&app, "view", &pro).await);
        track(&app, "ann", "order", json!({})).await;
        track(&app, "bob", "order", json!({})).await;
        // many refusals of another workflow
        for _ in 0..3 {
            join_all((0..67).map(|n| track(&app, "ann", "view", json!({"n": n})))).await;
        }
        assert_eq!(reasons(&app, &flow, "ann").await, ["filter"]);
        // refusals are known for thirty days
        app.advance(Duration::from_hours(31 * 24)).await;
        let found = reasons(&app, &flow, "bob").await;
        assert!(found.iter().all(|reason| reason == "filter"), "it was enabled all the time: {found:?}");
    }

    async fn only_the_trigger_that_is_in_force_begins_or_refuses(engine: Engine) {
        let app = App::start(engine).await;
        let flow = enabled(&app, "signup", &[("WAIT_FOR_EVENT", json!({"eventName": "never"}))]).await;
        track(&app, "ann", "signup", json!({})).await;
        flow.change(json!({"triggerConfig": {"eventName": "paid"}})).await;
        track(&app, "bob", "paid", json!({})).await;
        assert_eq!(reasons(&app, &flow, "bob").await, Vec::<String>::new(), "a draft stops nobody");
        track(&app, "ann", "signup", json!({})).await;
        assert_eq!(reasons(&app, &flow, "ann").await, ["began", "active"]);
        app.post(&flow.path("/publish")).send().await.assert_status(200);
        assert_eq!(reasons(&app, &flow, "bob").await, Vec::<String>::new(), "it was enabled then");
        assert_eq!(reasons(&app, &flow, "ann").await, ["began", "active"]);
        for decision in why(&app, &flow, "ann").await {
            assert_eq!(decision["eventName"], "signup", "whatever begins executions now: {decision}");
        }
    }

    async fn the_contact_is_named_by_id_or_address(engine: Engine) {
        let app = App::start(engine).await;
        let flow = enabled(&app, "signup", &[("EXIT", json!({}))]).await;
        let neighbour = app.bootstrap("Neighbour", "neighbour.example").await;
        let theirs = json!({"email": "theirs@example.com", "event": "signup"});
        let theirs = as_project(&app, &neighbour, "POST", "/v1/track").json(&theirs).send().await;
        let theirs = text(&theirs.assert_status(200).json()["data"]["contact"]).to_owned();
        let tracked = track_ok(&app, json!({"email": "ann+news@example.com", "event": "signup"})).await;
        flow.only("EXITED").await;
        let ann = text(&tracked["contact"]);
        for whom in [ann, "ann+news@example.com", "Ann+News@Example.com"] {
            let told = read(&app, &flow.path(&format!("/why?contact={}", encoded(whom)))).await;
            assert_eq!(told["contactId"], ann, "{whom}");
            assert_eq!(column(&told["decisions"], "decision"), ["began"], "{whom}");
        }
        for whom in [UNKNOWN_ID, "nobody@example.com", "nonsense", theirs.as_str(), "theirs@example.com"] {
            let path = flow.path(&format!("/why?contact={}", encoded(whom)));
            app.get(&path).send().await.assert_error(404, "CONTACT_NOT_FOUND");
        }
        for query in ["", "?contact=", "?email=ann%2Bnews%40example.com"] {
            app.get(&flow.path(&format!("/why{query}"))).send().await.assert_error(400, "BAD_REQUEST");
        }
        let path = flow.path(&format!("/why?contact={theirs}"));
        as_project(&app, &neighbour, "GET", &path).send().await.assert_error(404, "WORKFLOW_NOT_FOUND");
    }
}
