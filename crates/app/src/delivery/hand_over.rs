//! How a hand-over ends, whatever protocol the next hop speaks.
//!
//! A transport translates its own answers into a [`HandOver`]; [`refusal`](super::refusal) does so for SMTP.
//! [`outcome`](super::outcome) says what follows for the mail, [`next_hop`](super::next_hop) what follows for the next
//! hop. Neither depends on a protocol.

use std::fmt;

/// How a hand-over ended.
#[derive(Debug)]
pub(super) enum HandOver {
    /// The next hop took the mail. A reply where it gave one.
    Accepted(Option<Reply>),
    /// It will never take this mail.
    Rejected(Rejection, Reply),
    /// It does not take this mail for now.
    Temporary(Reply),
    /// It takes nothing of us, or not so much, which says nothing about the mail.
    Refused(Refusal, Reply),
    /// The connection was lost before the content was complete: the mail was certainly not taken.
    Lost(String),
    /// The connection was lost after the content was complete: taken or not, nobody can tell.
    InDoubt(String),
}

/// Why a mail is never taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rejection {
    /// There is no such address. Not `certain` where only the text says so, or where the text says something else.
    Address { certain: bool },
    /// The recipient, whose address exists or may exist: a full mailbox, an unreachable host.
    Recipient,
    /// The sender's address.
    Sender,
    /// The size of the message.
    Size,
    /// What the message says.
    Content,
}

/// What is refused of us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The session or the rate, for now.
    Session,
    /// That it is us, or this sender, who sends.
    Policy {
        /// Not only for now.
        is_permanent: bool,
        /// It was said of the sender's address.
        of_sender: bool,
    },
}

/// What the next hop said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reply {
    /// SMTP's code or, over HTTP, the status. 400 to 499 is for now in SMTP, 500 and more for good.
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
