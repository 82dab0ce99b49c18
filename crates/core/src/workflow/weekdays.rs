//! Days of the week in configurations: as RFC 5545 writes them, or by their English names.

use jiff::civil::Weekday;
use serde_json::Value;

use crate::issue::Issue;
use crate::reading::{Issues, join, unknown};

const DAYS: [(&str, &str, Weekday); 7] = [
    ("MO", "monday", Weekday::Monday),
    ("TU", "tuesday", Weekday::Tuesday),
    ("WE", "wednesday", Weekday::Wednesday),
    ("TH", "thursday", Weekday::Thursday),
    ("FR", "friday", Weekday::Friday),
    ("SA", "saturday", Weekday::Saturday),
    ("SU", "sunday", Weekday::Sunday),
];

/// Every day.
pub(crate) fn all() -> Vec<Weekday> {
    DAYS.iter().map(|(.., day)| *day).collect()
}

/// Reads a list of days. `None` means that an issue was noted.
pub(crate) fn read(issues: &mut Issues, json: &Value, at: &str) -> Option<Vec<Weekday>> {
    let names = issues.list(Some(json), at)?;
    if names.is_empty() || names.len() > DAYS.len() {
        return issues.note(Issue::new(at, "too_small", "Name 1 to 7 days."));
    }
    let mut days = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let place = join(at, &index.to_string());
        let name = issues.text(Some(name), &place)?;
        let is_named = |known: &str| known.eq_ignore_ascii_case(name);
        let Some((.., day)) = DAYS.iter().find(|(short, long, _)| is_named(short) || is_named(long)) else {
            let message = "Must be one of MO, TU, WE, TH, FR, SA, SU, or the English name of a day.";
            return issues.note(unknown(&place, message, name));
        };
        days.push(*day);
    }
    Some(days)
}
