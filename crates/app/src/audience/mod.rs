//! The audience of a project: contacts and their data, events, segments, subscriptions.

pub mod bulk;
pub mod contact;
pub mod contact_field;
pub mod event;
pub mod import;
pub mod segment;
pub mod subscription;
pub mod track;
