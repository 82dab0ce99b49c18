//! Reports what is known about the next hop: in the log, and in the database (`next_hops`) for `mailwright doctor` and
//! for the next start. A lasting trouble is written again every minute, so the trouble of a process that died does not
//! stay.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use mailwright_core::ids::ProjectNumber;
use mailwright_core::time::Timestamp;
use mailwright_store::body;
use mailwright_store::delivery::next_hop::{self as store, Known};
use mailwright_store::project;

use super::super::Delivery;
use super::hop::NextHop;
use super::pool::Trouble;
use super::project_news::{Line, News};
use super::refusals::Extent;

/// News is logged when it is at least this old, so that the consequences of one event are logged together.
const SETTLED: Duration = Duration::from_millis(500);
/// The shortest time between two lines about the same subject.
const APART: Duration = Duration::from_mins(1);
/// The shortest time between two lines that say the same of the same project.
const PROJECT_APART: Duration = Duration::from_mins(10);
/// Most projects that are remembered, of those that lines were written about.
const REMEMBERED: usize = 1_000;
/// In the database, that mail is refused.
const REFUSED: &str = "refused";

/// The facts that are logged when they change.
#[derive(Debug, Clone, PartialEq)]
struct Facts {
    allowed: usize,
    trouble: Option<Trouble>,
    /// The projects whose mail waits because none of it is taken.
    refused: Extent,
    rate: Option<f64>,
    error: String,
}

impl NextHop {
    fn facts(&self) -> Facts {
        let now = self.now();
        let state = self.state();
        Facts {
            allowed: state.pool.allowed(),
            trouble: state.pool.trouble(),
            refused: state.refusals.extent(now),
            rate: state.paces.rate(now),
            error: state.error.clone(),
        }
    }
}

/// The facts that were logged last.
struct Told {
    facts: Facts,
    limit_at: Option<Timestamp>,
    trouble_at: Option<Timestamp>,
    rate_at: Option<Timestamp>,
    projects: HashMap<(ProjectNumber, Line), Timestamp>,
}

/// Loads what was learnt of the next hop before, and tells what is learnt from now on.
pub(in super::super) async fn keep_informed(delivery: Arc<Delivery>, hop: Arc<NextHop>, name: String) {
    let mut stored = load(&delivery, &hop, &name).await;
    if let Some(limit) = stored.known.connections {
        hop.restore(limit.clamp(1, 1000) as usize);
    }
    let mut told = Told {
        facts: hop.facts(),
        limit_at: None,
        trouble_at: None,
        rate_at: None,
        projects: HashMap::new(),
    };
    let mut counted_at = None;
    loop {
        if counted_at.is_none_or(|at| hop.now().since(at) >= APART) {
            count_projects(&delivery, &hop).await;
            hop.forget();
            counted_at = Some(hop.now());
        }
        tokio::select! {
            () = hop.news.notified() => {}
            // what was held back to keep lines apart
            () = delivery.tasks.until(delivery.tasks.after(APART)) => {}
            () = delivery.tasks.stopping() => break,
        }
        let goes_on = delivery.tasks.pause(SETTLED).await;
        let news = std::mem::take(&mut hop.state().news);
        told.tell_of_projects(news, &name, hop.now());
        told.tell(&hop.facts(), hop.configured, &name, hop.now());
        keep(&delivery, &hop, &name, &mut stored).await;
        if !goes_on {
            break;
        }
    }
}

/// Looks whether there are several projects: one that is alone need not leave connections to others.
async fn count_projects(delivery: &Delivery, hop: &NextHop) {
    match delivery.app.read(body!(async |rx| project::count(rx).await)).await {
        Ok(count) => hop.set_alone(count <= 1),
        Err(error) => tracing::debug!(%error, "the projects could not be counted"),
    }
}

/// What is stored, and when this process wrote it last.
struct Stored {
    known: Known,
    at: Timestamp,
}

impl Stored {
    /// Whether the current facts are to be written: if they changed, and trouble again and again while it lasts.
    /// Trouble that no process repeats is over, and other processes write their own facts in between.
    fn is_behind(&self, known: &Known, now: Timestamp) -> bool {
        self.known != *known || (known.trouble.is_some() && now.since(self.at) >= APART)
    }
}

async fn load(delivery: &Delivery, hop: &NextHop, name: &str) -> Stored {
    let (name, now) = (name.to_owned(), delivery.now());
    let found = delivery.app.read(body!(async |rx| store::get(rx, &name, now).await));
    let known = found.await.unwrap_or_else(|error| {
        tracing::warn!(%error, "the stored limits of the next hop could not be read");
        None
    });
    Stored { known: known.unwrap_or_default(), at: hop.now() }
}

/// Stores what is known where that has to be said, again or for the first time.
async fn keep(delivery: &Delivery, hop: &NextHop, name: &str, stored: &mut Stored) {
    let facts = hop.facts();
    let refused = (facts.refused != Extent::Nobody).then_some(REFUSED);
    let trouble = facts.trouble.map(Trouble::as_str).or(refused);
    let known = Known {
        connections: (facts.allowed < hop.configured).then_some(facts.allowed as i64),
        trouble: trouble.map(str::to_owned),
        detail: trouble.map(|_| facts.error),
    };
    if !stored.is_behind(&known, hop.now()) {
        return;
    }
    let (name, now, row) = (name.to_owned(), delivery.now(), known.clone());
    let written = delivery.app.0.db.write(body!(async |tx| store::put(tx, &name, &row, now).await)).await;
    match written {
        Ok(()) => *stored = Stored { known, at: hop.now() },
        // written with the next change; only the doctor and the next start miss it
        Err(error) => tracing::debug!(%error, "the limits of the next hop could not be stored"),
    }
}

impl Told {
    fn tell(&mut self, facts: &Facts, configured: usize, hop: &str, now: Timestamp) {
        let due = |at: Option<Timestamp>| at.is_none_or(|at| now.since(at) >= APART);
        let told = &mut self.facts;
        if (facts.trouble, facts.refused) != (told.trouble, told.refused) {
            let is_over = facts.trouble.is_none() && facts.refused == Extent::Nobody;
            if is_over && told.trouble.is_none() {
                // taken, or gone without another try
                tracing::info!(hop, "the next hop no longer refuses the mail of any project");
            } else if is_over {
                tracing::info!(hop, "the next hop takes mail again");
            } else if due(self.trouble_at) {
                warn(facts, hop);
                self.trouble_at = Some(now);
            }
            if is_over || self.trouble_at == Some(now) {
                (told.trouble, told.refused) = (facts.trouble, facts.refused);
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

    fn tell_of_projects(&mut self, news: News, hop: &str, now: Timestamp) {
        self.projects.retain(|_, at| now.since(*at) < PROJECT_APART);
        for (project, line, error) in news.0 {
            if self.projects.len() >= REMEMBERED || self.projects.contains_key(&(project, line)) {
                continue;
            }
            self.projects.insert((project, line), now);
            match line {
                Line::Slowed => tracing::warn!(
                    hop,
                    project = project.0,
                    error,
                    "the next hop takes no more mail of a project for now, the project slows down"
                ),
                Line::Held => tracing::warn!(
                    hop,
                    project = project.0,
                    error,
                    "the next hop refuses mail of a project, which waits"
                ),
            }
        }
    }
}

fn warn(facts: &Facts, hop: &str) {
    let error = facts.error.as_str();
    match (facts.trouble, facts.refused) {
        (Some(Trouble::Unreachable), _) => {
            tracing::warn!(hop, error, "the next hop cannot be used, mail waits");
        }
        (Some(Trouble::Login), _) => tracing::warn!(
            hop,
            error,
            "the next hop refuses the login, it gets no mail; correct name and password in the URL of its transport"
        ),
        (Some(Trouble::Quota), _) => {
            tracing::warn!(hop, error, "what the account may send in a day is used up, mail waits");
        }
        (None, Extent::All) => tracing::warn!(
            hop,
            error,
            "the next hop refuses all mail, which waits; check that this machine and the senders may use it"
        ),
        (None, Extent::Some | Extent::Nobody) => tracing::warn!(
            hop,
            error,
            "the next hop refuses all mail of a project, which waits; check that the project's senders may \
             use it"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_is_said_again_before_it_no_longer_counts() {
        let known = Known { trouble: Some(REFUSED.into()), ..Known::default() };
        let stored = Stored { known: known.clone(), at: Timestamp(0) };
        assert!(!stored.is_behind(&known, Timestamp(1)));
        assert!(stored.is_behind(&known, Timestamp(0).plus(APART)));
        // a few times, so that one that fails does no harm
        assert!(3 * APART <= store::TROUBLE_COUNTS);
        let fine = Known::default();
        assert!(stored.is_behind(&fine, Timestamp(1)));
        let stored = Stored { known: fine.clone(), at: Timestamp(0) };
        assert!(!stored.is_behind(&fine, Timestamp(0).plus(APART)));
    }
}
