//! Sums.

pub mod counter;
