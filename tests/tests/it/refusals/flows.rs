//! The workflows of a filled project, and the contacts that go through them.

use mailwright_testkit::{Value, json};
use mailwright_tests::workflow::Flow;
use mailwright_tests::{create_contact, text, track_ok};

use super::world::World;

/// Ids by names.
type Made = Vec<(&'static str, Value)>;

/// Makes the workflows. Returns the ids of what is in them.
pub(crate) async fn fill(world: &World) -> Made {
    let mut made = idle(world).await;
    made.extend(under_way(world).await);
    made
}

/// A workflow that was never enabled. Nothing leads to some of its steps.
async fn idle(world: &World) -> Made {
    let flow = Flow::new(&world.app, "idle").await;
    let is_pro = json!({"field": "data.plan", "operator": "equals", "value": "pro"});
    let condition = flow.then("CONDITION", is_pro).await;
    let told = json!({"autoConnect": false, "templateId": world.id("welcome")});
    let mailing = flow.try_add("SEND_EMAIL", &json!({}), &told).await.assert_status(201).json();
    let delaying = flow.loose("DELAY", json!({"amount": 1, "unit": "days"})).await;
    let joining = flow.loose("ADD_TO_SEGMENT", json!({"segmentId": world.id("joined")})).await;
    let leaving = flow.loose("EXIT", json!({})).await;
    let yes = flow.link(&condition, text(&mailing["id"]), json!({"branch": "yes"})).await;
    flow.link(&delaying, &leaving, json!({})).await;
    vec![
        ("idle flow", json!(flow.id)),
        ("trigger", json!(flow.trigger)),
        ("condition", json!(condition)),
        ("mailing", mailing["id"].clone()),
        ("delaying", json!(delaying)),
        ("joining", json!(joining)),
        ("leaving", json!(leaving)),
        ("yes", yes["id"].clone()),
    ]
}

/// An enabled workflow, in which one contact waits at an earlier version, and another waited until it was cancelled.
async fn under_way(world: &World) -> Made {
    let app = &world.app;
    let flow = Flow::new(app, "flowing").await;
    flow.then("DELAY", json!({"amount": 1, "unit": "days"})).await;
    flow.enable().await;
    let tracked = track_ok(app, json!({"email": "wes@example.com", "event": "flowing"})).await;
    let waiting = flow.only("WAITING").await;
    let past = create_contact(app, "past@example.com", true, json!({})).await;
    let cancelled = flow.start(&past["id"], json!({})).await;
    flow.once(&cancelled, "WAITING").await;
    app.delete(&flow.path(&format!("/executions/{cancelled}"))).send().await.assert_status(200);
    // with a newer version there is somebody to be moved to it
    flow.then("EXIT", json!({})).await;
    app.post(&flow.path("/publish")).send().await.assert_status(200);
    vec![
        ("flow", json!(flow.id)),
        ("waiting contact", tracked["contact"].clone()),
        ("waiting execution", waiting["id"].clone()),
        ("past contact", past["id"].clone()),
        ("cancelled execution", json!(cancelled)),
    ]
}
