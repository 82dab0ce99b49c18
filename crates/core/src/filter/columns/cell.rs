//! What a cell of a column is: four bytes for a value.
//!
//! A cell has its type in its two lowest bits, and in the others an integer, or the number of a value that is stored
//! elsewhere.

/// The bits of the type.
pub(super) const TYPE: u32 = 0b11;
/// No value, true, false, and what is compared with nothing.
pub(super) const SPECIAL: u32 = 0;
/// An integer, which stands in the cell.
pub(super) const INTEGER: u32 = 1;
/// Another number, which has a number of its own.
pub(super) const NUMBER: u32 = 2;
/// A text, which has a number of its own.
pub(super) const TEXT: u32 = 3;

/// Integers of a smaller size stand in the cell.
pub(super) const INTEGERS: f64 = (1 << 29) as f64;
