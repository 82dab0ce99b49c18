//! The short queues between feeders and workers, one for each lane, and the hints that wake the feeders.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mailwright_core::email::Lane;
use mailwright_core::ids::ProjectNumber;
use mailwright_core::time::Timestamp;
use mailwright_store::email::Claimed;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// A feeder that has not been seen for this long counts as dead.
const DEAD_AFTER: Duration = Duration::from_mins(1);

#[derive(Debug, Default)]
struct State {
    lanes: [VecDeque<Claimed>; 3],
    due: BTreeSet<(Lane, ProjectNumber)>,
}

/// Hands claimed mails from the feeders to the workers.
#[derive(Debug, Default)]
pub(crate) struct Dispatcher {
    state: Mutex<State>,
    /// Mails were put into the queue.
    filled: Notify,
    /// There is something to claim for a lane, or room to claim it into.
    wanted: [Notify; 3],
    /// When the feeders were last seen; 0 when this process has none.
    seen: [AtomicI64; 3],
}

impl Dispatcher {
    /// Tells the feeder that a project has mail due. Only a hint: the feeder finds what it was not told of by itself.
    pub(crate) fn wake(&self, lane: Lane, project: ProjectNumber) {
        if self.state().due.insert((lane, project)) {
            self.wanted[index(lane)].notify_one();
        }
    }

    pub(crate) fn is_alive(&self, now: Timestamp) -> bool {
        self.seen
            .iter()
            .map(|seen| seen.load(Ordering::Relaxed))
            .all(|seen| seen == 0 || now.since(Timestamp(seen)) < DEAD_AFTER)
    }

    pub(super) fn feeder_seen(&self, lane: Lane, now: Timestamp) {
        self.seen[index(lane)].store(now.0, Ordering::Relaxed);
    }

    pub(super) fn add_due(&self, lane: Lane, projects: Vec<ProjectNumber>) {
        self.state().due.extend(projects.into_iter().map(|project| (lane, project)));
    }

    /// Takes the hints of a lane. Whoever does not empty a project's outbox has to put it back.
    pub(super) fn take_due(&self, lane: Lane) -> Vec<ProjectNumber> {
        let mut state = self.state();
        let (taken, kept) = std::mem::take(&mut state.due).into_iter().partition(|(l, _)| *l == lane);
        state.due = kept;
        let taken: BTreeSet<(Lane, ProjectNumber)> = taken;
        taken.into_iter().map(|(_, project)| project).collect()
    }

    pub(super) fn depth(&self, lane: Lane) -> usize {
        self.state().lanes[index(lane)].len()
    }

    pub(super) fn push(&self, lane: Lane, mails: Vec<Claimed>) {
        if !mails.is_empty() {
            self.state().lanes[index(lane)].extend(mails);
            self.filled.notify_waiters();
        }
    }

    /// The next mail of the given lanes, the first lane first.
    pub(super) fn try_pop(&self, lanes: &[Lane]) -> Option<Claimed> {
        let mut state = self.state();
        let found = lanes.iter().find_map(|lane| Some((*lane, state.lanes[index(*lane)].pop_front()?)));
        drop(state);
        let (lane, mail) = found?;
        self.wanted[index(lane)].notify_one();
        Some(mail)
    }

    /// Waits for the next mail of the given lanes.
    pub(super) async fn pop(&self, lanes: &[Lane]) -> Claimed {
        loop {
            let filled = self.filled.notified();
            tokio::pin!(filled);
            // registered before looking, so that nothing filled in between is missed
            filled.as_mut().enable();
            if let Some(mail) = self.try_pop(lanes) {
                return mail;
            }
            filled.await;
        }
    }

    /// Resolves when a mail was put into the queue.
    pub(super) fn filled(&self) -> Notified<'_> {
        self.filled.notified()
    }

    /// Empties a lane's queue: for the end of the process, and while nothing can be handed over.
    pub(super) fn drain(&self, lane: Lane) -> Vec<Claimed> {
        std::mem::take(&mut self.state().lanes[index(lane)]).into()
    }

    /// Resolves when a lane's feeder may have something to do.
    pub(super) async fn wanted(&self, lane: Lane) {
        self.wanted[index(lane)].notified().await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn index(lane: Lane) -> usize {
    lane.number() as usize
}
