//! What SES has to tell, in one form whatever way it was asked to tell it.

use std::net::IpAddr;

use mailwright_core::time::Timestamp;

/// Why a message of a topic is nothing that SES wrote.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotificationError {
    /// It has more than [`MAX_MESSAGE`](super::MAX_MESSAGE) bytes.
    #[error("the message is too long")]
    TooLong,
    /// It is not JSON.
    #[error("the message is not JSON: {0}")]
    Json(String),
    /// What such a message always has is not there.
    #[error("the message has no {0}")]
    Missing(&'static str),
    /// The mail in it is said to be in base64 and is not.
    #[error("the content of the mail is not in base64")]
    Content,
}

/// The message in a notification of SNS, published by SES.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notification {
    /// Something happened to a mail.
    Mail(Box<MailNews>),
    /// SES tried whether it can publish to the topic: nothing is to be done.
    Validation,
    /// A type that is not known.
    Other {
        /// `eventType` or `notificationType`, on one line.
        name: String,
    },
}

/// What happened to a mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailNews {
    /// The mail.
    pub mail: MailRef,
    /// What happened.
    pub what: What,
    /// When it happened, by the clock of whoever noticed: for bounces and complaints that may be the receiver.
    pub at: Option<Timestamp>,
    /// Whether a list was longer than what is kept of it: 100 addresses, 200 headers, 100 tags, 20 values of a tag.
    pub cut: bool,
}

/// The mail that something happened to. All but its id depends on how SES was asked to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailRef {
    /// The id that SES gave the mail when it took it (`mail.messageId`).
    pub provider_id: String,
    /// What the sender had as `Message-ID`, without the angle brackets. SES itself sends another one.
    pub message_id: Option<String>,
    /// The envelope's sender, which may have a name before the address; `None` for the null sender as well.
    pub source: Option<String>,
    /// The recipients; for received mail those in its headers.
    pub destination: Vec<String>,
    /// When SES took the mail.
    pub sent_at: Option<Timestamp>,
    /// The headers that the sender wrote; the values are cut at 2048 bytes.
    pub headers: Vec<Header>,
    /// Whether SES left out headers, which it does beyond 10 KB.
    pub headers_truncated: bool,
    /// The `From` addresses with their names.
    pub from: Vec<String>,
    /// The `To` addresses with their names.
    pub to: Vec<String>,
    /// The subject.
    pub subject: Option<String>,
    /// The tags of the mail, those of SES (`ses:...`) among them. Only events of configuration sets have them.
    pub tags: Vec<Tag>,
}

impl MailRef {
    /// The value of the first header with this name, in whatever case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
        Some(&found.value)
    }

    /// The first value of a tag.
    pub fn tag(&self, name: &str) -> Option<&str> {
        self.tags.iter().find(|tag| tag.name == name)?.values.first().map(String::as_str)
    }
}

/// A header of a mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Its name as it was written.
    pub name: String,
    /// Its value on one line.
    pub value: String,
}

/// A tag with its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag {
    /// Its name.
    pub name: String,
    /// Its values, mostly one.
    pub values: Vec<String>,
}

/// What can happen to a mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// SES took the mail and will try to deliver it.
    Sent,
    /// The receiver's server took it.
    Delivered(Delivery),
    /// Somebody, or a program, opened it.
    Opened(Visit),
    /// Somebody, or a program, followed a link in it.
    Clicked(Click),
    /// It could not be delivered, and SES tries no longer.
    Bounced(Bounce),
    /// Somebody complained about it.
    Complained(Complaint),
    /// Somebody said that it is no spam (feedback type `not-spam`, RFC 6430): the opposite of a complaint.
    NotSpam(Complaint),
    /// It could not be delivered yet.
    Delayed(Delay),
    /// SES does not send it, since it has a virus.
    Rejected {
        /// Why, in SES's words.
        reason: Option<String>,
    },
    /// SES could not make it from its template.
    RenderingFailed {
        /// The template.
        template: Option<String>,
        /// What is wrong.
        error: Option<String>,
    },
    /// Somebody changed what he is subscribed to, on the pages of SES or by one click.
    SubscriptionChanged(Subscription),
    /// SES received it for us.
    Received(Box<Inbound>),
}

/// A delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Whom it was delivered to.
    pub recipients: Vec<String>,
    /// What the receiver's server answered.
    pub smtp_response: Option<String>,
    /// The server of SES that delivered it.
    pub reporting_mta: Option<String>,
}

/// What is known of whoever opened a mail or followed a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visit {
    /// The address of the client.
    pub ip: Option<IpAddr>,
    /// The `User-Agent` of the client.
    pub user_agent: Option<String>,
}

/// A link that was followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Click {
    /// Who followed it.
    pub visit: Visit,
    /// Its target, whole; `None` when SES gave none, or one of more than 8192 bytes.
    pub link: Option<String>,
    /// The tags of the link.
    pub link_tags: Vec<Tag>,
}

mailwright_core::names! {
    /// Whether a bounce is for good.
    pub enum BounceKind {
        /// The recipient cannot be reached at this address.
        Permanent = "Permanent",
        /// A later mail may arrive.
        Transient = "Transient",
        /// SES does not know; also any name that is not known.
        Undetermined = "Undetermined",
    }
}

/// The subtype by which SES says that it did not even try, since the address is on one of its suppression lists.
const SUPPRESSED: [&str; 2] = ["Suppressed", "OnAccountSuppressionList"];

/// A bounce.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounce {
    /// Whether it is for good.
    pub kind: BounceKind,
    /// What SES says beyond that: `General`, `NoEmail`, `MailboxFull`, `ContentRejected` and others.
    pub sub_type: Option<String>,
    /// Who was not reached.
    pub recipients: Vec<Recipient>,
    /// The id of this bounce.
    pub feedback_id: Option<String>,
    /// The server that reported it.
    pub reporting_mta: Option<String>,
}

impl Bounce {
    /// Whether SES did not try to deliver, since the address is on a suppression list of its own.
    pub fn is_of_suppression_list(&self) -> bool {
        self.sub_type.as_deref().is_some_and(|name| SUPPRESSED.contains(&name))
    }
}

/// A recipient and what became of the mail to it, as a delivery status notification says (RFC 3464 section 2.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipient {
    /// The address.
    pub address: String,
    /// `failed`, `delayed` and others.
    pub action: Option<String>,
    /// The enhanced status code (RFC 3463).
    pub status: Option<String>,
    /// What the receiver's server answered, with the kind of the answer before it: `smtp; 550 ...`.
    pub diagnostic: Option<String>,
}

/// A complaint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    /// Who may have complained: everybody at the domain who got the mail, where the provider does not say who it was.
    pub recipients: Vec<String>,
    /// The kind of feedback (RFC 5965 section 7.3): `abuse`, `fraud`, `virus`, `not-spam`, `auth-failure`, `other`.
    pub feedback_type: Option<String>,
    /// `OnAccountSuppressionList` when SES did not even send the mail.
    pub sub_type: Option<String>,
    /// The id of this complaint.
    pub feedback_id: Option<String>,
    /// The program that reported it.
    pub user_agent: Option<String>,
    /// When the mail arrived at the recipient, by the report.
    pub arrived_at: Option<Timestamp>,
}

impl Complaint {
    /// Whether SES did not send the mail, since the address is on its suppression list: nobody complained again.
    pub fn is_of_suppression_list(&self) -> bool {
        self.sub_type.as_deref().is_some_and(|name| SUPPRESSED.contains(&name))
    }
}

/// A delay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delay {
    /// Who was not reached yet.
    pub recipients: Vec<Recipient>,
    /// Why: `MailboxFull`, `TransientCommunicationFailure` and others.
    pub delay_type: Option<String>,
    /// When SES will give up.
    pub expires_at: Option<Timestamp>,
}

/// The choices of a contact in a list that SES manages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    /// The list.
    pub contact_list: Option<String>,
    /// How the contact chose, such as `UnsubscribeHeader`.
    pub source: Option<String>,
    /// Whether the contact wants nothing of that list any more.
    pub unsubscribed_from_all: bool,
    /// The topics, as they are chosen now.
    pub topics: Vec<TopicChoice>,
}

/// A topic of a list, and whether a contact wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicChoice {
    /// Its name.
    pub topic: String,
    /// Whether its mail is wanted (`OptIn`).
    pub wanted: bool,
}

mailwright_core::names! {
    /// What SES found out about a mail that it received.
    pub enum Verdict {
        /// It is as it should be.
        Pass = "PASS",
        /// It is not.
        Fail = "FAIL",
        /// There was nothing to check, or no certain result.
        Gray = "GRAY",
        /// SES could not check it.
        ProcessingFailed = "PROCESSING_FAILED",
        /// It is not checked.
        Disabled = "DISABLED",
    }
}

/// What SES found out about a mail; `None` where it says nothing that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Verdicts {
    /// Whether it is no spam.
    pub spam: Option<Verdict>,
    /// Whether it has no virus.
    pub virus: Option<Verdict>,
    /// SPF (RFC 7208).
    pub spf: Option<Verdict>,
    /// DKIM (RFC 6376).
    pub dkim: Option<Verdict>,
    /// DMARC (RFC 7489).
    pub dmarc: Option<Verdict>,
}

/// A mail that SES received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inbound {
    /// The recipients of the envelope that a rule of SES matched.
    pub recipients: Vec<String>,
    /// How long SES took.
    pub processing_millis: Option<u64>,
    /// What SES found out.
    pub verdicts: Verdicts,
    /// What the sender's domain asks for after DMARC failed: `none`, `quarantine` or `reject`.
    pub dmarc_policy: Option<String>,
    /// What SES did with it.
    pub action: Option<InboundAction>,
    /// The mail as it was received, if it is in the notification. Bytes that are not UTF-8 survive only when SES was
    /// asked for base64.
    pub content: Option<Vec<u8>>,
}

/// What SES did with a mail that it received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboundAction {
    /// `SNS`, `S3`, `Bounce`, `Lambda`, `Stop` or `WorkMail`.
    pub kind: Option<String>,
    /// The bucket with the mail, for `S3`.
    pub bucket: Option<String>,
    /// Its key in the bucket, for `S3`.
    pub key: Option<String>,
}
