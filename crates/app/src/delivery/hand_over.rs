//! How a hand-over ends, whatever protocol the next hop speaks.
//!
//! A transport translates its own answers into a [`HandOver`]; [`refusal`](super::refusal) does so for SMTP.
//! [`outcome`](super::outcome) says what follows for the mail, [`next_hop`](super::next_hop) what follows for the next
//! hop. Neither depends on a protocol.

use std::fmt;

/// How a hand-over ended.
#[derive(Debug)]
pub(super) enum HandOver {
    /// The next hop took the mail. Its reply, if it gave one.
    Accepted(Option<Reply>),
    /// It will never take this mail.
    Rejected(Rejection, Reply),
    /// It does not take this mail for now.
    Temporary(Reply),
    /// It takes no mail, or less mail, from this service, for a reason outside the mail.
    Refused(Refusal, Reply),
    /// The connection was lost before the content was complete: the mail was certainly not taken.
    Lost(String),
    /// The connection was lost after the content was complete: nobody knows whether the mail was taken.
    InDoubt(String),
}

/// Why a mail is never taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rejection {
    /// The address does not exist. `certain` is false if only the text says so, or if text and code disagree.
    Address { certain: bool },
    /// The recipient, whose address exists or may exist: a full mailbox, an unreachable host.
    Recipient,
    /// The sender's address.
    Sender,
    /// The size of the message.
    Size,
    /// The content of the message.
    Content,
}

/// The reason of a refusal that is outside the mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The session or the rate, for now.
    Session,
    /// The sending host, or the sender.
    Policy {
        /// Whether the reply was permanent (5xx).
        is_permanent: bool,
        /// Whether it was the reply to the sender's address.
        of_sender: bool,
    },
}

/// A reply of the next hop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reply {
    /// SMTP's code, or that which a mail server would give: 400 to 499 is temporary, 500 and more is permanent.
    pub(super) code: u16,
    /// SMTP's enhanced status code (RFC 3463).
    pub(super) enhanced: Option<(u8, u16, u16)>,
    /// The text, for people; the enhanced code stands in it as well.
    pub(super) text: String,
}

impl Reply {
    /// The codes without the text, which may name a recipient, or repeat what we said.
    pub(super) fn codes(&self) -> String {
        match self.enhanced {
            Some((class, subject, detail)) => format!("{} {class}.{subject}.{detail}", self.code),
            None => self.code.to_string(),
        }
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.code, self.text)
    }
}
