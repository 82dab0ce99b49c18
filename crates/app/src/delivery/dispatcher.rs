//! The short queues between feeders and workers, one for each lane; the projects that have mail to be claimed; and the
//! part of the instance's rate that this process may spend.
//!
//! Projects take turns (`turns.rs`) in the claims, and again among the claimed mails. The instance's rate is spent when
//! a mail leaves the queue, because the order of lanes and projects is decided there.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mailwright_core::email::Lane;
use mailwright_core::ids::ProjectNumber;
use mailwright_core::routing::TransportNumber;
use mailwright_store::sending::email::Claimed;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use super::flows::{Destination, Flow, LaneQueue};
use super::turns::Turns;
use crate::background::runner::Waker;

/// A feeder that has not been seen for this long counts as dead.
const DEAD_AFTER: Duration = Duration::from_mins(1);
/// Tokens of the instance's rate that are not used in this time are lost, so that they do not add up.
const ALLOWED_FOR: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
struct State {
    lanes: [LaneQueue; 3],
    due: [Turns<ProjectNumber>; 3],
    allowance: Option<Allowance>,
}

/// Tokens of the instance's rate that this process holds.
#[derive(Debug)]
struct Allowance {
    mails: i64,
    given_at: Instant,
}

impl Allowance {
    fn left(&self) -> i64 {
        if self.given_at.elapsed() < ALLOWED_FOR { self.mails } else { 0 }
    }
}

/// Hands claimed mails from the feeders to the workers.
#[derive(Debug, Default)]
pub(crate) struct Dispatcher {
    state: Mutex<State>,
    /// Mails were put into the queue, or may be taken out of it.
    filled: Notify,
    /// There is something to claim for a lane, or room to claim it into.
    wanted: [Waker; 3],
    /// Mails wait for the instance's rate.
    held_up: Notify,
    /// When the feeders were last seen; nothing when this process has none.
    seen: [Mutex<Option<Instant>>; 3],
    /// The database has a schema that a newer program made: its rows may say what this one does not understand.
    superseded: AtomicBool,
}

/// The project whose mail is claimed next.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    pub(super) project: ProjectNumber,
    /// How many have mail due, this one included.
    pub(super) among: usize,
}

/// Mails of a flow that were taken back.
pub(super) struct Taken {
    pub(super) lane: Lane,
    pub(super) flow: Flow,
    pub(super) mails: Vec<Claimed>,
}

/// A mail that left the queue.
pub(super) struct Popped {
    pub(super) lane: Lane,
    pub(super) destination: Destination,
    pub(super) mail: Claimed,
}

/// The number of mails and projects in a lane's queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    pub(super) mails: usize,
    /// How many projects they are of.
    pub(super) projects: usize,
}

impl Dispatcher {
    /// Tells the feeder that a project has mail due. This is a hint: the feeder finds other due mail by itself.
    pub(crate) fn wake(&self, lane: Lane, project: ProjectNumber) {
        if self.state().due[index(lane)].join(project) {
            self.wanted[index(lane)].wake();
        }
    }

    pub(crate) fn is_alive(&self) -> bool {
        let seen_lately = self.seen.iter().all(|seen| {
            let seen = *seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.is_none_or(|at| at.elapsed() < DEAD_AFTER)
        });
        seen_lately && !self.is_superseded()
    }

    /// Whether a newer program has migrated the database.
    pub(crate) fn is_superseded(&self) -> bool {
        self.superseded.load(Ordering::Relaxed)
    }

    /// Notes whether a newer program has migrated the database. Returns whether that is news.
    pub(super) fn set_superseded(&self, superseded: bool) -> bool {
        self.superseded.swap(superseded, Ordering::Relaxed) != superseded
    }

    pub(super) fn feeder_seen(&self, lane: Lane) {
        *self.seen[index(lane)].lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Adds projects that have mail due. Known projects keep their place.
    pub(super) fn add_due(&self, lane: Lane, projects: impl IntoIterator<Item = ProjectNumber>) {
        let mut state = self.state();
        for project in projects {
            state.due[index(lane)].join(project);
        }
    }

    /// The project whose turn it is in a lane; with `idle`, only among projects without mail in the queue. A caller
    /// that does not empty the project's outbox has to add the project again.
    pub(super) fn next_due(&self, lane: Lane, idle: bool) -> Option<Turn> {
        let state = &mut *self.state();
        let (due, queue) = (&mut state.due[index(lane)], &state.lanes[index(lane)]);
        let project = due.next_by(|project| (!idle || queue.queued_for(project) == 0).then_some(0))?;
        Some(Turn { project, among: due.waiting() + 1 })
    }

    /// Whether there is a project with due mail and without mail in the queue.
    pub(super) fn has_idle(&self, lane: Lane) -> bool {
        let state = self.state();
        state.due[index(lane)].has(|project| state.lanes[index(lane)].queued_for(project) == 0)
    }

    /// How many mails of a project are in a lane's queue.
    pub(super) fn queued_for(&self, lane: Lane, project: ProjectNumber) -> usize {
        self.state().lanes[index(lane)].queued_for(project)
    }

    /// How many mails of the projects that `may` names are in the queues of the given lanes for a transport.
    pub(super) fn waiting(
        &self,
        lanes: &[Lane],
        transport: TransportNumber,
        mut may: impl FnMut(ProjectNumber) -> bool,
    ) -> usize {
        let state = self.state();
        let queued = lanes.iter().flat_map(|lane| state.lanes[index(*lane)].queued());
        let meant = queued.filter(|(flow, _)| flow.destination.transport == transport && may(flow.project));
        meant.map(|(_, count)| count).sum()
    }

    /// Takes back the mails that `is_meant` accepts, of flows that `may` accepts.
    pub(super) fn extract(
        &self,
        mut may: impl FnMut(Flow) -> bool,
        mut is_meant: impl FnMut(Flow, &Claimed) -> bool,
    ) -> Vec<Taken> {
        let mut extracted = Vec::new();
        let mut state = self.state();
        for (lane, queue) in Lane::ALL.into_iter().zip(&mut state.lanes) {
            let flows: Vec<_> = queue.queued().map(|(flow, _)| flow).filter(|flow| may(*flow)).collect();
            for flow in flows {
                let mails = queue.extract(flow, |mail| is_meant(flow, mail));
                if !mails.is_empty() {
                    extracted.push(Taken { lane, flow, mails });
                }
            }
        }
        extracted
    }

    /// Takes back what flows have in the queues beyond so many mails, those for which a number is given, which may depend
    /// on how many there are. Of each lane, a flow that changes by chance is asked about first.
    pub(super) fn withdraw(&self, mut keep: impl FnMut(Flow, usize) -> Option<usize>) -> Vec<Taken> {
        let mut withdrawn = Vec::new();
        let mut state = self.state();
        for (lane, queue) in Lane::ALL.into_iter().zip(&mut state.lanes) {
            let mut queued: Vec<_> = queue.queued().collect();
            let first = rand::random::<u32>() as usize % queued.len().max(1);
            queued.rotate_left(first);
            for (flow, count) in queued {
                if let Some(keep) = keep(flow, count).filter(|keep| *keep < count) {
                    withdrawn.push(Taken { lane, flow, mails: queue.withdraw(flow, keep) });
                }
            }
        }
        withdrawn
    }

    /// Sends the mails for a destination to another one, which is now known to be theirs.
    pub(super) fn redirect(&self, from: Destination, to: Destination) {
        let mut state = self.state();
        for lane in &mut state.lanes {
            let flows: Vec<_> =
                lane.queued().map(|(flow, _)| flow).filter(|flow| flow.destination == from).collect();
            for flow in flows {
                for mail in lane.withdraw(flow, 0) {
                    lane.push(to, mail);
                }
            }
        }
        drop(state);
        self.filled.notify_waiters();
    }

    /// How many mails there are for each destination of a transport.
    pub(super) fn queued_by_destination(&self, transport: TransportNumber) -> HashMap<Destination, usize> {
        let mut counts = HashMap::new();
        let state = self.state();
        let queued = state.lanes.iter().flat_map(LaneQueue::queued);
        for (flow, count) in queued.filter(|(flow, _)| flow.destination.transport == transport) {
            *counts.entry(flow.destination).or_default() += count;
        }
        counts
    }

    pub(super) fn depth(&self, lane: Lane) -> usize {
        self.state().lanes[index(lane)].len()
    }

    pub(super) fn load(&self, lane: Lane) -> Load {
        let state = self.state();
        let queue = &state.lanes[index(lane)];
        Load { mails: queue.len(), projects: queue.projects() }
    }

    pub(super) fn push(&self, lane: Lane, mails: Vec<(Destination, Claimed)>) {
        if !mails.is_empty() {
            let mut state = self.state();
            for (destination, mail) in mails {
                state.lanes[index(lane)].push(destination, mail);
            }
            drop(state);
            self.filled.notify_waiters();
        }
    }

    /// The next mail of the given lanes, which of them it was in and where it goes: the first lane first, and in it
    /// that of the project with the lowest rank whose turn it is. Projects without a rank have none now, and neither have
    /// flows that `admits` does not let pass.
    pub(super) fn try_pop(
        &self,
        lanes: &[Lane],
        mut rank: impl FnMut(Lane, ProjectNumber) -> Option<usize>,
        mut admits: impl FnMut(Flow) -> bool,
    ) -> Option<Popped> {
        let mut state = self.state();
        if state.allowance.as_ref().is_some_and(|allowance| allowance.left() == 0) {
            let waits = lanes.iter().any(|lane| state.lanes[index(*lane)].len() > 0);
            drop(state);
            if waits {
                self.held_up.notify_one();
            }
            return None;
        }
        let found = lanes.iter().find_map(|lane| {
            let (destination, mail) =
                state.lanes[index(*lane)].pop_by(|project| rank(*lane, project), &mut admits)?;
            Some(Popped { lane: *lane, destination, mail })
        });
        if let (Some(_), Some(allowance)) = (&found, &mut state.allowance) {
            allowance.mails -= 1;
        }
        drop(state);
        let popped = found?;
        self.wanted[index(popped.lane)].wake();
        Some(popped)
    }

    /// Waits for the next mail of the given lanes for a transport.
    pub(super) async fn pop(&self, lanes: &[Lane], transport: TransportNumber) -> (Lane, Claimed) {
        loop {
            let filled = self.filled.notified();
            tokio::pin!(filled);
            // registered before looking, so that nothing filled in between is missed
            filled.as_mut().enable();
            if let Some(Popped { lane, mail, .. }) =
                self.try_pop(lanes, |_, _| Some(0), |flow| flow.destination.transport == transport)
            {
                return (lane, mail);
            }
            filled.await;
        }
    }

    /// Resolves when a mail was put into the queue.
    pub(super) fn filled(&self) -> Notified<'_> {
        self.filled.notified()
    }

    /// From now on mails leave only as [`Dispatcher::allow`] says.
    pub(super) fn limit(&self) {
        self.state().allowance = Some(Allowance { mails: 0, given_at: Instant::now() });
    }

    /// Lets some more mails out.
    pub(super) fn allow(&self, mails: i64) {
        if let Some(allowance) = &mut self.state().allowance {
            *allowance = Allowance { mails: allowance.left() + mails, given_at: Instant::now() };
        }
        self.filled.notify_waiters();
    }

    /// How many mails of each lane wait for the instance's rate; none while some of it is left.
    pub(super) fn held_up(&self) -> [i64; 3] {
        let state = self.state();
        match &state.allowance {
            Some(allowance) if allowance.left() == 0 => Lane::ALL.map(|l| state.lanes[index(l)].len() as i64),
            _ => [0; 3],
        }
    }

    /// Resolves when mails may wait for the instance's rate.
    pub(super) async fn until_held_up(&self) {
        self.held_up.notified().await;
    }

    /// Empties a lane's queue: for the end of the process, and while nothing can be handed over.
    pub(super) fn drain(&self, lane: Lane) -> Vec<Claimed> {
        self.state().lanes[index(lane)].drain()
    }

    /// Takes what a lane's queue has for a transport.
    pub(super) fn drain_for(&self, lane: Lane, transport: TransportNumber) -> Vec<Claimed> {
        let mut state = self.state();
        let queue = &mut state.lanes[index(lane)];
        let flows: Vec<_> = queue
            .queued()
            .map(|(flow, _)| flow)
            .filter(|flow| flow.destination.transport == transport)
            .collect();
        flows.into_iter().flat_map(|flow| queue.withdraw(flow, 0)).collect()
    }

    /// The waker of the feeder of a lane.
    pub(super) fn waker(&self, lane: Lane) -> &Waker {
        &self.wanted[index(lane)]
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn index(lane: Lane) -> usize {
    lane.number() as usize
}
