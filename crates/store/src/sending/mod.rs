//! What a project sends: mails, templates, campaigns, the domains they come from.

pub mod campaign;
pub mod content;
pub mod domain;
pub mod email;
pub mod idempotency;
pub mod template;
