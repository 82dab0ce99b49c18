//! The threads that have connections, and the queues of jobs for them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_util::future::BoxFuture;

use crate::database::error::{Error, Result};

/// Most jobs that wait, interactive and bulk each; beyond that callers get [`Error::Busy`].
pub(super) const QUEUE: usize = 8192;

pub(super) fn closed() -> Error {
    Error::Unavailable("the database is closed".into())
}

pub(super) fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<std::thread::JoinHandle<()>> {
    std::thread::Builder::new()
        .name(name.into())
        .spawn(run)
        .map_err(|e| Error::Unavailable(format!("cannot start thread {name}: {e}")))
}

/// SQLite answers at once, so a body is ready at its first poll; one that is not awaited something it must not.
pub(super) fn poll_once<T, E: From<Error>>(mut body: BoxFuture<'_, Result<T, E>>) -> Result<T, E> {
    use std::task::{Context, Poll, Waker};
    match body.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => Err(Error::AwaitedOutside.into()),
    }
}

/// A panic in a body must not take the thread, and with it every later call, down.
pub(super) fn caught<T, E: From<Error>>(run: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(Error::panicked(&*panic).into()))
}
