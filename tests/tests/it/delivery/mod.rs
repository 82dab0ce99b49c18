//! What happens to a mail after it was accepted: how it is handed over, what the receiver's answers lead to, and
//! what a receiver gets to see.

mod chunking;
mod dane;
mod direct;
mod hanging;
mod identities;
mod interventions;
mod isolation;
mod judged;
mod message;
mod next_hop;
mod outcomes;
mod pace;
mod queue;
mod resuming;
mod ses;
mod sites;
mod tls_reports;
mod transport;
mod transports;
mod turns;
mod warm_up;

use mailwright_testkit::{App, Value};
use mailwright_tests::{items, read, text};
use std::time::Duration;

/// States in which an email waits for something.
const OPEN: [&str; 2] = ["PENDING", "SENDING"];

/// Longer than any pause of a server under test, and than its lease.
const LONG: Duration = Duration::from_hours(24);

/// Lets so much time pass and has another mail tried, which the server does not take differently. What was not tried
/// again before that one is not tried again by then.
async fn pass(app: &App, time: Duration) {
    app.advance(time).await;
    let later = app.send_to("later@example.com").await;
    app.eventually("a later mail is tried", async || {
        (app.email(&later).await["attemptCount"].as_i64() >= Some(1)).then_some(())
    })
    .await;
}

/// The TXT records that the sender domain asks its owner to publish.
async fn txt_records(app: &App) -> Vec<(String, String)> {
    let domains = read(app, &format!("/domains/project/{}", app.project_id())).await;
    let domain = items(&domains).iter().find(|domain| domain["domain"] == app.domain());
    let records = items(&domain.expect("the domain of the project")["records"]).iter();
    let txt = records.filter(|record| record["type"] == "TXT");
    txt.map(|record| (text(&record["name"]).to_owned(), text(&record["value"]).to_owned())).collect()
}

/// By which transport a mail was sent.
fn sent_by(email: &Value) -> String {
    text(&attempts(email).last().expect("an attempt")["transport"]).to_owned()
}

/// A mail to an address, once it is sent.
async fn sent(app: &App, to: &str) -> Value {
    let id = app.send_to(to).await;
    app.email_in(&id, &["SENT"]).await
}

/// The attempts of an email, first one first.
fn attempts(email: &Value) -> Vec<Value> {
    let mut attempts = items(&email["attempts"]).to_vec();
    attempts.sort_by_key(|attempt| attempt["attempt"].as_u64());
    attempts
}

/// The reply codes of an email's attempts, first one first; none where the connection broke.
fn codes(email: &Value) -> Vec<Option<u64>> {
    attempts(email).iter().map(|attempt| attempt["code"].as_u64()).collect()
}

/// Waits until an email has left the queue, and returns it.
async fn settled(app: &App, id: &str) -> Value {
    let what = format!("email {id} is settled");
    app.eventually(&what, async || {
        let email = app.email(id).await;
        (!OPEN.contains(&text(&email["status"]))).then_some(email)
    })
    .await
}

/// Waits until no email of the project is open, and returns all of them.
async fn all_settled(app: &App, count: usize) -> Vec<Value> {
    app.eventually_within(Duration::from_secs(30), &format!("{count} emails are settled"), async || {
        let emails = app.list_all("/emails").await;
        let open = emails.iter().any(|email| OPEN.contains(&text(&email["status"])));
        (emails.len() == count && !open).then_some(emails)
    })
    .await
}

/// The events of an email's contact with this name.
async fn events(app: &App, email: &Value, name: &str) -> Vec<Value> {
    let all = mailwright_tests::events_of(app, &email["contactId"]).await;
    all.into_iter().filter(|event| event["name"] == name).collect()
}

/// The value of a header in a message as it came, unfolded; the first one when there are several.
fn header(message: &[u8], name: &str) -> Option<String> {
    headers(message, name).into_iter().next()
}

/// The values of a header in a message as it came, unfolded.
fn headers(message: &[u8], name: &str) -> Vec<String> {
    let message = String::from_utf8_lossy(message).into_owned();
    let head = message.split_once("\r\n\r\n").map_or(message.as_str(), |(head, _)| head);
    let unfolded = head.replace("\r\n ", " ").replace("\r\n\t", " ");
    let fields = unfolded.split("\r\n").filter_map(|line| line.split_once(':'));
    let named = fields.filter(|(found, _)| found.eq_ignore_ascii_case(name));
    named.map(|(_, value)| value.trim().to_owned()).collect()
}
