//! Places for reads that may take long: how many run at once, whose turn it is, and when one is given up.
//!
//! Statistics, counts and searches may look at every row of a project. They have threads or connections of their own,
//! so that keys, health checks and mail never wait behind them. One project holds one place for its requests and one
//! for background work at most. Waiting reads take turns by project, so many requests of one project make nobody else
//! wait longer.
//!
//! One person may have many projects, so the time that a reader used lately counts as well. A reader that used much
//! time gets its turn after the others, and less time at a stretch while others wait. If there are three places or
//! more, one is left to readers that are known to be quick.
//!
//! A read that takes too long, or that nobody waits for any more, is cancelled in the database too.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mailwright_core::ids::ProjectNumber;
use tokio::sync::oneshot;

use crate::database::error::{Error, Result};

/// How many slow reads of one reader run at once.
const SHARE: usize = 1;
/// How many slow reads of one reader wait at most; beyond that callers get [`Error::Crowded`].
const QUEUE: usize = 16;
/// How much longer than a request the background work may read at a stretch.
const BACKGROUND: u32 = 5;

/// From so many seconds of reading lately on, a reader is heavy.
const HEAVY: f64 = 2.0;
/// After this time, what a reader used counts half.
const HALF_LIFE: Duration = Duration::from_mins(1);
/// A heavy reader has the time limit divided by this while others wait.
const HURRIED: u32 = 4;
/// Most readers whose use is remembered; beyond that, only that of the heavy ones is.
const REMEMBERED: usize = 10_000;

/// The limits of slow reads.
#[derive(Debug, Clone, Copy)]
pub struct SlowReads {
    /// How many run at once. On PostgreSQL each has a connection, and half of the connections at most are theirs.
    pub at_once: usize,
    /// How long one of a request may take, and how long it waits for its turn at most.
    pub time_limit: Duration,
}

impl Default for SlowReads {
    fn default() -> Self {
        Self { at_once: 3, time_limit: Duration::from_secs(20) }
    }
}

impl SlowReads {
    /// How they and everything else share the connections to PostgreSQL: those for slow reads, those for the rest.
    pub(crate) fn split(&self, connections: usize) -> (usize, usize) {
        let slow = self.at_once.min(connections / 2).max(1);
        (slow, connections.saturating_sub(slow).max(1))
    }

    /// How long a read may take.
    pub(crate) fn limit_of(&self, reader: Reader) -> Duration {
        match reader {
            Reader::Request(_) => self.time_limit,
            Reader::Background(_) => self.time_limit * BACKGROUND,
        }
    }
}

/// The party that a slow read is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Reader {
    /// A request about a project, whose client waits.
    Request(ProjectNumber),
    /// Background work for a project. All of it together leaves one place to requests.
    Background(ProjectNumber),
}

/// The places for slow reads. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Places(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    places: usize,
    running: BTreeMap<Reader, usize>,
    /// Places that are held by readers not known to be quick when they got them.
    not_quick: usize,
    waiting: BTreeMap<Reader, VecDeque<oneshot::Sender<Place>>>,
    used: HashMap<Reader, Used>,
    /// The reader that had the last turn. The next turn is that of the reader after it.
    last: Reader,
}

/// How long a reader has read lately.
#[derive(Debug, Clone, Copy)]
struct Used {
    seconds: f64,
    at: Instant,
}

impl Used {
    fn lately(self, now: Instant) -> f64 {
        let half_lives = now.saturating_duration_since(self.at).as_secs_f64() / HALF_LIFE.as_secs_f64();
        self.seconds * 0.5_f64.powf(half_lives)
    }
}

/// Whether a reader is quick or heavy, from its reads so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Quick,
    Unknown,
    Heavy,
}

/// A place, which is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    /// `None` for one that was handed to nobody.
    of: Option<(Places, Reader)>,
    standing: Standing,
    since: Instant,
    /// Whether others waited when it was given to a heavy reader.
    hurried: bool,
}

impl Place {
    /// How long the read may take, of `limit` in general.
    pub(crate) fn limit(&self, limit: Duration) -> Duration {
        if self.hurried { limit / HURRIED } else { limit }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some((places, reader)) = self.of.take() {
            places.free(reader, self.standing, self.since);
        }
    }
}

impl State {
    fn standing(&self, reader: Reader, now: Instant) -> Standing {
        match self.used.get(&reader).map(|used| used.lately(now)) {
            None => Standing::Unknown,
            Some(seconds) if seconds < HEAVY => Standing::Quick,
            Some(_) => Standing::Heavy,
        }
    }

    fn may_run(&self, reader: Reader, now: Instant) -> bool {
        let all: usize = self.running.values().sum();
        let own = self.running.get(&reader).copied().unwrap_or(0);
        let background: usize =
            self.running.iter().filter(|(r, _)| matches!(r, Reader::Background(_))).map(|(_, n)| n).sum();
        let all_but_one = (self.places - 1).max(1);
        let left_to_requests = match reader {
            Reader::Background(_) => background < all_but_one,
            Reader::Request(_) => true,
        };
        // of two places, one left to the quick would be half of them
        let for_others = if self.places > 2 { all_but_one } else { self.places };
        let left_to_quick = self.standing(reader, now) == Standing::Quick || self.not_quick < for_others;
        all < self.places && own < SHARE && left_to_requests && left_to_quick
    }

    /// The next waiting read that may run. Heavy readers come after all others.
    fn next(&self, now: Instant) -> Option<Reader> {
        let behind = self.waiting.range((Bound::Excluded(self.last), Bound::Unbounded));
        let before = self.waiting.range((Bound::Unbounded, Bound::Included(self.last)));
        let turns = behind.chain(before).map(|(reader, _)| *reader);
        let mut may_run = turns.filter(|reader| self.may_run(*reader, now)).peekable();
        let first = may_run.peek().copied();
        may_run.find(|reader| self.standing(*reader, now) != Standing::Heavy).or(first)
    }

    /// Gives a reader a place.
    fn seat(&mut self, places: &Places, reader: Reader, now: Instant) -> Place {
        let standing = self.standing(reader, now);
        let others_wait = self
            .waiting
            .iter()
            .any(|(other, turns)| *other != reader && turns.iter().any(|turn| !turn.is_closed()));
        let hurried = standing == Standing::Heavy && others_wait && matches!(reader, Reader::Request(_));
        *self.running.entry(reader).or_default() += 1;
        self.not_quick += usize::from(standing != Standing::Quick);
        self.last = reader;
        Place { of: Some((places.clone(), reader)), standing, since: now, hurried }
    }

    fn leave(&mut self, reader: Reader, standing: Standing) {
        self.not_quick -= usize::from(standing != Standing::Quick);
        if let Some(running) = self.running.get_mut(&reader) {
            *running -= 1;
            if *running == 0 {
                self.running.remove(&reader);
            }
        }
    }

    /// Notes how long a reader has read.
    fn charge(&mut self, reader: Reader, since: Instant, now: Instant) {
        let before = self.used.get(&reader).map_or(0.0, |used| used.lately(now));
        let seconds = before + now.saturating_duration_since(since).as_secs_f64();
        self.used.insert(reader, Used { seconds, at: now });
        if self.used.len() > REMEMBERED {
            self.used.retain(|_, used| used.lately(now) >= HEAVY);
        }
    }

    fn take_waiting(&mut self, reader: Reader) -> Option<oneshot::Sender<Place>> {
        let queue = self.waiting.get_mut(&reader)?;
        let first = queue.pop_front();
        if queue.is_empty() {
            self.waiting.remove(&reader);
        }
        first
    }
}

impl Places {
    pub(crate) fn new(places: usize) -> Self {
        Self(Arc::new(Mutex::new(State {
            places: places.max(1),
            running: BTreeMap::new(),
            not_quick: 0,
            waiting: BTreeMap::new(),
            used: HashMap::new(),
            last: Reader::Background(ProjectNumber(i64::MAX)),
        })))
    }

    /// A place, as soon as it is the reader's turn; at most `patience` is waited for it.
    pub(crate) async fn take(&self, reader: Reader, patience: Duration) -> Result<Place> {
        let turn = match self.enter(reader)? {
            Entered::Now(place) => return Ok(place),
            Entered::Waits(turn) => turn,
        };
        match tokio::time::timeout(patience, turn).await {
            Ok(Ok(place)) => Ok(place),
            Ok(Err(_)) => Err(Error::Unavailable("the database is closed".into())),
            Err(_) => Err(Error::NoTurn(patience)),
        }
    }

    fn enter(&self, reader: Reader) -> Result<Entered> {
        let (mut state, now) = (self.lock(), Instant::now());
        if state.may_run(reader, now) {
            // whoever waits may not run now: it would have been given the place when it became free
            return Ok(Entered::Now(state.seat(self, reader, now)));
        }
        let queue = state.waiting.entry(reader).or_default();
        queue.retain(|turn| !turn.is_closed());
        if queue.len() >= QUEUE {
            return Err(Error::Crowded(QUEUE));
        }
        let (turn, waits) = oneshot::channel();
        queue.push_back(turn);
        Ok(Entered::Waits(waits))
    }

    /// Frees a place, and gives free places to waiting reads.
    fn free(&self, reader: Reader, standing: Standing, since: Instant) {
        let (mut state, now) = (self.lock(), Instant::now());
        state.leave(reader, standing);
        state.charge(reader, since, now);
        while let Some(reader) = state.next(now) {
            let Some(turn) = state.take_waiting(reader) else { continue };
            let place = state.seat(self, reader, now);
            if let Err(mut unwanted) = turn.send(place) {
                // it went away while it waited
                unwanted.of = None;
                state.leave(reader, unwanted.standing);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Entered {
    Now(Place),
    Waits(oneshot::Receiver<Place>),
}
