//! The audience of a project: contacts and their data, events, segments, filters, suppressions.

pub mod bulk;
pub mod confirmation;
pub mod consent;
pub mod contact;
pub mod contact_field;
pub mod email_search_cache;
pub mod erased;
pub mod erasure;
pub mod event;
pub mod event_counts;
pub mod event_data;
pub mod event_field;
pub(crate) mod event_index;
pub(crate) mod event_removal;
pub mod export;
pub mod filter;
mod flip;
pub(crate) mod former_address;
pub mod names;
pub mod search;
pub mod segment;
pub mod suppression;
pub mod topic;
pub(crate) mod touched;
pub mod verification;
pub mod verification_list;
