//! Sums, and what a transaction changes besides its rows.

pub mod counter;
pub mod deltas;
