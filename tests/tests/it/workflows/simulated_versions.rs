//! `POST /workflows/:id/simulate` with versions: one that is named, what is edited, and two that are compared.

use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::workflow::Flow;
use mailwright_tests::{create_template, items, read, track_ok, with};
use serde_json::{Value, json};

use super::simulation::{event, history, of_step, rehearsed, steps};

/// The number of the version in force.
async fn version(app: &App, flow: &Flow<'_>) -> Value {
    read(app, &flow.path("")).await["version"].clone()
}

/// Has a step be configured otherwise.
async fn change(app: &App, flow: &Flow<'_>, step: &str, changes: &Value) {
    app.patch(&flow.path(&format!("/steps/{step}"))).json(changes).send().await.assert_status(200);
}

both_engines! {
    async fn two_versions_are_compared(engine: Engine) {
        let app = App::start(engine).await;
        let template = create_template(&app, &json!({})).await;
        let flow = Flow::new(&app, "begun").await;
        let pro = json!({"field": "data.plan", "operator": "equals", "value": "pro"});
        let condition = flow.then("CONDITION", pro).await;
        let mark = flow.loose("UPDATE_CONTACT", json!({"updates": {"mark": "first"}})).await;
        flow.link(&condition, &mark, json!({"branch": "yes"})).await;
        flow.enable().await;
        let first = version(&app, &flow).await;
        let mail = flow.loose("SEND_EMAIL", json!({"templateId": template["id"]})).await;
        flow.link(&mark, &mail, json!({})).await;
        let second = version(&app, &flow).await;
        assert_ne!(first, second);
        let begun = |name: &str, plan: &str| event(name, "begun", "2030-01-01", json!({"plan": plan}));
        let compare = |version: &Value, with: &Value| json!({
            "version": version, "compareWith": with,
            "events": [begun("ann", "pro"), begun("bob", "pro"), begun("cid", "free")],
        });
        let forth = rehearsed(&app, &flow, &compare(&first, &second)).await;
        assert_eq!(forth["differing"], 2, "cid goes the same way");
        for (summary, mails, steps) in [(&forth["summary"], 0, 3), (&forth["compared"], 2, 4)] {
            assert_eq!((&summary["contacts"], &summary["mails"]), (&json!(3), &json!(mails)), "{summary}");
            assert_eq!(items(&summary["steps"]).len(), steps, "{summary}");
            assert_eq!(of_step(summary, "CONDITION")["branches"], json!({"yes": 2, "no": 1}));
        }
        let back = rehearsed(&app, &flow, &compare(&second, &first)).await;
        assert_eq!((&back["summary"], &back["compared"]), (&forth["compared"], &forth["summary"]));
        assert_eq!(back["differing"], 2);
        assert_eq!(rehearsed(&app, &flow, &compare(&Value::Null, &first)).await, back, "the second one is edited");
        let same = rehearsed(&app, &flow, &compare(&first, &first)).await;
        assert_eq!((&same["differing"], &same["compared"]), (&json!(0), &same["summary"]));

        for email in ["ann@example.com", "cid@example.com"] {
            let plan = if email.starts_with("ann") { "pro" } else { "free" };
            track_ok(&app, json!({"email": email, "event": "begun", "data": {"plan": plan}})).await;
        }
        let both = json!({"version": first, "compareWith": second});
        let all = history(&app, &flow, &both).await;
        assert_eq!((&all["differing"], &all["summary"]["mails"]), (&json!(1), &json!(0)));
        assert_eq!(all["compared"]["mails"], 1);
    }

    async fn what_is_edited_is_rehearsed_unless_a_version_is_named(engine: Engine) {
        let app = App::start(engine).await;
        let (flow, ids) = steps(&app, "begun", &[
            ("DELAY", json!({"amount": 1, "unit": "hours"})), ("EXIT", json!({"reason": "first"})),
        ]).await;
        let begun = json!({"events": [event("bob", "begun", "2030-01-01", json!({}))]});
        let named = |changes: Value| with(begun.clone(), &changes);
        let told = rehearsed(&app, &flow, &begun).await;
        assert_eq!(told["trace"][0]["exitReason"], "first", "before it was ever enabled");
        let path = flow.path("/simulate");
        app.post(&path).json(&named(json!({"version": 1}))).send().await.assert_error(400, "BAD_REQUEST");

        flow.enable().await;
        track_ok(&app, json!({"email": "ann@example.com", "event": "begun"})).await;
        flow.only("WAITING").await;
        change(&app, &flow, &ids[1], &json!({"config": {"reason": "second"}})).await;
        assert_eq!(version(&app, &flow).await, 1, "ann is on her way");
        for (changes, reason, differing) in [
            (json!({}), "second", 0),
            (json!({"version": null}), "second", 0),
            (json!({"version": 1}), "first", 0),
            (json!({"compareWith": 1}), "second", 1),
            (json!({"version": 1, "compareWith": 1}), "first", 0),
        ] {
            let told = rehearsed(&app, &flow, &named(changes.clone())).await;
            assert_eq!((&told["trace"][0]["exitReason"], &told["differing"]), (&json!(reason), &json!(differing)), "{changes}");
            assert_eq!(told["compared"].is_null(), changes["compareWith"].is_null(), "{changes}");
        }
        for changes in [json!({"version": 2}), json!({"compareWith": 2}), json!({"version": 0}), json!({"version": -1})] {
            app.post(&path).json(&named(changes)).send().await.assert_error(400, "BAD_REQUEST");
        }
        let execution = flow.only("WAITING").await;
        assert_eq!(execution["version"], 1, "a rehearsal moves nobody");
    }

    async fn a_step_with_another_name_does_the_same(engine: Engine) {
        let app = App::start(engine).await;
        let (flow, ids) = steps(&app, "begun", &[("UPDATE_CONTACT", json!({"updates": {"mark": 1}}))]).await;
        flow.enable().await;
        let before = version(&app, &flow).await;
        change(&app, &flow, &ids[0], &json!({"name": "Renamed"})).await;
        let after = version(&app, &flow).await;
        assert_ne!(before, after);
        let body = json!({
            "version": before, "compareWith": after, "events": [event("ann", "begun", "2030-01-01", json!({}))],
        });
        let told = rehearsed(&app, &flow, &body).await;
        for (summary, name) in [(&told["summary"], "UPDATE_CONTACT"), (&told["compared"], "Renamed")] {
            assert_eq!(of_step(summary, "UPDATE_CONTACT")["name"], name, "each version has its own names");
        }
        assert_eq!(told["differing"], 0, "nothing else happens to the contact");
    }
}
