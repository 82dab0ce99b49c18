//! What a project sends: mails, templates, campaigns, the domains they come from.

pub mod campaign;
pub mod content;
pub mod domain;
pub mod email;
pub(crate) mod forge;
pub mod idempotency;
pub(crate) mod letterhead;
pub mod platform;
pub(crate) mod render;
pub mod send;
pub mod template;
