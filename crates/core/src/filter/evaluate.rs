//! Judges one contact in memory. `store::audience::filter` says the same in SQL.

use std::cmp::Ordering;
use std::time::Duration;

use serde_json::Value;

use super::date::{self, Moment};
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
                let value = Scalar::of(path.find(&contact.data));
                test.may_see(value, facts) && test.matches(value, now)
            }
            Self::Context { path, test } => {
                let value = Scalar::of(facts.context().and_then(|data| path.find_plain(data)));
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
    pub(super) fn matches(&self, text: &str) -> bool {
        match self {
            Self::Equals(wanted) => text == wanted,
            Self::NotEquals(wanted) => text != wanted,
            Self::Contains(part) => text.contains(part.as_str()),
            Self::NotContains(part) => !text.contains(part.as_str()),
        }
    }
}

impl TimeTest {
    pub(super) fn matches(self, time: Timestamp, now: Timestamp) -> bool {
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
    pub fn find<'d>(&self, data: &'d Data) -> Option<&'d Value> {
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

/// What conditions see of a value in custom data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Scalar<'v> {
    /// No value, or null.
    Missing,
    /// True or false.
    Bool(bool),
    /// A number, as the float that it is compared as.
    Number(f64),
    /// A text.
    Text(&'v str),
    /// A list, an object, or a number that is no float: it is there, and equals nothing.
    Other,
}

impl<'v> Scalar<'v> {
    /// What conditions see of a value; `None` is no value.
    pub(super) fn of(value: Option<&'v Value>) -> Self {
        match value {
            None | Some(Value::Null) => Self::Missing,
            Some(Value::Bool(value)) => Self::Bool(*value),
            Some(Value::Number(number)) => number.as_f64().map_or(Self::Other, Self::Number),
            Some(Value::String(text)) => Self::Text(text),
            Some(Value::Array(_) | Value::Object(_)) => Self::Other,
        }
    }

    fn text(self) -> Option<&'v str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }
}

impl DataTest {
    /// Whether it may look at a value: through a text only as far as the facts allow.
    fn may_see(&self, value: Scalar<'_>, facts: &impl Facts) -> bool {
        match (self, value) {
            (Self::Contains(_) | Self::NotContains(_), Scalar::Text(text)) => {
                facts.may_look_through(text.len())
            }
            _ => true,
        }
    }

    pub(super) fn matches(&self, value: Scalar<'_>, now: Timestamp) -> bool {
        if value == Scalar::Missing {
            return matches!(self, Self::NotExists);
        }
        let text = value.text();
        match self {
            Self::Equals(operand) => operand.equals(value),
            Self::NotEquals(operand) => !operand.equals(value),
            Self::Contains(part) => text.is_some_and(|text| text.contains(part.as_str())),
            Self::NotContains(part) => text.is_some_and(|text| !text.contains(part.as_str())),
            Self::Compare(comparison, operand) => operand.stands(*comparison, value),
            Self::Exists => true,
            Self::NotExists => false,
            Self::Within(length) => Comparison::GreaterOrEqual.holds_of_date(text, now.minus(*length)),
            Self::OlderThan(length) => Comparison::Less.holds_of_date(text, now.minus(*length)),
        }
    }
}

impl Comparison {
    /// Whether a text is a date that stands so to an instant.
    fn holds_of_date(self, text: Option<&str>, instant: Timestamp) -> bool {
        let date = Moment::of(instant);
        text.and_then(|text| date::compare(text, &date)).is_some_and(|order| self.is(order))
    }
}

/// Whether numbers are equal, as floats are: 0 is -0.
pub(super) fn is_same(one: f64, other: f64) -> bool {
    one.partial_cmp(&other).is_some_and(Ordering::is_eq)
}

impl Operand {
    fn equals(&self, value: Scalar<'_>) -> bool {
        match (self, value) {
            (Self::Bool(wanted), Scalar::Bool(value)) => value == *wanted,
            (Self::Ordered(Ordered::Number(wanted)), Scalar::Number(value)) => is_same(value, *wanted),
            (Self::Ordered(Ordered::Text(wanted)), Scalar::Text(value)) => value == wanted,
            (Self::Ordered(Ordered::Date(wanted)), Scalar::Text(value)) => {
                value.starts_with(wanted.day()) && date::compare(value, wanted).is_some()
            }
            _ => false,
        }
    }
}

impl Ordered {
    /// Whether a value has this type and stands so to this.
    fn stands(&self, comparison: Comparison, value: Scalar<'_>) -> bool {
        match (self, value) {
            (Self::Number(number), Scalar::Number(value)) => comparison.holds(&value, number),
            (Self::Text(text), Scalar::Text(value)) => comparison.holds(value, text.as_str()),
            (Self::Date(moment), Scalar::Text(value)) => {
                date::compare(value, moment).is_some_and(|order| comparison.is(order))
            }
            _ => false,
        }
    }
}

impl EventTest {
    pub(super) fn matches(self, last: Option<Timestamp>, now: Timestamp) -> bool {
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
