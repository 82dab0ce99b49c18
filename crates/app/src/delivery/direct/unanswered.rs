//! The domains of which the name servers gave no answer, and when they are asked again.
//!
//! Such an answer says nothing of the domain, and may be of a minute or of a day: a domain is asked for ever more rarely, and
//! its mail waits until then.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use mailwright_core::pauses::Pauses;
use mailwright_core::time::Timestamp;

/// Pauses before the name servers are asked again.
const PAUSES: Pauses = Pauses { first: Duration::from_mins(1), longest: Duration::from_hours(1) };
/// Name servers that give no answer for so long are slow: they are waited for, and what waits for them makes room for
/// other mail and other look-ups.
pub(super) const PROMPT: Duration = Duration::from_secs(1);
/// Most domains that are remembered. Beyond that each has the first pause every time.
const MOST: usize = 20_000;

/// How often in a row there was no answer, and until when none is asked for.
#[derive(Debug)]
struct Silence {
    failures: u32,
    until: Timestamp,
}

/// Domains of which there was no answer.
#[derive(Debug, Default)]
pub(super) struct Unanswered(HashMap<Arc<str>, Silence>);

impl Unanswered {
    /// There was no answer about a domain.
    pub(super) fn failed(&mut self, domain: &str, now: Timestamp) {
        if let Some(silence) = self.0.get_mut(domain) {
            silence.until = now.plus(PAUSES.after(silence.failures));
            silence.failures = silence.failures.saturating_add(1);
        } else if self.0.len() < MOST {
            self.0.insert(domain.into(), Silence { failures: 1, until: now.plus(PAUSES.first) });
        }
    }

    /// There was one, whatever it says.
    pub(super) fn answered(&mut self, domain: &str) {
        self.0.remove(domain);
    }

    /// Until when a domain is not asked for. A time that is further away than any is of before the clock was set back.
    pub(super) fn rests(&self, domain: &str, now: Timestamp) -> Option<Timestamp> {
        let until = self.0.get(domain)?.until;
        (now < until && until.since(now) <= PAUSES.longest).then_some(until)
    }

    /// Forgets the domains that nobody has asked for since.
    pub(super) fn forget(&mut self, now: Timestamp) {
        self.0.retain(|_, silence| {
            silence.until.since(now) <= PAUSES.longest && now.since(silence.until) < PAUSES.longest
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(minutes: u64) -> Timestamp {
        Timestamp(0).plus(Duration::from_mins(minutes))
    }

    #[test]
    fn a_domain_is_asked_for_ever_more_rarely_until_there_is_an_answer() {
        let mut unanswered = Unanswered::default();
        let mut now = after(0);
        let mut pauses = Vec::new();
        for _ in 0..8 {
            unanswered.failed("one.test", now);
            let until = unanswered.rests("one.test", now).unwrap();
            pauses.push(until.since(now).as_secs() / 60);
            assert_eq!(unanswered.rests("one.test", until), None);
            now = until;
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(unanswered.rests("other.test", after(0)), None);
        unanswered.answered("one.test");
        unanswered.failed("one.test", after(0));
        assert_eq!(unanswered.rests("one.test", after(0)), Some(after(1)));
    }

    #[test]
    fn what_nobody_asks_for_is_forgotten_and_the_room_is_bounded() {
        let mut unanswered = Unanswered::default();
        unanswered.failed("one.test", after(200));
        assert_eq!(unanswered.rests("one.test", after(100)), None, "the clock was set back");
        unanswered.forget(after(260));
        assert_eq!(unanswered.0.len(), 1);
        unanswered.forget(after(261));
        assert_eq!(unanswered.0.len(), 0);
        for number in 0..=MOST {
            unanswered.failed(&format!("d{number}.test"), after(0));
        }
        assert_eq!(unanswered.0.len(), MOST);
    }
}
