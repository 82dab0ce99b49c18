//! Work for projects that runs beside the rounds of a runner: one piece at a time for each project.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mailwright_core::ids::ProjectNumber;

use crate::background::tasks::Tasks;

/// Most projects with work under way. Nearly all of them wait for a slow read, where projects take turns. The number is
/// much greater than the projects of one person, so that one person cannot fill all places.
const MOST: usize = 500;
/// How long a project keeps its place while there is no other left.
const TURN: Duration = Duration::from_secs(1);

/// Work that outlives the round which starts it, one piece at a time for each project. What takes long for one project
/// holds up neither the round nor another project.
///
/// It is dropped at its next await when the service stops. Its caller makes sure that the next process continues it.
#[derive(Debug, Clone)]
pub(crate) struct ProjectWork {
    tasks: Tasks,
    most: usize,
    projects: Arc<Mutex<BTreeSet<ProjectNumber>>>,
}

impl ProjectWork {
    pub(crate) fn new(tasks: &Tasks) -> Self {
        Self { tasks: tasks.clone(), most: MOST, projects: Arc::default() }
    }

    /// Starts work for a project. Returns false when it has some under way, or when all places are taken: then it is
    /// for the next round.
    pub(crate) fn start(
        &self,
        name: &'static str,
        project: ProjectNumber,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> bool {
        let Some(place) = self.enter(project) else { return false };
        self.tasks.spawn(name, async move {
            tokio::select! {
                () = work => {}
                () = place.of.tasks.stopping() => {}
            }
        });
        true
    }

    /// Whether work that began then goes on with its next step, rather than to leave its place to others.
    pub(crate) fn goes_on(&self, began: Instant) -> bool {
        began.elapsed() < TURN || !self.is_full()
    }

    /// Whether all places are taken.
    pub(crate) fn is_full(&self) -> bool {
        self.lock().len() >= self.most
    }

    fn enter(&self, project: ProjectNumber) -> Option<Place> {
        let mut projects = self.lock();
        let enters = projects.len() < self.most && projects.insert(project);
        enters.then(|| Place { of: self.clone(), project })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<ProjectNumber>> {
        self.projects.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of a project, which is free again when this is dropped, also by a panic.
struct Place {
    of: ProjectWork,
    project: ProjectNumber,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.of.lock().remove(&self.project);
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;
    use tokio::task::yield_now;

    use super::*;

    /// Work of so many projects at most.
    fn places(most: usize) -> (Tasks, ProjectWork) {
        let tasks = Tasks::default();
        let work = ProjectWork { most, ..ProjectWork::new(&tasks) };
        (tasks, work)
    }

    /// Starts work that goes on until the sender is dropped.
    fn hold(work: &ProjectWork, project: i64) -> Option<oneshot::Sender<()>> {
        let (end, ended) = oneshot::channel::<()>();
        let started = work.start("held", ProjectNumber(project), async move { drop(ended.await) });
        started.then_some(end)
    }

    #[tokio::test]
    async fn a_project_has_one_piece_under_way_and_holds_up_no_other() {
        let (_tasks, work) = places(2);
        let one = hold(&work, 1).expect("there is a place");
        assert!(hold(&work, 1).is_none(), "it has one under way");
        let long_ago = Instant::now().checked_sub(TURN).expect("the machine runs for longer");
        assert!(work.goes_on(long_ago), "there is a place left");
        let _two = hold(&work, 2).expect("the other project does not wait");
        assert!(work.goes_on(Instant::now()), "it has only begun");
        assert!(!work.goes_on(long_ago), "others may wait");
        assert!(hold(&work, 3).is_none(), "both places are taken");
        drop(one);
        while work.is_full() {
            yield_now().await;
        }
        assert!(hold(&work, 3).is_some(), "a place is free again");
    }

    #[tokio::test]
    async fn a_panic_leaves_the_place() {
        let (_tasks, work) = places(1);
        assert!(work.start("panics", ProjectNumber(1), async { panic!("as the test wants it") }));
        while work.is_full() {
            yield_now().await;
        }
    }

    #[tokio::test]
    async fn the_service_does_not_wait_for_it_when_it_stops() {
        let (tasks, work) = places(1);
        let _held = hold(&work, 1).expect("there is a place");
        assert!(tasks.stop(Duration::from_secs(30)).await);
        assert!(!work.is_full());
    }
}
