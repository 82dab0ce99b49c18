//! The body of one request, as it comes in.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::BodyDataStream;
use axum::http::request::Parts;
use bytes::Bytes;
use futures_util::Stream;
use mailwright_core::ids::ProjectNumber;
use tokio::time::{Instant, Sleep, sleep_until};

use super::bodies::Bodies;
use super::failure::Trouble;
use super::room::Hold;
use super::room::Standing;

/// How long the whole body of a request without a known key or session may take.
const WHOLE_OF_OTHERS: Duration = Duration::from_secs(10);

/// A request's body, with the owner of the request's credential.
#[derive(Debug, Clone, Default)]
pub(super) struct Vouched(Arc<OnceLock<(Standing, Option<ProjectNumber>)>>);

/// Says that the key or session of a request is valid, before its body is read.
pub(crate) fn vouch(parts: &Parts, standing: Standing, project: Option<ProjectNumber>) {
    if let Some(Vouched(vouched)) = parts.extensions.get() {
        let _ = vouched.set((standing, project));
    }
}

/// Whether there is room after a while.
type Room = Pin<Box<dyn Future<Output = bool> + Send>>;

/// A body that is being read by the handler of the request, or by nobody.
pub(super) struct Source {
    pub(super) stream: BodyDataStream,
    pub(super) bodies: Arc<Bodies>,
    pub(super) vouched: Vouched,
    /// The owner is as known when reading began.
    pub(super) hold: Hold,
    pub(super) read: usize,
    /// A piece that waits for room.
    pub(super) waiting: Option<(Bytes, Room)>,
    pub(super) silence: Option<Pin<Box<Sleep>>>,
    pub(super) until: Option<Instant>,
    pub(super) state: State,
    /// What is read is dropped at once.
    pub(super) dropping: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Unread,
    Reading,
    Ended,
    Failed,
}

impl Source {
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, axum::Error>>> {
        if matches!(self.state, State::Ended | State::Failed) {
            return Poll::Ready(None);
        }
        if self.state == State::Unread {
            let stranger = (Standing::Stranger, None);
            let owner = &mut self.hold.owner;
            (owner.standing, owner.project) = self.vouched.0.get().copied().unwrap_or(stranger);
        }
        self.state = State::Reading;
        if let Some((_, room)) = &mut self.waiting {
            let found = ready!(room.as_mut().poll(cx));
            if let Some((piece, _)) = self.waiting.take().filter(|_| found) {
                return self.pass(piece);
            }
            self.hold.taken = 0;
            return self.fail(Trouble::NoRoom);
        }
        let now = Instant::now();
        let whole = match self.hold.owner.standing {
            Standing::Known => self.bodies.settings.whole,
            Standing::Public | Standing::Stranger => self.bodies.settings.whole.min(WHOLE_OF_OTHERS),
        };
        let until = *self.until.get_or_insert(now + whole);
        match Pin::new(&mut self.stream).poll_next(cx) {
            Poll::Ready(Some(Ok(piece))) => {
                self.silence = None;
                if now > until {
                    return self.fail(Trouble::TooSlow);
                }
                self.admit(piece, cx)
            }
            Poll::Ready(Some(Err(error))) => {
                self.state = State::Failed;
                Poll::Ready(Some(Err(error)))
            }
            Poll::Ready(None) => {
                self.state = State::Ended;
                Poll::Ready(None)
            }
            Poll::Pending => {
                let end = until.min(now + self.bodies.settings.pause);
                let silence = self.silence.get_or_insert_with(|| Box::pin(sleep_until(end)));
                ready!(silence.as_mut().poll(cx));
                self.fail(Trouble::TooSlow)
            }
        }
    }

    fn admit(&mut self, piece: Bytes, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, axum::Error>>> {
        let (hold, bytes) = (self.hold, piece.len());
        if self.dropping {
            self.read += bytes;
            return Poll::Ready(Some(Ok(piece)));
        }
        if self.bodies.take(hold, bytes) {
            return self.pass(piece);
        }
        let room = Arc::clone(&self.bodies).wait_for_room(hold, bytes);
        self.waiting = Some((piece, Box::pin(room)));
        self.poll(cx)
    }

    fn pass(&mut self, piece: Bytes) -> Poll<Option<Result<Bytes, axum::Error>>> {
        self.read += piece.len();
        self.hold = self.hold.with(piece.len());
        Poll::Ready(Some(Ok(piece)))
    }

    fn fail(&mut self, trouble: Trouble) -> Poll<Option<Result<Bytes, axum::Error>>> {
        self.state = State::Failed;
        Poll::Ready(Some(Err(axum::Error::new(trouble))))
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        self.bodies.give_back(self.hold);
    }
}

pub(super) fn lock(source: &Mutex<Source>) -> MutexGuard<'_, Source> {
    source.lock().unwrap_or_else(PoisonError::into_inner)
}
