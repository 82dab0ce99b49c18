//! Sends messages over an open connection.

use std::fmt;
use std::time::Duration;

use super::config::Timeouts;
use super::content::Encoder;
use super::opening::Opening;
use super::outcome::{ContentError, EnvelopeError, Stage};
use super::reply::Reply;
use super::wire::{Interrupted, Wire, WireError};

/// How much content is written at once, at most. Most messages fit, so their content is one write.
const BLOCK: usize = 64 * 1024;
/// How much content is encoded at once.
const PIECE: usize = BLOCK / 4;
/// How many of the last bytes are written by themselves: the final dot and its line end, or as much of a chunk. No server
/// can take a message without them.
const LAST: usize = 3;
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
        Self { wire, capabilities, timeouts, state, refusals: 0, was_refused: false, opening }
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

    /// Sends the content, `header` (such as a DKIM signature, each line ended with CRLF; may be empty) before `raw`, after
    /// DATA up to the final dot, otherwise by `BDAT <bytes> LAST`, and reads the reply, which is positive after `Ok`. Call
    /// it only after `envelope` was `Ok`.
    ///
    /// Everything but the last bytes is written first. A server cannot accept a message without them, so a failure up to
    /// there is certain ([`ContentError::LostBefore`]); from there on it is not ([`ContentError::InDoubt`]). A server that
    /// refuses early is heard ([`ContentError::Refused`]), and the connection given up, for it may take the rest of the
    /// content for commands.
    pub async fn content(&mut self, header: &[u8], raw: &[u8]) -> Result<Reply, ContentError> {
        if std::mem::replace(&mut self.state, State::Broken) != State::Content {
            return Err(ContentError::LostBefore {
                error: "the server does not wait for content".to_owned(),
            });
        }
        let last = match self.write_content(header, raw).await {
            Ok(last) => last,
            Err(interrupted) => {
                return Err(self.judge_break(interrupted.error, ContentError::lost_before).await);
            }
        };
        if let Err(interrupted) = self.wire.write_unless_answered(&last, self.timeouts.block).await {
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
            self.state = if reply.is_closing() {
                State::Broken
            } else if self.capabilities.chunking {
                // what is left of the envelope then is not said (RFC 3030 section 2)
                State::Stale
            } else {
                State::Idle
            };
            Err(ContentError::Refused(reply))
        } else {
            Err(ContentError::in_doubt(format_args!("unexpected reply to the message: {reply}")))
        }
    }

    /// Writes all but the last bytes, and returns these.
    async fn write_content(&mut self, header: &[u8], raw: &[u8]) -> Result<Vec<u8>, Interrupted> {
        let mut block = Vec::with_capacity((header.len() + raw.len() + raw.len() / 64).min(BLOCK) + 32);
        let mut encoder = if self.capabilities.chunking {
            block.extend_from_slice(format!("BDAT {} LAST\r\n", length_by_bdat(header, raw)).as_bytes());
            Encoder::for_bdat()
        } else {
            Encoder::for_data()
        };
        for piece in pieces(header, raw) {
            // Every byte becomes two at most: a line end CRLF, a dot a pair of them.
            if block.len() + piece.len() * 2 > BLOCK {
                let written = block.len() - LAST;
                self.wire.write_unless_answered(&block[..written], self.timeouts.block).await?;
                block.drain(..written);
            }
            encoder.push(piece, &mut block);
        }
        encoder.finish(&mut block);
        if !self.capabilities.chunking {
            block.extend_from_slice(b".\r\n");
        }
        // there are as many: a dot with its line end, or a command
        let last = block.split_off(block.len() - LAST);
        self.wire.write_unless_answered(&block, self.timeouts.block).await?;
        Ok(last)
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

/// The content as it is encoded, piece by piece.
fn pieces<'c>(header: &'c [u8], raw: &'c [u8]) -> impl Iterator<Item = &'c [u8]> {
    header.chunks(PIECE).chain(raw.chunks(PIECE))
}

/// How many bytes content has that is sent by BDAT.
fn length_by_bdat(header: &[u8], raw: &[u8]) -> usize {
    let (mut encoder, mut block, mut length) = (Encoder::for_bdat(), Vec::new(), 0);
    for piece in pieces(header, raw) {
        encoder.push(piece, &mut block);
        length += block.len();
        block.clear();
    }
    encoder.finish(&mut block);
    length + block.len()
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
