//! The instance itself: health, metrics, public settings, API document.

pub(crate) mod config;
mod dashboard;
pub(crate) mod docs;
pub(crate) mod health;
pub(crate) mod people;
pub(crate) mod reference;
