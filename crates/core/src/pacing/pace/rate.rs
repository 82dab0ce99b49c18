//! How many mails a minute a site takes.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::super::limits::Limits;
use super::grant::GRANTED_FOR;
use crate::time::Timestamp;

/// Most mails of a grant where there is no limit, and of the first to a site.
const MOST: u32 = 1_000;
pub(super) const FIRST: u32 = 5;
/// The slowest rate, in mails a minute.
const SLOWEST: f64 = 1.0;
/// A site that took fewer in the minute before it throttled first says little about how many it takes: one that is
/// restarted refuses the very first mail, and would be brought one a minute from then on. It begins with half of `GUESS`.
const FEW: f64 = 5.0;
const GUESS: f64 = 20.0;
/// Seconds of the rate that may be saved up, beside one mail: a little more than those between two grants.
const BURST_SECONDS: f64 = 6.0;
/// How often a rate grows, and by what.
const RAISED_EVERY: Duration = Duration::from_mins(5);
const RAISE: f64 = 1.25;
/// How close to the ceiling it grows.
const NEAR: f64 = 0.9;
/// How soon a ceiling is lifted that was found once, and how often that is doubled at most.
const LIFTED_EVERY: Duration = Duration::from_hours(1);
const MOST_CONFIRMED: u32 = 4;
/// By how much it is lifted first; each time without trouble twice as much, so often at most.
const LIFT: f64 = 0.1;
const MOST_LIFTS: u32 = 5;
/// How far apart two ceilings are the same.
const SAME: f64 = 0.3;
/// The shortest pause before more may leave.
const SHORTEST: Duration = Duration::from_millis(100);

/// The most that a site took in a minute before it throttled.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Ceiling {
    per_minute: f64,
    /// When it was found or lifted.
    at: Timestamp,
    /// How often it was found at this height, the first time not counted.
    confirmed: u32,
    /// How often it was lifted since.
    lifts: u32,
}

/// Mails that were taken in this minute and in the one before.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Minutes {
    number: i64,
    this: u32,
    before: u32,
}

/// How many mails a minute a site takes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Rate {
    /// What was learnt; `None` for any number.
    pub(super) learnt: Option<f64>,
    tokens: f64,
    filled_at: Timestamp,
    ceiling: Option<Ceiling>,
    minutes: Minutes,
    /// All mails that were taken, up to [`MOST`]: how far a new site is known.
    known: u32,
    /// When the rate changed last.
    changed_at: Timestamp,
}

impl Rate {
    /// Mails a minute, what is published included.
    pub(super) fn per_minute(&self, limits: Limits) -> Option<f64> {
        let published = limits.per_minute.map(f64::from);
        [self.learnt, published].into_iter().flatten().reduce(f64::min)
    }

    /// What may leave grows with time, but not before `still_until`, and by what was granted and not used.
    pub(super) fn fill(&mut self, unused: u32, still_until: Timestamp, limits: Limits, now: Timestamp) {
        let rate = self.per_minute(limits);
        let seconds = now.since(self.filled_at.max(still_until)).as_secs_f64();
        let (more, most) = match rate {
            Some(rate) => (rate / 60.0 * seconds, rate / 60.0 * BURST_SECONDS + 1.0),
            None => (f64::from(MOST), f64::from(MOST)),
        };
        self.tokens = (self.tokens + more + f64::from(unused)).min(most);
        self.filled_at = now;
    }

    /// How many of the mails that are wanted may leave.
    pub(super) fn take(&mut self, wanted: u32, limits: Limits) -> u32 {
        let most = match self.per_minute(limits) {
            Some(_) => self.tokens as u32,
            // as many again as are known to be taken
            None => self.known.max(FIRST),
        };
        let taken = wanted.min(most);
        self.tokens -= f64::from(taken);
        taken
    }

    /// When the next mail may leave; `None` where there is no rate.
    pub(super) fn next_at(&self, limits: Limits, now: Timestamp) -> Option<Timestamp> {
        let rate = self.per_minute(limits)?;
        let missing = (1.0 - self.tokens).max(0.0);
        let pause = Duration::from_millis((missing / rate * 60_000.0).ceil() as u64);
        Some(now.plus(pause.max(SHORTEST)))
    }

    /// The site took mails.
    pub(super) fn took(&mut self, taken: u32, now: Timestamp) {
        self.minutes.at(now).this += taken;
        self.known = self.known.saturating_add(taken).min(MOST);
    }

    /// The site took mails before it throttled, of which nothing was known then.
    pub(super) fn took_before(&mut self, taken: u32, now: Timestamp) {
        if let Some(ceiling) = &mut self.ceiling
            && now.since(ceiling.at) <= GRANTED_FOR
        {
            ceiling.per_minute += f64::from(taken);
        }
    }

    /// How far the site is known: mails that it took, up to [`MOST`].
    pub(super) fn known(&self) -> u32 {
        self.known
    }

    /// How many were taken in the last minute.
    pub(super) fn lately(&mut self, now: Timestamp) -> f64 {
        self.minutes.lately(now)
    }

    /// The most that was taken in a minute before the site throttled.
    pub(super) fn top(&self) -> Option<f64> {
        self.ceiling.map(|ceiling| ceiling.per_minute)
    }

    /// Mail was taken: the rate grows, if it is time.
    pub(super) fn grow(&mut self, now: Timestamp) {
        let Some(rate) = self.learnt else { return };
        if now.since(self.changed_at) < RAISED_EVERY {
            return;
        }
        let is_used = f64::from(self.minutes.before) >= rate / 2.0 - 1.0;
        if !is_used {
            return; // that less was taken says nothing about more
        }
        let top = self.top().map_or(f64::INFINITY, |top| top * NEAR).max(SLOWEST);
        self.learnt = Some((rate * RAISE).min(top.max(rate)));
        self.changed_at = now;
        if rate >= top {
            self.lift(now);
        }
    }

    fn lift(&mut self, now: Timestamp) {
        let Some(ceiling) = &mut self.ceiling else { return };
        if now.since(ceiling.at) >= LIFTED_EVERY * (1 << ceiling.confirmed.min(MOST_CONFIRMED)) {
            ceiling.per_minute *= 1.0 + LIFT * f64::from(1_u32 << ceiling.lifts.min(MOST_LIFTS));
            ceiling.lifts += 1;
            ceiling.at = now;
        }
    }

    /// Halves the rate. `is_full` says that what was taken in the last minute is as much as the site takes in one.
    pub(super) fn halve(&mut self, is_full: bool, now: Timestamp) {
        let lately = self.lately(now).max(SLOWEST);
        let rate = self.learnt.unwrap_or(if lately < FEW { GUESS } else { lately });
        let says_much = if self.learnt.is_none() { lately >= FEW } else { lately >= rate / 2.0 };
        // a source that hardly sent was not refused for its rate
        if is_full && says_much {
            self.found(lately, now);
        }
        self.set(rate / 2.0, now);
    }

    /// So many a minute are too many.
    fn found(&mut self, per_minute: f64, now: Timestamp) {
        let is_same = |known: &Ceiling| (per_minute / known.per_minute - 1.0).abs() <= SAME;
        let confirmed = self.ceiling.filter(is_same).map_or(0, |known| known.confirmed + 1);
        self.ceiling = Some(Ceiling { per_minute, at: now, confirmed, lifts: 0 });
    }

    /// Leaves a part of the rate.
    pub(super) fn reduce_to(&mut self, part: f64, now: Timestamp) {
        let lately = self.lately(now);
        self.set(self.learnt.unwrap_or(lately) * part, now);
    }

    fn set(&mut self, rate: f64, now: Timestamp) {
        self.learnt = Some(rate.max(SLOWEST));
        self.tokens = 1.0;
        self.changed_at = now;
    }

    pub(super) fn forget(&mut self) {
        (self.learnt, self.ceiling) = (None, None);
    }
}

impl Minutes {
    fn at(&mut self, now: Timestamp) -> &mut Self {
        let number = now.0.div_euclid(60_000);
        if number != self.number {
            self.before = if number == self.number + 1 { self.this } else { 0 };
            (self.number, self.this) = (number, 0);
        }
        self
    }

    /// How many were taken in the last 60 seconds, if those of the minute before came evenly.
    fn lately(&mut self, now: Timestamp) -> f64 {
        let minutes = self.at(now);
        let part = 1.0 - now.0.rem_euclid(60_000) as f64 / 60_000.0;
        f64::from(minutes.this) + f64::from(minutes.before) * part
    }
}
