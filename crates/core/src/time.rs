//! Instants, and the one door to the current time.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use serde::{Serialize, Serializer};

/// An instant: milliseconds since the Unix epoch, UTC. ISO 8601 with milliseconds and `Z` in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(pub i64);

impl Timestamp {
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

    /// Parses whatever people write for a date: what [`Timestamp::parse`] takes, a date-time without an offset, which is
    /// taken as UTC, the dates of mails, and a few common spellings such as `Jan 31, 2026 09:30` and `1/31/2026`.
    pub fn parse_any(text: &str) -> Option<Self> {
        const SPELLINGS: [&str; 5] = ["%B %d, %Y", "%b %d, %Y", "%d %B %Y", "%d %b %Y", "%m/%d/%Y"];
        const TIMES: [&str; 3] = ["", " %H:%M", " %H:%M:%S"];
        let text = text.trim();
        if let Some(instant) = Self::parse(text) {
            return Some(instant);
        }
        if let Ok(mailed) = jiff::fmt::rfc2822::parse(text) {
            return Some(Self(mailed.timestamp().as_millisecond()));
        }
        let utc = |local: jiff::civil::DateTime| {
            Some(Self(local.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_millisecond()))
        };
        if let Ok(local) = text.parse::<jiff::civil::DateTime>() {
            return utc(local);
        }
        SPELLINGS.into_iter().flat_map(|date| TIMES.map(|time| format!("{date}{time}"))).find_map(|format| {
            let parsed = jiff::fmt::strtime::parse(&format, text).ok()?;
            let date = parsed.to_date().ok()?;
            utc(date.to_datetime(parsed.to_time().unwrap_or(jiff::civil::Time::midnight())))
        })
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(instant) => write!(f, "{instant:.3}"),
            Err(_) => write!(f, "{}ms", self.0),
        }
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Where the program takes the time from: the system, corrected by what is known about it, or a hand that tests move.
/// Clones are the same clock.
#[derive(Debug, Clone, Default)]
pub struct Clock {
    hand: Option<Arc<AtomicI64>>,
    /// Milliseconds that the system's clock is behind.
    correction: Arc<AtomicI64>,
}

impl Clock {
    /// The system's clock.
    pub fn system() -> Self {
        Self::default()
    }

    /// A clock that stands at `now` until it is moved with [`Clock::advance`].
    pub fn manual(now: Timestamp) -> Self {
        Self { hand: Some(Arc::new(AtomicI64::new(now.0))), ..Self::default() }
    }

    /// The current instant.
    pub fn now(&self) -> Timestamp {
        Timestamp(self.uncorrected().0.saturating_add(self.correction()))
    }

    /// How far the clock's source is behind, as far as is known, in milliseconds.
    pub fn correction(&self) -> i64 {
        self.correction.load(Ordering::SeqCst)
    }

    /// Notes how many milliseconds the clock's source is behind the time that counts.
    pub fn correct(&self, behind: i64) {
        self.correction.store(behind, Ordering::SeqCst);
    }

    /// What the clock's source says.
    #[expect(clippy::disallowed_methods, reason = "this is the one door to the system's time")]
    pub fn uncorrected(&self) -> Timestamp {
        match &self.hand {
            Some(hand) => Timestamp(hand.load(Ordering::SeqCst)),
            None => Timestamp(
                std::time::SystemTime::now()
                    .duration_since(std::time::UNIX_EPOCH)
                    .map_or(0, |elapsed| elapsed.as_millis() as i64),
            ),
        }
    }

    /// Moves a manual clock; a system clock stays as it is.
    pub fn advance(&self, by: Duration) {
        if let Some(hand) = &self.hand {
            hand.fetch_add(by.as_millis() as i64, Ordering::SeqCst);
        }
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
            ("2030-02-31", None),
            ("", None),
        ] {
            assert_eq!(Timestamp::parse_any(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_manual_clock_moves_only_by_hand() {
        let clock = Clock::manual(Timestamp(5));
        clock.advance(Duration::from_secs(1));
        assert_eq!(clock.now(), Timestamp(1005));
    }

    #[test]
    fn a_correction_holds_for_every_clone() {
        let clock = Clock::manual(Timestamp(5));
        clock.clone().correct(-3);
        assert_eq!((clock.now(), clock.uncorrected()), (Timestamp(2), Timestamp(5)));
    }
}
