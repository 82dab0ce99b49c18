//! The instance itself: its health, its settings, its documents.

pub(crate) mod config;
pub(crate) mod docs;
pub(crate) mod health;
