//! The certificates that messages of Amazon SNS are signed with, as this process keeps them.
//!
//! Anybody can write a message that names an address at Amazon's host. So each address is asked by one request at a
//! time, one that gave no certificate is not asked again for a while, and few are asked in a minute that gave none
//! before. A certificate that has proved a message is not pushed out by others that have not.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mailwright_core::time::Timestamp;
use quick_cache::sync::Cache;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

/// Certificates that are kept of those that have proved a message, and as many of those that have not.
const CERTIFICATES: usize = 16;
/// How long a certificate is used without fetching it again.
const KEPT: Duration = Duration::from_hours(24);
/// Addresses that are known to have no certificate, or are being asked.
const ADDRESSES: usize = 256;
/// How long an address is not asked again, after it gave no certificate or one that is not valid.
const SPARED: Duration = Duration::from_mins(1);
/// Addresses that are asked in this time, of those that gave no certificate before. A region of Amazon has one or two.
const MOST_UNKNOWN: u32 = 20;
const WINDOW: Duration = Duration::from_mins(1);

/// What is known of an address.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// Its certificate.
    Certificate(Arc<Vec<u8>>),
    /// Nothing: it may be asked.
    Nothing,
    /// It is not asked now.
    Spared,
}

/// The addresses without a known certificate that were asked lately.
#[derive(Debug)]
struct Unknown {
    since: Timestamp,
    count: u32,
}

impl Unknown {
    /// Whether one more may be asked.
    fn take(&mut self, now: Timestamp) -> bool {
        // also where the clock was set back
        if now.since(self.since) >= WINDOW || self.since > now {
            *self = Self { since: now, count: 0 };
        }
        self.count = self.count.saturating_add(1);
        if self.count == MOST_UNKNOWN + 1 {
            tracing::warn!(
                "messages of SNS name many addresses without a certificate, no more are asked for a minute"
            );
        }
        self.count <= MOST_UNKNOWN
    }
}

/// What this process keeps.
pub(super) struct Certificates {
    /// Certificates that have proved a message, by address, and when each was fetched.
    known: Cache<String, (Timestamp, Arc<Vec<u8>>)>,
    /// The others.
    unproven: Cache<String, (Timestamp, Arc<Vec<u8>>)>,
    /// Addresses that gave none, and when each was asked.
    failures: Cache<String, Timestamp>,
    /// Those that are being asked.
    turns: Cache<String, Arc<AsyncMutex<()>>>,
    unknown: Mutex<Unknown>,
}

impl Certificates {
    pub(super) fn new() -> Self {
        Self {
            known: Cache::new(CERTIFICATES),
            unproven: Cache::new(CERTIFICATES),
            failures: Cache::new(ADDRESSES),
            turns: Cache::new(ADDRESSES),
            unknown: Mutex::new(Unknown { since: Timestamp(0), count: 0 }),
        }
    }

    /// The certificate of an address, if it was fetched not long ago. One that is to be fresh is a minute old at most.
    pub(super) fn get(&self, url: &str, is_fresh: bool, now: Timestamp) -> Option<Arc<Vec<u8>>> {
        let age = if is_fresh { SPARED } else { KEPT };
        let is_young = |(at, _): &(Timestamp, Arc<Vec<u8>>)| now.since(*at) < age;
        let known = self.known.get(url).filter(is_young);
        let (_, certificate) = known.or_else(|| self.unproven.get(url).filter(is_young))?;
        Some(certificate)
    }

    /// Waits until nobody else asks an address. Nobody does until what is returned is dropped.
    pub(super) async fn turn(&self, url: &str) -> OwnedMutexGuard<()> {
        let Ok(turn) = self.turns.get_or_insert_with(url, || Ok::<_, Infallible>(Arc::default()));
        turn.lock_owned().await
    }

    /// What is known of an address by whoever has its turn. Where that is nothing, it counts as asked.
    pub(super) fn look(&self, url: &str, is_fresh: bool, now: Timestamp) -> Known {
        if let Some(certificate) = self.get(url, is_fresh, now) {
            return Known::Certificate(certificate);
        }
        if self.failures.get(url).is_some_and(|at| now.since(at) < SPARED) {
            return Known::Spared;
        }
        // one whose certificate has proved a message is asked whatever others are named
        let may_ask = self.known.contains_key(url)
            || self.unknown.lock().unwrap_or_else(PoisonError::into_inner).take(now);
        if may_ask { Known::Nothing } else { Known::Spared }
    }

    /// An address gave a certificate, or what claims to be one.
    pub(super) fn fetched(&self, url: &str, certificate: &Arc<Vec<u8>>, now: Timestamp) {
        self.unproven.insert(url.to_owned(), (now, Arc::clone(certificate)));
    }

    /// The certificate of an address has proved a message.
    pub(super) fn proved(&self, url: &str) {
        if let Some((url, certificate)) = self.unproven.remove(url) {
            self.known.insert(url, certificate);
        }
    }

    /// An address gave none.
    pub(super) fn failed(&self, url: &str, now: Timestamp) {
        self.unproven.remove(url);
        self.failures.insert(url.to_owned(), now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_741_608_000_000);

    #[test]
    fn few_addresses_are_asked_that_gave_nothing_before() {
        let (certificates, certificate) = (Certificates::new(), Arc::new(vec![1]));
        let look = |url: &str, now| certificates.look(url, false, now);
        assert_eq!(look("ours", NOW), Known::Nothing);
        certificates.fetched("ours", &certificate, NOW);
        certificates.proved("ours");
        assert_eq!(look("ours", NOW), Known::Certificate(Arc::clone(&certificate)));
        for number in 1..MOST_UNKNOWN {
            assert_eq!(look(&number.to_string(), NOW), Known::Nothing, "{number}");
        }
        assert_eq!(look("more", NOW), Known::Spared);
        // what gave one is asked for a fresh one
        let later = NOW.plus(WINDOW);
        assert_eq!(look("more", later), Known::Nothing);
        for number in 1..MOST_UNKNOWN {
            look(&number.to_string(), later);
        }
        assert_eq!(look("again", later), Known::Spared);
        assert_eq!(certificates.look("ours", true, later), Known::Nothing);
        certificates.failed("ours", later);
        assert_eq!(certificates.look("ours", true, later), Known::Spared);
        assert_eq!(look("ours", later), Known::Certificate(certificate), "the old one is still good");
    }

    #[test]
    fn what_has_proved_a_message_is_not_pushed_out() {
        let (certificates, certificate) = (Certificates::new(), Arc::new(vec![1]));
        certificates.fetched("ours", &certificate, NOW);
        assert_eq!(certificates.get("ours", false, NOW), Some(Arc::clone(&certificate)));
        certificates.proved("ours");
        for number in 0..10 * CERTIFICATES {
            let url = number.to_string();
            certificates.fetched(&url, &certificate, NOW);
        }
        assert_eq!(certificates.get("ours", false, NOW), Some(certificate));
        certificates.fetched("none", &Arc::new(Vec::new()), NOW);
        certificates.failed("none", NOW);
        assert_eq!(certificates.look("none", false, NOW), Known::Spared);
    }

    #[test]
    fn an_address_that_gave_none_is_asked_again_after_a_minute() {
        let certificates = Certificates::new();
        certificates.failed("none", NOW);
        assert_eq!(certificates.look("none", false, NOW), Known::Spared);
        assert_eq!(certificates.look("none", false, NOW.plus(SPARED)), Known::Nothing);
        // the clock was set back
        assert_eq!(certificates.look("other", false, Timestamp(5)), Known::Nothing);
    }

    #[tokio::test]
    async fn an_address_is_asked_by_one_at_a_time() {
        let certificates = Certificates::new();
        let first = certificates.turn("ours").await;
        let second = tokio::time::timeout(Duration::ZERO, certificates.turn("ours")).await;
        assert!(second.is_err());
        drop(certificates.turn("other").await);
        drop(first);
        drop(certificates.turn("ours").await);
    }
}
