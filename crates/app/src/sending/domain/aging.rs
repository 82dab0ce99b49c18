//! Domains whose keys are too old get new ones at a pace: of domains that were added in a day, thousands come of age in a
//! day too, and a key costs a second of a processor.
//!
//! Checks find such domains. The list of them is this process's alone: what it loses is found by the next checks.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mailwright_core::ids::{DomainId, ProjectNumber};
use mailwright_core::time::Timestamp;

use crate::App;
use crate::background::runner::{Next, Waker, Work};
use crate::error::{Error, Result};

/// Domains that get new keys in a minute, or fail to, at most.
const A_MINUTE: u32 = 10;
const MINUTE: Duration = Duration::from_mins(1);
/// Most domains that wait for it.
const MOST: usize = 10_000;

/// A domain with old keys, by the age of these.
type Old = (Timestamp, ProjectNumber, DomainId);

/// The domains whose keys are too old.
#[derive(Debug, Default)]
pub(crate) struct AgedKeys {
    waiting: Mutex<BTreeSet<Old>>,
    waker: Waker,
}

impl AgedKeys {
    /// Takes note of a domain and of when its keys were made. Where too many wait, that with the youngest keys does
    /// not.
    pub(super) fn note(&self, project: ProjectNumber, domain: DomainId, made_at: Timestamp) {
        let mut waiting = self.lock();
        waiting.insert((made_at, project, domain));
        if waiting.len() > MOST {
            waiting.pop_last();
        }
        drop(waiting);
        self.waker.wake();
    }

    /// Is woken when there is a domain.
    pub(crate) fn waker(&self) -> &Waker {
        &self.waker
    }

    /// Takes the domain with the oldest keys.
    fn oldest(&self) -> Option<Old> {
        self.lock().pop_first()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<Old>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many had new keys in this minute, or failed to.
#[derive(Debug, Default)]
struct Pace {
    began: Timestamp,
    made: u32,
}

impl Pace {
    /// How long it takes until there is room for another; `None` when there is.
    fn wait(&mut self, now: Timestamp) -> Option<Duration> {
        let passed = now.since(self.began);
        // also where the clock was set back since
        if passed >= MINUTE || self.began > now {
            *self = Self { began: now, made: 0 };
        }
        (self.made >= A_MINUTE).then(|| MINUTE.saturating_sub(passed))
    }
}

/// Makes new keys for the domains whose keys are too old.
pub(crate) struct Aging {
    app: App,
    pace: Pace,
}

impl Aging {
    /// The name and the longest pause of its rounds.
    pub(crate) const NAME: &'static str = "old keys of domains";
    pub(crate) const SWEEP: Duration = MINUTE;

    pub(crate) fn new(app: &App) -> Self {
        Self { app: app.clone(), pace: Pace::default() }
    }
}

impl Work for Aging {
    async fn round(&mut self) -> Result<Next> {
        let aged = self.app.aged_keys();
        if let Some(wait) = self.pace.wait(self.app.0.clock.now()) {
            return Ok(Next::In(wait));
        }
        let Some((_, project, domain)) = aged.oldest() else { return Ok(Next::Woken) };
        match self.app.replace_old_keys(project, domain).await {
            Ok(made) => self.pace.made += u32::from(made),
            Err(Error::NotFound { .. }) => {} // it was removed meanwhile
            Err(error) => {
                // keys may have been made, and what failed would fail for all others at once
                self.pace.made += 1;
                tracing::warn!(%error, %domain, "a domain could not have new keys, trying again after its next check");
            }
        }
        Ok(Next::Now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_keys_come_first_and_most_of_them_wait() {
        let (aged, now) = (AgedKeys::default(), Timestamp(5));
        let domain = || DomainId::new(now, rand::random());
        let (old, older) = (domain(), domain());
        aged.note(ProjectNumber(1), old, Timestamp(2));
        aged.note(ProjectNumber(2), older, Timestamp(1));
        aged.note(ProjectNumber(2), older, Timestamp(1));
        assert_eq!(aged.oldest(), Some((Timestamp(1), ProjectNumber(2), older)));
        assert_eq!(aged.oldest(), Some((Timestamp(2), ProjectNumber(1), old)));
        assert_eq!(aged.oldest(), None);
        for age in 0..=MOST as i64 {
            aged.note(ProjectNumber(1), old, Timestamp(age));
        }
        assert_eq!(aged.lock().len(), MOST);
        assert_eq!(aged.oldest().map(|(made_at, ..)| made_at), Some(Timestamp(0)));
    }

    #[test]
    fn so_many_have_new_keys_in_a_minute() {
        let mut pace = Pace::default();
        let start = Timestamp(1_741_608_000_000);
        for _ in 0..A_MINUTE {
            assert_eq!(pace.wait(start), None);
            pace.made += 1;
        }
        assert_eq!(pace.wait(start), Some(MINUTE));
        assert_eq!(pace.wait(start.plus(MINUTE / 2)), Some(MINUTE / 2));
        assert_eq!(pace.wait(start.plus(MINUTE)), None);
        pace.made = A_MINUTE;
        assert_eq!(pace.wait(start), None, "the clock was set back");
    }
}
