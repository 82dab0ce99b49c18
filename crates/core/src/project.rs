//! Projects.

use crate::ids::{ProjectId, ProjectNumber};

/// The project a request acts in, as its key tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// The number rows carry.
    pub number: ProjectNumber,
    /// The id clients see.
    pub id: ProjectId,
    /// Name, shown to recipients when a sender has no display name.
    pub name: String,
    /// Language of public pages and footers, such as `en` or `pt-BR`.
    pub language: String,
    /// Whether writes are refused.
    pub disabled: bool,
}
