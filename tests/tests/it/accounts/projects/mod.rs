//! Projects of the signed-in user: settings, keys, reset, deletion, health.

mod creation;
mod nodes;
mod reset;
mod settings;
mod state;

use mailwright_testkit::{App, OWNER};
use mailwright_tests::browser::Browser;
use serde_json::Value;

const SHAPE: &[&str] = &[
    "id",
    "name",
    "public",
    "secret",
    "disabled",
    "tracking",
    "language",
    "sendingPerSecond",
    "publicKeyMayResubscribe",
    "utm",
    "replyTracking",
    "doubleOptIn",
    "confirmationTemplateId",
    "consentKeepsAddress",
    "timezone",
    "marketingCap",
    "retention",
    "retentionInForce",
    "createdAt",
    "updatedAt",
];

async fn owner(app: &App) -> Browser {
    Browser::log_in(app, OWNER.0, OWNER.1).await
}

async fn mine(app: &App, user: &Browser) -> Value {
    user.request(app, "GET", "/users/@me/projects").send().await.assert_status(200).json()
}

fn mine_path(app: &App, rest: &str) -> String {
    format!("/users/@me/projects/{}{rest}", app.project_id())
}
