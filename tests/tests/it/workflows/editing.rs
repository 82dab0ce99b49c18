//! Steps and transitions: what is added, changed, removed and refused.

use mailwright_testkit::{App, Engine, Response, both_engines, one_engine};
use mailwright_tests::workflow::Flow;
use mailwright_tests::{
    UNKNOWN_ID, assert_legacy, assert_uuid, create_template, issue, issues, items, members, read, text, with,
    without,
};
use serde_json::{Value, json};

use super::records::{links, list, only};

/// The least that each type of step has to be told.
fn config(kind: &str) -> Value {
    match kind {
        "DELAY" => json!({"amount": 1, "unit": "hours"}),
        "WAIT_FOR_EVENT" => json!({"eventName": "paid", "timeout": 60}),
        "CONDITION" => json!({"field": "data.plan", "operator": "equals", "value": "pro"}),
        "RANDOM_SPLIT" => json!({"branches": [{"id": "a", "weight": 50}, {"id": "b", "weight": 50}]}),
        "UPDATE_CONTACT" => json!({"updates": {"plan": "pro"}}),
        "WEBHOOK" => json!({"url": "https://example.com/"}),
        _ => json!({}),
    }
}

/// Adds a step that nothing leads to. Returns its id.
async fn put(flow: &Flow<'_>, kind: &str, name: &str) -> String {
    let changes = json!({"name": name, "autoConnect": false});
    let added = flow.try_add(kind, &config(kind), &changes).await.assert_status(201).json();
    text(&added["id"]).to_owned()
}

/// The transitions of a workflow by the names of the steps.
async fn drawn(app: &App, flow: &Flow<'_>) -> Vec<String> {
    links(&read(app, &flow.path("")).await)
}

/// A workflow whose two branches lead to the same end, and its steps: the TRIGGER, C, A, B, M and E.
async fn diamond(app: &App) -> (Flow<'_>, Vec<String>) {
    let flow = Flow::new(app, "signup").await;
    let mut steps = vec![flow.trigger.clone()];
    for (kind, name) in [("CONDITION", "C"), ("DELAY", "A"), ("DELAY", "B"), ("DELAY", "M"), ("EXIT", "E")] {
        steps.push(put(&flow, kind, name).await);
    }
    for (from, to, branch) in [(0, 1, ""), (1, 2, "yes"), (1, 3, "no"), (2, 4, ""), (3, 4, ""), (4, 5, "")] {
        let said = if branch.is_empty() { json!({}) } else { json!({"branch": branch}) };
        flow.link(&steps[from], &steps[to], said).await;
    }
    (flow, steps)
}

fn step_path(flow: &Flow<'_>, step: &str) -> String {
    flow.path(&format!("/steps/{step}"))
}

/// Puts a step between two others.
async fn insert(app: &App, flow: &Flow<'_>, transition: &str, kind: &str, config: &Value) -> Response {
    let path = flow.path(&format!("/transitions/{transition}/insert-step"));
    app.post(&path).json(&json!({"type": kind, "name": "N", "config": config})).send().await
}

/// So many branches of a CONDITION.
fn cases(count: usize) -> Value {
    let one = |n: usize| json!({"id": format!("b{n}"), "name": "B", "operator": "equals", "value": n});
    (0..count).map(one).collect()
}

/// So many branches of a `RANDOM_SPLIT`.
fn shares(count: usize) -> Value {
    (0..count).map(|n| json!({"id": format!("b{n}"), "weight": 1})).collect()
}

both_engines! {
    async fn a_new_step_hangs_from_the_newest_loose_end(engine: Engine) {
        let app = App::start(engine).await;
        let flow = Flow::new(&app, "signup").await;
        for (kind, is_hung, expected) in [
            ("DELAY", true, "TRIGGER --> DELAY"),
            ("WAIT_FOR_EVENT", true, "DELAY --> WAIT_FOR_EVENT"),
            ("WEBHOOK", false, ""),
            ("EXIT", true, "WEBHOOK --> EXIT"),
            ("UPDATE_CONTACT", true, "WAIT_FOR_EVENT --> UPDATE_CONTACT"),
        ] {
            let before = drawn(&app, &flow).await;
            flow.try_add(kind, &config(kind), &json!({"autoConnect": is_hung})).await.assert_status(201);
            let mut after = drawn(&app, &flow).await;
            after.retain(|link| !before.contains(link));
            assert_eq!(after.concat(), expected, "{kind}");
        }
        for kind in ["EXIT", "CONDITION", "RANDOM_SPLIT"] {
            let flow = Flow::new(&app, kind).await;
            flow.then(kind, config(kind)).await;
            flow.then("DELAY", config("DELAY")).await;
            assert_eq!(drawn(&app, &flow).await, [format!("TRIGGER --> {kind}")]);
        }
    }

    async fn a_step_shows_and_changes_what_is_sent(engine: Engine) {
        let app = App::start(engine).await;
        let template = create_template(&app, &json!({})).await;
        let flow = Flow::new(&app, "signup").await;
        let told = json!({"name": "Greet", "position": {"x": 12.5, "y": -3.5}, "templateId": template["id"]});
        let step = flow.try_add("SEND_EMAIL", &json!({}), &told).await.assert_status(201).json();
        assert_eq!(step["workflowId"], flow.id);
        for (key, value) in members(&told) {
            assert_eq!(step[key], *value, "{key}");
        }
        let path = step_path(&flow, text(&step["id"]));
        let recipient = json!({"type": "CUSTOM", "customEmail": "boss@example.com"});
        let change = json!({"name": "Tell", "position": {"x": 1.5, "y": 2.5}, "config": {"recipient": recipient}});
        let changed = app.patch(&path).json(&change).send().await.assert_status(200).json();
        assert_eq!((&changed["name"], &changed["position"]), (&change["name"], &change["position"]));
        assert_eq!((&changed["config"]["recipient"], &changed["templateId"]), (&recipient, &template["id"]));
        let cleared = app.patch(&path).json(&json!({"templateId": null})).send().await.assert_status(200).json();
        assert_eq!((&cleared["templateId"], &cleared["name"]), (&Value::Null, &json!("Tell")));
        app.patch(&path).json(&json!({"type": "EXIT"})).send().await;
        let whole = read(&app, &flow.path("")).await;
        assert_eq!((&whole["steps"][1]["type"], &whole["steps"][1]["template"]), (&json!("SEND_EMAIL"), &Value::Null));
    }

    async fn a_removed_step_takes_along_what_follows_or_is_spliced_out(engine: Engine) {
        let app = App::start(engine).await;
        let trigger = "TRIGGER --> C";
        for (step, query, left, expected) in [
            (2, "", 3, vec!["C -no-> B", trigger]),
            (1, "", 1, vec![]),
            (5, "", 5, vec!["A --> M", "B --> M", "C -no-> B", "C -yes-> A", trigger]),
            (2, "?splice=true", 5, vec!["B --> M", "C -no-> B", "C -yes-> M", "M --> E", trigger]),
            (4, "?splice=true", 5, vec!["A --> E", "B --> E", "C -no-> B", "C -yes-> A", trigger]),
            (5, "?splice=true", 5, vec!["A --> M", "B --> M", "C -no-> B", "C -yes-> A", trigger]),
        ] {
            let (flow, steps) = diamond(&app).await;
            let path = format!("{}{query}", step_path(&flow, &steps[step]));
            assert!(app.delete(&path).send().await.assert_status(204).body.is_empty());
            let whole = read(&app, &flow.path("")).await;
            assert_eq!(links(&whole), expected, "{step}{query}");
            assert_eq!(items(&whole["steps"]).len(), left, "{step}{query}");
            app.delete(&path).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        }
        let (flow, steps) = diamond(&app).await;
        let split = put(&flow, "RANDOM_SPLIT", "S").await;
        let before = read(&app, &flow.path("")).await;
        app.delete(&step_path(&flow, &flow.trigger)).send().await.assert_error(400, "BAD_REQUEST");
        for step in [&steps[0], &steps[1], &split] {
            let path = step_path(&flow, step) + "?splice=true";
            app.delete(&path).send().await.assert_error(400, "BAD_REQUEST");
        }
        assert_eq!(read(&app, &flow.path("")).await, before);
    }

    async fn a_transition_shows_its_branch_in_both_forms(engine: Engine) {
        let app = App::start(engine).await;
        let flow = Flow::new(&app, "signup").await;
        let [condition, delay] = [put(&flow, "CONDITION", "C").await, put(&flow, "DELAY", "A").await];
        let [exit, wait] = [put(&flow, "EXIT", "E").await, put(&flow, "WAIT_FOR_EVENT", "W").await];
        for (from, said, branch, outcome) in [
            (&condition, json!({"branch": "yes"}), json!("yes"), Value::Null),
            (&condition, json!({"condition": {"branch": "no"}}), json!("no"), Value::Null),
            (&wait, json!({"waitOutcome": "EVENT"}), Value::Null, json!("EVENT")),
            (&wait, json!({"waitOutcome": "TIMEOUT"}), Value::Null, json!("TIMEOUT")),
            (&delay, json!({}), Value::Null, Value::Null),
        ] {
            let link = flow.link(from, &exit, said).await;
            assert_uuid(&link["id"]);
            assert_eq!((text(&link["fromStepId"]), text(&link["toStepId"])), (from.as_str(), exit.as_str()));
            let condition = if branch.is_null() { Value::Null } else { json!({"branch": branch}) };
            assert_eq!((&link["branch"], &link["condition"]), (&branch, &condition));
            assert_eq!((&link["waitOutcome"], &link["priority"]), (&outcome, &json!(0)));
        }
        let all = ["A --> E", "C -no-> E", "C -yes-> E", "W -EVENT-> E", "W -TIMEOUT-> E"];
        assert_eq!(drawn(&app, &flow).await, all, "they may meet in one step");

        let whole = read(&app, &flow.path("")).await;
        let link = items(&whole["transitions"]).iter().find(|link| link["branch"] == "no").expect("the branch");
        let path = flow.path(&format!("/transitions/{}", text(&link["id"])));
        app.delete(&path).send().await.assert_status(204);
        app.delete(&path).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        assert_eq!(drawn(&app, &flow).await.len(), 4);
        flow.link(&condition, &delay, json!({"branch": "no"})).await;
    }

    async fn steps_with_branches_have_only_theirs(engine: Engine) {
        let app = App::start(engine).await;
        let filter = json!({"mode": "filter", "condition": only("data.plan", "equals", &json!("pro"))});
        let multi = json!({"mode": "multi", "field": "data.plan", "branches": cases(2)});
        for (kind, config, known, unknown) in [
            ("CONDITION", config("CONDITION"), vec!["yes", "no"], "maybe"),
            ("CONDITION", filter, vec!["yes", "no"], "default"),
            ("CONDITION", multi, vec!["b0", "b1", "default"], "yes"),
            ("RANDOM_SPLIT", config("RANDOM_SPLIT"), vec!["a", "b"], "default"),
        ] {
            let flow = Flow::new(&app, "signup").await;
            let from = flow.then(kind, config).await;
            let [to, other] = [put(&flow, "DELAY", "A").await, put(&flow, "DELAY", "B").await];
            for said in [json!({}), json!({"branch": unknown})] {
                issue(&flow.try_link(&from, &to, &said).await, "branch");
            }
            for branch in known {
                flow.link(&from, &to, json!({"branch": branch})).await;
                flow.try_link(&from, &other, &json!({"branch": branch})).await.assert_error(400, "BAD_REQUEST");
            }
        }
    }

    async fn transitions_that_lead_nowhere_good_are_refused(engine: Engine) {
        let app = App::start(engine).await;
        let flow = Flow::new(&app, "signup").await;
        let [first, exit] = [put(&flow, "DELAY", "A").await, put(&flow, "EXIT", "X").await];
        let [condition, wait] = [put(&flow, "CONDITION", "C").await, put(&flow, "WAIT_FOR_EVENT", "W").await];
        let [next, loose] = [put(&flow, "DELAY", "D").await, put(&flow, "DELAY", "L").await];
        let (none, yes, event) = (json!({}), json!({"branch": "yes"}), json!({"waitOutcome": "EVENT"}));
        flow.link(&first, &exit, none.clone()).await;
        flow.link(&condition, &next, yes.clone()).await;
        flow.link(&wait, &next, event.clone()).await;
        let before = read(&app, &flow.path("")).await;
        for (from, to, said) in [
            (&loose, &loose, &none), // to itself
            (&next, &condition, &none), // a loop
            (&exit, &loose, &none), // out of an EXIT
            (&first, &loose, &none), // a second one
            (&condition, &loose, &yes), // a second one of a branch
            (&wait, &loose, &event), // a second one of an outcome
            (&loose, &flow.trigger, &none), // into the TRIGGER
        ] {
            flow.try_link(from, to, said).await.assert_error(400, "BAD_REQUEST");
        }
        let (later, outcome) = (json!({"waitOutcome": "LATER"}), "waitOutcome");
        for (from, said, at) in [(&loose, &yes, "branch"), (&loose, &event, outcome), (&wait, &later, outcome)] {
            issue(&flow.try_link(from, &next, said).await, at);
        }
        let other = Flow::new(&app, "other").await;
        let strange = put(&other, "DELAY", "S").await;
        for id in [UNKNOWN_ID, &strange] {
            flow.try_link(&loose, id, &none).await.assert_error(404, "RESOURCE_NOT_FOUND");
            flow.try_link(id, &loose, &none).await.assert_error(404, "RESOURCE_NOT_FOUND");
            let path = step_path(&flow, id);
            app.patch(&path).json(&json!({"name": "N"})).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
            app.delete(&path).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        }
        let elsewhere = other.link(&other.trigger, &strange, none).await;
        for id in [text(&elsewhere["id"]), UNKNOWN_ID] {
            app.delete(&flow.path(&format!("/transitions/{id}"))).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
            insert(&app, &flow, id, "DELAY", &config("DELAY")).await.assert_error(404, "RESOURCE_NOT_FOUND");
        }
        for key in ["fromStepId", "toStepId"] {
            let body = without(json!({"fromStepId": loose, "toStepId": next}), key);
            assert_legacy(&app.post(&flow.path("/transitions")).json(&body).send().await, 400);
        }
        assert_eq!(read(&app, &flow.path("")).await, before, "nothing of it was done");
        assert_eq!(drawn(&app, &other).await, ["TRIGGER --> S"]);
    }

    async fn a_step_can_be_put_between_two_others(engine: Engine) {
        let app = App::start(engine).await;
        for (from, said, kind, expected) in [
            ("DELAY", json!({}), "DELAY", ["F --> N", "N --> T"]),
            ("CONDITION", json!({"branch": "no"}), "WEBHOOK", ["F -no-> N", "N --> T"]),
            ("WAIT_FOR_EVENT", json!({"waitOutcome": "TIMEOUT"}), "DELAY", ["F -TIMEOUT-> N", "N --> T"]),
            ("DELAY", json!({}), "CONDITION", ["F --> N", "N -yes-> T"]),
            ("DELAY", json!({}), "RANDOM_SPLIT", ["F --> N", "N -a-> T"]),
        ] {
            let flow = Flow::new(&app, "signup").await;
            let [one, two] = [put(&flow, from, "F").await, put(&flow, "DELAY", "T").await];
            let link = flow.link(&one, &two, said).await;
            let step = insert(&app, &flow, text(&link["id"]), kind, &config(kind)).await;
            let step = step.assert_status(201).json();
            assert_eq!((&step["type"], &step["workflowId"]), (&json!(kind), &json!(flow.id)));
            assert_eq!(drawn(&app, &flow).await, expected, "{from} {kind}");
        }
        let flow = Flow::new(&app, "signup").await;
        let exit = put(&flow, "EXIT", "T").await;
        let link = flow.link(&flow.trigger, &exit, json!({})).await;
        for (kind, config) in [("TRIGGER", json!({"eventName": "signup"})), ("EXIT", json!({}))] {
            insert(&app, &flow, text(&link["id"]), kind, &config).await.assert_error(400, "BAD_REQUEST");
        }
        issue(&insert(&app, &flow, text(&link["id"]), "DELAY", &json!({"unit": "days"})).await, "config.amount");
        assert_eq!(drawn(&app, &flow).await, ["TRIGGER --> T"]);
    }
}

one_engine! {
    async fn every_type_of_step_is_accepted(engine: Engine) {
        let app = App::start(engine).await;
        let member = json!({"segmentId": list(&app).await["id"]});
        let flow = Flow::new(&app, "signup").await;
        let delay = |amount: i64, unit: &str| json!({"amount": amount, "unit": unit});
        let due = |more: &Value| with(json!({"mode": "field", "field": "data.due"}), more);
        let headers = json!({"url": "http://example.com", "method": "PUT", "headers": {"X-A": "b"}, "body": [1]});
        let window = json!({"mode": "window", "from": "09:00", "to": "17:00"});
        let days = json!({"mode": "window", "from": "09:00", "to": "17:00", "days": ["monday", "sunday"]});
        let filter = json!({"mode": "filter", "condition": only("data.plan", "equals", &json!("pro"))});
        let multi = json!({"mode": "multi", "field": "event.n", "branches": cases(20)});
        for (kind, configs) in [
            ("SEND_EMAIL", json!([{}, {"recipient": {"type": "CONTACT"}}])),
            ("DELAY", json!([delay(525_600, "minutes"), delay(8760, "hours"), delay(365, "days")])),
            ("WAIT_FOR_EVENT", json!([{"eventName": "order placed"}, {"eventName": "paid", "timeout": 31_536_000}])),
            ("CONDITION", json!([{"field": "contact.subscribed", "operator": "equals", "value": true}, filter, multi])),
            ("WEBHOOK", json!([{"url": "https://example.com/a?to={{email}}"}, headers])),
            ("UPDATE_CONTACT", json!([{"updates": {"plan": "pro", "old": null}}, {"subscriptionAction": "subscribe"}])),
            ("EXIT", json!([{}, {"reason": "done"}])),
            ("RANDOM_SPLIT", json!([{"branches": shares(2)}, {"branches": shares(20)}])),
            ("WAIT_UNTIL", json!([{"mode": "date", "date": "2030-01-31T09:00:00.000Z"}, window, days])),
            ("WAIT_UNTIL", json!([due(&json!({})), due(&json!({"offset": delay(1, "days")}))])),
            ("ADD_TO_SEGMENT", json!([member])),
            ("REMOVE_FROM_SEGMENT", json!([member])),
        ] {
            for config in items(&configs) {
                let added = flow.try_add(kind, config, &json!({"autoConnect": false})).await;
                let step = added.assert_status(201).json();
                assert_eq!(step["type"], kind);
                for (key, value) in members(config) {
                    assert_eq!(step["config"][key], *value, "{kind} {key}");
                }
            }
        }
    }

    async fn a_wrong_step_is_refused_at_its_place(engine: Engine) {
        let app = App::start(engine).await;
        let dynamic = json!({"name": "Pro", "condition": only("data.plan", "equals", &json!("pro"))});
        let dynamic = app.post("/segments").json(&dynamic).send().await.assert_status(201).json();
        let multi = |branches: Value| json!({"mode": "multi", "field": "data.plan", "branches": branches});
        let window = |from: &str, day: &str| json!({"mode": "window", "from": from, "to": "17:00", "days": [day]});
        let to = |kind: &str, email: &str| json!({"recipient": {"type": kind, "customEmail": email}});
        let hook = |key: &str, value: Value| with(json!({"url": "https://example.com/"}), &json!({key: value}));
        let pair = |id: &str, n: i32| json!({"branches": [{"id": "a", "weight": 1}, {"id": id, "weight": n}]});
        let wait = |seconds: i64| json!({"eventName": "paid", "timeout": seconds});
        let groups = json!({"mode": "filter", "condition": {"logic": "AND", "groups": 1}});
        let after = |amount: i64, unit: &str| json!({"amount": amount, "unit": unit});
        let (none, segment) = (json!({}), json!({"segmentId": dynamic["id"]}));
        let flow = Flow::new(&app, "signup").await;
        let delay = put(&flow, "DELAY", "A").await;
        let before = read(&app, &flow.path("")).await;
        for (kind, field, configs) in [
            ("SEND_EMAIL", "recipient", json!([to("BOSS", "a@example.com"), to("CUSTOM", "nope"), to("CUSTOM", "")])),
            ("DELAY", "amount", json!([none, after(0, "days"), after(-1, "days"), {"amount": "1", "unit": "days"}])),
            ("DELAY", "amount", json!([after(366, "days"), after(8761, "hours"), after(525_601, "minutes")])),
            ("DELAY", "unit", json!([{"amount": 1}, after(1, "weeks")])),
            ("WAIT_FOR_EVENT", "eventName", json!([none, {"eventName": ""}, {"eventName": 5}])),
            ("WAIT_FOR_EVENT", "timeout", json!([wait(-1), wait(31_536_001)])),
            ("CONDITION", "field", json!([none, {"operator": "exists"}])),
            ("CONDITION", "operator", json!([{"field": "email"}, {"field": "email", "operator": "within"}])),
            ("CONDITION", "mode", json!([{"mode": "other", "field": "data.plan", "operator": "exists"}])),
            ("CONDITION", "branches", json!([multi(json!([])), multi(cases(21)), multi(json!("all"))])),
            ("CONDITION", "condition", json!([{"mode": "filter"}, groups])),
            ("WEBHOOK", "url", json!([none, hook("url", json!("ftp://example.com/")), hook("url", json!("nope"))])),
            ("WEBHOOK", "method", json!([hook("method", json!("TRACE"))])),
            ("WEBHOOK", "headers", json!([hook("headers", json!({"X-A": 5})), hook("headers", json!({"A": "\r\n"}))])),
            ("UPDATE_CONTACT", "updates", json!([{"updates": 5}])),
            ("UPDATE_CONTACT", "subscriptionAction", json!([{"subscriptionAction": "maybe"}])),
            ("EXIT", "reason", json!([{"reason": 5}])),
            ("RANDOM_SPLIT", "branches", json!([none, {"branches": shares(1)}, {"branches": shares(21)}])),
            ("RANDOM_SPLIT", "branches", json!([pair("a", 1), pair("b", -1)])),
            ("WAIT_UNTIL", "mode", json!([none, {"mode": "sometime"}])),
            ("WAIT_UNTIL", "date", json!([{"mode": "date"}, {"mode": "date", "date": "soon"}])),
            ("WAIT_UNTIL", "field", json!([{"mode": "field"}])),
            ("WAIT_UNTIL", "offset", json!([{"mode": "field", "field": "data.due", "offset": {"amount": 1}}])),
            ("WAIT_UNTIL", "to", json!([{"mode": "window", "from": "09:00"}])),
            ("WAIT_UNTIL", "from", json!([window("9 o'clock", "monday"), window("24:30", "monday")])),
            ("WAIT_UNTIL", "days", json!([window("09:00", "someday")])),
            ("ADD_TO_SEGMENT", "segmentId", json!([none, segment])),
            ("REMOVE_FROM_SEGMENT", "segmentId", json!([none, segment])),
        ] {
            for config in items(&configs) {
                let found = issues(&flow.try_add(kind, config, &none).await);
                let place = format!("config.{field}");
                let is_there = found.iter().any(|(at, _)| at.starts_with(&place));
                assert!(is_there, "{kind} {config}: {place} in {found:?}");
            }
        }
        let patched = app.patch(&step_path(&flow, &delay)).json(&json!({"config": {"unit": "days"}})).send().await;
        issue(&patched, "config.amount");
        issue(&flow.try_add("DELAY", &json!("soon"), &none).await, "config");
        let body = json!({"type": "EXIT", "name": "Exit", "position": {"x": 0, "y": 0}, "config": {}});
        for key in ["type", "name", "position", "config"] {
            let body = without(body.clone(), key);
            assert_legacy(&app.post(&flow.path("/steps")).json(&body).send().await, 400);
        }
        flow.try_add("TRIGGER", &json!({"eventName": "again"}), &none).await.assert_error(400, "BAD_REQUEST");
        for (change, field) in [
            (json!({"type": "SLEEP"}), "type"),
            (json!({"name": "n".repeat(101)}), "name"),
            (json!({"position": {"x": 0}}), "position.y"),
            (json!({"position": {"x": "left", "y": 0}}), "position.x"),
        ] {
            issue(&flow.try_add("EXIT", &none, &change).await, field);
        }
        assert_eq!(read(&app, &flow.path("")).await, before);
    }
}
