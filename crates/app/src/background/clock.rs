//! Whether this process knows the time.
//!
//! Several processes on one database judge each other's leases by one clock: the database's. Each process compares its
//! machine's clock with it and corrects its own time by the difference. A difference of a good part of a lease means
//! that something is wrong and may become worse between two comparisons. Such a process says so and delivers no mail
//! until the clocks agree.
//!
//! The embedded database has the machine's clock. If that clock was set back, rows that were stored while it was ahead
//! are brought forward. `docs/adr/0004-clocks.md` has the reasons.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use mailwright_core::time::Timestamp;
use mailwright_store::database::clock::{self, Reading};

use crate::App;
use crate::background::tasks::Tasks;

/// How often it is looked whether the machine's clock was set.
const LOOK: Duration = Duration::from_secs(1);
/// By how much wall clock and steady clock may disagree after that time before the former counts as set.
const STEP: Duration = Duration::from_secs(1);
/// How soon a process whose clock is wrong looks again, at most.
const AGAIN: Duration = Duration::from_secs(5);
/// By how much the correction may be wrong before it is changed: small changes would only make the time run unevenly.
const EVEN: Duration = Duration::from_millis(20);
/// How often the log is told that the clock is wrong.
const TELL: Duration = Duration::from_mins(1);
/// The clocks may differ by a lease divided by this.
const PART: u32 = 4;

/// The state of this process's clock.
#[derive(Debug)]
pub(crate) struct Watch {
    is_right: AtomicBool,
    /// When the log was last told that it is not.
    told: Mutex<Option<Instant>>,
}

impl Default for Watch {
    fn default() -> Self {
        Self { is_right: AtomicBool::new(true), told: Mutex::default() }
    }
}

impl Watch {
    /// Whether the log is to be told again that the clock is wrong.
    fn tell(&self) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = told.is_none_or(|told| told.elapsed() >= TELL);
        if is_due {
            *told = Some(Instant::now());
        }
        is_due
    }

    fn all_is_well(&self) {
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl App {
    /// Whether this process's clock agrees with the database's, so that it may deliver mail.
    pub fn clock_is_right(&self) -> bool {
        self.0.background.watch.is_right.load(Ordering::SeqCst)
    }

    /// Compares this process's clock with the database's, and keeps doing so.
    pub async fn start_clock(&self, tasks: &Tasks) {
        if !self.compare_clocks().await {
            self.0.background.watch.is_right.store(false, Ordering::SeqCst);
        }
        tasks.keep("clock", watch(self.clone(), tasks.clone()));
    }

    /// How far the clocks may be apart.
    fn most_apart(&self) -> Duration {
        self.settings().delivery.lease / PART
    }

    /// Returns whether the database answered.
    async fn compare_clocks(&self) -> bool {
        match clock::compare(&self.0.db, &self.0.clock).await {
            Ok(reading) => {
                if let Some(reading) = reading {
                    self.judge_clock(reading);
                }
                true
            }
            Err(error) => {
                tracing::warn!(%error, "the clock could not be compared with the database's");
                false
            }
        }
    }

    fn judge_clock(&self, reading: Reading) {
        self.0.metrics.clock(reading.ahead as f64 / 1000.0);
        let off = Duration::from_millis(self.0.clock.correction().abs_diff(reading.ahead));
        if off > EVEN.max(reading.give_or_take) {
            self.0.clock.correct(reading.ahead);
        }
        let (most, is_right) = (self.most_apart(), reading.apart() <= self.most_apart());
        let was_right = self.0.background.watch.is_right.swap(is_right, Ordering::SeqCst);
        let (apart, side) = (reading.apart(), if reading.ahead > 0 { "behind" } else { "ahead of" });
        if is_right && !was_right {
            self.0.background.watch.all_is_well();
            tracing::info!("this machine's clock agrees with the database's again");
        }
        if !is_right && self.0.background.watch.tell() {
            tracing::error!(
                "this machine's clock is {apart:.1?} {side} the database's, more than {most:.1?}: this process delivers \
                 no mail until they agree; set the clocks, and keep them with NTP"
            );
        }
    }
}

/// Compares the clocks again and again, and at once when the machine's was set.
async fn watch(app: App, tasks: Tasks) {
    let mut seen = (app.clock().uncorrected(), Instant::now());
    let mut corrected = (app.clock().now(), Instant::now());
    let mut behind = Behind::default();
    let (mut compared, mut answered) = (Instant::now(), app.clock_is_right());
    while tasks.pause(LOOK).await {
        let now = (app.clock().uncorrected(), Instant::now());
        let step = step(seen, now);
        seen = now;
        let was_set = Duration::from_millis(step.unsigned_abs()) > STEP;
        if was_set {
            tracing::warn!(by_ms = step, "the machine's clock was set, or the machine was asleep");
        }
        if app.0.db.is_shared() {
            if was_set {
                // by how much the two disagree now is not known before the database was asked
                app.0.background.watch.is_right.store(false, Ordering::SeqCst);
            }
            let interval = app.settings().clock_check_interval;
            let patience = if answered && app.clock_is_right() { interval } else { interval.min(AGAIN) };
            if was_set || compared.elapsed() >= patience {
                answered = app.compare_clocks().await;
                compared = Instant::now();
            }
        }
        // also when the clock of the database was set, and ours only follows it
        let is = (app.clock().now(), Instant::now());
        behind.note(self::step(corrected, is));
        corrected = is;
        if answered || !app.0.db.is_shared() {
            behind.bring_forward(&app).await;
        }
    }
}

/// Whether the time went back, and what was stored before that waits to be brought forward.
#[derive(Default)]
struct Behind {
    waits: bool,
    told: bool,
}

impl Behind {
    fn note(&mut self, step: i64) {
        self.waits |= step < 0 && Duration::from_millis(step.unsigned_abs()) > STEP;
    }

    /// Tries until it succeeds, and tells of the first failure.
    async fn bring_forward(&mut self, app: &App) {
        if !self.waits {
            return;
        }
        match app.bring_forward().await {
            Ok(()) => *self = Self::default(),
            Err(error) if !self.told => {
                tracing::warn!(%error, "what was stored while the clock was ahead could not be brought forward, trying again");
                self.told = true;
            }
            Err(_) => {}
        }
    }
}

/// By how many milliseconds the wall clock went further than the steady one.
fn step(before: (Timestamp, Instant), after: (Timestamp, Instant)) -> i64 {
    let steady = after.1.saturating_duration_since(before.1).as_millis();
    (after.0.0 - before.0.0).saturating_sub(i64::try_from(steady).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_set_is_told_from_time_that_passed() {
        let (wall, steady) = (Timestamp(1_763_000_000_000), Instant::now());
        let later = steady + Duration::from_secs(1);
        assert_eq!(step((wall, steady), (Timestamp(wall.0 + 1000), later)), 0);
        assert_eq!(step((wall, steady), (Timestamp(wall.0 - 3_599_000), later)), -3_600_000);
        assert_eq!(step((wall, steady), (Timestamp(wall.0 + 90_000), later)), 89_000);
    }
}
