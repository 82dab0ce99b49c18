//! The bytes of a connection, and what their flow tells.

use std::io::{IoSlice, Result};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Instant;

/// How long what may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// From a connection, or from the first byte of a request, to the end of its header.
    pub(crate) header: Duration,
    /// Between two requests.
    pub(crate) idle: Duration,
    /// How long a client may take nothing of an answer.
    pub(crate) write: Duration,
    /// Most bytes of a header.
    pub(crate) header_bytes: usize,
}

impl Bounds {
    /// The shortest of these times: looked at so often, a connection passes none of them unseen.
    pub(super) fn shortest(&self) -> Duration {
        self.header.min(self.idle).min(self.write)
    }
}

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing has come yet, or a part of a header.
    Header(Instant),
    /// A request is under way.
    Busy,
    /// The last request was answered.
    Idle(Instant),
}

/// What a connection is doing, for those who decide about it.
#[derive(Debug)]
pub(super) struct Pulse(Mutex<State>);

#[derive(Debug)]
struct State {
    phase: Phase,
    /// Since when the client takes nothing of what is to be written.
    blocked: Option<Instant>,
    /// The client will send nothing more.
    ended: bool,
    /// The connection is to end, and nothing more of a body is waited for.
    dismissed: bool,
    /// The task that waits for more of a body.
    reader: Option<Waker>,
    /// What the header says that is coming, or came last.
    head: Head,
}

/// A header as it comes, looked at for `Content-Length`: where there is a `Transfer-Encoding` too, hyper takes it out.
#[derive(Debug, Default)]
struct Head {
    /// How much of the name a line has begun with; `None` for another line.
    matched: Option<usize>,
    /// The line is empty so far.
    is_empty: bool,
    ended: bool,
    has_length: bool,
}

impl Head {
    const NAME: &[u8] = b"content-length:";

    fn begin() -> Self {
        // the first line is the request's
        Self { is_empty: true, ..Self::default() }
    }

    fn read(&mut self, bytes: &[u8]) {
        let mut is_first = self.is_empty && self.matched.is_none();
        for &byte in bytes {
            match byte {
                _ if self.ended => return,
                // empty lines before the first one do not count
                b'\n' if self.is_empty => self.ended = !is_first,
                b'\n' => (self.matched, self.is_empty) = (Some(0), true),
                b'\r' => {}
                _ => {
                    (self.is_empty, is_first) = (false, false);
                    self.matched = self.matched.filter(|at| Self::NAME[*at] == byte.to_ascii_lowercase());
                    self.matched = self.matched.map(|at| at + 1);
                    if self.matched == Some(Self::NAME.len()) {
                        (self.has_length, self.matched) = (true, None);
                    }
                }
            }
        }
    }
}

impl Pulse {
    pub(super) fn new() -> Arc<Self> {
        let phase = Phase::Header(Instant::now());
        let state =
            State { phase, blocked: None, ended: false, dismissed: false, reader: None, head: Head::begin() };
        Arc::new(Self(Mutex::new(state)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin(&self) {
        self.state().phase = Phase::Busy;
    }

    pub(super) fn end(&self) {
        let mut state = self.state();
        state.phase = Phase::Idle(Instant::now());
        state.head = Head::begin();
    }

    /// Tells the task that waits for more of a body to stop waiting.
    pub(super) fn dismiss(&self) {
        let reader = {
            let mut state = self.state();
            state.dismissed = true;
            state.reader.take()
        };
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    /// Whether nothing more of a body is waited for; where it is, `reader` is told when that changes.
    pub(super) fn is_dismissed(&self, reader: &Waker) -> bool {
        let mut state = self.state();
        if !state.reader.as_ref().is_some_and(|known| known.will_wake(reader)) {
            state.reader = Some(reader.clone());
        }
        state.dismissed
    }

    /// Whether the client has said that it sends nothing more.
    pub(super) fn is_ended(&self) -> bool {
        self.state().ended
    }

    /// Whether nothing is lost when the connection is closed now.
    pub(super) fn only_waits(&self) -> bool {
        let state = self.state();
        state.phase != Phase::Busy && state.blocked.is_none()
    }

    /// Whether the client takes nothing of what is to be written.
    pub(super) fn is_blocked(&self) -> bool {
        self.state().blocked.is_some()
    }

    /// When to look again; `None` when a bound is passed.
    pub(super) fn next_look(&self, bounds: &Bounds, now: Instant) -> Option<Instant> {
        let state = self.state();
        let due = match state.phase {
            Phase::Header(since) => Some(since + bounds.header),
            Phase::Idle(since) => Some(since + bounds.idle),
            Phase::Busy => None,
        };
        let blocked = state.blocked.map(|since| since + bounds.write);
        let due = due.into_iter().chain(blocked).min();
        if due.is_some_and(|due| due <= now) {
            return None;
        }
        // a header may begin or end, or writing stop, right after this
        let soon = now + bounds.shortest();
        Some(due.map_or(soon, |due| due.min(soon)))
    }

    /// Whether a request is under way.
    pub(super) fn is_busy(&self) -> bool {
        self.state().phase == Phase::Busy
    }

    /// Whether the header that came last has a `Content-Length`. Of one that came together with the end of the body
    /// before it that is not known.
    pub(super) fn has_length(&self) -> bool {
        self.state().head.has_length
    }

    fn read(&self, bytes: &[u8]) {
        let mut state = self.state();
        if bytes.is_empty() {
            state.ended = true;
            return;
        }
        if let Phase::Idle(_) = state.phase {
            state.phase = Phase::Header(Instant::now());
            state.head = Head::begin();
        }
        if state.phase != Phase::Busy {
            state.head.read(bytes);
        }
    }

    fn wrote(&self, pending: bool) {
        let mut state = self.state();
        if !pending {
            state.blocked = None;
        } else if state.blocked.is_none() {
            state.blocked = Some(Instant::now());
        }
    }
}

/// A TCP connection that notes what it does.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) stream: TcpStream,
    pub(super) pulse: Arc<Pulse>,
}

impl AsyncRead for Watched {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        if matches!(read, Poll::Ready(Ok(()))) && buf.remaining() + (buf.filled().len() - before) > 0 {
            self.pulse.read(&buf.filled()[before..]);
        }
        read
    }
}

impl AsyncWrite for Watched {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.pulse.wrote(written.is_pending());
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.pulse.wrote(written.is_pending());
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_seen_however_the_header_comes() {
        for (header, has) in [
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello", true),
            ("POST / HTTP/1.1\r\ncontent-LENGTH:5\r\n\r\n", true),
            ("POST / HTTP/1.1\nContent-Length: 5\n\n", true),
            ("\r\n\r\nPOST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n", true),
            ("POST / HTTP/1.1\r\nX: Content-Length: 5\r\n\r\nContent-Length: 5\r\n", false),
            ("POST / HTTP/1.1\r\nX-Content-Length: 5\r\n\r\n", false),
            ("Content-Length: / HTTP/1.1\r\n\r\n", false),
        ] {
            for piece in [1, 3, 1000] {
                let pulse = Pulse::new();
                header.as_bytes().chunks(piece).for_each(|piece| pulse.read(piece));
                assert_eq!(pulse.has_length(), has, "{header:?} in pieces of {piece}");
            }
        }
    }

    #[test]
    fn each_phase_has_its_bound() {
        // hours, so that it does not matter how long the test takes
        let hour = Duration::from_hours(1);
        let bounds = Bounds { header: 10 * hour, idle: 75 * hour, write: 30 * hour, header_bytes: 0 };
        let pulse = Pulse::new();
        let start = Instant::now();
        let overdue = |pulse: &Pulse, after: u32| pulse.next_look(&bounds, start + after * hour).is_none();
        assert!(!overdue(&pulse, 9) && overdue(&pulse, 11), "a connection that says nothing");
        pulse.begin();
        assert!(!overdue(&pulse, 1000), "a request takes as long as it takes");
        pulse.wrote(true);
        assert!(!overdue(&pulse, 29) && overdue(&pulse, 31), "nothing of the answer is taken");
        pulse.wrote(false);
        pulse.end();
        assert!(pulse.only_waits() && !overdue(&pulse, 74) && overdue(&pulse, 76), "a kept connection");
        pulse.read(b"G");
        assert!(!overdue(&pulse, 9) && overdue(&pulse, 11), "the next header");
        assert!(!pulse.is_ended());
        pulse.read(b"");
        assert!(pulse.is_ended());
    }

    #[test]
    fn a_connection_is_looked_at_before_it_can_pass_a_bound() {
        let hour = Duration::from_hours(1);
        let bounds = Bounds { header: 10 * hour, idle: 2 * hour, write: 30 * hour, header_bytes: 0 };
        let (pulse, now) = (Pulse::new(), Instant::now());
        pulse.begin();
        assert_eq!(pulse.next_look(&bounds, now), Some(now + 2 * hour), "it may be idle from now on");
    }
}
