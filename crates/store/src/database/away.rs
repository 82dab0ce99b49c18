//! The servers of a cluster that do not answer, as the looks for work of this process found.
//!
//! They are left out for a while, so that not every look waits for them. Then one look asks them again.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a server is left out, at least.
const SHORTEST: Duration = Duration::from_secs(5);
/// How long it is left out, at most.
const LONGEST: Duration = Duration::from_mins(1);
/// It is left out for so many times as long as it took to find out: a server whose process died refuses at once, but
/// for one whose machine is gone the look waits.
const SHARE: u32 = 10;

/// The servers that do not answer, by their numbers in the cluster.
#[derive(Debug, Default)]
pub(crate) struct Away(Mutex<Option<Found>>);

#[derive(Debug)]
struct Found {
    /// Empty until it is known which.
    servers: BTreeSet<i64>,
    /// When they are asked again.
    until: Instant,
}

impl Away {
    /// The servers to leave out; `None` while all of them answer, as far as is known. When the time is over, one caller
    /// is to ask all of them, and to note what it found ([`Away::note`]). The others go on as before meanwhile.
    pub(crate) fn left_out(&self, now: Instant) -> Option<BTreeSet<i64>> {
        let mut guard = self.lock();
        let found = guard.as_mut()?;
        if found.until > now {
            return Some(found.servers.clone());
        }
        found.until = now + SHORTEST;
        Some(BTreeSet::new())
    }

    /// Notes that some server does not answer, whichever it is.
    pub(crate) fn suspect(&self, now: Instant) {
        self.lock().get_or_insert_with(|| Found { servers: BTreeSet::new(), until: now });
    }

    /// Notes which servers did not answer a look that left some out, and how long it took.
    pub(crate) fn note(&self, left_out: &BTreeSet<i64>, silent: BTreeSet<i64>, took: Duration, now: Instant) {
        let mut guard = self.lock();
        if left_out.is_empty() {
            let until = now + took.saturating_mul(SHARE).clamp(SHORTEST, LONGEST);
            *guard = (!silent.is_empty()).then_some(Found { servers: silent, until });
        } else if let Some(found) = guard.as_mut() {
            found.servers.extend(silent);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Found>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set<const N: usize>(servers: [i64; N]) -> BTreeSet<i64> {
        BTreeSet::from(servers)
    }

    #[test]
    fn a_server_that_does_not_answer_is_left_out_and_asked_again() {
        let (away, began) = (Away::default(), Instant::now());
        let at = |seconds: u64| began + Duration::from_secs(seconds);
        assert_eq!(away.left_out(at(0)), None);
        away.suspect(at(0));
        assert_eq!(away.left_out(at(0)), Some(set([])), "it is not known which");
        away.note(&set([]), set([2]), Duration::ZERO, at(0));
        assert_eq!(away.left_out(at(4)), Some(set([2])));
        away.note(&set([2]), set([3]), Duration::ZERO, at(4));
        away.note(&set([2]), set([]), Duration::ZERO, at(4));
        assert_eq!(away.left_out(at(4)), Some(set([2, 3])), "another one followed");

        assert_eq!(away.left_out(at(5)), Some(set([])), "one caller asks all");
        assert_eq!(away.left_out(at(5)), Some(set([2, 3])), "the others do not wait for it");
        away.note(&set([]), set([3]), Duration::from_secs(3), at(8));
        assert_eq!(away.left_out(at(37)), Some(set([3])), "the longer it took, the longer it is not tried");
        assert_eq!(away.left_out(at(38)), Some(set([])));
        away.note(&set([]), set([]), Duration::ZERO, at(38));
        assert_eq!(away.left_out(at(38)), None);
    }

    #[test]
    fn a_server_is_tried_again_after_a_minute_however_long_it_is_waited_for() {
        let (away, now) = (Away::default(), Instant::now());
        away.suspect(now);
        away.note(&set([]), set([2]), Duration::from_secs(30), now);
        assert_eq!(away.left_out(now + LONGEST), Some(set([])));
    }
}
