//! The requests of WEBHOOK steps.
//!
//! A step leaves a row with the request, and its execution waits for the answer. A process claims due rows for the time
//! that a request may take, and makes them through the one HTTP client. An answer, or the end of all attempts, becomes a
//! signal, in the transaction that removes the row: the execution goes on exactly once, while the receiver may see a
//! request again, under the same `webhook-id`.
//!
//! Projects, and within them hosts, take turns. Each request is made beside the others, and so many of a project and to a
//! host are under way at most (`under_way`) that one that is slow holds up nothing else.
//!
//! An attempt is repeated after a failure of the network, 429 and 5xx, for [`PATIENCE`] at most. Any other answer ends
//! the request. A host that fails again and again is left alone for some time (`breaker`): its requests stay due, and
//! those whose time is over end.

mod answer;
mod breaker;
mod signature;
mod under_way;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mailwright_core::ids::ProjectNumber;
use mailwright_core::short_text;
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::limits::MAX_RESPONSE;
use mailwright_store::automation::request::{self as store, Claim, Claimed};
use mailwright_store::body;
use url::Url;

pub(crate) use self::breaker::Breakers;
pub use self::signature::Secret;
pub(crate) use self::under_way::UnderWay;

use self::answer::{Attempt, Verdict};
use self::breaker::Leave;
use crate::App;
use crate::background::project_work::ProjectWork;
use crate::background::runner::{Next, Runner, Work};
use crate::background::tasks::Tasks;
use crate::error::Result;

/// How often it is looked for requests that are due.
const SWEEP: Duration = Duration::from_secs(1);
/// The shortest pause between two looks.
const REST: Duration = Duration::from_millis(20);
/// How many hosts are looked at with one read.
const HOSTS: i64 = 100;
/// How many requests end in one go whose time is over while their host is left alone.
const GIVEN_UP_TOGETHER: usize = 100;
/// How long a claim lasts: longer than any request.
const LEASE: Duration = Duration::from_mins(1);
/// How long requests are repeated, from the step on.
const PATIENCE: Duration = Duration::from_hours(12);
/// The pause after the first attempt; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_secs(10);
/// A pause that the receiver asks for is at least this part of the one that would be made.
const SHORTEST_PART: u32 = 10;
/// The longest pause between attempts, unless the receiver asks for more.
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_hours(1);
/// The most characters of a host; no name in the DNS has more (RFC 1035 section 2.3.4).
const MAX_HOST: usize = 255;
/// Stands for the host of an address that has none: the request is refused when it is its turn.
const NO_HOST: &str = "-";
/// How a request is counted that ends while its host is left alone.
const GIVEN_UP: &str = "given_up";
/// How long a request waits again for which this process has no room.
const NO_ROOM: Duration = Duration::from_secs(5);

/// Starts to make requests.
pub(super) fn start(app: &App, tasks: &Tasks) {
    let work = ProjectWork::new(tasks);
    let requests = Requests { app: app.clone(), tasks: tasks.clone(), work, looked_at: HashMap::new() };
    Runner::new(app, "webhooks", SWEEP)
        .woken_by(&app.0.automation.requests)
        .resting(REST)
        .start(tasks, requests);
}

struct Requests {
    app: App,
    tasks: Tasks,
    work: ProjectWork,
    /// The host of each project that was looked at last.
    looked_at: HashMap<ProjectNumber, Arc<Mutex<String>>>,
}

impl Work for Requests {
    async fn round(&mut self) -> Result<Next> {
        let now = self.app.0.clock.now();
        let projects = self.app.read(body!(async |rx| store::due_projects(rx, now).await)).await?;
        self.looked_at.retain(|project, _| projects.contains(project));
        for project in projects {
            let looked_at = Arc::clone(self.looked_at.entry(project).or_default());
            let (app, tasks, work) = (self.app.clone(), self.tasks.clone(), self.work.clone());
            self.work.start("webhooks of a project", project, async move {
                let turn = Turn { app, tasks, work, project };
                if let Err(error) = turn.begin_requests(&looked_at).await {
                    tracing::warn!(%error, project = project.0, "webhooks could not be handled, trying again");
                }
            });
        }
        Ok(Next::Woken)
    }
}

/// A project's turn to begin requests.
struct Turn {
    app: App,
    tasks: Tasks,
    work: ProjectWork,
    project: ProjectNumber,
}

impl Turn {
    /// Goes from host to host, on from the one that was looked at last, and begins what is due while there is room.
    async fn begin_requests(&self, looked_at: &Mutex<String>) -> Result<()> {
        let began = Instant::now();
        let lock = || looked_at.lock().unwrap_or_else(PoisonError::into_inner);
        let began_behind_others = !lock().is_empty();
        while self.app.0.automation.under_way.room(self.project) > 0 && self.work.goes_on(began) {
            let (project, now, after) = (self.project, self.app.0.clock.now(), lock().clone());
            let hosts =
                self.app.read(body!(async |rx| store::hosts(rx, project, &after, now, HOSTS).await)).await?;
            let is_last = (hosts.len() as i64) < HOSTS;
            for (host, is_due) in hosts {
                if is_due && !self.begin_requests_to(&host).await? {
                    return Ok(());
                }
                *lock() = host;
            }
            if is_last {
                lock().clear();
                if began_behind_others {
                    self.app.0.automation.requests.wake();
                }
                return Ok(());
            }
        }
        Ok(())
    }

    /// Begins the requests to a host that are due, as many as there is room for. Returns false if there is none.
    async fn begin_requests_to(&self, host: &str) -> Result<bool> {
        let state = &self.app.0.automation;
        let room = state.under_way.room(self.project);
        if room == 0 {
            return Ok(false);
        }
        let room_for_host = room.min(state.under_way.room_for(self.project, host));
        if room_for_host == 0 {
            return Ok(true);
        }
        let now = self.app.0.clock.now();
        let leave = state.breakers.leave(&(self.project, host.to_owned()), self.app.0.clock.steady());
        let (limit, asked_until) = match leave {
            Leave::All => (room_for_host, Timestamp::LAST),
            Leave::One => (1, Timestamp::LAST),
            Leave::None => (GIVEN_UP_TOGETHER, now.minus(PATIENCE)),
        };
        let lease_until = now.plus(LEASE);
        let claim = Claim {
            project: self.project,
            host: host.to_owned(),
            limit: limit as i64,
            asked_until,
            now,
            lease_until,
        };
        if leave == Leave::None {
            // its requests stay due: each look is a read, not a write
            let claim = claim.clone();
            if !self.app.read(body!(async |rx| store::is_claimable(rx, &claim).await)).await? {
                return Ok(true);
            }
        }
        let claimed =
            self.app.write_in_background(body!(async |tx| Ok(store::claim(tx, &claim).await?))).await?;
        if claimed.is_empty() {
            return Ok(true);
        }
        if leave == Leave::None {
            for claimed in claimed {
                self.app.give_up(claimed).await?;
            }
            return Ok(true);
        }
        let secret = self.app.webhook_secret_of(self.project).await?.map(Arc::new);
        for claimed in claimed {
            self.begin(claimed, secret.clone());
        }
        Ok(true)
    }

    /// Makes a request beside everything else.
    fn begin(&self, claimed: Claimed, secret: Option<Arc<Secret>>) {
        let (app, tasks) = (self.app.clone(), self.tasks.clone());
        let place = app.0.automation.under_way.enter(claimed.project, &claimed.host);
        self.tasks.spawn("a webhook", async move {
            let project = claimed.project;
            tokio::select! {
                made = app.make_request(claimed, secret.as_deref()) => {
                    if let Err(error) = made {
                        tracing::warn!(%error, project = project.0, "the outcome of a webhook could not be stored, \
                            it is made again");
                    }
                }
                () = tasks.stopping() => {}
            }
            drop(place);
            app.wake_workflows();
            app.0.automation.requests.wake();
        });
    }
}

impl App {
    /// Makes one request, and stores what became of it.
    async fn make_request(&self, claimed: Claimed, secret: Option<&Secret>) -> Result<()> {
        let Some(attempt) = self.try_request(&claimed, secret).await else {
            let why = "Too many requests were under way.".to_owned();
            return self.again(claimed, NO_ROOM, why).await;
        };
        let host = (claimed.project, claimed.host.clone());
        self.0.automation.breakers.note(&host, attempt.is_failure_of_host(), self.0.clock.steady());
        let now = self.0.clock.now();
        let is_last = now.since(claimed.created_at) >= PATIENCE;
        let verdict = attempt.verdict(&claimed, is_last);
        self.0.metrics.workflow_request(verdict.name());
        match verdict {
            Verdict::Ended(answered) => {
                self.write_in_background(body!(async |tx| Ok(
                    store::conclude(tx, &claimed, answered, now).await?
                )))
                .await?;
            }
            Verdict::Again { pause, is_doubt, status, error } => {
                let own = pause_after(claimed.attempts);
                // a receiver that asks for no pause again and again is not asked all the time, and one that asks for a
                // long one is asked a last time
                let left = PATIENCE.saturating_sub(now.since(claimed.created_at)).max(own);
                let pause = pause.map_or(own, |pause| pause.clamp(own / SHORTEST_PART, left));
                let (attempts, doubts) = (claimed.attempts + 1, claimed.doubts + i64::from(is_doubt));
                self.again(Claimed { attempts, doubts, status, ..claimed }, pause, error).await?;
            }
        }
        Ok(())
    }

    /// Ends a request whose time is over while its host is left alone.
    async fn give_up(&self, claimed: Claimed) -> Result<()> {
        let (now, answered) = (self.0.clock.now(), answer::given_up(&claimed));
        self.0.metrics.workflow_request(GIVEN_UP);
        self.write_in_background(body!(async |tx| Ok(store::conclude(tx, &claimed, answered, now).await?)))
            .await?;
        self.wake_workflows();
        Ok(())
    }

    async fn try_request(&self, claimed: &Claimed, secret: Option<&Secret>) -> Option<Attempt> {
        match answer::prepared(claimed, secret, self.0.clock.now()) {
            Ok(request) => {
                let request = request.following_redirects().keeping(MAX_RESPONSE);
                let outcome = self.0.automation.http.send(request).await;
                Attempt::of(outcome, self.0.clock.now())
            }
            Err(error) => Some(Attempt::Refused(error)),
        }
    }

    async fn again(&self, claimed: Claimed, pause: Duration, error: String) -> Result<()> {
        let due_at = self.due_after(pause);
        self.write_in_background(body!(async |tx| Ok(store::again(tx, &claimed, due_at, &error).await?)))
            .await
    }

    /// A little later than a pause demands, so that what failed together does not come together again.
    fn due_after(&self, pause: Duration) -> Timestamp {
        self.0.clock.now().plus(pause + pause.mul_f64(rand::random::<f64>() / 10.0))
    }
}

/// The host of an address, by which requests take turns and failures are counted. It is never empty.
pub(super) fn host(url: &str) -> String {
    let url = Url::parse(url).ok();
    let host = url.as_ref().and_then(Url::host_str).filter(|host| !host.is_empty());
    short_text::shortened(host.unwrap_or(NO_HOST), MAX_HOST)
}

fn pause_after(attempts: i64) -> Duration {
    let doublings = u32::try_from(attempts.clamp(0, 20)).unwrap_or(20);
    FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(doublings)).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_an_hour() {
        let pauses: Vec<u64> = [0, 1, 2, 5, 8, 9, 30].map(|n| pause_after(n).as_secs()).into();
        assert_eq!(pauses, [10, 20, 40, 320, 2560, 3600, 3600]);
    }
}
