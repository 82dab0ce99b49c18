//! An SMTP server that takes every message, counts it and forgets it, on a thread and an event loop of its own.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use anyhow::{Context, Result};
use memchr::memmem;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};

const END_OF_MESSAGE: &[u8] = b"\r\n.\r\n";
/// How the recipients' addresses begin whose mails are noted one by one. A number follows.
pub(crate) const PROBE: &str = "probe";
/// What is before the token in the address of a tracked link, and how long the token is.
const TRACKED: &[u8] = b"/t/";
const TOKEN: usize = 40;

/// The server. Until [`Sink::open`] it lets clients connect but does not greet them, so that a queue can fill up and
/// its hand-over begins at one moment, without the back-off that an unreachable host leads to.
#[derive(Debug)]
pub(crate) struct Sink {
    port: u16,
    gate: watch::Sender<bool>,
    taken: Arc<Taken>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What the server took.
#[derive(Debug, Default)]
struct Taken {
    messages: AtomicU64,
    probes: Mutex<Vec<(u64, Instant)>>,
    /// Whether the tokens of messages are kept.
    keeps_tokens: AtomicBool,
    tokens: Mutex<Vec<String>>,
}

impl Sink {
    pub(crate) fn start() -> Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (gate, opened) = watch::channel(false);
        let (stop, stopped) = oneshot::channel();
        let taken = Arc::new(Taken::default());
        let book = Arc::clone(&taken);
        let thread = std::thread::Builder::new().name("sink".into()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = accept(listener, opened, book) => {}
                    _ = stopped => {}
                }
            });
        });
        let thread = thread.context("the SMTP sink cannot be started")?;
        Ok(Self { port, gate, taken, stop: Some(stop), thread: Some(thread) })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Greets everybody who is connected, and from now on everybody at once.
    pub(crate) fn open(&self) {
        self.gate.send_replace(true);
    }

    /// Has the tokens of tracked messages kept from now on, or not.
    pub(crate) fn keep_tokens(&self, keep: bool) {
        self.taken.keeps_tokens.store(keep, Ordering::Relaxed);
    }

    /// The tokens kept so far.
    pub(crate) fn tokens(&self) -> Vec<String> {
        self.taken.tokens.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Messages received.
    pub(crate) fn received(&self) -> u64 {
        self.taken.messages.load(Ordering::Relaxed)
    }

    /// Messages received that are no probes.
    pub(crate) fn others(&self) -> u64 {
        let probes = self.taken.probes.lock().unwrap_or_else(PoisonError::into_inner).len() as u64;
        self.received().saturating_sub(probes)
    }

    /// The numbers of the probes received so far, and when each was.
    pub(crate) fn probes(&self) -> Vec<(u64, Instant)> {
        self.taken.probes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn accept(listener: std::net::TcpListener, opened: watch::Receiver<bool>, taken: Arc<Taken>) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    loop {
        if let Ok((stream, _)) = listener.accept().await {
            let (opened, taken) = (opened.clone(), Arc::clone(&taken));
            tokio::spawn(async move {
                // a client that goes away is no trouble of the sink's
                let _ = serve(stream, opened, &taken).await;
            });
        }
    }
}

async fn serve(mut stream: TcpStream, mut opened: watch::Receiver<bool>, book: &Taken) -> Result<()> {
    stream.set_nodelay(true)?;
    opened.wait_for(|open| *open).await?;
    stream.write_all(b"220 sink.example ESMTP\r\n").await?;
    let mut input = Vec::with_capacity(64 * 1024);
    let mut output = Vec::new();
    let mut session = Session::default();
    while !session.ended {
        if stream.read_buf(&mut input).await? == 0 {
            return Ok(());
        }
        session.keeps_content = book.keeps_tokens.load(Ordering::Relaxed);
        let taken = session.take(&input, &mut output);
        input.drain(..taken);
        if !session.tokens.is_empty() {
            let mut tokens = book.tokens.lock().unwrap_or_else(PoisonError::into_inner);
            tokens.append(&mut session.tokens);
        }
        book.messages.fetch_add(std::mem::take(&mut session.messages), Ordering::Relaxed);
        if !session.probes.is_empty() {
            let now = Instant::now();
            let mut probes = book.probes.lock().unwrap_or_else(PoisonError::into_inner);
            probes.extend(session.probes.drain(..).map(|number| (number, now)));
        }
        if !output.is_empty() {
            stream.write_all(&output).await?;
            output.clear();
        }
    }
    Ok(())
}

#[derive(Default)]
struct Session {
    in_message: bool,
    ended: bool,
    messages: u64,
    /// The number of the probe whose message comes next.
    probe: Option<u64>,
    probes: Vec<u64>,
    /// Whether the content of messages is looked at.
    keeps_content: bool,
    /// What has come of the message.
    content: Vec<u8>,
    tokens: Vec<String>,
}

impl Session {
    /// Takes as much of the input as can be understood, and answers it. Returns how much that is.
    fn take(&mut self, input: &[u8], output: &mut Vec<u8>) -> usize {
        let mut at = 0;
        loop {
            let rest = &input[at..];
            if self.in_message {
                let Some(end) = memmem::find(rest, END_OF_MESSAGE) else {
                    // what cannot be a part of the end is done with
                    let done = rest.len().saturating_sub(END_OF_MESSAGE.len() - 1);
                    self.keep(&rest[..done]);
                    return at + done;
                };
                self.keep(&rest[..end]);
                self.tokens.extend(token(&self.content));
                self.content.clear();
                at += end + END_OF_MESSAGE.len();
                self.in_message = false;
                self.messages += 1;
                self.probes.extend(self.probe.take());
                output.extend_from_slice(b"250 2.0.0 taken\r\n");
            } else {
                let Some(end) = memchr::memchr(b'\n', rest) else { return at };
                self.command(&rest[..end], output);
                at += end + 1;
            }
        }
    }

    fn keep(&mut self, content: &[u8]) {
        if self.keeps_content {
            self.content.extend_from_slice(content);
        }
    }

    fn command(&mut self, line: &[u8], output: &mut Vec<u8>) {
        let verb = line.get(..4).unwrap_or(line).to_ascii_uppercase();
        let answer: &[u8] = match verb.as_slice() {
            b"EHLO" => b"250-sink.example\r\n250-PIPELINING\r\n250-8BITMIME\r\n250 SIZE 52428800\r\n",
            b"RCPT" => {
                self.probe = probe(line);
                b"250 2.0.0 ok\r\n"
            }
            b"HELO" | b"MAIL" | b"RSET" | b"NOOP" => b"250 2.0.0 ok\r\n",
            b"DATA" => {
                self.in_message = true;
                b"354 go on\r\n"
            }
            b"QUIT" => {
                self.ended = true;
                b"221 2.0.0 bye\r\n"
            }
            _ => b"500 5.5.1 what?\r\n",
        };
        output.extend_from_slice(answer);
    }
}

/// The number in `RCPT TO:<probe12@host.example>`; `None` for other recipients.
fn probe(line: &[u8]) -> Option<u64> {
    let line = std::str::from_utf8(line).ok()?;
    let (_, address) = line.split_once('<')?;
    let (number, _) = address.strip_prefix(PROBE)?.split_once('@')?;
    number.parse().ok()
}

/// The token in the first tracked address of a message, whose lines may be broken for its way.
fn token(message: &[u8]) -> Option<String> {
    let mut whole = Vec::with_capacity(message.len());
    let mut from = 0;
    for end in memmem::find_iter(message, b"=\r\n") {
        whole.extend_from_slice(&message[from..end]);
        from = end + 3;
    }
    whole.extend_from_slice(&message[from..]);
    let mut tokens = memmem::find_iter(&whole, TRACKED).filter_map(|at| {
        let begin = at + TRACKED.len();
        let token = whole.get(begin..begin + TOKEN)?;
        let is_token = token.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(byte));
        let is_whole = is_token && whole.get(begin + TOKEN) == Some(&b'/');
        is_whole.then(|| String::from_utf8_lossy(token).into_owned())
    });
    tokens.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_found_across_broken_lines() {
        let token = "abcdefghij-_0123456789ABCDEFGHIJ01234567";
        let message = format!(
            "Subject: /t/x\r\n\r\n<a href=3D\"http://m.test/t/{}=\r\n{}/3\">",
            &token[..9],
            &token[9..]
        );
        assert_eq!(super::token(message.as_bytes()).as_deref(), Some(token));
        assert_eq!(super::token(b"<a href=\"http://m.test/t/short/3\">"), None);
    }

    #[test]
    fn probes_are_known_by_their_recipients() {
        assert_eq!(probe(b"RCPT TO:<probe00012@probes.example>\r"), Some(12));
        assert_eq!(probe(b"RCPT TO:<user000012@host1.example>\r"), None);
    }

    #[test]
    fn input_may_come_in_any_pieces() {
        let wire = b"EHLO x\r\nMAIL FROM:<a@b.cc>\r\nRCPT TO:<d@e.ff>\r\nDATA\r\nSubject: x\r\n\r\n.\r.\r\n\r\n.\r\nQUIT\r\n";
        for size in 1..wire.len() {
            let (mut session, mut input, mut output) = (Session::default(), Vec::new(), Vec::new());
            for piece in wire.chunks(size) {
                input.extend_from_slice(piece);
                let taken = session.take(&input, &mut output);
                input.drain(..taken);
            }
            assert!(session.ended && session.messages == 1 && input.is_empty(), "{size}");
            assert!(output.ends_with(b"250 2.0.0 taken\r\n221 2.0.0 bye\r\n"));
        }
    }
}
