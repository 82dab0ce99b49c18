//! Comma-separated values (RFC 4180), read from memory piece by piece and written cell by cell.
//!
//! The reader can start at a stored [`Position`]. It also knows where a quoted cell began: if the cell cannot have been
//! meant, the record ends as a fault, and reading continues behind the quotation mark. A property test compares it with
//! `csv-core`, which does neither.

mod reader;
mod record;
#[cfg(test)]
mod tests;
mod write;

pub use reader::Reader;
pub use record::{Fault, MAX_CELLS, MAX_LINES, MAX_RECORD, Position, Read};
pub use write::{no_formula, quoted, write};
