//! What a site answers, and how soon.

use mailwright_core::time::Timestamp;

use super::Site;
use super::trust::{Delay, Standing};

impl<L> Site<L> {
    /// The site said what became of a mail, after it had us wait for so long.
    pub(in crate::delivery::direct) fn reached(&mut self, delay: Delay, now: Timestamp) {
        self.heard(now);
        self.trust.settled(delay, now);
    }

    /// An answer is awaited for long. Returns whether it is news that the site hangs.
    pub(in crate::delivery::direct) fn waits(&mut self, now: Timestamp) -> bool {
        self.trust.waits(now)
    }

    /// The conversation in which it was has ended.
    pub(in crate::delivery::direct) fn waited(&mut self) {
        self.trust.waited();
    }

    /// Whether it has answered lately, be it an envelope.
    pub(in crate::delivery::direct) fn is_heard(&self, now: Timestamp) -> bool {
        !self.reach.has_failed() && self.trust.is_heard(now)
    }

    /// How it is known to answer.
    pub(in crate::delivery::direct) fn standing(&self, now: Timestamp) -> Standing {
        match self.trust.standing(self.conversations(), now) {
            Standing::Proven | Standing::Answers if self.reach.has_failed() => Standing::Unknown,
            standing => standing,
        }
    }

    /// Whether it lets us wait for its answers.
    pub(in crate::delivery::direct) fn hangs(&self, now: Timestamp) -> bool {
        self.standing(now) == Standing::Hangs
    }
}
