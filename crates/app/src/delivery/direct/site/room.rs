//! How much mail is held in memory for a site, and when the rest is looked at again.

use std::time::Duration;

use mailwright_core::time::Timestamp;

use super::Site;

/// Mails a second that a site takes of which no speed is known: those that are given back come again soon.
const SPEED: f64 = 10.0;
/// The fewest mails that are held in memory for a site that takes any, and the seconds of its speed that more are held for.
const FEWEST_HELD: usize = 16;
const SECONDS_HELD: f64 = 10.0;
/// Mails that are held for a site that has not answered yet: one that hangs must not hold up the others. And how many a
/// second of the rest are looked at again, from a second on, and the later the longer it has not answered.
const UNHEARD_HELD: usize = 8;
const UNHEARD_SPEED: f64 = 100.0;
/// After so long without an answer, one mail is held for a site.
const SILENT_AFTER: Duration = Duration::from_secs(2);
/// Mails that are held for servers that hang, of each lane and project.
pub(in crate::delivery::direct) const HANGING_HELD: usize = 1;
/// The longest time until mail is looked at again of which it is not known when it may leave.
const LONGEST: Duration = Duration::from_mins(1);
/// The shortest rest for which mails do not wait in memory.
pub(in crate::delivery::direct) const LONG: Duration = Duration::from_secs(1);

/// What a site takes for now.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::delivery::direct) struct Room {
    /// How many mails are held in memory for it; `None` for any number.
    pub(in crate::delivery::direct) keeps: Option<usize>,
    /// When it takes more.
    pub(in crate::delivery::direct) from: Timestamp,
    /// Mails a second from then on, as far as is known.
    pub(in crate::delivery::direct) per_second: f64,
}

impl Room {
    /// None until a time, from which on mails are looked at one after the other.
    pub(in crate::delivery::direct) fn after(until: Timestamp) -> Self {
        Self { keeps: Some(0), from: until, per_second: SPEED }
    }
}

impl<L> Site<L> {
    /// Whether mail for it has waited for a while without an answer.
    pub(in crate::delivery::direct) fn is_silent(&self, now: Timestamp) -> bool {
        !self.is_heard(now) && self.busy_since.is_some_and(|since| now.since(since) > SILENT_AFTER)
    }

    /// What it takes for now.
    pub(in crate::delivery::direct) fn room(&self, now: Timestamp) -> Room {
        let stands = self.stands_until(now);
        let rate = self.rate.or(self.limits.per_minute.map(f64::from)).map(|per_minute| per_minute / 60.0);
        let speed = self.meter.per_second(now);
        let is_unheard = stands.is_none() && !self.is_heard(now);
        let usual = if is_unheard { UNHEARD_SPEED } else { speed.max(SPEED) };
        let per_second = rate.map_or(usual, |rate| rate.max(0.01));
        let is_known = self.busy_since.is_some_and(|since| now.since(since).as_secs_f64() >= SECONDS_HELD);
        let keeps = match (stands, rate) {
            (Some(until), _) if until.since(now) > LONG => Some(0),
            (Some(_), _) => Some(FEWEST_HELD),
            (None, Some(rate)) => Some(((rate * SECONDS_HELD / 2.0).ceil() as usize).max(2)),
            (None, None) if is_unheard => Some(if self.is_silent(now) { 1 } else { UNHEARD_HELD }),
            (None, None) if is_known => Some(((speed * SECONDS_HELD) as usize).max(FEWEST_HELD)),
            (None, None) => None,
        };
        let held = keeps.unwrap_or_default() as f64 / per_second;
        let from = match stands {
            Some(until) => until,
            None if is_unheard && rate.is_none() => self.unheard_again(now),
            None => now.plus(Duration::from_secs_f64(held).min(LONGEST)),
        };
        Room { keeps, from, per_second }
    }

    /// When mail is looked at again for servers of it that hang.
    pub(in crate::delivery::direct) fn room_of_hanging(&self, now: Timestamp) -> Room {
        Room { per_second: UNHEARD_SPEED, ..Room::after(self.unheard_again(now)) }
    }

    /// When mail is looked at again that is not answered: the later the longer it has waited.
    fn unheard_again(&self, now: Timestamp) -> Timestamp {
        let asked_for = self.busy_since.map_or(Duration::ZERO, |since| now.since(since));
        now.plus(asked_for.clamp(LONG, LONGEST))
    }

    /// The times at which mails are looked at again that do not wait in memory: one after the other as they may leave, but
    /// none later than `horizon`, since the site may take more meanwhile.
    pub(in crate::delivery::direct) fn slots(
        &mut self,
        mails: usize,
        room: &Room,
        horizon: Duration,
    ) -> Vec<Timestamp> {
        let apart = Duration::from_secs_f64((1.0 / room.per_second).min(horizon.as_secs_f64()));
        let last = room.from.plus(horizon);
        let mut next = if self.slot > last { room.from } else { self.slot.max(room.from) };
        let slots = (0..mails).map(|_| {
            let slot = next;
            next = next.plus(apart);
            if next > last {
                next = room.from;
            }
            slot
        });
        let slots = slots.collect();
        self.slot = next;
        slots
    }
}
