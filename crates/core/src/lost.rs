//! The stretch of time that a restore loses: from the moment of the backup to the restore. What the service did in it
//! is not known any more, and what it may have handed over must not be handed over again by itself.
//!
//! What is stored with a mail or a campaign says whether it existed at the backup. What an execution of a workflow does
//! has no such row yet: its steps are taken again, later than they were. So an execution is marked with how much later
//! ([`Lost`]), and a step whose first time lies in the lost stretch makes mails that are held.

use std::time::Duration;

use crate::time::Timestamp;

/// The time that a restore lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// When the backup was made.
    pub from: Timestamp,
    /// When it was restored.
    pub until: Timestamp,
}

impl Stretch {
    /// How long a lost stretch is taken to be where nothing says when the backup was made.
    pub const UNKNOWN: Duration = Duration::from_hours(30 * 24);

    /// Whether what something is due to may have been done in the lost stretch, or before it.
    pub fn covers(self, cause: Timestamp) -> bool {
        cause <= self.until
    }

    /// The mark of an execution that begins now by reason of a cause in the lost stretch, or before it: it may have
    /// begun then. `None` if the cause came later.
    pub fn begun(self, cause: Timestamp, now: Timestamp) -> Option<Lost> {
        self.covers(cause)
            .then(|| Lost { until: self.until, behind: now.since(cause.max(self.from).min(self.until)) })
    }
}

/// The mark of an execution some of whose steps may have been taken in a lost stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost {
    /// When the lost stretch ended.
    pub until: Timestamp,
    /// How much later its steps are taken than they were, at least.
    pub behind: Duration,
}

impl Lost {
    /// The mark of an execution that the backup has.
    pub fn in_backup(until: Timestamp) -> Self {
        Self { until, behind: Duration::ZERO }
    }

    /// When something that is due at an instant now was due then.
    pub fn then(self, due: Timestamp) -> Timestamp {
        due.minus(self.behind)
    }

    /// The mark of the execution as it takes steps now, for a cause that was there at an instant then. `None` when that
    /// was after the lost stretch: neither these steps nor later ones were taken in it.
    #[must_use]
    pub fn stepped(self, then: Timestamp, now: Timestamp) -> Option<Self> {
        (then <= self.until).then(|| Self { until: self.until, behind: now.since(then) })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BACKUP: Timestamp = Timestamp(1_000_000);

    fn after(instant: Timestamp, millis: u64) -> Timestamp {
        instant.plus(Duration::from_millis(millis))
    }

    proptest! {
        /// An execution waits again and again. What it did up to the restore is what is held afterwards, no more and no
        /// less, however late the service comes to it.
        #[test]
        fn what_was_done_in_the_lost_stretch_is_held_and_nothing_else(
            first in 0_u64..100_000,
            waits in proptest::collection::vec((1_u64..100_000, 0_u64..50_000), 1..20),
            stretch in 0_u64..400_000,
        ) {
            let until = after(BACKUP, stretch);
            let mut then = after(BACKUP, first);
            let mut done_then = Vec::new();
            for (wait, _) in &waits {
                done_then.push(then <= until);
                then = after(then, *wait);
            }
            let mut mark = Some(Lost::in_backup(until));
            let mut due = after(BACKUP, first);
            let mut held = Vec::new();
            for (wait, late) in &waits {
                let now = after(due.max(until), *late);
                mark = mark.and_then(|lost| lost.stepped(lost.then(due), now));
                held.push(mark.is_some());
                due = after(now, *wait);
            }
            prop_assert_eq!(held, done_then);
        }
    }

    #[test]
    fn what_begins_again_may_have_begun_at_the_backup() {
        let stretch = Stretch { from: BACKUP, until: after(BACKUP, 100) };
        let now = after(BACKUP, 500);
        let behind = |cause| stretch.begun(cause, now).map(|lost| lost.behind.as_millis());
        assert_eq!(behind(Timestamp(5)), Some(500), "the cause is older than the backup");
        assert_eq!(behind(after(BACKUP, 40)), Some(460));
        assert_eq!(behind(after(BACKUP, 100)), Some(400));
        assert_eq!(behind(after(BACKUP, 101)), None);
    }
}
