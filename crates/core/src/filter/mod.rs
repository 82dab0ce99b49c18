//! Filters: conditions on contacts, of segments and of audiences (contract, Filter tree).
//!
//! A [`Filter`] is parsed and checked once ([`Filter::parse`]). It is then judged in two places that must agree: here,
//! for one contact whose [`Facts`] are in memory ([`Filter::matches`]), and in the database, for which
//! `store::audience::filter` makes SQL. Both follow these rules:
//!
//! - A condition on a key that is missing or null is false, also a negative one; only `notExists` is true then.
//! - Types are strict: a number never equals a text. Numbers are compared as double-precision floats, so 1 equals 1.0;
//!   texts are compared byte by byte.
//! - A text is a date when it has one of the forms of [`date`], and dates are compared in the canonical form there.
//! - `data.a.b` is the key `a.b` if the contact has one, even if it is null, and otherwise the key `b` in the object
//!   `a`. Conditions never look into lists.
//! - The time of an event is the time in its id.

pub mod date;
mod evaluate;
mod parse;
#[cfg(test)]
mod tests;
mod window;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::contact::Contact;
use crate::ids::SegmentId;
use crate::time::Timestamp;
use date::Moment;

pub use parse::{MAX_CONDITIONS, MAX_DEPTH, MAX_TEXT, operator_names};

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

/// A time that every contact has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimeField {
    /// When the contact was created.
    CreatedAt,
    /// When it last changed.
    UpdatedAt,
}

impl TimeField {
    /// The name in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CreatedAt => "createdAt",
            Self::UpdatedAt => "updatedAt",
        }
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

    /// Whether there is more than one way to read the path.
    pub fn is_dotted(&self) -> bool {
        self.0.contains('.')
    }
}

/// What may become of a mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Activity {
    /// The next hop took it.
    Sent,
    /// The recipient's host took it.
    Delivered,
    /// It was opened.
    Opened,
    /// A link in it was followed.
    Clicked,
    /// It was refused for good.
    Bounced,
    /// The recipient called it spam.
    Complained,
}

impl Activity {
    /// Every activity.
    pub const ALL: [Self; 6] =
        [Self::Sent, Self::Delivered, Self::Opened, Self::Clicked, Self::Bounced, Self::Complained];

    /// The name after `email.` in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Delivered => "delivered",
            Self::Opened => "opened",
            Self::Clicked => "clicked",
            Self::Bounced => "bounced",
            Self::Complained => "complained",
        }
    }

    /// The activity whose name is `text`.
    pub fn from_name(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|activity| activity.as_str() == text)
    }
}

/// What a filter names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct References {
    /// Fields of contacts as in the API: `email`, `data.plan`.
    pub fields: BTreeSet<String>,
    /// Names of events.
    pub events: BTreeSet<String>,
    /// Activities of mails.
    pub activities: BTreeSet<Activity>,
    /// Segments.
    pub segments: BTreeSet<SegmentId>,
}

impl References {
    /// Adds what another filter names.
    pub fn extend(&mut self, other: Self) {
        self.fields.extend(other.fields);
        self.events.extend(other.events);
        self.activities.extend(other.activities);
        self.segments.extend(other.segments);
    }
}

/// What is known of one contact.
pub trait Facts {
    /// The contact.
    fn contact(&self) -> &Contact;
    /// When its newest event of a name happened.
    fn last_event(&self, name: &str) -> Option<Timestamp>;
    /// When an activity was last seen on one of its mails.
    fn last_activity(&self, activity: Activity) -> Option<Timestamp>;
    /// Whether it is in a segment.
    fn is_member(&self, segment: SegmentId) -> bool;
}

/// A contact's facts, with untracked segments evaluated on first use and cached.
#[derive(Debug)]
pub struct Resolved<'a, F> {
    facts: &'a F,
    trees: &'a BTreeMap<SegmentId, Arc<Filter>>,
    now: Timestamp,
    known: RefCell<BTreeMap<SegmentId, bool>>,
}

impl<'a, F: Facts> Resolved<'a, F> {
    /// `trees` are the filters of the segments whose members are stored nowhere; `facts` answers for all others.
    pub fn new(facts: &'a F, trees: &'a BTreeMap<SegmentId, Arc<Filter>>, now: Timestamp) -> Self {
        Self { facts, trees, now, known: RefCell::default() }
    }
}

impl<F: Facts> Facts for Resolved<'_, F> {
    fn contact(&self) -> &Contact {
        self.facts.contact()
    }

    fn last_event(&self, name: &str) -> Option<Timestamp> {
        self.facts.last_event(name)
    }

    fn last_activity(&self, activity: Activity) -> Option<Timestamp> {
        self.facts.last_activity(activity)
    }

    /// Segments that refer to each other in a circle are refused when they are saved; here such a reference is false.
    fn is_member(&self, segment: SegmentId) -> bool {
        let Some(tree) = self.trees.get(&segment) else { return self.facts.is_member(segment) };
        if let Some(known) = self.known.borrow().get(&segment) {
            return *known;
        }
        self.known.borrow_mut().insert(segment, false);
        let member = tree.matches(self, self.now);
        self.known.borrow_mut().insert(segment, member);
        member
    }
}

/// A condition whose truth changes as time passes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Window {
    /// Whose time it looks at.
    pub source: WindowSource,
    /// How long: what happened at `v` changes sides right after `v + length`.
    pub length: Duration,
}

/// What a window looks at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum WindowSource {
    /// The contact's creation.
    CreatedAt,
    /// The contact's last change.
    UpdatedAt,
    /// A date among the custom data.
    Data(DataPath),
    /// The newest event of a name.
    Event(String),
    /// The newest activity of a kind.
    Activity(Activity),
}

impl Filter {
    /// What the filter names, nested trees included.
    pub fn references(&self) -> References {
        let mut references = References::default();
        self.each(&mut |condition| condition.note(&mut references));
        references
    }

    /// The windows of the filter, each once, nested trees included.
    pub fn windows(&self) -> Vec<Window> {
        let mut windows = BTreeSet::new();
        self.each(&mut |condition| windows.extend(condition.window()));
        windows.into_iter().collect()
    }

    fn each<'t>(&'t self, visit: &mut impl FnMut(&'t Condition)) {
        for group in &self.groups {
            group.conditions.iter().for_each(&mut *visit);
            if let Some(nested) = &group.nested {
                nested.each(visit);
            }
        }
    }
}

impl Condition {
    fn note(&self, references: &mut References) {
        match self {
            Self::Email(_) => drop(references.fields.insert("email".to_owned())),
            Self::Subscribed(_) => drop(references.fields.insert("subscribed".to_owned())),
            Self::Time { field, .. } => drop(references.fields.insert(field.as_str().to_owned())),
            Self::Data { path, .. } => drop(references.fields.insert(format!("data.{}", path.as_str()))),
            Self::Event { name, .. } => drop(references.events.insert(name.clone())),
            Self::Activity { kind, .. } => drop(references.activities.insert(*kind)),
            Self::Segment { id, .. } => drop(references.segments.insert(*id)),
        }
    }

    fn window(&self) -> Option<Window> {
        let (source, length) = match self {
            Self::Time { field, test: TimeTest::Within(length) | TimeTest::OlderThan(length) } => {
                let source = match field {
                    TimeField::CreatedAt => WindowSource::CreatedAt,
                    TimeField::UpdatedAt => WindowSource::UpdatedAt,
                };
                (source, *length)
            }
            Self::Data { path, test: DataTest::Within(length) | DataTest::OlderThan(length) } => {
                (WindowSource::Data(path.clone()), *length)
            }
            Self::Event { name, test } => (WindowSource::Event(name.clone()), test.length()?),
            Self::Activity { kind, test } => (WindowSource::Activity(*kind), test.length()?),
            Self::Email(_)
            | Self::Subscribed(_)
            | Self::Time { .. }
            | Self::Data { .. }
            | Self::Segment { .. } => return None,
        };
        Some(Window { source, length })
    }
}

impl EventTest {
    fn length(self) -> Option<Duration> {
        match self {
            Self::Triggered | Self::NotTriggered => None,
            Self::Within(length) | Self::OlderThan(length) | Self::NotWithin(length) => Some(length),
        }
    }
}
