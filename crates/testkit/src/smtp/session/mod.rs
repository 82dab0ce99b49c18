//! One connection: commands in, replies out.

mod content;
mod login;

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use super::script::Answer;
use super::shared::{Counted, Shared};

/// How a session goes on after a command.
enum Next {
    Command,
    StartTls,
    /// Close with a reset, so that the client sees a broken connection.
    Break,
    Close,
}

impl Shared {
    pub(in crate::smtp) async fn serve(&self, stream: TcpStream) -> io::Result<()> {
        let connection = self.connections.fetch_add(1, Ordering::Relaxed) + 1;
        stream.set_nodelay(true)?;
        let (counted, is_too_many) = self.count();
        if is_too_many {
            let mut session = Session::new(self, BufReader::new(stream), connection, false);
            return session.reply(421, "4.7.0 too many connections").await;
        }
        if let Some(certificate) = &self.options.implicit_tls {
            let stream = TlsAcceptor::from(Arc::clone(&certificate.server)).accept(stream).await?;
            let mut session = Session::new(self, BufReader::new(stream), connection, true);
            session.counted = Some(counted);
            session.run(true).await?;
            return Ok(());
        }
        let mut session = Session::new(self, BufReader::new(stream), connection, false);
        session.counted = Some(counted);
        if let Next::StartTls = session.run(true).await? {
            let certificate = self.options.starttls.as_ref().expect("STARTTLS was offered");
            let (counted, stream) = (session.counted, session.stream.into_inner());
            let stream = TlsAcceptor::from(Arc::clone(&certificate.server)).accept(stream).await?;
            let mut session = Session::new(self, BufReader::new(stream), connection, true);
            session.counted = counted;
            session.run(false).await?;
        }
        Ok(())
    }
}

/// Streams a session can run on, which know how to break.
trait Stream: AsyncRead + AsyncWrite + Unpin + Send {
    /// Makes closing a reset.
    fn reset_on_close(&self);
}

impl Stream for TcpStream {
    fn reset_on_close(&self) {
        let _ = self.set_zero_linger();
    }
}

impl Stream for tokio_rustls::server::TlsStream<TcpStream> {
    fn reset_on_close(&self) {
        let _ = self.get_ref().0.set_zero_linger();
    }
}

struct Session<'a, S> {
    /// First, so that the connection counts no more when the client sees its end.
    counted: Option<Counted<'a>>,
    shared: &'a Shared,
    stream: BufReader<S>,
    connection: u64,
    tls: bool,
    user: Option<String>,
    mail_from: Option<String>,
    rcpt_to: Vec<String>,
    /// What the script said about the recipients so far; the last that is not plain acceptance counts.
    answer: Answer,
    /// What came of a content by BDAT so far.
    chunks: Vec<Vec<u8>>,
    mails: usize,
}

impl<'a, S: Stream> Session<'a, S> {
    fn new(shared: &'a Shared, stream: BufReader<S>, connection: u64, tls: bool) -> Self {
        Self {
            counted: None,
            shared,
            stream,
            connection,
            tls,
            user: None,
            mail_from: None,
            rcpt_to: Vec::new(),
            answer: Answer::Accept,
            chunks: Vec::new(),
            mails: 0,
        }
    }

    async fn run(&mut self, greet: bool) -> io::Result<Next> {
        if greet {
            let greeting = *self.shared.greeting.lock().unwrap();
            if let Some((code, text)) = greeting {
                self.reply(code, text).await?;
                return Ok(Next::Close);
            }
            self.reply(220, "testkit ESMTP").await?;
        }
        loop {
            let Some(line) = self.line().await? else { return Ok(Next::Close) };
            let next = self.command(&line).await?;
            match next {
                Next::Command => {}
                Next::Break => {
                    self.stream.get_ref().reset_on_close();
                    return Ok(next);
                }
                Next::StartTls | Next::Close => return Ok(next),
            }
        }
    }

    async fn command(&mut self, line: &str) -> io::Result<Next> {
        let upper = line.to_ascii_uppercase();
        let verb = upper.split([' ', ':']).next().unwrap_or_default();
        match verb {
            "EHLO" | "HELO" => {
                let name = line.split_whitespace().nth(1).unwrap_or_default().to_owned();
                self.shared.log.lock().unwrap().helo_names.push(name);
                if verb == "EHLO" { self.ehlo().await? } else { self.reply(250, "testkit").await? }
            }
            "STARTTLS" if self.shared.options.starttls.is_some() && !self.tls => {
                self.reply(220, "go ahead").await?;
                return Ok(Next::StartTls);
            }
            "AUTH" if self.shared.options.auth.is_some() => self.authenticate(line).await?,
            "MAIL" => return self.mail(line).await,
            "RCPT" => return self.rcpt(line).await,
            "DATA" => return self.data().await,
            "BDAT" if self.shared.options.chunking => return self.bdat(line).await,
            "RSET" => {
                self.reset();
                self.reply(250, "2.0.0 reset").await?;
            }
            "NOOP" => self.reply(250, "2.0.0 ok").await?,
            "QUIT" => {
                self.counted = None;
                self.reply(221, "2.0.0 bye").await?;
                return Ok(Next::Close);
            }
            _ => {
                self.shared.log.lock().unwrap().unknown_commands.push(line.to_owned());
                self.reply(502, "5.5.1 unknown command").await?;
            }
        }
        Ok(Next::Command)
    }

    async fn ehlo(&mut self) -> io::Result<()> {
        let options = &self.shared.options;
        let size = format!("SIZE {}", options.size);
        let mut lines = vec!["testkit", "8BITMIME", "ENHANCEDSTATUSCODES", &size];
        if options.pipelining {
            lines.push("PIPELINING");
        }
        if options.chunking {
            lines.push("CHUNKING");
        }
        if options.starttls.is_some() && !self.tls {
            lines.push("STARTTLS");
        }
        if options.auth.is_some() && (self.tls || options.starttls.is_none()) {
            lines.push("AUTH PLAIN LOGIN");
        }
        let last = lines.len() - 1;
        let mut text = String::new();
        for (index, line) in lines.iter().enumerate() {
            let separator = if index == last { ' ' } else { '-' };
            text.extend(["250", separator.encode_utf8(&mut [0; 4]), line, "\r\n"]);
        }
        self.write(text.as_bytes()).await
    }

    async fn mail(&mut self, line: &str) -> io::Result<Next> {
        if self.shared.options.auth.is_some() && self.user.is_none() {
            self.reply(530, "5.7.0 authentication required").await?;
            return Ok(Next::Command);
        }
        self.pipelined("MAIL");
        if self.mails >= self.shared.options.mails_per_connection {
            self.shared.log.lock().unwrap().refused_mails += 1;
            self.reply(452, "4.5.3 too many messages on this connection").await?;
            return Ok(Next::Command);
        }
        if self.shared.is_too_fast() {
            self.shared.log.lock().unwrap().refused_mails += 1;
            self.reply(450, "4.7.1 too much mail, come back later").await?;
            return Ok(Next::Command);
        }
        if self.shared.options.size > 0 && announced(line) > self.shared.options.size {
            self.reply(552, "5.3.4 message size exceeds fixed limit").await?;
            return Ok(Next::Command);
        }
        let sender = address(line);
        if let Answer::RefuseMail(code, text) = self.shared.ask_sender(&sender) {
            self.reply(code, text).await?;
            return Ok(Next::Command);
        }
        self.reset();
        self.mail_from = Some(sender);
        self.reply(250, "2.1.0 ok").await?;
        Ok(Next::Command)
    }

    async fn rcpt(&mut self, line: &str) -> io::Result<Next> {
        self.pipelined("RCPT");
        if self.stream.buffer().starts_with(b"BDAT") {
            self.shared.violation("content was sent before the reply to RCPT");
        }
        if self.mail_from.is_none() {
            self.reply(503, "5.5.1 MAIL first").await?;
            return Ok(Next::Command);
        }
        let recipient = address(line);
        let answer = self.shared.ask_recipient(&recipient, self.connection);
        match answer {
            Answer::RefuseRcpt(code, text) => {
                self.reply(code, text).await?;
                return Ok(Next::Command);
            }
            Answer::DropAtRcpt => return Ok(Next::Break),
            Answer::StallForever => return self.stall().await,
            Answer::Accept | Answer::RefuseMail(..) => {}
            Answer::RefuseData(..)
            | Answer::DropMidData
            | Answer::DropAfterDot
            | Answer::Delay(_)
            | Answer::StallAfterDot
            | Answer::HoldAfterDot => self.answer = answer,
        }
        self.rcpt_to.push(recipient);
        self.reply(250, "2.1.5 ok").await?;
        Ok(Next::Command)
    }

    fn reset(&mut self) {
        self.mail_from = None;
        self.rcpt_to.clear();
        self.answer = Answer::Accept;
        self.chunks.clear();
    }

    /// Notes commands that came before their time.
    fn pipelined(&self, command: &str) {
        if !self.shared.options.pipelining && !self.stream.buffer().is_empty() {
            self.shared.violation(format!("commands after {command} although PIPELINING was not offered"));
        }
    }

    async fn line(&mut self) -> io::Result<Option<String>> {
        let mut line = Vec::new();
        if self.stream.read_until(b'\n', &mut line).await? == 0 {
            return Ok(None);
        }
        if !line.ends_with(b"\r\n") {
            self.shared
                .violation(format!("a command line without CRLF: {:?}", String::from_utf8_lossy(&line)));
        }
        Ok(Some(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned()))
    }

    async fn reply(&mut self, code: u16, text: &str) -> io::Result<()> {
        self.write(format!("{code} {text}\r\n").as_bytes()).await
    }

    fn write(&mut self, bytes: &[u8]) -> impl Future<Output = io::Result<()>> {
        let bytes = bytes.to_vec();
        async move {
            self.stream.get_mut().write_all(&bytes).await?;
            self.stream.get_mut().flush().await
        }
    }
}

/// The address between angle brackets.
fn address(line: &str) -> String {
    let inside = line.split_once('<').and_then(|(_, rest)| rest.rsplit_once('>'));
    inside.map(|(address, _)| address.to_owned()).unwrap_or_default()
}

/// The size given with MAIL FROM; 0 for none.
fn announced(line: &str) -> usize {
    let size = line.split_whitespace().find_map(|word| word.strip_prefix("SIZE="));
    size.and_then(|size| size.parse().ok()).unwrap_or(0)
}
