//! Bulk operations: the same change to many contacts.

use serde::{Deserialize, Serialize};

use crate::ids::JobId;
use crate::names;

/// Most contacts of a bulk operation (contract, Limits).
pub const MAX_CONTACTS: usize = 1000;

names! {
    /// What a bulk operation does to each contact.
    pub enum Operation {
        /// Subscribes it.
        Subscribe = "subscribe",
        /// Unsubscribes it.
        Unsubscribe = "unsubscribe",
        /// Removes it.
        Delete = "delete",
    }
}

/// How far a bulk operation came. A contact that was in the wanted state already is neither success nor failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BulkProgress {
    /// Contacts asked for; one that was named twice counts once.
    pub total: u64,
    /// Contacts done with.
    pub done: u64,
    /// Contacts that were changed.
    pub succeeded: u64,
    /// Contacts that were in the wanted state already.
    pub unchanged: u64,
    /// Ids that are no contact of the project.
    pub failed: u64,
    /// Whether a member of the project asked for it, and not a key.
    #[serde(default)]
    pub by_member: bool,
    /// The bulk operation that is undone.
    #[serde(default)]
    pub undoes: Option<JobId>,
}

/// A contact that a bulk operation could not change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContactFailure {
    /// The id that was given.
    pub contact_id: crate::ids::ContactId,
    /// Address of the contact; null when there is no such contact.
    #[schema(required)]
    pub email: Option<String>,
    /// The reason.
    pub error: String,
}
