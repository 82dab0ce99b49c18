//! The places of the SMTP server, and who has them.

use std::collections::HashMap;
use std::future::pending;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mailwright_mail::smtp_server::Stage;
use tokio::sync::watch;
use tokio::time::sleep;

use super::table::Table;

/// How long a connection that was told to leave may take for its last reply. Most need no time for it. Those whose
/// client takes nothing, or is in a handshake, must not keep their places.
const FAREWELL: Duration = Duration::from_millis(100);

/// The places.
#[derive(Debug)]
pub(super) struct Places(Mutex<Taken>);

#[derive(Debug)]
struct Taken {
    table: Table,
    /// By which each connection is told to leave.
    leave: HashMap<u64, watch::Sender<bool>>,
}

impl Places {
    /// So many places, of which a client may have so many.
    pub(super) fn new(most: usize, most_of_client: usize) -> Self {
        let table = Table::new(most, most_of_client);
        Self(Mutex::new(Taken { table, leave: HashMap::new() }))
    }

    /// A place for a connection from an address, if need be that of another one, which is told to leave.
    pub(super) fn take(self: &Arc<Self>, address: IpAddr) -> Option<Place> {
        let mut taken = self.taken();
        let (id, leaves) = taken.table.enter(address, Instant::now())?;
        if let Some(leave) = leaves.and_then(|leaves| taken.leave.get(&leaves)) {
            leave.send_replace(true);
        }
        let (leave, is_needed) = watch::channel(false);
        taken.leave.insert(id, leave);
        Some(Place { places: Arc::clone(self), id, is_needed })
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place that a connection has. Dropping it gives it back.
#[derive(Debug)]
pub(super) struct Place {
    places: Arc<Places>,
    id: u64,
    is_needed: watch::Receiver<bool>,
}

impl Place {
    /// The session has come to a stage.
    pub(super) fn reached(&self, stage: Stage) {
        let mut taken = self.places.taken();
        taken.table.reach(self.id, stage, Instant::now());
    }

    /// Resolves when another client needs the place: then the connection is to be closed.
    pub(super) async fn is_needed(&self) {
        // the sender is there as long as the place is
        let _ = self.is_needed.clone().wait_for(|is_needed| *is_needed).await;
    }

    /// Resolves when the connection had the time to close: then it is to be broken off. A message that is being stored
    /// is waited for, since its sender would bring it again.
    pub(super) async fn is_overdue(&self) {
        self.is_needed().await;
        sleep(FAREWELL).await;
        let is_taking = self.places.taken().table.is_taking(self.id);
        if is_taking {
            pending::<()>().await;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        taken.table.leave(self.id);
        taken.leave.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    async fn is_needed(place: &Place) -> bool {
        timeout(Duration::from_millis(1), place.is_needed()).await.is_ok()
    }

    #[tokio::test]
    async fn the_one_whose_place_is_needed_is_told() {
        let places = Arc::new(Places::new(2, 5));
        let [first, second] =
            ["192.0.2.1", "198.51.100.1"].map(|from| places.take(from.parse().unwrap()).unwrap());
        assert!(!is_needed(&first).await && !is_needed(&second).await);
        first.reached(Stage::Introduced);
        let third = places.take("203.0.113.1".parse().unwrap()).unwrap();
        assert!(is_needed(&second).await && !is_needed(&first).await);
        second.is_overdue().await;
        drop((first, second, third));
        let taken = places.taken();
        assert!(taken.leave.is_empty());
    }

    #[tokio::test]
    async fn a_message_that_is_being_stored_is_waited_for() {
        let places = Arc::new(Places::new(1, 5));
        let first = places.take("192.0.2.1".parse().unwrap()).unwrap();
        let _second = places.take("198.51.100.1".parse().unwrap()).unwrap();
        // it was complete at the moment when the place was needed
        first.reached(Stage::Taking);
        assert!(is_needed(&first).await);
        assert!(timeout(2 * FAREWELL, first.is_overdue()).await.is_err());
    }
}
