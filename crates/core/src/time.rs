//! Instants, and the only access to the current time. Durations within a process are measured with
//! `std::time::Instant`.

mod javascript;

use std::fmt;
use std::sync::Arc;
#[cfg(debug_assertions)]
use std::sync::atomic::AtomicU64;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An instant: milliseconds since the Unix epoch, UTC. ISO 8601 with milliseconds and `Z` in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The first instant that ISO 8601 writes with a year of four digits: 0000-01-01T00:00:00.000Z.
    pub const FIRST: Self = Self(-62_167_219_200_000);
    /// The last one: 9999-12-31T23:59:59.999Z.
    pub const LAST: Self = Self(253_402_300_799_999);

    /// The instant so many milliseconds after the Unix epoch; `None` when it lies before [`Timestamp::FIRST`] or after
    /// [`Timestamp::LAST`]. For numbers from outside.
    pub fn from_millis(millis: i64) -> Option<Self> {
        (Self::FIRST.0..=Self::LAST.0).contains(&millis).then_some(Self(millis))
    }

    /// This instant plus `duration`, saturating.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }

    /// This instant minus `duration`, saturating.
    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }

    /// How long after `earlier` this is; zero when it is not after it.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Parses an ISO 8601 date-time with an offset, or a plain date taken as midnight UTC.
    pub fn parse(text: &str) -> Option<Self> {
        if let Ok(instant) = text.parse::<jiff::Timestamp>() {
            return Some(Self(instant.as_millisecond()));
        }
        // the library also finds a date in a date-time, and drops the time
        let date: jiff::civil::Date = (text.len() == 10).then(|| text.parse().ok())??;
        Some(Self(date.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_millisecond()))
    }

    /// Parses a date in any common form: all that JavaScript's `Date` reads, with UTC where no offset is given,
    /// and what [`Timestamp::parse`] takes beyond that.
    pub fn parse_any(text: &str) -> Option<Self> {
        javascript::parse(text).or_else(|| Self::parse(text.trim()))
    }
}

/// ISO 8601, always: what lies outside of years with four digits is written as the nearest instant that does not.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.clamp(Self::FIRST.0, Self::LAST.0);
        let days = millis.div_euclid(DAY_MILLIS);
        let of_day = millis.rem_euclid(DAY_MILLIS);
        let (year, month, day) = civil(days);
        let (hour, minute) = (of_day / 3_600_000, of_day / 60_000 % 60);
        let (second, milli) = (of_day / 1000 % 60, of_day % 1000);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
    }
}

const DAY_MILLIS: i64 = 86_400_000;

/// Year, month and day of a day since 1970, in the proleptic Gregorian calendar.
fn civil(days: i64) -> (i64, i64, i64) {
    // Years that begin in March have their leap day at the end.
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day_of_year - (153 * march_month + 2) / 5 + 1)
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom("an instant is written as ISO 8601 has it"))
    }
}

/// Where the program takes the time from: the system, corrected by what is known about it. Clones are the same clock.
///
/// Builds with debug assertions have a clock that tests move forward, so that hours pass at once. Other builds have
/// nothing of it.
#[derive(Debug, Clone, Default)]
pub struct Clock {
    /// Milliseconds that the system's clock is behind.
    correction: Arc<AtomicI64>,
    /// Milliseconds by which a test has moved this clock.
    #[cfg(debug_assertions)]
    moved: Arc<AtomicU64>,
}

impl Clock {
    /// The system's clock.
    pub fn system() -> Self {
        Self::default()
    }

    /// The current instant.
    pub fn now(&self) -> Timestamp {
        let corrected = self.uncorrected().0.saturating_add(self.correction());
        Timestamp(corrected.saturating_add(self.moved().as_millis() as i64))
    }

    /// How far the clock's source is behind, as far as is known, in milliseconds.
    pub fn correction(&self) -> i64 {
        self.correction.load(Ordering::SeqCst)
    }

    /// Notes how many milliseconds the clock's source is behind the time that counts.
    pub fn correct(&self, behind: i64) {
        self.correction.store(behind, Ordering::SeqCst);
    }

    /// The time of the clock's source.
    #[expect(clippy::disallowed_methods, reason = "this is the one door to the system's time")]
    pub fn uncorrected(&self) -> Timestamp {
        Timestamp(
            std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .map_or(0, |elapsed| elapsed.as_millis() as i64),
        )
    }

    /// The current instant for pauses of background work. It never goes back, and is moved with the clock. What takes
    /// real time, such as an answer that is waited for, is measured with [`Instant`] alone.
    pub fn steady(&self) -> Instant {
        Instant::now() + self.moved()
    }

    /// By how much a test has moved this clock.
    #[cfg(debug_assertions)]
    pub fn moved(&self) -> Duration {
        Duration::from_millis(self.moved.load(Ordering::SeqCst))
    }

    /// Nothing moves this clock.
    #[cfg(not(debug_assertions))]
    pub fn moved(&self) -> Duration {
        Duration::ZERO
    }

    /// Has the clock be so far ahead of the system's. It never goes back.
    #[cfg(debug_assertions)]
    pub fn move_to(&self, ahead: Duration) {
        self.moved.fetch_max(ahead.as_millis() as u64, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_milliseconds_and_z() {
        assert_eq!(Timestamp(0).to_string(), "1970-01-01T00:00:00.000Z");
        assert_eq!(Timestamp(1_763_000_000_123).to_string(), "2025-11-13T02:13:20.123Z");
    }

    #[test]
    fn prints_every_instant_as_iso_8601() {
        for (millis, text) in [
            (i64::MIN, "0000-01-01T00:00:00.000Z"),
            (Timestamp::FIRST.0, "0000-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (253_402_300_799_000, "9999-12-31T23:59:59.000Z"),
            (Timestamp::LAST.0, "9999-12-31T23:59:59.999Z"),
            (i64::MAX, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(Timestamp(millis).to_string(), text, "{millis}");
        }
        for beyond in
            [i64::MIN, Timestamp::FIRST.0 - 1, Timestamp::LAST.0 + 1, 8_640_000_000_000_000, i64::MAX]
        {
            assert_eq!(Timestamp::from_millis(beyond), None, "{beyond}");
        }
        assert_eq!(Timestamp::from_millis(Timestamp::LAST.0), Some(Timestamp::LAST));
    }

    proptest::proptest! {
        #[test]
        fn prints_as_the_library_does(millis in -62_167_219_200_000_i64..253_402_200_000_000) {
            let library = jiff::Timestamp::from_millisecond(millis).unwrap();
            proptest::prop_assert_eq!(Timestamp(millis).to_string(), format!("{library:.3}"));
        }
    }

    #[test]
    fn parses_dates_and_instants() {
        assert_eq!(Timestamp::parse("1970-01-02"), Some(Timestamp(86_400_000)));
        assert_eq!(Timestamp::parse("1970-01-01T00:00:01.5Z"), Some(Timestamp(1500)));
        assert_eq!(Timestamp::parse("1970-01-01T01:00:00+01:00"), Some(Timestamp(0)));
        assert_eq!(Timestamp::parse("13/45/2020"), None);
    }

    #[test]
    fn parses_what_people_write() {
        let noon = Timestamp::parse("2030-01-31T12:00:00Z");
        let midnight = Timestamp::parse("2030-01-31");
        for (text, expected) in [
            ("2030-01-31T12:00:00.000Z", noon),
            ("2030-01-31T13:00:00+01:00", noon),
            ("2030-01-31T12:00:00", noon),
            ("2030-01-31 12:00", noon),
            ("Thu, 31 Jan 2030 12:00:00 GMT", noon),
            ("January 31, 2030 12:00", noon),
            ("Jan 31, 2030", midnight),
            ("1/31/2030", midnight),
            (" 2030-01-31 ", midnight),
            ("tomorrow", None),
            ("2030-02-31", Timestamp::parse("2030-03-03")),
            ("20300131T120000Z", noon),
            ("", None),
        ] {
            assert_eq!(Timestamp::parse_any(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_moved_clock_is_ahead_for_every_clone() {
        let clock = Clock::system();
        let (before, steady) = (clock.now(), clock.steady());
        clock.clone().move_to(Duration::from_hours(2));
        clock.move_to(Duration::from_hours(1));
        assert_eq!(clock.moved(), Duration::from_hours(2), "it never goes back");
        assert!(clock.now().since(before) >= Duration::from_hours(2));
        assert!(clock.steady().duration_since(steady) >= Duration::from_hours(2));
        assert!(clock.uncorrected().since(before) < Duration::from_hours(1), "its source is not moved");
    }

    #[test]
    fn a_correction_holds_for_every_clone() {
        let clock = Clock::system();
        let before = clock.now();
        clock.clone().correct(3_600_000);
        assert!(clock.now().since(before) >= Duration::from_hours(1));
        assert!(clock.uncorrected().since(before) < Duration::from_hours(1));
    }
}
