//! Who is served next: deficit round robin with precedence for new flows, as in RFC 8290 (FQ-CoDel), section 4.
//!
//! Whoever has something to do is in one of two lists. Those that were in none are **fresh** and come first, for one
//! turn. Everybody else takes turns in the **ring**: a turn ends at the ring's end, whether anything is left to do or
//! not. Only who comes up in the ring with nothing to do leaves it, and can be fresh again. So between two turns of one
//! who waits, nobody else has more than one, however they come and go, and nobody gains by bringing work in small pieces.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

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

    /// Whose turn it is. Whoever is not done with it joins again, and so does whoever gets more to do meanwhile.
    pub(super) fn next(&mut self) -> Option<K> {
        self.next_fresh().or_else(|| self.next_in_ring())
    }

    /// The same among those that were in no list.
    pub(super) fn next_fresh(&mut self) -> Option<K> {
        let key = self.fresh.pop_front()?;
        self.end_turn(key);
        Some(key)
    }

    fn next_in_ring(&mut self) -> Option<K> {
        while let Some(key) = self.ring.pop_front() {
            if self.known.get(&key) == Some(&true) {
                self.end_turn(key);
                return Some(key);
            }
            self.known.remove(&key);
        }
        None
    }

    /// A turn ends as it begins: what is said during it, by whomever, is about the next one.
    fn end_turn(&mut self, key: K) {
        self.known.insert(key, false);
        self.ring.push_back(key);
        self.waiting -= 1;
    }

    /// For how many there is something to do.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Whether somebody waits who was in no list.
    pub(super) fn has_fresh(&self) -> bool {
        !self.fresh.is_empty()
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
        let key = self.turns.next()?;
        let queue = self.queues.get_mut(&key)?;
        let piece = queue.pop_front();
        if queue.is_empty() {
            self.queues.remove(&key);
        } else {
            self.turns.join(key);
        }
        self.len -= usize::from(piece.is_some());
        piece
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Everything, in the order in which it would have been served.
    pub(super) fn drain(&mut self) -> Vec<T> {
        std::iter::from_fn(|| self.pop()).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn who_comes_anew_is_served_before_those_with_a_backlog() {
        let mut shares = Shares::default();
        for piece in 0..100 {
            shares.push("large", piece);
            shares.push("larger", piece);
        }
        assert!(
            [shares.pop(), shares.pop(), shares.pop(), shares.pop()].iter().all(|piece| *piece < Some(2))
        );
        shares.push("new", 1000);
        assert_eq!(shares.pop(), Some(1000));
        assert_eq!((shares.len(), shares.drain().len(), shares.len()), (196, 196, 0));
        assert_eq!(shares.pop(), None);
    }

    #[test]
    fn small_pieces_gain_nothing() {
        let mut turns = Turns::default();
        for key in ["a", "b", "c"] {
            turns.join(key);
        }
        let mut order = Vec::new();
        for _ in 0..9 {
            let key = turns.next().unwrap();
            order.push(key);
            // one brings its next piece only when the last is done, the others have many
            turns.join(key);
            turns.join("a");
        }
        assert_eq!(order, ["a", "b", "c", "a", "b", "c", "a", "b", "c"]);
    }

    #[test]
    fn what_comes_during_a_turn_is_not_lost() {
        let mut turns = Turns::default();
        assert!(turns.join(1));
        assert_eq!(turns.next(), Some(1));
        // told while the turn's work goes on, which finds nothing more
        assert!(turns.join(1));
        assert!(!turns.join(1));
        assert_eq!((turns.waiting(), turns.has_fresh()), (1, false));
        assert_eq!(turns.next(), Some(1));
        assert_eq!((turns.next(), turns.waiting()), (None, 0));
        assert!(turns.join(1));
        assert!(turns.has_fresh(), "it came up with nothing to do and left");
    }

    proptest! {
        /// Somebody joins, or the next one has a turn and has more to do or not: between joining and being served,
        /// nobody else is served twice.
        #[test]
        fn nobody_waits_for_more_than_one_turn_of_each(steps in prop::collection::vec((0..8_u8, any::<bool>(), 0..3_u8), 1..400)) {
            let mut turns = Turns::default();
            let mut waiting: BTreeMap<u8, BTreeMap<u8, u32>> = BTreeMap::new();
            for (key, has_more, step) in steps {
                if step == 0 {
                    turns.join(key);
                    waiting.entry(key).or_default();
                    continue;
                }
                let served = if step == 1 { turns.next() } else { turns.next_fresh() };
                let Some(served) = served else {
                    prop_assert!(step == 2 || waiting.is_empty(), "nobody is forgotten");
                    continue;
                };
                prop_assert!(waiting.remove(&served).is_some(), "only who waits is served");
                for (who, seen) in &mut waiting {
                    let times = seen.entry(served).or_default();
                    *times += 1;
                    prop_assert!(*times <= 1, "{served} had {times} turns while {who} waited");
                }
                if has_more {
                    turns.join(served);
                    waiting.insert(served, BTreeMap::new());
                }
                prop_assert_eq!(turns.waiting(), waiting.len());
            }
        }

        #[test]
        fn a_queue_keeps_the_order_within_a_key(pieces in prop::collection::vec(0..5_u8, 0..200)) {
            let mut shares = Shares::default();
            for (number, key) in pieces.iter().enumerate() {
                shares.push(*key, (*key, number));
            }
            let served = shares.drain();
            prop_assert_eq!(served.len(), pieces.len());
            for key in 0..5_u8 {
                let numbers: Vec<_> = served.iter().filter(|(of, _)| *of == key).map(|(_, n)| *n).collect();
                prop_assert!(numbers.is_sorted());
            }
        }
    }
}
