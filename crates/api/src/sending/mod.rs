//! What a project sends: mails, templates, campaigns, and the domains that they come from.

pub(crate) mod campaign;
pub(crate) mod domain;
pub(crate) mod email;
pub(crate) mod idempotency;
pub(crate) mod send;
pub(crate) mod template;
pub(crate) mod upload;
