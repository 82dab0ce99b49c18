//! What the script of a server answers, and what a server remembers.

use std::time::{Duration, Instant};

/// What the server does with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Takes the message.
    Accept,
    /// Answers MAIL FROM with this reply.
    RefuseMail(u16, &'static str),
    /// Answers RCPT TO with this reply.
    RefuseRcpt(u16, &'static str),
    /// Takes the whole content and answers its end, the final dot or BDAT, with this reply.
    RefuseData(u16, &'static str),
    /// Breaks the connection instead of answering RCPT TO.
    DropAtRcpt,
    /// Breaks the connection when a part of the content has come. A client can tell this from
    /// [`Answer::DropAfterDot`] only when the content is larger than what the kernel buffers (a few MB).
    DropMidData,
    /// Takes the whole content, counts it as received and breaks the connection without a reply.
    DropAfterDot,
    /// Takes the message, but answers the final dot only after this time.
    Delay(Duration),
    /// Never answers RCPT TO and keeps the connection open.
    StallForever,
    /// Takes the whole content, counts it as received, never answers and keeps the connection open.
    StallAfterDot,
    /// Takes the whole content, counts it as received, and answers after
    /// [`ScriptedServer::release`](super::ScriptedServer::release).
    HoldAfterDot,
}

/// A message whose content came in whole and was taken (or would have been, for [`Answer::DropAfterDot`] and
/// [`Answer::StallAfterDot`]).
#[derive(Clone, Debug)]
pub struct Received {
    /// The envelope sender, empty for the null sender.
    pub mail_from: String,
    /// The envelope recipients.
    pub rcpt_to: Vec<String>,
    /// The content, without the dots added for transport; empty where the server was told to keep none.
    pub data: Vec<u8>,
    /// In how many chunks it came by BDAT; 0 where it came by DATA.
    pub chunks: usize,
    /// The connection it came on, counted from 1 over the life of the server.
    pub connection: u64,
    /// When its end came.
    pub at: Instant,
    /// Whether the connection was encrypted.
    pub tls: bool,
    /// Who had logged in.
    pub user: Option<String>,
}

/// One answer that was given for a recipient.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// The recipient.
    pub to: String,
    /// What the script answered.
    pub answer: Answer,
    /// When RCPT TO came.
    pub at: Instant,
    /// The connection it came on.
    pub connection: u64,
}

/// What a server makes of BDAT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AtChunk {
    /// Takes the chunk.
    Take,
    /// Answers with this reply without reading the chunk.
    Refuse(u16, &'static str),
    /// Closes the connection without a reply.
    Close,
}

/// The script of a server.
pub(super) type Script = dyn Fn(&str, u32) -> Answer + Send + Sync;
