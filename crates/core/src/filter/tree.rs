//! The tree of a filter: groups of conditions, and what each condition tests.

use std::cmp::Ordering;
use std::time::Duration;

use super::date::Moment;
use crate::custom_data::MAX_KEY;
use crate::event::Activity;
use crate::ids::SegmentId;
use crate::names;
use crate::time::Timestamp;

/// A filter.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    /// How the groups are combined.
    pub logic: Logic,
    /// One at least.
    pub groups: Vec<Group>,
}

/// How the groups of a tree are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Logic {
    /// All must hold.
    And,
    /// One must hold.
    Or,
}

/// Conditions that must all hold, with the nested tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// The conditions of the group itself.
    pub conditions: Vec<Condition>,
    /// A tree that must hold as well.
    pub nested: Option<Box<Filter>>,
}

/// One condition on a contact.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// On the address. The text is lower-case, as addresses are.
    Email(TextTest),
    /// Whether the subscription is in this state.
    Subscribed(bool),
    /// On a time that every contact has.
    Time {
        /// Which time.
        field: TimeField,
        /// What must hold of it.
        test: TimeTest,
    },
    /// On a custom field.
    Data {
        /// Where in the custom data.
        path: DataPath,
        /// What must hold of it.
        test: DataTest,
    },
    /// On the data of the event that is being handled, where there is one: no audience has such a condition.
    Context {
        /// Where in the data.
        path: DataPath,
        /// What must hold of it.
        test: DataTest,
    },
    /// On the events of a name.
    Event {
        /// The name.
        name: String,
        /// What must hold of them.
        test: EventTest,
    },
    /// On what became of the contact's mails.
    Activity {
        /// What became of them.
        kind: Activity,
        /// When.
        test: EventTest,
    },
    /// On a segment.
    Segment {
        /// Which segment.
        id: SegmentId,
        /// Whether the contact must be in it, or must not.
        member: bool,
    },
}

/// A test of a text that is always there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextTest {
    /// Is this.
    Equals(String),
    /// Is something else.
    NotEquals(String),
    /// Has this in it.
    Contains(String),
    /// Does not have this in it.
    NotContains(String),
}

names! {
    /// A time that every contact has.
    #[derive(PartialOrd, Ord)]
    pub enum TimeField {
        /// When the contact was created.
        CreatedAt = "createdAt",
        /// When it last changed.
        UpdatedAt = "updatedAt",
    }
}

/// A test of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeTest {
    /// Lies in the 24 hours from this midnight, UTC.
    OnDay(Timestamp),
    /// Lies outside of them.
    NotOnDay(Timestamp),
    /// Stands so to an instant.
    Compare(Comparison, Timestamp),
    /// Lies not longer ago than this, or in the future.
    Within(Duration),
    /// Lies longer ago than this.
    OlderThan(Duration),
}

/// How a value stands to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
}

impl Comparison {
    /// Whether `left` stands so to `right`; false when they cannot be compared.
    pub fn holds<T: PartialOrd + ?Sized>(self, left: &T, right: &T) -> bool {
        match self {
            Self::Greater => left > right,
            Self::GreaterOrEqual => left >= right,
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
        }
    }

    /// Whether this says that values stand in an order to each other.
    pub(super) fn is(self, order: Ordering) -> bool {
        match self {
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
        }
    }
}

/// A test of a custom field.
#[derive(Debug, Clone, PartialEq)]
pub enum DataTest {
    /// Has the type and the value of the operand; a date is of the operand's day.
    Equals(Operand),
    /// Is there and is not equal to the operand.
    NotEquals(Operand),
    /// Is a text that has this in it.
    Contains(String),
    /// Is a text that does not have this in it.
    NotContains(String),
    /// Has the type of the operand and stands so to it.
    Compare(Comparison, Ordered),
    /// Is there and not null.
    Exists,
    /// Is missing or null.
    NotExists,
    /// Is a date not longer ago than this, or in the future.
    Within(Duration),
    /// Is a date longer ago than this.
    OlderThan(Duration),
}

/// What a custom field is compared with.
#[derive(Debug, Clone, PartialEq)]
pub enum Operand {
    /// True or false.
    Bool(bool),
    /// A value of a type that has an order.
    Ordered(Ordered),
}

/// A value of a type that has an order.
#[derive(Debug, Clone, PartialEq)]
pub enum Ordered {
    /// A finite number.
    Number(f64),
    /// A text that is no date.
    Text(String),
    /// A date.
    Date(Moment),
}

/// A test of the times at which something happened to a contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventTest {
    /// Ever.
    Triggered,
    /// Never.
    NotTriggered,
    /// Not longer ago than this.
    Within(Duration),
    /// Ever, but not within this.
    OlderThan(Duration),
    /// Not within this; perhaps never.
    NotWithin(Duration),
}

/// How deep a path into custom data can lead.
pub(crate) const MAX_PATH_KEYS: usize = 32;

/// A place in the custom data: `plan`, or `address.city`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DataPath(String);

impl DataPath {
    /// The path written so, without the prefix `data.`.
    pub fn new(dotted: impl Into<String>) -> Self {
        Self(dotted.into())
    }

    /// The path as it is written, which may be a key by itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The keys that lead to a nested value; one alone when the path has no dot.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.split('.')
    }

    /// Whether the path is longer, or leads deeper, than custom data can be.
    pub(crate) fn is_too_long(&self) -> bool {
        self.0.len() > MAX_KEY || self.keys().count() > MAX_PATH_KEYS
    }

    /// Whether there is more than one way to read the path.
    pub fn is_dotted(&self) -> bool {
        self.0.contains('.')
    }
}

impl Filter {
    /// Visits every condition, those of nested trees included.
    pub(super) fn each<'t>(&'t self, visit: &mut impl FnMut(&'t Condition)) {
        for group in &self.groups {
            group.conditions.iter().for_each(&mut *visit);
            if let Some(nested) = &group.nested {
                nested.each(visit);
            }
        }
    }
}
