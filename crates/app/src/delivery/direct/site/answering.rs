//! What a site answers, and how soon.

use mailwright_core::ids::ProjectNumber;
use mailwright_core::pacing::PaceReason;
use mailwright_core::pacing::reply::Signal;
use mailwright_core::time::Timestamp;

use super::Site;
use super::trust::{Delay, ServerSet, Standing};

impl<L> Site<L> {
    /// Servers of the site said what became of a mail, after they had us wait for so long.
    pub(in crate::delivery::direct) fn reached(
        &mut self,
        set: ServerSet,
        project: ProjectNumber,
        delay: Delay,
        now: Timestamp,
    ) {
        self.heard(now);
        self.trust.settled(set, delay, now);
        self.takers.note(set, project, now);
    }

    /// Whether it took a mail since a time.
    pub(in crate::delivery::direct) fn took_since(&self, at: Timestamp) -> bool {
        self.took_at.is_some_and(|took_at| took_at > at)
    }

    /// Whether what servers of it say about us holds for all of it, where there is mail of several projects. That it blocks
    /// us keeps mail for hours: nobody may say so for servers of which nothing is known yet.
    pub(in crate::delivery::direct) fn speaks(&self, set: ServerSet, signal: Signal, now: Timestamp) -> bool {
        self.takers.is_shared(set, now) || signal != Signal::Blocked && self.takers.is_alone(set, now)
    }

    /// An answer of servers of the site is awaited for long. Returns whether it is news that they hang.
    pub(in crate::delivery::direct) fn waits(&mut self, set: ServerSet, now: Timestamp) -> bool {
        self.trust.waits(set, now)
    }

    /// The conversation in which it was has ended.
    pub(in crate::delivery::direct) fn waited(&mut self, set: ServerSet) {
        self.trust.waited(set);
    }

    /// Whether it has answered lately, be it an envelope.
    pub(in crate::delivery::direct) fn is_heard(&self, now: Timestamp) -> bool {
        !self.reach.has_failed() && self.trust.is_heard(now)
    }

    /// Whether it has settled a mail lately.
    pub(in crate::delivery::direct) fn answers(&self, now: Timestamp) -> bool {
        self.trust.answers(now)
    }

    /// How servers of it are known to answer, given how many conversations there are with them.
    pub(in crate::delivery::direct) fn standing(
        &self,
        set: ServerSet,
        conversations: usize,
        now: Timestamp,
    ) -> Standing {
        match self.trust.standing(set, conversations, now) {
            Standing::Proven | Standing::Answers if self.reach.has_failed() => Standing::Unknown,
            standing => standing,
        }
    }

    /// Whether one more connection may be with servers of it that hang: as many as the site may have beside them.
    pub(in crate::delivery::direct) fn has_room_apart(&self) -> bool {
        self.apart < self.grant.connections.max(1)
    }

    /// A connection is with servers that hang.
    pub(in crate::delivery::direct) fn begins_apart(&mut self) {
        self.apart += 1;
    }

    /// It is no longer.
    pub(in crate::delivery::direct) fn ends_apart(&mut self) {
        self.apart = self.apart.saturating_sub(1);
        self.counts_apart &= self.apart > 0;
    }

    /// The operator resumed it: that it blocks us is known no longer, but asked of its pace, which knows better. What
    /// domains said of that before does not count any more.
    pub(in crate::delivery::direct) fn resumed(&mut self, at: Timestamp) {
        if self.resumed_at == at {
            return;
        }
        self.resumed_at = at;
        self.accusers.clear();
        if self.wait.is_some_and(|wait| wait.reason == PaceReason::Blocked) {
            // a block that comes back is told anew
            (self.wait, self.told) = (None, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mailwright_core::pacing::limits::Limits;
    use mailwright_core::pacing::{Grant, Wait};

    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000);

    fn blocked(until: Timestamp) -> Grant {
        let wait = Some(Wait { reason: PaceReason::Blocked, until });
        let until = NOW.plus(Duration::from_secs(5));
        Grant { mails: 0, connections: 0, until, wait, is_wanted: false }
    }

    #[test]
    fn the_pace_of_a_site_that_was_resumed_is_asked_once() {
        let (later, until) = (NOW.plus(Duration::from_mins(1)), NOW.plus(Duration::from_hours(1)));
        let mut site: Site<u32> = Site::new(Limits::UNKNOWN);
        assert_eq!(site.granted(blocked(until), None, None), Some(PaceReason::Blocked));
        assert!(site.ask(1, later).is_none(), "until the block is over");
        site.resumed(later);
        assert_eq!(site.blocked_until(later), None);
        assert!(site.ask(1, later).is_some());
        // it blocks us again
        assert_eq!(site.granted(blocked(until), None, None), Some(PaceReason::Blocked), "that is news");
        site.resumed(later);
        assert_eq!(site.blocked_until(later), Some(until));
        assert!(site.ask(1, later).is_none());
    }
}
