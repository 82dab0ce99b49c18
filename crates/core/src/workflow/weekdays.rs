//! Days of the week in configurations, as RFC 5545 writes them.

use jiff::civil::Weekday;
use serde_json::Value;

use crate::issue::Issue;
use crate::reading::{Issues, join, unknown};

const DAYS: [(&str, Weekday); 7] = [
    ("MO", Weekday::Monday),
    ("TU", Weekday::Tuesday),
    ("WE", Weekday::Wednesday),
    ("TH", Weekday::Thursday),
    ("FR", Weekday::Friday),
    ("SA", Weekday::Saturday),
    ("SU", Weekday::Sunday),
];

/// Every day.
pub(crate) fn all() -> Vec<Weekday> {
    DAYS.iter().map(|(_, day)| *day).collect()
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
        let Some((_, day)) = DAYS.iter().find(|(known, _)| *known == name) else {
            let message = "Must be one of MO, TU, WE, TH, FR, SA, SU.";
            return issues.note(unknown(&place, message, name));
        };
        days.push(*day);
    }
    Some(days)
}
