//! The event that drives a page, as a planner's driving table does: few contacts have it, and the filter requires it.
//! SQLite's planner starts from such an event by itself; PostgreSQL needs the query in this form.

use mailwright_core::filter::{Condition, EventTest, Filter, Group, Logic};
use mailwright_core::ids::EventId;
use mailwright_core::time::Timestamp;

use super::EventCounts;
use super::values::Values;

/// Events of a name, at most as many as are best collected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct DrivingEvent<'t> {
    name: &'t str,
    test: EventTest,
    since: Option<EventId>,
}

impl<'t> DrivingEvent<'t> {
    /// The first one among the conditions that must all hold.
    pub(super) fn of(tree: &'t Filter, counts: &EventCounts, now: Timestamp) -> Option<Self> {
        let all_hold = tree.logic == Logic::And || tree.groups.len() == 1;
        let mut groups = tree.groups.iter().filter(|_| all_hold);
        groups.find_map(|group| Self::of_group(group, counts, now))
    }

    fn of_group(group: &'t Group, counts: &EventCounts, now: Timestamp) -> Option<Self> {
        let mut conditions = group.conditions.iter();
        let found = conditions.find_map(|condition| Self::of_condition(condition, counts, now));
        found.or_else(|| Self::of(group.nested.as_ref()?, counts, now))
    }

    fn of_condition(condition: &'t Condition, counts: &EventCounts, now: Timestamp) -> Option<Self> {
        let Condition::Event { name, test } = condition else { return None };
        let since = match test {
            EventTest::Triggered | EventTest::OlderThan(_) => None,
            EventTest::Within(length) => Some(EventId::first_of(now.minus(*length))),
            EventTest::NotTriggered | EventTest::NotWithin(_) => return None,
        };
        counts.are_few(name, since).then_some(Self { name, test: *test, since })
    }

    /// Whether a condition says no more than that a contact has one of the events.
    pub(super) fn implies(&self, name: &str, test: EventTest) -> bool {
        self.name == name && self.test == test && !matches!(test, EventTest::OlderThan(_))
    }

    /// A query for the ids of the contacts that have one of the events, the newest first. `within` narrows it down.
    pub(super) fn contacts(&self, within: &str, values: &mut Values<'_>) -> String {
        let name = values.bind(self.name.to_owned());
        let since = self.since.map(|id| format!(" and e.id >= {}", values.bind(id))).unwrap_or_default();
        format!(
            "select distinct e.contact_id as id from events e where e.project_id = $1 and e.name = {name}{since} \
             and e.contact_id is not null{within} order by 1 desc"
        )
    }
}
