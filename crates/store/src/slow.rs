//! The door for reads that may take long: how many run at once, whose turn it is, and when one is given up.
//!
//! Statistics, counts and searches may look at every row of a project. They run apart from everything else, on threads
//! or connections of their own, so that keys, health and mail never stand behind them. Of their places one project holds
//! one at most, and who waits has its turn project by project: many requests of one project make nobody else wait longer.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mailwright_core::ids::ProjectNumber;
use tokio::sync::oneshot;

use crate::error::{Error, Result};

/// How many slow reads of one reader run at once.
const SHARE: usize = 1;
/// How many slow reads of one reader wait at most; beyond that callers get [`Error::Crowded`].
const QUEUE: usize = 16;
/// How much longer than a request the background work may read at a stretch.
const BACKGROUND: u32 = 5;

/// What slow reads may take.
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

/// For whom a slow read is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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
    waiting: BTreeMap<Reader, VecDeque<oneshot::Sender<Place>>>,
    /// Who had the last turn. The next one is of who follows.
    last: Reader,
}

/// A place, which is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    /// `None` for one that was handed to nobody.
    of: Option<(Places, Reader)>,
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some((places, reader)) = self.of.take() {
            places.free(reader);
        }
    }
}

impl State {
    fn may_run(&self, reader: Reader) -> bool {
        let all: usize = self.running.values().sum();
        let own = self.running.get(&reader).copied().unwrap_or(0);
        let background: usize =
            self.running.iter().filter(|(r, _)| matches!(r, Reader::Background(_))).map(|(_, n)| n).sum();
        let left_to_requests = match reader {
            Reader::Background(_) => background < (self.places - 1).max(1),
            Reader::Request(_) => true,
        };
        all < self.places && own < SHARE && left_to_requests
    }

    /// The next of those who wait that may run.
    fn next(&self) -> Option<Reader> {
        let behind = self.waiting.range((Bound::Excluded(self.last), Bound::Unbounded));
        let before = self.waiting.range((Bound::Unbounded, Bound::Included(self.last)));
        behind.chain(before).map(|(reader, _)| *reader).find(|reader| self.may_run(*reader))
    }

    fn seat(&mut self, reader: Reader) {
        *self.running.entry(reader).or_default() += 1;
    }

    fn leave(&mut self, reader: Reader) {
        if let Some(running) = self.running.get_mut(&reader) {
            *running -= 1;
            if *running == 0 {
                self.running.remove(&reader);
            }
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
            waiting: BTreeMap::new(),
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
        let mut state = self.lock();
        if state.may_run(reader) {
            // whoever waits may not run now: it would have been given the place when it became free
            state.last = reader;
            state.seat(reader);
            return Ok(Entered::Now(self.place(reader)));
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

    fn place(&self, reader: Reader) -> Place {
        Place { of: Some((self.clone(), reader)) }
    }

    /// Frees a place and gives what is free to those who wait.
    fn free(&self, reader: Reader) {
        let mut state = self.lock();
        state.leave(reader);
        while let Some(reader) = state.next() {
            state.last = reader;
            let Some(turn) = state.take_waiting(reader) else { continue };
            state.seat(reader);
            if let Err(mut unwanted) = turn.send(self.place(reader)) {
                // it went away while it waited
                unwanted.of = None;
                state.leave(reader);
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

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use super::*;

    const PATIENCE: Duration = Duration::from_mins(1);

    fn request(number: i64) -> Reader {
        Reader::Request(ProjectNumber(number))
    }

    fn background(number: i64) -> Reader {
        Reader::Background(ProjectNumber(number))
    }

    /// A reader that asks for a place.
    struct Asking(std::pin::Pin<Box<dyn Future<Output = Result<Place>>>>);

    impl Asking {
        fn new(places: &Places, reader: Reader) -> Self {
            let places = places.clone();
            Self(Box::pin(async move { places.take(reader, PATIENCE).await }))
        }

        fn place(&mut self) -> Option<Result<Place>> {
            match self.0.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(outcome) => Some(outcome),
                Poll::Pending => None,
            }
        }

        fn waits(mut self) -> Self {
            assert!(self.place().is_none(), "there is a place for it");
            self
        }
    }

    fn taken(places: &Places, reader: Reader) -> Place {
        Asking::new(places, reader).place().expect("there is a place").unwrap()
    }

    #[tokio::test]
    async fn a_project_holds_one_place_and_leaves_the_others() {
        let places = Places::new(3);
        let first = taken(&places, request(1));
        let mut second = Asking::new(&places, request(1)).waits();
        let (_two, _three) = (taken(&places, request(2)), taken(&places, request(3)));
        let mut fourth = Asking::new(&places, request(4)).waits();
        drop(first);
        // the place is the next project's: the first one had its turn
        assert!(second.place().is_none(), "its project had a turn before");
        assert!(matches!(fourth.place(), Some(Ok(_))));
    }

    #[tokio::test]
    async fn turns_go_from_project_to_project() {
        let places = Places::new(1);
        let mut held = taken(&places, request(2));
        let mut waiting: Vec<_> = [2, 2, 2, 1, 3, 3]
            .into_iter()
            .map(|number| (number, Asking::new(&places, request(number)).waits()))
            .collect();
        let mut order = Vec::new();
        while !waiting.is_empty() {
            drop(held);
            let mut served: Vec<_> = Vec::new();
            waiting.retain_mut(|(number, asking)| match asking.place() {
                Some(place) => {
                    served.push((*number, place.unwrap()));
                    false
                }
                None => true,
            });
            assert_eq!(served.len(), 1, "one place");
            let (number, place) = served.remove(0);
            order.push(number);
            held = place;
        }
        assert_eq!(order, [3, 1, 2, 3, 2, 2]);
    }

    #[tokio::test]
    async fn the_queue_of_a_project_is_bounded_and_nobody_elses() {
        let places = Places::new(1);
        let held = taken(&places, request(1));
        let mut waiting: Vec<_> = (0..QUEUE).map(|_| Asking::new(&places, request(1)).waits()).collect();
        assert!(matches!(Asking::new(&places, request(1)).place(), Some(Err(Error::Crowded(QUEUE)))));
        let _other = Asking::new(&places, request(2)).waits();
        // one that went away makes room
        waiting.pop();
        let _again = Asking::new(&places, request(1)).waits();
        drop(held);
    }

    #[tokio::test]
    async fn who_goes_away_while_waiting_takes_no_place_along() {
        let places = Places::new(1);
        let held = taken(&places, request(1));
        let gone = Asking::new(&places, request(2)).waits();
        let mut next = Asking::new(&places, request(3)).waits();
        drop(gone);
        drop(held);
        assert!(matches!(next.place(), Some(Ok(_))));
        // given a place, and gone before it was told
        let held = taken(&places, request(1));
        let told = Asking::new(&places, request(2)).waits();
        drop(held);
        drop(told);
        taken(&places, request(1));
    }

    #[tokio::test]
    async fn background_work_leaves_a_place_to_requests() {
        let places = Places::new(3);
        let _two = (taken(&places, background(1)), taken(&places, background(2)));
        let mut third = Asking::new(&places, background(3)).waits();
        let asked = taken(&places, request(1));
        drop(asked);
        assert!(third.place().is_none(), "the last place is for requests");
        let alone = Places::new(1);
        let only = taken(&alone, background(1));
        drop(only);
        taken(&alone, request(1));
    }

    #[tokio::test]
    async fn the_wait_for_a_turn_has_an_end() {
        let places = Places::new(1);
        let _held = taken(&places, request(1));
        let patience = Duration::from_millis(1);
        let outcome = places.take(request(2), patience).await;
        assert!(matches!(outcome, Err(Error::NoTurn(waited)) if waited == patience));
    }

    #[test]
    fn half_of_the_connections_at_most_are_for_slow_reads() {
        let slow = SlowReads { at_once: 3, ..SlowReads::default() };
        assert_eq!(
            [2, 3, 4, 5, 6, 16].map(|n| slow.split(n)),
            [(1, 1), (1, 2), (2, 2), (2, 3), (3, 3), (3, 13)]
        );
    }
}
