//! Work that no request waits for. Mails, campaigns and segments have their queues in their own areas.

pub mod forward;
pub mod job;
pub mod job_list;
pub mod retention;
