//! What begins executions and what does not: events, filters, re-entry, starts by hand, contacts of other projects.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::join_all;
use mailwright_testkit::{App, Engine, both_engines, one_engine};
use mailwright_tests::workflow::{Flow, output};
use mailwright_tests::{UNKNOWN_ID, as_project, assert_envelope, assert_keys, assert_legacy};
use mailwright_tests::{assert_timestamp, assert_uuid, create_contact, issue, text, track_ok};
use serde_json::{Value, json};

/// An enabled workflow of one step behind its trigger.
async fn enabled<'a>(app: &'a App, event: &str, kind: &str, config: Value) -> Flow<'a> {
    let flow = Flow::new(app, event).await;
    flow.then(kind, config).await;
    flow.enable().await;
    flow
}

/// An enabled workflow that ends at once.
async fn passing<'a>(app: &'a App, event: &str) -> Flow<'a> {
    enabled(app, event, "EXIT", json!({})).await
}

/// An enabled workflow whose executions wait.
async fn lasting<'a>(app: &'a App, event: &str) -> Flow<'a> {
    enabled(app, event, "WAIT_FOR_EVENT", json!({"eventName": "never"})).await
}

async fn track(app: &App, email: &str, event: &str, data: Value) -> Value {
    track_ok(app, json!({"email": email, "event": event, "data": data})).await
}

async fn patch(app: &App, contact: &Value, changes: Value) {
    let path = format!("/contacts/{}", text(&contact["id"]));
    app.patch(&path).json(&changes).send().await.assert_status(200);
}

/// Waits until an event that comes after all others has had its effect, on a workflow that begins with `sentinel`.
async fn until_handled(app: &App, sentinel: &Flow<'_>) {
    let email = format!("sentinel{}@example.com", sentinel.executions().await.len());
    let tracked = track(app, &email, "sentinel", json!({})).await;
    sentinel.of_contact(&tracked["contact"], 1).await;
}

/// The first letters of the contacts that have an execution, in the order of the alphabet.
async fn letters(flow: &Flow<'_>) -> String {
    let executions = flow.executions().await;
    let mut letters: Vec<&str> =
        executions.iter().map(|execution| &text(&execution["contact"]["email"])[..1]).collect();
    letters.sort_unstable();
    letters.concat()
}

fn filter(field: &str, operator: &str, value: Value) -> Value {
    json!({"field": field, "operator": operator, "value": value})
}

/// A tree with one group for each filter.
fn tree(logic: &str, filters: &[&Value]) -> Value {
    let groups: Vec<Value> = filters.iter().map(|filter| json!({"filters": [filter]})).collect();
    json!({"logic": logic, "groups": groups})
}

both_engines! {
    async fn an_event_begins_every_enabled_workflow_of_its_name(engine: Engine) {
        let app = App::start(engine).await;
        let (one, two) = (passing(&app, "signup").await, lasting(&app, "signup").await);
        let disabled = Flow::new(&app, "signup").await;
        disabled.then("EXIT", json!({})).await;
        let mut others = vec![disabled];
        for event in ["Signup", "signup2", "sign", "sign up"] {
            others.push(passing(&app, event).await);
        }
        let tracked = track(&app, "ann@example.com", "signup", json!({"plan": "pro"})).await;
        for execution in [one.only("EXITED").await, two.only("WAITING").await] {
            assert_eq!(execution["contactId"], tracked["contact"]);
            assert_eq!(execution["sourceEventId"], tracked["event"]);
            assert_eq!(execution["context"], json!({"plan": "pro"}));
            let told = output(&execution, "TRIGGER");
            assert_eq!((&told["triggered"], &told["eventName"]), (&json!(true), &json!("signup")), "{execution}");
        }
        for other in &others {
            assert!(other.executions().await.is_empty(), "{}", other.id);
        }
    }

    async fn a_filter_decides_by_the_contact_and_by_the_data_of_the_event(engine: Engine) {
        let app = App::start(engine).await;
        create_contact(&app, "ann@example.com", true, json!({"plan": "pro"})).await;
        create_contact(&app, "bob@example.com", false, json!({"plan": "free"})).await;
        track(&app, "cid@example.com", "visited", json!({})).await;
        let list = json!({"name": "List", "type": "STATIC"});
        let list = app.post("/segments").json(&list).send().await.assert_status(201).json();
        let path = format!("/segments/{}/members", text(&list["id"]));
        let emails = json!({"emails": ["bob@example.com", "cid@example.com"]});
        app.post(&path).json(&emails).send().await.assert_status(200);

        let pro = filter("data.plan", "equals", json!("pro"));
        let subscribed = filter("subscribed", "equals", json!(true));
        let listed = filter(&format!("segment.{}", text(&list["id"])), "memberOfSegment", Value::Null);
        let more_than = |amount: i64| filter("event.amount", "greaterThan", json!(amount));
        let mut flows = Vec::new();
        for (condition, expected) in [
            (tree("AND", &[&pro]), "ab"),
            (tree("AND", &[&subscribed]), "ac"),
            (tree("AND", &[&filter("email", "contains", json!("b@"))]), "b"),
            (tree("AND", &[&more_than(100)]), "a"),
            (tree("AND", &[&more_than(10)]), "ab"),
            (tree("AND", &[&filter("event.kind", "equals", json!("gift"))]), "b"),
            (tree("AND", &[&filter("event.visited", "triggered", Value::Null)]), "c"),
            (tree("AND", &[&listed]), "bc"),
            (tree("OR", &[&pro, &listed]), "abc"),
            (tree("AND", &[&listed, &more_than(10)]), "b"),
            (tree("AND", &[&more_than(1000)]), ""),
            (tree("AND", &[&filter("data.plan", "equals", json!("free"))]), ""),
        ] {
            let flow = Flow::new(&app, "order").await;
            flow.then("EXIT", json!({})).await;
            flow.change(json!({"triggerConfig": {"eventName": "order", "filter": condition}})).await;
            flow.enable().await;
            flows.push((flow, condition, expected));
        }
        let unfiltered = passing(&app, "order").await;
        // what an event says of its contact is known to the filter
        for (email, data) in [
            ("ann@example.com", json!({"amount": {"value": 150, "persistent": false}})),
            ("bob@example.com", json!({"amount": 50, "plan": "pro", "kind": "gift"})),
            ("cid@example.com", json!({})),
        ] {
            track(&app, email, "order", data).await;
        }
        app.eventually("the workflow without a filter has all", async || {
            (letters(&unfiltered).await == "abc").then_some(())
        }).await;
        for (flow, condition, expected) in &flows {
            app.eventually(&format!("{condition} lets in {expected:?}"), async || {
                (letters(flow).await == *expected).then_some(())
            }).await;
        }
    }

    async fn a_contact_goes_through_a_workflow_once_unless_it_may_again(engine: Engine) {
        let app = App::start(engine).await;
        let sentinel = passing(&app, "sentinel").await;
        for (status, kind, config) in [
            ("EXITED", "EXIT", json!({})),
            ("COMPLETED", "UPDATE_CONTACT", json!({"updates": {"seen": true}})),
            ("FAILED", "SEND_EMAIL", json!({})),
            ("CANCELLED", "WAIT_FOR_EVENT", json!({"eventName": "never"})),
            ("WAITING", "DELAY", json!({"amount": 1, "unit": "days"})),
        ] {
            let event = format!("until {status}");
            let flow = enabled(&app, &event, kind, config).await;
            let tracked = track(&app, "ann@example.com", &event, json!({})).await;
            if status == "CANCELLED" {
                let waiting = flow.only("WAITING").await;
                let path = flow.path(&format!("/executions/{}", text(&waiting["id"])));
                app.delete(&path).send().await.assert_status(200);
            }
            let first = flow.only(status).await;
            track(&app, "ann@example.com", &event, json!({})).await;
            flow.try_start(&tracked["contact"], json!({})).await.assert_error(409, "CONFLICT");
            until_handled(&app, &sentinel).await;
            assert_eq!(flow.executions().await.len(), 1, "{status}");

            flow.change(json!({"allowReentry": true})).await;
            track(&app, "ann@example.com", &event, json!({})).await;
            if status == "WAITING" {
                flow.try_start(&tracked["contact"], json!({})).await.assert_error(409, "CONFLICT");
                until_handled(&app, &sentinel).await;
                assert_eq!(flow.only("WAITING").await["id"], first["id"], "one at a time");
            } else {
                let both = flow.of_contact(&tracked["contact"], 2).await;
                assert_eq!(both[1]["id"], first["id"], "{status}");
                assert_ne!(both[0]["id"], first["id"], "{status}");
            }
        }
    }

    async fn events_at_once_begin_one_execution_for_each_contact(engine: Engine) {
        let app = App::start(engine).await;
        let sentinel = passing(&app, "sentinel").await;
        for allow_reentry in [false, true] {
            let event = format!("at once {allow_reentry}");
            let flow = lasting(&app, &event).await;
            flow.change(json!({"allowReentry": allow_reentry})).await;
            let tracked = join_all((0..30).map(|n| {
                let email = format!("c{}@example.com", n % 5);
                track_ok(&app, json!({"email": email, "event": event, "data": {"n": n}}))
            })).await;
            app.eventually("five executions", async || (flow.executions().await.len() >= 5).then_some(())).await;
            until_handled(&app, &sentinel).await;
            let executions = flow.executions().await;
            assert_eq!(executions.len(), 5, "{executions:?}");
            let contacts: BTreeSet<&str> = executions.iter().map(|one| text(&one["contactId"])).collect();
            assert_eq!(contacts.len(), 5, "{executions:?}");
            let events: BTreeSet<&str> = tracked.iter().map(|one| text(&one["event"])).collect();
            for execution in &executions {
                assert!(events.contains(text(&execution["sourceEventId"])), "{execution}");
            }
        }
    }

    async fn starts_by_hand_at_once_begin_one_execution(engine: Engine) {
        let app = App::start(engine).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        for allow_reentry in [false, true] {
            let flow = lasting(&app, "signup").await;
            flow.change(json!({"allowReentry": allow_reentry})).await;
            let answers = join_all((0..8).map(|_| flow.try_start(&ann["id"], json!({})))).await;
            assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1);
            for answer in answers.iter().filter(|answer| answer.status != 201) {
                answer.assert_error(409, "CONFLICT");
            }
            assert_eq!(flow.only("WAITING").await["contactId"], ann["id"]);
        }
    }

    async fn a_start_by_hand_has_a_context_of_its_own(engine: Engine) {
        let app = App::start(engine).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        let flow = lasting(&app, "signup").await;
        let context = json!({"order": {"id": "A-1"}, "n": 1});
        let started = flow.try_start(&ann["id"], context.clone()).await.assert_status(201).json();
        assert_keys(&started, &[
            "id", "workflowId", "contactId", "status", "currentStepId", "exitReason", "context", "sourceEventId",
            "version", "startedAt", "completedAt", "createdAt", "updatedAt",
        ]);
        assert_uuid(&started["id"]);
        assert_timestamp(&started["startedAt"]);
        assert_eq!((&started["workflowId"], &started["contactId"]), (&json!(flow.id), &ann["id"]));
        assert_eq!((&started["status"], &started["context"]), (&json!("RUNNING"), &context));
        for unset in ["sourceEventId", "exitReason", "completedAt"] {
            assert_eq!(started[unset], Value::Null, "{unset}");
        }
        let waiting = flow.once(text(&started["id"]), "WAITING").await;
        assert_eq!(waiting["context"], context);
        assert_eq!(output(&waiting, "TRIGGER")["eventName"], "manual");

        // no context is needed
        let bob = create_contact(&app, "bob@example.com", true, json!({})).await;
        let body = json!({"contactId": bob["id"]});
        let started = app.post(&flow.path("/executions")).json(&body).send().await.assert_status(201).json();
        flow.once(text(&started["id"]), "WAITING").await;
        let disabled = Flow::new(&app, "signup").await;
        disabled.try_start(&ann["id"], json!({})).await.assert_error(400, "BAD_REQUEST");
        assert!(disabled.executions().await.is_empty());
    }

    async fn a_workflow_is_for_the_contacts_of_its_project_only(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let flow = passing(&app, "signup").await;
        let body = json!({"email": "ann@example.com", "event": "signup"});
        let tracked = as_project(&app, &other, "POST", "/v1/track").json(&body).send().await.assert_status(200);
        let foreign = tracked.json()["data"]["contact"].clone();
        for id in [&foreign, &json!(UNKNOWN_ID)] {
            flow.try_start(id, json!({})).await.assert_error(404, "CONTACT_NOT_FOUND");
        }
        let body = json!({"contactId": foreign});
        let theirs = as_project(&app, &other, "POST", &flow.path("/executions")).json(&body).send().await;
        assert_envelope(&theirs, 404);
        let own = track(&app, "ann@example.com", "signup", json!({})).await;
        assert_eq!(flow.only("EXITED").await["contactId"], own["contact"]);
    }

    async fn the_events_of_the_service_itself_begin_executions(engine: Engine) {
        let app = App::start(engine).await;
        let entry = passing(&app, "segment.vip-users.entry").await;
        let exit = passing(&app, "segment.vip-users.exit").await;
        let condition = tree("AND", &[&filter("data.plan", "equals", json!("vip"))]);
        let segment = json!({"name": "VIP Users", "condition": condition, "trackMembership": true});
        let segment = app.post("/segments").json(&segment).send().await.assert_status(201).json();
        let ann = create_contact(&app, "ann@example.com", true, json!({"plan": "vip"})).await;
        let entered = entry.only("EXITED").await;
        assert_eq!(entered["contactId"], ann["id"]);
        assert_eq!(entered["context"]["segmentId"], segment["id"]);
        patch(&app, &ann, json!({"data": {"plan": "free"}})).await;
        assert_eq!(exit.only("EXITED").await["contactId"], ann["id"]);

        let unsubscribed = passing(&app, "contact.unsubscribed").await;
        let subscribed = passing(&app, "contact.subscribed").await;
        let sent = passing(&app, "email.sent").await;
        patch(&app, &ann, json!({"subscribed": false})).await;
        assert_eq!(unsubscribed.only("EXITED").await["contactId"], ann["id"]);
        assert!(subscribed.executions().await.is_empty());
        track_ok(&app, json!({"email": "ann@example.com", "event": "back", "subscribed": true})).await;
        assert_eq!(subscribed.only("EXITED").await["contactId"], ann["id"]);
        app.send_to("ann@example.com").await;
        assert_eq!(sent.only("EXITED").await["contactId"], ann["id"]);
        assert_eq!(entry.executions().await.len(), 1);
    }

    async fn a_disabled_workflow_ends_what_it_began_and_begins_nothing(engine: Engine) {
        let app = App::start(engine).await;
        let sentinel = passing(&app, "sentinel").await;
        let flow = Flow::new(&app, "signup").await;
        flow.then("DELAY", json!({"amount": 1, "unit": "hours"})).await;
        flow.then("EXIT", json!({})).await;
        track(&app, "early@example.com", "signup", json!({})).await;
        until_handled(&app, &sentinel).await;
        flow.enable().await;
        let ann = track(&app, "ann@example.com", "signup", json!({})).await;
        flow.only("WAITING").await;
        flow.change(json!({"enabled": false})).await;
        track(&app, "late@example.com", "signup", json!({})).await;
        until_handled(&app, &sentinel).await;
        app.advance(Duration::from_secs(3_601)).await;
        assert_eq!(flow.only("EXITED").await["contactId"], ann["contact"]);
        flow.enable().await;
        let late = track(&app, "late@example.com", "signup", json!({})).await;
        flow.of_contact(&late["contact"], 1).await;
        assert_eq!(flow.executions().await.len(), 2, "what was tracked before does not count");
    }
}

one_engine! {
    async fn starts_that_are_incomplete_or_too_large_are_refused(engine: Engine) {
        let app = App::start(engine).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        let flow = lasting(&app, "signup").await;
        assert_legacy(&app.post(&flow.path("/executions")).json(&json!({})).send().await, 400);
        for context in [json!("x"), json!([1]), json!(5), json!({"x": "x".repeat(65 * 1024)})] {
            issue(&flow.try_start(&ann["id"], context).await, "context");
        }
        assert!(flow.executions().await.is_empty());
        let id = flow.start(&ann["id"], json!({"x": "x".repeat(60 * 1024)})).await;
        assert_eq!(text(&flow.once(&id, "WAITING").await["context"]["x"]).len(), 60 * 1024);
    }
}
