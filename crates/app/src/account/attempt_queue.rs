//! How attempts come to the database: a few at a time, and not at all where the count was used up a moment ago.
//!
//! All attempts on an account change one row, so each waits for the one before it. Without turns, a client that guesses
//! with a thousand requests at once would hold every connection to the database with them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use mailwright_core::time::Timestamp;
use mailwright_store::account::attempts::{Counted, UsedUp};
use tokio::sync::{Semaphore, SemaphorePermit};

/// Most attempts that are counted at the same time.
const AT_ONCE: usize = 4;
/// How long a count is known to be used up. A link that resets the password frees it, also by way of another node.
const KNOWN_FOR: Duration = Duration::from_secs(1);
/// Most counts that are known to be used up.
const MOST_KNOWN: usize = 10_000;

/// The attempts of this process.
pub(super) struct AttemptQueue {
    turns: Semaphore,
    used_up: Mutex<HashMap<[u8; 32], Known>>,
}

/// A count that is used up, and when that was found.
struct Known {
    used_up: UsedUp,
    found: Timestamp,
}

impl Known {
    fn holds(&self, now: Timestamp) -> bool {
        self.found <= now && now < self.found.plus(KNOWN_FOR)
    }
}

impl Default for AttemptQueue {
    fn default() -> Self {
        Self { turns: Semaphore::new(AT_ONCE), used_up: Mutex::default() }
    }
}

impl AttemptQueue {
    /// Waits until an attempt may be counted. There is always an answer: nobody closes the queue.
    pub(super) async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        self.turns.acquire().await.ok()
    }

    /// One of the counts that is known to be used up.
    pub(super) fn used_up(&self, counted: &[Counted], now: Timestamp) -> Option<UsedUp> {
        let known = self.known();
        let mut found = counted.iter().filter_map(|Counted { key, .. }| known.get(key));
        found.find(|known| known.holds(now)).map(|known| known.used_up)
    }

    /// Remembers that a count is used up.
    pub(super) fn note(&self, used_up: UsedUp, now: Timestamp) {
        let mut known = self.known();
        if known.len() >= MOST_KNOWN {
            known.retain(|_, known| known.holds(now));
        }
        if known.len() < MOST_KNOWN {
            known.insert(used_up.key, Known { used_up, found: now });
        }
    }

    /// Counts were freed.
    pub(super) fn forget(&self) {
        self.known().clear();
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<[u8; 32], Known>> {
        self.used_up.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_up_is_known_for_a_second() {
        let (queue, at) = (AttemptQueue::default(), Timestamp(1_000_000));
        let (one, other) = (Counted { key: [1; 32], limit: 5 }, Counted { key: [2; 32], limit: 5 });
        let used_up = UsedUp { key: one.key, began: Timestamp(7) };
        queue.note(used_up, at);
        assert_eq!(queue.used_up(&[other, one], at.plus(KNOWN_FOR / 2)), Some(used_up));
        assert_eq!(queue.used_up(&[other], at), None);
        assert_eq!(queue.used_up(&[one], at.plus(KNOWN_FOR)), None);
        assert_eq!(queue.used_up(&[one], at.minus(KNOWN_FOR)), None, "the clock was set back");
        queue.forget();
        assert_eq!(queue.used_up(&[one], at), None);
    }

    #[test]
    fn what_is_known_is_bounded() {
        let (queue, at) = (AttemptQueue::default(), Timestamp(1_000_000));
        let key = |n: usize| {
            let mut key = [0; 32];
            key[..8].copy_from_slice(&n.to_be_bytes());
            key
        };
        for n in 0..MOST_KNOWN + 5 {
            queue.note(UsedUp { key: key(n), began: at }, at);
        }
        assert_eq!(queue.known().len(), MOST_KNOWN);
        let later = at.plus(KNOWN_FOR);
        queue.note(UsedUp { key: key(0), began: at }, later);
        assert_eq!(queue.known().len(), 1);
    }
}
