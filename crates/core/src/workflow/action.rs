//! What the steps of a workflow do, with their configuration read.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::address::EmailAddress;
use crate::custom_data::DataPatch;
use crate::filter::Filter;
use crate::ids::{SegmentId, TemplateId};
use crate::names::names_in_json;
use crate::workflow::condition::Choice;
use crate::workflow::kind::OverCap;
use crate::workflow::wait_until::Until;

/// The branch of a filter, or of one test, that passes.
pub const YES: &str = "yes";
/// The branch of a filter, or of one test, that does not pass.
pub const NO: &str = "no";
/// The branch that is taken when no test passes.
pub const DEFAULT: &str = "default";

/// What a step does.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Begins.
    Trigger,
    /// Sends a mail.
    SendEmail(SendEmail),
    /// Waits for a length of time.
    Delay(Duration),
    /// Waits for an event, or for so long.
    WaitForEvent {
        /// The name of the event.
        name: String,
        /// How long at most; `None` without end.
        timeout: Option<Duration>,
    },
    /// Waits for a date or a window.
    WaitUntil(Until),
    /// Chooses by one field.
    Choose(Choice),
    /// Chooses by a filter: [`YES`] or [`NO`].
    Filter(Arc<Filter>),
    /// Chooses by chance.
    Split(Vec<Share>),
    /// Makes a request.
    Webhook(Arc<Webhook>),
    /// Changes the contact.
    Update {
        /// Custom fields to write.
        patch: Arc<DataPatch>,
        /// The subscription from then on.
        subscribed: Option<bool>,
    },
    /// Adds the contact to a segment, or removes it.
    Segment {
        /// A static segment.
        id: SegmentId,
        /// Whether the contact is added.
        adds: bool,
    },
    /// Ends the execution.
    Exit {
        /// Why.
        reason: String,
    },
}

/// A mail to send.
#[derive(Debug, Clone, PartialEq)]
pub struct SendEmail {
    /// The template; without one the step fails.
    pub template: Option<TemplateId>,
    /// Who gets it, if it is not the contact. The subscription of the contact does not matter then.
    pub to: Option<EmailAddress>,
    /// What to do when the contact got as many marketing mails as the project allows.
    pub over_cap: OverCap,
}

/// A branch of a split by chance.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    /// The name that transitions refer to.
    pub branch: String,
    /// How often it is taken, relative to the weights of the others.
    pub weight: u32,
}

names_in_json! {
    /// The method of a WEBHOOK.
    pub enum Method {
        /// GET, which has no body.
        Get = "GET",
        /// POST.
        Post = "POST",
        /// PUT.
        Put = "PUT",
        /// PATCH.
        Patch = "PATCH",
        /// DELETE.
        Delete = "DELETE",
    }
}

/// A request to make. Address, values of headers and texts in the body are templates.
#[derive(Debug, Clone, PartialEq)]
pub struct Webhook {
    /// The address.
    pub url: String,
    /// The method.
    pub method: Method,
    /// The headers.
    pub headers: Vec<(String, String)>,
    /// The body; `None` for the usual one.
    pub body: Option<Value>,
}

impl Action {
    /// The branches that transitions may carry; `None` for a step without branches.
    pub fn branches(&self) -> Option<Vec<&str>> {
        match self {
            Self::Choose(choice) => {
                let ids = choice.branches.iter().map(|branch| branch.id.as_str());
                Some(ids.chain([choice.otherwise]).collect())
            }
            Self::Filter(_) => Some(vec![YES, NO]),
            Self::Split(shares) => Some(shares.iter().map(|share| share.branch.as_str()).collect()),
            _ => None,
        }
    }
}
