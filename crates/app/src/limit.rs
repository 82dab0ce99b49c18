//! The limit on requests per project and minute (contract, Limits).
//!
//! The count is in the database, so it holds across processes. A process takes a handful of requests at a time and
//! counts them down in memory; the handful shrinks towards the limit, so the limit is exact.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use mailwright_core::ids::ProjectNumber;
use mailwright_core::time::{Clock, Timestamp};
use mailwright_store::{Db, rate};

const WINDOW_MS: i64 = 60_000;
/// Most requests taken at a time.
const HANDFUL: i64 = 256;

/// What a request may know of its project's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// Whether the request may go on.
    pub allowed: bool,
    /// Requests a minute.
    pub limit: i64,
    /// Requests left in this window, as far as this process knows.
    pub remaining: i64,
    /// Seconds until the next window.
    pub reset: i64,
}

#[derive(Debug, Default)]
struct Held {
    window: i64,
    tokens: i64,
    /// What was left in the database after the last handful.
    left: i64,
    /// Nothing is left in this window.
    spent: bool,
}

/// Counts requests.
#[derive(Debug)]
pub struct Limiter {
    db: Db,
    clock: Clock,
    limit: i64,
    projects: Mutex<HashMap<ProjectNumber, Arc<tokio::sync::Mutex<Held>>>>,
}

impl Limiter {
    pub(crate) fn new(db: Db, clock: Clock, limit: i64) -> Self {
        Self { db, clock, limit, projects: Mutex::default() }
    }

    /// Counts a request of a project. `None` when the limit is switched off.
    ///
    /// A request is let through when the count cannot be read: if the database is gone, the request itself will say so.
    pub async fn take(&self, project: ProjectNumber) -> Option<Allowance> {
        if self.limit <= 0 {
            return None;
        }
        let held = {
            let mut projects = self.projects.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(projects.entry(project).or_default())
        };
        let mut held = held.lock().await;
        let now = self.clock.now().0;
        let window = now - now.rem_euclid(WINDOW_MS);
        if held.window != window {
            *held = Held { window, ..Held::default() };
        }
        if held.tokens == 0 && !held.spent {
            self.refill(project, &mut held).await;
        }
        let allowed = held.tokens > 0;
        held.tokens -= i64::from(allowed);
        let reset = (window + WINDOW_MS - now + 999) / 1000;
        Some(Allowance {
            allowed,
            limit: self.limit,
            remaining: held.left + held.tokens,
            reset: reset.max(1),
        })
    }

    async fn refill(&self, project: ProjectNumber, held: &mut Held) {
        let (limit, times) = (self.limit, [Timestamp(held.window), self.clock.now()]);
        let taken = self
            .db
            .write(move |tx| {
                Box::pin(async move {
                    let taken = rate::take_requests(tx, project, times, limit, HANDFUL).await?;
                    Ok((taken, rate::requests_left(tx, project, limit).await?))
                })
            })
            .await;
        match taken {
            Ok((0, _)) => (held.spent, held.left) = (true, 0),
            Ok((tokens, left)) => (held.tokens, held.left) = (tokens, left),
            Err(error) => {
                tracing::warn!(%error, "the request count could not be read, a request was let through");
                held.tokens = 1;
            }
        }
    }
}
