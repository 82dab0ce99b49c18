//! An SMTP server that takes every message, counts it and forgets it, on a thread and an event loop of its own.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use anyhow::{Context, Result};
use memchr::memmem;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};

const END_OF_MESSAGE: &[u8] = b"\r\n.\r\n";

/// The server. Until [`Sink::open`] it lets clients connect but does not greet them, so that a queue can fill up and
/// its hand-over begins at one moment, without the back-off that an unreachable host leads to.
#[derive(Debug)]
pub(crate) struct Sink {
    port: u16,
    gate: watch::Sender<bool>,
    received: Arc<AtomicU64>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Sink {
    pub(crate) fn start() -> Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (gate, opened) = watch::channel(false);
        let (stop, stopped) = oneshot::channel();
        let received = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&received);
        let thread = std::thread::Builder::new().name("sink".into()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = accept(listener, opened, count) => {}
                    _ = stopped => {}
                }
            });
        });
        let thread = thread.context("the SMTP sink cannot be started")?;
        Ok(Self { port, gate, received, stop: Some(stop), thread: Some(thread) })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Greets everybody who is connected, and from now on everybody at once.
    pub(crate) fn open(&self) {
        self.gate.send_replace(true);
    }

    /// Messages received.
    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
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

async fn accept(listener: std::net::TcpListener, opened: watch::Receiver<bool>, received: Arc<AtomicU64>) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    loop {
        if let Ok((stream, _)) = listener.accept().await {
            let (opened, received) = (opened.clone(), Arc::clone(&received));
            tokio::spawn(async move {
                // a client that goes away is no trouble of the sink's
                let _ = serve(stream, opened, &received).await;
            });
        }
    }
}

async fn serve(mut stream: TcpStream, mut opened: watch::Receiver<bool>, received: &AtomicU64) -> Result<()> {
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
        let taken = session.take(&input, &mut output);
        input.drain(..taken);
        received.fetch_add(std::mem::take(&mut session.messages), Ordering::Relaxed);
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
                    return at + rest.len().saturating_sub(END_OF_MESSAGE.len() - 1);
                };
                at += end + END_OF_MESSAGE.len();
                self.in_message = false;
                self.messages += 1;
                output.extend_from_slice(b"250 2.0.0 taken\r\n");
            } else {
                let Some(end) = memchr::memchr(b'\n', rest) else { return at };
                self.command(&rest[..end], output);
                at += end + 1;
            }
        }
    }

    fn command(&mut self, line: &[u8], output: &mut Vec<u8>) {
        let verb = line.get(..4).unwrap_or(line).to_ascii_uppercase();
        let answer: &[u8] = match verb.as_slice() {
            b"EHLO" => b"250-sink.example\r\n250-PIPELINING\r\n250-8BITMIME\r\n250 SIZE 52428800\r\n",
            b"HELO" | b"MAIL" | b"RCPT" | b"RSET" | b"NOOP" => b"250 2.0.0 ok\r\n",
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

#[cfg(test)]
mod tests {
    use super::*;

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
