//! What happened in a project, as people look at it.

pub mod activity;
pub mod analytics;
