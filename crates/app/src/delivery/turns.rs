//! Who is served next: deficit round robin with precedence for new flows, as in RFC 8290 (FQ-CoDel), section 4.
//!
//! Every party with something to do is in one of two lists. A party that was in none is **fresh** and comes first, for
//! one turn. All others take turns in the **ring**. A turn ends at the end of the ring, whether anything is left to do
//! or not. A party leaves the ring only when its turn comes and it has nothing to do; then it can be fresh again. So
//! between two turns of a party that waits, no other party has more than one turn, and nobody gains by bringing work in
//! small pieces. `docs/adr/0001-turns.md` has the reasons.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// How many keys without pieces are kept beside twice those that have some.
const SPARE: usize = 64;

/// The order in which keys are served.
#[derive(Debug)]
pub(super) struct Turns<K> {
    fresh: VecDeque<K>,
    ring: VecDeque<K>,
    /// Everybody in one of the lists, and whether there is something to do for them.
    known: HashMap<K, bool>,
    waiting: usize,
}

impl<K> Default for Turns<K> {
    fn default() -> Self {
        Self { fresh: VecDeque::new(), ring: VecDeque::new(), known: HashMap::new(), waiting: 0 }
    }
}

impl<K: Copy + Eq + Hash> Turns<K> {
    /// There is something to do for a key. Returns whether that is news. One that is in a list keeps its place.
    pub(super) fn join(&mut self, key: K) -> bool {
        let before = self.known.insert(key, true);
        if before.is_none() {
            self.fresh.push_back(key);
        }
        let is_news = before != Some(true);
        self.waiting += usize::from(is_news);
        is_news
    }

    /// The party whose turn it is among those with a rank: the first one with the lowest rank. A party without a rank
    /// keeps its place. A party that is not done after its turn joins again, and so does one that gets more to do
    /// meanwhile.
    pub(super) fn next_by(&mut self, mut rank: impl FnMut(K) -> Option<usize>) -> Option<K> {
        while self.ring.front().is_some_and(|key| self.known.get(key) == Some(&false))
            && self.fresh.is_empty()
        {
            self.ring.pop_front().and_then(|key| self.known.remove(&key));
        }
        let mut best: Option<(usize, usize)> = None;
        for (place, key) in self.fresh.iter().chain(&self.ring).enumerate() {
            if self.known.get(key) == Some(&true)
                && let Some(rank) = rank(*key)
                && best.is_none_or(|(lowest, _)| rank < lowest)
            {
                best = Some((rank, place));
                if rank == 0 {
                    break;
                }
            }
        }
        let (_, place) = best?;
        if let Some(key) = (place < self.fresh.len()).then(|| self.fresh.remove(place)).flatten() {
            self.end_turn(key);
            return Some(key);
        }
        let mut place = place - self.fresh.len();
        // those that have nothing to do have come up, unless they are behind one that is passed over
        while place > 0 && self.ring.front().is_some_and(|key| self.known.get(key) == Some(&false)) {
            self.ring.pop_front().and_then(|key| self.known.remove(&key));
            place -= 1;
        }
        let key = self.ring.remove(place)?;
        self.end_turn(key);
        Some(key)
    }

    /// Forgets those for whom there is nothing to do, where there are more than `most` in the ring: each that was ever
    /// served is there until its next turn.
    fn tidy(&mut self, most: usize) {
        if self.ring.len() > most {
            let known = &mut self.known;
            self.ring.retain(|key| {
                let has_work = known.get(key) == Some(&true);
                if !has_work {
                    known.remove(key);
                }
                has_work
            });
        }
    }

    /// There is nothing to do for a key any more, which was not served.
    pub(super) fn leave(&mut self, key: K) {
        if self.known.get(&key) != Some(&true) {
            return;
        }
        self.known.insert(key, false);
        self.waiting -= 1;
        let before = self.fresh.len();
        self.fresh.retain(|fresh| *fresh != key);
        if self.fresh.len() < before {
            self.ring.push_back(key);
        }
    }

    /// Ends a turn. Calls of `join` during the turn count for the next one.
    fn end_turn(&mut self, key: K) {
        self.known.insert(key, false);
        self.ring.push_back(key);
        self.waiting -= 1;
    }

    /// For how many there is something to do.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Whether a party that `is_meant` accepts has something to do.
    pub(super) fn has(&self, mut is_meant: impl FnMut(K) -> bool) -> bool {
        self.known.iter().any(|(key, has_work)| *has_work && is_meant(*key))
    }
}

/// Queues of many keys, served by turns of one piece each.
#[derive(Debug)]
pub(super) struct Shares<K, T> {
    turns: Turns<K>,
    queues: HashMap<K, VecDeque<T>>,
    len: usize,
}

impl<K, T> Default for Shares<K, T> {
    fn default() -> Self {
        Self { turns: Turns::default(), queues: HashMap::new(), len: 0 }
    }
}

impl<K: Copy + Eq + Hash, T> Shares<K, T> {
    pub(super) fn push(&mut self, key: K, piece: T) {
        self.queues.entry(key).or_default().push_back(piece);
        self.turns.join(key);
        self.len += 1;
    }

    pub(super) fn pop(&mut self) -> Option<T> {
        self.pop_by(|_| Some(0)).map(|(_, piece)| piece)
    }

    /// The next piece among the keys that have a rank, and its key: of the lowest, that whose turn it is.
    pub(super) fn pop_by(&mut self, rank: impl FnMut(K) -> Option<usize>) -> Option<(K, T)> {
        let key = self.turns.next_by(rank)?;
        let queue = self.queues.get_mut(&key)?;
        let piece = queue.pop_front();
        if queue.is_empty() {
            self.queues.remove(&key);
        } else {
            self.turns.join(key);
        }
        self.len -= usize::from(piece.is_some());
        self.tidy();
        Some((key, piece?))
    }

    /// Takes back what a key has beyond so many pieces, the last ones.
    pub(super) fn withdraw(&mut self, key: K, keep: usize) -> Vec<T> {
        self.take_back(key, |queue| queue.split_off(keep.min(queue.len())).into())
    }

    /// Takes back the pieces of a key that `is_meant` accepts.
    pub(super) fn extract(&mut self, key: K, mut is_meant: impl FnMut(&T) -> bool) -> Vec<T> {
        self.take_back(key, |queue| {
            let (meant, rest): (Vec<T>, Vec<T>) =
                std::mem::take(queue).into_iter().partition(|piece| is_meant(piece));
            *queue = rest.into();
            meant
        })
    }

    fn take_back(&mut self, key: K, take: impl FnOnce(&mut VecDeque<T>) -> Vec<T>) -> Vec<T> {
        let Some(queue) = self.queues.get_mut(&key) else { return Vec::new() };
        let taken = take(queue);
        if queue.is_empty() {
            self.queues.remove(&key);
            self.turns.leave(key);
        }
        self.len -= taken.len();
        self.tidy();
        taken
    }

    fn tidy(&mut self) {
        self.turns.tidy(2 * self.queues.len() + SPARE);
    }

    /// Each key with how many pieces it has.
    pub(super) fn queued(&self) -> impl Iterator<Item = (K, usize)> {
        self.queues.iter().map(|(key, queue)| (*key, queue.len()))
    }

    /// Whether a key that `is_meant` accepts has pieces.
    pub(super) fn has(&self, mut is_meant: impl FnMut(K) -> bool) -> bool {
        self.queues.keys().any(|key| is_meant(*key))
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }
}

#[cfg(test)]
#[path = "turns_tests.rs"]
mod tests;
