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
        let found = polled(limit, async || f().await.ok_or(())).await;
        found.unwrap_or_else(|()| panic!("not within {limit:?}: {what}"))
    }

    /// Polls every 20 ms until nothing is left; panics with what is left after `limit`.
    pub async fn nothing_left_within(&self, limit: Duration, mut f: impl AsyncFnMut() -> Vec<Value>) {
        let gone = polled(limit, async || {
            let left = f().await;
            if left.is_empty() { Ok(()) } else { Err(left) }
        });
        gone.await.unwrap_or_else(|left| panic!("left after {limit:?}: {left:#?}"));
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
        self.list_all_by(self.secret_key(), path).await
    }

    /// As [`App::list_all`], of the project with this secret key.
    pub async fn list_all_by(&self, secret_key: &str, path: &str) -> Vec<Value> {
        let separator = if path.contains('?') { '&' } else { '?' };
        let first = format!("{path}{separator}limit=100");
        let mut url = first.clone();
        let mut all = Vec::new();
        loop {
            let page = self.request("GET", &url).bearer(secret_key).send().await.assert_status(200).json();
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
        let found = polled(EVENTUALLY, async || {
            let email = self.email(id).await;
            if states.iter().any(|&state| email["status"] == state) { Ok(email) } else { Err(email) }
        });
        found
            .await
            .unwrap_or_else(|last| panic!("email {id} is not {states:?} within {EVENTUALLY:?}: {last}"))
    }
}

/// Asks every 20 ms until there is a value; what was said instead when `limit` was over.
async fn polled<T, E>(limit: Duration, mut ask: impl AsyncFnMut() -> Result<T, E>) -> Result<T, E> {
    let since = Instant::now();
    loop {
        let answer = ask().await;
        if answer.is_ok() || since.elapsed() >= limit {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Whether a value of a message's `to` names this address.
fn names(to: &Value, address: &str) -> bool {
    let text = to.as_str().or_else(|| to["email"].as_str()).unwrap_or_default().to_lowercase();
    let address = address.to_lowercase();
    text == address || text.contains(&format!("<{address}>"))
}
