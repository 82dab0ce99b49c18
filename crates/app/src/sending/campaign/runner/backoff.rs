//! How long a campaign is left alone after something went wrong with it.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use mailwright_core::ids::CampaignId;

/// Pause after the database did not answer.
pub(super) const AFTER_FAILURE: Duration = Duration::from_secs(1);
/// The longest pause after looking an audience up took too long. The first one is [`AFTER_FAILURE`], and each is twice
/// as long as the one before.
const LONGEST_PAUSE: Duration = Duration::from_mins(5);
/// How long a process remembers that looking up an audience took too long, if it does not try again.
const FORGOTTEN: Duration = Duration::from_hours(1);

/// When a campaign is looked at again whose ledger does not add up, or that cannot be read.
pub(super) const PUT_OFF: Duration = Duration::from_mins(1);

/// The campaigns whose audience takes too long to look up: how often in a row it did, and until when they rest.
#[derive(Debug, Default)]
pub(super) struct TooSlow(pub(super) HashMap<CampaignId, (u32, Instant)>);

impl TooSlow {
    /// Notes that it took too long again: how long the campaign rests.
    pub(super) fn again(&mut self, id: CampaignId, now: Instant) -> Duration {
        self.0.retain(|_, (_, until)| now.saturating_duration_since(*until) < FORGOTTEN);
        let times = self.0.get(&id).map_or(1, |(times, _)| times.saturating_add(1));
        let pause = AFTER_FAILURE.saturating_mul(2_u32.saturating_pow(times - 1)).min(LONGEST_PAUSE);
        self.0.insert(id, (times, now + pause));
        pause
    }
}

#[cfg(test)]
mod tests {
    use mailwright_core::time::Timestamp;

    use super::*;

    #[test]
    fn pauses_after_an_audience_took_too_long_double_up_to_a_bound() {
        let (mut slow, now) = (TooSlow::default(), Instant::now());
        let (one, other) =
            (CampaignId::new(Timestamp(1), rand::random()), CampaignId::new(Timestamp(2), rand::random()));
        let pauses: Vec<_> = (0..40).map(|_| slow.again(one, now).as_secs()).collect();
        assert_eq!(pauses[..10], [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]);
        assert_eq!(pauses[39], 300);
        assert_eq!(slow.again(other, now), AFTER_FAILURE, "each counts for itself");
        let later = now + LONGEST_PAUSE + FORGOTTEN;
        assert_eq!(slow.again(other, later), AFTER_FAILURE);
        assert_eq!(slow.0.len(), 1, "what was not tried again is forgotten");
    }
}
