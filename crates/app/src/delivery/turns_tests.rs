use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

impl<K: Copy + Eq + Hash> Turns<K> {
    fn next(&mut self) -> Option<K> {
        self.next_by(|_| Some(0))
    }
}

impl<K: Copy + Eq + Hash, T> Shares<K, T> {
    fn queued_for(&self, key: K) -> usize {
        self.queues.get(&key).map_or(0, VecDeque::len)
    }

    fn drain(&mut self) -> Vec<T> {
        std::iter::from_fn(|| self.pop()).collect()
    }
}

#[test]
fn what_is_extracted_is_counted_no_more() {
    let mut shares = Shares::default();
    (0..10).for_each(|piece| shares.push("one", piece));
    shares.push("other", 1);
    assert_eq!(shares.extract("one", |piece| piece % 2 == 0), [0, 2, 4, 6, 8]);
    assert_eq!((shares.len(), shares.queued_for("one")), (6, 5));
    assert_eq!(shares.extract("other", |_| true), [1]);
    assert!(shares.extract("other", |_| true).is_empty());
    assert_eq!(shares.drain(), [1, 3, 5, 7, 9]);
    assert_eq!(shares.len(), 0);
}

#[test]
fn who_comes_anew_is_served_before_those_with_a_backlog() {
    let mut shares = Shares::default();
    for piece in 0..100 {
        shares.push("large", piece);
        shares.push("larger", piece);
    }
    assert!([shares.pop(), shares.pop(), shares.pop(), shares.pop()].iter().all(|piece| *piece < Some(2)));
    shares.push("new", 1000);
    assert_eq!(shares.pop(), Some(1000));
    assert_eq!((shares.len(), shares.drain().len(), shares.len()), (196, 196, 0));
    assert_eq!(shares.pop(), None);
}

#[test]
fn who_has_the_lowest_rank_is_served_and_what_is_withdrawn_leaves_no_trace() {
    let mut shares = Shares::default();
    for key in ["a", "b", "c"] {
        (0..3).for_each(|piece| shares.push(key, (key, piece)));
    }
    let rank = |key| match key {
        "a" => Some(2),
        "b" => None,
        _ => Some(1),
    };
    let served: Vec<_> = (0..4).filter_map(|_| shares.pop_by(rank)).map(|(key, _)| key).collect();
    assert_eq!(served, ["c", "c", "c", "a"]);
    assert_eq!(shares.withdraw("b", 1), [("b", 1), ("b", 2)]);
    assert_eq!(shares.withdraw("a", 0), [("a", 1), ("a", 2)]);
    assert_eq!((shares.len(), shares.queued_for("b"), shares.queued_for("a")), (1, 1, 0));
    assert_eq!((shares.pop(), shares.pop(), shares.len()), (Some(("b", 0)), None, 0));
    shares.push("a", ("a", 9));
    assert_eq!(shares.pop(), Some(("a", 9)));
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
    assert_eq!(turns.waiting(), 1);
    assert_eq!(turns.next(), Some(1));
    assert_eq!((turns.next(), turns.waiting()), (None, 0));
    assert!(turns.join(1));
    assert!(!turns.fresh.is_empty(), "it came up with nothing to do and left");
}

proptest! {
    /// Somebody joins, or the next one has a turn and has more to do or not: between joining and being served,
    /// nobody else is served twice.
    #[test]
    fn nobody_waits_for_more_than_one_turn_of_each(steps in prop::collection::vec((0..8_u8, any::<bool>(), 0..2_u8), 1..400)) {
        let mut turns = Turns::default();
        let mut waiting: BTreeMap<u8, BTreeMap<u8, u32>> = BTreeMap::new();
        for (key, has_more, step) in steps {
            if step == 0 {
                turns.join(key);
                waiting.entry(key).or_default();
                continue;
            }
            let Some(served) = turns.next() else {
                prop_assert!(waiting.is_empty(), "nobody is forgotten");
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

    /// The same where some may not be served for a while: they lose nothing but that time, and keep nobody
    /// waiting. Only who waits since before it could be served counts.
    #[test]
    fn who_may_not_be_served_keeps_its_place(steps in prop::collection::vec((0..6_u8, any::<u8>(), 0..3_u8), 1..400)) {
        let mut turns = Turns::default();
        let mut waiting: BTreeMap<u8, BTreeMap<u8, u32>> = BTreeMap::new();
        for (key, may, step) in steps {
            match step {
                0 => {
                    turns.join(key);
                    waiting.entry(key).or_default();
                }
                1 if may % 8 == 0 => {
                    turns.leave(key);
                    waiting.remove(&key);
                }
                _ => {
                    let is_served = |key: u8| may & (1 << key) != 0;
                    let Some(served) = turns.next_by(|key| is_served(key).then_some(0)) else {
                        prop_assert!(!waiting.keys().any(|key| is_served(*key)), "nobody is forgotten");
                        continue;
                    };
                    prop_assert!(is_served(served) && waiting.remove(&served).is_some());
                    for (who, seen) in &mut waiting {
                        if is_served(*who) {
                            let times = seen.entry(served).or_default();
                            *times += 1;
                            prop_assert!(*times <= 1, "{served} had {times} turns while {who} waited");
                        } else {
                            // it is ahead of whoever is served while it may not be
                            seen.remove(&served);
                        }
                    }
                    if may % 2 == 0 {
                        turns.join(served);
                        waiting.insert(served, BTreeMap::new());
                    }
                }
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
