//! `POST /workflows/:id/simulate` with versions: one that is named, what is edited, and two that are compared.

use std::time::Duration;

use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::workflow::Flow;
use mailwright_tests::{create_contact, create_template, items, read, text, track_ok, with};
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

    async fn each_version_has_the_names_that_it_began_with(engine: Engine) {
        let app = App::start(engine).await;
        let (flow, ids) = steps(&app, "begun", &[("UPDATE_CONTACT", json!({"updates": {"mark": 1}}))]).await;
        flow.enable().await;
        let before = version(&app, &flow).await;
        change(&app, &flow, &ids[0], &json!({"name": "Renamed"})).await;
        assert_eq!(version(&app, &flow).await, before, "a name makes no version");
        change(&app, &flow, &ids[0], &json!({"config": {"updates": {"mark": 2}}})).await;
        let after = version(&app, &flow).await;
        assert_ne!(before, after);
        let body = json!({
            "version": before, "compareWith": after, "events": [event("ann", "begun", "2030-01-01", json!({}))],
        });
        let told = rehearsed(&app, &flow, &body).await;
        for (summary, name) in [(&told["summary"], "UPDATE_CONTACT"), (&told["compared"], "Renamed")] {
            assert_eq!(of_step(summary, "UPDATE_CONTACT")["name"], name);
        }
        assert_eq!(told["differing"], 0, "the contact takes the same steps at the same times");
    }

    async fn a_schedule_is_rehearsed_with_the_members_of_its_segment(engine: Engine) {
        let app = App::start(engine).await;
        let made = app.post("/segments").json(&json!({"name": "Team", "type": "STATIC"})).send().await;
        let segment = made.assert_status(201).json()["id"].clone();
        let emails = ["ann@example.com", "bob@example.com"];
        for email in [emails[0], emails[1], "cid@example.com"] {
            create_contact(&app, email, true, json!({})).await;
        }
        let members = format!("/segments/{}/members", text(&segment));
        app.post(&members).json(&json!({"emails": emails})).send().await.assert_status(200);
        let (flow, _) = steps(&app, "begun", &[("DELAY", json!({"amount": 30, "unit": "hours"}))]).await;
        let schedule = json!({"segmentId": segment, "start": "2020-01-01T09:00", "repeat": "daily"});
        let change = json!({"triggerType": "SCHEDULE", "triggerConfig": schedule, "allowReentry": true});
        flow.change(change).await;
        // nobody was there before
        app.advance(Duration::from_hours(7 * 24)).await;
        let told = history(&app, &flow, &json!({"days": 365})).await;
        let summary = &told["summary"];
        // each day, but for those on which the delay of the day before is not over
        let (entered, refused) = (&summary["entered"], &summary["refused"]);
        assert_eq!((entered.as_i64().expect("a number") + refused["active"].as_i64().expect("a number")), 14, "{summary}");
        assert_eq!((entered, &summary["contacts"]), (&json!(8), &json!(3)), "{summary}");
        let alone = rehearsed(&app, &flow, &json!({"days": 365, "contact": "ann@example.com"})).await;
        assert_eq!(alone["summary"]["entered"], 4);
        assert_eq!(items(&alone["trace"]).len(), 4);
        let other = rehearsed(&app, &flow, &json!({"days": 365, "contact": "cid@example.com"})).await;
        assert_eq!(other["summary"]["entered"], 0, "no member");
    }
}
