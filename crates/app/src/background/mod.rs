//! Work that no request waits for.

pub(crate) mod clock;
pub mod job;
pub(crate) mod runner;
pub mod tasks;
pub(crate) mod under_way;
pub(crate) mod upkeep;
