//! What the steps of an execution tell: what they saw, what ended their waits, and which mails were not sent.

use std::time::Duration;

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, OWNER, both_engines};
use mailwright_tests::browser::Browser;
use mailwright_tests::workflow::Flow;
use mailwright_tests::{assert_timestamp, create_contact, create_template, items, text};
use serde_json::{Value, json};

use super::{OVER_AN_HOUR, all_of, assert_members, begun, enabled, skipped, steps_of, track, why};

both_engines! {
    async fn conditions_tell_what_they_saw(engine: Engine) {
        let app = App::start(engine).await;
        let flow = Flow::new(&app, "signup").await;
        let branches = json!([{"id": "high", "name": "High", "operator": "greaterThan", "value": 10}]);
        let tree = all_of(&[("data.plan", "equals", json!("pro")), ("event.total", "greaterThan", json!(100))]);
        let mut last = (flow.trigger.clone(), json!({}));
        for (config, branch) in [
            (json!({"field": "data.plan", "operator": "equals", "value": "pro"}), "yes"),
            (json!({"mode": "multi", "field": "data.score", "branches": branches}), "high"),
            (json!({"mode": "filter", "condition": tree}), "no"),
        ] {
            let step = flow.loose("CONDITION", config).await;
            flow.link(&last.0, &step, last.1).await;
            last = (step, json!({"branch": branch}));
        }
        flow.enable().await;
        let contact = create_contact(&app, "ann@example.com", true, json!({"plan": "pro", "score": 12})).await;
        let id = flow.start(&contact["id"], json!({"total": 50})).await;
        flow.once(&id, "COMPLETED").await;
        assert_eq!(why(&app, &flow, "ann").await[0]["eventId"], Value::Null, "it began by hand");
        let steps = steps_of(&app, &flow, "ann").await;
        assert_members(&steps[1]["output"], &json!({
            "field": "data.plan", "operator": "equals", "expectedValue": "pro", "actualValue": "pro", "branch": "yes",
        }));
        assert_members(&steps[2]["output"], &json!({"field": "data.score", "actualValue": 12, "branch": "high"}));
        let seen = json!([
            {"field": "data.plan", "value": "pro", "holds": true},
            {"field": "event.total", "value": 50, "holds": false},
        ]);
        assert_members(&steps[3]["output"], &json!({"seen": seen, "branch": "no", "result": false}));
    }

    async fn waits_tell_what_ended_them(engine: Engine) {
        let app = App::start(engine).await;
        let wait = ("WAIT_FOR_EVENT", json!({"eventName": "paid", "timeout": 3600}));
        let flow = enabled(&app, "signup", &[wait, ("DELAY", json!({"amount": 1, "unit": "hours"}))]).await;
        flow.change(json!({"goal": {"eventName": "bought"}})).await;
        let mut ids = Vec::new();
        for name in ["paying", "late", "cancelled", "buying"] {
            let id = begun(&app, &flow, name, true, json!({})).await;
            flow.once(&id, "WAITING").await;
            ids.push(id);
        }
        let open = &steps_of(&app, &flow, "late").await[1];
        assert_eq!((&open["status"], &open["output"]["eventName"]), (&json!("WAITING"), &json!("paid")));
        track(&app, "paying", "paid", json!({"amount": 5})).await;
        app.delete(&flow.path(&format!("/executions/{}", ids[2]))).send().await.assert_status(200);
        let bought = track(&app, "buying", "bought", json!({})).await;
        flow.once(&ids[3], "EXITED").await;
        for id in &ids[..2] {
            app.eventually("the wait has ended", async || {
                (items(&flow.execution(id).await["stepExecutions"]).len() == 3).then_some(())
            }).await;
            app.advance(OVER_AN_HOUR).await;
        }
        flow.once(&ids[0], "COMPLETED").await;
        flow.once(&ids[1], "COMPLETED").await;
        for (name, status, told) in [
            ("paying", "COMPLETED", json!({"waitOutcome": "EVENT", "eventName": "paid", "eventData": {"amount": 5}})),
            ("late", "COMPLETED", json!({"waitOutcome": "TIMEOUT", "eventName": "paid"})),
            ("cancelled", "SKIPPED", json!({"skipped": "cancelled"})),
            ("buying", "SKIPPED", json!({"goal": true, "event": bought})),
        ] {
            let wait = &steps_of(&app, &flow, name).await[1];
            assert_eq!(wait["status"], status, "{name}");
            assert_members(&wait["output"], &told);
            assert_timestamp(&wait["completedAt"]);
        }
        assert_eq!(steps_of(&app, &flow, "late").await[1]["completedAt"], open["scheduledFor"]);
        let pause = &steps_of(&app, &flow, "paying").await[2];
        assert_eq!(pause["output"]["resumeAt"], pause["completedAt"]);
    }

    async fn a_mail_that_was_not_made_says_why(engine: Engine) {
        let server = ScriptedServer::start(|to, _| match to {
            "gone@example.com" => Answer::RefuseRcpt(550, "5.1.1 unknown"),
            _ => Answer::Accept,
        })
        .await;
        let app = App::builder(engine).smtp(server.port).start().await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let settings = format!("/users/@me/projects/{}", app.project_id());
        let cap = json!({"marketingCap": {"emails": 1, "hours": 24}});
        owner.request(&app, "PATCH", &settings).json(&cap).send().await.assert_status(200);
        let template = create_template(&app, &json!({"type": "MARKETING"})).await;
        let mail = |over: &str| ("SEND_EMAIL", json!({"templateId": template["id"], "overCap": over}));
        let flow = enabled(&app, "signup", &[mail("SKIP"), mail("SKIP"), mail("WAIT")]).await;
        let gone = create_contact(&app, "gone@example.com", true, json!({})).await;
        let bounced = app.send_to("gone@example.com").await;
        app.email_in(&bounced, &["BOUNCED"]).await;
        let gone = flow.start(&gone["id"], json!({})).await;
        flow.once(&gone, "COMPLETED").await;
        assert_eq!(skipped(&app, &flow, "gone").await, ["suppressed"; 3]);
        let out = begun(&app, &flow, "out", false, json!({})).await;
        flow.once(&out, "COMPLETED").await;
        assert_eq!(skipped(&app, &flow, "out").await, ["unsubscribed"; 3]);
        let ann = begun(&app, &flow, "ann", true, json!({})).await;
        flow.once(&ann, "WAITING").await;
        assert_eq!(skipped(&app, &flow, "ann").await, [Value::Null, json!("capped"), Value::Null]);
        assert_eq!(steps_of(&app, &flow, "ann").await[3]["output"]["waitsFor"], "cap");
        app.advance(Duration::from_hours(24)).await;
        flow.once(&ann, "COMPLETED").await;
        assert!(steps_of(&app, &flow, "ann").await[3]["output"]["emailId"].is_string());
        // without a template, and with one whose sender's domain is gone
        let template = create_template(&app, &json!({})).await;
        app.tamper(&format!("delete from domains where name = '{}'", app.domain())).await;
        for (name, config, word) in
            [("none", json!({}), "template"), ("domain", json!({"templateId": template["id"]}), "domain")]
        {
            let flow = enabled(&app, name, &[("SEND_EMAIL", config)]).await;
            let id = begun(&app, &flow, name, true, json!({})).await;
            flow.once(&id, "FAILED").await;
            let step = &steps_of(&app, &flow, name).await[1];
            assert!(step["status"] == "FAILED" && text(&step["error"]).contains(word), "{step}");
        }
    }

    async fn a_mail_that_was_made_and_not_sent_says_why(engine: Engine) {
        let server = ScriptedServer::start(|to, _| match to {
            "gone@example.com" => Answer::RefuseRcpt(550, "5.1.1 unknown"),
            _ => Answer::RefuseData(554, "5.6.0 not this"),
        })
        .await;
        let app = App::builder(engine).smtp(server.port).start().await;
        let template = create_template(&app, &json!({})).await;
        let flow = enabled(&app, "signup", &[("SEND_EMAIL", json!({"templateId": template["id"]}))]).await;
        for (name, status) in [("gone", "BOUNCED"), ("picky", "FAILED")] {
            let id = begun(&app, &flow, name, true, json!({})).await;
            flow.once(&id, "COMPLETED").await;
            let made = &steps_of(&app, &flow, name).await[1]["output"];
            app.email_in(text(&made["emailId"]), &[status]).await;
            let output = &steps_of(&app, &flow, name).await[1]["output"];
            assert!(output.to_string().contains(status), "nothing tells that it is {status}: {output}");
        }
    }
}
