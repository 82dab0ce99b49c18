//! What is large, or much, costs time and nothing else: it is taken on piece by piece, and told where it is refused.

use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::workflow::{Flow, taken};
use mailwright_tests::{create_contact, items, read, text, track_ok};
use serde_json::{Value, json};

/// A text that takes long to look through.
fn long() -> String {
    "a".repeat(60_000)
}

/// Conditions on a field of which each looks through all of such a text, and holds.
fn slow(field: &str, count: usize) -> Value {
    let filter = |n| {
        let value = format!("{}{n}", "a".repeat(200));
        json!({"field": field, "operator": "notContains", "value": value})
    };
    let filters: Vec<Value> = (0..count).map(filter).collect();
    json!({"logic": "AND", "groups": [{"filters": filters}]})
}

async fn track(app: &App, event: &str, data: Value) {
    track_ok(app, json!({"email": "ann@example.com", "event": event, "data": data})).await;
}

both_engines! {
    async fn executions_whose_conditions_are_slow_lose_nothing(engine: Engine) {
        let app = App::start(engine).await;
        let mut flows = Vec::new();
        for _ in 0..6 {
            let flow = Flow::new(&app, "begin").await;
            let wait = flow.then("WAIT_FOR_EVENT", json!({"eventName": "go", "timeout": 3600})).await;
            let condition = json!({"mode": "filter", "condition": slow("data.text", 150)});
            let mut last = flow.loose("CONDITION", condition.clone()).await;
            flow.link(&wait, &last, json!({"waitOutcome": "EVENT"})).await;
            for _ in 0..3 {
                let next = flow.loose("CONDITION", condition.clone()).await;
                flow.link(&last, &next, json!({"branch": "yes"})).await;
                last = next;
            }
            let wait = flow.loose("WAIT_FOR_EVENT", json!({"eventName": "end", "timeout": 3600})).await;
            flow.link(&last, &wait, json!({"branch": "yes"})).await;
            let exit = flow.loose("EXIT", json!({"reason": "told"})).await;
            flow.link(&wait, &exit, json!({"waitOutcome": "EVENT"})).await;
            flow.enable().await;
            flows.push(flow);
        }
        create_contact(&app, "ann@example.com", true, json!({"text": long()})).await;
        track(&app, "begin", json!({})).await;
        for flow in &flows {
            flow.only("WAITING").await;
        }
        // the second comes while conditions are looked at
        track(&app, "go", json!({})).await;
        track(&app, "end", json!({})).await;
        for flow in &flows {
            let ended = flow.only("EXITED").await;
            assert_eq!(ended["exitReason"], "told");
            let condition = "CONDITION COMPLETED";
            let wait = "WAIT_FOR_EVENT COMPLETED";
            let exit = "EXIT COMPLETED";
            let trigger = "TRIGGER COMPLETED";
            let expected = [trigger, wait, condition, condition, condition, condition, wait, exit];
            assert_eq!(taken(&ended), expected);
        }
    }

    async fn many_events_of_a_contact_are_told_in_their_order(engine: Engine) {
        let app = App::start(engine).await;
        let flow = Flow::new(&app, "begin").await;
        for _ in 0..20 {
            flow.then("WAIT_FOR_EVENT", json!({"eventName": "tick", "timeout": 3600})).await;
        }
        flow.then("EXIT", json!({})).await;
        flow.enable().await;
        track(&app, "begin", json!({})).await;
        let waiting = flow.only("WAITING").await;
        for n in 0..20 {
            track(&app, "tick", json!({"n": {"value": n, "persistent": false}})).await;
        }
        let ended = flow.once(text(&waiting["id"]), "EXITED").await;
        let told = items(&ended["stepExecutions"]).iter().filter_map(|step| step["output"]["event"].as_str());
        let told: Vec<&str> = told.collect();
        assert_eq!(told.len(), 20);
        assert!(told.is_sorted(), "{told:?}");
        assert_eq!(ended["context"]["n"], json!({"value": 19, "persistent": false}));
    }

    async fn filters_of_an_event_look_through_a_megabyte_of_text(engine: Engine) {
        let app = App::start(engine).await;
        let text = json!({"value": long(), "persistent": false});
        for (event, conditions, reason) in [("light", 10, Value::Null), ("heavy", 30, json!("too_much_text"))] {
            let flow = Flow::new(&app, event).await;
            flow.then("EXIT", json!({})).await;
            flow.change(json!({"triggerConfig": {"eventName": event, "filter": slow("event.text", conditions)}})).await;
            flow.enable().await;
            track(&app, event, json!({"text": text})).await;
            let why = read(&app, &flow.path("/why?contact=ann@example.com")).await;
            let decisions = items(&why["decisions"]);
            assert_eq!(decisions.len(), 1, "{why}");
            assert_eq!(decisions[0]["reason"], reason);
        }
    }

    async fn what_a_rehearsal_tells_has_an_end(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_RATE_LIMIT_PER_MINUTE", "0").start().await;
        let flow = Flow::new(&app, "begin").await;
        for step in 0..100 {
            flow.then("UPDATE_CONTACT", json!({"updates": {"text": format!("{step}{}", "a".repeat(6_000))}})).await;
        }
        flow.change(json!({"allowReentry": true})).await;
        let event = |n| json!({"email": "bob@example.com", "event": "begin", "at": format!("2030-01-01T00:{n:02}:00Z")});
        let events: Vec<Value> = (0..16).map(event).collect();
        let answer = app.post(&flow.path("/simulate")).json(&json!({"events": events})).send().await.assert_status(200);
        assert!(answer.text().len() < 6 * 1024 * 1024, "{} bytes", answer.text().len());
        let told = answer.json();
        assert_eq!(told["summary"]["entered"], 16, "all are counted");
        let trace = items(&told["trace"]).len();
        assert!(trace > 1 && trace < 16, "{trace}");
        assert_eq!(items(&told["trace"][0]["stepExecutions"]).len(), 101);
    }

    async fn contacts_with_much_are_rehearsed_like_others(engine: Engine) {
        let app = App::start(engine).await;
        let flow = Flow::new(&app, "begin").await;
        let field = json!({"field": "event.text", "operator": "exists"});
        flow.then("CONDITION", field).await;
        flow.change(json!({"allowReentry": true})).await;
        let track = async |name: &str, data: Value| {
            track_ok(&app, json!({"email": format!("{name}@example.com"), "event": "begin", "data": data})).await;
        };
        track("few", json!({})).await;
        for _ in 0..45 {
            track("many", json!({})).await;
        }
        let large = json!({"text": {"value": long(), "persistent": false}});
        track("large", large).await;
        let branches = async |body: Value| {
            let queued = app.post(&flow.path("/simulate")).json(&body).send().await.assert_status(202).json();
            let path = flow.path(&format!("/simulate/{}", text(&queued["jobId"])));
            let ended = app.eventually("the rehearsal is over", async || {
                let found = read(&app, &path).await;
                (found["state"] == "completed").then_some(found)
            });
            ended.await["result"]["summary"].clone()
        };
        let summary = branches(json!({"days": 1})).await;
        assert_eq!((&summary["contacts"], &summary["events"], &summary["entered"]), (&json!(3), &json!(47), &json!(47)));
        let condition = items(&summary["steps"]).iter().find(|step| step["type"] == "CONDITION").expect("it");
        assert_eq!(condition["branches"], json!({"yes": 1, "no": 46}), "{summary}");
    }
}
