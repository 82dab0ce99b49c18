//! The contents of mails, prepared once for all recipients of the same.

mod cache;
mod compose;
mod links;
mod prepare;
mod variables;

use mailwright_core::template::TemplateType;

pub(crate) use cache::Contents;
pub use compose::File;
pub(crate) use compose::{bound, compose, share};
pub use links::Link;
pub(crate) use links::{Spot, from_json as links_from_json, leads_somewhere};
pub(crate) use prepare::Prepared;
pub(crate) use variables::FIXED;

/// The class of mail that content without a template is.
pub(crate) const INLINE_KIND: TemplateType = TemplateType::Transactional;
