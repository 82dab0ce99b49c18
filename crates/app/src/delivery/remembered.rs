//! What a process remembers for some time, so that not every mail asks for it.

use std::fmt::Debug;
use std::hash::Hash;
use std::time::Duration;

use mailwright_core::time::Timestamp;
use quick_cache::sync::Cache;

/// Most values of a kind that are remembered: the least used are forgotten.
const MOST: usize = 10_000;

/// Values that count for some time after they were learnt.
#[derive(Debug)]
pub(super) struct Remembered<K, V> {
    lasts: Duration,
    values: Cache<K, (Timestamp, V)>,
}

impl<K: Eq + Hash, V: Clone> Remembered<K, V> {
    /// Remembers values for so long.
    pub(super) fn lasting(lasts: Duration) -> Self {
        Self { lasts, values: Cache::new(MOST) }
    }

    /// What is remembered, if it still counts.
    pub(super) fn get(&self, key: &K, now: Timestamp) -> Option<V> {
        self.values.get(key).filter(|(at, _)| now.since(*at) < self.lasts).map(|(_, value)| value)
    }

    /// Remembers a value from now on.
    pub(super) fn put(&self, key: K, value: V, now: Timestamp) {
        self.values.insert(key, (now, value));
    }
}

impl<K: Eq + Hash> Remembered<K, ()> {
    /// Whether this is news: it was not noted for as long as notes last. From now on it is noted.
    pub(super) fn is_news(&self, key: K, now: Timestamp) -> bool {
        let is_news = self.get(&key, now).is_none();
        if is_news {
            self.put(key, (), now);
        }
        is_news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_counts_for_some_time() {
        let known = Remembered::lasting(Duration::from_secs(5));
        known.put("a", 1, Timestamp(0));
        assert_eq!([known.get(&"a", Timestamp(4_999)), known.get(&"b", Timestamp(0))], [Some(1), None]);
        assert_eq!(known.get(&"a", Timestamp(5_000)), None);
        known.put("a", 2, Timestamp(5_000));
        assert_eq!(known.get(&"a", Timestamp(5_001)), Some(2));
    }

    #[test]
    fn news_are_told_again_after_a_while() {
        let told = Remembered::lasting(Duration::from_secs(5));
        let is_news = |at| told.is_news("a", Timestamp(at));
        assert_eq!([is_news(0), is_news(4_999), is_news(5_000), is_news(5_001)], [true, false, true, false]);
    }

    #[test]
    fn however_much_is_put_the_room_is_bounded() {
        let known = Remembered::lasting(Duration::from_secs(5));
        for key in 0..3 * MOST {
            known.put(key, key, Timestamp(0));
        }
        assert!(known.values.len() <= MOST, "{}", known.values.len());
    }
}
