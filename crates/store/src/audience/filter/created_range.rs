//! The range of creation times of the contacts that a filter can find, as far as the filter alone limits it.
//!
//! The id of a contact begins with its creation time, so a query can skip contacts of other times. A condition on
//! something long ago limits the range too, because nothing happens to a contact before it is created. An hour of slack
//! ([`SLACK`]) allows for clocks that differ; if they differ by more, a contact is found that much later.

use std::time::Duration;

use mailwright_core::filter::{Comparison, Condition, EventTest, Filter, Group, Logic, TimeField, TimeTest};
use mailwright_core::ids::ContactId;
use mailwright_core::time::Timestamp;

/// How much earlier than the creation of a contact something may seem to have happened to it: the times come from the
/// clocks of several nodes, and a request has the time of its arrival, while another that came later may have created
/// the contact before its turn.
const SLACK: Duration = Duration::from_hours(1);
/// The shortest time there is.
const INSTANT: Duration = Duration::from_millis(1);
/// The instants that ids can have are before this one.
const OVER: Timestamp = Timestamp(1 << 48);

/// A stretch of time, in which the contacts were created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CreatedRange {
    from: Timestamp,
    until: Timestamp,
}

impl CreatedRange {
    const ALL: Self = Self { from: Timestamp(i64::MIN), until: Timestamp(i64::MAX) };
    const NONE: Self = Self { from: Timestamp(i64::MAX), until: Timestamp(i64::MIN) };

    /// The range of all contacts that a filter may find. Segments that it refers to do not limit it.
    pub(super) fn of(tree: &Filter, now: Timestamp) -> Self {
        let groups = tree.groups.iter().map(|group| Self::of_group(group, now));
        match tree.logic {
            Logic::And => groups.fold(Self::ALL, Self::and),
            Logic::Or => groups.fold(Self::NONE, Self::or),
        }
    }

    fn of_group(group: &Group, now: Timestamp) -> Self {
        let conditions = group.conditions.iter().map(|condition| Self::of_condition(condition, now));
        let nested = group.nested.as_ref().map(|tree| Self::of(tree, now));
        conditions.chain(nested).fold(Self::ALL, Self::and)
    }

    fn of_condition(condition: &Condition, now: Timestamp) -> Self {
        match condition {
            Condition::Time { field: TimeField::CreatedAt, test } => Self::of_creation(*test, now),
            Condition::Event { test: EventTest::OlderThan(length), .. }
            | Condition::Activity { test: EventTest::OlderThan(length), .. } => {
                Self::until(now.minus(*length).plus(SLACK))
            }
            Condition::Email(_)
            | Condition::Subscribed(_)
            | Condition::Time { .. }
            | Condition::Data { .. }
            | Condition::Context { .. }
            | Condition::Event { .. }
            | Condition::Activity { .. }
            | Condition::Segment { .. } => Self::ALL,
        }
    }

    fn of_creation(test: TimeTest, now: Timestamp) -> Self {
        match test {
            TimeTest::OnDay(day) => Self { from: day, until: day.plus(Duration::from_hours(24)) },
            TimeTest::NotOnDay(_) => Self::ALL,
            TimeTest::Compare(Comparison::Greater | Comparison::GreaterOrEqual, instant) => {
                Self::since(instant)
            }
            TimeTest::Compare(Comparison::Less | Comparison::LessOrEqual, instant) => {
                Self::until(instant.plus(INSTANT))
            }
            TimeTest::Within(length) => Self::since(now.minus(length)),
            TimeTest::OlderThan(length) => Self::until(now.minus(length)),
        }
    }

    fn since(from: Timestamp) -> Self {
        Self { from, ..Self::ALL }
    }

    fn until(until: Timestamp) -> Self {
        Self { until, ..Self::ALL }
    }

    fn and(self, other: Self) -> Self {
        Self { from: self.from.max(other.from), until: self.until.min(other.until) }
    }

    fn or(self, other: Self) -> Self {
        Self { from: self.from.min(other.from), until: self.until.max(other.until) }
    }

    /// No contact of the range has a smaller id; `None` if the range has no beginning.
    pub(super) fn first(self) -> Option<ContactId> {
        let from = self.from.min(OVER.minus(INSTANT));
        (from > Self::ALL.from).then(|| ContactId::first_of(from))
    }

    /// All contacts of the range have smaller ids; `None` if the range has no end.
    pub(super) fn end(self) -> Option<ContactId> {
        (self.until < OVER).then(|| ContactId::first_of(self.until))
    }
}

#[cfg(test)]
mod tests {
    use mailwright_core::filter::Filter;
    use serde_json::{Value, json};

    use super::*;

    const NOW: Timestamp = Timestamp(1_741_608_000_000);

    fn days_ago(days: u64) -> Timestamp {
        NOW.minus(Duration::from_hours(24 * days))
    }

    fn days(field: &str, operator: &str, value: u64) -> Value {
        json!({ "field": field, "operator": operator, "value": value, "unit": "days" })
    }

    fn created_range(condition: &Value) -> CreatedRange {
        CreatedRange::of(&Filter::parse(condition).unwrap(), NOW)
    }

    fn both(logic: &str, first: &Value, second: &Value) -> Value {
        json!({ "logic": logic, "groups": [{ "filters": [first] }, { "filters": [second] }] })
    }

    #[test]
    fn what_is_long_past_was_not_done_by_who_came_later() {
        let long_past = days("event.signup", "triggeredOlderThan", 60);
        let opened = days("email.opened", "triggeredOlderThan", 90);
        let end = |days| CreatedRange::until(days_ago(days).plus(SLACK));
        assert_eq!(created_range(&both("AND", &long_past, &opened)), end(90));
        assert_eq!(created_range(&both("OR", &long_past, &opened)), end(60));
        let recent = days("event.signup", "triggeredWithin", 60);
        assert_eq!(created_range(&both("AND", &recent, &long_past)), end(60));
        assert_eq!(created_range(&both("OR", &recent, &long_past)), CreatedRange::ALL);
    }

    #[test]
    fn a_creation_is_in_the_id() {
        let (within, before) = (days("createdAt", "within", 7), days("createdAt", "olderThan", 3));
        let created_range = created_range(&both("AND", &within, &before));
        assert_eq!(created_range, CreatedRange { from: days_ago(7), until: days_ago(3) });
        assert_eq!(created_range.first(), Some(ContactId::first_of(days_ago(7))));
        assert_eq!(created_range.end(), Some(ContactId::first_of(days_ago(3))));
    }

    #[test]
    fn an_instant_that_is_included_is_in_the_era() {
        let created_range = |operator| {
            created_range(&json!({ "logic": "AND", "groups": [{ "filters": [
                { "field": "createdAt", "operator": operator, "value": NOW.0 },
            ] }] }))
        };
        let then = ContactId::new(NOW, rand::random());
        assert!(created_range("lessThanOrEqual").end().unwrap() > then);
        assert!(created_range("greaterThanOrEqual").first().unwrap() <= then);
    }

    #[test]
    fn bounds_that_no_id_can_have_bound_as_they_should() {
        assert_eq!(CreatedRange::until(Timestamp(i64::MAX - 1)).end(), None);
        assert_eq!(CreatedRange::ALL.first(), None);
        let never = CreatedRange::since(Timestamp(i64::MAX)).first().unwrap();
        assert!(never > ContactId::new(NOW, rand::random()));
        assert!(
            CreatedRange::until(Timestamp(-1)).end().unwrap() < ContactId::new(Timestamp(0), rand::random())
        );
    }
}
