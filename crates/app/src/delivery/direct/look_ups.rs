//! Which look-ups of domains go on, of all that are wanted.
//!
//! So many go on at a time. One whose name servers do not answer soon makes room for the next and goes on beside them, of
//! which there are so many more; of the last of these places a project gets none that has some. Where there is no place
//! left, or the queue is too long, a look-up ends without an answer, and its domain is looked up again later.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mailwright_core::ids::ProjectNumber;
use tokio::sync::Semaphore;

use super::by_project::ByProject;
use super::unanswered::PROMPT;

/// Most domains that are looked up at a time.
const AT_ONCE: usize = 256;
/// Most beside them whose name servers are slow, and how many of these places are kept for projects that have none.
const SLOW: usize = 512;
const KEPT_FOR_OTHERS: usize = SLOW / 8;
/// Most that wait for their turn.
const WAITING: usize = 10_000;
/// How long a domain is looked up, its policy about TLS included.
const LONGEST: Duration = Duration::from_secs(20);

/// The look-ups of a transport.
pub(super) struct LookUps {
    turns: Semaphore,
    waiting: AtomicUsize,
    slow: Mutex<ByProject>,
}

impl Default for LookUps {
    fn default() -> Self {
        Self { turns: Semaphore::new(AT_ONCE), waiting: AtomicUsize::new(0), slow: Mutex::default() }
    }
}

impl LookUps {
    /// Looks a domain up for mail of a project when it is its turn; `None` where there is no answer in time.
    pub(super) async fn run<A>(&self, project: ProjectNumber, look: impl Future<Output = A>) -> Option<A> {
        let waits = Waits::begin(&self.waiting)?;
        let turn = self.turns.acquire().await.ok()?;
        drop(waits);
        let mut look = pin!(tokio::time::timeout(LONGEST, look));
        if let Ok(found) = tokio::time::timeout(PROMPT, look.as_mut()).await {
            return found.ok();
        }
        let _place = SlowPlace::take(&self.slow, project)?;
        drop(turn);
        look.await.ok()
    }
}

/// A look-up that waits for its turn.
struct Waits<'l>(&'l AtomicUsize);

impl<'l> Waits<'l> {
    fn begin(waiting: &'l AtomicUsize) -> Option<Self> {
        let before = waiting.fetch_add(1, Ordering::Relaxed);
        let begun = Self(waiting);
        (before < WAITING).then_some(begun)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A place of a look-up whose name servers are slow.
struct SlowPlace<'l> {
    slow: &'l Mutex<ByProject>,
    project: ProjectNumber,
}

fn lock(slow: &Mutex<ByProject>) -> MutexGuard<'_, ByProject> {
    slow.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'l> SlowPlace<'l> {
    fn take(slow: &'l Mutex<ByProject>, project: ProjectNumber) -> Option<Self> {
        let mut taken = lock(slow);
        let is_free = taken.all < SLOW - KEPT_FOR_OTHERS || taken.all < SLOW && taken.of(project) == 0;
        is_free.then(|| {
            taken.add(project);
            Self { slow, project }
        })
    }
}

impl Drop for SlowPlace<'_> {
    fn drop(&mut self) {
        lock(self.slow).remove(self.project);
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    const ONE: ProjectNumber = ProjectNumber(1);
    const OTHER: ProjectNumber = ProjectNumber(2);

    #[test]
    fn the_last_places_for_slow_name_servers_are_for_projects_that_have_none() {
        let slow = Mutex::default();
        let mut taken: Vec<_> = (0..SLOW).map_while(|_| SlowPlace::take(&slow, ONE)).collect();
        assert_eq!(taken.len(), SLOW - KEPT_FOR_OTHERS);
        let others: Vec<_> = (2..1_000).map_while(|n| SlowPlace::take(&slow, ProjectNumber(n))).collect();
        assert_eq!(others.len(), KEPT_FOR_OTHERS);
        assert!(SlowPlace::take(&slow, OTHER).is_none());
        drop(others);
        taken.pop();
        assert!(SlowPlace::take(&slow, ONE).is_some());
        drop(taken);
        assert_eq!(lock(&slow).all, 0);
    }

    #[tokio::test]
    async fn slow_name_servers_make_room_for_other_look_ups() {
        let look_ups = LookUps::default();
        let slow = look_ups.run(ONE, pending::<()>());
        let others = async {
            while lock(&look_ups.slow).all == 0 {
                tokio::task::yield_now().await;
            }
            assert_eq!(look_ups.turns.available_permits(), AT_ONCE);
            look_ups.run(ONE, ready(7)).await
        };
        let found = tokio::select! {
            _ = slow => None,
            found = others => found,
        };
        assert_eq!(found, Some(7));
        assert_eq!((lock(&look_ups.slow).all, look_ups.waiting.load(Ordering::Relaxed)), (0, 0));
    }

    #[tokio::test]
    async fn the_queue_of_look_ups_is_bounded() {
        let look_ups = LookUps::default();
        look_ups.waiting.store(WAITING, Ordering::Relaxed);
        assert_eq!(look_ups.run(ONE, ready(7)).await, None);
        assert_eq!(look_ups.waiting.load(Ordering::Relaxed), WAITING);
    }
}
