//! Subscription on POST /v1/send: defaults, flips, and which templates reach an unsubscribed contact.

use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::{contact, contact_by_email, create_contact, create_template, inline, items, mail_to};
use mailwright_tests::{read, send_ok, subscription_events, with};
use serde_json::{Value, json};

/// A send of a template and nothing else.
fn of_template(template: &Value, to: &Value) -> Value {
    json!({"to": to, "template": template["id"]})
}

both_engines! {
    async fn new_recipients_start_unsubscribed_and_known_ones_keep_their_state(engine: Engine) {
        let app = App::start(engine).await;
        for (address, given, expected) in [
            ("omitted@example.com", None, false),
            ("given@example.com", Some(true), true),
            ("denied@example.com", Some(false), false),
        ] {
            let mut body = inline(&app, &json!(address));
            if let Some(given) = given {
                body["subscribed"] = json!(given);
            }
            let data = send_ok(&app, body).await;
            let id = &data["emails"][0]["contact"]["id"];
            assert_eq!(contact(&app, id).await["subscribed"], expected, "{address}");
            assert_eq!(subscription_events(&app, id).await.len(), 0, "creation is no flip: {address}");
        }

        for (address, before, given, events) in [
            ("a@example.com", true, None, &[] as &[&str]),
            ("b@example.com", false, None, &[]),
            ("c@example.com", true, Some(true), &[]),
            ("d@example.com", false, Some(false), &[]),
            ("e@example.com", true, Some(false), &["contact.unsubscribed"]),
            ("f@example.com", false, Some(true), &["contact.subscribed"]),
        ] {
            let known = create_contact(&app, address, before, json!({})).await;
            let mut body = inline(&app, &json!(address));
            if let Some(given) = given {
                body["subscribed"] = json!(given);
            }
            send_ok(&app, body).await;
            let after = contact(&app, &known["id"]).await;
            assert_eq!(after["subscribed"], given.unwrap_or(before), "{address}");
            assert_eq!(subscription_events(&app, &known["id"]).await, events, "{address}");
        }
    }

    async fn only_a_marketing_template_is_refused_to_the_unsubscribed(engine: Engine) {
        let app = App::start(engine).await;
        let known = create_contact(&app, "out@example.com", false, json!({})).await;
        let out = json!("out@example.com");
        send_ok(&app, inline(&app, &out)).await;
        for kind in ["TRANSACTIONAL", "HEADLESS"] {
            let template = create_template(&app, &json!({"type": kind})).await;
            send_ok(&app, of_template(&template, &out)).await;
        }
        app.eventually("three messages for the unsubscribed", async || {
            (app.mailbox_for("out@example.com").await.len() == 3).then_some(())
        })
        .await;

        let marketing = create_template(&app, &json!({"type": "MARKETING"})).await;
        for to in [out, json!("stranger@example.com")] {
            app.send(of_template(&marketing, &to)).await.assert_error(400, "BAD_REQUEST");
        }
        // Explicit content does not change what the template is.
        let overridden = with(of_template(&marketing, &json!("out@example.com")), &json!({"subject": "Hi"}));
        app.send(overridden).await.assert_error(400, "BAD_REQUEST");
        assert_eq!(read(&app, "/emails").await["total"], 3, "nothing was queued");
        assert!(subscription_events(&app, &known["id"]).await.is_empty());
    }

    async fn asking_for_a_subscription_opens_the_way_for_marketing(engine: Engine) {
        let app = App::start(engine).await;
        let known = create_contact(&app, "known@example.com", false, json!({})).await;
        let marketing = create_template(&app, &json!({"type": "MARKETING"})).await;
        let to = json!(["known@example.com", "new@example.com"]);
        send_ok(&app, with(of_template(&marketing, &to), &json!({"subscribed": true}))).await;
        assert_eq!(subscription_events(&app, &known["id"]).await, ["contact.subscribed"]);
        let new = contact_by_email(&app, "new@example.com").await.expect("a contact");
        assert_eq!(new["subscribed"], true);
        mail_to(&app, "known@example.com").await;
        mail_to(&app, "new@example.com").await;

        let away = with(of_template(&marketing, &json!("known@example.com")), &json!({"subscribed": false}));
        app.send(away).await.assert_error(400, "BAD_REQUEST");
    }

    async fn nothing_is_queued_unless_every_recipient_may_be_sent_to(engine: Engine) {
        let app = App::start(engine).await;
        create_contact(&app, "in@example.com", true, json!({})).await;
        create_contact(&app, "out@example.com", false, json!({})).await;
        let marketing = create_template(&app, &json!({"type": "MARKETING"})).await;

        let mixed = json!(["in@example.com", "out@example.com", "in@example.com"]);
        app.send(of_template(&marketing, &mixed)).await.assert_error(400, "BAD_REQUEST");
        let invalid = json!(["in@example.com", "not an address"]);
        app.send(of_template(&marketing, &invalid)).await.assert_issue("to.1", "invalid_string");
        assert_eq!(read(&app, "/emails").await["total"], 0);

        // What follows is delivered after anything the refused requests could have queued.
        send_ok(&app, inline(&app, &json!("last@example.com"))).await;
        mail_to(&app, "last@example.com").await;
        assert_eq!(items(&read(&app, "/mailbox").await["data"]).len(), 1);
    }
}
