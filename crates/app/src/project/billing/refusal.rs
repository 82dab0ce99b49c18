//! What is said of mails that a limit leaves no room for.

use mailwright_core::billing::Category;
use mailwright_core::month::Month;
use mailwright_core::time::Timestamp;

use crate::error::Error;

/// The error for mails that a limit leaves no room for.
pub(crate) fn limit_reached(category: Category, now: Timestamp) -> Error {
    let month = Month::of(now);
    Error::LimitReached(format!(
        "The project's limit of {category} mails in {month} leaves no room for this. It begins anew at {}.",
        month.end()
    ))
}

/// The note of a campaign that waits because of a limit.
pub(crate) fn limit_note(category: Category, now: Timestamp) -> String {
    let month = Month::of(now);
    format!(
        "It waits, because the project's limit of {category} mails in {month} is reached. It goes on at {}, or when the limit \
         is raised.",
        month.end()
    )
}
