//! The content of a message, and what becomes of it.

use std::io;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _};

use super::{Next, Session, Stream};
use crate::smtp::script::{Answer, AtChunk, Received};

/// How much of a content is read before [`Answer::DropMidData`] breaks the connection.
const MID_DATA: usize = 64;

impl<S: Stream> Session<'_, S> {
    pub(super) async fn data(&mut self) -> io::Result<Next> {
        if !self.stream.buffer().is_empty() {
            self.shared.violation("content was sent before the reply to DATA");
        }
        if self.rcpt_to.is_empty() {
            self.reply(503, "5.5.1 RCPT first").await?;
            return Ok(Next::Command);
        }
        self.reply(354, "go ahead").await?;
        if self.answer == Answer::DropMidData {
            let mut part = [0; MID_DATA];
            self.stream.read_exact(&mut part).await?;
            return Ok(Next::Break);
        }
        let Some(data) = self.content().await? else { return Ok(Next::Close) };
        self.taken(data, 0).await
    }

    /// A part of the content, as many bytes as the command says (RFC 3030 section 2). It is read whatever the answer,
    /// unless the server takes no chunks.
    pub(super) async fn bdat(&mut self, line: &str) -> io::Result<Next> {
        match self.shared.options.at_chunk {
            AtChunk::Take => {}
            AtChunk::Refuse(code, text) => {
                self.reply(code, text).await?;
                return Ok(if code == 421 { Next::Close } else { Next::Command });
            }
            AtChunk::Close => return Ok(Next::Close),
        }
        let mut words = line.split_whitespace().skip(1);
        let length = words.next().and_then(|word| word.parse::<usize>().ok());
        let is_last = words.next().is_some_and(|word| word.eq_ignore_ascii_case("LAST"));
        let Some(length) = length else {
            self.reply(501, "5.5.4 how many bytes?").await?;
            return Ok(Next::Command);
        };
        if self.answer == Answer::DropMidData {
            let mut part = vec![0; length.min(MID_DATA)];
            self.stream.read_exact(&mut part).await?;
            return Ok(Next::Break);
        }
        let mut chunk = vec![0; length];
        self.stream.read_exact(&mut chunk).await?;
        if self.rcpt_to.is_empty() {
            self.reply(503, "5.5.1 RCPT first").await?;
            return Ok(Next::Command);
        }
        self.chunks.push(chunk);
        if !is_last {
            self.reply(250, "2.0.0 and the next").await?;
            return Ok(Next::Command);
        }
        let chunks = std::mem::take(&mut self.chunks);
        let data = chunks.concat();
        for line in data.split_inclusive(|byte| *byte == b'\n') {
            self.judge_line(line);
        }
        self.taken(data, chunks.len()).await
    }

    /// The content is here in whole.
    async fn taken(&mut self, data: Vec<u8>, chunks: usize) -> io::Result<Next> {
        let answer = self.answer;
        if let Answer::RefuseData(code, text) = answer {
            self.reset();
            self.reply(code, text).await?;
            return Ok(Next::Command);
        }
        if let Answer::Delay(time) = answer {
            // A client that goes away meanwhile was never told that its message is here: it is not.
            if let Some(next) = self.idle(time).await? {
                return Ok(next);
            }
        }
        let received = Received {
            mail_from: self.mail_from.take().unwrap_or_default(),
            rcpt_to: std::mem::take(&mut self.rcpt_to),
            data: if self.shared.options.keeps_contents { data } else { Vec::new() },
            chunks,
            connection: self.connection,
            at: Instant::now(),
            tls: self.tls,
            user: self.user.clone(),
        };
        self.shared.log.lock().unwrap().received.push(received);
        self.mails += 1;
        self.reset();
        match answer {
            Answer::DropAfterDot => return Ok(Next::Break),
            Answer::StallAfterDot => return self.stall().await,
            Answer::HoldAfterDot => self.shared.until_released().await,
            _ => {}
        }
        self.reply(250, "2.0.0 taken").await?;
        Ok(Next::Command)
    }

    /// The content up to the final dot, unstuffed; `None` when the connection ends before.
    async fn content(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut data = Vec::new();
        let mut line = Vec::new();
        loop {
            line.clear();
            if self.stream.read_until(b'\n', &mut line).await? == 0 || !line.ends_with(b"\n") {
                return Ok(None);
            }
            self.judge_line(&line);
            if line == b".\r\n" {
                return Ok(Some(data));
            }
            data.extend_from_slice(line.strip_prefix(b".").unwrap_or(&line));
        }
    }

    /// Notes what is wrong with a line of the content.
    fn judge_line(&self, line: &[u8]) {
        if !line.ends_with(b"\n") {
            self.shared.violation("a last line of the content without an end");
        } else if !line.ends_with(b"\r\n") {
            self.shared.violation("a bare line feed in the content");
        }
        if line.strip_suffix(b"\r\n").unwrap_or_default().contains(&b'\r') {
            self.shared.violation("a bare carriage return in the content");
        }
        if line.len() > 1000 {
            self.shared.violation(format!("a content line of {} bytes", line.len()));
        }
    }

    /// Waits, unless the client leaves before.
    async fn idle(&mut self, time: Duration) -> io::Result<Option<Next>> {
        if !self.stream.buffer().is_empty() {
            tokio::time::sleep(time).await;
            return Ok(None);
        }
        match tokio::time::timeout(time, self.stream.fill_buf()).await {
            Ok(Ok([])) => Ok(Some(Next::Close)),
            Ok(Ok(_)) => {
                tokio::time::sleep(time).await;
                Ok(None)
            }
            Ok(Err(error)) => Err(error),
            Err(_) => Ok(None),
        }
    }

    /// Reads without ever answering, until the client leaves.
    pub(super) async fn stall(&mut self) -> io::Result<Next> {
        tokio::io::copy(&mut self.stream, &mut tokio::io::sink()).await?;
        Ok(Next::Close)
    }
}
