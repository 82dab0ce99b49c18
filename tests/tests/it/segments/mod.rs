//! The segment endpoints, live membership, and what refers to fields and events.

mod columns;
mod compute;
mod filters;
mod history;
mod live;
mod members;
mod nodes;
mod preview;
mod single;
mod usage;

use mailwright_testkit::{App, Response};
use mailwright_tests::{events_of, items, read, text};
use serde_json::{Value, json};

/// A condition of one filter.
fn only(filter: &Value) -> Value {
    json!({"logic": "AND", "groups": [{"filters": [filter]}]})
}

/// A condition on one custom field.
fn plan(value: &str) -> Value {
    only(&json!({"field": "data.plan", "operator": "equals", "value": value}))
}

/// A condition on membership in another segment.
fn member_of(segment: &Value) -> Value {
    only(&json!({"field": format!("segment.{}", text(&segment["id"])), "operator": "memberOfSegment"}))
}

async fn post(app: &App, body: &Value) -> Response {
    app.post("/segments").json(body).send().await
}

async fn create(app: &App, body: Value) -> Value {
    post(app, &body).await.assert_status(201).json()
}

/// A dynamic segment.
async fn dynamic(app: &App, name: &str, condition: &Value) -> Value {
    create(app, json!({"name": name, "condition": condition})).await
}

/// A dynamic segment whose members are tracked.
async fn tracked(app: &App, name: &str, condition: &Value) -> Value {
    create(app, json!({"name": name, "condition": condition, "trackMembership": true})).await
}

/// A static segment with these members, who become contacts.
async fn list_of(app: &App, name: &str, emails: &[&str]) -> Value {
    let segment = create(app, json!({"name": name, "type": "STATIC"})).await;
    if !emails.is_empty() {
        let body = json!({"emails": emails, "createMissing": true});
        app.post(&at(&segment, "/members")).json(&body).send().await.assert_status(200);
    }
    segment
}

/// A path below a segment.
fn at(segment: &Value, rest: &str) -> String {
    format!("/segments/{}{rest}", text(&segment["id"]))
}

async fn patch(app: &App, segment: &Value, body: Value) -> Response {
    app.patch(&at(segment, "")).json(&body).send().await
}

async fn count(app: &App, segment: &Value) -> Value {
    read(app, &at(segment, "")).await["memberCount"].clone()
}

/// The addresses of the members, in the order of the list.
async fn members(app: &App, segment: &Value) -> Vec<String> {
    let page = read(app, &at(segment, "/contacts?pageSize=100")).await;
    items(&page["data"]).iter().map(|contact| text(&contact["email"]).to_owned()).collect()
}

async fn compute(app: &App, segment: &Value) -> Value {
    app.post(&at(segment, "/compute")).send().await.assert_status(200).json()
}

/// The names of a contact's events that are about segments, oldest first.
async fn moves(app: &App, contact: &Value) -> Vec<String> {
    let events = events_of(app, contact).await;
    let names = events.iter().rev().map(|event| text(&event["name"]).to_owned());
    names.filter(|name| name.starts_with("segment.")).collect()
}

/// Waits until a contact's events about segments are these.
async fn eventually_moves(app: &App, contact: &Value, expected: &[&str]) {
    let what = format!("the contact's moves are {expected:?}");
    app.eventually(&what, async || (moves(app, contact).await == expected).then_some(())).await;
}
