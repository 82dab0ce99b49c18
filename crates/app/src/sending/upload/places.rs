//! Who may have a picture decoded now, or a mail rendered that somebody edits. Decoding takes a processor and up to 60 MB
//! for up to a second, so few pictures are decoded at once, projects take turns, and few wait. Mails have places of their
//! own, of which the same is true.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mailwright_core::ids::ProjectNumber;
use tokio::sync::oneshot;

/// Pictures that are decoded at once in a process, and mails that are rendered.
const AT_ONCE: usize = 2;
/// Pictures or mails of one project that have a place or wait for it.
pub(in crate::sending) const MOST_OF_PROJECT: usize = 32;
/// The same of all projects.
pub(in crate::sending) const MOST: usize = 64;

/// Why somebody cannot wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sending) enum Full {
    /// The project has as many under way as it may.
    Project,
    /// The process has.
    Process,
}

/// The places of a process. Clones share them.
#[derive(Debug, Clone, Default)]
pub(in crate::sending) struct Places(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    running: usize,
    /// Those that run or wait, by project.
    under_way: HashMap<ProjectNumber, usize>,
    waiting: HashMap<ProjectNumber, VecDeque<oneshot::Sender<Place>>>,
    /// The projects that have somebody waiting, in the order of their turns.
    turns: VecDeque<ProjectNumber>,
}

/// A place, until it is dropped.
#[derive(Debug)]
pub(in crate::sending) struct Place {
    project: ProjectNumber,
    places: Places,
}

impl Places {
    /// Waits for a place.
    pub(in crate::sending) async fn take(&self, project: ProjectNumber) -> Result<Place, Full> {
        let turn = {
            let mut inner = self.lock();
            if inner.under_way.values().sum::<usize>() >= MOST {
                return Err(Full::Process);
            }
            let of_project = inner.under_way.entry(project).or_default();
            if *of_project >= MOST_OF_PROJECT {
                return Err(Full::Project);
            }
            *of_project += 1;
            if inner.running < AT_ONCE {
                inner.running += 1;
                return Ok(Place { project, places: self.clone() });
            }
            inner.wait(project)
        };
        // whoever gives a place back hands it on, as long as somebody waits
        turn.await.map_err(|_| Full::Process)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn wait(&mut self, project: ProjectNumber) -> oneshot::Receiver<Place> {
        let (give, turn) = oneshot::channel();
        let queue = self.waiting.entry(project).or_default();
        if queue.is_empty() {
            self.turns.push_back(project);
        }
        queue.push_back(give);
        turn
    }

    /// Who is next, if anybody waits.
    fn next(&mut self) -> Option<(ProjectNumber, oneshot::Sender<Place>)> {
        let project = self.turns.pop_front()?;
        let queue = self.waiting.get_mut(&project)?;
        let next = queue.pop_front();
        if queue.is_empty() {
            self.waiting.remove(&project);
        } else {
            self.turns.push_back(project);
        }
        Some((project, next?))
    }

    fn leave(&mut self, project: ProjectNumber) {
        if let Some(count) = self.under_way.get_mut(&project) {
            *count -= 1;
            if *count == 0 {
                self.under_way.remove(&project);
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let next = {
            let mut inner = self.places.lock();
            inner.leave(self.project);
            let next = inner.next();
            if next.is_none() {
                inner.running -= 1;
            }
            next
        };
        if let Some((project, give)) = next {
            // somebody who went away meanwhile gives it on when it is dropped here
            drop(give.send(Place { project, places: self.places.clone() }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: ProjectNumber = ProjectNumber(1);
    const B: ProjectNumber = ProjectNumber(2);

    #[tokio::test]
    async fn projects_take_turns() {
        let places = Places::default();
        let mut running = vec![places.take(A).await.unwrap(), places.take(A).await.unwrap()];
        let waiting: Vec<_> = [A, A, A, B, B]
            .into_iter()
            .map(|project| {
                let places = places.clone();
                tokio::spawn(async move { places.take(project).await.unwrap() })
            })
            .collect();
        // each has said that it waits
        while places.lock().under_way.values().sum::<usize>() < 7 {
            tokio::task::yield_now().await;
        }
        let order = Arc::new(Mutex::new(Vec::new()));
        let watchers: Vec<_> = waiting
            .into_iter()
            .map(|waiter| {
                let order = Arc::clone(&order);
                tokio::spawn(async move {
                    let place = waiter.await.unwrap();
                    order.lock().unwrap().push(place.project);
                    drop(place);
                })
            })
            .collect();
        drop(running.pop());
        for watcher in watchers {
            watcher.await.unwrap();
        }
        assert_eq!(*order.lock().unwrap(), [A, B, A, B, A]);
        drop(running);
        let inner = places.lock();
        assert_eq!((inner.running, inner.under_way.len(), inner.turns.len()), (0, 0, 0));
    }

    #[tokio::test]
    async fn those_who_wait_are_bounded_and_may_go_away() {
        let places = Places::default();
        let running = (places.take(A).await.unwrap(), places.take(A).await.unwrap());
        let mut waiting: Vec<_> = (2..MOST_OF_PROJECT).map(|_| Box::pin(places.take(A))).collect();
        for waiter in &mut waiting {
            assert!(futures_util::poll!(waiter.as_mut()).is_pending());
        }
        assert_eq!(places.take(A).await.unwrap_err(), Full::Project);
        let mut others: Vec<_> = (MOST_OF_PROJECT..MOST).map(|_| Box::pin(places.take(B))).collect();
        for waiter in &mut others {
            assert!(futures_util::poll!(waiter.as_mut()).is_pending());
        }
        assert_eq!(places.take(ProjectNumber(3)).await.unwrap_err(), Full::Process);
        drop((waiting, others));
        drop(running);
        let inner = places.lock();
        assert_eq!((inner.running, inner.under_way.len(), inner.waiting.len()), (0, 0, 0));
    }
}
