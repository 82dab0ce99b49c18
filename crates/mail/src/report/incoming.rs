//! What a received message turns out to be.

use std::net::IpAddr;

use mailwright_core::names;
use mailwright_core::time::Timestamp;

/// How much of a message is looked at, in bytes: reports come before the mail that they return.
pub const MAX_READ: usize = 1024 * 1024;

/// What a received message is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Incoming {
    /// News of a delivery: a delivery status notification, or a notice in words that says the same.
    Dsn(Dsn),
    /// A report about abuse, or about a failed authentication. Not all are complaints: see
    /// [`FeedbackType::is_complaint`].
    Arf(Arf),
    /// An answer that a machine wrote. The mail that it answers was delivered.
    AutoReply(AutoReply),
    /// A disposition notification (RFC 8098): somebody saw the mail, or deleted it unseen. It was delivered.
    Mdn(Mdn),
    /// An ordinary mail.
    Other,
}

/// News of a delivery.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dsn {
    /// Whether it was read from fields (RFC 3464). Otherwise it was read from words, and recipients are guesses.
    pub is_structured: bool,
    /// What became of each recipient; at least one, at most 100.
    pub reports: Vec<RecipientReport>,
    /// The host that reports, without its type.
    pub reporting_mta: Option<String>,
    /// The `ENVID` that the mail was sent with (RFC 3461 section 4.4), xtext decoded.
    pub envelope_id: Option<String>,
    /// What is known of the mail that this is about.
    pub original: Option<Original>,
}

/// What became of one recipient.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecipientReport {
    /// The recipient as the reporting host knows it, without its type. Not always an address: it may be a bare name.
    pub final_recipient: Option<String>,
    /// The recipient as the sender wrote it, without its type, xtext decoded.
    pub original_recipient: Option<String>,
    /// What the host did.
    pub action: Action,
    /// The enhanced status code, such as `5.1.1`.
    pub status: Option<(u8, u16, u16)>,
    /// What the next host said, or the notice.
    pub diagnostic: Option<Diagnostic>,
    /// The host that refused or took the mail, without its type.
    pub remote_mta: Option<String>,
    /// When delivery was last tried.
    pub last_attempt: Option<Timestamp>,
}

impl RecipientReport {
    /// A report of which only the action is known.
    pub(super) fn of(action: Action) -> Self {
        Self {
            final_recipient: None,
            original_recipient: None,
            action,
            status: None,
            diagnostic: None,
            remote_mta: None,
            last_attempt: None,
        }
    }
}

names! {
    /// What a host did with a recipient (RFC 3464 section 2.3.3).
    pub enum Action {
        /// It gave up.
        Failed = "failed",
        /// It has not succeeded yet, and goes on trying.
        Delayed = "delayed",
        /// The mail is in the mailbox.
        Delivered = "delivered",
        /// The mail went on to a host that sends no reports.
        Relayed = "relayed",
        /// The mail went on to several addresses.
        Expanded = "expanded",
    }
}

/// Why it came as it did, as a person reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The kind of text: `smtp` for a server's reply, `x-` and more for others, `text` for the words of a notice;
    /// empty when the report names none. Lower case.
    pub kind: String,
    /// One line, at most 2 KiB, without control characters and without invisible ones.
    pub text: String,
}

/// A report about a mail (RFC 5965), in that form or in one that a provider uses instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arf {
    /// What it is about.
    pub feedback_type: FeedbackType,
    /// When the mail arrived there.
    pub arrival: Option<Timestamp>,
    /// The address that the mail came from.
    pub source_ip: Option<IpAddr>,
    /// The envelope sender of the mail.
    pub original_mail_from: Option<String>,
    /// The recipients, at most 100. Those of which the provider says that they are redacted are left out; others may
    /// still be tokens in place of addresses (RFC 6590).
    pub original_rcpt_to: Vec<String>,
    /// Domains that the report is about, at most 20.
    pub reported_domains: Vec<String>,
    /// The program that made the report.
    pub user_agent: Option<String>,
    /// The `ENVID` that the mail was sent with.
    pub envelope_id: Option<String>,
    /// How many such mails this stands for; 1 when it says nothing.
    pub incidents: u32,
    /// What is known of the mail.
    pub original: Option<Original>,
}

names! {
    /// What a report is about (RFC 5965 section 7.3, RFC 6430, RFC 6591).
    pub enum FeedbackType {
        /// Somebody does not want the mail.
        Abuse = "abuse",
        /// Somebody holds the mail for a fraud.
        Fraud = "fraud",
        /// A virus was found in the mail.
        Virus = "virus",
        /// Something else is wrong with the mail.
        Other = "other",
        /// Somebody wants no more of it: older than the standard, and still sent.
        OptOut = "opt-out",
        /// Somebody took the mail out of the spam folder.
        NotSpam = "not-spam",
        /// SPF, DKIM or DMARC did not pass.
        AuthFailure = "auth-failure",
        /// A type that is not registered, or none.
        Unknown = "unknown",
    }
}

impl FeedbackType {
    /// Whether somebody complains. What is not known to be a complaint is none.
    pub fn is_complaint(self) -> bool {
        match self {
            Self::Abuse | Self::Fraud | Self::Virus | Self::Other | Self::OptOut => true,
            Self::NotSpam | Self::AuthFailure | Self::Unknown => false,
        }
    }
}

/// An answer that a machine wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AutoReply {
    /// What it says.
    pub kind: ReplyKind,
    /// Which mail it answers, as far as its header says so.
    pub original: Option<Original>,
}

names! {
    /// What an automatic answer says.
    pub enum ReplyKind {
        /// Somebody is away.
        Vacation = "vacation",
        /// The sender shall prove to be a person before the mail is shown.
        Challenge = "challenge",
        /// Somebody has another address, or none there.
        AddressChanged = "address-changed",
        /// The mail has become a ticket, or was received.
        Ticket = "ticket",
        /// None of these, or it cannot be told.
        Other = "other",
    }
}

/// A disposition notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mdn {
    /// What is known of the mail.
    pub original: Option<Original>,
}

/// What a message tells about the mail that it is about. Anybody can write this.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Original {
    /// The `Message-ID` of the returned mail or header, without angle brackets.
    pub message_id: Option<String>,
    /// Its `Return-Path`: the envelope sender, if the host wrote it down.
    pub return_path: Option<String>,
    /// Its `From`.
    pub from: Option<String>,
    /// Whom it was for: `To`, `Cc`, `Bcc`, and what hosts add, such as `Delivered-To`; at most 50.
    pub recipients: Vec<String>,
    /// What the message itself names with `In-Reply-To`, then with `References` from the last on, without angle
    /// brackets; at most 20.
    pub answers: Vec<String>,
}
