//! What refers to fields and events; the counts of events, and removing them.

use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::{as_project, create_contact, encoded, read, text, track_ok};
use serde_json::{Value, json};

use super::{dynamic, members, only, plan};

fn reference(segment: &Value) -> Value {
    json!({"id": segment["id"], "name": segment["name"]})
}

both_engines! {
    async fn fields_know_the_segments_that_look_at_them(engine: Engine) {
        let app = App::start(engine).await;
        create_contact(&app, "ann@example.com", true, json!({"plan": "pro", "planet": "earth"})).await;
        let pro = dynamic(&app, "Pro", &plan("pro")).await;
        let nested = json!({"logic": "OR", "groups": [{"filters": [], "conditions": {"logic": "AND", "groups": [
            {"filters": [{"field": "data.plan", "operator": "exists"}, {"field": "subscribed", "operator": "equals", "value": true}]}]}}]});
        let nested = dynamic(&app, "Nested", &nested).await;
        for field in ["data.plan", "plan"] {
            let usage = read(&app, &format!("/contacts/fields/{field}/usage")).await;
            assert_eq!(usage, json!({
                "usedInSegments": [reference(&nested), reference(&pro)],
                "usedInCampaigns": [],
                "usedInWorkflows": [],
                "contactCount": 1,
                "canDelete": true,
            }));
        }
        let usage = read(&app, "/contacts/fields/data.planet/usage").await;
        assert_eq!((&usage["usedInSegments"], &usage["contactCount"]), (&json!([]), &json!(1)));
        let usage = read(&app, "/contacts/fields/subscribed/usage").await;
        assert_eq!((&usage["usedInSegments"], &usage["canDelete"]), (&json!([reference(&nested)]), &json!(false)));
        // the field goes, the segment stays and finds nobody
        app.delete("/contacts/fields/data.plan").send().await.assert_status(200);
        assert!(members(&app, &pro).await.is_empty());
    }

    async fn events_know_the_segments_that_look_at_them(engine: Engine) {
        let app = App::start(engine).await;
        for email in ["ann@example.com", "ann@example.com", "bob@example.com"] {
            track_ok(&app, json!({"email": email, "event": "order placed"})).await;
        }
        let bought = dynamic(&app, "Bought", &only(&json!({"field": "event.order placed", "operator": "triggered"}))).await;
        dynamic(&app, "Other", &only(&json!({"field": "event.order", "operator": "triggered"}))).await;
        let usage = read(&app, &format!("/events/{}/usage", encoded("order placed"))).await;
        assert_eq!(usage, json!({
            "usedInSegments": [reference(&bought)],
            "usedInCampaigns": [],
            "usedInWorkflows": [],
            "totalCount": 3,
            "uniqueContacts": 2,
            "canDelete": true,
        }));
        let usage = read(&app, "/events/email.sent/usage").await;
        assert_eq!((&usage["totalCount"], &usage["canDelete"]), (&json!(0), &json!(false)));
    }

    async fn events_of_a_name_are_deleted(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let theirs = json!({"email": "ann@example.com", "event": "signup"});
        app.request("POST", "/v1/track").bearer(&other.public_key).json(&theirs).send().await.assert_status(200);
        let ann = track_ok(&app, json!({"email": "ann@example.com", "event": "signup"})).await;
        track_ok(&app, json!({"email": "bob@example.com", "event": "signup"})).await;
        track_ok(&app, json!({"email": "bob@example.com", "event": "signup.late"})).await;
        let bought = dynamic(&app, "Signed up", &only(&json!({"field": "event.signup", "operator": "triggered"}))).await;
        assert_eq!(bought["memberCount"], 2);

        let deleted = app.delete("/events/signup").send().await.assert_status(200).json();
        assert_eq!(deleted, json!({"deletedCount": 2}));
        assert_eq!(read(&app, "/events/names").await, json!({"eventNames": ["signup.late"]}));
        assert!(mailwright_tests::events_of(&app, &ann["contact"]).await.is_empty());
        assert!(members(&app, &bought).await.is_empty());
        let deleted = app.delete("/events/signup").send().await.assert_status(200).json();
        assert_eq!(deleted, json!({"deletedCount": 0}));
        let left = as_project(&app, &other, "GET", "/events?eventName=signup").send().await.assert_status(200).json();
        assert_eq!(left["events"].as_array().map(Vec::len), Some(1), "the neighbour's stay");
        for name in ["contact.subscribed", "email.sent", "segment.pro.entry"] {
            app.delete(&format!("/events/{name}")).send().await.assert_error(400, "BAD_REQUEST");
        }
    }

    async fn events_are_counted_by_name(engine: Engine) {
        let app = App::start(engine).await;
        assert_eq!(read(&app, "/events/stats").await, json!([]));
        for (event, count) in [("rare", 1), ("often", 3), ("some", 2)] {
            for _ in 0..count {
                track_ok(&app, json!({"email": "ann@example.com", "event": event})).await;
            }
        }
        let all = json!([{"name": "often", "count": 3}, {"name": "some", "count": 2}, {"name": "rare", "count": 1}]);
        assert_eq!(read(&app, "/events/stats").await, all);
        assert_eq!(read(&app, "/events/stats?startDate=2020-01-01T00:00:00Z").await, all);
        assert_eq!(read(&app, "/events/stats?startDate=2020-01-01&endDate=2020-02-01").await, json!([]));
        let late = track_ok(&app, json!({"email": "ann@example.com", "event": "late"})).await;
        let from = encoded(text(&late["timestamp"]));
        assert_eq!(read(&app, &format!("/events/stats?startDate={from}&endDate={from}")).await[0]["name"], "late");
        app.get("/events/stats?startDate=yesterday").send().await.assert_error(400, "BAD_REQUEST");
    }
}
