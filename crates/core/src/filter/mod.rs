//! Filters: conditions on contacts, of segments and of audiences (contract, Filter tree).
//!
//! A [`Filter`] is parsed and checked once ([`Filter::parse`]). It is then judged in two places that must agree: here,
//! for one contact whose [`Facts`] are in memory ([`Filter::matches`]), and in the database, for which
//! `store::audience::filter` makes SQL. Both follow these rules:
//!
//! - A condition on a key that is missing or null is false, also a negative one; only `notExists` is true then.
//! - Types are strict: a number never equals a text. Numbers are compared as double-precision floats, so 1 equals 1.0;
//!   texts are compared byte by byte.
//! - A text is a date when it has one of the forms of [`date`], and dates are compared in the canonical form there.
//! - `data.a.b` is the key `a.b` if the contact has one, even if it is null, and otherwise the key `b` in the object
//!   `a`. Conditions never look into lists.
//! - The time of an event is the time in its id.

pub mod columns;
pub mod date;
mod evaluate;
mod explain;
mod facts;
mod parse;
mod references;
#[cfg(test)]
mod tests;
mod tree;
mod window;

pub use crate::event::Activity;
pub use explain::Seen;
pub use facts::{Facts, Resolved};
pub use parse::{MAX_CONDITIONS, MAX_DEPTH, MAX_TEXT, operator_names};
pub use references::References;
pub(crate) use tree::MAX_PATH_KEYS;
pub use tree::{
    Comparison, Condition, DataPath, DataTest, EventTest, Filter, Group, Logic, Operand, Ordered, TextTest,
    TimeField, TimeTest,
};
pub use window::{Window, WindowSource};
