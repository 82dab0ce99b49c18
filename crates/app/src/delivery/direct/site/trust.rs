//! How a site is known to answer, by what it did lately.

use std::collections::HashMap;
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

/// A set of servers of a site, told from others by a sum of their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::delivery::direct) struct ServerSet(pub(in crate::delivery::direct) u64);

/// So many sets of servers that hang speak for their site.
const HUNG: usize = 3;

/// What a site did lately.
#[derive(Debug, Default)]
pub(super) struct Trust {
    /// When it last answered, be it an envelope.
    heard_at: Option<Timestamp>,
    /// When it last said what became of a mail.
    settled_at: Option<Timestamp>,
    /// Mails settled soon, one after the other.
    proof: u32,
    /// What is known of this is known of a set of servers: whoever has a name at a hoster could hold up its other
    /// customers' mail otherwise.
    hanging: HashMap<ServerSet, Hanging>,
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

    /// Whether it has settled a mail lately.
    pub(super) fn answers(&self, now: Timestamp) -> bool {
        is_lately(self.settled_at, now)
    }

    /// Whether it is remembered that servers of it hung.
    pub(super) fn remembers_hanging(&self, now: Timestamp) -> bool {
        self.hanging.values().any(|hanging| hanging.is_remembered(now))
    }

    /// It said what became of a mail.
    pub(super) fn settled(&mut self, set: ServerSet, delay: Delay, now: Timestamp) {
        if delay != Delay::Short || !self.answers(now) {
            self.proof = 0;
        }
        self.settled_at = Some(now);
        if delay == Delay::Short {
            self.proof = self.proof.saturating_add(1);
        }
        if delay != Delay::Long
            && let Some(hanging) = self.hanging.get_mut(&set)
        {
            hanging.answered_soon();
        }
    }

    /// An answer of servers of it is awaited for long. Returns whether it is news that they hang.
    pub(super) fn waits(&mut self, set: ServerSet, now: Timestamp) -> bool {
        self.proof = 0;
        self.hanging.retain(|_, hanging| hanging.waiting() > 0 || hanging.is_remembered(now));
        self.hanging.entry(set).or_default().waits(now)
    }

    /// The conversation in which it was has ended.
    pub(super) fn waited(&mut self, set: ServerSet) {
        if let Some(hanging) = self.hanging.get_mut(&set) {
            hanging.waited();
        }
    }

    /// Whether it hangs as a whole: so many of its servers do.
    fn hangs(&self, now: Timestamp) -> bool {
        self.hanging.values().filter(|hanging| hanging.is_remembered(now)).count() >= HUNG
    }

    /// How servers of it are known to answer, given how many conversations there are with them.
    pub(super) fn standing(&self, set: ServerSet, conversations: usize, now: Timestamp) -> Standing {
        let hang = self.hanging.get(&set).is_some_and(|hanging| hanging.hangs(conversations, now));
        if hang || self.hangs(now) {
            Standing::Hangs
        } else if !self.answers(now) {
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

    const ONE: ServerSet = ServerSet(1);

    #[test]
    fn servers_that_hang_speak_for_themselves_while_others_of_their_site_settle_mail() {
        let after = |seconds| Timestamp(1_000).plus(Duration::from_secs(seconds));
        let mut trust = Trust::default();
        assert!(trust.waits(ServerSet(2), after(0)));
        assert_eq!(trust.standing(ONE, 0, after(0)), Standing::Unknown);
        trust.settled(ONE, Delay::Short, after(1));
        assert_eq!(trust.standing(ONE, 0, after(1)), Standing::Answers);
        assert_eq!(trust.standing(ServerSet(2), 0, after(1)), Standing::Hangs);
        assert!(trust.waits(ServerSet(3), after(2)));
        assert_eq!(trust.standing(ONE, 0, after(2)), Standing::Answers);
        assert!(trust.waits(ServerSet(4), after(63)));
        assert_eq!(trust.standing(ONE, 0, after(63)), Standing::Hangs, "three speak for the site");
        trust.settled(ServerSet(4), Delay::Slow, after(64));
        assert_eq!(trust.standing(ONE, 0, after(64)), Standing::Answers);
    }

    #[test]
    fn a_site_is_proven_by_several_mails_that_it_settled_soon() {
        let after = |seconds| Timestamp(1_000).plus(Duration::from_secs(seconds));
        let mut trust = Trust::default();
        trust.heard(after(0));
        assert_eq!(trust.standing(ONE, 1, after(0)), Standing::Unknown, "an envelope is no mail");
        for mail in 0..5 {
            trust.settled(ONE, Delay::Short, after(mail * 599));
            assert_eq!(trust.standing(ONE, 1, after(mail * 599)) == Standing::Proven, mail == 4);
        }
        let last = 4 * 599;
        assert_eq!(trust.standing(ONE, 1, after(last + 600)), Standing::Unknown);
        trust.settled(ONE, Delay::Short, after(last + 600));
        assert_eq!(
            trust.standing(ONE, 1, after(last + 600)),
            Standing::Answers,
            "what was before is long ago"
        );
        (0..4).for_each(|_| trust.settled(ONE, Delay::Short, after(last + 600)));
        assert_eq!(trust.standing(ONE, 1, after(last + 600)), Standing::Proven);
        assert!(trust.waits(ONE, after(last + 601)));
        assert_eq!(trust.standing(ONE, 1, after(last + 601)), Standing::Hangs);
        trust.settled(ONE, Delay::Long, after(last + 700));
        trust.waited(ONE);
        assert_eq!(trust.standing(ONE, 0, after(last + 700)), Standing::Hangs, "it took its time");
        trust.settled(ONE, Delay::Slow, after(last + 701));
        assert_eq!(trust.standing(ONE, 0, after(last + 701)), Standing::Answers);
        (0..4).for_each(|_| trust.settled(ONE, Delay::Short, after(last + 702)));
        assert_eq!(trust.standing(ONE, 0, after(last + 702)), Standing::Answers, "a slow one is no proof");
        trust.settled(ONE, Delay::Short, after(last + 702));
        assert_eq!(trust.standing(ONE, 0, after(last + 702)), Standing::Proven);
    }
}
