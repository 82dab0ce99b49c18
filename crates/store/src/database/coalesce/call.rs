//! Operations that wait, and how many may.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mailwright_core::ids::ProjectNumber;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::database::error::Result;

/// Most operations that wait in a shard; beyond that callers get [`Error::Busy`](crate::Error::Busy).
pub(super) const QUEUE: usize = 8192;
/// From so many bytes on an operation is large.
pub(super) const LARGE_BYTES: usize = 32 * 1024;
/// From so many rows on an operation is large.
pub(super) const LARGE_ROWS: usize = 16;
/// Most bytes of operations that wait in a shard; beyond that callers get [`Error::Busy`](crate::Error::Busy).
pub(super) const QUEUE_BYTES: usize = 256 * 1024 * 1024;

/// How much an operation writes, roughly.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// The project that it is for.
    pub project: ProjectNumber,
    /// Things that are written one by one, such as mails.
    pub rows: usize,
    /// Bytes.
    pub bytes: usize,
}

impl Load {
    /// The load of an operation that is never large, for any project.
    pub(super) const SMALL: Self = Self { project: ProjectNumber(0), rows: 0, bytes: 0 };

    pub(super) fn is_large(self) -> bool {
        self.rows >= LARGE_ROWS || self.bytes >= LARGE_BYTES
    }
}

/// An operation that waits, and who waits for it.
pub(super) struct Call<O, R> {
    pub(super) route: u64,
    pub(super) operation: O,
    pub(super) answer: oneshot::Sender<Result<R>>,
    pub(super) load: Held,
    /// Since when it has met what another transaction holds.
    pub(super) held_up: Option<Instant>,
}

impl<O, R> Call<O, R> {
    pub(super) fn project(&self) -> ProjectNumber {
        self.load.load.project
    }

    pub(super) fn turn(&self) -> Turn {
        Turn { route: self.route, project: self.project(), is_held_up: self.held_up.is_some() }
    }

    /// The operation, and the call with another in its place.
    pub(super) fn replace<P>(self, operation: P) -> (O, Call<P, R>) {
        let Self { route, operation: before, answer, load, held_up } = self;
        (before, Call { route, operation, answer, load, held_up })
    }
}

/// The position of a call that other calls may have to wait for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    pub(super) route: u64,
    pub(super) project: ProjectNumber,
    pub(super) is_held_up: bool,
}

/// What a waiting operation holds of its shard, given back with it.
pub(super) struct Held {
    pub(super) load: Load,
    all: Arc<Waiting>,
}

/// The operations that wait in a shard.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    pub(super) calls: AtomicUsize,
    pub(super) bytes: AtomicUsize,
}

impl Held {
    /// `None` when too many operations, or too many bytes of them, wait already.
    pub(super) fn take(all: &Arc<Waiting>, load: Load) -> Option<Self> {
        let held = Self { load, all: Arc::clone(all) };
        let calls = all.calls.fetch_add(1, Ordering::Relaxed);
        let bytes = all.bytes.fetch_add(load.bytes, Ordering::Relaxed);
        // an operation alone is always taken
        (calls < QUEUE && (bytes == 0 || bytes + load.bytes <= QUEUE_BYTES)).then_some(held)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.all.calls.fetch_sub(1, Ordering::Relaxed);
        self.all.bytes.fetch_sub(self.load.bytes, Ordering::Relaxed);
    }
}
