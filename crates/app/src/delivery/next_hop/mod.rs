//! What this process knows about the next hop: how many connections it takes ([`pool`]), how fast it takes mail
//! ([`pace`]), and which projects it refuses ([`refusals`]). Workers ask here before they open a connection or take a
//! mail, and report the result here. The three are state machines without clock and network, so tests can try every
//! order of events.
//!
//! A worker holds permits and mails as values that give themselves back when they are dropped, so the counts are right
//! even after a panic. The effects of one project's refusals are limited to that project.
//! `docs/adr/0002-learnt-next-hop.md` has the reasons.

mod pace;
mod pool;
mod refusals;
mod report;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mailwright_core::email::Lane;
use mailwright_core::ids::{EmailId, ProjectNumber};
use mailwright_core::time::Timestamp;
use mailwright_store::sending::email::Claimed;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use super::dispatcher::Dispatcher;
use super::hand_over::{HandOver, Refusal, Rejection, Reply};
use super::wording::Wording;
use crate::metrics::Metrics;
use crate::settings::DeliverySettings;
use pace::{Meter, Paces, Slowed};
pub(super) use pool::Trouble;
use pool::{Ask, Pauses, Pool, Purpose, Rules, Waiting};
use refusals::{Extent, Missing, Refusals, Verdict};
use report::News;
pub(super) use report::keep_informed;

/// How often a feeder looks whether the next hop is back.
const LOOK: Duration = Duration::from_millis(250);
/// Until a next hop is tried again that could not be reached; shorter where retries are.
const OUTAGE: Pauses = Pauses { first: Duration::from_secs(1), longest: Duration::from_secs(30) };
/// Until one more connection is tried than the next hop took so far.
const GROWTH: Pauses = Pauses { first: Duration::from_secs(1), longest: Duration::from_mins(10) };
/// Mails claimed ahead for each connection that the next hop takes, at most; and for how many connections at least.
const AHEAD: (usize, usize) = (4, 8);
/// The fewest mails claimed ahead.
const FEWEST_AHEAD: usize = 4;
/// While some mail waits, the shortest time between two looks at all projects for the metrics.
const MEASURED_EVERY: Duration = Duration::from_secs(1);
/// When a mail is looked at again whose project has no turn for so long that it does not wait in memory.
const LATER: Duration = Duration::from_secs(1);

/// The next hop, as this process knows it.
pub(super) struct NextHop {
    started: Instant,
    configured: usize,
    state: Mutex<State>,
    /// A connection or a mail may be had now that could not be had before.
    changed: Notify,
    /// There may be something to tell the operator.
    news: Notify,
    metrics: Metrics,
}

struct State {
    pool: Pool,
    paces: Paces,
    refusals: Refusals,
    /// Hand-overs that ended, however.
    ended: Meter,
    /// What was said when the next hop was last found unusable.
    error: String,
    /// What is to be told of single projects.
    news: News,
    /// When the metrics were last brought up to date because a mail was taken.
    measured_at: Timestamp,
}

impl State {
    /// Whether mail of a project waits for others of it.
    fn is_held_up(&self, project: ProjectNumber) -> bool {
        self.refusals.codes(project).is_some() || self.paces.rate_of(project).is_some()
    }

    /// Whether mail of a project may be handed over now; otherwise when that may have changed.
    fn may_try(&self, project: ProjectNumber, now: Timestamp) -> Result<(), Timestamp> {
        if let Some(wait) = self.refusals.waits(project, now) {
            return Err(now.plus(wait));
        }
        self.paces.ready_at(project, now).map_or(Ok(()), Err)
    }

    /// How many mails of a project are held in memory, at most, and when the others are looked at again: all but where
    /// the project waits.
    fn keeps(&self, project: ProjectNumber, now: Timestamp) -> Option<(usize, Duration)> {
        if self.refusals.codes(project).is_some() {
            // one is tried when the time has come
            return Some(match self.refusals.waits(project, now) {
                Some(wait) => (0, wait),
                None => (1, LATER),
            });
        }
        let rate = self.paces.rate_of(project)?;
        let wait = self.paces.ready_at(project, now).map_or(LATER, |at| at.since(now).max(LATER));
        Some((rate.ceil().max(1.0) as usize, wait))
    }

    /// Takes out of the queues what is not to be tried for a while.
    fn withdraw(&self, dispatcher: &Dispatcher, now: Timestamp) -> Vec<Withdrawn> {
        if !self.refusals.is_any_kept_back() && !self.paces.is_any_slow() {
            return Vec::new();
        }
        let withdrawn = dispatcher.withdraw(|project| self.keeps(project, now).map(|(keep, _)| keep));
        let explained = withdrawn.into_iter().map(|(project, mails)| {
            let codes =
                self.refusals.codes(project).or_else(|| self.paces.codes(project)).unwrap_or_default();
            let why = format!("It waits, since the next hop refuses mail of this project. Last: {codes}");
            let wait = self.keeps(project, now).map_or(Duration::ZERO, |(_, wait)| wait);
            Withdrawn { mails, wait, why }
        });
        explained.collect()
    }
}

/// Mails of a project that are given back, since none is to be tried for a while.
pub(super) struct Withdrawn {
    pub(super) mails: Vec<Claimed>,
    pub(super) wait: Duration,
    pub(super) why: String,
}

/// What a worker that has a connection gets.
pub(super) enum Take {
    /// A mail to hand over.
    Mail(Box<Claimed>, Busy),
    /// Nothing now. Ask again after that time, and whenever something changed.
    Wait(Option<Duration>),
}

/// What a worker without a connection gets.
pub(super) enum Leave {
    /// It may open one.
    Open(Permit),
    /// Not now. Ask again after that time, and whenever something changed.
    Wait(Option<Duration>),
}

/// Whose affair the end of a hand-over is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judgement<'r> {
    /// The mail's. `overtaken` when other mail was taken since it was refused before.
    Own { overtaken: bool },
    /// Not the mail's, which is tried again after this time. What the next hop said.
    NotOwn(Duration, &'r Reply),
}

impl NextHop {
    pub(super) fn new(settings: &DeliverySettings, metrics: Metrics) -> Self {
        let refusal = Pauses { first: settings.refused_base, longest: settings.refused_max };
        let outage = Pauses { first: settings.retry_base.min(OUTAGE.first), ..OUTAGE };
        let rules = Rules { configured: settings.connections, growth: GROWTH, outage, refusal };
        Self {
            started: Instant::now(),
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
    fn now(&self) -> Timestamp {
        Timestamp(0).plus(self.started.elapsed())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state; those who wait look again when it matters to them.
    fn change<T>(&self, change: impl FnOnce(&mut State, Timestamp) -> T) -> T {
        let now = self.now();
        let mut state = self.state();
        let changed = change(&mut state, now);
        self.measure(&state);
        drop(state);
        self.changed.notify_waiters();
        self.news.notify_one();
        changed
    }

    fn measure(&self, state: &State) {
        self.metrics.next_hop_connections(state.pool.open(), state.pool.allowed(), self.configured);
        let trouble = state.pool.trouble().map(Trouble::as_str);
        self.metrics.next_hop_state(trouble.or(state.refusals.is_any_kept_back().then_some("refused")));
        self.metrics.next_hop_rate(state.paces.rate(self.now()).unwrap_or(0.0));
    }

    /// Begins with a limit that was learnt before.
    fn restore(&self, limit: usize) {
        self.change(|state, _| state.pool.restore(limit));
    }

    /// Resolves when it is worth asking again.
    pub(super) fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }

    /// For how long feeders claim nothing and give back what waits in memory: as long as nothing can be handed over.
    pub(super) fn rests(&self) -> Option<Duration> {
        let now = self.now();
        self.state().pool.rests(now).map(|rest| rest.max(LOOK))
    }

    /// Notes whether there is but one project.
    fn set_alone(&self, is_alone: bool) {
        self.state().pool.set_alone(is_alone);
    }

    /// Forgets what was said of projects that have had no mail to try for long, so that nobody is told that it waits.
    fn forget(&self) {
        self.change(|state, now| {
            // in an outage nothing is tried
            if state.pool.trouble().is_none() {
                state.refusals.forget(now);
                state.paces.forget(now);
            }
        });
    }

    /// How many mails of a project are to be in memory, at most; `None` for any number.
    pub(super) fn keeps(&self, project: ProjectNumber) -> Option<usize> {
        let now = self.now();
        let state = self.state();
        let (most, _) = state.keeps(project, now)?;
        // nothing is claimed long before it may be tried
        let is_soon = state.may_try(project, now).map_or_else(|at| at.since(now) <= LOOK, |()| true);
        Some(if is_soon { most } else { 0 })
    }

    /// How many mails of a lane are claimed ahead: what leaves in a second, but no fewer than there are connections,
    /// and no more than a few for each.
    pub(super) fn ahead(&self) -> usize {
        let now = self.now();
        let state = self.state();
        let allowed = state.pool.allowed();
        let most = AHEAD.0 * allowed.max(AHEAD.1);
        (state.ended.per_second(now).ceil() as usize).clamp(allowed.max(FEWEST_AHEAD), most)
    }

    /// Of how many projects mail is claimed, whatever is claimed of others: there could be a connection for each.
    pub(super) fn seats(&self) -> usize {
        self.configured.max(AHEAD.1)
    }

    /// Takes out of the queues what is not to be tried for a while, to be given back.
    pub(super) fn withdraw(&self, dispatcher: &Dispatcher) -> Vec<Withdrawn> {
        let now = self.now();
        self.state().withdraw(dispatcher, now)
    }

    /// A mail has left, or was refused.
    pub(super) fn ended(&self) {
        let now = self.now();
        self.state().ended.count(now);
    }

    /// The next mail for a worker that has a connection.
    pub(super) fn take(self: &Arc<Self>, dispatcher: &Dispatcher) -> Take {
        let now = self.now();
        let mut state = self.state();
        if let Err(until) = state.pool.admit(now) {
            return Take::Wait(until.map(|until| until.since(now)));
        }
        let mut until: Option<Timestamp> = None;
        let lanes = state.pool.lanes();
        let found = dispatcher.try_pop(lanes, |lane, project| match state.may_try(project, now) {
            Ok(()) => state.pool.has_room_for(lane, project).then(|| state.pool.held_by(project)),
            Err(at) => {
                until = Some(until.map_or(at, |until| until.min(at)));
                None
            }
        });
        let Some((lane, mail)) = found else { return Take::Wait(until.map(|until| until.since(now))) };
        state.pool.begin(lane, mail.project);
        state.paces.took(mail.project, now);
        state.refusals.begun(mail.id, mail.project);
        let busy = Busy { hop: Arc::clone(self), lane, mail: mail.id, project: mail.project };
        Take::Mail(Box::new(mail), busy)
    }

    /// Whether a worker without a connection may open one.
    pub(super) fn ask(self: &Arc<Self>, dispatcher: &Dispatcher) -> Leave {
        let now = self.now();
        let mut state = self.state();
        let (mut soon, mut newcomers): (Option<Timestamp>, _) = (None, HashSet::new());
        let mails = dispatcher.waiting(state.pool.lanes(), |project| match state.may_try(project, now) {
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
    pub(super) fn worked(&self) {
        let mut state = self.state();
        let known = state.pool.allowed();
        state.pool.worked();
        if state.pool.allowed() != known {
            self.measure(&state);
            self.news.notify_one();
        }
    }

    /// Whether a mail of a project that was refused on a used connection may be tried at once on a fresh one.
    pub(super) fn may_exchange(&self, project: ProjectNumber) -> bool {
        self.state().paces.may_exchange(project)
    }

    /// A fresh connection was of no use.
    pub(super) fn exchanged_in_vain(&self, project: ProjectNumber) {
        let now = self.now();
        self.state().paces.exchanged_in_vain(project, now);
    }

    /// Draws conclusions from the end of a hand-over.
    pub(super) fn judge<'r>(&self, mail: &Claimed, end: &'r HandOver) -> Judgement<'r> {
        let own = Judgement::Own { overtaken: false };
        match end {
            HandOver::Accepted(_) => {
                self.accepted(mail);
                own
            }
            HandOver::Refused(Refusal::Session, reply) => self.slow_down(mail, reply),
            HandOver::Refused(Refusal::Policy { .. }, reply) => self.refused(mail, reply),
            HandOver::Rejected(Rejection::Address { certain }, reply) => self.missing(mail, *certain, reply),
            HandOver::Rejected(..) | HandOver::Temporary(_) | HandOver::Lost(_) | HandOver::InDoubt(_) => own,
        }
    }

    fn accepted(&self, mail: &Claimed) {
        let now = self.now();
        let mut state = self.state();
        let facts = |state: &State| {
            (state.refusals.is_any_kept_back(), state.refusals.extent(now), state.paces.is_any_slow())
        };
        let before = facts(&state);
        let frees_others = state.is_held_up(mail.project) || before.1 == Extent::All;
        state.pool.worked();
        state.paces.accepted(mail.id, mail.project, now);
        state.refusals.served(mail.project, now);
        if before == (false, Extent::Nobody, false) {
            return;
        }
        let is_news = before != facts(&state);
        if is_news || now.since(state.measured_at) >= MEASURED_EVERY {
            state.measured_at = now;
            self.measure(&state);
        }
        drop(state);
        if frees_others {
            self.changed.notify_waiters();
        }
        if is_news {
            self.news.notify_one();
        }
    }

    fn slow_down<'r>(&self, mail: &Claimed, reply: &'r Reply) -> Judgement<'r> {
        self.change(|state, now| match state.paces.refused(mail.id, mail.project, reply.codes(), now) {
            Slowed::No => Judgement::Own { overtaken: false },
            Slowed::Yes { wait, begins } => {
                if begins {
                    state.news.slowed(mail.project, reply.codes());
                }
                Judgement::NotOwn(wait, reply)
            }
        })
    }

    fn missing<'r>(&self, mail: &Claimed, certain: bool, reply: &'r Reply) -> Judgement<'r> {
        let recipient = mail.recipient.as_str();
        let mut hasher = DefaultHasher::new();
        recipient.hash(&mut hasher);
        let words = Wording::of(&reply.text).likeness(recipient);
        let missing = Missing { certain, recipient: hasher.finish(), words };
        self.change(|state, now| {
            let verdict = state.refusals.missing(mail.id, mail.project, missing, reply.codes(), now);
            state.conclude(mail.project, verdict, reply)
        })
    }

    fn refused<'r>(&self, mail: &Claimed, reply: &'r Reply) -> Judgement<'r> {
        self.change(|state, now| {
            let verdict = state.refusals.refused(mail.id, mail.project, reply.codes(), now);
            state.conclude(mail.project, verdict, reply)
        })
    }
}

impl State {
    fn conclude<'r>(&mut self, project: ProjectNumber, verdict: Verdict, reply: &'r Reply) -> Judgement<'r> {
        match verdict {
            Verdict::Mail { overtaken } => Judgement::Own { overtaken },
            Verdict::Project { wait, begins } => {
                // the text may name a recipient; each mail shows it
                self.error = reply.codes();
                if begins {
                    self.news.held(project, reply.codes());
                }
                Judgement::NotOwn(wait, reply)
            }
        }
    }
}

/// Leave to open a connection.
pub(super) struct Permit {
    hop: Arc<NextHop>,
    purpose: Purpose,
    used: bool,
}

impl Permit {
    /// The connection is there.
    pub(super) fn opened(mut self) -> Seat {
        self.used = true;
        let purpose = self.purpose;
        self.hop.change(|state, now| state.pool.opened(purpose, now));
        Seat { hop: Arc::clone(&self.hop), left: false }
    }

    /// There is no connection to be had.
    pub(super) fn refused(mut self, trouble: Trouble, error: &str) {
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
pub(super) struct Seat {
    hop: Arc<NextHop>,
    left: bool,
}

impl Seat {
    /// Gives the place to a fresh connection.
    pub(super) fn exchange(mut self) -> Permit {
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
pub(super) struct Busy {
    hop: Arc<NextHop>,
    lane: Lane,
    mail: EmailId,
    project: ProjectNumber,
}

impl Busy {
    /// The lane the mail was taken from.
    pub(super) fn lane(&self) -> Lane {
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
