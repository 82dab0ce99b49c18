//! Whether mail servers can be reached.
//!
//! This is known of each set of servers that a domain names, and not of its site at once: whoever owns a domain can name
//! servers of a large receiver that take no mail at all. Several sets that fail one after the other, without an answer of
//! the site in between, speak for the site.

use std::time::Duration;

use mailwright_core::pauses::Pauses;
use mailwright_core::time::Timestamp;

use super::slow::Slow;

/// Pauses before servers are tried again that could not be reached.
const PAUSES: Pauses = Pauses { first: Duration::from_secs(2), longest: Duration::from_mins(10) };

/// What is known of whether servers can be reached.
#[derive(Debug, Default)]
pub(in crate::delivery::direct) struct Reach {
    /// How often in a row there was no connection, or it was lost.
    misses: u32,
    /// How often in a row that counted.
    failures: u32,
    /// Until when nothing is tried.
    until: Timestamp,
    /// Why not.
    error: String,
    /// Whether the servers refused us, rather than gave no connection.
    is_refused: bool,
    /// Connections that are being opened.
    opening: u32,
}

impl Reach {
    /// Whether a connection may be opened or used now; otherwise when that may have changed, where that is known.
    pub(in crate::delivery::direct) fn admits(&self, now: Timestamp) -> Result<(), Option<Timestamp>> {
        if now < self.until {
            return Err(Some(self.until));
        }
        // one try, after the last one was in vain
        if self.failures > 0 && self.opening > 0 { Err(None) } else { Ok(()) }
    }

    /// Until when nothing is tried, if that is so, and why.
    pub(in crate::delivery::direct) fn rests(&self, now: Timestamp) -> Option<(Timestamp, Slow)> {
        (now < self.until).then(|| {
            let why = if self.is_refused { Slow::Refused } else { Slow::Unreachable };
            (self.until, why(self.error.clone()))
        })
    }

    /// The servers refused us because of what we are, or of how much we send: that is believed of them alone.
    pub(in crate::delivery::direct) fn refused(&mut self, reply: &str, now: Timestamp) {
        self.failed(reply, 0, now);
        self.is_refused = true;
    }

    /// Whether the last try was in vain.
    pub(in crate::delivery::direct) fn has_failed(&self) -> bool {
        self.failures > 0
    }

    /// Whether it matters how often it was tried: it failed, and is tried again soon, or was to be a while ago.
    pub(in crate::delivery::direct) fn is_remembered(&self, now: Timestamp) -> bool {
        self.failures > 0 && now.since(self.until) < PAUSES.longest && self.until.since(now) <= PAUSES.longest
    }

    pub(in crate::delivery::direct) fn opens(&mut self) {
        self.opening += 1;
    }

    pub(in crate::delivery::direct) fn opened(&mut self) {
        self.opening = self.opening.saturating_sub(1);
    }

    /// What became of a mail was said: the servers can be reached, and do not lose what they are given.
    pub(in crate::delivery::direct) fn settled(&mut self) {
        *self = Self { opening: self.opening, ..Self::default() };
    }

    /// No connection was to be had, or it was lost. So many in a row may be accidents. Returns whether it counts, and whether
    /// that is news.
    pub(in crate::delivery::direct) fn failed(
        &mut self,
        error: &str,
        accidents: u32,
        now: Timestamp,
    ) -> (bool, bool) {
        self.misses = self.misses.saturating_add(1);
        if self.misses <= accidents {
            return (false, false);
        }
        // of several tries at once the first counts
        if now >= self.until {
            self.until = now.plus(PAUSES.after(self.failures));
            self.failures = self.failures.saturating_add(1);
        }
        error.clone_into(&mut self.error);
        self.is_refused = false;
        (true, self.failures == 1)
    }
}
