//! Makes DKIM keys, one at a time, because an RSA key costs a second of a processor.
//!
//! Projects take turns, and a project makes one key after the other. So a project that adds many domains does not take
//! the turns of others, and the number of its domains is checked between two of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use mailwright_core::ids::ProjectNumber;
use mailwright_mail::dkim::{KeyType, SigningKey};
use tokio::sync::{OwnedMutexGuard, Semaphore};

use crate::error::{Error, Result};

/// Most keys that are made at the same time.
const AT_ONCE: usize = 1;
/// Most domains of one project that wait for their keys.
const WAITING: usize = 16;

type Turns = Arc<tokio::sync::Mutex<()>>;

/// Makes keys in turn.
#[derive(Debug)]
pub(crate) struct KeyPool {
    turns: Arc<Semaphore>,
    projects: Mutex<HashMap<ProjectNumber, Turns>>,
}

impl Default for KeyPool {
    fn default() -> Self {
        Self { turns: Arc::new(Semaphore::new(AT_ONCE)), projects: Mutex::default() }
    }
}

/// A place in the queue of a project.
#[derive(Debug)]
pub(crate) struct Place(Turns);

impl Place {
    /// Waits until it is this one's turn, which lasts until the guard is dropped.
    pub(crate) async fn wait(self) -> OwnedMutexGuard<()> {
        self.0.lock_owned().await
    }
}

impl KeyPool {
    /// A place in the queue of a project; an error when too many wait.
    pub(crate) fn place(&self, project: ProjectNumber) -> Result<Place> {
        let mut projects = self.projects.lock().unwrap_or_else(PoisonError::into_inner);
        // only the map has a handle of those that nobody waits for
        projects.retain(|_, turns| Arc::strong_count(turns) > 1);
        let turns = projects.entry(project).or_default();
        // one handle is the map's, one is that of whoever has the turn
        if Arc::strong_count(turns) > WAITING + 1 {
            return Err(Error::QueueFull(format!(
                "{WAITING} domains of this project are being added at the moment. Try again when some of them \
                 are done."
            )));
        }
        Ok(Place(Arc::clone(turns)))
    }

    /// Makes a key: the private one, and the public one as its record shows it.
    pub(crate) async fn make(&self, kind: KeyType) -> Result<(Vec<u8>, String)> {
        let turn = Arc::clone(&self.turns).acquire_owned().await;
        let turn = turn.map_err(|error| Error::Internal(error.to_string()))?;
        let made = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            SigningKey::generate(kind)
        });
        let made = made.await.map_err(|error| Error::Internal(error.to_string()))?;
        made.map_err(|error| Error::Internal(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_queue_of_a_project_is_bounded_and_forgotten() {
        let key_pool = KeyPool::default();
        let turn = key_pool.place(ProjectNumber(1)).unwrap().wait().await;
        let waiting: Vec<_> = (0..WAITING).map(|_| key_pool.place(ProjectNumber(1)).unwrap()).collect();
        assert!(matches!(key_pool.place(ProjectNumber(1)), Err(Error::QueueFull(_))));
        assert!(key_pool.place(ProjectNumber(2)).is_ok(), "another project has a queue of its own");
        drop((turn, waiting));
        drop(key_pool.place(ProjectNumber(3)).unwrap());
        assert_eq!(key_pool.projects.lock().unwrap().len(), 1, "only the last one");
    }
}
