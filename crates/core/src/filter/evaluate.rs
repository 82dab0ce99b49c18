//! Judges one contact in memory. `store::audience::filter` says the same in SQL.

use std::time::Duration;

use serde_json::Value;

use super::date::Moment;
use super::facts::Facts;
use super::tree::{
    Comparison, Condition, DataPath, DataTest, EventTest, Filter, Group, Logic, Operand, Ordered, TextTest,
    TimeField, TimeTest,
};
use crate::contact::Contact;
use crate::custom_data::{Data, plain};
use crate::time::Timestamp;

const DAY: Duration = Duration::from_hours(24);

impl Filter {
    /// Whether the filter holds for a contact at an instant.
    pub fn matches(&self, facts: &impl Facts, now: Timestamp) -> bool {
        match self.logic {
            Logic::And => self.groups.iter().all(|group| group.matches(facts, now)),
            Logic::Or => self.groups.iter().any(|group| group.matches(facts, now)),
        }
    }
}

impl Group {
    fn matches(&self, facts: &impl Facts, now: Timestamp) -> bool {
        self.conditions.iter().all(|condition| condition.matches(facts, now))
            && self.nested.as_ref().is_none_or(|tree| tree.matches(facts, now))
    }
}

impl Condition {
    pub(super) fn matches(&self, facts: &impl Facts, now: Timestamp) -> bool {
        let contact = facts.contact();
        match self {
            Self::Email(test) => test.matches(contact.email.as_str()),
            Self::Subscribed(wanted) => contact.subscribed == *wanted,
            Self::Time { field, test } => test.matches(field.of(contact), now),
            Self::Data { path, test } => {
                let value = path.find(&contact.data);
                test.may_see(value, facts) && test.matches(value, now)
            }
            Self::Context { path, test } => {
                let value = facts.context().and_then(|data| path.find_plain(data));
                test.may_see(value, facts) && test.matches(value, now)
            }
            Self::Event { name, test } => test.matches(facts.last_event(name), now),
            Self::Activity { kind, test } => test.matches(facts.last_activity(*kind), now),
            Self::Segment { id, member } => facts.is_member(*id) == *member,
        }
    }
}

impl TimeField {
    /// The time of a contact.
    pub(super) fn of(self, contact: &Contact) -> Timestamp {
        match self {
            Self::CreatedAt => contact.created_at,
            Self::UpdatedAt => contact.updated_at,
        }
    }
}

impl TextTest {
    fn matches(&self, text: &str) -> bool {
        match self {
            Self::Equals(wanted) => text == wanted,
            Self::NotEquals(wanted) => text != wanted,
            Self::Contains(part) => text.contains(part.as_str()),
            Self::NotContains(part) => !text.contains(part.as_str()),
        }
    }
}

impl TimeTest {
    fn matches(self, time: Timestamp, now: Timestamp) -> bool {
        let on = |day: Timestamp| time >= day && time < day.plus(DAY);
        match self {
            Self::OnDay(day) => on(day),
            Self::NotOnDay(day) => !on(day),
            Self::Compare(comparison, instant) => comparison.holds(&time, &instant),
            Self::Within(length) => time >= now.minus(length),
            Self::OlderThan(length) => time < now.minus(length),
        }
    }
}

impl DataPath {
    /// The value at this place; `None` when there is none, or null.
    pub(crate) fn find<'d>(&self, data: &'d Data) -> Option<&'d Value> {
        self.look_up(data, |value| value)
    }

    /// The same in the data of an event, where `{ value, persistent: false }` stands for its value.
    pub(crate) fn find_plain<'d>(&self, data: &'d Data) -> Option<&'d Value> {
        self.look_up(data, plain)
    }

    /// Looks a value up where `meant` is what a member of the data stands for.
    fn look_up<'d>(&self, data: &'d Data, meant: fn(&'d Value) -> &'d Value) -> Option<&'d Value> {
        let found = data.get(self.as_str()).map(meant).or_else(|| {
            let mut keys = self.keys();
            let first = meant(data.get(keys.next()?)?);
            keys.try_fold(first, |value, key| value.as_object()?.get(key))
        });
        found.filter(|value| !value.is_null())
    }
}

impl DataTest {
    /// Whether it may look at a value: through a text only as far as the facts allow.
    fn may_see(&self, value: Option<&Value>, facts: &impl Facts) -> bool {
        match (self, value) {
            (Self::Contains(_) | Self::NotContains(_), Some(Value::String(text))) => {
                facts.may_look_through(text.len())
            }
            _ => true,
        }
    }

    fn matches(&self, value: Option<&Value>, now: Timestamp) -> bool {
        let Some(value) = value else { return matches!(self, Self::NotExists) };
        let text = value.as_str();
        match self {
            Self::Equals(operand) => operand.equals(value),
            Self::NotEquals(operand) => !operand.equals(value),
            Self::Contains(part) => text.is_some_and(|text| text.contains(part.as_str())),
            Self::NotContains(part) => text.is_some_and(|text| !text.contains(part.as_str())),
            Self::Compare(comparison, operand) => operand.stands(*comparison, value),
            Self::Exists => true,
            Self::NotExists => false,
            Self::Within(length) => {
                text.and_then(Moment::of_stored).is_some_and(|date| date >= Moment::of(now.minus(*length)))
            }
            Self::OlderThan(length) => {
                text.and_then(Moment::of_stored).is_some_and(|date| date < Moment::of(now.minus(*length)))
            }
        }
    }
}

impl Operand {
    fn equals(&self, value: &Value) -> bool {
        match self {
            Self::Bool(wanted) => value.as_bool() == Some(*wanted),
            Self::Ordered(Ordered::Number(wanted)) => value.as_f64() == Some(*wanted),
            Self::Ordered(Ordered::Text(wanted)) => value.as_str() == Some(wanted),
            Self::Ordered(Ordered::Date(wanted)) => {
                value.as_str().and_then(Moment::of_stored).is_some_and(|date| date.day() == wanted.day())
            }
        }
    }
}

impl Ordered {
    /// Whether a value has this type and stands so to this.
    fn stands(&self, comparison: Comparison, value: &Value) -> bool {
        match self {
            Self::Number(number) => value.as_f64().is_some_and(|value| comparison.holds(&value, number)),
            Self::Text(text) => value.as_str().is_some_and(|value| comparison.holds(value, text.as_str())),
            Self::Date(moment) => value
                .as_str()
                .and_then(Moment::of_stored)
                .is_some_and(|value| comparison.holds(&value, moment)),
        }
    }
}

impl EventTest {
    fn matches(self, last: Option<Timestamp>, now: Timestamp) -> bool {
        let within = |length| last.is_some_and(|last| last >= now.minus(length));
        match self {
            Self::Triggered => last.is_some(),
            Self::NotTriggered => last.is_none(),
            Self::Within(length) => within(length),
            Self::OlderThan(length) => last.is_some() && !within(length),
            Self::NotWithin(length) => !within(length),
        }
    }
}
