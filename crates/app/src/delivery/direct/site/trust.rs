//! How a site is known to answer, by what it did lately.

use std::time::Duration;

use mailwright_core::time::Timestamp;

use super::hanging::Hanging;

/// How long a site counts as one that answers after it did.
const ANSWERS_FOR: Duration = Duration::from_mins(10);
/// So many mails that it settled soon, none much later than the one before, prove that a site answers: a first mail is
/// easily answered by one that hangs afterwards.
const PROOF: u32 = 5;

/// How a site is known to answer mails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::delivery::direct) enum Standing {
    /// It has settled several mails lately, and soon.
    Proven,
    /// It has settled a mail lately.
    Answers,
    /// It has not, or could not be reached since.
    Unknown,
    /// It lets us wait for its answers.
    Hangs,
}

/// How long an answer is awaited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::delivery::direct) enum Delay {
    /// Not for long enough to speak of.
    Short,
    /// Longer than one that answers usually needs.
    Slow,
    /// So long that the site hangs.
    Long,
}

/// What a site did lately.
#[derive(Debug, Default)]
pub(super) struct Trust {
    /// When it last answered, be it an envelope.
    heard_at: Option<Timestamp>,
    /// When it last said what became of a mail.
    settled_at: Option<Timestamp>,
    /// Mails settled soon, one after the other.
    proof: u32,
    hanging: Hanging,
}

impl Trust {
    /// When it last answered, be it an envelope.
    pub(super) fn heard_at(&self) -> Option<Timestamp> {
        self.heard_at
    }

    pub(super) fn is_heard(&self, now: Timestamp) -> bool {
        is_lately(self.heard_at, now)
    }

    pub(super) fn heard(&mut self, now: Timestamp) {
        self.heard_at = Some(now);
    }

    /// Whether it is remembered that it hung.
    pub(super) fn remembers_hanging(&self, now: Timestamp) -> bool {
        self.hanging.is_remembered(now)
    }

    /// It said what became of a mail.
    pub(super) fn settled(&mut self, delay: Delay, now: Timestamp) {
        if delay != Delay::Short || !is_lately(self.settled_at, now) {
            self.proof = 0;
        }
        self.settled_at = Some(now);
        if delay == Delay::Short {
            self.proof = self.proof.saturating_add(1);
        }
        if delay != Delay::Long {
            self.hanging.answered_soon();
        }
    }

    /// Its answer is awaited for long. Returns whether it is news that it hangs.
    pub(super) fn waits(&mut self, now: Timestamp) -> bool {
        self.proof = 0;
        self.hanging.waits(now)
    }

    /// The conversation in which it was has ended.
    pub(super) fn waited(&mut self) {
        self.hanging.waited();
    }

    /// How it is known to answer, given how many conversations there are with it.
    pub(super) fn standing(&self, conversations: u32, now: Timestamp) -> Standing {
        if self.hanging.hangs(conversations, now) {
            Standing::Hangs
        } else if !is_lately(self.settled_at, now) {
            Standing::Unknown
        } else if self.proof < PROOF {
            Standing::Answers
        } else {
            Standing::Proven
        }
    }
}

fn is_lately(at: Option<Timestamp>, now: Timestamp) -> bool {
    at.is_some_and(|at| now.since(at) < ANSWERS_FOR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_proven_by_several_mails_that_it_settled_soon() {
        let after = |seconds| Timestamp(1_000).plus(Duration::from_secs(seconds));
        let mut trust = Trust::default();
        trust.heard(after(0));
        assert_eq!(trust.standing(1, after(0)), Standing::Unknown, "an envelope is no mail");
        for mail in 0..5 {
            trust.settled(Delay::Short, after(mail * 599));
            assert_eq!(trust.standing(1, after(mail * 599)) == Standing::Proven, mail == 4);
        }
        let last = 4 * 599;
        assert_eq!(trust.standing(1, after(last + 600)), Standing::Unknown);
        trust.settled(Delay::Short, after(last + 600));
        assert_eq!(trust.standing(1, after(last + 600)), Standing::Answers, "what was before is long ago");
        (0..4).for_each(|_| trust.settled(Delay::Short, after(last + 600)));
        assert_eq!(trust.standing(1, after(last + 600)), Standing::Proven);
        assert!(trust.waits(after(last + 601)));
        assert_eq!(trust.standing(1, after(last + 601)), Standing::Hangs);
        trust.settled(Delay::Long, after(last + 700));
        trust.waited();
        assert_eq!(trust.standing(0, after(last + 700)), Standing::Hangs, "it took its time");
        trust.settled(Delay::Slow, after(last + 701));
        assert_eq!(trust.standing(0, after(last + 701)), Standing::Answers);
        (0..4).for_each(|_| trust.settled(Delay::Short, after(last + 702)));
        assert_eq!(trust.standing(0, after(last + 702)), Standing::Answers, "a slow one is no proof");
        trust.settled(Delay::Short, after(last + 702));
        assert_eq!(trust.standing(0, after(last + 702)), Standing::Proven);
    }
}
