//! Sends the content of a message: by DATA, or in chunks (BDAT, RFC 3030).
//!
//! Some servers offer CHUNKING and do not know BDAT. Such a server takes what follows for commands, and what follows
//! is written by users. So the first chunk on each connection is one line that we write ourselves, and its reply is
//! awaited. What another connection to the same name met says nothing: behind it may be another server.

use std::time::Duration;

use super::{Connection, State};
use crate::lines::split_line;
use crate::smtp::content::Encoder;
use crate::smtp::outcome::ContentError;
use crate::smtp::reply::Reply;
use crate::smtp::wire::{Interrupted, WireError};

/// How much content is written at once, at most. Most messages fit, so their content is one write.
const BLOCK: usize = 64 * 1024;
/// How much content is encoded at once.
const PIECE: usize = BLOCK / 4;
/// How many of the last bytes are written by themselves: the final dot and its line end, or as much of a chunk. No
/// server can take a message without them.
const LAST: usize = 3;
/// How long a refusal is waited for after the server broke off.
const LAST_WORDS: Duration = Duration::from_secs(2);

impl Connection {
    /// Sends the content, `header` (such as a DKIM signature, each line ended with CRLF; may be empty) before `raw`,
    /// after DATA up to the final dot, otherwise by `BDAT <bytes> LAST`, and reads the reply, which is positive after
    /// `Ok`. Call it only after `envelope` was `Ok`.
    ///
    /// Everything but the last bytes is written first. A server cannot accept a message without them, so a failure up
    /// to there is certain ([`ContentError::LostBefore`]); from there on it is not ([`ContentError::InDoubt`]). A server
    /// that refuses early is heard ([`ContentError::Refused`]), and the connection given up, for it may take the rest of
    /// the content for commands.
    ///
    /// Until the server has taken a chunk on this connection, the first line goes before the rest in a chunk of its
    /// own, and its reply is awaited. It should be harmless as a command. A server that refuses that chunk, whatever it
    /// says, or breaks off at it, has taken nothing ([`ContentError::NoChunks`]).
    pub async fn content(&mut self, header: &[u8], raw: &[u8]) -> Result<Reply, ContentError> {
        if std::mem::replace(&mut self.state, State::Broken) != State::Content {
            return Err(ContentError::lost_before("the server does not wait for content"));
        }
        let (header, raw) = if self.capabilities.chunking && !self.takes_chunks {
            self.first_chunk(header, raw).await?
        } else {
            (header, raw)
        };
        let last = match self.write_content(header, raw).await {
            Ok(last) => last,
            Err(interrupted) => {
                return Err(self.judge_break(interrupted.error, ContentError::lost_before).await);
            }
        };
        let reply = self.exchange(&last, self.timeouts.data_end, ContentError::in_doubt).await?;
        if reply.is_positive() {
            self.state = State::Idle;
            return Ok(reply);
        }
        if !reply.is_refusal() {
            return Err(ContentError::in_doubt(format_args!("unexpected reply to the message: {reply}")));
        }
        let refused = self.refused(reply);
        if matches!(&refused, ContentError::Refused(reply) if !reply.is_closing()) {
            // in chunks, what is left of the envelope then is not said (RFC 3030 section 2)
            self.state = if self.capabilities.chunking { State::Stale } else { State::Idle };
        }
        Err(refused)
    }

    /// Sends the first line as a chunk, and waits until the server has taken it; returns what is left of both parts.
    /// Since it is not the last chunk, nobody can have taken the message, whatever happens. Any refusal may be about
    /// BDAT, also one that does not say so. If it is about the message, it is heard again when that goes by DATA.
    async fn first_chunk<'c>(
        &mut self,
        header: &'c [u8],
        raw: &'c [u8],
    ) -> Result<(&'c [u8], &'c [u8]), ContentError> {
        let (line, header, raw) = split_first(header, raw);
        let mut content = Vec::with_capacity(line.len() + 2);
        let mut encoder = Encoder::for_bdat();
        encoder.push(line, &mut content);
        encoder.finish(&mut content);
        let mut chunk = format!("BDAT {}\r\n", content.len()).into_bytes();
        chunk.append(&mut content);
        match self.exchange(&chunk, self.timeouts.command, ContentError::no_chunks).await {
            Ok(reply) if reply.is_positive() => {
                self.takes_chunks = true;
                Ok((header, raw))
            }
            Ok(reply) | Err(ContentError::Refused(reply)) => Err(chunk_refused(&reply)),
            Err(error) => Err(error),
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

    /// Writes bytes that the server answers, and reads the reply, complete within `limit`. `lost` is what a break means
    /// once any of the bytes may have left.
    async fn exchange(
        &mut self,
        bytes: &[u8],
        limit: Duration,
        lost: impl FnOnce(String) -> ContentError,
    ) -> Result<Reply, ContentError> {
        let written = self.wire.write_unless_answered(bytes, self.timeouts.block).await;
        if let Err(Interrupted { error, handed_over }) = written {
            if !handed_over {
                return Err(self.judge_break(error, ContentError::lost_before).await);
            }
            // Without an error it was answered while the bytes were on their way; the answer is read below.
            if error.is_some() {
                return Err(self.judge_break(error, lost).await);
            }
        }
        let reply = self.wire.reply(limit).await.map_err(|error| lost(error.to_string()))?;
        Ok(reply.into())
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
            Ok(reply) if reply.is_refusal() => self.refused(reply),
            Ok(reply) => otherwise(format!("unexpected reply during the content: {reply}")),
            Err(late) => otherwise(error.unwrap_or(late).to_string()),
        }
    }

    /// What a refusal of a whole content is about: the message, or BDAT.
    fn refused(&self, reply: Reply) -> ContentError {
        if self.capabilities.chunking && reply.is_about_the_command() {
            chunk_refused(&reply)
        } else {
            ContentError::Refused(reply)
        }
    }
}

fn chunk_refused(reply: &Reply) -> ContentError {
    ContentError::no_chunks(format_args!("it answered {}", reply.codes()))
}

/// The first line of content, and what is left of both parts.
fn split_first<'c>(header: &'c [u8], raw: &'c [u8]) -> (&'c [u8], &'c [u8], &'c [u8]) {
    let first = if header.is_empty() { raw } else { header };
    let left = split_line(first).map_or(first, |(_, left)| left);
    let line = &first[..first.len() - left.len()];
    if header.is_empty() { (line, header, left) } else { (line, left, raw) }
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
