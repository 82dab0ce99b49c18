//! What workers and feeders ask before they open a connection or take a mail. Permits and mails are values that give
//! themselves back when they are dropped, so the counts are right even after a panic.

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mailwright_core::email::Lane;
use mailwright_core::ids::{EmailId, ProjectNumber};
use mailwright_core::pauses::Pauses;
use mailwright_core::routing::TransportNumber;
use mailwright_core::time::{Clock, Timestamp};
use mailwright_store::sending::email::Claimed;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use super::pace::{Meter, Paces};
use super::pool::{Ask, Pool, Purpose, Rules, Trouble, Waiting};
use super::project_news::News;
use super::refusals::Refusals;
use super::state::State;
use crate::delivery::dispatcher::{Dispatcher, Popped};
use crate::delivery::flows::{Destination, Flow};
use crate::metrics::Metrics;
use crate::settings::DeliverySettings;

/// Pauses before a next hop that could not be reached is tried again; shorter if the pauses of retries are shorter.
const OUTAGE: Pauses = Pauses { first: Duration::from_secs(1), longest: Duration::from_secs(30) };
/// Pauses before one more connection is tried than the next hop has taken so far.
const GROWTH: Pauses = Pauses { first: Duration::from_secs(1), longest: Duration::from_mins(10) };
/// The next hop, as this process knows it.
pub(in crate::delivery) struct NextHop {
    transport: TransportNumber,
    name: Arc<str>,
    clock: Clock,
    started: Instant,
    pub(super) configured: usize,
    state: Mutex<State>,
    /// A connection or a mail may be had now that could not be had before.
    pub(super) changed: Notify,
    /// There may be something to tell the operator.
    pub(super) news: Notify,
    metrics: Metrics,
}

/// What a worker that has a connection gets.
pub(in crate::delivery) enum Take {
    /// A mail to hand over.
    Mail(Box<Claimed>, Busy),
    /// Nothing now. Ask again after that time, and whenever something changed.
    Wait(Option<Duration>),
}

/// What a worker without a connection gets.
pub(in crate::delivery) enum Leave {
    /// It may open one.
    Open(Permit),
    /// Not now. Ask again after that time, and whenever something changed.
    Wait(Option<Duration>),
}

impl NextHop {
    pub(in crate::delivery) fn new(
        transport: TransportNumber,
        name: &Arc<str>,
        settings: &DeliverySettings,
        clock: &Clock,
        metrics: Metrics,
    ) -> Self {
        let refusal = Pauses { first: settings.refused_base, longest: settings.refused_max };
        let outage = Pauses { first: settings.retry_base.min(OUTAGE.first), ..OUTAGE };
        let rules = Rules { configured: settings.connections, growth: GROWTH, outage, refusal };
        Self {
            transport,
            name: Arc::clone(name),
            clock: clock.clone(),
            started: clock.steady(),
            configured: settings.connections,
            state: Mutex::new(State {
                pool: Pool::new(rules),
                paces: Paces::default(),
                refusals: Refusals::new(refusal),
                ended: Meter::default(),
                error: String::new(),
                news: News::default(),
                measured_at: Timestamp(0),
            }),
            changed: Notify::new(),
            news: Notify::new(),
            metrics,
        }
    }

    /// The time since the process began: unlike the system's, it never goes back.
    pub(super) fn now(&self) -> Timestamp {
        Timestamp(0).plus(self.clock.steady().saturating_duration_since(self.started))
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state; those who wait look again when it matters to them.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut State, Timestamp) -> T) -> T {
        let now = self.now();
        let mut state = self.state();
        let changed = change(&mut state, now);
        self.measure(&state);
        drop(state);
        self.changed.notify_waiters();
        self.news.notify_one();
        changed
    }

    pub(super) fn measure(&self, state: &State) {
        self.metrics.next_hop_connections(
            &self.name,
            state.pool.open(),
            state.pool.allowed(),
            self.configured,
        );
        let trouble = state.pool.trouble().map(Trouble::as_str);
        self.metrics
            .next_hop_state(&self.name, trouble.or(state.refusals.is_any_kept_back().then_some("refused")));
        self.metrics.next_hop_rate(&self.name, state.paces.rate(self.now()).unwrap_or(0.0));
    }

    /// The transport whose next hop it is.
    pub(in crate::delivery) fn transport(&self) -> TransportNumber {
        self.transport
    }

    /// The name of that transport.
    pub(in crate::delivery) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Begins with a limit that was learnt before.
    pub(super) fn restore(&self, limit: usize) {
        self.change(|state, _| state.pool.restore(limit));
    }

    /// Resolves when it is worth asking again.
    pub(in crate::delivery) fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }

    /// Notes whether there is but one project.
    pub(super) fn set_alone(&self, is_alone: bool) {
        self.state().pool.set_alone(is_alone);
    }

    /// Forgets refusals of projects that have had no mail to try for long, so that their mail is not reported as
    /// waiting.
    pub(super) fn forget(&self) {
        self.change(|state, now| {
            // in an outage nothing is tried
            if state.pool.trouble().is_none() {
                state.refusals.forget(now);
                state.paces.forget(now);
            }
        });
    }

    /// A mail has left, or was refused.
    pub(in crate::delivery) fn ended(&self) {
        let now = self.now();
        self.state().ended.count(now);
    }

    /// The next mail for a worker that has a connection.
    pub(in crate::delivery) fn take(self: &Arc<Self>, dispatcher: &Dispatcher) -> Take {
        self.take_for(dispatcher, |_| Ok(()))
    }

    /// The next mail for a destination that `admits` lets pass; where it does not, it says after which time that may
    /// have changed.
    pub(in crate::delivery) fn take_for(
        self: &Arc<Self>,
        dispatcher: &Dispatcher,
        mut admits: impl FnMut(Flow) -> Result<(), Option<Duration>>,
    ) -> Take {
        let now = self.now();
        let mut state = self.state();
        if let Err(until) = state.pool.admit(now) {
            return Take::Wait(until.map(|until| until.since(now)));
        }
        let soonest = Cell::new(None::<Duration>);
        let after = |wait: Option<Duration>| soonest.set([soonest.get(), wait].into_iter().flatten().min());
        let found = dispatcher.try_pop(
            state.pool.lanes(),
            |lane, project| match state.may_try(project, now) {
                Ok(()) => state.pool.has_room_for(lane, project).then(|| state.pool.held_by(project)),
                Err(at) => {
                    after(Some(at.since(now)));
                    None
                }
            },
            |flow| flow.destination.transport == self.transport && admits(flow).map_err(after).is_ok(),
        );
        let Some(Popped { lane, destination, mail }) = found else {
            return Take::Wait(soonest.get());
        };
        state.pool.begin(lane, mail.project);
        state.paces.took(mail.project, now);
        state.refusals.begun(mail.id, mail.project);
        let busy = Busy { hop: Arc::clone(self), lane, destination, mail: mail.id, project: mail.project };
        Take::Mail(Box::new(mail), busy)
    }

    /// Whether a worker without a connection may open one.
    pub(in crate::delivery) fn ask(self: &Arc<Self>, dispatcher: &Dispatcher) -> Leave {
        let now = self.now();
        let mut state = self.state();
        let (mut soon, mut newcomers): (Option<Timestamp>, _) = (None, HashSet::new());
        let mails = dispatcher.waiting(state.pool.lanes(), self.transport, |project| {
            match state.may_try(project, now) {
                Ok(()) => {
                    if state.pool.held_by(project) == 0 {
                        newcomers.insert(project);
                    }
                    true
                }
                Err(at) => {
                    soon = Some(soon.map_or(at, |soon| soon.min(at)));
                    false
                }
            }
        });
        let waiting = Waiting { mails, newcomers: newcomers.len() };
        match state.pool.ask(waiting, now) {
            Ask::Open(purpose) => Leave::Open(Permit { hop: Arc::clone(self), purpose, used: false }),
            Ask::Wait(until) => {
                Leave::Wait([until, soon].into_iter().flatten().min().map(|at| at.since(now)))
            }
        }
    }

    /// An envelope was answered, whatever the answer: the connection works.
    pub(in crate::delivery) fn worked(&self) {
        let mut state = self.state();
        let known = state.pool.allowed();
        state.pool.worked();
        if state.pool.allowed() != known {
            self.measure(&state);
            self.news.notify_one();
        }
    }

    /// Whether a mail of a project that was refused on a used connection may be tried at once on a fresh one.
    pub(in crate::delivery) fn may_exchange(&self, project: ProjectNumber) -> bool {
        self.state().paces.may_exchange(project)
    }

    /// A fresh connection was of no use.
    pub(in crate::delivery) fn exchanged_in_vain(&self, project: ProjectNumber) {
        let now = self.now();
        self.state().paces.exchanged_in_vain(project, now);
    }
}

/// Leave to open a connection.
pub(in crate::delivery) struct Permit {
    hop: Arc<NextHop>,
    purpose: Purpose,
    used: bool,
}

impl Permit {
    /// The connection is there.
    pub(in crate::delivery) fn opened(mut self) -> Seat {
        self.used = true;
        let purpose = self.purpose;
        self.hop.change(|state, now| state.pool.opened(purpose, now));
        Seat { hop: Arc::clone(&self.hop), left: false }
    }

    /// There is no connection to be had.
    pub(in crate::delivery) fn refused(mut self, trouble: Trouble, error: &str) {
        self.used = true;
        let purpose = self.purpose;
        self.hop.change(|state, now| {
            state.pool.refused(purpose, trouble, now);
            if state.pool.trouble() == Some(trouble) {
                error.clone_into(&mut state.error);
            }
        });
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if !self.used {
            let purpose = self.purpose;
            self.hop.change(|state, now| state.pool.gave_up(purpose, now));
        }
    }
}

/// The place of an open connection.
pub(in crate::delivery) struct Seat {
    hop: Arc<NextHop>,
    left: bool,
}

impl Seat {
    /// Gives the place to a fresh connection.
    pub(in crate::delivery) fn exchange(mut self) -> Permit {
        self.left = true;
        self.hop.state().pool.exchanged();
        Permit { hop: Arc::clone(&self.hop), purpose: Purpose::Serve, used: false }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if !self.left {
            self.hop.change(|state, _| state.pool.closed());
        }
    }
}

/// A mail that is being handed over.
pub(in crate::delivery) struct Busy {
    hop: Arc<NextHop>,
    lane: Lane,
    destination: Destination,
    mail: EmailId,
    project: ProjectNumber,
}

impl Busy {
    /// Where it goes.
    pub(in crate::delivery) fn destination(&self) -> Destination {
        self.destination
    }

    /// The lane the mail was taken from.
    pub(in crate::delivery) fn lane(&self) -> Lane {
        self.lane
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let now = self.hop.now();
        let mut state = self.hop.state();
        state.pool.end(self.lane, self.project);
        state.refusals.ended(self.mail, self.project);
        state.ended.count(now);
        // for the end of a trial; for anything else, this worker takes the next mail itself
        let somebody_waits = state.pool.trouble().is_some() || state.refusals.is_any_kept_back();
        drop(state);
        if somebody_waits {
            self.hop.changed.notify_waiters();
        }
    }
}
