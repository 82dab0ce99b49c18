//! Work that no request waits for.

pub(crate) mod clock;
pub mod job;
pub(crate) mod maintenance;
pub(crate) mod project_work;
pub(crate) mod runner;
pub mod tasks;
