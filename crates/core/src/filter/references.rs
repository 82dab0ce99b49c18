//! What a filter names: fields, events, activities and segments.

use std::collections::BTreeSet;

use super::tree::{Condition, Filter};
use crate::event::Activity;
use crate::ids::SegmentId;

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

impl Filter {
    /// What the filter names, nested trees included.
    pub fn references(&self) -> References {
        let mut references = References::default();
        self.each(&mut |condition| condition.note(&mut references));
        references
    }
}

impl Condition {
    fn note(&self, references: &mut References) {
        match self {
            Self::Email(_) => drop(references.fields.insert("email".to_owned())),
            Self::Subscribed(_) => drop(references.fields.insert("subscribed".to_owned())),
            Self::Time { field, .. } => drop(references.fields.insert(field.as_str().to_owned())),
            Self::Data { path, .. } => drop(references.fields.insert(format!("data.{}", path.as_str()))),
            Self::Context { .. } => {}
            Self::Event { name, .. } => drop(references.events.insert(name.clone())),
            Self::Activity { kind, .. } => drop(references.activities.insert(*kind)),
            Self::Segment { id, .. } => drop(references.segments.insert(*id)),
        }
    }
}
