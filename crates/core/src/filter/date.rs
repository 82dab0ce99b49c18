//! Dates in custom data: which texts are dates, and the canonical form in which they are compared.
//!
//! A text is a date when it is `YYYY-MM-DD` or `YYYY-MM-DDTHH:MM:SS`, the latter optionally with `.mmm` and optionally
//! with `Z` (contract, Custom data rule 8). All are UTC. The canonical form is `YYYY-MM-DDTHH:MM:SS.mmm`, with zeros
//! for the missing parts: the order of the bytes is the order of the times, and the first ten bytes are the day. The
//! form is made by adding and cutting text only, which every database does alike. For the same reason only the form of
//! a stored text is checked: `2025-02-30` counts as a day between 28 February and 1 March.

use std::cmp::Ordering;

use crate::time::Timestamp;

/// The canonical form of the least date.
const LEAST: &str = "0000-01-01T00:00:00.000";
/// The canonical form of the greatest date that custom data can hold.
const GREATEST: &str = "9999-12-31T23:59:59.999";
/// What is added to a shorter text, from its length on.
pub const FILLER: &str = "0000-00-00T00:00:00.000";

/// The canonical form of a date.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(String);

impl Moment {
    /// The date in a text that was stored; `None` when it has not the form of one.
    pub fn of_stored(text: &str) -> Option<Self> {
        let bare = bare(text)?;
        Some(Self(format!("{bare}{}", &FILLER[bare.len()..])))
    }

    /// The date in a text that was given as a value: of the form of one, and in the calendar.
    pub fn parse(text: &str) -> Option<Self> {
        let moment = Self::of_stored(text)?;
        moment.0.parse::<jiff::civil::DateTime>().ok()?;
        Some(moment)
    }

    /// The date of an instant; one beyond the years 0 to 9999 becomes the nearest of them.
    pub fn of(instant: Timestamp) -> Self {
        let text = match jiff::Timestamp::from_millisecond(instant.0) {
            Ok(instant) => format!("{instant:.3}"),
            Err(_) if instant.0 > 0 => GREATEST.to_owned(),
            Err(_) => LEAST.to_owned(),
        };
        Self::of_stored(&text).unwrap_or_else(|| Self(LEAST.to_owned()))
    }

    /// The instant, for a date that is in the calendar.
    pub fn instant(&self) -> Option<Timestamp> {
        Timestamp::parse(&format!("{}Z", self.0))
    }

    /// The whole canonical form.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The day, `YYYY-MM-DD`.
    pub fn day(&self) -> &str {
        &self.0[..10]
    }
}

/// The date in a text without the letter at its end; `None` when the text has not the form of a date.
fn bare(text: &str) -> Option<&str> {
    let bare = match text.len() {
        10 | 19 | 23 => text,
        20 | 24 => text.strip_suffix('Z')?,
        _ => return None,
    };
    let fits = |(given, pattern): (u8, u8)| {
        if pattern == b'0' { given.is_ascii_digit() } else { given == pattern }
    };
    bare.bytes().zip(FILLER.bytes()).all(fits).then_some(bare)
}

/// How the date in a text that was stored stands to another; `None` when the text has not the form of a date. As if both
/// were [`Moment`]s, but makes no text.
pub(super) fn compare(text: &str, date: &Moment) -> Option<Ordering> {
    let bare = bare(text)?.as_bytes();
    let (start, end) = date.0.as_bytes().split_at_checked(bare.len())?;
    Some(bare.cmp(start).then_with(|| FILLER.as_bytes()[bare.len()..].cmp(end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_has_the_canonical_one() {
        for (text, canonical) in [
            ("2025-03-01", "2025-03-01T00:00:00.000"),
            ("2025-03-01T10:20:30", "2025-03-01T10:20:30.000"),
            ("2025-03-01T10:20:30Z", "2025-03-01T10:20:30.000"),
            ("2025-03-01T10:20:30.456", "2025-03-01T10:20:30.456"),
            ("2025-03-01T10:20:30.456Z", "2025-03-01T10:20:30.456"),
        ] {
            assert_eq!(Moment::of_stored(text).unwrap().as_str(), canonical);
            assert_eq!(Moment::parse(text).unwrap().day(), "2025-03-01");
        }
    }

    #[test]
    fn other_texts_are_no_dates() {
        for text in [
            "",
            "2025-03-1",
            "2025-03-01Z",
            "2025-03-01 10:20:30",
            "2025-03-01T10:20",
            "2025-03-01T10:20:30.45",
            "2025-03-01T10:20:30z",
            "2025-03-01T10:20:30+02:00",
            "2025-03-01T10:20:30.4567Z",
            "2025/03/01",
            "2025-03-0é",
            "２025-03-",
        ] {
            assert_eq!(Moment::of_stored(text), None, "{text}");
        }
    }

    #[test]
    fn texts_are_compared_like_moments() {
        let texts = [
            "2025-03-01",
            "2025-03-01T00:00:00Z",
            "2025-03-01T10:20:30",
            "2025-03-01T10:20:30.456Z",
            "2025-03-02",
        ];
        for one in texts {
            for other in texts {
                let (moment, other) = (Moment::of_stored(one).unwrap(), Moment::of_stored(other).unwrap());
                assert_eq!(compare(one, &other), Some(moment.cmp(&other)), "{one} and {other:?}");
            }
        }
        assert_eq!(compare("2025-03-1", &Moment::of(Timestamp(0))), None);
    }

    #[test]
    fn a_value_must_be_in_the_calendar() {
        assert!(Moment::of_stored("2025-02-30").is_some());
        for text in ["2025-02-30", "2025-13-01", "2025-01-01T24:00:00", "2025-01-01T10:60:00Z"] {
            assert_eq!(Moment::parse(text), None, "{text}");
        }
    }

    #[test]
    fn instants_beyond_the_years_become_the_nearest() {
        assert_eq!(Moment::of(Timestamp(i64::MIN)).as_str(), LEAST);
        assert_eq!(Moment::of(Timestamp(-99_999_999_999_999)).as_str(), LEAST);
        assert_eq!(Moment::of(Timestamp(i64::MAX)).as_str(), GREATEST);
        assert_eq!(Moment::of(Timestamp(1)).as_str(), "1970-01-01T00:00:00.001");
        assert_eq!(Moment::of(Timestamp(1)).instant(), Some(Timestamp(1)));
    }
}
