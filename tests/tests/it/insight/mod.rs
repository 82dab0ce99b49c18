//! What happened in a project: the feed, and figures over time.

mod analytics;
mod cohorts;
mod feed;
mod recipients;
mod stream;
mod upcoming;

use std::time::Duration;

use mailwright_testkit::{App, Value, json};
use mailwright_tests::workflow::Flow;
use mailwright_tests::{create_contact, create_template, read, send_ok, text, track_ok};

use crate::tracking::{Mail, PERSON, judged, visit};

/// A day.
const DAY: Duration = Duration::from_hours(24);

/// What a project has after some of everything happened in it.
struct Lived {
    contact: Value,
    template: Value,
    campaign: Value,
    workflow: String,
}

/// Lets some of everything happen.
async fn live(app: &App) -> Lived {
    let contact = create_contact(app, "ann@example.com", true, json!({"plan": "pro"})).await;
    let flow = Flow::new(app, "begun").await;
    flow.then("UPDATE_CONTACT", json!({"updates": {"plan": "free"}})).await;
    flow.enable().await;
    track_ok(app, json!({"email": "ann@example.com", "event": "begun", "data": {"amount": 3}})).await;
    track_ok(app, json!({"email": "bob@example.com", "event": "seen"})).await;
    let body = "<p>Hello <a href=\"https://shop.test/one\">One</a></p>";
    let template = create_template(app, &json!({"type": "TRANSACTIONAL", "body": body})).await;
    let sent = send_ok(app, json!({"to": "ann@example.com", "template": template["id"]})).await;
    let mail = Mail::of(app, text(&sent["emails"][0]["email"])).await;
    let campaign = campaign(app).await;
    app.advance(Duration::from_mins(3)).await;
    visit(app, &mail.picture(), PERSON).await;
    visit(app, &mail.links()[0], PERSON).await;
    judged(app, &mail, 2).await;
    app.eventually("the workflow is through", async || {
        let executions = read(app, &flow.path("/executions")).await;
        (executions["data"][0]["status"] == "COMPLETED").then_some(())
    })
    .await;
    Lived { contact, template, campaign, workflow: flow.id }
}

async fn campaign(app: &App) -> Value {
    campaign_with(app, "<p>News</p>").await
}

/// A campaign to all that was sent.
async fn campaign_with(app: &App, body: &str) -> Value {
    let body = json!({
        "name": "News", "subject": "Hello", "body": body, "from": app.from(), "audienceType": "ALL",
        "type": "MARKETING",
    });
    let campaign = app.post("/campaigns").json(&body).send().await.assert_status(201).json()["data"].clone();
    let path = format!("/campaigns/{}", text(&campaign["id"]));
    app.post(&format!("{path}/send")).json(&json!({})).send().await.assert_status(200);
    app.eventually_within(Duration::from_secs(30), "the campaign is sent", async || {
        let found = read(app, &path).await;
        (found["status"] == "SENT" && !found["finishedAt"].is_null()).then_some(found)
    })
    .await
}
