//! Reading events: the recent ones, those of a contact, and their names.

use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::{
    UNKNOWN_ID, as_project, assert_keys, assert_only_keys, assert_timestamp, assert_uuid, column,
};
use mailwright_tests::{encoded, events_of, items, read, text, track_ok};
use serde_json::{Value, json};

async fn track(app: &App, email: &str, event: &str) -> Value {
    track_ok(app, json!({"email": email, "event": event, "data": {"n": 1}})).await
}

both_engines! {
    async fn recent_events_are_listed_newest_first_with_their_contact(engine: Engine) {
        let app = App::start(engine).await;
        assert_eq!(read(&app, "/events").await, json!({"events": []}));
        let first = track(&app, "ann@example.com", "signup").await;
        let second = track(&app, "bob@example.com", "order placed").await;
        let third = track(&app, "ann@example.com", "signup").await;

        let list = read(&app, "/events").await;
        let ids = [&third, &second, &first].map(|event| text(&event["event"]));
        assert_eq!(column(&list["events"], "id"), ids);
        let event = &list["events"][0];
        assert_keys(event, &["id", "name", "data", "contactId", "emailId", "createdAt", "contact"]);
        assert_uuid(&event["id"]);
        assert_timestamp(&event["createdAt"]);
        assert_eq!(event["name"], "signup");
        assert_eq!(event["data"], json!({"n": 1}));
        assert_eq!(event["contactId"], third["contact"]);
        assert_eq!(event["emailId"], Value::Null);
        assert_eq!(event["contact"]["email"], "ann@example.com");

        assert_eq!(column(&read(&app, "/events?limit=2").await["events"], "id"), ids[..2]);
        let named = read(&app, "/events?eventName=signup").await;
        assert_eq!(column(&named["events"], "id"), [ids[0], ids[2]]);
        let spaced = read(&app, &format!("/events?eventName={}", encoded("order placed"))).await;
        assert_eq!(column(&spaced["events"], "id"), [ids[1]]);
        for missing in ["sign", "SIGNUP", "signup%25", "nothing"] {
            assert_eq!(
                read(&app, &format!("/events?eventName={missing}")).await["events"],
                json!([]),
                "{missing}"
            );
        }
    }

    async fn the_events_of_a_contact_include_the_services_own(engine: Engine) {
        let app = App::start(engine).await;
        let ann = track(&app, "ann@example.com", "signup").await;
        track(&app, "bob@example.com", "signup").await;
        let away = json!({"email": "ann@example.com", "event": "leave", "subscribed": false});
        track_ok(&app, away).await;
        let events = events_of(&app, &ann["contact"]).await;
        let mut names = column(&json!(events), "name").into_iter().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(names.pop().as_deref(), Some("signup"), "the oldest comes last");
        names.sort();
        assert_eq!(names, ["contact.unsubscribed", "leave"]);
        for event in &events {
            assert_keys(event, &["id", "name", "data", "contactId", "emailId", "createdAt"]);
            assert_eq!(event["contactId"], ann["contact"]);
        }
        let path = format!("/events/contact/{}", text(&ann["contact"]));
        let body = read(&app, &format!("{path}?limit=1")).await;
        assert_only_keys(&body, &["events"]);
        assert_eq!(items(&body["events"]).len(), 1);
        assert_eq!(read(&app, &format!("/events/contact/{UNKNOWN_ID}")).await["events"], json!([]));
    }

    async fn the_newest_events_of_a_contact_are_found_among_those_of_all_names(engine: Engine) {
        let app = App::start(engine).await;
        let mut ids = Vec::new();
        let mut ann = Value::Null;
        for event in ["a", "b", "a", "c", "b", "b", "a"] {
            let tracked = track(&app, "ann@example.com", event).await;
            ids.insert(0, text(&tracked["event"]).to_owned());
            ann = tracked["contact"].clone();
        }
        let path = format!("/events/contact/{}", text(&ann));
        for limit in [1, 2, 3, 5, 7, 100] {
            let body = read(&app, &format!("{path}?limit={limit}")).await;
            assert_eq!(column(&body["events"], "id"), ids[..limit.min(7)], "limit {limit}");
        }
    }

    async fn counts_between_dates_follow_what_is_tracked_and_removed(engine: Engine) {
        let app = App::start(engine).await;
        let ever = "/events/stats?startDate=2020-01-01T00:00:00Z";
        let ann = track(&app, "ann@example.com", "signup").await;
        track(&app, "bob@example.com", "signup").await;
        track(&app, "ann@example.com", "order").await;
        let count = |name: &str, count: i64| json!({"name": name, "count": count});
        assert_eq!(read(&app, ever).await, json!([count("signup", 2), count("order", 1)]));
        let day = &text(&read(&app, "/events").await["events"][2]["createdAt"])[..10].to_owned();
        let before = read(&app, &format!("{ever}&endDate={day}T00:00:00Z")).await;
        assert_eq!(before, json!([]), "the instant at which the day begins is before all of them");
        let since = read(&app, &format!("/events/stats?startDate={day}T00:00:00.001Z")).await;
        assert_eq!(since, json!([count("signup", 2), count("order", 1)]));
        let usage = read(&app, "/events/signup/usage").await;
        assert_eq!([&usage["totalCount"], &usage["uniqueContacts"]], [2, 2]);

        app.delete(&format!("/contacts/{}", text(&ann["contact"]))).send().await;
        assert_eq!(read(&app, ever).await, json!([count("signup", 1)]));
        app.delete("/events/signup").send().await.assert_status(200);
        assert_eq!(read(&app, ever).await, json!([]));
    }

    async fn event_names_are_listed_by_frequency(engine: Engine) {
        let app = App::start(engine).await;
        assert_eq!(read(&app, "/events/names").await, json!({"eventNames": []}));
        for (event, count) in [("rare", 1), ("often", 3), ("some", 2)] {
            for _ in 0..count {
                track(&app, "ann@example.com", event).await;
            }
        }
        assert_eq!(read(&app, "/events/names").await, json!({"eventNames": ["often", "some", "rare"]}));
    }

    async fn the_longest_name_is_found_and_removed_in_any_script(engine: Engine) {
        let app = App::start(engine).await;
        track(&app, "bob@example.com", "signup").await;
        for letter in ["e", "é", "名", "🦀"] {
            let name = letter.repeat(255);
            let ann = track(&app, "ann@example.com", &name).await;
            let named = read(&app, &format!("/events?eventName={}", encoded(&name))).await;
            assert_eq!(column(&named["events"], "id"), [text(&ann["event"])]);
            for field in [format!("event.{name}"), name.clone()] {
                let filter = json!({"field": field, "operator": "triggered"});
                let condition = json!({"logic": "AND", "groups": [{"filters": [filter]}]});
                let segment = json!({"name": "Some", "condition": condition});
                let segment = app.post("/segments").json(&segment).send().await.assert_status(201).json();
                let members = read(&app, &format!("/segments/{}/contacts", text(&segment["id"]))).await;
                assert_eq!(column(&members["data"], "email"), ["ann@example.com"], "{letter}");
            }
            let path = format!("/events/{}", encoded(&name));
            let usage = read(&app, &format!("{path}/usage")).await;
            assert_eq!((&usage["totalCount"], items(&usage["usedInSegments"]).len()), (&json!(1), 2), "{letter}");
            let removed = app.delete(&path).send().await.assert_status(200).json();
            assert_eq!(removed, json!({"deletedCount": 1}), "{letter}");

            let longer = encoded(&letter.repeat(256));
            app.delete(&format!("/events/{longer}")).send().await.assert_error(400, "BAD_REQUEST");
        }
        assert_eq!(read(&app, "/events/names").await, json!({"eventNames": ["signup"]}));
    }

    async fn events_belong_to_a_project(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let ours = track(&app, "ann@example.com", "signup").await;
        let of_contact = format!("/events/contact/{}", text(&ours["contact"]));
        for (path, expected) in [
            ("/events", json!({"events": []})),
            ("/events?eventName=signup", json!({"events": []})),
            (&of_contact, json!({"events": []})),
            ("/events/names", json!({"eventNames": []})),
        ] {
            let body = as_project(&app, &other, "GET", path).send().await.assert_status(200).json();
            assert_eq!(body, expected, "{path}");
        }
    }
}
