//! The requests of WEBHOOK steps.
//!
//! A step leaves a row with the request, and its execution waits for the answer. A process claims due rows for the time
//! that a request may take, and makes them through the one HTTP client. An answer, or the end of all attempts, becomes a
//! signal, in the transaction that removes the row: the execution goes on exactly once, while the receiver may see a
//! request again, under the same `webhook-id`.
//!
//! An attempt is repeated after a failure of the network, 429 and 5xx, for [`PATIENCE`] at most. Any other answer ends
//! the request. A host that fails again and again is left alone for some time (`breaker`).

mod answer;
mod breaker;
mod signature;

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use mailwright_core::ids::ProjectNumber;
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::limits::MAX_RESPONSE;
use mailwright_store::automation::request::{self as store, Claimed};
use mailwright_store::body;

pub(crate) use self::breaker::Breakers;
pub use self::signature::Secret;

use self::answer::{Attempt, Verdict};
use crate::App;
use crate::background::project_work::ProjectWork;
use crate::background::runner::{Next, Runner, Work};
use crate::background::tasks::Tasks;
use crate::error::Result;

/// How often it is looked for requests that are due.
const SWEEP: Duration = Duration::from_secs(1);
/// How many requests of a project are made at the same time.
const TOGETHER: i64 = 8;
/// How long a claim lasts: longer than any request.
const LEASE: Duration = Duration::from_mins(1);
/// How long requests are repeated, from the step on.
const PATIENCE: Duration = Duration::from_hours(12);
/// The pause after the first attempt; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_secs(10);
/// The longest pause between attempts, also if the receiver asks for more.
const LONGEST_PAUSE: Duration = Duration::from_hours(1);
/// How long a request waits again for which this process has no room.
const NO_ROOM: Duration = Duration::from_secs(5);

/// Starts to make requests.
pub(super) fn start(app: &App, tasks: &Tasks) {
    let requests = Requests { app: app.clone(), work: ProjectWork::new(tasks) };
    Runner::new(app, "webhooks", SWEEP).woken_by(&app.0.automation.requests).start(tasks, requests);
}

struct Requests {
    app: App,
    work: ProjectWork,
}

impl Work for Requests {
    async fn round(&mut self) -> Result<Next> {
        let now = self.app.0.clock.now();
        let projects = self.app.read(body!(async |rx| store::due_projects(rx, now).await)).await?;
        for project in projects {
            let (app, work) = (self.app.clone(), self.work.clone());
            self.work.start("webhooks of a project", project, async move {
                if let Err(error) = app.make_requests(project, &work).await {
                    tracing::warn!(%error, project = project.0, "webhooks could not be handled, trying again");
                }
            });
        }
        Ok(Next::Woken)
    }
}

impl App {
    /// Makes a project's requests that are due, some at a time.
    async fn make_requests(&self, project: ProjectNumber, work: &ProjectWork) -> Result<()> {
        let began = Instant::now();
        loop {
            let now = self.0.clock.now();
            let claimed = self
                .write_in_background(body!(async |tx| Ok(store::claim(
                    tx,
                    project,
                    TOGETHER,
                    now,
                    now.plus(LEASE)
                )
                .await?)))
                .await?;
            if claimed.is_empty() {
                return Ok(());
            }
            let secret = self.webhook_secret_of(project).await?;
            let made = claimed.into_iter().map(|claimed| self.make_request(claimed, secret.as_ref()));
            for outcome in join_all(made).await {
                outcome?;
            }
            self.wake_workflows();
            if !work.goes_on(began) {
                return Ok(());
            }
        }
    }

    /// Makes one request, and stores what became of it.
    async fn make_request(&self, claimed: Claimed, secret: Option<&Secret>) -> Result<()> {
        let host = answer::host(&claimed.request);
        let steady = self.0.clock.steady();
        if let Some(pause) = self.0.automation.breakers.pause(&host, steady) {
            return self
                .postpone(&claimed, pause, "The host fails again and again, and is left alone for a while.")
                .await;
        }
        let attempt = self.try_request(&claimed, secret).await;
        if let Attempt::NoRoom = attempt {
            return self.postpone(&claimed, NO_ROOM, "Too many requests were under way.").await;
        }
        self.0.automation.breakers.note(&host, attempt.is_failure_of_host(), self.0.clock.steady());
        let now = self.0.clock.now();
        let is_last = now.since(claimed.created_at) >= PATIENCE;
        match attempt.verdict(&claimed, is_last) {
            Verdict::Ended(answered) => {
                self.write_in_background(body!(async |tx| Ok(
                    store::conclude(tx, &claimed, answered, now).await?
                )))
                .await?;
            }
            Verdict::Again { pause, is_doubt, error } => {
                let pause = pause.unwrap_or_else(|| pause_after(claimed.attempts)).min(LONGEST_PAUSE);
                let doubts = claimed.doubts + i64::from(is_doubt);
                self.again(&claimed, pause, claimed.attempts + 1, doubts, error).await?;
            }
        }
        Ok(())
    }

    async fn try_request(&self, claimed: &Claimed, secret: Option<&Secret>) -> Attempt {
        match answer::prepared(claimed, secret, self.0.clock.now()) {
            Ok(request) => {
                let request = request.following_redirects().keeping(MAX_RESPONSE);
                Attempt::of(self.0.automation.http.send(request).await)
            }
            Err(error) => Attempt::Refused(error),
        }
    }

    /// Puts a request off that was not made, unless its time is over.
    async fn postpone(&self, claimed: &Claimed, pause: Duration, why: &str) -> Result<()> {
        let now = self.0.clock.now();
        if now.since(claimed.created_at) < PATIENCE {
            return self.again(claimed, pause, claimed.attempts, claimed.doubts, why.to_owned()).await;
        }
        let (claimed, answered) = (claimed.clone(), answer::given_up(claimed, why));
        self.write_in_background(body!(async |tx| Ok(store::conclude(tx, &claimed, answered, now).await?)))
            .await?;
        Ok(())
    }

    async fn again(
        &self,
        claimed: &Claimed,
        pause: Duration,
        attempts: i64,
        doubts: i64,
        error: String,
    ) -> Result<()> {
        let (claimed, due_at) = (claimed.clone(), self.due_after(pause));
        self.write_in_background(body!(async |tx| Ok(store::again(
            tx, &claimed, due_at, attempts, doubts, &error
        )
        .await?)))
            .await
    }

    /// A little later than a pause demands, so that what failed together does not come together again.
    fn due_after(&self, pause: Duration) -> Timestamp {
        self.0.clock.now().plus(pause + pause.mul_f64(rand::random::<f64>() / 10.0))
    }
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
