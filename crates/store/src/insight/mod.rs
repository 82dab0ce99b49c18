//! What is counted.

pub mod counter;
