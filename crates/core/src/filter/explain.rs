//! What the conditions of a filter saw of a contact: why the filter holds, or does not.

use serde::Serialize;
use serde_json::{Value, json};

use super::facts::Facts;
use super::tree::{Condition, Filter};
use crate::custom_data::shortened;
use crate::time::Timestamp;

/// The most conditions that are told of.
const MOST: usize = 20;

/// What a condition saw.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Seen {
    /// What it looked at, as filters name it.
    pub field: String,
    /// What was there: a value, the time of the last event, or whether the contact is in a segment; null for nothing.
    pub value: Value,
    /// Whether it holds.
    pub holds: bool,
}

impl Filter {
    /// What the conditions saw, in their order: the first 20.
    pub fn explain(&self, facts: &impl Facts, now: Timestamp) -> Vec<Seen> {
        let mut seen = Vec::new();
        self.each(&mut |condition| {
            if seen.len() < MOST {
                let (field, value) = condition.look(facts);
                seen.push(Seen { field, value, holds: condition.matches(facts, now) });
            }
        });
        seen
    }
}

impl Condition {
    fn look(&self, facts: &impl Facts) -> (String, Value) {
        let contact = facts.contact();
        let value = |found: Option<&Value>| found.map(shortened).unwrap_or_default();
        match self {
            Self::Email(_) => ("email".to_owned(), contact.email.as_str().into()),
            Self::Subscribed(_) => ("subscribed".to_owned(), contact.subscribed.into()),
            Self::Time { field, .. } => (field.as_str().to_owned(), json!(field.of(contact))),
            Self::Data { path, .. } => (format!("data.{}", path.as_str()), value(path.find(&contact.data))),
            Self::Context { path, .. } => {
                let found = facts.context().and_then(|data| path.find_plain(data));
                (format!("event.{}", path.as_str()), value(found))
            }
            Self::Event { name, .. } => (format!("event.{name}"), json!(facts.last_event(name))),
            Self::Activity { kind, .. } => (format!("email.{kind}"), json!(facts.last_activity(*kind))),
            Self::Segment { id, .. } => (format!("segment.{id}"), facts.is_member(*id).into()),
        }
    }
}
