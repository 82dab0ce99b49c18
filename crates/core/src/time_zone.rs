//! Time zones of the IANA database, which is part of the program, so that every process and every machine has the same.

use std::fmt;
use std::sync::LazyLock;

use jiff::civil::DateTime;
use jiff::tz::{TimeZone, TimeZoneDatabase};

use crate::time::Timestamp;

/// The longest name of a time zone, in bytes.
pub const MAX_ZONE: usize = 64;

static DATABASE: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// A time zone, such as `Europe/Berlin`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone(TimeZone);

impl Zone {
    /// Coordinated universal time.
    pub const UTC: Self = Self(TimeZone::UTC);

    /// The zone with a name, whose case does not matter; `None` if there is none.
    pub fn parse(name: &str) -> Option<Self> {
        if name.len() > MAX_ZONE {
            return None;
        }
        DATABASE.get(name).ok().map(Self)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    /// What clocks in the zone show at an instant; at the last one that there is, for one that is later still.
    pub fn local(&self, instant: Timestamp) -> DateTime {
        let beyond = if instant.0 > 0 { jiff::Timestamp::MAX } else { jiff::Timestamp::MIN };
        self.0.to_datetime(jiff::Timestamp::from_millisecond(instant.0).unwrap_or(beyond))
    }

    /// The instant at which clocks in the zone show a time. Of one that is shown twice, the first; one that is skipped
    /// when clocks are set forward counts as so much later.
    pub fn instant(&self, local: DateTime) -> Option<Timestamp> {
        let zoned = self.0.to_ambiguous_zoned(local).compatible().ok()?;
        Timestamp::from_millis(zoned.timestamp().as_millisecond())
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    #[test]
    fn zones_have_names() {
        assert_eq!(Zone::parse("europe/berlin").unwrap().to_string(), "Europe/Berlin");
        assert_eq!(Zone::parse("UTC").unwrap().name(), "UTC");
        for name in ["", "Berlin", "Europe/Atlantis", "+02:00", "../etc/passwd", &"a".repeat(100)] {
            assert_eq!(Zone::parse(name), None, "{name}");
        }
    }

    #[test]
    fn local_times_become_instants_also_where_clocks_are_set() {
        let berlin = Zone::parse("Europe/Berlin").unwrap();
        for (local, instant) in [
            ("2026-01-31T09:00:00", "2026-01-31T08:00:00Z"),
            ("2026-07-31T09:00:00", "2026-07-31T07:00:00Z"),
            // skipped: clocks go from 02:00 to 03:00
            ("2026-03-29T02:30:00", "2026-03-29T01:30:00Z"),
            // shown twice
            ("2026-10-25T02:30:00", "2026-10-25T00:30:00Z"),
        ] {
            assert_eq!(berlin.instant(local.parse().unwrap()), Some(at(instant)), "{local}");
        }
        assert_eq!(berlin.local(at("2026-07-31T22:30:00Z")).to_string(), "2026-08-01T00:30:00");
        assert_eq!(Zone::UTC.local(Timestamp(i64::MAX)).year(), 9999);
    }
}
