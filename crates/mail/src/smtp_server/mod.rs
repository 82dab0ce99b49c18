//! The receiving side of SMTP (RFC 5321): bounces, reports and inbound mail.
//!
//! ESMTP with SIZE (RFC 1870), 8BITMIME (RFC 6152), PIPELINING (RFC 2920), STARTTLS (RFC 3207), SMTPUTF8 (RFC 6531) and
//! ENHANCEDSTATUSCODES (RFC 2034). There is no AUTH, no CHUNKING and no relaying: who owns the server says of each
//! recipient whether it is wanted.
//!
//! [`Session`] is the protocol without I/O: bytes go in, replies and questions come out. [`serve`] drives a session on
//! a stream, every wait bounded. A line ends with CRLF alone: a bare CR or LF, and NUL, end the session, so that no two
//! servers can disagree where a message ends. Accepting connections and counting them is done elsewhere.

mod address;
mod budget;
mod command;
mod commands;
mod config;
mod connection;
mod content;
mod envelope;
mod reply;
mod session;
mod stage;
mod stream;
#[cfg(test)]
mod tests;

pub use address::Path;
pub use config::{Config, Limits, Timeouts};
pub use connection::{Receiver, Summary, refuse, serve};
pub use envelope::{Body, Envelope};
pub use reply::{Refusal, Verdict};
pub use session::{End, Session, Step};
pub use stage::Stage;
