//! A next hop that takes less than it is offered, or nothing at all.

mod connections;
mod limits;
mod outages;
mod refusals;
mod session;

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, json};
use std::time::Duration;

/// Longer than anything takes here, on a busy machine as well.
const LONG: Duration = Duration::from_mins(1);

async fn send_many(app: &App, key: &str, from: &str, prefix: &str, count: usize) {
    let to: Vec<String> = (0..count).map(|n| format!("{prefix}{n}@example.com")).collect();
    for part in to.chunks(500) {
        let body = json!({"to": part, "subject": "Hi", "body": "<p>Hi</p>", "from": from});
        app.request("POST", "/v1/send").bearer(key).json(&body).send().await.assert_status(200);
    }
}

/// A server that is slow enough for connections to matter.
fn slow(_: &str, _: u32) -> Answer {
    Answer::Delay(Duration::from_millis(25))
}

async fn until_received(app: &App, server: &ScriptedServer, count: usize) {
    let what = format!("{count} mails have arrived");
    app.eventually_within(LONG, &what, async || (server.copies().len() >= count).then_some(())).await;
}

/// A figure at `/metrics`.
async fn figure(app: &App, name: &str) -> Option<f64> {
    let metrics = app.request("GET", "/metrics").send().await.assert_status(200).text();
    let line = metrics.lines().find(|line| line.starts_with(name) && line[name.len()..].starts_with(' '))?;
    line.rsplit(' ').next()?.parse().ok()
}
