//! Suppressions: the addresses of a project and of the instance that get no mail, rules, and the mails that are held back.

mod addresses;
mod campaigns;
mod files;
mod holding;
mod rules;
mod workflows;

use mailwright_testkit::{App, Response, Value, json};
use mailwright_tests::text;

/// POST /suppressions/addresses.
async fn suppress(app: &App, body: Value) -> Response {
    app.post("/suppressions/addresses").json(&body).send().await
}

/// Suppresses an address by hand.
async fn by_hand(app: &App, email: &str) {
    suppress(app, json!({"email": email})).await.assert_status(201);
}

async fn unsuppress(app: &App, email: &str) -> Response {
    app.delete(&format!("/suppressions/addresses/{email}")).send().await
}

/// Creates a rule.
async fn rule(app: &App, kind: &str, pattern: &str) -> Value {
    let body = json!({"name": format!("{kind} {pattern}"), "kind": kind, "pattern": pattern});
    app.post("/suppressions").json(&body).send().await.assert_status(201).json()
}

/// POST /suppressions/preview.
async fn preview(app: &App, address: &str) -> Value {
    let body = json!({"address": address});
    app.post("/suppressions/preview").json(&body).send().await.assert_status(200).json()
}

/// Sends a mail of a template of a type, which may be refused.
async fn send_of_type(app: &App, kind: &str, to: &str) -> Response {
    let template = mailwright_tests::create_template(app, &json!({"type": kind})).await;
    app.send(json!({"to": to, "template": template["id"], "subscribed": true})).await
}

/// The id of the mail that a send was answered with.
fn id_of(response: &Response) -> String {
    let answer = response.clone().assert_status(200).json();
    text(&answer["data"]["emails"][0]["email"]).to_owned()
}
