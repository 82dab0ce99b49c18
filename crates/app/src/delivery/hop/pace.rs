//! How fast this process hands mail over.
//!
//! As fast as it goes, until the next hop says that it is too much: then half as fast, and a little faster again with
//! every mail that is taken. A refusal that is about the rate or the session is not held against the mail.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use mailwright_core::ids::EmailId;
use mailwright_core::time::Timestamp;

/// Different mails that have to be refused in a row before it is the process that is too fast.
const SEVERAL: usize = 3;
/// The slowest, in mails a second.
const SLOWEST: f64 = 0.2;
/// The least by which it becomes faster, in mails a second and second.
const STEP: f64 = 0.5;
/// In how many seconds it becomes as fast as it was before it was halved.
const SECONDS_BACK: f64 = 10.0;
/// The shortest time between two halvings: what is refused together is refused for one reason.
const ONE_REASON: Duration = Duration::from_secs(1);
/// Without a refusal for this long there is no limit any more.
const CALM: Duration = Duration::from_mins(10);
/// Over how long it is counted how fast mail was taken.
const WINDOW: Duration = Duration::from_secs(5);
/// Most mails that are remembered as refused.
const REMEMBERED: usize = 10_000;
/// When a mail is tried again that was refused because it came too early.
const AGAIN: Duration = Duration::from_secs(5);

/// The pace.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Mails a second; `None` for no limit.
    rate: Option<f64>,
    step: f64,
    next_at: Timestamp,
    refused_at: Timestamp,
    halved_at: Timestamp,
    /// The different mails that were refused since the last one was taken.
    streak: Vec<EmailId>,
    taken: u64,
    /// Mails that were spared, and how many had been taken before. One that is refused again although others were
    /// taken meanwhile is at fault itself.
    spared: HashMap<EmailId, u64>,
    order: VecDeque<EmailId>,
    window: (Timestamp, u32),
    window_before: Option<f64>,
}

impl Pace {
    /// Mails a second; `None` for no limit.
    pub(super) fn rate(&self) -> Option<f64> {
        self.rate
    }

    /// When the next mail may be handed over; `None` for now.
    pub(super) fn ready_at(&self, now: Timestamp) -> Option<Timestamp> {
        (self.rate.is_some() && now < self.next_at).then_some(self.next_at)
    }

    /// A mail is handed over.
    pub(super) fn took(&mut self, now: Timestamp) {
        if let Some(rate) = self.rate {
            self.next_at = self.next_at.max(now).plus(Duration::from_secs_f64(1.0 / rate));
        }
    }

    /// The next hop took a mail.
    pub(super) fn accepted(&mut self, mail: EmailId, now: Timestamp) {
        self.taken += 1;
        self.streak.clear();
        self.spared.remove(&mail);
        self.count(now);
        let Some(rate) = self.rate else { return };
        if now.since(self.refused_at) >= CALM {
            self.rate = None;
        } else {
            // `rate` times a second this makes one step
            self.rate = Some(rate + (self.step / rate).min(rate));
        }
    }

    /// The next hop refused a mail for a reason that is not the mail's. When it is to be tried again; `None` when the
    /// refusal is the mail's after all, as far as can be told.
    pub(super) fn refused(&mut self, mail: EmailId, now: Timestamp) -> Option<Duration> {
        if self.spared.remove(&mail).is_some_and(|taken| taken < self.taken) {
            return None;
        }
        if self.rate.is_none() {
            if !self.streak.contains(&mail) {
                self.streak.push(mail);
            }
            if self.streak.len() < SEVERAL {
                return None;
            }
            self.streak.clear();
            self.rate = Some(self.measured(now).max(2.0 * SLOWEST));
            self.halved_at = now.minus(ONE_REASON);
        }
        self.slow_down(now);
        self.spare(mail);
        Some(AGAIN.mul_f64(0.9 + rand::random::<f64>() * 0.2))
    }

    fn slow_down(&mut self, now: Timestamp) {
        self.refused_at = now;
        let Some(rate) = self.rate else { return };
        if now.since(self.halved_at) >= ONE_REASON {
            self.step = (rate / 2.0 / SECONDS_BACK).max(STEP);
            let slower = (rate / 2.0).max(SLOWEST);
            self.rate = Some(slower);
            self.next_at = now.plus(Duration::from_secs_f64(1.0 / slower));
            self.halved_at = now;
        }
    }

    fn spare(&mut self, mail: EmailId) {
        if self.spared.insert(mail, self.taken).is_none() {
            self.order.push_back(mail);
        }
        while self.order.len() > REMEMBERED {
            if let Some(oldest) = self.order.pop_front() {
                self.spared.remove(&oldest);
            }
        }
    }

    fn count(&mut self, now: Timestamp) {
        if now.since(self.window.0) >= WINDOW {
            self.window_before = Some(f64::from(self.window.1) / now.since(self.window.0).as_secs_f64());
            self.window = (now, 0);
        }
        self.window.1 += 1;
    }

    /// Mails that were taken a second lately.
    fn measured(&self, now: Timestamp) -> f64 {
        let lately = f64::from(self.window.1) / now.since(self.window.0).as_secs_f64().max(1.0);
        lately.max(self.window_before.unwrap_or(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp(1_000_000 + millis)
    }

    fn mail() -> EmailId {
        EmailId::new(Timestamp(1))
    }

    /// Hands over for `seconds` at a next hop that takes `limit` mails in each minute. How many were taken in each
    /// minute, and how many were refused as the mail's own fault.
    fn minutes(limit: u32, seconds: i64) -> (Vec<u32>, u32) {
        let mut pace = Pace::default();
        let (mut taken, mut own) = (vec![0; seconds as usize / 60], 0);
        for millis in (0..seconds * 1000).step_by(20) {
            let now = at(millis);
            if pace.ready_at(now).is_some() {
                continue;
            }
            pace.took(now);
            let minute = millis as usize / 60_000;
            let mail = mail();
            if taken[minute] < limit {
                taken[minute] += 1;
                pace.accepted(mail, now);
            } else {
                own += u32::from(pace.refused(mail, now).is_none());
            }
        }
        (taken, own)
    }

    #[test]
    fn a_limit_by_the_minute_is_used_and_blames_no_mail() {
        let (taken, own) = minutes(60, 600);
        assert!(taken.iter().all(|taken| *taken >= 50), "{taken:?}");
        assert!(own < SEVERAL as u32, "{own} were blamed");
        let (taken, _) = minutes(600, 600);
        assert!(taken.iter().all(|taken| *taken >= 400), "{taken:?}");
    }

    #[test]
    fn nothing_is_slowed_down_by_one_mail() {
        let mut pace = Pace::default();
        let stubborn = mail();
        for round in 0..100 {
            assert_eq!(pace.refused(stubborn, at(round)), None);
        }
        assert_eq!(pace.rate(), None);
        for _ in 0..100 {
            assert_eq!(pace.refused(mail(), at(200)), None);
            pace.accepted(mail(), at(200));
        }
        assert_eq!(pace.rate(), None, "others are taken in between");
    }

    #[test]
    fn a_mail_that_others_overtake_is_blamed() {
        let mut pace = Pace::default();
        let stubborn = mail();
        for _ in 0..SEVERAL {
            let _ = pace.refused(mail(), at(0));
        }
        assert!(pace.refused(stubborn, at(1)).is_some());
        assert!(pace.refused(stubborn, at(2)).is_some(), "nothing was taken in between");
        pace.accepted(mail(), at(3));
        assert_eq!(pace.refused(stubborn, at(4)), None);
    }

    #[test]
    fn it_is_bounded_below_and_forgets() {
        let mut pace = Pace::default();
        for second in 0..100 {
            let _ = pace.refused(mail(), at(second * 1000));
        }
        assert!(pace.rate().is_some_and(|rate| (rate - SLOWEST).abs() < 1e-9));
        assert!(pace.spared.len() <= REMEMBERED);
        pace.accepted(mail(), at(100_000).plus(CALM));
        assert_eq!(pace.rate(), None);
    }

    #[test]
    fn what_is_refused_together_halves_once() {
        let mut pace = Pace::default();
        (0..1000).for_each(|_| pace.accepted(mail(), at(0)));
        for _ in 0..64 {
            let _ = pace.refused(mail(), at(10));
        }
        let rate = pace.rate().expect("it is slower now");
        assert!(rate > 50.0, "{rate}");
    }
}
