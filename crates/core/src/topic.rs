//! Topics: what people can subscribe to. A topic only narrows: who is unsubscribed gets no marketing mail at all.

use crate::ids::TopicId;
use crate::names::names_in_json;
use crate::time::Timestamp;

/// Most topics of a project.
pub const MAX_TOPICS: usize = 50;
/// The longest name, in characters.
pub const MAX_NAME: usize = 100;
/// The highest position.
pub const MAX_POSITION: i64 = 9_999;

names_in_json! {
    /// Who sees a topic.
    pub enum TopicVisibility {
        /// Recipients see it on their page, and choose.
        Public = "PUBLIC",
        /// The project alone: it puts contacts in and takes them out.
        Private = "PRIVATE",
    }
}

/// What people can subscribe to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topic {
    /// Identifier.
    pub id: TopicId,
    /// Name, which recipients see.
    pub name: String,
    /// What it is about, which recipients see.
    pub description: Option<String>,
    /// Who sees it.
    pub visibility: TopicVisibility,
    /// Whether contacts who have not chosen are in it.
    pub default_subscribed: bool,
    /// Whether contacts whom the project puts in have to confirm.
    pub double_opt_in: bool,
    /// Place in the list.
    pub position: i64,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl Topic {
    /// Whether a contact is in the topic, given what it chose.
    pub fn has(&self, choice: Option<bool>) -> bool {
        choice.unwrap_or(self.default_subscribed)
    }
}
