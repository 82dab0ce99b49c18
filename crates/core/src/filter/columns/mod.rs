//! The contacts of a project as columns: what filters look at, for all contacts at once, in memory.
//!
//! A filter over columns finds the same contacts as [`Filter::matches`] does one by one, in about a millisecond for each
//! condition and million contacts. The rows are in the order of the contacts' ids. A contact that is gone leaves an
//! empty row, until enough are empty for all to be moved together.
//!
//! Nothing here knows where contacts come from, or whether they are still so: see `store::audience::columns`.

mod aspect;
mod bits;
mod cell;
mod cells;
mod judge;
mod scan;
mod stored;
mod texts;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::evaluate::Scalar;
use super::tree::{Condition, Filter, TimeField};
use crate::ids::{ContactId, SegmentId};
use crate::time::Timestamp;

pub use aspect::Aspect;
pub use bits::Bits;
use cells::Cells;
pub use stored::{Corrupt, StoredPart};

/// What a contact has in a column.
#[derive(Debug, Clone, Copy)]
pub enum Fact<'f> {
    /// A text.
    Text(&'f str),
    /// A value of custom data.
    Value(Option<&'f serde_json::Value>),
    /// A time, if there is one.
    Time(Option<Timestamp>),
    /// Whether something is true of it.
    Flag(bool),
}

/// A column.
#[derive(Debug)]
enum Column {
    Cells(Box<Cells>),
    /// Milliseconds; [`NEVER`] where there is none.
    Times(Vec<i64>),
    Flags(Bits),
}

/// Stands for no time.
const NEVER: i64 = i64::MIN;
/// From so many empty rows on, the others are moved together if there are as many of them at most.
const MOVED_FROM: usize = 10_000;

/// The contacts of a project as columns.
#[derive(Debug, Default)]
pub struct Columns {
    ids: Vec<ContactId>,
    /// The rows whose contact is not gone.
    present: Bits,
    by_aspect: BTreeMap<Aspect, Column>,
    /// Columns that were given up, and are not forgotten yet.
    given_up: BTreeSet<Aspect>,
}

impl Columns {
    /// No contacts, and no columns.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds columns, in which no contact has anything yet.
    pub fn add_columns(&mut self, aspects: &BTreeSet<Aspect>) {
        for aspect in aspects {
            self.by_aspect.entry(aspect.clone()).or_insert_with(|| Column::new(aspect, self.ids.len()));
        }
    }

    /// What the columns are about.
    pub fn aspects(&self) -> impl Iterator<Item = &Aspect> {
        self.by_aspect.keys()
    }

    /// Gives a column up: it cannot have a value, or nobody uses it.
    pub fn give_up(&mut self, aspect: &Aspect) {
        if self.by_aspect.remove(aspect).is_some() {
            self.given_up.insert(aspect.clone());
        }
    }

    /// The columns that were given up.
    pub fn given_up(&self) -> &BTreeSet<Aspect> {
        &self.given_up
    }

    /// Forgets that columns were given up.
    pub fn forget_given_up(&mut self, aspects: &BTreeSet<Aspect>) {
        self.given_up.retain(|aspect| !aspects.contains(aspect));
    }

    /// Adds a contact that has nothing in any column, unless it is there.
    pub fn add(&mut self, id: ContactId) {
        self.row(id);
    }

    /// Sets what a contact has in a column. One that is not there is left out.
    pub fn set(&mut self, id: ContactId, aspect: &Aspect, fact: Fact<'_>) {
        let Ok(row) = self.ids.binary_search(&id) else { return };
        if let (true, Some(column)) = (self.present.get(row), self.by_aspect.get_mut(aspect))
            && !column.set(row, fact)
        {
            self.give_up(aspect);
        }
    }

    /// Sets a time of a contact unless it has a later one. One that is not there is left out.
    pub fn raise(&mut self, id: ContactId, aspect: &Aspect, time: Timestamp) {
        let Ok(row) = self.ids.binary_search(&id) else { return };
        if let (true, Some(Column::Times(times))) = (self.present.get(row), self.by_aspect.get_mut(aspect)) {
            times[row] = times[row].max(time.0);
        }
    }

    /// Takes from a contact what is not told of everybody: times, which are raised anew, and memberships.
    pub fn forget_related(&mut self, id: ContactId) {
        let Ok(row) = self.ids.binary_search(&id) else { return };
        for (aspect, column) in &mut self.by_aspect {
            if matches!(aspect, Aspect::Segment(_)) || matches!(column, Column::Times(_)) {
                column.clear(row);
            }
        }
    }

    /// Removes a contact.
    pub fn remove(&mut self, id: ContactId) {
        let Ok(row) = self.ids.binary_search(&id) else { return };
        self.present.set(row, false);
        self.by_aspect.values_mut().for_each(|column| column.clear(row));
        let gone = self.ids.len() - self.present.count();
        if gone >= MOVED_FROM && gone * 2 > self.ids.len() {
            self.move_together();
        }
    }

    fn row(&mut self, id: ContactId) -> usize {
        let row = match self.ids.binary_search(&id) {
            Ok(row) => row,
            Err(row) => {
                self.ids.insert(row, id);
                self.present.insert(row);
                self.by_aspect.values_mut().for_each(|column| column.insert(row));
                row
            }
        };
        self.present.set(row, true);
        row
    }

    fn move_together(&mut self) {
        let rows: Vec<usize> = (0..self.ids.len()).filter(|row| self.present.get(*row)).collect();
        self.ids = rows.iter().map(|row| self.ids[*row]).collect();
        self.by_aspect.values_mut().for_each(|column| column.keep(&rows));
        self.present = self.present.kept(&rows);
    }

    /// The contacts of rows that were found, the newest first; those after `after`, if it is given.
    pub fn newest<'c>(
        &'c self,
        found: &'c Bits,
        after: Option<ContactId>,
    ) -> impl Iterator<Item = ContactId> + 'c {
        let end = after.map_or(self.ids.len(), |after| self.ids.partition_point(|id| *id < after));
        found.backwards(end).map(|row| self.ids[row])
    }

    /// Bytes of memory that more columns would take at least, with so many contacts.
    pub fn bytes_of(aspects: &BTreeSet<Aspect>, contacts: usize) -> usize {
        aspects.iter().map(|aspect| Column::least(aspect, contacts)).sum()
    }

    /// How many contacts there are, those that are gone included where they still take memory.
    pub fn rows(&self) -> usize {
        self.ids.len()
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        self.ids.capacity() * size_of::<ContactId>()
            + self.present.bytes()
            + self.by_aspect.values().map(Column::bytes).sum::<usize>()
    }
}

impl Column {
    fn new(aspect: &Aspect, rows: usize) -> Self {
        match aspect {
            Aspect::Email | Aspect::Data(_) => Self::Cells(Box::new(Cells::new(rows))),
            Aspect::UpdatedAt | Aspect::Event(_) | Aspect::Activity(_) => Self::Times(vec![NEVER; rows]),
            Aspect::Subscribed | Aspect::Segment(_) => Self::Flags(Bits::none(rows)),
        }
    }

    /// Returns whether there was room for it.
    fn set(&mut self, row: usize, fact: Fact<'_>) -> bool {
        match (self, fact) {
            (Self::Cells(cells), Fact::Text(text)) => cells.set(row, Scalar::Text(text)),
            (Self::Cells(cells), Fact::Value(value)) => cells.set(row, Scalar::of(value)),
            (Self::Times(times), Fact::Time(time)) => {
                times[row] = time.map_or(NEVER, |time| time.0);
                true
            }
            (Self::Flags(flags), Fact::Flag(flag)) => {
                flags.set(row, flag);
                true
            }
            _ => false,
        }
    }

    fn clear(&mut self, row: usize) {
        match self {
            Self::Cells(cells) => _ = cells.set(row, Scalar::Missing),
            Self::Times(times) => times[row] = NEVER,
            Self::Flags(flags) => flags.set(row, false),
        }
    }

    fn insert(&mut self, row: usize) {
        match self {
            Self::Cells(cells) => cells.insert(row),
            Self::Times(times) => times.insert(row, NEVER),
            Self::Flags(flags) => flags.insert(row),
        }
    }

    /// Keeps these rows, of which there are none twice; all others are clear.
    fn keep(&mut self, rows: &[usize]) {
        match self {
            Self::Cells(cells) => cells.keep(rows),
            Self::Times(times) => *times = rows.iter().map(|row| times[*row]).collect(),
            Self::Flags(flags) => *flags = flags.kept(rows),
        }
    }

    /// Bytes that a column takes without its texts.
    fn least(aspect: &Aspect, rows: usize) -> usize {
        match aspect {
            Aspect::Email | Aspect::Data(_) => rows * size_of::<u32>(),
            Aspect::UpdatedAt | Aspect::Event(_) | Aspect::Activity(_) => rows * size_of::<i64>(),
            Aspect::Subscribed | Aspect::Segment(_) => rows / 8,
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Cells(cells) => cells.bytes(),
            Self::Times(times) => times.capacity() * size_of::<i64>(),
            Self::Flags(flags) => flags.bytes(),
        }
    }
}

impl Filter {
    /// The columns that the filter is judged by, those of the filters of segments included.
    pub fn aspects(&self, segments: &BTreeMap<SegmentId, Arc<Self>>) -> BTreeSet<Aspect> {
        let (mut found, mut seen) = (BTreeSet::new(), BTreeSet::new());
        self.note_aspects(segments, &mut seen, &mut found);
        found
    }

    fn note_aspects(
        &self,
        segments: &BTreeMap<SegmentId, Arc<Self>>,
        seen: &mut BTreeSet<SegmentId>,
        found: &mut BTreeSet<Aspect>,
    ) {
        let mut named = Vec::new();
        self.each(&mut |condition| match condition {
            Condition::Email(_) => drop(found.insert(Aspect::Email)),
            Condition::Subscribed(_) => drop(found.insert(Aspect::Subscribed)),
            Condition::Time { field: TimeField::UpdatedAt, .. } => drop(found.insert(Aspect::UpdatedAt)),
            // the id has it
            Condition::Time { field: TimeField::CreatedAt, .. } | Condition::Context { .. } => {}
            Condition::Data { path, .. } => drop(found.insert(Aspect::Data(path.clone()))),
            Condition::Event { name, .. } => drop(found.insert(Aspect::Event(name.clone()))),
            Condition::Activity { kind, .. } => drop(found.insert(Aspect::Activity(*kind))),
            Condition::Segment { id, .. } => named.push(*id),
        });
        for id in named {
            match segments.get(&id) {
                None => drop(found.insert(Aspect::Segment(id))),
                Some(tree) if seen.insert(id) => tree.note_aspects(segments, seen, found),
                Some(_) => {}
            }
        }
    }
}
