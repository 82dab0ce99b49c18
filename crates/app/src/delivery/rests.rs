//! Projects that are left alone for a while: their rate is used up, or their mail could not be claimed.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use mailwright_core::pauses::Pauses;
use mailwright_core::time::Timestamp;

/// The first pause after a failure; it doubles with each further one in a row.
const FIRST: Duration = Duration::from_millis(500);
/// The longest pause after failures of one's own.
const LONGEST: Duration = Duration::from_mins(1);
/// The longest pause after failures that pass by themselves, such as a database that was away.
const LONGEST_TEMPORARY: Duration = Duration::from_secs(4);

#[derive(Debug, Default)]
struct Rest {
    /// `None` once it is over; then the failures are remembered until something succeeds.
    until: Option<Timestamp>,
    failures: u32,
    /// Whether it is found by others when it is over.
    is_found: bool,
}

/// The parties that rest, and until when.
#[derive(Debug)]
pub(super) struct Rests<K>(HashMap<K, Rest>);

impl<K> Default for Rests<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Copy + Eq + Hash> Rests<K> {
    /// Something succeeded; with a time, it goes on then.
    pub(super) fn succeeded(&mut self, key: K, until: Option<Timestamp>) {
        match until {
            None => drop(self.0.remove(&key)),
            Some(_) => drop(self.0.insert(key, Rest { until, ..Rest::default() })),
        }
    }

    /// Something failed. Returns the pause.
    pub(super) fn failed(&mut self, key: K, is_temporary: bool, now: Timestamp) -> Duration {
        let rest = self.0.entry(key).or_default();
        let longest = if is_temporary { LONGEST_TEMPORARY } else { LONGEST };
        let pause = Pauses { first: FIRST, longest }.after(rest.failures);
        let failures = rest.failures.saturating_add(1);
        *rest = Rest { until: Some(now.plus(pause)), failures, is_found: false };
        pause
    }

    /// One that failed is found by others when its rest is over, if it can be tried again then.
    pub(super) fn leave(&mut self, key: K) {
        if let Some(rest) = self.0.get_mut(&key) {
            rest.is_found = true;
        }
    }

    pub(super) fn is_resting(&self, key: K, now: Timestamp) -> bool {
        self.0.get(&key).and_then(|rest| rest.until).is_some_and(|until| !is_over(until, now))
    }

    /// Those whose rest is over and that nobody else finds, each once.
    pub(super) fn over(&mut self, now: Timestamp) -> Vec<K> {
        let mut over = Vec::new();
        for (key, rest) in &mut self.0 {
            if rest.until.is_some_and(|until| is_over(until, now)) {
                rest.until = None;
                if !rest.is_found {
                    over.push(*key);
                }
            }
        }
        over
    }

    /// When the first of them is over.
    pub(super) fn first(&self) -> Option<Timestamp> {
        self.0.values().filter_map(|rest| rest.until).min()
    }
}

/// Whether a rest is over; so is one that is further away than any, because the clock was set back since.
fn is_over(until: Timestamp, now: Timestamp) -> bool {
    until <= now || until.since(now) > LONGEST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_until_something_succeeds() {
        let mut rests = Rests::default();
        let now = Timestamp(0);
        let pauses: Vec<_> = (0..9).map(|_| rests.failed(1, false, now).as_millis()).collect();
        assert_eq!(pauses, [500, 1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000]);
        assert_eq!(rests.failed(1, true, now), LONGEST_TEMPORARY);
        assert!(rests.is_resting(1, Timestamp(3_999)) && !rests.is_resting(2, now));
        assert_eq!(rests.first(), Some(Timestamp(4000)));
        assert!(rests.over(Timestamp(3_999)).is_empty());
        assert_eq!(rests.over(Timestamp(4_000)), [1]);
        assert_eq!((rests.over(Timestamp(9_000)), rests.first()), (vec![], None));
        rests.succeeded(1, None);
        assert_eq!(rests.failed(1, false, now), FIRST);
        rests.succeeded(1, Some(Timestamp(250)));
        assert!(rests.is_resting(1, now));
        assert!(!rests.is_resting(1, Timestamp(-100_000)), "the clock was set back");
        assert_eq!(rests.over(Timestamp(250)), [1]);
    }

    #[test]
    fn what_others_find_is_not_told_when_its_rest_is_over() {
        let (mut rests, now) = (Rests::default(), Timestamp(0));
        rests.failed(1, true, now);
        rests.leave(1);
        assert!(rests.is_resting(1, now));
        assert!(rests.over(Timestamp(500)).is_empty());
        assert_eq!((rests.is_resting(1, Timestamp(500)), rests.first()), (false, None));
        rests.failed(1, true, Timestamp(500));
        assert_eq!(rests.over(Timestamp(1_500)), [1], "it is told again, after a longer rest");
    }
}
