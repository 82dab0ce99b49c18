//! Work that no request waits for: the runner of all background work (`runner`, `tasks`, `project_work`), jobs, the
//! check of the clock, and maintenance. Delivery, campaigns and segments have their background work in their own areas.

pub(crate) mod clock;
pub mod job;
pub(crate) mod maintenance;
pub(crate) mod project_work;
pub(crate) mod runner;
pub mod tasks;
