//! Saved templates. Their language is [`crate::template_language`].

use crate::address::EmailAddress;
use crate::ids::{TemplateId, TopicId};
use crate::names::names_in_json;
use crate::time::Timestamp;

names_in_json! {
    /// What kind of mail a template or campaign makes.
    pub enum TemplateType {
        /// Mail the recipient asked for; ignores the subscription.
        Transactional = "TRANSACTIONAL",
        /// Mail with an unsubscribe footer, for subscribed contacts.
        Marketing = "MARKETING",
        /// Like marketing, without the footer.
        Headless = "HEADLESS",
    }
}

impl TemplateType {
    /// Whether such a mail is for subscribed contacts alone, and counts for the project's cap.
    pub fn needs_subscription(self) -> bool {
        match self {
            Self::Transactional => false,
            Self::Marketing | Self::Headless => true,
        }
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
    pub from: EmailAddress,
    /// Sender display name.
    pub from_name: Option<String>,
    /// Reply address.
    pub reply_to: Option<EmailAddress>,
    /// Kind of mail.
    pub kind: TemplateType,
    /// Whether its mails are tracked; `None` leaves it to the project.
    pub tracking: Option<bool>,
    /// The topic that its mails belong to.
    pub topic: Option<TopicId>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}
