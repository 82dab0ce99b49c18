//! For tests that move the clock, in builds with debug assertions only: which rounds of background work a move makes
//! due, and when they are done. In other builds `due_never.rs` stands for this.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mailwright_core::time::Clock;
use tokio::sync::watch;

/// The rounds of a piece of work.
#[derive(Debug)]
struct Rounds {
    name: &'static str,
    /// When the next one begins at the latest; `None` during one.
    until: Option<Instant>,
    /// Rounds that have to end before what a move made due is done.
    owed: u8,
}

#[derive(Debug, Default)]
struct State {
    last: u64,
    work: BTreeMap<u64, Rounds>,
}

/// All work of a process.
#[derive(Debug, Clone, Default)]
pub(super) struct Due {
    state: Arc<Mutex<State>>,
    moved: Arc<watch::Sender<()>>,
    ended: Arc<watch::Sender<()>>,
}

impl Due {
    /// Enters work that begins its first round now.
    pub(super) fn enter(&self, name: &'static str) -> Entered {
        let mut state = self.lock();
        state.last += 1;
        let number = state.last;
        state.work.insert(number, Rounds { name, until: None, owed: 0 });
        Entered { due: self.clone(), number }
    }

    /// What tells that the clock is moved from now on.
    pub(super) fn moves(&self) -> Moves {
        Moves(self.moved.subscribe())
    }

    /// Moves the clock. What is due by it then has to have a round; work that is in one, which began by the old time,
    /// has to have another.
    pub(super) fn move_clock(&self, clock: &Clock, ahead: Duration) {
        let mut state = self.lock();
        clock.move_to(ahead);
        let now = clock.steady();
        for rounds in state.work.values_mut() {
            match rounds.until {
                None => rounds.owed = 2,
                Some(at) if at <= now => rounds.owed = 1,
                Some(_) => {}
            }
        }
        drop(state);
        self.moved.send_replace(());
    }

    /// Waits, at most `patience`, until no work has to have a round. Returns the names of the work that has.
    pub(super) async fn caught_up(&self, patience: Duration) -> Vec<&'static str> {
        let mut ended = self.ended.subscribe();
        let caught_up = async { while !self.owed().is_empty() && ended.changed().await.is_ok() {} };
        let _ = tokio::time::timeout(patience, caught_up).await;
        self.owed()
    }

    fn owed(&self) -> Vec<&'static str> {
        self.lock().work.values().filter(|rounds| rounds.owed > 0).map(|rounds| rounds.name).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells when the clock is moved.
pub(super) struct Moves(watch::Receiver<()>);

impl Moves {
    pub(super) async fn next(&mut self) {
        // the sender is where the receiver was made
        let _ = self.0.changed().await;
    }
}

/// Work that was entered; it is taken out when this is dropped.
pub(super) struct Entered {
    due: Due,
    number: u64,
}

impl Entered {
    /// The first round begins at this instant of [`Clock::steady`].
    pub(super) fn waits_until(&self, at: Instant) {
        self.set(|rounds| rounds.until = Some(at));
    }

    /// A round begins.
    pub(super) fn begins(&self) {
        self.set(|rounds| rounds.until = None);
    }

    /// A round has ended; the next one begins at `next` at the latest.
    pub(super) fn ended(&self, next: Instant) {
        self.set(|rounds| {
            rounds.until = Some(next);
            rounds.owed = rounds.owed.saturating_sub(1);
        });
        self.due.ended.send_replace(());
    }

    fn set(&self, change: impl FnOnce(&mut Rounds)) {
        if let Some(rounds) = self.due.lock().work.get_mut(&self.number) {
            change(rounds);
        }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.due.lock().work.remove(&self.number);
        self.due.ended.send_replace(());
    }
}
