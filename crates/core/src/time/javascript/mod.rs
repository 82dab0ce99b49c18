//! Dates as JavaScript's `Date` reads them.
//!
//! ISO 8601 in the form of ECMA-262 comes first. Other texts are read as V8 (Node, Chrome) reads them: month names,
//! `AM` and `PM`, `2/1/2027`, `GMT+0200`, `EST`, text in parentheses. A date-time without an offset is in UTC, as it is
//! in a JavaScript program whose time zone is UTC. The grammar is V8's, including its tolerance; the test is a table of
//! V8's answers.

mod clock;
mod parser;
mod scanner;
#[cfg(test)]
mod tests;

use self::clock::{Day, Time, Zone};
use self::parser::Parser;
use self::scanner::Scanner;
use crate::time::Timestamp;

/// Reads `text`; `None` when it is no date, or one that ISO 8601 cannot write with a year of four digits.
pub(super) fn parse(text: &str) -> Option<Timestamp> {
    let mut parser = Parser {
        scanner: Scanner::new(text),
        day: Day::default(),
        time: Time::default(),
        zone: Zone::default(),
    };
    let left = parser.iso()?;
    parser.legacy(left)?;
    let days = parser.day.days()?;
    let millis = parser.time.millis()?;
    Timestamp::from_millis(days * 86_400_000 + millis - parser.zone.offset_seconds()? * 1000)
}
