//! The name of the server, and its limits.

use std::sync::Arc;
use std::time::Duration;

use super::budget::Budget;

/// The configuration of a server, shared by its sessions.
#[derive(Debug, Clone)]
pub struct Config {
    /// Our host name, in the greeting and in `Received`.
    pub name: String,
    /// Whether a client that talks before it is greeted is refused (554). Default true.
    pub refuse_early_talkers: bool,
    /// What a session may contain.
    pub limits: Limits,
    /// How long a session may take.
    pub timeouts: Timeouts,
    /// How many bytes of messages its sessions hold.
    pub(super) held: Arc<Budget>,
}

impl Config {
    /// The defaults, for a server with this host name.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            refuse_early_talkers: true,
            limits: Limits::default(),
            timeouts: Timeouts::default(),
            held: Arc::default(),
        }
    }
}

/// What a session may contain. Beyond the limits of a message the message is refused; beyond those of a session the
/// client gets 421 and the connection is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The largest message, in bytes, announced by SIZE. Default 25 MiB.
    pub message_size: usize,
    /// How much of a message that is refused is read and thrown away, so that its sender sees the reply, in bytes. The
    /// connection is closed after that. Default 25 MiB.
    pub discarded: usize,
    /// The most bytes of messages of all connections together that are received and not stored yet. Beyond it a message
    /// is refused for now (452). Default 256 MiB.
    pub content_budget: usize,
    /// The longest line of a message, without CRLF, in bytes; RFC 5321 section 4.5.3.1.6 asks for 998. Default 64 KiB.
    pub content_line: usize,
    /// The most recipients of a message; RFC 5321 section 4.5.3.1.8 asks for 100. Default 100.
    pub recipients: usize,
    /// The most messages of a session. Default 100.
    pub messages: u32,
    /// The most commands of a session. Default 5,000.
    pub commands: u32,
    /// The most refusals for good (5yz) of a session, recipients included. Default 20.
    pub errors: u32,
    /// The most unknown commands of a session. Default 5.
    pub unknown_commands: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message_size: 25 * 1024 * 1024,
            discarded: 25 * 1024 * 1024,
            content_budget: 256 * 1024 * 1024,
            content_line: 64 * 1024,
            recipients: 100,
            messages: 100,
            commands: 5_000,
            errors: 20,
            unknown_commands: 5,
        }
    }
}

/// How long each part of a session may take. RFC 5321 section 4.5.3.2 asks servers for 5 min between commands; 3 min is
/// what it gives clients for a block of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// How long a client is watched for early talk before it is greeted. Default zero.
    pub greeting: Duration,
    /// A command, from the last reply to its end. Default 5 min.
    pub command: Duration,
    /// The wait for any content at all. Default 3 min.
    pub block: Duration,
    /// A whole message, from 354 to the final dot. Default 30 min.
    pub message: Duration,
    /// The slowest rate of content, in bytes per second; the time for a block is granted in addition. Default 512.
    pub slowest: u32,
    /// The session: no command is taken after it, but a message that has begun has its own time. Default 1 h.
    pub session: Duration,
    /// Writing replies, which takes long only when the client does not read. Default 1 min.
    pub write: Duration,
    /// The TLS handshake. Default 30 s.
    pub handshake: Duration,
    /// The verdict on a recipient or a message; the client is told to try again after it. Default 4 min, which is less
    /// than clients wait.
    pub verdict: Duration,
    /// How long a message may still take when the server shuts down. Default 10 s.
    pub grace: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            greeting: Duration::ZERO,
            command: Duration::from_mins(5),
            block: Duration::from_mins(3),
            message: Duration::from_mins(30),
            slowest: 512,
            session: Duration::from_hours(1),
            write: Duration::from_mins(1),
            handshake: Duration::from_secs(30),
            verdict: Duration::from_mins(4),
            grace: Duration::from_secs(10),
        }
    }
}
