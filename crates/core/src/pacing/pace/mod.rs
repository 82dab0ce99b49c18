//! The pace of one source at one site.
//!
//! **Connections** begin with one, so that only one process meets the limits of a site that is not known, and double while
//! mail is taken, up to one for every 20 mails, and to what is published. Where the site says that there are too many, one fewer is used from then on,
//! and one more is tried after a while.
//!
//! **Mails a minute** have no limit until the site throttles. Then the source rests, at least a minute; what the site took
//! in the minute before is its **ceiling**; and the rate is half of what it was. Every five minutes without trouble it
//! grows by a quarter, up to nine tenths of the ceiling. The ceiling itself is lifted after an hour, each time by more,
//! and the more slowly the more often it was found at the same height. So a limit that stands is met a few times a day
//! by one mail, and one that was an accident is forgotten within hours.
//!
//! A site that throttles again soon after a rest, before as much was taken, counts in hours rather than minutes: the rest
//! doubles, up to an hour.
//!
//! **A block** pauses the pair for an hour, doubled each time up to a day; afterwards it begins with a tenth of its rate.
//! Whoever removed the cause may end it before ([`Pace::resume`]).

mod connections;
mod grant;
mod rate;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use self::connections::Connections;
use self::grant::GRANTED_FOR;
pub use self::grant::{Grant, PaceReason, Report, Wait, Wish};
use self::rate::Rate;
use super::limits::Limits;
use super::reply::Signal;
use crate::pauses::Pauses;
use crate::time::Timestamp;

/// Rests after throttling.
const RESTS: Pauses = Pauses { first: Duration::from_mins(1), longest: Duration::from_hours(1) };
/// The longest pause after a block.
pub const LONGEST_BLOCK: Duration = Duration::from_hours(24);
/// Pauses after a block, and the part of the rate that is left after one.
const PAUSES: Pauses = Pauses { first: Duration::from_hours(1), longest: LONGEST_BLOCK };
const AFTER_BLOCK: f64 = 0.1;
/// Mails that a site has to have taken for each connection beyond the first: what is in flight when it says that it is
/// too much, is too much as well.
const MAILS_PER_CONNECTION: u32 = 20;
/// How soon a process asks again that got no connection.
const ASK_AGAIN: Duration = Duration::from_secs(1);
/// Without trouble for this long, everything that was learnt is forgotten.
const FORGOTTEN: Duration = Duration::from_hours(7 * 24);
/// Most characters of a reply that are kept.
const REPLY: usize = 300;

/// What is known of a source at a site.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pace {
    connections: Connections,
    rate: Rate,
    /// Mails taken since the last rest ended.
    since_rest: f64,
    /// Rests, each of which came soon after the one before.
    rests: u32,
    rest_until: Timestamp,
    blocks: u32,
    blocked_until: Timestamp,
    /// When the site last said something about the source, and what.
    trouble_at: Option<Timestamp>,
    reply: String,
}

impl Pace {
    /// Mails a minute that the site was found to take; `None` for any number.
    pub fn per_minute(&self) -> Option<f64> {
        self.rate.learnt
    }

    /// Connections that all processes may have together.
    pub fn connections(&self) -> u32 {
        self.connections.most()
    }

    /// When the site last said something about the source, and what.
    pub fn trouble(&self) -> Option<(Timestamp, &str)> {
        self.trouble_at.map(|at| (at, self.reply.as_str()))
    }

    /// Why nothing is tried now, and until when.
    pub fn stands_still(&self, now: Timestamp) -> Option<Wait> {
        // a time further away is from before the clock was set back
        let holds = |until: Timestamp, longest: Duration| now < until && until.since(now) <= longest;
        if holds(self.blocked_until, PAUSES.longest) {
            Some(Wait { reason: PaceReason::Blocked, until: self.blocked_until })
        } else if holds(self.rest_until, RESTS.longest) {
            Some(Wait { reason: PaceReason::Resting, until: self.rest_until })
        } else {
            None
        }
    }

    /// Ends a block before its time, together with a rest that would outlast it: whoever asks for that has removed the
    /// cause. How often the site blocked is kept, so that it is left alone for longer if it blocks again. Returns until
    /// when the block would have lasted; `None` where there is none.
    pub fn resume(&mut self, now: Timestamp) -> Option<Timestamp> {
        let block = self.stands_still(now).filter(|wait| wait.reason == PaceReason::Blocked)?;
        self.blocked_until = now;
        self.rest_until = self.rest_until.min(now);
        Some(block.until)
    }

    /// Takes back what was granted before a time, to processes that have all ended since.
    pub fn take_back(&mut self, before: Timestamp) {
        self.connections.forget_before(before);
    }

    /// Takes a process's report and grants it its next part.
    pub fn step(
        &mut self,
        process: u64,
        report: &Report,
        wish: Wish,
        limits: Limits,
        now: Timestamp,
    ) -> Grant {
        self.connections.tidy(process, now);
        self.forget(now);
        self.rate.fill(report.unused, self.rest_until.max(self.blocked_until), limits, now);
        if report.taken > 0 {
            self.took(report.taken, limits, now);
        }
        if let Some((signal, reply)) = &report.said {
            if *signal == Signal::Connections {
                self.connections.too_many(process, report.left, now);
            }
            self.heard(*signal, reply, now);
        }
        self.grant(process, wish, limits, now)
    }

    fn grant(&mut self, process: u64, wish: Wish, limits: Limits, now: Timestamp) -> Grant {
        let until = now.plus(GRANTED_FOR);
        let nothing = |wait| Grant { mails: 0, connections: 0, until, wait, is_wanted: false };
        if let Some(wait) = self.stands_still(now) {
            self.connections.leave(process);
            return nothing(Some(wait));
        }
        let connections = self.connections.part(process, wish.connections, self.usable(limits), now);
        if connections == 0 {
            let wait = Wait { reason: PaceReason::Connections, until: now.plus(ASK_AGAIN) };
            return nothing((wish.connections > 0).then_some(wait));
        }
        let mails = self.rate.take(wish.mails, limits);
        let next_at = self.rate.next_at(limits, now).filter(|_| mails < wish.mails);
        Grant {
            mails,
            connections,
            until,
            wait: next_at.map(|until| Wait { reason: PaceReason::Rate, until }),
            is_wanted: self.connections.is_wanted(process),
        }
    }

    /// Connections that the rate can keep busy, with one mail a second on each.
    fn usable(&self, limits: Limits) -> u32 {
        let busy = self.rate.per_minute(limits).map_or(u32::MAX, |rate| (rate / 60.0).ceil().max(1.0) as u32);
        busy.min(limits.connections.max(1))
    }

    /// The site took mails.
    fn took(&mut self, taken: u32, limits: Limits, now: Timestamp) {
        self.rate.took(taken, now);
        if self.stands_still(now).is_some() {
            // sent in the same minute, by a process that had not reported it yet
            self.rate.took_before(taken, now);
            return;
        }
        self.since_rest += f64::from(taken);
        let proven = 1 + self.rate.known() / MAILS_PER_CONNECTION;
        self.connections.grow(limits.connections.min(proven), now);
        self.rate.grow(now);
    }

    /// The site said something about the source.
    fn heard(&mut self, signal: Signal, reply: &str, now: Timestamp) {
        if signal == Signal::Greylisted {
            return;
        }
        // of what is said at once, by several connections or processes, the first counts
        let is_known = self.stands_still(now).is_some();
        self.trouble_at = Some(now);
        self.reply = reply.chars().take(REPLY).collect();
        match signal {
            Signal::Throttled if !is_known => self.slow_down(now),
            Signal::Blocked if now >= self.blocked_until => self.pause(now),
            Signal::Throttled | Signal::Blocked | Signal::Connections | Signal::Greylisted => {}
        }
    }

    fn slow_down(&mut self, now: Timestamp) {
        // less was taken than in the minute before the last rest: not the minute is full, but the hour or the day
        let full = self.rate.top().unwrap_or_else(|| self.rate.lately(now));
        let is_soon = self.rests > 0 && self.since_rest < full;
        self.rests = if is_soon { self.rests + 1 } else { 1 };
        self.rate.halve(!is_soon, now);
        self.connections.lower(self.connections.most() / 2, now);
        self.rest_until = now.plus(RESTS.after(self.rests - 1));
        self.since_rest = 0.0;
    }

    fn pause(&mut self, now: Timestamp) {
        self.blocked_until = now.plus(PAUSES.after(self.blocks));
        self.blocks += 1;
        self.rate.reduce_to(AFTER_BLOCK, now);
        self.connections.lower(1, now);
        self.since_rest = 0.0;
    }

    fn forget(&mut self, now: Timestamp) {
        if self.trouble_at.is_some_and(|at| now.since(at) >= FORGOTTEN) {
            self.rate.forget();
            self.connections.forget();
            (self.rests, self.blocks, self.trouble_at) = (0, 0, None);
            self.reply.clear();
        }
    }
}

#[cfg(test)]
mod tests;
