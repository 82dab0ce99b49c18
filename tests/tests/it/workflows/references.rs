//! What workflows refer to: triggers, fields for conditions, the usage endpoints, and deletions of what is in use.

use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::workflow::{Flow, output};
use mailwright_tests::{
    UNKNOWN_ID, as_project, assert_only_keys, column, create_contact, create_template, encoded, items,
};
use mailwright_tests::{members, read, text, track_ok};
use serde_json::{Value, json};

use super::records::{list, only};

fn reference(flow: &Flow<'_>, name: &str) -> Value {
    json!({"id": flow.id, "name": name})
}

/// The list has these elements, in whatever order.
fn assert_same(found: &Value, expected: &[Value]) {
    let (mut found, mut expected) = (items(found).to_vec(), expected.to_vec());
    for list in [&mut found, &mut expected] {
        list.sort_by_key(|element| text(&element["id"]).to_owned());
    }
    assert_eq!(found, expected);
}

/// Workflows of these names that each have one step of a type.
async fn with_steps<'a>(app: &'a App, all: &[(&str, &str, Value)]) -> Vec<(Flow<'a>, Value)> {
    let mut made = Vec::new();
    for (name, kind, config) in all {
        let flow = Flow::new(app, name).await;
        flow.then(kind, config.clone()).await;
        let reference = reference(&flow, name);
        made.push((flow, reference));
    }
    made
}

/// Workflows of these names that are each changed in one way.
async fn with_changes<'a>(app: &'a App, all: &[(&str, Value)]) -> Vec<(Flow<'a>, Value)> {
    let mut made = Vec::new();
    for (name, change) in all {
        let flow = Flow::new(app, name).await;
        flow.change(change.clone()).await;
        let reference = reference(&flow, name);
        made.push((flow, reference));
    }
    made
}

/// The fields for conditions, each as `FIELD TYPE CATEGORY`.
async fn fields(app: &App, query: &str) -> Vec<String> {
    let found = read(app, &format!("/workflows/fields{query}")).await;
    assert_only_keys(&found, &["fields", "typedFields", "count"]);
    let names = column(&found["typedFields"], "field");
    assert_eq!(found["fields"], json!(names));
    assert_eq!(found["count"], names.len());
    assert!(names.is_sorted(), "{names:?}");
    let line = |field: &Value| {
        format!("{} {} {}", text(&field["field"]), text(&field["type"]), text(&field["category"]))
    };
    items(&found["typedFields"]).iter().map(line).collect()
}

async fn workflow_steps(app: &App, template: &Value) -> Value {
    read(app, &format!("/templates/{}/usage", text(&template["id"]))).await["workflowSteps"].clone()
}

both_engines! {
    async fn conditions_can_ask_for_what_contacts_and_events_have(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let contact = [
            "contact.createdAt date Contact Fields",
            "contact.email string Contact Fields",
            "contact.id string Contact Fields",
            "contact.subscribed boolean Contact Fields",
            "contact.updatedAt date Contact Fields",
        ];
        assert_eq!(fields(&app, "").await, contact);
        let person = json!({"plan": "pro", "score": 10, "vip": true, "since": "2024-03-05"});
        create_contact(&app, "ann@example.com", true, person).await;
        // what is not persistent is no field of the contact
        let once = |value: Value| json!({"value": value, "persistent": false});
        let order = json!({
            "code": once(json!("A")), "day": once(json!("2024-03-05")), "gift": once(json!(true)),
            "total": once(json!(12.5)), "plan": "free",
        });
        track_ok(&app, json!({"email": "ann@example.com", "event": "order placed", "data": order})).await;
        let visit = json!({"page": once(json!("home"))});
        track_ok(&app, json!({"email": "ann@example.com", "event": "visit", "data": visit})).await;
        let known = [
            contact[0],
            "contact.data.plan string Custom Data",
            "contact.data.score number Custom Data",
            "contact.data.since date Custom Data",
            "contact.data.vip boolean Custom Data",
        ];
        let known = [&known[..], &contact[1..]].concat();
        let ordered = [
            "event.code string Event Data",
            "event.day date Event Data",
            "event.gift boolean Event Data",
            "event.plan string Event Data",
            "event.total number Event Data",
        ];
        let page = "event.page string Event Data";
        let every = [&ordered[..3], &[page], &ordered[3..]].concat();
        for (query, events) in [
            (String::new(), every),
            (format!("?eventName={}", encoded("order placed")), ordered.to_vec()),
            ("?eventName=visit".to_owned(), vec![page]),
            ("?eventName=order".to_owned(), vec![]),
        ] {
            assert_eq!(fields(&app, &query).await, [&known[..], &events[..]].concat(), "{query}");
        }
        let theirs = as_project(&app, &other, "GET", "/workflows/fields").send().await.assert_status(200).json();
        assert_eq!(theirs["count"], 5, "{theirs}");
    }

    async fn a_template_knows_the_steps_that_send_it(engine: Engine) {
        let app = App::start(engine).await;
        let template = create_template(&app, &json!({})).await;
        let path = format!("/templates/{}", text(&template["id"]));
        let sends = json!({"templateId": template["id"]});
        let [first, second] = [Flow::new(&app, "signup").await, Flow::new(&app, "paid").await];
        let step = first.try_add("SEND_EMAIL", &json!({}), &sends).await.assert_status(201).json();
        let again = first.try_add("SEND_EMAIL", &json!({}), &sends).await.assert_status(201).json();
        let told = first.try_add("SEND_EMAIL", &sends, &json!({"name": "Told"})).await.assert_status(201).json();
        assert_eq!(told["templateId"], template["id"], "the config names it too");
        let elsewhere = second.try_add("SEND_EMAIL", &json!({}), &sends).await.assert_status(201).json();
        let line = |flow: &Flow<'_>, workflow: &str, step: &Value| {
            json!({"id": step["id"], "name": step["name"], "workflowId": flow.id, "workflowName": workflow})
        };
        let lines = [&step, &again, &told].map(|step| line(&first, "signup", step));
        let all = [&lines[..], &[line(&second, "paid", &elsewhere)]].concat();
        assert_same(&workflow_steps(&app, &template).await, &all);

        app.delete(&path).send().await.assert_error(409, "CONFLICT");
        let other = create_template(&app, &json!({"name": "Other"})).await;
        for (step, change) in [
            (&told, json!({"config": {}, "templateId": null})),
            (&again, json!({"templateId": other["id"]})),
        ] {
            let path = first.path(&format!("/steps/{}", text(&step["id"])));
            app.patch(&path).json(&change).send().await.assert_status(200);
        }
        assert_same(&workflow_steps(&app, &other).await, &[line(&first, "signup", &again)]);
        app.delete(&second.path("")).send().await.assert_status(204);
        assert_same(&workflow_steps(&app, &template).await, &lines[..1]);
        app.delete(&path).send().await.assert_error(409, "CONFLICT");
        first.enable().await;
        let spliced = first.path(&format!("/steps/{}?splice=true", text(&step["id"])));
        app.delete(&spliced).send().await.assert_status(204);
        assert_same(&workflow_steps(&app, &template).await, &[]);
        app.delete(&path).send().await.assert_status(204);
        app.delete(&format!("/templates/{}", text(&other["id"]))).send().await.assert_error(409, "CONFLICT");
    }

    async fn a_field_knows_the_workflows_that_look_at_it(engine: Engine) {
        let app = App::start(engine).await;
        create_contact(&app, "ann@example.com", true, json!({"plan": "pro", "planet": "earth"})).await;
        let filter = only("data.plan", "equals", &json!("pro"));
        let case = json!({"id": "a", "name": "A", "operator": "equals", "value": "pro"});
        let mut looking = with_steps(&app, &[
            ("one value", "CONDITION", json!({"field": "data.plan", "operator": "equals", "value": "pro"})),
            ("long name", "CONDITION", json!({"field": "contact.data.plan", "operator": "exists"})),
            ("many values", "CONDITION", json!({"mode": "multi", "field": "data.plan", "branches": [case]})),
            ("filter", "CONDITION", json!({"mode": "filter", "condition": filter})),
            ("time", "WAIT_UNTIL", json!({"mode": "field", "field": "data.plan"})),
        ]).await;
        looking.extend(with_changes(&app, &[
            ("trigger", json!({"triggerConfig": {"eventName": "trigger", "filter": filter}})),
            ("goal", json!({"goal": {"filter": filter}})),
        ]).await);
        let twice = json!({"field": "data.plan", "operator": "exists"});
        let (flow, _) = &looking[0];
        flow.try_add("CONDITION", &twice, &json!({})).await.assert_status(201);
        let planet = json!({"field": "data.planet", "operator": "exists"});
        let others = with_steps(&app, &[("planet", "CONDITION", planet)]).await;
        let expected: Vec<Value> = looking.iter().map(|(_, reference)| reference.clone()).collect();
        for field in ["data.plan", "plan"] {
            let usage = read(&app, &format!("/contacts/fields/{field}/usage")).await;
            assert_same(&usage["usedInWorkflows"], &expected);
        }
        let usage = read(&app, "/contacts/fields/data.planet/usage").await;
        assert_eq!(usage["usedInWorkflows"], json!([others[0].1]));
        let usage = read(&app, "/contacts/fields/email/usage").await;
        assert_eq!(usage["usedInWorkflows"], json!([]));
    }

    async fn an_event_knows_the_workflows_that_wait_for_it(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let triggered = Flow::new(&app, "paid").await;
        let filter = only("event.paid", "triggered", &Value::Null);
        let mut waiting = with_steps(&app, &[
            ("wait", "WAIT_FOR_EVENT", json!({"eventName": "paid"})),
            ("filter", "CONDITION", json!({"mode": "filter", "condition": filter})),
        ]).await;
        waiting.extend(with_changes(&app, &[("goal", json!({"goal": {"eventName": "paid"}}))]).await);
        Flow::new(&app, "paid later").await;
        let theirs = json!({"name": "Theirs", "eventName": "paid"});
        as_project(&app, &other, "POST", "/workflows").json(&theirs).send().await.assert_status(201);
        let mut expected: Vec<Value> = waiting.iter().map(|(_, reference)| reference.clone()).collect();
        expected.push(reference(&triggered, "paid"));
        let usage = read(&app, "/events/paid/usage").await;
        assert_same(&usage["usedInWorkflows"], &expected);
        let usage = read(&app, "/events/nothing/usage").await;
        assert_eq!(usage["usedInWorkflows"], json!([]));
        for (flow, _) in &waiting {
            app.delete(&flow.path("")).send().await.assert_status(204);
        }
        let usage = read(&app, "/events/paid/usage").await;
        assert_eq!(usage["usedInWorkflows"], json!([reference(&triggered, "paid")]));
        triggered.change(json!({"triggerConfig": {"eventName": "refunded"}})).await;
        let usage = read(&app, "/events/paid/usage").await;
        assert_eq!(usage["usedInWorkflows"], json!([]));
    }

    async fn a_segment_that_a_workflow_refers_to_stays(engine: Engine) {
        let app = App::start(engine).await;
        for place in ["ADD_TO_SEGMENT", "REMOVE_FROM_SEGMENT", "CONDITION", "schedule", "trigger", "goal"] {
            let segment = list(&app).await;
            let path = format!("/segments/{}", text(&segment["id"]));
            let field = format!("segment.{}", text(&segment["id"]));
            let filter = only(&field, "memberOfSegment", &Value::Null);
            let flow = Flow::new(&app, "signup").await;
            let change = match place {
                "schedule" => json!({
                    "triggerType": "SCHEDULE",
                    "triggerConfig": {"segmentId": segment["id"], "start": "2030-01-31T09:00"},
                }),
                "trigger" => json!({"triggerConfig": {"eventName": "signup", "filter": filter}}),
                "goal" => json!({"goal": {"filter": filter}}),
                "CONDITION" => {
                    flow.then(place, json!({"mode": "filter", "condition": filter})).await;
                    json!({"description": place})
                }
                _ => {
                    flow.then(place, json!({"segmentId": segment["id"]})).await;
                    json!({"description": place})
                }
            };
            flow.change(change).await;
            let refused = app.delete(&path).send().await;
            assert_eq!(refused.status, 409, "{place}");
            refused.assert_error(409, "CONFLICT");
            app.delete(&flow.path("")).send().await.assert_status(204);
            app.delete(&path).send().await.assert_status(204);
        }
    }

    async fn what_an_execution_under_way_still_needs_stays(engine: Engine) {
        let app = App::start(engine).await;
        let template = create_template(&app, &json!({"name": "Old"})).await;
        let list = app.post("/segments").json(&json!({"name": "List", "type": "STATIC"})).send().await;
        let list = list.assert_status(201).json();
        let needed = [format!("/templates/{}", text(&template["id"])), format!("/segments/{}", text(&list["id"]))];
        let flow = Flow::new(&app, "begun").await;
        flow.then("DELAY", json!({"amount": 1, "unit": "hours"})).await;
        let mail = flow.then("SEND_EMAIL", json!({"templateId": template["id"]})).await;
        flow.then("ADD_TO_SEGMENT", json!({"segmentId": list["id"]})).await;
        flow.enable().await;
        track_ok(&app, json!({"email": "ann@example.com", "event": "begun"})).await;
        let id = text(&flow.only("WAITING").await["id"]).to_owned();
        app.delete(&flow.path(&format!("/steps/{mail}"))).send().await.assert_status(204);
        app.post(&flow.path("/publish")).send().await.assert_status(200);
        for path in &needed {
            app.delete(path).send().await.assert_error(409, "CONFLICT");
        }
        app.delete(&flow.path(&format!("/executions/{id}"))).send().await.assert_status(200);
        for path in &needed {
            app.delete(path).send().await.assert_status(204);
        }
    }

    async fn a_step_refers_to_what_its_project_has(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let make = async |path: &str, body: Value| {
            as_project(&app, &other, "POST", path).json(&body).send().await.assert_status(201).json()["id"].clone()
        };
        let body = json!({"name": "T", "subject": "S", "body": "<p>B</p>", "from": other.from});
        let template = make("/templates", body).await;
        let segment = make("/segments", json!({"name": "List", "type": "STATIC"})).await;
        let flow = Flow::new(&app, "signup").await;
        let step = flow.then("SEND_EMAIL", json!({})).await;
        let before = read(&app, &flow.path("")).await;
        let none = json!({});
        for id in [json!(UNKNOWN_ID), template] {
            let sends = json!({"templateId": id});
            flow.try_add("SEND_EMAIL", &sends, &none).await.assert_error(404, "TEMPLATE_NOT_FOUND");
            flow.try_add("SEND_EMAIL", &none, &sends).await.assert_error(404, "TEMPLATE_NOT_FOUND");
            let patched = app.patch(&flow.path(&format!("/steps/{step}"))).json(&sends).send().await;
            patched.assert_error(404, "TEMPLATE_NOT_FOUND");
        }
        for id in [json!(UNKNOWN_ID), segment] {
            let member = json!({"segmentId": id});
            for kind in ["ADD_TO_SEGMENT", "REMOVE_FROM_SEGMENT"] {
                flow.try_add(kind, &member, &none).await.assert_error(404, "RESOURCE_NOT_FOUND");
            }
            let schedule = json!({"segmentId": id, "start": "2030-01-31T09:00"});
            let change = json!({"triggerType": "SCHEDULE", "triggerConfig": schedule});
            app.patch(&flow.path("")).json(&change).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        }
        assert_eq!(read(&app, &flow.path("")).await, before, "nothing of it was done");
    }

    async fn a_trigger_is_an_event_a_person_or_a_schedule(engine: Engine) {
        let app = App::start(engine).await;
        let segment = list(&app).await;
        let flow = Flow::new(&app, "signup").await;
        let renamed = flow.change(json!({"triggerConfig": {"eventName": "order placed"}})).await;
        assert_eq!(renamed["triggerConfig"], json!({"eventName": "order placed"}));
        let step = read(&app, &flow.path("")).await["steps"][0].clone();
        assert_eq!(step["id"], flow.trigger, "it is the same step");
        assert_eq!(step["name"], "Trigger: order placed");
        assert_eq!(step["config"]["eventName"], "order placed");
        for (kind, config) in [
            ("MANUAL", Value::Null),
            ("SCHEDULE", json!({"segmentId": segment["id"], "start": "2030-01-31T09:00"})),
            ("EVENT", json!({"eventName": "paid", "filter": only("data.plan", "equals", &json!("pro"))})),
        ] {
            flow.change(json!({"triggerType": kind, "triggerConfig": config})).await;
            let found = read(&app, &flow.path("")).await;
            assert_eq!(found["triggerType"], kind);
            if config.is_null() {
                assert_eq!(found["triggerConfig"], Value::Null, "{kind}");
                continue;
            }
            for (key, value) in members(&config) {
                assert_eq!(found["triggerConfig"][key], *value, "{kind} {key}");
            }
        }
    }

    async fn a_condition_on_a_deleted_field_matches_nobody(engine: Engine) {
        let app = App::start(engine).await;
        let flow = Flow::new(&app, "signup").await;
        flow.then("CONDITION", json!({"field": "data.plan", "operator": "equals", "value": "pro"})).await;
        flow.enable().await;
        let ann = create_contact(&app, "ann@example.com", true, json!({"plan": "pro"})).await;
        let bob = create_contact(&app, "bob@example.com", true, json!({"plan": "pro"})).await;
        let execution = flow.start(&ann["id"], json!({})).await;
        assert_eq!(output(&flow.once(&execution, "COMPLETED").await, "CONDITION")["branch"], "yes");
        app.delete("/contacts/fields/data.plan").send().await.assert_status(200);
        let execution = flow.start(&bob["id"], json!({})).await;
        assert_eq!(output(&flow.once(&execution, "COMPLETED").await, "CONDITION")["branch"], "no");
        let usage = read(&app, "/contacts/fields/data.plan/usage").await;
        assert_eq!(usage["usedInWorkflows"], json!([reference(&flow, "signup")]), "the condition stays");
    }

    async fn deleting_the_events_of_a_name_leaves_workflows_and_executions(engine: Engine) {
        let app = App::start(engine).await;
        let flow = Flow::new(&app, "signup").await;
        flow.then("EXIT", json!({})).await;
        flow.enable().await;
        let ann = track_ok(&app, json!({"email": "ann@example.com", "event": "signup"})).await;
        let ended = flow.only("EXITED").await;
        assert_eq!(ended["sourceEventId"], ann["event"]);
        let deleted = app.delete("/events/signup").send().await.assert_status(200).json();
        assert_eq!(deleted, json!({"deletedCount": 1}));
        assert_eq!(flow.only("EXITED").await["id"], ended["id"], "the execution is still told of");
        let usage = read(&app, "/events/signup/usage").await;
        assert_eq!(usage["usedInWorkflows"], json!([reference(&flow, "signup")]));
        let bob = track_ok(&app, json!({"email": "bob@example.com", "event": "signup"})).await;
        flow.of_contact(&bob["contact"], 1).await;
    }
}
