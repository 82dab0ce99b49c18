//! How many connections the next hop takes at a time, and whether it can be used at all.
//!
//! The limit is learnt: a refused further connection lowers it to the number that works at the moment, and from time to
//! time one more is tried. The breaker opens only when no connection works. It is half-open for exactly one try.
//!
//! An eighth of the allowed connections is kept for the first lane, and an eighth for the first two. A project that has
//! connections leaves an eighth of all, and of its lane's, to projects that have none.
//!
//! Times are those of a clock that only goes forward; the caller asks again at the times that it is given.

use std::collections::HashMap;
use std::time::Duration;

use mailwright_core::email::Lane;
use mailwright_core::ids::ProjectNumber;
use mailwright_core::names;
use mailwright_core::pauses::Pauses;
use mailwright_core::time::Timestamp;

/// The limits and pauses of a pool.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    /// Most connections.
    pub(super) configured: usize,
    /// Pauses before one more connection is tried than the next hop has taken so far.
    pub(super) growth: Pauses,
    /// Pauses before a next hop that could not be reached is tried again.
    pub(super) outage: Pauses,
    /// Pauses before a next hop that refused the login is tried again.
    pub(super) refusal: Pauses,
}

names! {
    /// Why the next hop cannot be used.
    pub(in super::super) enum Trouble {
        /// The next hop cannot be reached, or refuses connections.
        Unreachable = "unreachable",
        /// The next hop refuses the login.
        Login = "login",
        /// What the account may send in a day is used up.
        Quota = "quota",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Breaker {
    /// Mail goes out.
    Closed,
    /// Nothing is tried until then.
    Open { trouble: Trouble, until: Timestamp, failures: u32 },
    /// One connection is being tried.
    HalfOpen { trouble: Trouble, failures: u32 },
}

/// The purpose of a new connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To be used within the limit.
    Serve,
    /// To find out whether the next hop takes one more.
    Grow,
}

/// Mails in memory that may be tried.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Waiting {
    /// How many there are.
    pub(super) mails: usize,
    /// How many projects have some of them and no connection.
    pub(super) newcomers: usize,
}

/// Whether a connection may be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ask {
    Open(Purpose),
    /// Not now: ask again at that time, and whenever something changed.
    Wait(Option<Timestamp>),
}

/// The connections of a process to the next hop, counted.
#[derive(Debug)]
pub(super) struct Pool {
    rules: Rules,
    limit: usize,
    /// The limit before it was lowered, until a connection was seen to work since: what looks like a limit may be the
    /// beginning of an outage, after which there is no reason to begin small.
    unproven: Option<usize>,
    open: usize,
    opening: usize,
    growing: bool,
    grow_at: Timestamp,
    grow_failures: u32,
    breaker: Breaker,
    /// Mails on the wire by lane.
    busy: [usize; 3],
    /// Mails on the wire by project.
    held: HashMap<ProjectNumber, usize>,
    /// Whether there is but one project, so that nothing has to be kept for others.
    is_alone: bool,
    /// The project of the mail that was handed over last.
    last: Option<ProjectNumber>,
}

impl Pool {
    pub(super) fn new(rules: Rules) -> Self {
        Self {
            rules: Rules { configured: rules.configured.max(1), ..rules },
            limit: rules.configured.max(1),
            unproven: None,
            open: 0,
            opening: 0,
            growing: false,
            grow_at: Timestamp(0),
            grow_failures: 0,
            breaker: Breaker::Closed,
            busy: [0; 3],
            held: HashMap::new(),
            is_alone: false,
            last: None,
        }
    }

    /// Begins with a limit that was learnt before, here or elsewhere.
    pub(super) fn restore(&mut self, limit: usize) {
        self.limit = limit.clamp(self.open.max(1), self.rules.configured);
    }

    /// Connections the next hop is known to take at a time.
    pub(super) fn allowed(&self) -> usize {
        self.unproven.unwrap_or(self.limit)
    }

    pub(super) fn open(&self) -> usize {
        self.open
    }

    /// Why nothing leaves, if so.
    pub(super) fn trouble(&self) -> Option<Trouble> {
        match self.breaker {
            Breaker::Closed => None,
            Breaker::Open { trouble, .. } | Breaker::HalfOpen { trouble, .. } => Some(trouble),
        }
    }

    /// Whether a connection may be opened while so many mails wait for one.
    pub(super) fn ask(&mut self, waiting: Waiting, now: Timestamp) -> Ask {
        match self.breaker {
            Breaker::Closed => self.ask_working(waiting, now),
            Breaker::Open { until, .. } if now < until => Ask::Wait(Some(until)),
            Breaker::HalfOpen { .. } if self.opening > 0 => Ask::Wait(None),
            Breaker::Open { trouble, failures, .. } | Breaker::HalfOpen { trouble, failures } => {
                self.breaker = Breaker::HalfOpen { trouble, failures };
                self.opening += 1;
                Ask::Open(Purpose::Serve)
            }
        }
    }

    fn ask_working(&mut self, waiting: Waiting, now: Timestamp) -> Ask {
        let may_grow = !self.growing && self.limit < self.rules.configured;
        // that the next hop takes one more is found out only when it has as many as it is known to take
        let wanted = if may_grow && now >= self.grow_at { waiting.mails } else { self.usable(waiting) };
        let idle = self.open.saturating_sub(self.busy());
        let later = (may_grow && now < self.grow_at).then_some(self.grow_at);
        // as many at once as work already, so that nobody is run over after an outage
        if wanted <= idle + self.opening || self.opening >= self.open.max(1) {
            return Ask::Wait(later);
        }
        if self.open + self.opening < self.limit {
            self.opening += 1;
            return Ask::Open(Purpose::Serve);
        }
        if !may_grow || later.is_some() {
            return Ask::Wait(later);
        }
        self.growing = true;
        self.opening += 1;
        Ask::Open(Purpose::Grow)
    }

    /// How many of the mails that wait could be handed over at once, had they connections within the limit: a project
    /// leaves some to others, which would only be opened to be closed unused.
    fn usable(&self, waiting: Waiting) -> usize {
        waiting.mails.min(self.limit.saturating_sub(self.reserved() + self.busy())).max(waiting.newcomers)
    }

    /// A connection was opened.
    pub(super) fn opened(&mut self, purpose: Purpose, now: Timestamp) {
        self.end_of_opening(purpose);
        self.open += 1;
        self.limit = self.limit.max(self.open).min(self.rules.configured);
        if purpose == Purpose::Grow {
            self.grow_failures = 0;
            self.grow_at = now.plus(self.rules.growth.after(0));
        }
        self.breaker = Breaker::Closed;
    }

    /// A connection could not be opened.
    pub(super) fn refused(&mut self, purpose: Purpose, trouble: Trouble, now: Timestamp) {
        self.end_of_opening(purpose);
        if self.open == 0 {
            // of several tries the last decides
            if self.opening == 0 {
                self.trip(trouble, now);
            }
            return;
        }
        if purpose == Purpose::Grow {
            self.grow_failures = self.grow_failures.saturating_add(1);
        } else {
            if self.open < self.limit {
                self.unproven.get_or_insert(self.limit);
                self.limit = self.open;
            }
            self.grow_failures = 0;
        }
        let mut pause = self.rules.growth.after(self.grow_failures);
        if matches!(trouble, Trouble::Login | Trouble::Quota) {
            pause = pause.max(self.rules.refusal.after(self.grow_failures));
        }
        self.grow_at = now.plus(pause);
    }

    /// A connection is no longer tried to be opened, for a reason on our side.
    pub(super) fn gave_up(&mut self, purpose: Purpose, now: Timestamp) {
        self.end_of_opening(purpose);
        if let Breaker::HalfOpen { trouble, failures } = self.breaker {
            self.breaker = Breaker::Open { trouble, until: now.plus(self.rules.outage.first), failures };
        }
    }

    fn end_of_opening(&mut self, purpose: Purpose) {
        self.opening = self.opening.saturating_sub(1);
        self.growing &= purpose != Purpose::Grow;
    }

    /// A connection is closed, by whomever.
    pub(super) fn closed(&mut self) {
        self.open = self.open.saturating_sub(1);
    }

    /// A connection is closed so that a fresh one can take its place, which is being opened.
    pub(super) fn exchanged(&mut self) {
        self.closed();
        self.opening += 1;
    }

    /// An envelope was answered: what is open works, so whatever was refused meanwhile was a limit.
    pub(super) fn worked(&mut self) {
        self.unproven = None;
    }

    /// Opens the breaker.
    fn trip(&mut self, trouble: Trouble, now: Timestamp) {
        let failures = match self.breaker {
            Breaker::Open { trouble: known, failures, .. }
            | Breaker::HalfOpen { trouble: known, failures }
                if known == trouble =>
            {
                failures
            }
            _ => 0,
        };
        let pauses = match trouble {
            Trouble::Unreachable => self.rules.outage,
            Trouble::Login | Trouble::Quota => self.rules.refusal,
        };
        let until = now.plus(pauses.after(failures));
        self.breaker = Breaker::Open { trouble, until, failures: failures.saturating_add(1) };
        self.limit = self.unproven.take().unwrap_or(self.limit);
    }

    /// For how long no mail should be claimed; `None` while mail may go out.
    pub(super) fn rests(&self, now: Timestamp) -> Option<Duration> {
        match self.breaker {
            Breaker::Closed => None,
            Breaker::Open { until, .. } if now < until => Some(until.since(now)),
            Breaker::Open { .. } | Breaker::HalfOpen { .. } => Some(Duration::ZERO),
        }
    }

    /// Whether mail may be handed over now; otherwise when that may have changed.
    pub(super) fn admit(&self, now: Timestamp) -> Result<(), Option<Timestamp>> {
        match self.breaker {
            Breaker::Closed => Ok(()),
            Breaker::Open { until, .. } if now < until => Err(Some(until)),
            Breaker::Open { .. } | Breaker::HalfOpen { .. } => Err(None),
        }
    }

    /// Notes whether there is but one project.
    pub(super) fn set_alone(&mut self, is_alone: bool) {
        self.is_alone = is_alone;
    }

    /// How many connections are busy with a project's mail.
    pub(super) fn held_by(&self, project: ProjectNumber) -> usize {
        self.held.get(&project).copied().unwrap_or_default()
    }

    /// Whether a further connection may become busy with a project's mail of a lane. A project that has some leaves an
    /// eighth of what the next hop takes, and of what the lane may have of it, one at least, to those that have none: a
    /// recipient's host may take minutes to answer, and mail to many such recipients would keep everybody waiting.
    pub(super) fn has_room_for(&self, lane: Lane, project: ProjectNumber) -> bool {
        let [_, workflow, campaign] = self.busy;
        let used = match lane {
            Lane::Transactional => self.busy(),
            Lane::Workflow => workflow + campaign,
            Lane::Campaign => campaign,
        };
        let most = self.most_of(lane);
        let leaves = |used, most| used + self.reserved_of(most) < most;
        self.held_by(project) == 0 || leaves(used, most) && leaves(self.busy(), self.limit)
    }

    /// How many connections are left to projects that have none.
    fn reserved(&self) -> usize {
        self.reserved_of(self.limit)
    }

    fn reserved_of(&self, most: usize) -> usize {
        if self.is_alone || most < 2 { 0 } else { most.div_ceil(8) }
    }

    /// How many connections a lane and those after it may have. Of every eight that the next hop takes, one is left to
    /// the first lane and one more to the first two, so that a password reset never waits behind a newsletter. With
    /// fewer than eight, all serve all.
    fn most_of(&self, lane: Lane) -> usize {
        let reserved = self.limit / 8;
        match lane {
            Lane::Transactional => self.limit,
            Lane::Workflow => self.limit - reserved,
            Lane::Campaign => self.limit - 2 * reserved,
        }
    }

    /// How many mails are on the wire.
    fn busy(&self) -> usize {
        self.busy.iter().sum()
    }

    /// The lanes whose mail may be handed over now, the most urgent first.
    pub(super) fn lanes(&self) -> &'static [Lane] {
        let [_, workflow, campaign] = self.busy;
        if workflow + campaign >= self.most_of(Lane::Workflow) {
            &Lane::ALL[..1]
        } else if campaign >= self.most_of(Lane::Campaign) {
            &Lane::ALL[..2]
        } else {
            &Lane::ALL
        }
    }

    /// A mail is handed over from now on.
    pub(super) fn begin(&mut self, lane: Lane, project: ProjectNumber) {
        self.busy[lane.number() as usize] += 1;
        *self.held.entry(project).or_default() += 1;
        // another may have begun to send since the projects were counted
        self.is_alone &= self.last.is_none_or(|last| last == project);
        self.last = Some(project);
    }

    /// The hand-over of a mail has ended.
    pub(super) fn end(&mut self, lane: Lane, project: ProjectNumber) {
        let busy = &mut self.busy[lane.number() as usize];
        *busy = busy.saturating_sub(1);
        if let Some(held) = self.held.get_mut(&project) {
            *held = held.saturating_sub(1);
            if *held == 0 {
                self.held.remove(&project);
            }
        }
    }
}

#[cfg(test)]
#[path = "pool_tests.rs"]
mod tests;
