//! Writes that met a lock that another transaction holds, and how many of them run at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::database::location::Location;

/// The writes that met what another transaction holds.
#[derive(Debug)]
pub(crate) struct HeldUp {
    pub(crate) at_first: Duration,
    count: AtomicUsize,
    /// One permit for each connection that writes that are held up may use.
    pub(crate) turns: Semaphore,
}

impl HeldUp {
    pub(crate) fn new(location: &Location) -> Self {
        let (at_first, turns) = match location {
            Location::Sqlite(_) => (Duration::ZERO, 1),
            Location::Postgres { lock_wait, connections, .. } => (*lock_wait, (connections / 4).max(1)),
        };
        Self { at_first, count: AtomicUsize::new(0), turns: Semaphore::new(turns) }
    }

    pub(crate) fn is_any(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    /// Counts one, for as long as the value is kept.
    pub(crate) fn enter(&self) -> impl Drop {
        self.count.fetch_add(1, Ordering::Relaxed);
        scopeguard::guard((), |()| {
            self.count.fetch_sub(1, Ordering::Relaxed);
        })
    }
}
