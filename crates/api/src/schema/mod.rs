//! Request bodies: plain `serde` for valid ones. If that fails, a walk over the schema that the API document shows
//! collects every failing field.
//!
//! Values are counted in the raw JSON before it is parsed: one pass without memory, which also counts unknown members.

mod body;
mod count;
mod deserialize;
mod issues;
mod parse;
mod payload;
mod read;
mod stand_in;
#[cfg(test)]
mod tests;

pub(crate) use self::body::{Body, KeptBody, within_text};
pub(crate) use self::deserialize::{WholeNumber, object, objects};
pub(crate) use self::payload::{Payload, check_count, check_range, missing};
pub(crate) use self::read::read;
