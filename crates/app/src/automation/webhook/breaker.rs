//! Which hosts are left alone, because a project's requests to them fail again and again.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use mailwright_core::ids::ProjectNumber;

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

/// Which requests to a host may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leave {
    All,
    One,
    None,
}

/// The hosts that failed lately, as this process saw it.
#[derive(Debug, Default)]
pub(crate) struct Breakers(Mutex<HashMap<(ProjectNumber, String), Host>>);

impl Breakers {
    /// Which requests to a host may be made. When the time is over for which it is left alone, one tries it, and the
    /// others wait for that one.
    pub(super) fn leave(&self, host: &(ProjectNumber, String), now: Instant) -> Leave {
        let mut hosts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match hosts.get_mut(host).filter(|known| known.failures >= FAILURES) {
            None => Leave::All,
            Some(known) if known.until <= now => {
                known.until = now + FIRST;
                Leave::One
            }
            Some(_) => Leave::None,
        }
    }

    /// Notes whether a request to a host failed.
    pub(super) fn note(&self, host: &(ProjectNumber, String), failed: bool, now: Instant) {
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
        let known = hosts.entry(host.clone()).or_insert(Host { failures: 0, until: now });
        known.failures += 1;
        if let Some(beyond) = known.failures.checked_sub(FAILURES) {
            known.until = now + FIRST.saturating_mul(2_u32.saturating_pow(beyond.min(10))).min(LONGEST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str) -> (ProjectNumber, String) {
        (ProjectNumber(1), name.to_owned())
    }

    #[test]
    fn a_host_that_fails_is_left_alone_and_tried_by_one() {
        let (breakers, now) = (Breakers::default(), Instant::now());
        for _ in 1..FAILURES {
            breakers.note(&host("a"), true, now);
        }
        assert_eq!(breakers.leave(&host("a"), now), Leave::All);
        breakers.note(&host("a"), true, now);
        assert_eq!(breakers.leave(&host("a"), now), Leave::None);
        assert_eq!(breakers.leave(&host("b"), now), Leave::All);
        assert_eq!(
            breakers.leave(&(ProjectNumber(2), "a".to_owned()), now),
            Leave::All,
            "for another project"
        );
        let later = now + FIRST;
        assert_eq!(breakers.leave(&host("a"), later), Leave::One);
        assert_eq!(breakers.leave(&host("a"), later), Leave::None, "the others wait for it");
        breakers.note(&host("a"), true, later);
        assert_eq!(breakers.leave(&host("a"), later + FIRST), Leave::None, "for longer each time");
        assert_eq!(breakers.leave(&host("a"), later + 2 * FIRST), Leave::One);
        breakers.note(&host("a"), false, later);
        assert_eq!(breakers.leave(&host("a"), later), Leave::All);
    }

    #[test]
    fn a_host_is_left_alone_for_a_bounded_time() {
        let (breakers, now) = (Breakers::default(), Instant::now());
        for _ in 0..100 {
            breakers.note(&host("a"), true, now);
        }
        assert_eq!(breakers.leave(&host("a"), now + LONGEST / 2), Leave::None);
        assert_eq!(breakers.leave(&host("a"), now + LONGEST), Leave::One);
    }
}
