//! Signing up, in and out, passwords, and how guessing is slowed down.

mod account;
mod cookies;
mod ending;
mod guessing;

use mailwright_testkit::App;
use mailwright_tests::browser::Browser;
use serde_json::json;

const NEW_PASSWORD: &str = "another password, better";

async fn change_password(app: &App, browser: &Browser, current: &str, new: &str) -> u16 {
    let body = json!({"currentPassword": current, "newPassword": new});
    browser.request(app, "POST", "/users/@me/password").json(&body).send().await.status
}

async fn me(app: &App, browser: &Browser) -> u16 {
    browser.request(app, "GET", "/users/@me").send().await.status
}
