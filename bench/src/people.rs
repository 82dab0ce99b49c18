//! The contacts that measurements are made with: who they are follows from their number.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Map, Value, json};
use uuid::Uuid;

const FIRST_NAMES: [&str; 8] = ["Ada", "Grace", "Edsger", "Barbara", "Donald", "Frances", "Alan", "Radia"];
const PLANS: [&str; 3] = ["free", "team", "business"];
const CITIES: [&str; 5] = ["Lisbon", "Oslo", "Nairobi", "Kyoto", "Quito"];
/// Hosts of the addresses.
const HOSTS: usize = 53;

/// Scores of stored contacts are below this, so that any score from here on is a change.
pub(crate) const SCORES: usize = 100_000;
/// Names of the events that calls track.
pub(crate) const EVENTS: [&str; 4] = ["page.viewed", "item.added", "order.placed", "feature.used"];
/// What a contact is stored with that a request creates.
pub(crate) const STRANGER_DATA: &str = r#"{"firstName":"Ada","plan":"free","score":1}"#;
/// The keys of [`STRANGER_DATA`].
pub(crate) const STRANGER_KEYS: [&str; 3] = ["firstName", "plan", "score"];

/// The stored contacts of a project, oldest first and in the order of their addresses.
#[derive(Debug)]
pub(crate) struct People {
    ids: Vec<Uuid>,
    strangers: AtomicU64,
}

impl People {
    pub(crate) fn new(ids: Vec<Uuid>) -> Self {
        Self { ids, strangers: AtomicU64::new(0) }
    }

    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(crate) fn id(&self, number: usize) -> Uuid {
        self.ids[number]
    }

    /// An address that no contact has yet.
    pub(crate) fn stranger(&self) -> String {
        let number = self.strangers.fetch_add(1, Ordering::Relaxed);
        format!("new{number:09}@host{}.example.com", number % HOSTS as u64)
    }
}

/// `user000123@host17.example.com`
pub(crate) fn email(number: usize) -> String {
    format!("user{number:06}@host{}.example.com", number % HOSTS)
}

pub(crate) fn first_name(number: usize) -> &'static str {
    FIRST_NAMES[number % FIRST_NAMES.len()]
}

/// The score that a contact is stored with.
pub(crate) fn score(number: usize) -> usize {
    number * 7919 % SCORES
}

/// The custom data that a contact is stored with: three keys, a quarter has a fourth.
pub(crate) fn data(number: usize) -> Map<String, Value> {
    let mut data = Map::new();
    data.insert("firstName".into(), json!(first_name(number)));
    data.insert("plan".into(), json!(PLANS[number % PLANS.len()]));
    data.insert("score".into(), json!(score(number)));
    if number.is_multiple_of(4) {
        data.insert("city".into(), json!(CITIES[number / 4 % CITIES.len()]));
    }
    data
}

/// The custom data with another score, as JSON text.
pub(crate) fn data_with_score(number: usize, score: usize) -> String {
    let mut data = data(number);
    data.insert("score".into(), json!(score));
    Value::Object(data).to_string()
}

/// What a call of `/v1/track` does to contacts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing: the contact exists and no data came with the event. Three quarters of the calls.
    Known,
    /// Changes one field. A fifth of the calls.
    Changed,
    /// Creates it. One call in twenty.
    New,
}

impl Kind {
    /// What the call with this random number does.
    pub(crate) fn of(number: u64) -> Self {
        match number % 20 {
            0 => Self::New,
            1..=4 => Self::Changed,
            _ => Self::Known,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contacts_follow_from_their_number() {
        assert_eq!(email(123), "user000123@host17.example.com");
        assert_eq!(data(4).len(), 4);
        assert_eq!(data(5).len(), 3);
        let people = People::new(Vec::new());
        assert_ne!(people.stranger(), people.stranger());
    }

    #[test]
    fn the_shares_of_calls_are_right() {
        let count = |kind| (0..100).filter(|n| Kind::of(*n) == kind).count();
        assert_eq!((count(Kind::New), count(Kind::Changed), count(Kind::Known)), (5, 20, 75));
    }
}
