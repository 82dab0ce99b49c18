//! What happened in a project.

pub(crate) mod activity;
pub(crate) mod analytics;
pub(crate) mod cohorts;
mod entry;
pub(crate) mod recipients;
pub(crate) mod stream;
mod table;
pub(crate) mod upcoming;
