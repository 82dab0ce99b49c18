//! What a request, a public key or a recipient can make grow has a limit, and the answer names it.

mod domains;
mod event_names;
mod fields;
mod mailbox;
mod sending;

use mailwright_testkit::{App, Response};
use mailwright_tests::{issue, read, shown, text};
use serde_json::{Value, json};

const KB: usize = 1024;

/// Tracks with the public key, as a page on the web does.
async fn track_from_a_page(app: &App, email: &str, event: &str, data: &Value) -> Response {
    let body = json!({"email": email, "event": event, "data": data});
    app.request("POST", "/v1/track").bearer(app.public_key()).json(&body).send().await
}

/// A refusal that names a limit.
#[track_caller]
fn assert_refused(answer: &Response, field: &str, limit: &str) {
    assert_eq!(answer.status, 422, "{}", shown(answer));
    let issue = issue(answer, field);
    assert_eq!(issue["code"], "too_big", "{issue}");
    assert!(text(&issue["message"]).contains(limit), "{issue} names {limit}");
}

/// Tracks with a secret key, as a server does.
async fn track_from_a_server(app: &App, email: &str, event: &str, data: &Value) -> Response {
    let body = json!({"email": email, "event": event, "data": data});
    app.post("/v1/track").json(&body).send().await
}

async fn total(app: &App) -> usize {
    read(app, "/contacts?limit=1").await["total"].as_u64().expect("a number") as usize
}
