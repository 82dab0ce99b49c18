//! The bodies of all requests, and the room that they share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mailwright_app::settings::BodySettings;
use tokio::sync::{Notify, Semaphore};
use tokio::time::timeout;

use super::room::{Held, Hold};
use crate::error::ApiError;

/// How long a body waits for room.
const PATIENCE: Duration = Duration::from_secs(1);

/// The bodies of all requests under way.
#[derive(Debug)]
pub(crate) struct Bodies {
    pub(super) settings: BodySettings,
    held: Mutex<Held>,
    freed: Notify,
    /// Permits for parsing long bodies: parsing one takes a processor for a while, and several times the memory of the
    /// body.
    parsers: Arc<Semaphore>,
}

impl Bodies {
    pub(crate) fn new(settings: BodySettings) -> Arc<Self> {
        let parsers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Arc::new(Self {
            settings,
            held: Mutex::default(),
            freed: Notify::new(),
            parsers: Arc::new(Semaphore::new(parsers)),
        })
    }

    /// Does something that takes long away from the threads that requests are answered on.
    pub(crate) async fn apart<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let turn = Arc::clone(&self.parsers).acquire_owned().await;
        // the work goes on when the client goes away, and so does its turn
        let working = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            work()
        });
        working.await.map_err(|error| {
            ApiError::from(mailwright_app::Error::Internal(format!("reading a body failed: {error}")))
        })
    }

    pub(super) fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes room for more of a body, if there is some.
    pub(super) fn take(&self, hold: Hold, bytes: usize) -> bool {
        let mut all = self.held();
        let fits = all.exchange(hold, hold.with(bytes), self.settings.budget);
        if !fits {
            all.add(hold);
        }
        fits
    }

    /// The same, but where there is none, the body gives back what it has. Both are one step: of several bodies whose
    /// patience ends at once the first makes room, and the others find it.
    pub(super) fn take_or_leave(&self, hold: Hold, bytes: usize) -> bool {
        let fits = self.held().exchange(hold, hold.with(bytes), self.settings.budget);
        if !fits {
            self.freed.notify_waiters();
        }
        fits
    }

    /// Whether there is room after a while. When there is none, the body holds nothing any more.
    pub(super) async fn wait_for_room(self: Arc<Self>, hold: Hold, bytes: usize) -> bool {
        let room = async {
            loop {
                let freed = self.freed.notified();
                if self.take(hold, bytes) {
                    return;
                }
                freed.await;
            }
        };
        timeout(PATIENCE, room).await.is_ok() || self.take_or_leave(hold, bytes)
    }

    pub(super) fn give_back(&self, hold: Hold) {
        if hold.taken > 0 {
            self.held().remove(hold);
            self.freed.notify_waiters();
        }
    }
}
