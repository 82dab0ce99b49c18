//! Background tasks: each has a name, is told to stop, and is waited for.
//!
//! Their pauses are measured with [`Clock::steady`], so that a test that moves the clock ends them.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use mailwright_core::time::Clock;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::due::{Due, Entered};

/// Longer than any process runs.
const FOR_EVER: Duration = Duration::from_hours(24 * 365 * 10);

/// The tasks of a running service.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
    failed: CancellationToken,
    clock: Clock,
    due: Due,
}

impl Tasks {
    /// Tasks whose pauses go by this clock.
    pub fn new(clock: &Clock) -> Self {
        Self { clock: clock.clone(), ..Self::default() }
    }

    /// Starts a task that the service cannot do without. Its loop catches the panics of single pieces of work, so one
    /// that panics itself has a defect: the process then stops, and whatever supervises it starts another.
    pub(crate) fn keep(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        let failed = self.failed.clone();
        self.spawn(name, async move {
            if AssertUnwindSafe(task).catch_unwind().await.is_err() {
                tracing::error!(task = name, "a task that the service cannot do without panicked");
                failed.cancel();
            }
        });
    }

    /// Resolves when a task that the service cannot do without has ended by a panic.
    pub async fn failed(&self) {
        self.failed.cancelled().await;
    }

    /// Whether that happened.
    pub fn have_failed(&self) -> bool {
        self.failed.is_cancelled()
    }

    /// Starts a task. It should end soon after [`Tasks::stopping`] resolves. A panic ends it alone.
    pub fn spawn(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        self.tracker.spawn(async move {
            task.await;
            tracing::debug!(task = name, "task ended");
        });
    }

    /// Resolves when the service is asked to stop.
    pub async fn stopping(&self) {
        self.stop.cancelled().await;
    }

    /// Whether the service was asked to stop.
    pub fn is_stopping(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Waits for `period`; false when the service was asked to stop meanwhile.
    pub async fn pause(&self, period: Duration) -> bool {
        self.pause_until(self.after(period)).await
    }

    /// The same until an instant of [`Clock::steady`].
    pub(crate) async fn pause_until(&self, at: Instant) -> bool {
        tokio::select! {
            () = self.until(at) => true,
            () = self.stopping() => false,
        }
    }

    /// The instant, by [`Clock::steady`], at which so much time will have passed.
    pub(crate) fn after(&self, period: Duration) -> Instant {
        self.clock.steady() + period.min(FOR_EVER)
    }

    /// By how much a test has moved the clock.
    pub(crate) fn moved(&self) -> Duration {
        self.clock.moved()
    }

    /// Resolves at an instant of [`Clock::steady`].
    pub(crate) async fn until(&self, at: Instant) {
        let mut moves = self.due.moves();
        loop {
            tokio::select! {
                () = tokio::time::sleep(at.saturating_duration_since(self.clock.steady())) => return,
                () = moves.next() => {}
            }
        }
    }

    /// Moves the clock, for a test, so that it is so far ahead of the system's. Pauses end that are over by then.
    #[cfg(debug_assertions)]
    pub fn move_clock(&self, ahead: Duration) {
        self.due.move_clock(&self.clock, ahead);
    }

    /// Waits until every piece of work has had the round that a move made due, at most `patience`. Returns the names of
    /// those that have not.
    #[cfg(debug_assertions)]
    pub async fn caught_up(&self, patience: Duration) -> Vec<&'static str> {
        self.due.caught_up(patience).await
    }

    /// Has work take part in what tests that move the clock wait for.
    pub(super) fn enter(&self, name: &'static str) -> Entered {
        self.due.enter(name)
    }

    /// Asks every task to stop and waits for them, at most `patience`. Returns whether all ended.
    pub async fn stop(&self, patience: Duration) -> bool {
        self.stop.cancel();
        self.tracker.close();
        tokio::time::timeout(patience, self.tracker.wait()).await.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_hours(24);

    #[tokio::test]
    async fn a_panic_is_told_of_a_task_that_is_needed_only() {
        let tasks = Tasks::default();
        tasks.spawn("one of many", async { panic!("as the test wants it") });
        tasks.keep("ends by itself", async {});
        assert!(tasks.stop(DAY).await);
        assert!(!tasks.have_failed());
        let tasks = Tasks::default();
        tasks.keep("needed", async { panic!("as the test wants it") });
        tasks.failed().await;
        assert!(tasks.have_failed());
    }

    #[tokio::test]
    async fn a_move_ends_the_pauses_that_are_over_by_then() {
        let tasks = Tasks::default();
        let (short, long) = (tasks.pause(DAY), tasks.pause(2 * DAY));
        let mut long = std::pin::pin!(long);
        let moving = async {
            tokio::task::yield_now().await;
            tasks.move_clock(DAY);
        };
        tokio::select! {
            ended = async { tokio::join!(short, moving) } => assert!(ended.0),
            _ = &mut long => panic!("it is not over"),
        }
        tasks.move_clock(2 * DAY);
        assert!(long.await, "nobody asked it to stop");
    }

    #[tokio::test]
    async fn a_move_waits_for_what_it_makes_due() {
        let tasks = Tasks::default();
        let (soon, late, busy) = (tasks.enter("soon"), tasks.enter("late"), tasks.enter("busy"));
        soon.waits_until(tasks.after(DAY));
        late.waits_until(tasks.after(3 * DAY));
        tasks.move_clock(2 * DAY);
        assert_eq!(tasks.caught_up(Duration::ZERO).await, ["soon", "busy"]);
        soon.ended(tasks.after(DAY));
        busy.ended(tasks.after(DAY));
        assert_eq!(tasks.caught_up(Duration::ZERO).await, ["busy"], "its round began before the move");
        busy.ended(tasks.after(DAY));
        assert!(tasks.caught_up(DAY).await.is_empty());
    }
}
