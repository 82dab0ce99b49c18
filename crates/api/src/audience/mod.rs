//! The audience of a project: contacts and their data, events, segments, subscriptions.

pub(crate) mod bulk;
pub(crate) mod consent;
pub(crate) mod contact;
pub(crate) mod contact_field;
pub(crate) mod contact_search;
pub(crate) mod erasure;
pub(crate) mod event;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod import_preview;
pub(crate) mod segment;
pub(crate) mod standing;
pub(crate) mod subscription;
pub(crate) mod suppression;
pub(crate) mod topic;
pub(crate) mod track;
pub(crate) mod verification;
pub(crate) mod verification_job;
