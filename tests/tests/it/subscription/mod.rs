//! What recipients read and do without a key: one click, the pages, the public contact endpoints, and the footer that
//! leads there, each in the recipient's language.

mod endpoints;
mod footer;
mod ids;
mod pages;

use mailwright_testkit::{App, Project, Request};
use mailwright_tests::as_project;
use serde_json::{Value, json};

/// What a browser says it takes.
const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

/// A request as a browser makes it.
fn browse(app: &App, method: &str, path: &str) -> Request {
    app.request(method, path).header("accept", BROWSER)
}

/// A subscribed contact of a project other than the first.
async fn contact_of(app: &App, project: &Project, email: &str, data: Value) -> Value {
    let body = json!({"email": email, "subscribed": true, "data": data});
    as_project(app, project, "POST", "/contacts").json(&body).send().await.assert_status(201).json()
}
