//! Tells the operator what is known of the next hop: in the log, and in the database for `mailwright doctor` and for the
//! next start.

use std::sync::Arc;
use std::time::Duration;

use mailwright_core::time::Timestamp;
use mailwright_store::hop::{self as store, Known};

use super::super::Delivery;
use super::{Hop, Trouble};

/// What is told is at least this old, so that what follows from one event is told together.
const SETTLED: Duration = Duration::from_millis(500);
/// The shortest time between two lines about the same subject.
const APART: Duration = Duration::from_mins(1);

/// What is worth telling.
#[derive(Debug, Clone, PartialEq)]
struct Facts {
    allowed: usize,
    trouble: Option<Trouble>,
    /// Mail of some projects waits because none of it is taken.
    keeps_back: bool,
    rate: Option<f64>,
    error: String,
}

impl Hop {
    fn facts(&self) -> Facts {
        let state = self.state();
        Facts {
            allowed: state.pool.allowed(),
            trouble: state.pool.trouble(),
            keeps_back: state.refusals.is_any_kept_back(),
            rate: state.pace.rate(),
            error: state.error.clone(),
        }
    }
}

/// What was told last.
struct Told {
    facts: Facts,
    limit_at: Option<Timestamp>,
    trouble_at: Option<Timestamp>,
    rate_at: Option<Timestamp>,
}

/// Loads what was learnt of the next hop before, and tells what is learnt from now on.
pub(in super::super) async fn keep_informed(delivery: Arc<Delivery>, name: String) {
    let hop = Arc::clone(&delivery.hop);
    let mut stored = load(&delivery, &name).await;
    if let Some(limit) = stored.as_ref().and_then(|known| known.connections) {
        hop.restore(limit.clamp(1, 1000) as usize);
    }
    let mut told = Told { facts: hop.facts(), limit_at: None, trouble_at: None, rate_at: None };
    loop {
        tokio::select! {
            () = hop.news.notified() => {}
            // what was held back to keep lines apart
            () = tokio::time::sleep(APART) => {}
            () = delivery.tasks.stopping() => break,
        }
        let goes_on = delivery.tasks.pause(SETTLED).await;
        told.tell(&hop.facts(), hop.configured, &name, hop.now());
        keep(&delivery, &name, &mut stored).await;
        if !goes_on {
            break;
        }
    }
}

async fn load(delivery: &Delivery, name: &str) -> Option<Known> {
    let name = name.to_owned();
    let found = delivery.app.0.db.read(move |rx| Box::pin(async move { store::get(rx, &name).await })).await;
    found.unwrap_or_else(|error| {
        tracing::warn!(%error, "what was learnt of the next hop before could not be read");
        None
    })
}

/// Stores what is known where it differs from what is stored.
async fn keep(delivery: &Delivery, name: &str, stored: &mut Option<Known>) {
    let facts = delivery.hop.facts();
    let trouble = facts.trouble.or(facts.keeps_back.then_some(Trouble::Refused));
    let known = Known {
        connections: (facts.allowed < delivery.hop.configured).then_some(facts.allowed as i64),
        trouble: trouble.map(|trouble| trouble.as_str().to_owned()),
        detail: trouble.map(|_| facts.error),
    };
    if *stored == Some(known.clone()) || (stored.is_none() && known == Known::default()) {
        return;
    }
    let (name, now, row) = (name.to_owned(), delivery.now(), known.clone());
    let written = delivery
        .app
        .0
        .db
        .write(move |tx| Box::pin(async move { store::put(tx, &name, &row, now).await }))
        .await;
    match written {
        Ok(()) => *stored = Some(known),
        // written with the next change; only the doctor and the next start miss it
        Err(error) => tracing::debug!(%error, "what was learnt of the next hop could not be stored"),
    }
}

impl Told {
    fn tell(&mut self, facts: &Facts, configured: usize, hop: &str, now: Timestamp) {
        let due = |at: Option<Timestamp>| at.is_none_or(|at| now.since(at) >= APART);
        let told = &mut self.facts;
        if (facts.trouble, facts.keeps_back) != (told.trouble, told.keeps_back) {
            let is_over = facts.trouble.is_none() && !facts.keeps_back;
            if is_over {
                tracing::info!(hop, "the next hop takes mail again");
            } else if due(self.trouble_at) {
                warn(facts, hop);
                self.trouble_at = Some(now);
            }
            if is_over || self.trouble_at == Some(now) {
                (told.trouble, told.keeps_back) = (facts.trouble, facts.keeps_back);
            }
        }
        if facts.allowed != self.facts.allowed && due(self.limit_at) {
            tracing::info!(
                hop,
                allowed = facts.allowed,
                configured,
                "the next hop allows {} connections at a time, {configured} are configured",
                facts.allowed
            );
            self.facts.allowed = facts.allowed;
            self.limit_at = Some(now);
        }
        if facts.rate.is_some() != self.facts.rate.is_some() && due(self.rate_at) {
            if facts.rate.is_some() {
                tracing::warn!(hop, "the next hop takes mail more slowly than it comes, sending slows down");
            } else {
                tracing::info!(hop, "the next hop takes mail as fast as it comes");
            }
            self.facts.rate = facts.rate;
            self.rate_at = Some(now);
        }
    }
}

fn warn(facts: &Facts, hop: &str) {
    let error = facts.error.as_str();
    match facts.trouble {
        Some(Trouble::Unreachable) => tracing::warn!(hop, error, "the next hop cannot be used, mail waits"),
        Some(Trouble::Login) => tracing::warn!(
            hop,
            error,
            "the next hop refuses the login, mail waits: correct name and password in MAILWRIGHT_TRANSPORT"
        ),
        Some(Trouble::Refused) => tracing::warn!(
            hop,
            error,
            "the next hop refuses all our mail, it waits: may this machine and these senders use it?"
        ),
        None => tracing::warn!(
            hop,
            error,
            "the next hop refuses all mail of a project, it waits: may the project's senders use it?"
        ),
    }
}
