//! What several kinds of records are said with.

use mailwright_core::domain::DifferenceKind;

use super::kind::Difference;

/// Most characters of a value that are repeated in a sentence.
const SHOWN: usize = 80;
/// What is said where nothing more can be told, as after a change of the settings.
pub(super) fn other() -> Difference {
    Difference::new(DifferenceKind::Other, "The record has another value. Write the one that is given here.")
}

/// What is said of more than one record where there may be one.
pub(super) fn several(count: usize, what: &str, then: &str) -> Difference {
    let text = format!("There are {count} {what} records, and {then}. Leave one.");
    Difference::new(DifferenceKind::Several, text).with("count", count.to_string())
}

/// What belongs to the files of some DNS servers, and to no value.
pub(super) fn is_wrapping(c: char) -> bool {
    matches!(c, '"' | '\\' | '\u{201c}' | '\u{201d}')
}

pub(super) fn wrapped() -> Difference {
    Difference::new(
        DifferenceKind::Wrapped,
        "The value has quotation marks or backslashes in it, which belong to the files of some DNS servers. Enter it without \
         them.",
    )
}

/// The beginning of a value, in a sentence.
pub(super) fn shown(value: &str) -> String {
    let beginning: String = value.chars().take(SHOWN).collect();
    if beginning.len() < value.len() { format!("{beginning}...") } else { beginning }
}
