//! What an execution needs to know and can change, apart from itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::address::EmailAddress;
use crate::contact::Contact;
use crate::custom_data::{Data, DataPatch};
use crate::excess::Excess;
use crate::filter::{Activity, Facts, Filter};
use crate::ids::{EventId, SegmentId, TemplateId};
use crate::suppression::Held;
use crate::template::TemplateType;
use crate::time::Timestamp;
use crate::time_zone::Zone;
use crate::workflow::action::Webhook;
use crate::workflow::version::Place;

/// Whether mail of a template can be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sending {
    /// It can: the kind of mail that the template makes. If the domain of the sender is not verified any more, the mail
    /// waits for it.
    Ready(TemplateType),
    /// The project does not have the domain of its sender.
    NoDomain,
    /// The project has no such template.
    NoTemplate,
}

impl Sending {
    /// Whether a mail counts for the cap on marketing mails: one for subscribers, to the contact itself.
    pub fn counts_for_cap(self, to: Option<&EmailAddress>) -> bool {
        to.is_none() && matches!(self, Self::Ready(kind) if kind.needs_subscription())
    }
}

/// What is known of the contact and its project.
pub trait World: Facts {
    /// Whether mail of a template can be sent.
    fn template(&self, id: TemplateId) -> Sending;
    /// The filters of the segments whose members are stored nowhere.
    fn untracked(&self) -> &BTreeMap<SegmentId, Arc<Filter>>;
    /// Which mail to the contact's address is held back.
    fn held(&self) -> Held;
    /// When the project lets the contact get another marketing mail, after `now`; `None` if it does now.
    fn capped_until(&self, now: Timestamp) -> Option<Timestamp>;
    /// Whether the limits of what the project pays for leave room for another mail of a kind.
    fn has_allowance(&self, kind: TemplateType, now: Timestamp) -> bool;
    /// The time zone of the project.
    fn zone(&self) -> &Zone;
    /// Whether contact and project can hold what would be written.
    fn fits(&self, patch: &DataPatch) -> Result<(), Excess>;
    /// Whether the project has a static segment.
    fn has_static_segment(&self, id: SegmentId) -> bool;
}

/// What is known of the contact, with the context of its execution.
#[derive(Debug)]
pub struct WithContext<'a, W> {
    /// What is known of the contact.
    pub world: &'a W,
    /// The context.
    pub context: &'a Data,
}

impl<W: Facts> Facts for WithContext<'_, W> {
    fn contact(&self) -> &Contact {
        self.world.contact()
    }

    fn last_event(&self, name: &str) -> Option<Timestamp> {
        self.world.last_event(name)
    }

    fn last_activity(&self, activity: Activity) -> Option<Timestamp> {
        self.world.last_activity(activity)
    }

    fn is_member(&self, segment: SegmentId) -> bool {
        self.world.is_member(segment)
    }

    fn context(&self) -> Option<&Data> {
        Some(self.context)
    }

    fn may_look_through(&self, bytes: usize) -> bool {
        self.world.may_look_through(bytes)
    }
}

/// What happens to an execution.
#[derive(Debug, Clone, Copy)]
pub enum Input<'a> {
    /// Its time has come.
    Due,
    /// The contact changed, and may have reached the goal.
    Changed,
    /// The contact has an event.
    Event(&'a Happening),
    /// The request of a WEBHOOK step came to an end.
    Answered(&'a Answered),
}

/// An event of the contact.
#[derive(Debug, Clone, PartialEq)]
pub struct Happening {
    /// Identifier.
    pub id: EventId,
    /// Name.
    pub name: String,
    /// Its data, as it was sent.
    pub data: Data,
    /// When it happened.
    pub at: Timestamp,
}

/// How the request of a WEBHOOK step ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// What the step tells of it.
    pub output: Value,
    /// Why there is no answer; `None` if there is one.
    pub error: Option<String>,
}

/// What a step does beyond its execution. It is written in the transaction that completes the step.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// A mail is put into the outbox.
    Mail {
        /// The step.
        step: Place,
        /// The record of the step in the log, which is told the id of the mail.
        record: usize,
        /// The template.
        template: TemplateId,
        /// Who gets it, if it is not the contact.
        to: Option<EmailAddress>,
        /// When it is sent.
        at: Timestamp,
    },
    /// The contact changes.
    Contact {
        /// Custom fields that are written.
        patch: Arc<DataPatch>,
        /// The subscription from then on.
        subscribed: Option<bool>,
        /// When.
        at: Timestamp,
    },
    /// The contact joins or leaves a static segment.
    Segment {
        /// The segment.
        id: SegmentId,
        /// Whether it joins.
        adds: bool,
        /// When.
        at: Timestamp,
    },
    /// A request is made. The execution goes on with its answer.
    Request {
        /// The step.
        step: Place,
        /// What is asked.
        webhook: Arc<Webhook>,
        /// When it was asked for.
        at: Timestamp,
    },
}
