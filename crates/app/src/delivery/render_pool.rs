//! Renders and signs mails, on threads of its own.
//!
//! A signature can take half a millisecond of a processor. On the threads of requests and database answers, other mail
//! waited four times as long during a campaign as without one. The threads here, one for each processor, have a low
//! priority (`nice`) and take urgent mail first. Among mails of the same urgency projects take turns, so a project
//! whose mails take long to render does not delay the others.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use mailwright_core::email::Lane;
use mailwright_core::ids::ProjectNumber;
use tokio::sync::oneshot;

use super::turns::Shares;

/// How much these threads give way: enough to go last, and still a third of what others get.
#[cfg(target_os = "linux")]
const NICE: i32 = 5;

type Job = Box<dyn FnOnce() + Send>;

/// Which mail is rendered first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Urgency {
    /// Somebody waits for the mail.
    Now,
    /// Nobody knows of it yet.
    Later,
}

impl Urgency {
    /// That of the mails of a lane. A campaign's mails are in the last one, whatever its type.
    pub(super) fn of(lane: Lane) -> Self {
        if lane == Lane::Transactional { Self::Now } else { Self::Later }
    }
}

/// The threads and what waits for them. Dropping it ends them.
pub(super) struct RenderPool(Arc<Shared>);

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    filled: Condvar,
}

#[derive(Default)]
struct Queue {
    now: Shares<ProjectNumber, Job>,
    later: Shares<ProjectNumber, Job>,
    closed: bool,
}

impl RenderPool {
    /// Starts its threads.
    pub(super) fn start(threads: usize) -> Self {
        let shared = Arc::new(Shared::default());
        for _ in 0..threads {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || {
                give_way();
                while let Some(job) = shared.next() {
                    // whoever waits for it learns that there is no result
                    let _ = catch_unwind(AssertUnwindSafe(job));
                }
            });
        }
        Self(shared)
    }

    /// Does some work for a project when its turn comes; `None` when it panicked.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        urgency: Urgency,
        project: ProjectNumber,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let (done, result) = oneshot::channel();
        self.0.push(urgency, project, Box::new(move || drop(done.send(work()))));
        result.await.ok()
    }
}

impl Drop for RenderPool {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.filled.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, urgency: Urgency, project: ProjectNumber, job: Job) {
        let mut queue = self.lock();
        match urgency {
            Urgency::Now => queue.now.push(project, job),
            Urgency::Later => queue.later.push(project, job),
        }
        drop(queue);
        self.filled.notify_one();
    }

    /// The next job, once there is one; `None` at the end.
    fn next(&self) -> Option<Job> {
        let mut queue = self.lock();
        loop {
            if queue.closed {
                return None;
            }
            if let Some(job) = queue.now.pop() {
                return Some(job);
            }
            if let Some(job) = queue.later.pop() {
                return Some(job);
            }
            queue = self.filled.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Lowers the priority of this thread. Elsewhere than on Linux it would be the whole process's.
fn give_way() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::nice(NICE) {
        tracing::debug!(%error, "the priority of the signing threads could not be lowered");
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;

    use super::*;

    const ONE: ProjectNumber = ProjectNumber(1);
    const OTHER: ProjectNumber = ProjectNumber(2);

    #[tokio::test]
    async fn what_panics_has_no_result_and_harms_nobody_else() {
        let render_pool = RenderPool::start(1);
        assert_eq!(render_pool.run(Urgency::Now, ONE, || panic!("out of bounds")).await, None::<()>);
        assert_eq!(render_pool.run(Urgency::Later, ONE, || 7).await, Some(7));
    }

    #[tokio::test]
    async fn what_somebody_waits_for_goes_first_and_projects_take_turns() {
        let render_pool = RenderPool::start(1);
        let (begun, running) = oneshot::channel();
        let (open, opened) = std::sync::mpsc::channel::<()>();
        let order = Arc::new(Mutex::new(Vec::new()));
        let note = |name| {
            let order = Arc::clone(&order);
            move || order.lock().unwrap().push(name)
        };
        let first = render_pool.run(Urgency::Later, ONE, move || {
            begun.send(()).unwrap();
            opened.recv().unwrap();
        });
        let others = async {
            // the only thread is busy while these come in
            running.await.unwrap();
            let later = render_pool.run(Urgency::Later, ONE, note("later"));
            let much =
                ["first", "second", "third"].map(|name| render_pool.run(Urgency::Now, ONE, note(name)));
            let other = render_pool.run(Urgency::Now, OTHER, note("other"));
            let release = async { open.send(()).unwrap() };
            tokio::join!(biased; later, join_all(much), other, release)
        };
        tokio::join!(first, others);
        assert_eq!(*order.lock().unwrap(), ["first", "other", "second", "third", "later"]);
    }
}
