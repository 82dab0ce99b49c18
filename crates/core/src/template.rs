//! Saved templates. Their language is [`crate::template_language`].

use serde::{Deserialize, Serialize};

use crate::ids::TemplateId;
use crate::time::Timestamp;

/// What kind of mail a template or campaign makes (contract, Template).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum TemplateType {
    /// Mail the recipient asked for; ignores the subscription.
    Transactional,
    /// Mail with an unsubscribe footer, for subscribed contacts.
    Marketing,
    /// Like marketing, without the footer.
    Headless,
}

impl TemplateType {
    /// The name the contract shows.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Transactional => "TRANSACTIONAL",
            Self::Marketing => "MARKETING",
            Self::Headless => "HEADLESS",
        }
    }

    /// The type whose name is `text`.
    pub fn from_name(text: &str) -> Option<Self> {
        [Self::Transactional, Self::Marketing, Self::Headless].into_iter().find(|t| t.as_str() == text)
    }
}

/// A reusable mail.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    /// Identifier.
    pub id: TemplateId,
    /// Internal name.
    pub name: String,
    /// Internal note.
    pub description: Option<String>,
    /// Subject, with variables.
    pub subject: String,
    /// HTML, with variables.
    pub body: String,
    /// Sender address.
    pub from: String,
    /// Sender display name.
    pub from_name: Option<String>,
    /// Reply address.
    pub reply_to: Option<String>,
    /// Kind of mail.
    pub kind: TemplateType,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}
