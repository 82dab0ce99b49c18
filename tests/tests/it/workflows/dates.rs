//! Times as the service writes them, and as milliseconds since 1970.

const SECOND: i64 = 1_000;
const DAY: i64 = 24 * 60 * 60 * SECOND;
/// Days from the first of March of the year 0 to 1970.
const BEFORE: i64 = 719_468;

/// A moment as ISO 8601 in UTC, without its milliseconds.
pub(crate) fn iso(at: i64) -> String {
    let (since, second) = (at.div_euclid(DAY) + BEFORE, at.rem_euclid(DAY) / SECOND);
    // years begin in March, so that the leap day is the last of a year
    let (era, of_era) = (since / 146_097, since % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let year = era * 400 + year;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The moment that a text of the form `2026-01-31T09:30:00.125Z` names; `None` for any other text.
pub(super) fn millis(text: &str) -> Option<i64> {
    let rest = text.strip_suffix('Z').filter(|rest| rest.len() == 23)?;
    let numbers = rest.split(['-', 'T', ':', '.']).map(|number| number.parse().ok());
    let numbers: Vec<i64> = numbers.collect::<Option<_>>()?;
    let [year, month, day, hour, minute, second, milli] = numbers[..] else { return None };
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - BEFORE;
    Some(days * DAY + ((hour * 60 + minute) * 60 + second) * SECOND + milli)
}

#[test]
fn times_are_read_as_they_are_written() {
    for (text, at) in [
        ("1970-01-01T00:00:00.000Z", 0),
        ("1970-01-01T00:00:01.125Z", 1_125),
        ("2024-02-29T12:00:00.000Z", 1_709_208_000_000),
        ("2024-03-01T00:00:00.000Z", 1_709_251_200_000),
        ("2025-12-31T23:59:59.999Z", 1_767_225_599_999),
        ("2100-03-01T00:00:00.000Z", 4_107_542_400_000),
    ] {
        assert_eq!(millis(text), Some(at), "{text}");
        assert_eq!(iso(at)[..19], text[..19], "{at}");
    }
    for text in ["", "soon", "2026-01-31", "2026-01-31T09:30:00Z", "2026-01-31T09:30:00.000", "Z"] {
        assert_eq!(millis(text), None, "{text:?}");
    }
}
