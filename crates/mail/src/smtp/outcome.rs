//! How an envelope or a message may fail, and what is known then.

use std::fmt;

use super::reply::Reply;

/// The command that was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// MAIL FROM.
    MailFrom,
    /// RCPT TO.
    RcptTo,
    /// DATA, or BDAT with the content.
    Data,
}

/// Why an envelope was not taken. No content was sent: the message is untouched.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EnvelopeError {
    /// The server refused, for now (4yz) or for good (5yz). The connection stays usable unless the reply is 421.
    #[error("{stage:?} was refused: {reply}")]
    Refused {
        /// The first command that was refused.
        stage: Stage,
        /// The server's reply to it.
        reply: Reply,
    },
    /// The connection broke or the server does not speak SMTP: try again on another one.
    #[error("the connection was lost: {error}")]
    Lost {
        /// Description of the error.
        error: String,
    },
}

/// Why a message may not have been accepted.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ContentError {
    /// The server refused the message, for now (4yz) or for good (5yz).
    #[error("the message was refused: {0}")]
    Refused(Reply),
    /// The server offers CHUNKING (RFC 3030) and does not take content by BDAT: it refused the command, or refused or
    /// broke off at a first chunk. Certainly not accepted, and the message is to go by DATA. If a refusal was about the
    /// message, it is heard then.
    #[error("the server offers CHUNKING and does not take BDAT: {error}")]
    NoChunks {
        /// What it did.
        error: String,
    },
    /// The connection broke before any of the last bytes was handed to the system: certainly not accepted.
    #[error("the connection was lost before the message was complete: {error}")]
    LostBefore {
        /// Description of the error.
        error: String,
    },
    /// The last bytes were handed to the system and no reply was seen: accepted or not, nobody can tell.
    #[error("the connection was lost before the server answered: {error}")]
    InDoubt {
        /// Description of the error.
        error: String,
    },
}

impl EnvelopeError {
    pub(super) fn lost(error: impl fmt::Display) -> Self {
        Self::Lost { error: error.to_string() }
    }
}

impl ContentError {
    pub(super) fn lost_before(error: impl fmt::Display) -> Self {
        Self::LostBefore { error: error.to_string() }
    }

    pub(super) fn no_chunks(error: impl fmt::Display) -> Self {
        Self::NoChunks { error: error.to_string() }
    }

    pub(super) fn in_doubt(error: impl fmt::Display) -> Self {
        Self::InDoubt { error: error.to_string() }
    }
}
