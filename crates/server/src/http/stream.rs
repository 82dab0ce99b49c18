//! A connection's bytes, and what can be told from how they flow.

use std::io::{IoSlice, Result};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
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
}

impl Pulse {
    pub(super) fn new() -> Arc<Self> {
        let phase = Phase::Header(Instant::now());
        Arc::new(Self(Mutex::new(State { phase, blocked: None, ended: false })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin(&self) {
        self.state().phase = Phase::Busy;
    }

    pub(super) fn end(&self) {
        self.state().phase = Phase::Idle(Instant::now());
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
        // a header may begin, or writing stop, right after this
        let soon = now + bounds.header.min(bounds.write);
        Some(due.map_or(soon, |due| due.min(soon)))
    }

    fn read(&self, bytes: usize) {
        let mut state = self.state();
        if bytes == 0 {
            state.ended = true;
        } else if let Phase::Idle(_) = state.phase {
            state.phase = Phase::Header(Instant::now());
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
            self.pulse.read(buf.filled().len() - before);
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
        pulse.read(1);
        assert!(!overdue(&pulse, 9) && overdue(&pulse, 11), "the next header");
        assert!(!pulse.is_ended());
        pulse.read(0);
        assert!(pulse.is_ended());
    }
}
