//! Several processes on one PostgreSQL: they share the work, the limits and the keys, and survive each other.

mod clock;
mod keys;
mod limits;
mod mail;

use mailwright_testkit::smtp::ScriptedServer;
use mailwright_testkit::{App, Value};
use std::collections::BTreeMap;
use std::time::Duration;

/// Sends `count` mails through the nodes in turn, several at a time.
async fn send_in_turn(nodes: &[&App], prefix: &str, count: usize) {
    let requests = (0..count).map(|n| {
        let node = nodes[n % nodes.len()];
        let to = format!("{prefix}{n}@example.com");
        async move { node.send_to(&to).await }
    });
    for batch in in_batches(requests, 20) {
        futures_util::future::join_all(batch).await;
    }
}

fn in_batches<T>(all: impl Iterator<Item = T>, size: usize) -> Vec<Vec<T>> {
    let mut batches: Vec<Vec<T>> = Vec::new();
    for one in all {
        match batches.last_mut() {
            Some(batch) if batch.len() < size => batch.push(one),
            _ => batches.push(vec![one]),
        }
    }
    batches
}

/// Waits until all emails of the project are sent, and returns them.
async fn all_sent(app: &App, count: usize) -> Vec<Value> {
    app.eventually_within(Duration::from_secs(30), &format!("{count} emails are sent"), async || {
        let emails = app.list_all("/emails").await;
        let sent = emails.iter().filter(|email| email["status"] == "SENT").count();
        (sent == count).then_some(emails)
    })
    .await
}

/// How often each address got a mail, over several receiving servers.
fn copies(servers: &[&ScriptedServer]) -> BTreeMap<String, usize> {
    let mut copies = BTreeMap::new();
    for message in servers.iter().flat_map(|server| server.received()) {
        *copies.entry(message.rcpt_to[0].clone()).or_default() += 1;
    }
    copies
}
