//! What happened in a project.

pub(crate) mod activity;
pub(crate) mod analytics;
mod entry;
pub(crate) mod recipients;
pub(crate) mod stream;
mod table;
pub(crate) mod upcoming;
