//! Which hosts are left alone, because requests to them fail again and again.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// After so many failures in a row a host is left alone.
const FAILURES: u32 = 5;
/// For how long at first; it doubles with each further failure.
const FIRST: Duration = Duration::from_secs(15);
/// For how long at most.
const LONGEST: Duration = Duration::from_mins(10);
/// Most hosts that are remembered.
const HOSTS: usize = 10_000;

#[derive(Debug, Clone, Copy)]
struct Host {
    failures: u32,
    until: Instant,
}

/// The hosts that failed lately, as this process saw it.
#[derive(Debug, Default)]
pub(crate) struct Breakers(Mutex<HashMap<String, Host>>);

impl Breakers {
    /// For how long a host is still left alone. When the time is over, one request tries it; others wait for that one.
    pub(super) fn pause(&self, host: &str, now: Instant) -> Option<Duration> {
        let mut hosts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = hosts.get_mut(host).filter(|known| known.failures >= FAILURES)?;
        let left = known.until.saturating_duration_since(now);
        if left.is_zero() {
            known.until = now + FIRST;
            return None;
        }
        Some(left)
    }

    /// Notes whether a request to a host failed.
    pub(super) fn note(&self, host: &str, failed: bool, now: Instant) {
        let mut hosts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !failed {
            hosts.remove(host);
            return;
        }
        if hosts.len() >= HOSTS && !hosts.contains_key(host) {
            hosts.retain(|_, known| known.until > now);
        }
        if hosts.len() >= HOSTS && !hosts.contains_key(host) {
            return;
        }
        let known = hosts.entry(host.to_owned()).or_insert(Host { failures: 0, until: now });
        known.failures += 1;
        if let Some(beyond) = known.failures.checked_sub(FAILURES) {
            known.until = now + FIRST.saturating_mul(2_u32.saturating_pow(beyond.min(10))).min(LONGEST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_fails_is_left_alone_and_tried_by_one() {
        let (breakers, now) = (Breakers::default(), Instant::now());
        for _ in 1..FAILURES {
            breakers.note("a", true, now);
        }
        assert_eq!(breakers.pause("a", now), None);
        breakers.note("a", true, now);
        assert_eq!(breakers.pause("a", now), Some(FIRST));
        assert_eq!(breakers.pause("b", now), None);
        let later = now + FIRST;
        assert_eq!(breakers.pause("a", later), None, "one may try");
        assert_eq!(breakers.pause("a", later), Some(FIRST), "the others wait for it");
        breakers.note("a", true, later);
        assert_eq!(breakers.pause("a", later), Some(2 * FIRST));
        breakers.note("a", false, later);
        assert_eq!(breakers.pause("a", later), None);
    }

    #[test]
    fn a_host_is_left_alone_for_a_bounded_time() {
        let (breakers, now) = (Breakers::default(), Instant::now());
        for _ in 0..100 {
            breakers.note("a", true, now);
        }
        assert_eq!(breakers.pause("a", now), Some(LONGEST));
    }
}
