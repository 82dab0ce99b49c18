//! What a project sends: mails, templates, campaigns, and the domains that they come from.

pub mod campaign;
pub mod content;
pub mod domain;
pub mod email;
pub(crate) mod footer;
pub mod idempotency;
pub(crate) mod key_pool;
pub(crate) mod render;
pub mod send;
pub mod system_mail;
pub mod template;
