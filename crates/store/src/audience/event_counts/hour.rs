//! Hours and days, and the names of counters by hour.

use std::fmt;

use mailwright_core::time::Timestamp;

/// Milliseconds of an hour, and of a day.
pub(super) const HOUR: i64 = 60 * 60 * 1000;
pub(super) const DAY: i64 = HOURS * HOUR;
/// Hours of a day.
pub(super) const HOURS: i64 = 24;

/// The hour of an instant: hours since the Unix epoch.
pub(super) fn hour(at: Timestamp) -> i64 {
    at.0.div_euclid(HOUR)
}

/// The day of an instant: days since the Unix epoch, UTC.
pub(super) fn day(at: Timestamp) -> i64 {
    at.0.div_euclid(DAY)
}

/// The name of a counter: the hour, as wide for every hour, so that the hours stand in their order, and the event's name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Key<'n> {
    pub(super) hour: i64,
    pub(super) name: &'n str,
}

impl fmt::Display for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:07} {}", self.hour, self.name)
    }
}

impl Key<'_> {
    /// Reads the event's name in SQL: it begins at the same place in all hours.
    pub(super) const NAME: &'static str = "substr(name, 9)";
}

/// The hour, or the day, and the event's name in the name of a counter.
pub(super) fn parse(key: &str) -> Option<(i64, &str)> {
    let (at, name) = key.split_once(' ')?;
    Some((at.parse().ok()?, name))
}
