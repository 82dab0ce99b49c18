//! Contacts.

use crate::address::EmailAddress;
use crate::custom_data::Data;
use crate::ids::ContactId;
use crate::time::Timestamp;

/// Somebody a project writes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Contact {
    /// Identifier.
    pub id: ContactId,
    /// Address, unique in the project.
    pub email: EmailAddress,
    /// Whether marketing mail may be sent.
    pub subscribed: bool,
    /// Custom fields.
    pub data: Data,
    /// When the contact was created.
    pub created_at: Timestamp,
    /// When anything of it last changed.
    pub updated_at: Timestamp,
}

/// How `subscribed` of a request is to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subscription {
    /// The value given in the request.
    pub given: Option<bool>,
    /// The value for a contact that the request creates, when none is given.
    pub default_for_new: bool,
    /// Whether a given value applies to new contacts only.
    pub preserve_existing: bool,
}

impl Subscription {
    /// The state of a contact created now.
    pub fn for_new(self) -> bool {
        self.given.unwrap_or(self.default_for_new)
    }

    /// The state of a contact that has `current`.
    pub fn for_existing(self, current: bool) -> bool {
        if self.preserve_existing { current } else { self.given.unwrap_or(current) }
    }
}
