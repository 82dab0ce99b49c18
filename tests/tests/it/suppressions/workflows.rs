//! Workflows: steps that make no mail, and mails that are held back when they leave.

use mailwright_testkit::{App, Engine, Value, both_engines, json};
use mailwright_tests::{create_template, items, read, text};

use super::{by_hand, rule, suppress};

/// Runs a workflow that sends a mail of a type, and returns what the step says.
async fn run(app: &App, kind: &str, to: &str, recipient: Option<&str>) -> Value {
    let template = create_template(app, &json!({"type": kind})).await;
    let made = app
        .post("/workflows")
        .json(&json!({"name": "w", "eventName": format!("go {kind} {to}")}))
        .send()
        .await;
    let id = text(&made.assert_status(201).json()["id"]).to_owned();
    let mut config = json!({"templateId": template["id"]});
    if let Some(email) = recipient {
        config["recipient"] = json!({"type": "CUSTOM", "customEmail": email});
    }
    let step = json!({"type": "SEND_EMAIL", "name": "mail", "position": {"x": 0, "y": 0}, "config": config});
    // it follows the trigger by itself
    app.post(&format!("/workflows/{id}/steps")).json(&step).send().await.assert_status(201);
    app.patch(&format!("/workflows/{id}")).json(&json!({"enabled": true})).send().await.assert_status(200);
    let contact = app.post("/contacts").json(&json!({"email": to, "subscribed": true})).send().await.json();
    let body = json!({"contactId": contact["id"]});
    let begun =
        app.post(&format!("/workflows/{id}/executions")).json(&body).send().await.assert_status(201).json();
    let path = format!("/workflows/{id}/executions/{}", text(&begun["id"]));
    app.eventually("the execution is over", async || {
        let execution = read(app, &path).await;
        let steps = items(&execution["stepExecutions"]);
        (execution["status"] == "COMPLETED").then(|| steps.last().expect("a step")["output"].clone())
    })
    .await
}

both_engines! {
    async fn a_step_makes_no_mail_for_a_suppressed_contact(engine: Engine) {
        let app = App::start(engine).await;
        by_hand(&app, "ada@example.com").await;
        assert_eq!(run(&app, "TRANSACTIONAL", "ada@example.com", None).await["skipped"], "suppressed");
        suppress(&app, json!({"email": "bob@example.com", "reason": "unsubscribe-all"})).await;
        assert_eq!(run(&app, "MARKETING", "bob@example.com", None).await["skipped"], "suppressed");
        let sent = run(&app, "TRANSACTIONAL", "bob@example.com", None).await;
        app.email_in(text(&sent["emailId"]), &["SENT"]).await;
    }

    async fn a_mail_is_held_back_by_a_rule_and_for_whomever_it_is(engine: Engine) {
        let app = App::start(engine).await;
        rule(&app, "PREFIX", "qa-").await;
        let made = run(&app, "MARKETING", "qa-1@example.com", None).await;
        let held = app.email_in(text(&made["emailId"]), &["SUPPRESSED"]).await;
        assert_eq!(held["suppression"]["kind"], "PREFIX");
        by_hand(&app, "boss@example.com").await;
        let made = run(&app, "MARKETING", "ada@example.com", Some("boss@example.com")).await;
        let held = app.email_in(text(&made["emailId"]), &["SUPPRESSED"]).await;
        assert_eq!((&held["to"], &held["suppression"]["source"]), (&json!("boss@example.com"), &json!("project")));
    }
}
