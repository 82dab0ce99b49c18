//! Makes SQL of a filter.

use std::time::Duration;

use mailwright_core::filter::{
    Activity, Condition, EventTest, Filter, Group, Logic, TextTest, TimeField, TimeTest,
};
use mailwright_core::ids::{EventId, SegmentId};
use mailwright_core::time::Timestamp;

use super::driving_event::DrivingEvent;
use super::values::{Values, sign};
use super::{EventCounts, MAX_COMPILED, Segments, custom_data};
use crate::database::error::{Error, Result};
use crate::database::value::Arg;

const DAY: Duration = Duration::from_hours(24);
/// Conditions on other tables that PostgreSQL may join. For a hundred and more joins on one id it plans for minutes.
const MOST_JOINED: usize = 8;

/// A boolean SQL condition on `contacts c` of one project, never null; values are appended to `args`.
///
/// `$1` of the statement is the project's number. `segments` holds what the tree names and what the filters in it name
/// in turn, `counts` the events. Fails when segments refer to each other in a circle, or when they make the condition
/// longer than [`MAX_COMPILED`].
pub fn condition(
    tree: &Filter,
    segments: &Segments,
    counts: &EventCounts,
    now: Timestamp,
    postgres: bool,
    args: &mut Vec<Arg<'static>>,
) -> Result<String> {
    compile(tree, segments, counts, None, now, &mut Values::new(args, postgres))
}

/// The same for contacts that are known to have `driving_event`.
pub(super) fn compile(
    tree: &Filter,
    segments: &Segments,
    counts: &EventCounts,
    driving_event: Option<DrivingEvent<'_>>,
    now: Timestamp,
    values: &mut Values<'_>,
) -> Result<String> {
    Compiler { segments, counts, driving_event, now, values, within: Vec::new(), conditions: 0, elsewhere: 0 }
        .tree(tree)
}

struct Compiler<'c, 'a> {
    segments: &'c Segments,
    counts: &'c EventCounts,
    driving_event: Option<DrivingEvent<'c>>,
    now: Timestamp,
    values: &'c mut Values<'a>,
    /// The segments whose filters are being compiled, the outermost first.
    within: Vec<SegmentId>,
    conditions: usize,
    /// Conditions on other tables so far.
    elsewhere: usize,
}

impl Compiler<'_, '_> {
    fn tree(&mut self, tree: &Filter) -> Result<String> {
        let groups = tree.groups.iter().map(|group| self.group(group)).collect::<Result<Vec<_>>>()?;
        Ok(match tree.logic {
            Logic::And => join(&groups, "and", "true"),
            Logic::Or => join(&groups, "or", "false"),
        })
    }

    fn group(&mut self, group: &Group) -> Result<String> {
        let mut conditions: Vec<_> = group.conditions.iter().collect();
        conditions.sort_by_key(|condition| cost(condition));
        let mut parts = Vec::new();
        for condition in conditions {
            self.conditions += 1;
            if self.conditions > MAX_COMPILED {
                return Err(Error::TooManyConditions);
            }
            parts.push(self.condition(condition)?);
        }
        if let Some(nested) = &group.nested {
            parts.push(self.tree(nested)?);
        }
        Ok(join(&parts, "and", "true"))
    }

    fn condition(&mut self, condition: &Condition) -> Result<String> {
        Ok(match condition {
            Condition::Email(test) => self.email(test),
            Condition::Subscribed(wanted) => format!("c.subscribed = {}", self.values.bind(*wanted)),
            Condition::Time { field, test } => self.time(*field, *test),
            Condition::Data { path, test } => custom_data::condition(path, test, self.now, self.values),
            // audiences have no event that is being handled
            Condition::Context { .. } => "false".to_owned(),
            Condition::Event { name, test } => {
                let found = self.event(name, *test);
                self.apart(found)
            }
            Condition::Activity { kind, test } => {
                let found = self.activity(*kind, *test);
                self.apart(found)
            }
            Condition::Segment { id, member } => {
                let found = self.segment(*id, *member)?;
                self.apart(found)
            }
        })
    }

    /// A condition on another table, so written that PostgreSQL does not join when there are many of them: it looks up,
    /// or collects once, instead.
    fn apart(&mut self, condition: String) -> String {
        self.elsewhere += 1;
        if self.values.postgres && self.elsewhere > MOST_JOINED {
            return format!("(({condition}) is true)");
        }
        condition
    }

    fn email(&mut self, test: &TextTest) -> String {
        let mut bind = |value: &String| self.values.bind(value.clone());
        match test {
            TextTest::Equals(whole) => format!("c.email = {}", bind(whole)),
            TextTest::NotEquals(whole) => format!("c.email <> {}", bind(whole)),
            TextTest::Contains(part) => format!("{{contains c.email {}}}", bind(part)),
            TextTest::NotContains(part) => format!("not ({{contains c.email {}}})", bind(part)),
        }
    }

    fn time(&mut self, field: TimeField, test: TimeTest) -> String {
        let column = match field {
            TimeField::CreatedAt => "c.created_at",
            TimeField::UpdatedAt => "c.updated_at",
        };
        let now = self.now;
        let mut bind = |instant: Timestamp| self.values.bind(instant);
        match test {
            TimeTest::OnDay(day) => {
                format!("({column} >= {} and {column} < {})", bind(day), bind(day.plus(DAY)))
            }
            TimeTest::NotOnDay(day) => {
                format!("({column} < {} or {column} >= {})", bind(day), bind(day.plus(DAY)))
            }
            TimeTest::Compare(comparison, instant) => {
                format!("{column} {} {}", sign(comparison), bind(instant))
            }
            TimeTest::Within(length) => format!("{column} >= {}", bind(now.minus(length))),
            TimeTest::OlderThan(length) => format!("{column} < {}", bind(now.minus(length))),
        }
    }

    fn event(&mut self, name: &str, test: EventTest) -> String {
        if self.driving_event.is_some_and(|driving_event| driving_event.implies(name, test)) {
            return "true".to_owned();
        }
        let now = self.now;
        if let EventTest::OlderThan(length) = test
            && !self.counts.are_few(name, None)
        {
            return self.has_event_only_before(name, EventId::first_of(now.minus(length)));
        }
        let mut ever = |within: Option<Duration>| {
            self.has_event(name, within.map(|length| EventId::first_of(now.minus(length))))
        };
        times(test, &mut ever)
    }

    /// That the contact has an event of a name, one since `since` if that is given.
    fn has_event(&mut self, name: &str, since: Option<EventId>) -> String {
        let few = self.counts.are_few(name, since);
        // as a join, PostgreSQL would look the events of contact after contact up; so it collects them first
        let first = if self.values.postgres && self.counts.fill_a_page(name) { " is true" } else { "" };
        let name = self.values.bind(name.to_owned());
        let since = since.map(|id| format!(" and e.id >= {}", self.values.bind(id))).unwrap_or_default();
        if few {
            format!(
                "(c.id in (select e.contact_id from events e where e.project_id = $1 and e.name = {name}{since} \
                 and e.contact_id is not null)){first}"
            )
        } else {
            format!(
                "exists (select 1 from events e where e.project_id = $1 and e.contact_id = c.id \
                 and e.name = {name}{since})"
            )
        }
    }

    /// That the contact has an event of a name, and none since `since`. SQLite looks once, at the newest one.
    /// PostgreSQL can join, where it may scan; for a page it looks most contacts up in vain and but once.
    fn has_event_only_before(&mut self, name: &str, since: EventId) -> String {
        let (name, since) = (self.values.bind(name.to_owned()), self.values.bind(since));
        let events =
            format!("from events e where e.project_id = $1 and e.contact_id = c.id and e.name = {name}");
        if self.values.postgres {
            format!(
                "(exists (select 1 {events} and e.id < {since}) and not exists (select 1 {events} and e.id >= {since}))"
            )
        } else {
            format!("coalesce((select e.id {events} order by e.id desc limit 1) < {since}, false)")
        }
    }

    fn activity(&mut self, kind: Activity, test: EventTest) -> String {
        let column = match kind {
            Activity::Sent => "sent_at",
            Activity::Delivered => "delivered_at",
            Activity::Opened => "opened_at",
            Activity::Clicked => "clicked_at",
            Activity::Bounced => "bounced_at",
            Activity::Complained => "complained_at",
        };
        let now = self.now;
        let mut ever = |within: Option<Duration>| {
            let since = match within {
                Some(length) => format!("m.{column} >= {}", self.values.bind(now.minus(length))),
                None => format!("m.{column} is not null"),
            };
            format!(
                "exists (select 1 from emails m where m.project_id = $1 and m.contact_id = c.id and {since})"
            )
        };
        times(test, &mut ever)
    }

    fn segment(&mut self, id: SegmentId, member: bool) -> Result<String> {
        let not = if member { "" } else { "not " };
        if self.segments.stored.contains(&id) {
            let id = self.values.bind(id);
            return Ok(format!(
                "{not}exists (select 1 from segment_members s where s.project_id = $1 and s.segment_id = {id} \
                 and s.contact_id = c.id and s.exited_at is null)"
            ));
        }
        let Some(tree) = self.segments.trees.get(&id) else {
            return Ok(format!("{not}false"));
        };
        if self.within.contains(&id) {
            let text = format!("segment {id} refers to itself through the segments it names");
            return Err(Error::Statement(text.into()));
        }
        self.within.push(id);
        let condition = self.tree(tree)?;
        self.within.pop();
        Ok(format!("{not}({condition})"))
    }
}

/// What a test of times says, given what it is that something happened ever, or within a time.
fn times(test: EventTest, ever: &mut impl FnMut(Option<Duration>) -> String) -> String {
    match test {
        EventTest::Triggered => ever(None),
        EventTest::NotTriggered => format!("not ({})", ever(None)),
        EventTest::Within(length) => ever(Some(length)),
        EventTest::OlderThan(length) => format!("({} and not ({}))", ever(None), ever(Some(length))),
        EventTest::NotWithin(length) => format!("not ({})", ever(Some(length))),
    }
}

/// What is to be judged first: columns, then custom data, then other tables.
fn cost(condition: &Condition) -> u8 {
    match condition {
        Condition::Email(_)
        | Condition::Subscribed(_)
        | Condition::Time { .. }
        | Condition::Context { .. } => 0,
        Condition::Data { .. } => 1,
        Condition::Event { .. } | Condition::Activity { .. } | Condition::Segment { .. } => 2,
    }
}

/// Joins conditions, as a balanced tree: SQLite bounds how deep an expression is.
fn join(parts: &[String], word: &str, none: &str) -> String {
    match parts {
        [] => none.to_owned(),
        [one] => one.clone(),
        parts => {
            let (left, right) = parts.split_at(parts.len().div_ceil(2));
            format!("({} {word} {})", join(left, word, none), join(right, word, none))
        }
    }
}
