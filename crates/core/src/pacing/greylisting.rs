//! When a mail is tried again at a site that did not know its sender (greylisting, RFC 6647).
//!
//! Such a site takes a mail that is brought again after a while, mostly minutes, and nobody says how many. Of the first
//! mails each tries a few times, ever later. Each says how long was too short, and how long was enough. Later ones come
//! when it was enough, but for one in [`EXPLORES`], which comes half-way to what was too short: so the time is found.

use std::time::Duration;

/// When a mail is brought again of which nothing is known, in units of the first pause, counted from the first refusal:
/// with a minute, shortly after 1, 3, 5, 10, 20, 30, 60 and 120 minutes.
const STEPS: [f64; 8] = [1.0, 3.0, 5.5, 10.5, 20.5, 31.0, 61.0, 121.0];
/// Of so many mails one tries whether less is enough.
const EXPLORES: u64 = 16;
/// The shortest time until the next try, as a part of the first pause.
const SHORTEST: f64 = 1.0 / 6.0;
/// The longest delay by chance, as a part of the wait: mails that were refused together do not return together.
const SPREAD: f64 = 0.1;

/// What is known of a site's greylisting.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Greylisting {
    /// The longest time after the first refusal that was too short.
    too_short: Option<Duration>,
    /// The shortest time after the first refusal that was enough.
    enough: Option<Duration>,
}

impl Greylisting {
    /// A mail was refused again, so long after the first time.
    pub fn refused(&mut self, after: Duration) {
        self.too_short = Some(self.too_short.map_or(after, |known| known.max(after)));
        // it takes longer than before
        self.enough = self.enough.filter(|enough| *enough > after);
    }

    /// A mail was taken, so long after it was refused first.
    pub fn taken(&mut self, after: Duration) {
        self.enough = Some(self.enough.map_or(after, |known| known.min(after)));
        self.too_short = self.too_short.filter(|too_short| *too_short < after);
    }

    /// How much longer a mail waits that was refused first so long ago; `None` when it was tried often enough this way.
    /// `draw` tells mails apart.
    pub fn wait(&self, after: Duration, first_pause: Duration, draw: u64) -> Option<Duration> {
        let shortest = after + first_pause.mul_f64(SHORTEST);
        let at = match self.enough.filter(|enough| *enough > after) {
            Some(enough) if draw.is_multiple_of(EXPLORES) => {
                (enough + self.too_short.unwrap_or_default()) / 2
            }
            Some(enough) => enough,
            None => STEPS.iter().map(|step| first_pause.mul_f64(*step)).find(|at| *at >= shortest)?,
        };
        let wait = at.max(shortest).saturating_sub(after);
        Some(wait.mul_f64(1.0 + (draw % 1_000) as f64 / 1_000.0 * SPREAD))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);

    /// Brings a mail until a site takes it that wants so long to pass. Returns the tries, and when it was taken.
    fn bring(known: &mut Greylisting, wants: Duration, draw: u64) -> (u32, Duration) {
        let (mut tries, mut after) = (1, Duration::ZERO);
        loop {
            if after >= wants {
                known.taken(after);
                return (tries, after);
            }
            known.refused(after);
            after += known.wait(after, MINUTE, draw).expect("a next try");
            tries += 1;
        }
    }

    #[test]
    fn what_was_enough_for_one_mail_is_what_the_next_waits() {
        let (mut known, wants) = (Greylisting::default(), MINUTE * 5);
        let (tries, taken) = bring(&mut known, wants, 1);
        assert!(tries == 4 && taken >= wants && taken < MINUTE * 7, "{tries} {taken:?}");
        for draw in 1..400 {
            bring(&mut known, wants, draw);
        }
        let (tries, taken) = bring(&mut known, wants, 1);
        assert!(tries == 2 && taken >= wants && taken < wants + MINUTE / 2, "{tries} {taken:?}");
    }

    #[test]
    fn a_site_that_wants_longer_from_now_on_is_learnt_anew() {
        let mut known = Greylisting::default();
        for draw in 0..50 {
            bring(&mut known, MINUTE, draw);
        }
        for draw in 1..50 {
            bring(&mut known, MINUTE * 15, draw);
        }
        let (tries, taken) = bring(&mut known, MINUTE * 15, 1);
        assert!(tries == 2 && taken < MINUTE * 24, "{tries} {taken:?}");
    }

    #[test]
    fn a_mail_is_not_tried_this_way_for_ever() {
        let known = Greylisting::default();
        assert_eq!(known.wait(MINUTE * 122, MINUTE, 1), None);
        assert!(known.wait(Duration::ZERO, MINUTE, 1).is_some_and(|wait| wait >= MINUTE));
    }
}
