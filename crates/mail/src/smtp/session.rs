//! Sends messages over an open connection.

use std::fmt;
use std::time::Duration;

use super::config::Timeouts;
use super::reply::Reply;
use super::stuffing::DotStuffer;
use super::wire::{Interrupted, Wire, WireError};

/// How much content is written at once, at most. Most messages fit, so their content is one write.
const BLOCK: usize = 64 * 1024;
/// How much content is encoded at once.
const PIECE: usize = BLOCK / 4;
/// How long a refusal is waited for after the server broke off.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// How long a farewell may take.
const FAREWELL: Duration = Duration::from_secs(5);

/// A connection to a server, greeted and logged in. Made by [`Connection::open`].
pub struct Connection {
    wire: Wire,
    capabilities: Capabilities,
    timeouts: Timeouts,
    state: State,
    refusals: u32,
    /// Whether the last envelope was refused.
    was_refused: bool,
}

/// What the server said in EHLO, as far as it matters for messages.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Capabilities {
    pub(super) pipelining: bool,
    pub(super) size: bool,
    /// The largest message it takes, in bytes, where it said one.
    pub(super) max_size: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Ready for an envelope.
    Idle,
    /// Ready after RSET, for the server may still hold a part of the last envelope.
    Stale,
    /// The server waits for content.
    Content,
    /// The connection cannot be used any more, or is in the middle of an operation. If the operation's future is
    /// dropped, it stays in this state.
    Broken,
}

/// The command that was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// MAIL FROM.
    MailFrom,
    /// RCPT TO.
    RcptTo,
    /// DATA.
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
    /// The connection broke before any of the final dot was handed to the system: certainly not accepted.
    #[error("the connection was lost before the message was complete: {error}")]
    LostBefore {
        /// Description of the error.
        error: String,
    },
    /// The final dot was handed to the system and no reply was seen: accepted or not, nobody can tell.
    #[error("the connection was lost before the server answered: {error}")]
    InDoubt {
        /// Description of the error.
        error: String,
    },
}

impl ContentError {
    fn lost_before(error: impl fmt::Display) -> Self {
        Self::LostBefore { error: error.to_string() }
    }

    fn in_doubt(error: impl fmt::Display) -> Self {
        Self::InDoubt { error: error.to_string() }
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("state", &self.state)
            .field("tls", &self.tls())
            .field("capabilities", &self.capabilities)
            .finish_non_exhaustive()
    }
}

impl Connection {
    pub(super) fn new(wire: Wire, capabilities: Capabilities, timeouts: Timeouts) -> Self {
        Self { wire, capabilities, timeouts, state: State::Idle, refusals: 0, was_refused: false }
    }

    /// Envelopes that were refused on this connection. Servers slow a client down that meets many refusals, and hang up.
    pub fn refusals(&self) -> u32 {
        self.refusals
    }

    /// Whether another envelope can be sent: false after an I/O error, a 421, or an operation that was dropped.
    pub fn is_reusable(&self) -> bool {
        matches!(self.state, State::Idle | State::Stale)
    }

    /// Resolves when the server closes the connection, or says something, although it was not asked: the connection is
    /// of no use any more then.
    pub async fn interrupted(&mut self) {
        self.wire.interrupted().await;
    }

    /// Whether the connection is encrypted.
    pub fn tls(&self) -> bool {
        self.wire.is_tls()
    }

    /// The largest message that the server takes, in bytes, where it announced a limit (RFC 1870 section 4).
    pub fn max_size(&self) -> Option<usize> {
        self.capabilities.max_size
    }

    /// Announces a message of `size` bytes from `mail_from` (empty for the null sender) to `rcpt_to`. After `Ok` the
    /// server waits for [`Connection::content`].
    ///
    /// With PIPELINING this is one write, which also clears what a refused envelope left behind. After a refusal DATA is
    /// written when the recipient was taken: a server may count it as one more error otherwise, as Postfix does. An
    /// address that SMTP cannot carry is refused without asking the server (553).
    pub async fn envelope(
        &mut self,
        mail_from: &str,
        rcpt_to: &str,
        size: usize,
    ) -> Result<(), EnvelopeError> {
        if !mail_from.is_empty() && !is_path(mail_from) {
            return Err(cannot_be_written(Stage::MailFrom));
        }
        if !is_path(rcpt_to) {
            return Err(cannot_be_written(Stage::RcptTo));
        }
        let stale = match std::mem::replace(&mut self.state, State::Broken) {
            State::Idle => false,
            State::Stale => true,
            State::Content | State::Broken => return Err(lost("the connection cannot be used any more")),
        };
        // A connection that was kept for a while may have been closed, mostly with a 421, which is no answer to us.
        if self.wire.was_interrupted().await {
            return Err(lost("the server closed it, or spoke unasked, while it was idle"));
        }
        let size = if self.capabilities.size { format!(" SIZE={size}") } else { String::new() };
        let mut commands = vec![
            (Some(Stage::MailFrom), format!("MAIL FROM:<{mail_from}>{size}\r\n")),
            (Some(Stage::RcptTo), format!("RCPT TO:<{rcpt_to}>\r\n")),
            (Some(Stage::Data), "DATA\r\n".to_owned()),
        ];
        if stale {
            commands.insert(0, (None, "RSET\r\n".to_owned()));
        }
        self.converse(&commands).await
    }

    /// Sends the commands, as many at once as the server takes well, and judges the replies.
    async fn converse(&mut self, commands: &[(Option<Stage>, String)]) -> Result<(), EnvelopeError> {
        let together = match (self.capabilities.pipelining, self.was_refused) {
            (false, _) => 0,
            (true, false) => commands.len(),
            (true, true) => commands.len() - 1,
        };
        if together > 0 {
            let group: String = commands[..together].iter().map(|(_, line)| line.as_str()).collect();
            self.wire.write(group.as_bytes(), self.timeouts.command).await.map_err(lost)?;
        }
        let mut progress = Progress::default();
        for (at, (stage, line)) in commands.iter().enumerate() {
            if progress.refusal.is_some() && at >= together {
                break;
            }
            match self.ask(line, at >= together).await {
                Ok(reply) => progress.judge(*stage, reply)?,
                // What was refused stays refused, even if the rest of the answers got lost.
                Err(error) => return Err(progress.refusal.unwrap_or_else(|| lost(error))),
            }
        }
        let Some(refusal) = progress.refusal else {
            self.state = State::Content;
            self.was_refused = false;
            return Ok(());
        };
        self.refusals += 1;
        self.was_refused = true;
        self.state = match progress.last_accepted {
            Some(Stage::Data) => self.end_empty_message().await,
            Some(Stage::MailFrom | Stage::RcptTo) => State::Stale,
            None => State::Idle,
        };
        Err(refusal)
    }

    async fn ask(&mut self, line: &str, write: bool) -> Result<Reply, WireError> {
        if write {
            self.wire.write(line.as_bytes(), self.timeouts.command).await?;
        }
        Ok(self.wire.reply(self.timeouts.command).await?.into())
    }

    /// RFC 2920 section 3.1: a server that refused the recipient may still answer DATA with 354; then it is sent an
    /// empty message, which it refuses for want of a recipient.
    async fn end_empty_message(&mut self) -> State {
        match self.ask(".\r\n", true).await {
            Ok(reply) if !reply.is_closing() => State::Stale,
            _ => State::Broken,
        }
    }

    /// Sends the content, `header` (such as a DKIM signature, each line ended with CRLF; may be empty) before `raw`,
    /// then the final dot, and reads the reply, which is positive after `Ok`. Call it only after `envelope` was `Ok`.
    ///
    /// Everything but the final dot is written first. A server cannot accept a message without it, so a failure up to
    /// there is certain ([`ContentError::LostBefore`]); from the dot on it is not ([`ContentError::InDoubt`]). A server
    /// that refuses early is heard ([`ContentError::Refused`]), and the connection given up, for it may take the rest
    /// of the content for commands.
    pub async fn content(&mut self, header: &[u8], raw: &[u8]) -> Result<Reply, ContentError> {
        if std::mem::replace(&mut self.state, State::Broken) != State::Content {
            return Err(ContentError::LostBefore {
                error: "the server does not wait for content".to_owned(),
            });
        }
        if let Err(interrupted) = self.write_content(header, raw).await {
            return Err(self.judge_break(interrupted.error, ContentError::lost_before).await);
        }
        if let Err(interrupted) = self.wire.write_unless_answered(b".\r\n", self.timeouts.block).await {
            if !interrupted.handed_over {
                return Err(self.judge_break(interrupted.error, ContentError::lost_before).await);
            }
            // Without an error it was answered while the last bytes were on their way; the answer is read below.
            if interrupted.error.is_some() {
                return Err(self.judge_break(interrupted.error, ContentError::in_doubt).await);
            }
        }
        let reply: Reply =
            self.wire.reply(self.timeouts.data_end).await.map_err(ContentError::in_doubt)?.into();
        if reply.is_positive() {
            self.state = State::Idle;
            Ok(reply)
        } else if reply.is_refusal() {
            self.state = if reply.is_closing() { State::Broken } else { State::Idle };
            Err(ContentError::Refused(reply))
        } else {
            Err(ContentError::in_doubt(format_args!("unexpected reply to the message: {reply}")))
        }
    }

    async fn write_content(&mut self, header: &[u8], raw: &[u8]) -> Result<(), Interrupted> {
        let mut stuffer = DotStuffer::new();
        let mut block = Vec::with_capacity((header.len() + raw.len() + raw.len() / 64).min(BLOCK) + 16);
        for piece in header.chunks(PIECE).chain(raw.chunks(PIECE)) {
            // Every byte becomes two at most: a line end CRLF, a dot a pair of them.
            if block.len() + piece.len() * 2 > BLOCK {
                self.wire.write_unless_answered(&block, self.timeouts.block).await?;
                block.clear();
            }
            stuffer.push(piece, &mut block);
        }
        stuffer.finish(&mut block);
        self.wire.write_unless_answered(&block, self.timeouts.block).await
    }

    /// The outcome of a message that could not be written completely. A server that refuses may reply and close, so
    /// pending replies are read first; without a refusal the outcome is `otherwise`.
    async fn judge_break(
        &mut self,
        error: Option<WireError>,
        otherwise: impl FnOnce(String) -> ContentError,
    ) -> ContentError {
        // After a silence nothing more is to be expected.
        if let Some(error @ WireError::Timeout) = error {
            return otherwise(error.to_string());
        }
        match self.wire.reply(LAST_WORDS.min(self.timeouts.command)).await.map(Reply::from) {
            Ok(reply) if reply.is_refusal() => ContentError::Refused(reply),
            Ok(reply) => otherwise(format!("unexpected reply during the content: {reply}")),
            Err(late) => otherwise(error.unwrap_or(late).to_string()),
        }
    }

    /// RSET: clears an envelope, and finds out whether the connection is alive. Look at
    /// [`Connection::is_reusable`] afterwards. Not needed between messages.
    pub async fn reset(&mut self) {
        if !self.is_reusable() {
            self.state = State::Broken;
            return;
        }
        self.state = State::Broken;
        if let Ok(reply) = self.ask("RSET\r\n", true).await
            && reply.is_positive()
        {
            self.state = State::Idle;
        }
    }

    /// QUIT, when the connection is in a state for it, and closes. Waits a few seconds at most.
    pub async fn quit(mut self) {
        if self.is_reusable() && self.wire.write(b"QUIT\r\n", FAREWELL).await.is_ok() {
            // The reply changes nothing; waiting for it lets the server close first.
            let _ = self.wire.reply(FAREWELL.min(self.timeouts.command)).await;
        }
        self.wire.close(FAREWELL).await;
    }
}

/// How far an envelope got.
#[derive(Default)]
struct Progress {
    last_accepted: Option<Stage>,
    /// The first refusal; later commands are refused because of it.
    refusal: Option<EnvelopeError>,
}

impl Progress {
    /// Takes the next reply; `Err` when no further one is to be waited for. RSET has no stage.
    fn judge(&mut self, stage: Option<Stage>, reply: Reply) -> Result<(), EnvelopeError> {
        let Some(stage) = stage else {
            let cleared = reply.is_positive();
            return if cleared { Ok(()) } else { Err(lost(format_args!("RSET was refused: {reply}"))) };
        };
        let accepted = if stage == Stage::Data { reply.code == 354 } else { reply.is_positive() };
        if accepted {
            self.last_accepted = Some(stage);
            return Ok(());
        }
        if !reply.is_refusal() {
            let unexpected = || lost(format_args!("unexpected reply to {stage:?}: {reply}"));
            return Err(self.refusal.take().unwrap_or_else(unexpected));
        }
        let closing = reply.is_closing();
        let refusal = self.refusal.get_or_insert(EnvelopeError::Refused { stage, reply });
        if closing { Err(refusal.clone()) } else { Ok(()) }
    }
}

/// Whether `address` can stand in a path: printable ASCII without brackets (RFC 5321 section 4.5.3.1.3: 256 bytes with
/// the brackets). Everything else was refused where the address was parsed; this keeps a mistake from becoming a
/// command.
fn is_path(address: &str) -> bool {
    (1..=254).contains(&address.len())
        && address.bytes().all(|b| b.is_ascii_graphic() && b != b'<' && b != b'>')
}

fn cannot_be_written(stage: Stage) -> EnvelopeError {
    let reply = Reply::synthetic(553, (5, 1, 3), "the address cannot be written in SMTP");
    EnvelopeError::Refused { stage, reply }
}

fn lost(error: impl fmt::Display) -> EnvelopeError {
    EnvelopeError::Lost { error: error.to_string() }
}
