//! When things happen: at any time, but often at the edges of days and quarters of an hour, about a change of clocks, and
//! several at once.

use std::cell::Cell;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use mailwright_tests::random::Random;

pub(super) const SECOND: i64 = 1_000;
pub(super) const MINUTE: i64 = 60 * SECOND;
pub(super) const QUARTER: i64 = 15 * MINUTE;
pub(super) const HOUR: i64 = 60 * MINUTE;
pub(super) const DAY: i64 = 24 * HOUR;

/// Draws moments of a time.
#[derive(Debug)]
pub(super) struct Moments {
    start: i64,
    end: i64,
    /// When clocks are set.
    changes: Vec<i64>,
    last: Cell<i64>,
}

impl Moments {
    /// Moments from one time on and before another.
    pub(super) fn new((start, end): (i64, i64), zones: &[TimeZone]) -> Self {
        let first = Timestamp::from_millisecond(start).expect("a time");
        let of_zone = |zone: &TimeZone| -> Vec<i64> {
            let changes = zone.following(first).map(|change| change.timestamp().as_millisecond());
            changes.take_while(|at| *at < end).collect()
        };
        let changes: Vec<i64> = zones.iter().flat_map(of_zone).collect();
        assert!(changes.len() >= 2 * zones.len(), "clocks are set twice a year in each zone: {changes:?}");
        Self { start, end, changes, last: Cell::new(start) }
    }

    pub(super) fn end(&self) -> i64 {
        self.end
    }

    /// One of them.
    pub(super) fn any(&self, random: &mut Random) -> i64 {
        let at = match random.below(100) {
            // the first millisecond of a quarter of an hour, or the last one of that before
            0..5 => {
                let quarter = self.start + random.below((self.end - self.start) as u64) as i64;
                quarter.div_euclid(QUARTER) * QUARTER - random.below(2) as i64
            }
            5..8 => {
                let change = self.changes[random.below(self.changes.len() as u64) as usize];
                change - 3 * HOUR + random.below(6 * HOUR as u64) as i64
            }
            8..11 => self.last.get(),
            _ => self.start + random.below((self.end - self.start) as u64) as i64,
        };
        let at = at.clamp(self.start, self.end - 1);
        self.last.set(at);
        at
    }
}
