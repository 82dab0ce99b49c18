//! What is going to happen.

use std::time::Duration;

use mailwright_testkit::{App, Engine, Value, both_engines, json};
use mailwright_tests::workflow::Flow;
use mailwright_tests::{items, read, text, track_ok};

use super::DAY;

fn of<'a>(upcoming: &'a Value, kind: &str) -> Vec<&'a Value> {
    items(&upcoming["activities"]).iter().filter(|entry| entry["type"] == kind).collect()
}

/// A campaign that is scheduled for so much later.
async fn schedule(app: &App, name: &str, later: Duration) -> Value {
    let body = json!({
        "name": name, "subject": "Soon", "body": "<p>News</p>", "from": app.from(), "audienceType": "ALL",
        "type": "MARKETING",
    });
    let campaign = app.post("/campaigns").json(&body).send().await.assert_status(201).json()["data"].clone();
    let at = app.now() + later.as_millis() as i64;
    let path = format!("/campaigns/{}/send", text(&campaign["id"]));
    app.post(&path).json(&json!({"scheduledFor": at})).send().await.assert_status(200);
    campaign
}

both_engines! {
    async fn what_is_going_to_happen_is_listed(engine: Engine) {
        let app = App::start(engine).await;
        assert_eq!(read(&app, "/activity/upcoming").await, json!({"activities": [], "hasMore": false}));
        let flow = Flow::new(&app, "begun").await;
        flow.then("DELAY", json!({"amount": 2, "unit": "days"})).await;
        flow.enable().await;
        for name in ["ann", "bob", "cid"] {
            track_ok(&app, json!({"email": format!("{name}@example.com"), "event": "begun"})).await;
        }
        app.eventually("all wait", async || {
            let found = read(&app, "/activity/upcoming").await;
            let [waiting] = of(&found, "workflow.scheduled")[..] else { return None };
            (waiting["metadata"]["executions"] == 3 && waiting["timestamp"].as_str()? > "2026").then_some(())
        })
        .await;
        let soon = schedule(&app, "Soon", Duration::from_hours(1)).await;
        let later = schedule(&app, "Later", DAY * 40).await;
        let found = app.eventually("they wait for two days", async || {
            let found = read(&app, "/activity/upcoming").await;
            (items(&found["activities"])[0]["type"] == "campaign.scheduled").then_some(found)
        })
        .await;
        assert_eq!(items(&found["activities"]).len(), 2, "{found}");
        let campaign = of(&found, "campaign.scheduled")[0];
        assert_eq!(campaign["id"], format!("{}_scheduled", text(&soon["id"])));
        assert_eq!(campaign["metadata"]["campaignName"], "Soon");
        assert_eq!(campaign["metadata"]["audienceType"], "ALL");
        let waiting = of(&found, "workflow.scheduled")[0];
        assert_eq!(waiting["metadata"]["workflowId"], flow.id);
        assert!(text(&waiting["timestamp"]).starts_with(text(&waiting["metadata"]["day"])), "{waiting}");
        // further ahead
        let found = read(&app, "/activity/upcoming?daysAhead=60").await;
        let ids: Vec<_> = of(&found, "campaign.scheduled").iter().map(|entry| entry["metadata"]["campaignId"].clone()).collect();
        assert_eq!(ids, [soon["id"].clone(), later["id"].clone()]);
        let found = read(&app, "/activity/upcoming?daysAhead=1").await;
        assert!(of(&found, "workflow.scheduled").is_empty(), "{found}");
        let found = read(&app, "/activity/upcoming?limit=1").await;
        assert_eq!((items(&found["activities"]).len(), &found["hasMore"]), (1, &json!(true)));
    }
}
