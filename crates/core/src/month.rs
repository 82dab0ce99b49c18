//! Months of the calendar.

use std::fmt;

use crate::time::Timestamp;

/// A month of the calendar (UTC).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Month {
    /// Months since January of the year 0.
    number: i64,
}

impl Month {
    /// The month of an instant.
    pub fn of(at: Timestamp) -> Self {
        let text = at.to_string();
        let part = |range: std::ops::Range<usize>| text.get(range).and_then(|part| part.parse().ok());
        let (year, month): (i64, i64) = (part(0..4).unwrap_or(0), part(5..7).unwrap_or(1));
        Self { number: year * 12 + month - 1 }
    }

    /// Reads `YYYY-MM`.
    pub fn parse(text: &str) -> Option<Self> {
        let (year, month) = text.split_once('-')?;
        let is_number = |part: &str, length| part.len() == length && part.bytes().all(|b| b.is_ascii_digit());
        if !is_number(year, 4) || !is_number(month, 2) {
            return None;
        }
        let (year, month): (i64, i64) = (year.parse().ok()?, month.parse().ok()?);
        (1..=12).contains(&month).then_some(Self { number: year * 12 + month - 1 })
    }

    /// The month that is stored by a number.
    pub fn from_number(number: i64) -> Self {
        Self { number }
    }

    /// The number by which it is stored: months since January of the year 0.
    pub fn number(self) -> i64 {
        self.number
    }

    /// The month that comes so many months later, or earlier.
    #[must_use]
    pub fn plus(self, months: i64) -> Self {
        Self { number: self.number.saturating_add(months) }
    }

    /// Its first instant.
    pub fn start(self) -> Timestamp {
        Timestamp::parse(&format!("{self}-01")).unwrap_or_default()
    }

    /// The first instant after it.
    pub fn end(self) -> Timestamp {
        self.plus(1).start()
    }
}

impl fmt::Display for Month {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}", self.number.div_euclid(12), self.number.rem_euclid(12) + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_are_those_of_the_calendar() {
        for (at, month, start, end) in [
            ("2026-11-25T16:00:00Z", "2026-11", "2026-11-01", "2026-12-01"),
            ("2026-12-31T23:59:59.999Z", "2026-12", "2026-12-01", "2027-01-01"),
            ("2024-02-29T00:00:00Z", "2024-02", "2024-02-01", "2024-03-01"),
            ("1970-01-01T00:00:00Z", "1970-01", "1970-01-01", "1970-02-01"),
        ] {
            let found = Month::of(Timestamp::parse(at).unwrap());
            assert_eq!(found.to_string(), month);
            assert_eq!(Month::parse(month), Some(found));
            assert_eq!(Month::from_number(found.number()), found);
            assert_eq!(found.start(), Timestamp::parse(start).unwrap());
            assert_eq!(found.end(), Timestamp::parse(end).unwrap());
        }
        for wrong in ["2026-13", "2026-00", "2026-1", "26-11", "2026", "2026-11-01", "+026-11", ""] {
            assert_eq!(Month::parse(wrong), None, "{wrong}");
        }
    }
}
