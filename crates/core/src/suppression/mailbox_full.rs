//! When an address whose mailbox is full is suppressed: a mailbox that is full today may be emptied tomorrow.

use std::time::Duration;

use crate::time::Timestamp;

/// Bounces that it takes at least.
const BOUNCES: i64 = 4;
/// Days of UTC on which there were bounces, at least.
const DAYS: i64 = 3;
/// Time between the first bounce and the last, at least.
const SPAN: Duration = Duration::from_hours(5 * 24);
/// Time without a bounce after which the count begins anew.
const FORGOTTEN: Duration = Duration::from_hours(60 * 24);
/// For how long such an address is suppressed.
pub const SUPPRESSED_FOR: Duration = Duration::from_hours(90 * 24);

/// The bounces of a full mailbox, since the last sign that mail arrives there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MailboxFull {
    /// The first.
    pub first_at: Timestamp,
    /// The last.
    pub last_at: Timestamp,
    /// How many.
    pub bounces: i64,
    /// On how many days.
    pub days: i64,
}

impl MailboxFull {
    /// The first bounce.
    pub fn new(at: Timestamp) -> Self {
        Self { first_at: at, last_at: at, bounces: 1, days: 1 }
    }

    /// With one more bounce. One that is told late counts, but not for another day.
    #[must_use]
    pub fn and(self, at: Timestamp) -> Self {
        if at.since(self.last_at) > FORGOTTEN {
            return Self::new(at);
        }
        let is_later_day = day(at) > day(self.last_at);
        Self {
            first_at: self.first_at.min(at),
            last_at: self.last_at.max(at),
            bounces: self.bounces + 1,
            days: self.days + i64::from(is_later_day),
        }
    }

    /// Whether the address is to be suppressed.
    pub fn is_given_up(&self) -> bool {
        self.bounces >= BOUNCES && self.days >= DAYS && self.last_at.since(self.first_at) >= SPAN
    }

    /// Up to when counts whose last bounce is before it are of no use any more.
    pub fn forgotten_before(now: Timestamp) -> Timestamp {
        now.minus(FORGOTTEN)
    }
}

fn day(at: Timestamp) -> i64 {
    at.0.div_euclid(24 * 60 * 60 * 1000)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HOUR: i64 = 60 * 60 * 1000;
    const NOON: i64 = 1_000 * 24 * HOUR + 12 * HOUR;

    fn after(hours: &[i64]) -> MailboxFull {
        let at = |hour: &i64| Timestamp(NOON + hour * HOUR);
        hours[1..].iter().map(at).fold(MailboxFull::new(at(&hours[0])), MailboxFull::and)
    }

    #[test]
    fn it_takes_several_bounces_on_several_days() {
        for (hours, expected) in [
            (&[0][..], false),
            (&[0, 24, 48], false),
            (&[0, 24, 48, 72], false),
            (&[0, 24, 48, 119], false),
            (&[0, 24, 48, 120], true),
            (&[0, 1, 2, 120], false),
            (&[0, 1, 24, 120], true),
            (&[0, 24, 48, 72, 96, 120], true),
            // long after the others
            (&[0, 24, 48, 72, 61 * 24 + 72], false),
            // told in another order
            (&[120, 48, 24, 0], false),
            (&[120, 48, 24, 0, 144, 168], true),
        ] {
            assert_eq!(after(hours).is_given_up(), expected, "{hours:?}");
        }
    }

    proptest! {
        #[test]
        fn it_is_never_given_up_within_five_days(hours in prop::collection::vec(0_i64..120, 1..40)) {
            prop_assert!(!after(&hours).is_given_up());
        }

        #[test]
        fn a_bounce_more_never_makes_it_better(mut hours in prop::collection::vec(0_i64..1_000, 1..40)) {
            hours.sort_unstable();
            let given_up: Vec<bool> = (1..=hours.len()).map(|count| after(&hours[..count]).is_given_up()).collect();
            prop_assert!(given_up.is_sorted());
        }
    }
}
