//! One mail to one recipient: its states, lanes and sources.

use crate::names;
use crate::names::names_in_json;

names_in_json! {
    /// The status of a mail.
    pub enum EmailStatus {
        /// Waiting for a hand-over, the first or another.
        Pending = "PENDING",
        /// Being handed over: the content is about to be, or has been, written to the next hop.
        Sending = "SENDING",
        /// The next hop took it.
        Sent = "SENT",
        /// The recipient's host took it.
        Delivered = "DELIVERED",
        /// The mail was opened.
        Opened = "OPENED",
        /// A link in it was followed.
        Clicked = "CLICKED",
        /// The mail was refused for good, because the address does not exist.
        Bounced = "BOUNCED",
        /// The recipient called it spam.
        Complained = "COMPLAINED",
        /// It came in from outside.
        Received = "RECEIVED",
        /// The mail cannot be sent, for another reason than an address that does not exist.
        Failed = "FAILED",
        /// It is not sent, for a reason known before it was handed over.
        Skipped = "SKIPPED",
        /// It is not sent, because its address is on a list or fits a rule.
        Suppressed = "SUPPRESSED",
        /// The connection broke between the content and the reply; nobody knows whether it was taken.
        InDoubt = "IN_DOUBT",
    }
}

names_in_json! {
    /// The origin of a mail.
    pub enum EmailSource {
        /// `/v1/send`, or a template or campaign of that type.
        Transactional = "TRANSACTIONAL",
        /// A campaign.
        Campaign = "CAMPAIGN",
        /// A workflow step.
        Workflow = "WORKFLOW",
        /// Somebody wrote to an address at a sender domain.
        Inbound = "INBOUND",
    }
}

names_in_json! {
    /// The state of a mail in the ledger of its campaign. It is the result of the hand-over, and does not change when
    /// the mail is opened, clicked or complained about later.
    pub enum RecipientState {
        /// The mail waits, or is being handed over.
        Waiting = "WAITING",
        /// The next hop took it.
        Accepted = "ACCEPTED",
        /// It is not sent, for a reason known before.
        Skipped = "SKIPPED",
        /// The mail was tried and could not be sent.
        Failed = "FAILED",
        /// Nobody knows whether the next hop took the mail.
        InDoubt = "IN_DOUBT",
    }
}

impl RecipientState {
    /// The state in the ledger of a mail with `status`.
    pub fn of(status: EmailStatus) -> Self {
        match status {
            EmailStatus::Pending | EmailStatus::Sending => Self::Waiting,
            EmailStatus::Sent
            | EmailStatus::Delivered
            | EmailStatus::Opened
            | EmailStatus::Clicked
            | EmailStatus::Complained => Self::Accepted,
            // no campaign has a mail that came in
            EmailStatus::Skipped | EmailStatus::Suppressed | EmailStatus::Received => Self::Skipped,
            EmailStatus::Bounced | EmailStatus::Failed => Self::Failed,
            EmailStatus::InDoubt => Self::InDoubt,
        }
    }
}

names_in_json! {
    /// Why a mail is not sent.
    pub enum Reason {
        /// The contact is not subscribed.
        Unsubscribed = "unsubscribed",
        /// The contact is not in the topic of the mail.
        NotInTopic = "not_in_topic",
        /// The address is on a list of addresses that get no mail, or fits a rule.
        Suppressed = "suppressed",
        /// The contact was removed.
        Deleted = "deleted",
        /// The campaign has written to that address already.
        Duplicate = "duplicate",
        /// The contact got as many marketing mails as the project allows in a period.
        Capped = "capped",
        /// The campaign was cancelled.
        Cancelled = "cancelled",
        /// The mail cannot be rendered.
        Unrenderable = "unrenderable",
        /// The next hop says that there is no such address.
        Bounced = "bounced",
        /// The next hop refused recipient or content for good, and not because there is no such address.
        Rejected = "rejected",
        /// It is larger than the next hop takes.
        TooLarge = "too_large",
        /// The mail was tried for too long.
        Expired = "expired",
        /// The sender may not send: refused by the next hop, or its domain is gone.
        Sender = "sender",
    }
}

names! {
    /// The queue a mail waits in. Each has reserved capacity, so that one never waits behind another.
    /// The most urgent one comes first.
    #[derive(PartialOrd, Ord)]
    pub enum Lane {
        /// A mail that answers one action of one person.
        Transactional = "transactional",
        /// Mail of automations.
        Workflow = "workflow",
        /// Mail to an audience.
        Campaign = "campaign",
    }
}

impl Lane {
    /// The number stored with a mail.
    pub fn number(self) -> i64 {
        match self {
            Self::Transactional => 0,
            Self::Workflow => 1,
            Self::Campaign => 2,
        }
    }
}
