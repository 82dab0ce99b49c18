//! Judges all contacts by a filter.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::bits::Bits;
use super::cells::Cells;
use super::scan::NumberTest;
use super::{Aspect, Column, Columns, NEVER};
use crate::filter::date::Moment;
use crate::filter::evaluate::Scalar;
use crate::filter::tree::{
    Comparison, Condition, DataTest, Filter, Group, Logic, Operand, Ordered, TextTest, TimeField,
};
use crate::ids::SegmentId;
use crate::time::Timestamp;

impl Columns {
    /// The rows of the contacts for whom a filter holds at an instant. `segments` are the filters of the segments whose
    /// members are stored nowhere. `None` when a column is missing.
    pub fn find(
        &self,
        tree: &Filter,
        segments: &BTreeMap<SegmentId, Arc<Filter>>,
        now: Timestamp,
    ) -> Option<Bits> {
        Judge { columns: self, segments, now, known: BTreeMap::new() }.filter(tree, &self.present)
    }

    /// The rows of the stored members of a segment. `None` when the column is missing.
    pub fn members(&self, segment: SegmentId) -> Option<&Bits> {
        self.flags(&Aspect::Segment(segment))
    }

    fn cells(&self, aspect: &Aspect) -> Option<&Cells> {
        if let Column::Cells(cells) = self.by_aspect.get(aspect)? { Some(cells) } else { None }
    }

    fn flags(&self, aspect: &Aspect) -> Option<&Bits> {
        if let Column::Flags(flags) = self.by_aspect.get(aspect)? { Some(flags) } else { None }
    }

    /// Those of some rows whose time in a column passes a test.
    fn times(
        &self,
        within: &Bits,
        aspect: &Aspect,
        test: impl Fn(Option<Timestamp>) -> bool,
    ) -> Option<Bits> {
        let Column::Times(times) = self.by_aspect.get(aspect)? else { return None };
        let time = |millis: i64| (millis != NEVER).then_some(Timestamp(millis));
        Some(within.retain_of(times, |millis| test(time(millis))))
    }
}

struct Judge<'c> {
    columns: &'c Columns,
    segments: &'c BTreeMap<SegmentId, Arc<Filter>>,
    now: Timestamp,
    /// The contacts of the segments that were judged.
    known: BTreeMap<SegmentId, Bits>,
}

impl Judge<'_> {
    /// Those of some rows that the filter finds. A condition is asked only about the rows that are still open.
    fn filter(&mut self, tree: &Filter, within: &Bits) -> Option<Bits> {
        let mut open = within.clone();
        for group in &tree.groups {
            let found = self.group(group, &open)?;
            open = match tree.logic {
                Logic::And => found,
                Logic::Or => open.and_not(&found),
            };
        }
        Some(match tree.logic {
            Logic::And => open,
            Logic::Or => within.and_not(&open),
        })
    }

    fn group(&mut self, group: &Group, within: &Bits) -> Option<Bits> {
        let mut open = within.clone();
        for condition in &group.conditions {
            open = self.condition(condition, &open)?;
        }
        match &group.nested {
            Some(tree) => self.filter(tree, &open),
            None => Some(open),
        }
    }

    fn condition(&mut self, condition: &Condition, within: &Bits) -> Option<Bits> {
        let (columns, now) = (self.columns, self.now);
        match condition {
            Condition::Email(test) => Some(email(columns.cells(&Aspect::Email)?, test, within)),
            Condition::Subscribed(wanted) => {
                Some(chosen(within, columns.flags(&Aspect::Subscribed)?, *wanted))
            }
            Condition::Time { field: TimeField::CreatedAt, test } => {
                Some(within.retain(|row| test.matches(columns.ids[row].instant(), now)))
            }
            Condition::Time { field: TimeField::UpdatedAt, test } => {
                columns.times(within, &Aspect::UpdatedAt, |time| {
                    time.is_some_and(|time| test.matches(time, now))
                })
            }
            Condition::Data { path, test } => {
                Some(data(columns.cells(&Aspect::Data(path.clone()))?, test, within, now))
            }
            Condition::Context { test, .. } if test.matches(Scalar::Missing, now) => Some(within.clone()),
            Condition::Context { .. } => Some(within.retain(|_| false)),
            Condition::Event { name, test } => {
                columns.times(within, &Aspect::Event(name.clone()), |last| test.matches(last, now))
            }
            Condition::Activity { kind, test } => {
                columns.times(within, &Aspect::Activity(*kind), |last| test.matches(last, now))
            }
            Condition::Segment { id, member } => self.segment(*id, *member, within),
        }
    }

    fn segment(&mut self, id: SegmentId, member: bool, within: &Bits) -> Option<Bits> {
        let Some(tree) = self.segments.get(&id) else {
            return Some(chosen(within, self.columns.flags(&Aspect::Segment(id))?, member));
        };
        if !self.known.contains_key(&id) {
            // segments that refer to each other in a circle are refused; here such a reference is false
            self.known.insert(id, Bits::none(self.columns.ids.len()));
            let members = self.filter(tree, &self.columns.present)?;
            self.known.insert(id, members);
        }
        Some(chosen(within, &self.known[&id], member))
    }
}

/// Those of some rows that are set, or those that are not.
fn chosen(within: &Bits, set: &Bits, wanted: bool) -> Bits {
    if wanted { within.and(set) } else { within.and_not(set) }
}

fn email(cells: &Cells, test: &TextTest, within: &Bits) -> Bits {
    let holds = |value: Scalar<'_>| matches!(value, Scalar::Text(address) if test.matches(address));
    cells.retain(within, NumberTest::All(false), holds)
}

fn data(cells: &Cells, test: &DataTest, within: &Bits, now: Timestamp) -> Bits {
    let test = &at(test, now);
    let holds = |value: Scalar<'_>| test.matches(value, now);
    let of_numbers = match test {
        DataTest::Equals(Operand::Ordered(Ordered::Number(wanted))) => NumberTest::Equal(*wanted),
        DataTest::NotEquals(Operand::Ordered(Ordered::Number(unwanted))) => NumberTest::NotEqual(*unwanted),
        DataTest::Compare(comparison, Ordered::Number(other)) => NumberTest::Compare(*comparison, *other),
        // what is not about numbers says the same of all
        _ => NumberTest::All(test.matches(Scalar::Number(0.0), now)),
    };
    cells.retain(within, of_numbers, holds)
}

/// The test at an instant, so that the instant is made a date only once.
fn at(test: &DataTest, now: Timestamp) -> DataTest {
    let compare =
        |comparison, length| DataTest::Compare(comparison, Ordered::Date(Moment::of(now.minus(length))));
    match test {
        DataTest::Within(length) => compare(Comparison::GreaterOrEqual, *length),
        DataTest::OlderThan(length) => compare(Comparison::Less, *length),
        other => other.clone(),
    }
}
