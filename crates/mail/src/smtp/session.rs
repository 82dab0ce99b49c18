//! Sends messages over an open connection: their envelopes here, their content in [`transfer`].

mod transfer;

use std::fmt;
use std::time::Duration;

use super::config::Timeouts;
use super::opening::Opening;
use super::outcome::{EnvelopeError, Stage};
use super::reply::Reply;
use super::wire::{Wire, WireError};

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
    /// Whether the server has taken a chunk on this connection.
    takes_chunks: bool,
    pub(super) opening: Opening,
}

/// What the server said in EHLO, as far as it matters for messages.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Capabilities {
    pub(super) pipelining: bool,
    /// It takes content by BDAT, and we want that.
    pub(super) chunking: bool,
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
    /// The server waits for content, or for BDAT.
    Content,
    /// The connection cannot be used any more, or is in the middle of an operation. If the operation's future is
    /// dropped, it stays in this state.
    Broken,
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
        let (state, opening) = (State::Idle, Opening::default());
        let (refusals, was_refused, takes_chunks) = (0, false, false);
        Self { wire, capabilities, timeouts, state, refusals, was_refused, takes_chunks, opening }
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

    /// Whether content goes by BDAT.
    pub fn sends_chunks(&self) -> bool {
        self.capabilities.chunking
    }

    /// Has the content of messages that follow go by DATA. It does nothing while the server waits for content.
    pub fn stop_chunking(&mut self) {
        if self.is_reusable() {
            self.capabilities.chunking = false;
        }
    }

    /// Announces a message of `size` bytes from `mail_from` (empty for the null sender) to `rcpt_to`. After `Ok` the
    /// server waits for [`Connection::content`].
    ///
    /// With PIPELINING this is one write, which also clears what a refused envelope left behind. After a refusal DATA is
    /// written when the recipient was taken: a server may count it as one more error otherwise, as Postfix does. With
    /// CHUNKING there is no DATA, and BDAT comes with the content: it must not be on its way before the recipient is taken
    /// and the caller has written down that the content follows. An address that SMTP cannot carry is refused without
    /// asking the server (553).
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
            State::Content | State::Broken => {
                return Err(EnvelopeError::lost("the connection cannot be used any more"));
            }
        };
        // A connection that was kept for a while may have been closed, mostly with a 421, which is no answer to us.
        if self.wire.was_interrupted().await {
            return Err(EnvelopeError::lost("the server closed it, or spoke unasked, while it was idle"));
        }
        let size = if self.capabilities.size { format!(" SIZE={size}") } else { String::new() };
        let mut commands = vec![
            (Some(Stage::MailFrom), format!("MAIL FROM:<{mail_from}>{size}\r\n")),
            (Some(Stage::RcptTo), format!("RCPT TO:<{rcpt_to}>\r\n")),
        ];
        if !self.capabilities.chunking {
            commands.push((Some(Stage::Data), "DATA\r\n".to_owned()));
        }
        if stale {
            commands.insert(0, (None, "RSET\r\n".to_owned()));
        }
        self.converse(&commands).await
    }

    /// Sends the commands, as many at once as the server takes well, and judges the replies.
    async fn converse(&mut self, commands: &[(Option<Stage>, String)]) -> Result<(), EnvelopeError> {
        let has_data = commands.iter().any(|(stage, _)| *stage == Some(Stage::Data));
        let together = match (self.capabilities.pipelining, self.was_refused && has_data) {
            (false, _) => 0,
            (true, false) => commands.len(),
            (true, true) => commands.len() - 1,
        };
        if together > 0 {
            let group: String = commands[..together].iter().map(|(_, line)| line.as_str()).collect();
            self.wire.write(group.as_bytes(), self.timeouts.command).await.map_err(EnvelopeError::lost)?;
        }
        let mut progress = Progress::default();
        for (at, (stage, line)) in commands.iter().enumerate() {
            if progress.refusal.is_some() && at >= together {
                break;
            }
            match self.ask(line, at >= together).await {
                Ok(reply) => progress.judge(*stage, reply)?,
                // What was refused stays refused, even if the rest of the answers got lost.
                Err(error) => return Err(progress.refusal.unwrap_or_else(|| EnvelopeError::lost(error))),
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
            return if cleared {
                Ok(())
            } else {
                Err(EnvelopeError::lost(format_args!("RSET was refused: {reply}")))
            };
        };
        let accepted = if stage == Stage::Data { reply.code == 354 } else { reply.is_positive() };
        if accepted {
            self.last_accepted = Some(stage);
            return Ok(());
        }
        if !reply.is_refusal() {
            let unexpected = || EnvelopeError::lost(format_args!("unexpected reply to {stage:?}: {reply}"));
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
