//! How far a session is, for whoever decides which connection is closed when there are too many.

use super::session::{Phase, Session};

/// Content counts in blocks of so many bytes: a client that sends a byte now and then gets no further.
const BLOCK: u64 = 16 * 1024;

/// How far a session is with a message. What comes later is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// The client is connected.
    Connected,
    /// It has introduced itself.
    Introduced,
    /// The handshake of TLS is under way.
    Handshake,
    /// The connection is encrypted.
    Secured,
    /// The client has introduced itself on the encrypted connection.
    SecurelyIntroduced,
    /// A message has begun.
    Sender,
    /// The first recipient is being decided on.
    Recipient,
    /// So many recipients were accepted.
    Recipients(usize),
    /// So many blocks of 16 KB of its content came in.
    Content(u64),
    /// The message is complete, and is being taken.
    Taking,
}

impl Stage {
    /// Whether a recipient was accepted: a message for us is coming.
    pub fn has_recipient(self) -> bool {
        self >= Self::Recipients(0)
    }
}

impl Session {
    /// How far the session is.
    pub fn stage(&self) -> Stage {
        let recipients = self.envelope.recipients.len();
        match &self.phase {
            Phase::Taking => Stage::Taking,
            Phase::Content(_) => Stage::Content(self.received() / BLOCK),
            _ if recipients > 0 => Stage::Recipients(recipients),
            Phase::Recipient(_) => Stage::Recipient,
            Phase::Handshake => Stage::Handshake,
            _ if self.has_sender => Stage::Sender,
            _ => match (self.envelope.tls.is_some(), self.is_introduced) {
                (false, false) => Stage::Connected,
                (false, true) => Stage::Introduced,
                (true, false) => Stage::Secured,
                (true, true) => Stage::SecurelyIntroduced,
            },
        }
    }
}
