//! The threads that have connections, and the queues of jobs for them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::JoinHandle;
use std::time::Duration;

use futures_util::future::BoxFuture;
use rusqlite::Connection;

use crate::database::error::{Error, Result};

/// Most jobs that wait, interactive and bulk each; beyond that callers get [`Error::Busy`].
pub(super) const QUEUE: usize = 8192;

/// Pause after a panic, so that one that comes again and again does not take a processor.
const AFTER_PANIC: Duration = Duration::from_millis(100);

pub(super) fn closed() -> Error {
    Error::Unavailable("the database is closed".into())
}

/// A thread that has a connection, and gives it back when it ends. Connections are closed one after the other: two that
/// close at the same moment each take the other for one that goes on, and neither removes the log.
pub(super) type Thread = JoinHandle<Connection>;

pub(super) fn spawn<T: Send + 'static>(
    name: &str,
    run: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>> {
    std::thread::Builder::new()
        .name(name.into())
        .spawn(run)
        .map_err(|e| Error::Unavailable(format!("cannot start thread {name}: {e}")))
}

/// Runs the loop of a thread, and runs it again after a panic, which the bodies of jobs do not cause: [`caught`]. The
/// queue outlives the panic. Whoever waited for the jobs of that moment learns that nobody answers.
pub(super) fn kept_running(thread: &'static str, mut run: impl FnMut()) {
    while catch_unwind(AssertUnwindSafe(&mut run)).is_err() {
        // what writes the log may be what panicked
        let _ =
            catch_unwind(|| tracing::error!(thread, "a thread of the database panicked, it begins again"));
        std::thread::sleep(AFTER_PANIC);
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_that_panicked_runs_again_with_what_is_queued() {
        let (send, jobs) = crossbeam_channel::unbounded();
        for job in 0..4 {
            send.send(job).unwrap();
        }
        drop(send);
        let mut done = Vec::new();
        kept_running("tested", || {
            while let Ok(job) = jobs.recv() {
                assert!(job != 1, "as the test wants it");
                done.push(job);
            }
        });
        assert_eq!(done, [0, 2, 3]);
    }
}
