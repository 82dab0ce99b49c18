//! What this process knows of the next hop: how many connections it takes ([`pool`]), how fast it takes mail
//! ([`pace`]), and whom it refuses ([`refusals`]). Workers ask here before they open a connection or take a mail, and
//! say here what came of it.
//!
//! Whatever a worker holds is a value that gives itself back when it is dropped, so that the counts hold also when a
//! worker panics.

mod pace;
mod pool;
mod refusals;
mod report;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mailwright_core::email::{EmailSource, Lane};
use mailwright_core::ids::{EmailId, ProjectNumber};
use mailwright_core::time::Timestamp;
use mailwright_mail::smtp::Reply;
use mailwright_store::email::Claimed;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use super::blame::Blame;
use super::dispatcher::Dispatcher;
use super::outcome::End;
use crate::metrics::Metrics;
use crate::settings::DeliverySettings;
use pace::Pace;
pub(super) use pool::Trouble;
use pool::{Ask, Pauses, Pool, Purpose, Rules};
use refusals::{Kind, Refusals, Verdict};
pub(super) use report::keep_informed;

/// How often a feeder looks whether the next hop is back.
const LOOK: Duration = Duration::from_millis(250);
/// Until a next hop is tried again that could not be reached; shorter where retries are.
const OUTAGE: Pauses = Pauses { first: Duration::from_secs(1), longest: Duration::from_secs(30) };
/// Until one more connection is tried than the next hop took so far.
const GROWTH: Pauses = Pauses { first: Duration::from_secs(1), longest: Duration::from_mins(10) };

/// The next hop, as this process knows it.
pub(super) struct Hop {
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
    pace: Pace,
    refusals: Refusals,
    /// What was said when the next hop was last found unusable.
    error: String,
}

/// What a worker that has a connection gets.
pub(super) enum Take {
    /// A mail to hand over.
    Mail(Box<Claimed>, Busy),
    /// Mails that are not to be tried before some time, to be given back.
    Back(Vec<(Claimed, Duration)>),
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
pub(super) enum Judgement {
    /// The mail's. `overtaken` when other mail was taken since it was refused before.
    Own { overtaken: bool },
    /// Not the mail's, which is tried again after this time.
    NotOwn(Duration),
}

impl Hop {
    pub(super) fn new(settings: &DeliverySettings, metrics: Metrics) -> Self {
        let refusal = Pauses { first: settings.refused_base, longest: settings.refused_max };
        let outage = Pauses { first: settings.retry_base.min(OUTAGE.first), ..OUTAGE };
        let rules = Rules { configured: settings.connections, growth: GROWTH, outage, refusal };
        Self {
            started: Instant::now(),
            configured: settings.connections,
            state: Mutex::new(State {
                pool: Pool::new(rules),
                pace: Pace::default(),
                refusals: Refusals::new(refusal),
                error: String::new(),
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
        self.metrics.next_hop_rate(state.pace.rate().unwrap_or(0.0));
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

    /// Whether nothing of a project is to be claimed for now.
    pub(super) fn keeps_back(&self, project: ProjectNumber) -> bool {
        let now = self.now();
        self.state().refusals.keeps_back(project, now)
    }

    /// The next mail for a worker that has a connection.
    pub(super) fn take(self: &Arc<Self>, dispatcher: &Dispatcher) -> Take {
        let now = self.now();
        let mut state = self.state();
        if let Err(until) = state.pool.admit(now) {
            return Take::Wait(until.map(|until| until.since(now)));
        }
        if let Some(at) = state.pace.ready_at(now) {
            return Take::Wait(Some(at.since(now)));
        }
        let mut back = Vec::new();
        while let Some((lane, mail)) = pop(dispatcher, state.pool.lanes()) {
            match state.refusals.admit(mail.id, mail.project, now) {
                Err(wait) => back.push((mail, wait)),
                Ok(()) if back.is_empty() => {
                    state.pool.begin(lane);
                    state.pace.took(now);
                    let busy = Busy { hop: Arc::clone(self), lane, mail: mail.id, project: mail.project };
                    return Take::Mail(Box::new(mail), busy);
                }
                Ok(()) => {
                    // after those that were found before it
                    state.refusals.ended(mail.id, mail.project);
                    back.push((mail, Duration::ZERO));
                    break;
                }
            }
        }
        if back.is_empty() { Take::Wait(None) } else { Take::Back(back) }
    }

    /// Whether a worker without a connection may open one.
    pub(super) fn ask(self: &Arc<Self>, dispatcher: &Dispatcher) -> Leave {
        let now = self.now();
        let mut state = self.state();
        let waiting = state.pool.lanes().iter().map(|lane| dispatcher.depth(*lane)).sum();
        match state.pool.ask(waiting, now) {
            Ask::Open(purpose) => Leave::Open(Permit { hop: Arc::clone(self), purpose, used: false }),
            Ask::Wait(until) => Leave::Wait(until.map(|until| until.since(now))),
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

    /// Draws conclusions from the end of a hand-over.
    pub(super) fn judge(&self, mail: &Claimed, end: &End) -> Judgement {
        let own = Judgement::Own { overtaken: false };
        match end {
            End::Accepted(_) => {
                self.accepted(mail);
                own
            }
            End::Refused(stage, reply) => match Blame::of(*stage, reply) {
                Blame::Session => {
                    let wait = self.change(|state, now| state.pace.refused(mail.id, now));
                    wait.map_or(own, Judgement::NotOwn)
                }
                Blame::Address => {
                    self.state().refusals.served(mail.project);
                    own
                }
                Blame::Policy => self.refused(mail, Kind::Policy, reply),
                Blame::Content if reply.is_permanent() => self.refused(mail, Kind::Content, reply),
                Blame::Content | Blame::Recipient | Blame::Sender | Blame::Size => own,
            },
            End::Lost(_) | End::InDoubt(_) | End::Withheld(_) | End::Impossible(..) => own,
        }
    }

    fn accepted(&self, mail: &Claimed) {
        let now = self.now();
        let mut state = self.state();
        let before = (state.pool.trouble(), state.refusals.is_any_kept_back(), state.pace.rate().is_some());
        state.pool.accepted();
        state.pace.accepted(mail.id, now);
        state.refusals.served(mail.project);
        let after = (state.pool.trouble(), state.refusals.is_any_kept_back(), state.pace.rate().is_some());
        if before == after {
            return;
        }
        self.measure(&state);
        drop(state);
        self.changed.notify_waiters();
        self.news.notify_one();
    }

    fn refused(&self, mail: &Claimed, kind: Kind, reply: &Reply) -> Judgement {
        self.change(|state, now| {
            let wait = match state.refusals.refused(mail.id, mail.project, kind, now) {
                Verdict::Mail { overtaken } => return Judgement::Own { overtaken },
                Verdict::Project(wait) => wait,
                Verdict::Everybody => state.pool.trip(Trouble::Refused, now).since(now),
            };
            // the text may name a recipient; each mail shows it
            state.error = code(reply);
            Judgement::NotOwn(wait)
        })
    }
}

/// The codes of a reply, without its text.
fn code(reply: &Reply) -> String {
    match reply.enhanced {
        Some((class, subject, detail)) => format!("{} {class}.{subject}.{detail}", reply.code),
        None => reply.code.to_string(),
    }
}

/// The next mail of the given lanes, the first lane first.
fn pop(dispatcher: &Dispatcher, lanes: &[Lane]) -> Option<(Lane, Claimed)> {
    let mail = dispatcher.try_pop(lanes)?;
    let lane = match mail.source {
        EmailSource::Transactional if mail.campaign.is_none() => Lane::Transactional,
        EmailSource::Workflow => Lane::Workflow,
        EmailSource::Transactional | EmailSource::Campaign => Lane::Campaign,
    };
    Some((lane, mail))
}

/// Leave to open a connection.
pub(super) struct Permit {
    hop: Arc<Hop>,
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
    hop: Arc<Hop>,
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
    hop: Arc<Hop>,
    lane: Lane,
    mail: EmailId,
    project: ProjectNumber,
}

impl Drop for Busy {
    fn drop(&mut self) {
        let mut state = self.hop.state();
        state.pool.end(self.lane);
        state.refusals.ended(self.mail, self.project);
        // for the end of a trial; for anything else, this worker takes the next mail itself
        let somebody_waits = state.pool.trouble().is_some() || state.refusals.is_any_kept_back();
        drop(state);
        if somebody_waits {
            self.hop.changed.notify_waiters();
        }
    }
}
