//! Campaigns: their records, whom they reach, how they are carried out, and the ledger of what became of each mail.

mod audience;
mod content;
mod faults;
mod ledger;
mod records;
mod retry;
mod review;
mod segments;
mod states;
mod waiting;

use mailwright_testkit::{App, Response, Value, json};
use mailwright_tests::{create_contact, read, text, with};
use std::time::Duration;

/// A campaign as POST /campaigns takes it: to everybody, of the default type.
fn body(app: &App) -> Value {
    json!({
        "name": "News",
        "subject": "News for {{name ?? \"you\"}}",
        "body": "<p>Hello {{name ?? \"friend\"}}</p>",
        "from": app.from(),
        "audienceType": "ALL",
    })
}

async fn post(app: &App, body: &Value) -> Response {
    app.post("/campaigns").json(body).send().await
}

/// A draft made with `changes` put over the usual body.
async fn draft(app: &App, changes: &Value) -> Value {
    let created = post(app, &with(body(app), changes)).await.assert_status(201).json();
    assert_eq!(created["success"], true, "{created}");
    created["data"].clone()
}

fn path(campaign: &Value, rest: &str) -> String {
    format!("/campaigns/{}{rest}", text(&campaign["id"]))
}

/// The campaign as it is now.
async fn get(app: &App, campaign: &Value) -> Value {
    read(app, &path(campaign, "")).await
}

/// Does something with a campaign, without a body.
async fn act(app: &App, campaign: &Value, what: &str) -> Response {
    app.post(&path(campaign, what)).send().await
}

/// Sends a campaign now; returns what POST /campaigns/:id/send answered.
async fn send(app: &App, campaign: &Value) -> Value {
    app.post(&path(campaign, "/send")).json(&json!({})).send().await.assert_status(200).json()
}

/// Subscribed contacts `<prefix><number>@example.com`.
async fn contacts(app: &App, prefix: &str, count: usize) -> Vec<Value> {
    let make = |number| async move {
        create_contact(app, &format!("{prefix}{number}@example.com"), true, json!({"number": number})).await
    };
    futures_util::future::join_all((0..count).map(make)).await
}

/// Waits until a campaign has a status, and returns it.
async fn in_status(app: &App, campaign: &Value, status: &str) -> Value {
    app.eventually_within(Duration::from_secs(30), &format!("the campaign is {status}"), async || {
        let campaign = get(app, campaign).await;
        (campaign["status"] == status).then_some(campaign)
    })
    .await
}

/// Waits until all the audience of a campaign is frozen.
async fn frozen(app: &App, campaign: &Value) {
    app.eventually("the audience is frozen", async || {
        (read(app, &path(campaign, "/ledger")).await["frozen"] == true).then_some(())
    })
    .await;
}

/// Waits until a campaign is over, and returns its ledger, which must balance.
async fn settled(app: &App, campaign: &Value) -> Value {
    app.eventually_within(Duration::from_mins(1), "the campaign is over", async || {
        let found = get(app, campaign).await;
        (!found["finishedAt"].is_null()).then_some(())
    })
    .await;
    let ledger = read(app, &path(campaign, "/ledger")).await;
    assert_eq!(ledger["balance"], ledger["equation"], "{ledger}");
    assert_balanced(&ledger);
    ledger
}

/// audience = accepted + skipped + failed + in doubt, and nothing waits.
fn assert_balanced(ledger: &Value) {
    let equation = &ledger["equation"];
    let sum =
        |of: &Value| -> i64 { of.as_object().expect("reasons").values().filter_map(Value::as_i64).sum() };
    let number = |of: &Value| of.as_i64().expect("a number");
    let total = number(&equation["accepted"])
        + sum(&equation["skipped"])
        + sum(&equation["failed"])
        + number(&equation["inDoubt"]);
    assert_eq!(number(&equation["audience"]), total, "{ledger}");
    assert_eq!((&equation["waiting"], &equation["balanced"]), (&json!(0), &json!(true)), "{ledger}");
}

/// Every mail of a campaign that stands so.
async fn entries(app: &App, campaign: &Value, query: &str) -> Vec<Value> {
    app.list_all(&path(campaign, &format!("/ledger?{query}"))).await
}
