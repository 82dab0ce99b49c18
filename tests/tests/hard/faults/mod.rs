//! What the program stands on gives way: the database goes, the disk is full, DNS says nothing.

mod database;
mod disk;
mod dns;
mod permissions;

use mailwright_testkit::smtp::ScriptedServer;
use mailwright_testkit::{App, Response, json};
use mailwright_tests::{assert_envelope, text};
use std::collections::BTreeSet;
use std::time::Duration;

/// How long a refusal may take: less than callers and load balancers wait.
const PROMPT: Duration = Duration::from_secs(10);
/// How long the queue may take until it is empty, once nothing is in its way.
const EMPTY_WITHIN: Duration = Duration::from_secs(40);

/// The answer of a server that cannot do its work now: 503, the envelope, and when to come back.
pub(super) fn assert_unavailable(answer: &Response) {
    assert_envelope(answer, 503);
    let seconds = answer.headers.get("retry-after").and_then(|value| value.parse::<u64>().ok());
    assert!(seconds >= Some(1), "Retry-After in seconds: {:?}", answer.headers);
}

async fn ready(app: &App) -> u16 {
    app.request("GET", "/ready").timeout(PROMPT).send().await.status
}

/// Every email of the project is sent; the receiving server got each of these addresses once, or twice at most
/// where the email is marked as in doubt.
async fn assert_all_sent(app: &App, server: &ScriptedServer, addresses: &BTreeSet<String>) {
    app.nothing_left_within(EMPTY_WITHIN, async || {
        let emails = app.list_all("/emails").await;
        emails.into_iter().filter(|email| email["status"] != "SENT").collect()
    })
    .await;
    let emails = app.list_all("/emails").await;
    let mut missing = addresses.clone();
    for email in &emails {
        let to = text(&email["to"]);
        missing.remove(to);
        let copies = server.received_for(to).len();
        let most = if email["inDoubt"] == true { 2 } else { 1 };
        assert!((1..=most).contains(&copies), "received {copies} times: {email}");
    }
    assert!(missing.is_empty(), "acknowledged and lost: {missing:?}");
}

/// Whether `/ready` says 503 for the very reason that nothing can be written, and the metrics say so too.
async fn says_unwritable(app: &App) -> Option<()> {
    let answer = app.request("GET", "/ready").timeout(PROMPT).send().await;
    if answer.status == 200 {
        return None;
    }
    let (status, ready) = (answer.status, answer.json());
    assert_eq!(
        (status, &ready["database"], &ready["writable"]),
        (503, &json!(true), &json!(false)),
        "{ready}"
    );
    let metrics = app.request("GET", "/metrics").send().await.text();
    metrics.contains("mailwright_database_writable 0").then_some(())
}
