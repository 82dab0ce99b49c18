//! What a project sends: mails, contents, templates, campaigns, and the domains that they come from.

pub mod campaign;
pub mod content;
pub mod domain;
pub mod domain_claim;
pub mod domain_identity;
pub mod domain_key;
mod domain_lock;
pub mod email;
pub mod held;
pub mod idempotency;
pub mod ses_identity;
pub(crate) mod sole_content;
pub mod source;
pub mod template;
pub mod template_figures;
pub mod upload;
pub mod upload_removal;
pub mod version;
