//! Projects.

use uuid::Uuid;

use crate::ids::{ProjectId, ProjectNumber};
use crate::names::names_in_json;

names_in_json! {
    /// Which mails are tracked.
    pub enum Tracking {
        /// All of them.
        Enabled = "ENABLED",
        /// None.
        Disabled = "DISABLED",
        /// Mails of templates and campaigns of the type `MARKETING`.
        MarketingOnly = "MARKETING_ONLY",
    }
}

/// The project that the instance's own mails are sent from. It has no members and no keys, and no list shows it.
pub fn system() -> ProjectId {
    Uuid::from_u128(0x0000_0000_0000_7000_8000_0000_0000_0001).into()
}

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

impl Project {
    /// Whether the instance's own mails are sent from it.
    pub fn is_system(&self) -> bool {
        self.id == system()
    }
}
