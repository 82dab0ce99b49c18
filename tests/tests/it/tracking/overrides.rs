//! Which mails are tracked: what the send, the template or the campaign, and the project say, in this order.

use mailwright_testkit::{Engine, Value, both_engines};
use mailwright_tests::workflow::Flow;
use mailwright_tests::{
    create_contact, create_template, issue, items, mail_to, read, send_ok, text, track_ok, with,
};
use serde_json::json;

use super::{Mail, THREE_LINKS, campaign, set, start};

const SETTINGS: [&str; 3] = ["ENABLED", "DISABLED", "MARKETING_ONLY"];

/// What the project's setting says for a type of mail.
fn covers(setting: &str, kind: &str) -> bool {
    setting == "ENABLED" || (setting == "MARKETING_ONLY" && kind != "TRANSACTIONAL")
}

/// What somebody says of tracking; nothing is said where this is `None`.
fn said(tracking: Option<&Value>) -> Value {
    tracking.map_or_else(|| json!({}), |tracking| json!({"tracking": tracking}))
}

both_engines! {
    async fn a_send_outranks_its_template_and_that_outranks_the_project(engine: Engine) {
        let app = start(engine).await;
        create_contact(&app, "ann@example.com", true, json!({})).await;
        let (yes, no, null) = (json!(true), json!(false), Value::Null);
        let words = [None, Some(&null), Some(&yes), Some(&no)];
        for setting in SETTINGS {
            assert_eq!(set(&app, &json!({"tracking": setting})).await["tracking"], setting);
            let mut expected = Vec::new();
            for kind in ["TRANSACTIONAL", "MARKETING", "HEADLESS"] {
                for of_template in words {
                    let changes = with(json!({"type": kind, "body": THREE_LINKS}), &said(of_template));
                    let template = create_template(&app, &changes).await;
                    assert_eq!(template["tracking"], *of_template.unwrap_or(&Value::Null));
                    for of_send in words {
                        let send = json!({"to": "ann@example.com", "template": template["id"]});
                        let data = send_ok(&app, with(send, &said(of_send))).await;
                        let is_tracked = of_send.and_then(Value::as_bool).or(of_template.and_then(Value::as_bool));
                        let is_tracked = is_tracked.unwrap_or_else(|| covers(setting, kind));
                        let what = format!("{setting}, {kind}, template {of_template:?}, send {of_send:?}");
                        expected.push((what, data["emails"][0]["email"].clone(), is_tracked));
                    }
                }
            }
            for of_send in words {
                let inline = json!({"to": "ann@example.com", "subject": "s", "body": THREE_LINKS, "from": app.from()});
                let data = send_ok(&app, with(inline, &said(of_send))).await;
                let is_tracked = of_send.and_then(Value::as_bool).unwrap_or_else(|| covers(setting, "TRANSACTIONAL"));
                expected.push((format!("{setting}, inline, send {of_send:?}"), data["emails"][0]["email"].clone(), is_tracked));
            }
            for (what, id, is_tracked) in expected {
                let mail = Mail::of(&app, text(&id)).await;
                assert_eq!(mail.is_tracked(), is_tracked, "{what}: {}", mail.html);
                let links = if is_tracked { 3 } else { 0 };
                assert_eq!(mail.links().len(), links, "{what}: {}", mail.html);
            }
        }
    }

    async fn a_campaign_outranks_the_project(engine: Engine) {
        let app = start(engine).await;
        create_contact(&app, "ann@example.com", true, json!({})).await;
        for setting in SETTINGS {
            set(&app, &json!({"tracking": setting})).await;
            for kind in ["TRANSACTIONAL", "MARKETING", "HEADLESS"] {
                for tracking in [Value::Null, json!(true), json!(false)] {
                    let (_, mails) = campaign(&app, &json!({"type": kind, "tracking": tracking})).await;
                    let expected = tracking.as_bool().unwrap_or_else(|| covers(setting, kind));
                    assert_eq!(mails.len(), 1);
                    assert_eq!(mails[0].is_tracked(), expected, "{setting}, {kind}, campaign {tracking}");
                }
            }
        }
    }

    async fn what_is_said_of_tracking_is_shown_changed_and_checked(engine: Engine) {
        let app = start(engine).await;
        create_contact(&app, "ann@example.com", true, json!({})).await;
        let template = create_template(&app, &json!({"tracking": false})).await;
        let draft = json!({"name": "n", "subject": "s", "body": "b", "from": app.from(), "audienceType": "ALL", "tracking": false});
        let made = app.post("/campaigns").json(&draft).send().await.assert_status(201).json();
        assert_eq!(made["data"]["tracking"], false, "{made}");
        let paths = [format!("/templates/{}", text(&template["id"])), format!("/campaigns/{}", text(&made["data"]["id"]))];
        for (path, method) in paths.iter().zip(["PATCH", "PUT"]) {
            let change = |changes: Value| app.request(method, path).bearer(app.secret_key()).json(&changes).send();
            for tracking in [json!(true), Value::Null, json!(false)] {
                change(json!({"tracking": tracking})).await.assert_status(200);
                assert_eq!(read(&app, path).await["tracking"], tracking, "{path}");
                // another change leaves it as it is
                change(json!({"name": "Other"})).await.assert_status(200);
                assert_eq!(read(&app, path).await["tracking"], tracking, "{path}");
            }
            issue(&change(json!({"tracking": "no"})).await, "tracking");
        }
        let send = json!({"to": "a@example.com", "subject": "s", "body": "b", "from": app.from(), "tracking": "no"});
        issue(&app.send(send).await, "tracking");
        let copy = app.post(&format!("{}/duplicate", paths[1])).send().await.assert_status(201).json();
        assert_eq!(copy["tracking"], false, "a copy is like the original: {copy}");
    }

    async fn a_test_of_a_campaign_is_not_tracked(engine: Engine) {
        let app = start(engine).await;
        let draft = json!({"name": "n", "subject": "News", "body": THREE_LINKS, "from": app.from(), "audienceType": "ALL", "tracking": true});
        let made = app.post("/campaigns").json(&draft).send().await.assert_status(201).json();
        let path = format!("/campaigns/{}/test", text(&made["data"]["id"]));
        app.post(&path).json(&json!({"email": "boss@example.com"})).send().await.assert_status(200);
        let mail = mail_to(&app, "boss@example.com").await;
        assert!(!text(&mail["html"]).contains("/t/") && text(&mail["html"]).contains("https://shop.test/one"), "{mail}");
    }

    async fn mails_of_workflows_are_as_their_templates_say(engine: Engine) {
        let app = start(engine).await;
        for (setting, tracking, expected) in [
            ("ENABLED", Value::Null, true),
            ("ENABLED", json!(false), false),
            ("DISABLED", Value::Null, false),
            ("DISABLED", json!(true), true),
        ] {
            set(&app, &json!({"tracking": setting})).await;
            let template = create_template(&app, &json!({"body": THREE_LINKS, "tracking": tracking})).await;
            let event = format!("{setting} {tracking}");
            let flow = Flow::new(&app, &event).await;
            flow.then("SEND_EMAIL", json!({"templateId": template["id"]})).await;
            flow.enable().await;
            let email = format!("{}@example.com", event.to_lowercase().replace(' ', "-"));
            track_ok(&app, json!({"email": email, "event": event})).await;
            let mail = mail_to(&app, &email).await;
            assert_eq!(text(&mail["html"]).contains("/t/"), expected, "{event}: {mail}");
        }
        assert_eq!(items(&read(&app, "/emails").await["data"]).len(), 4);
    }
}
