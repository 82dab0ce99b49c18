//! What a project sends: mails, templates, campaigns, and the domains that they come from.

pub(crate) mod campaign;
pub(crate) mod content_version;
pub(crate) mod dmarc;
pub(crate) mod domain;
pub(crate) mod draft;
pub(crate) mod edited;
pub(crate) mod email;
pub(crate) mod held;
pub(crate) mod idempotency;
pub(crate) mod mail_policy;
pub(crate) mod send;
pub(crate) mod template;
pub(crate) mod template_figures;
pub(crate) mod upload;
