//! POST /v1/track: the answer, the contact behind it, subscriptions, reserved names and the stored event.

use mailwright_testkit::{App, Engine, both_engines, one_engine};
use mailwright_tests::{assert_only_keys, assert_timestamp, assert_uuid, column, contact, contact_by_email};
use mailwright_tests::{create_contact, events_of, issue, issues, items, read, subscription_events, text};
use mailwright_tests::{track_ok, with};
use serde_json::{Value, json};

fn event(email: &str) -> Value {
    json!({"email": email, "event": "signup"})
}

both_engines! {
    async fn the_answer_names_the_contact_and_the_event(engine: Engine) {
        let app = App::start(engine).await;
        let response = app.track(event("ann@example.com")).await.assert_status(200);
        let body = response.json();
        assert_only_keys(&body, &["success", "data"]);
        assert_eq!(body["success"], true);
        assert_only_keys(&body["data"], &["contact", "event", "timestamp"]);
        assert_uuid(&body["data"]["contact"]);
        assert_uuid(&body["data"]["event"]);
        assert_timestamp(&body["data"]["timestamp"]);

        let again = track_ok(&app, event("ann@example.com")).await;
        assert_eq!(again["contact"], body["data"]["contact"]);
        assert_ne!(again["event"], body["data"]["event"], "every call records an event");

        let events = events_of(&app, &again["contact"]).await;
        assert_eq!(column(&json!(events), "id"), [text(&again["event"]), text(&body["data"]["event"])]);
        assert_eq!(events[0]["name"], "signup");
        assert_eq!(events[0]["contactId"], again["contact"]);
        assert_eq!(events[0]["createdAt"], again["timestamp"]);
    }

    async fn the_contact_is_made_or_updated(engine: Engine) {
        let app = App::start(engine).await;
        let first = with(event("Ann@Example.COM"), &json!({"data": {"plan": "free", "city": "Oslo"}}));
        let made = track_ok(&app, first).await;
        let ann = contact(&app, &made["contact"]).await;
        assert_eq!(ann["email"], "ann@example.com", "addresses are normalised");
        assert_eq!(ann["data"], json!({"plan": "free", "city": "Oslo"}));
        assert_eq!(ann["subscribed"], true);

        let second = with(event("aNN@example.com"), &json!({"data": {"plan": "pro"}}));
        assert_eq!(track_ok(&app, second).await["contact"], made["contact"], "case makes no other contact");
        let ann = contact(&app, &made["contact"]).await;
        assert_eq!(ann["data"], json!({"plan": "pro", "city": "Oslo"}));
        assert_eq!(read(&app, "/contacts").await["total"], 1);
    }

    async fn new_contacts_start_subscribed_and_known_ones_keep_their_state(engine: Engine) {
        let app = App::start(engine).await;
        for (address, change, expected) in [
            ("omitted@example.com", json!({}), true),
            ("given@example.com", json!({"subscribed": true}), true),
            ("denied@example.com", json!({"subscribed": false}), false),
        ] {
            let data = track_ok(&app, with(event(address), &change)).await;
            assert_eq!(contact(&app, &data["contact"]).await["subscribed"], expected, "{address}");
            assert!(subscription_events(&app, &data["contact"]).await.is_empty(), "creation is no flip");
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
            let mut body = event(address);
            if let Some(given) = given {
                body["subscribed"] = json!(given);
            }
            assert_eq!(track_ok(&app, body).await["contact"], known["id"]);
            let after = contact(&app, &known["id"]).await;
            assert_eq!(after["subscribed"], given.unwrap_or(before), "{address}");
            assert_eq!(subscription_events(&app, &known["id"]).await, events, "{address}");
        }
    }

    async fn an_existing_subscription_can_be_preserved(engine: Engine) {
        let app = App::start(engine).await;
        let known = create_contact(&app, "known@example.com", true, json!({})).await;
        let away = json!({"subscribed": false, "preserveExistingSubscription": true});
        track_ok(&app, with(event("known@example.com"), &away)).await;
        assert_eq!(contact(&app, &known["id"]).await["subscribed"], true);
        assert!(subscription_events(&app, &known["id"]).await.is_empty());

        let new = track_ok(&app, with(event("new@example.com"), &away)).await;
        assert_eq!(contact(&app, &new["contact"]).await["subscribed"], false, "it applies to a new contact");

        let plainly = json!({"subscribed": false, "preserveExistingSubscription": false});
        track_ok(&app, with(event("known@example.com"), &plainly)).await;
        assert_eq!(contact(&app, &known["id"]).await["subscribed"], false);
    }

    async fn reserved_names_are_refused_and_near_misses_are_not(engine: Engine) {
        let app = App::start(engine).await;
        for name in [
            "email.sent",
            "email.open",
            "email.anything.else",
            "contact.subscribed",
            "contact.unsubscribed",
            "segment.vip.entry",
            "segment.vip.exit",
            "segment.a.b.entry",
        ] {
            let response = app.track(json!({"email": "ann@example.com", "event": name})).await;
            let issue = issue(&response, "event");
            assert_eq!(issue["code"], "reserved_event");
            assert_eq!(issue["received"], name);
            let error = response.assert_error(422, "VALIDATION_ERROR");
            assert_eq!(error["details"]["errors"], error["errors"]);
        }
        assert_eq!(contact_by_email(&app, "ann@example.com").await, None, "no contact is made");

        let allowed = [
            "contact.created",
            "contact.subscribed.again",
            "segment.foo",
            "segment.vip.entered",
            "my.segment.vip.entry",
            "emails.sent",
            "email",
            "Email.sent",
            "Contact.Subscribed",
            "Kauf abgeschlossen ✓",
        ];
        for name in allowed {
            track_ok(&app, json!({"email": "ann@example.com", "event": name})).await;
        }
        let names = read(&app, "/events/names").await;
        for name in allowed {
            assert!(items(&names["eventNames"]).contains(&json!(name)), "{name} in {names}");
        }
    }

    async fn the_event_keeps_its_data_as_it_was_sent(engine: Engine) {
        let app = App::start(engine).await;
        let sent = json!({
            "plan": "pro",
            "empty": "",
            "nothing": null,
            "email": "other@example.com",
            "unsubscribeUrl": "https://example.com",
            "code": {"value": "483920", "persistent": false},
            "nested": {"a": [1, 2.5, {"b": null}]},
        });
        let data = track_ok(&app, with(event("ann@example.com"), &json!({"data": sent}))).await;
        let events = events_of(&app, &data["contact"]).await;
        assert_eq!(events[0]["data"], sent);
        let ann = contact(&app, &data["contact"]).await;
        assert_eq!(ann["email"], "ann@example.com");
        assert_eq!(ann["data"], json!({"plan": "pro", "nested": {"a": [1, 2.5, {"b": null}]}}));
    }
}

one_engine! {
    async fn the_body_is_checked_and_all_faults_are_named(engine: Engine) {
        let app = App::start(engine).await;
        for (change, field, code) in [
            (json!({"email": "nope"}), "email", "invalid_string"),
            (json!({"email": 5}), "email", "invalid_type"),
            (json!({"event": ""}), "event", "too_small"),
            (json!({"event": 5}), "event", "invalid_type"),
            (json!({"subscribed": "yes"}), "subscribed", "invalid_type"),
            (json!({"data": "text"}), "data", "invalid_type"),
            (json!({"data": ["a"]}), "data", "invalid_type"),
        ] {
            let response = app.track(with(event("ann@example.com"), &change)).await;
            assert_eq!(issues(&response), [(field.to_owned(), code.to_owned())], "{change}");
        }
        let response = app.track(json!({"subscribed": 1})).await;
        let mut fields: Vec<String> = issues(&response).into_iter().map(|(field, _)| field).collect();
        fields.sort();
        assert_eq!(fields, ["email", "event", "subscribed"]);
        assert_eq!(issue(&response, "email")["code"], "invalid_type");
        assert_eq!(issue(&response, "email")["received"], "undefined");
        assert_eq!(issue(&response, "subscribed")["received"], "number");
        assert_eq!(read(&app, "/contacts").await["total"], 0, "nothing is stored");
        assert_eq!(read(&app, "/events").await["events"], json!([]));

        for address in ["o'brien+tag@sub.example.co", "under_score.dot-dash@example.com", "1@2.example"] {
            track_ok(&app, event(address)).await;
        }
        for address in [
            "plain",
            "@example.com",
            "a@",
            "a@b",
            "a@example.c",
            ".a@example.com",
            "a..b@example.com",
            "a.@example.com",
            "a b@example.com",
            "a@exam ple.com",
            "a@example.com\r\nBcc: b@example.com",
            "\"quoted\"@example.com",
            "a@[127.0.0.1]",
            "a@b@example.com",
            "<a@example.com>",
        ] {
            app.track(event(address)).await.assert_issue("email", "invalid_string");
        }
        assert_eq!(read(&app, "/contacts").await["total"], 3);
    }
}
