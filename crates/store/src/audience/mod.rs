//! The audience of a project: contacts and their data, events, segments, filters, suppressions.

pub mod contact;
pub mod contact_field;
pub mod email_search_cache;
pub mod event;
pub mod event_data;
pub mod event_day;
pub mod event_field;
pub mod filter;
pub mod names;
pub mod search;
pub mod segment;
pub mod suppression;
pub(crate) mod touched;
