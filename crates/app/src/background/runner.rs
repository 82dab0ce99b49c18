//! The one kind of background work: a round that is run again and again until the service stops.
//!
//! A [`Runner`] runs the rounds of one piece of [`Work`]. The next round begins when a [`Waker`] asks for it, or after
//! the sweep interval, so work that nobody announced is found as well. A round that fails or panics is logged and
//! counted. The next round then waits, longer after each failure in a row, and nothing wakes it meanwhile. When the
//! service stops, the current round ends first.
//!
//! A round must not wait for one project. Work that may take long for a project is started with
//! [`ProjectWork`](super::project_work::ProjectWork), which runs one piece of work at a time for each project.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use tokio::sync::Notify;

use super::due::Entered;
use super::tasks::Tasks;
use crate::App;
use crate::error::Result;
use crate::metrics::{Metrics, RoundOutcome};

/// The pause after the first round that failed. It doubles with each that fails after it.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The longest pause after a round that failed.
const LONGEST_PAUSE: Duration = Duration::from_secs(4);

/// The shortest sweep interval where the tables are divided over several servers: a look for work asks all of them, also
/// those that have none. What a process takes in itself wakes its runners; only what another one left behind waits.
const DIVIDED_SWEEP: Duration = Duration::from_secs(2);

/// How often work is looked for, if that is wanted so often.
pub(crate) fn sweep_interval(app: &App, wanted: Duration) -> Duration {
    if app.0.db.is_divided() { wanted.max(DIVIDED_SWEEP) } else { wanted }
}

/// Work that is done in rounds.
pub(crate) trait Work: Send + 'static {
    /// Does what is due. A round should take milliseconds, and leave what takes longer to the next one.
    fn round(&mut self) -> impl Future<Output = Result<Next>> + Send;

    /// Does what is left to do when the service stops.
    fn stop(&mut self) -> impl Future<Output = ()> + Send {
        async {}
    }
}

/// When the next round is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// At once: there may be more to do.
    Now,
    /// After this time, or after the sweep interval when that is shorter, or when the runner is woken.
    In(Duration),
    /// When the runner is woken, or after the sweep interval.
    Woken,
    /// The same, but no sooner than after this time: for a look that costs something, however often the runner is woken.
    Rested(Duration),
}

/// Asks a runner for a round. Waking is a hint that may be lost: the sweep finds work that nobody announced.
#[derive(Debug, Clone, Default)]
pub(crate) struct Waker(Arc<Notify>);

impl Waker {
    /// Asks for a round. If one is running, another one follows it.
    pub(crate) fn wake(&self) {
        self.0.notify_one();
    }
}

/// How the rounds of a piece of work follow each other.
#[derive(Debug)]
pub(crate) struct Runner {
    name: &'static str,
    sweep: Duration,
    rest: Duration,
    begins: Duration,
    waker: Waker,
    metrics: Metrics,
    failed: u32,
}

impl Runner {
    /// A runner whose rounds begin `sweep` after the end of the last one, or later ([`sweep_interval`]). The name stands
    /// in the log and in the metrics.
    pub(crate) fn new(app: &App, name: &'static str, sweep: Duration) -> Self {
        let metrics = app.metrics().clone();
        let (rest, begins, waker) = (Duration::ZERO, Duration::ZERO, Waker::default());
        Self { name, sweep: sweep_interval(app, sweep), rest, begins, waker, metrics, failed: 0 }
    }

    /// Rounds begin as soon as this waker asks for one.
    pub(crate) fn woken_by(mut self, waker: &Waker) -> Self {
        self.waker = waker.clone();
        self
    }

    /// The next round begins no sooner after the end of the last one, however often the runner is woken.
    pub(crate) fn resting(mut self, rest: Duration) -> Self {
        self.rest = rest;
        self
    }

    /// The first round begins after the sweep interval, so that a service that starts has other things to do.
    pub(crate) fn later(mut self) -> Self {
        self.begins = self.sweep;
        self
    }

    /// Runs rounds in a task until the service stops.
    pub(crate) fn start(mut self, tasks: &Tasks, mut work: impl Work) {
        let stop = tasks.clone();
        tasks.keep(self.name, async move {
            let rounds = stop.enter(self.name);
            let begins_at = stop.after(self.begins);
            rounds.waits_until(begins_at);
            stop.pause_until(begins_at).await;
            while !stop.is_stopping() {
                let moved = stop.moved();
                rounds.begins();
                let next = self.round(&mut work).await;
                self.wait(next, &stop, &rounds, moved).await;
            }
            work.stop().await;
        });
    }

    /// Runs one round. `None` when it failed.
    async fn round(&mut self, work: &mut impl Work) -> Option<Next> {
        let began = Instant::now();
        let (next, outcome) = match AssertUnwindSafe(work.round()).catch_unwind().await {
            Ok(Ok(next)) => (Some(next), RoundOutcome::Ok),
            Ok(Err(error)) => {
                tracing::warn!(%error, work = self.name, "background work failed, it is tried again");
                (None, RoundOutcome::Failed)
            }
            Err(_) => {
                tracing::error!(work = self.name, "background work panicked, it is tried again");
                (None, RoundOutcome::Panicked)
            }
        };
        self.failed = if next.is_some() { 0 } else { self.failed.saturating_add(1) };
        self.metrics.round(self.name, outcome, began.elapsed(), self.failed);
        next
    }

    /// Waits until the next round is due. `next` is `None` when the last one failed. `moved` is by how much the clock
    /// had been moved when it began: a round that did not see the time of now is followed by another at once.
    async fn wait(&self, next: Option<Next>, stop: &Tasks, rounds: &Entered, moved: Duration) {
        let pause = match next {
            // nothing wakes it: what failed would fail again
            None => pause_after(self.failed),
            Some(Next::Rested(rest)) => self.rest.max(rest),
            Some(_) => self.rest,
        };
        let longest = match next {
            None | Some(Next::Now) => pause,
            Some(Next::In(time)) => time.min(self.sweep).max(pause),
            Some(Next::Woken | Next::Rested(_)) => self.sweep.max(pause),
        };
        let (rested_at, due_at) = (stop.after(pause), stop.after(longest));
        rounds.ended(due_at);
        if stop.moved() != moved || !pause.is_zero() && !stop.pause_until(rested_at).await {
            return;
        }
        if longest > pause {
            tokio::select! {
                () = self.waker.0.notified() => {}
                _ = stop.pause_until(due_at) => {}
            }
        }
    }
}

/// The pause after so many rounds in a row that failed.
fn pause_after(failed: u32) -> Duration {
    FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(failed.saturating_sub(1))).min(LONGEST_PAUSE)
}

/// Work that is one use case, without a state of its own.
pub(crate) struct Job<F> {
    app: App,
    run: fn(App) -> F,
}

impl<F> Job<F> {
    pub(crate) fn new(app: &App, run: fn(App) -> F) -> Self {
        Self { app: app.clone(), run }
    }
}

impl<F: Future<Output = Result<()>> + Send + 'static> Work for Job<F> {
    async fn round(&mut self) -> Result<Next> {
        (self.run)(self.app.clone()).await?;
        Ok(Next::Woken)
    }
}

/// Runs a use case each time `period` after it ended, until the service stops.
pub(crate) fn every<F: Future<Output = Result<()>> + Send + 'static>(
    app: &App,
    tasks: &Tasks,
    name: &'static str,
    period: Duration,
    run: fn(App) -> F,
) {
    Runner::new(app, name, period).later().start(tasks, Job::new(app, run));
}
