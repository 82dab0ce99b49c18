//! The event of a subscription that flipped.

use mailwright_core::consent::Evidence;
use mailwright_core::event::subscription_event;
use mailwright_core::ids::{ContactId, ProjectNumber};
use mailwright_core::time::Timestamp;
use serde_json::json;

use super::event::NewEvent;

impl NewEvent {
    /// The event of a subscription that flipped. That it ended has a reason: the way by which it came.
    pub fn flip(
        project: ProjectNumber,
        contact: ContactId,
        subscribed: bool,
        evidence: Evidence,
        at: Timestamp,
    ) -> Self {
        let reason = || json!({ "reason": evidence.way.as_str() }).to_string();
        Self {
            email: evidence.mail,
            data: (!subscribed).then(reason),
            ..Self::bare(project, subscription_event(subscribed), contact, at)
        }
    }
}
