//! What the server shows: lists, mails, and states that are waited for.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::encoded;

use super::App;

/// How long [`App::eventually`] waits.
const EVENTUALLY: Duration = Duration::from_secs(15);

impl App {
    /// Polls every 20 ms up to 15 s until there is a value; panics with `what` otherwise.
    pub async fn eventually<T>(&self, what: &str, f: impl AsyncFnMut() -> Option<T>) -> T {
        self.eventually_within(EVENTUALLY, what, f).await
    }

    /// As [`App::eventually`], with a limit of its own.
    pub async fn eventually_within<T>(
        &self,
        limit: Duration,
        what: &str,
        mut f: impl AsyncFnMut() -> Option<T>,
    ) -> T {
        let since = Instant::now();
        loop {
            if let Some(value) = f().await {
                return value;
            }
            assert!(since.elapsed() < limit, "not within {limit:?}: {what}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Polls every 20 ms until nothing is left; panics with what is left after `limit`.
    pub async fn nothing_left_within(&self, limit: Duration, mut f: impl AsyncFnMut() -> Vec<Value>) {
        let since = Instant::now();
        loop {
            let left = f().await;
            if left.is_empty() {
                return;
            }
            assert!(since.elapsed() < limit, "left after {limit:?}: {left:#?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The messages captured for an address, oldest first, each in full as `GET /mailbox/:id` shows it.
    pub async fn mailbox_for(&self, to: &str) -> Vec<Value> {
        let mut messages = Vec::new();
        for item in self.list_all("/mailbox").await {
            let addressed = match &item["to"] {
                Value::Array(many) => many.iter().any(|one| names(one, to)),
                one => names(one, to),
            };
            if addressed {
                let path = format!("/mailbox/{}", item["id"].as_str().unwrap_or_default());
                messages.push(self.get(&path).send().await.assert_status(200).json());
            }
        }
        messages.reverse();
        messages
    }

    /// Every element of a cursor list, page by page; `path` may carry a query.
    pub async fn list_all(&self, path: &str) -> Vec<Value> {
        let separator = if path.contains('?') { '&' } else { '?' };
        let first = format!("{path}{separator}limit=100");
        let mut url = first.clone();
        let mut all = Vec::new();
        loop {
            let page = self.get(&url).send().await.assert_status(200).json();
            let Value::Array(data) = page["data"].clone() else { panic!("{path} is no list: {page}") };
            all.extend(data);
            match page["cursor"].as_str() {
                Some(cursor) if page["hasMore"] == true => {
                    url = format!("{first}&cursor={}", encoded(cursor));
                }
                _ => return all,
            }
        }
    }

    /// An email as `GET /emails/:id` shows it.
    pub async fn email(&self, id: &str) -> Value {
        self.get(&format!("/emails/{id}")).send().await.assert_status(200).json()
    }

    /// Waits until an email has one of these states, and returns it. Panics after `EVENTUALLY`.
    pub async fn email_in(&self, id: &str, states: &[&str]) -> Value {
        let mut last = Value::Null;
        let since = Instant::now();
        while since.elapsed() < EVENTUALLY {
            last = self.email(id).await;
            if states.iter().any(|&state| last["status"] == state) {
                return last;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("email {id} is not {states:?} within {EVENTUALLY:?}: {last}");
    }
}

/// Whether a value of a message's `to` names this address.
fn names(to: &Value, address: &str) -> bool {
    let text = to.as_str().or_else(|| to["email"].as_str()).unwrap_or_default().to_lowercase();
    let address = address.to_lowercase();
    text == address || text.contains(&format!("<{address}>"))
}
