//! Passwords: hashed with Argon2id, a few at a time, on threads that serve no requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use argon2::Argon2;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use tokio::sync::Semaphore;

use crate::error::{Error, Result};

/// Fewest characters of a new password.
pub const SHORTEST: usize = 8;
/// Most characters of a password.
pub const LONGEST: usize = 1000;

/// The hash that a password is checked against if there is no account, so that the answer takes as long as with one. It
/// has the parameters of new hashes, and no known password.
const NOBODY: &str = "$argon2id$v=19$m=19456,t=2,p=1$bWFpbHdyaWdodG5vYm9keQ$\
     uYw8FzE0m6Jr0rCq3e4b1JzF0k9QfRZ2r8uS0VnXl1A";

/// Most passwords that are worked on at the same time: each takes 19 MB and a processor for tens of milliseconds.
const AT_ONCE: usize = 4;
/// Most that wait; beyond that the service says that it is busy.
const WAITING: usize = 512;

/// Hashes and checks passwords.
#[derive(Debug, Clone)]
pub(crate) struct Passwords {
    turns: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
}

impl Default for Passwords {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self { turns: Arc::new(Semaphore::new(processors.min(AT_ONCE))), waiting: Arc::default() }
    }
}

impl Passwords {
    /// The hash of a password, in PHC format.
    pub(crate) async fn hash(&self, password: String) -> Result<String> {
        self.work(move || hash(&password)).await?
    }

    /// Whether a password is the one that was hashed. Without a hash it is not, which takes the same time.
    pub(crate) async fn matches(&self, password: String, hash: Option<String>) -> Result<bool> {
        self.work(move || {
            let known = hash.as_deref();
            let right =
                Argon2::default().verify_password(password.as_bytes(), known.unwrap_or(NOBODY)).is_ok();
            right && known.is_some()
        })
        .await
    }

    async fn work<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        let Some(_place) = Place::take(&self.waiting) else {
            return Err(Error::Unavailable("too many passwords wait to be checked".into()));
        };
        let turn = Arc::clone(&self.turns).acquire_owned().await;
        let turn = turn.map_err(|e| Error::Internal(e.to_string()))?;
        let done = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            work()
        });
        done.await.map_err(|e| Error::Internal(e.to_string()))
    }
}

fn hash(password: &str) -> Result<String> {
    Argon2::default()
        .hash_password(password.as_bytes())
        .map(|hash| hash.to_string())
        .map_err(|e| Error::Internal(format!("the password cannot be hashed: {e}")))
}

/// A place in the queue, given back also when the caller goes away.
struct Place(Arc<AtomicUsize>);

impl Place {
    fn take(waiting: &Arc<AtomicUsize>) -> Option<Self> {
        let place = Self(Arc::clone(waiting));
        (waiting.fetch_add(1, Ordering::Relaxed) < WAITING).then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_password_matches_its_hash_alone() {
        let passwords = Passwords::default();
        let hash = passwords.hash("correct horse".into()).await.unwrap();
        assert!(!hash.contains("correct"), "{hash}");
        assert!(passwords.matches("correct horse".into(), Some(hash.clone())).await.unwrap());
        assert!(!passwords.matches("Correct horse".into(), Some(hash)).await.unwrap());
        assert!(!passwords.matches("correct horse".into(), None).await.unwrap());
    }

    #[test]
    fn the_hash_of_nobody_costs_what_others_cost() {
        let parameters = |hash: &str| hash.split('$').take(4).collect::<Vec<_>>().join("$");
        assert_eq!(parameters(NOBODY), parameters(&hash("anything").unwrap()));
        let digest = |hash: &str| hash.rsplit('$').next().map(str::len);
        assert_eq!(digest(NOBODY), digest(&hash("anything").unwrap()));
        // a hash that cannot be read would be refused at once, and the time would tell
        let refused = Argon2::default().verify_password(b"anything", NOBODY).unwrap_err();
        assert!(matches!(refused, argon2::password_hash::Error::PasswordInvalid), "{refused:?}");
    }
}
