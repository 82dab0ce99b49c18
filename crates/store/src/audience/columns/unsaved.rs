//! What a process knows of the columns that it saves: what changed since, and what is stored.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};
use std::time::Instant;

use mailwright_core::filter::columns::StoredPart;
use mailwright_core::ids::ContactId;

use crate::audience::saved_columns::{self, Place};

/// So many changed contacts are many.
const HURRIED_FROM: usize = 5_000;
/// Contacts of which is noted one by one that they changed. With more, all parts are saved.
const NOTED: usize = 50_000;

/// What changed since the columns were saved.
#[derive(Debug, Default)]
pub(super) struct Unsaved {
    /// From this position of the log on.
    since: i64,
    contacts: BTreeSet<ContactId>,
    /// Too many to be noted one by one, or some that were not saved.
    pub(super) is_all: bool,
}

impl Unsaved {
    /// Nothing yet after a position.
    pub(super) fn since(position: i64) -> Self {
        Self { since: position, ..Self::default() }
    }

    /// Whether many contacts changed.
    pub(super) fn are_many(&self) -> bool {
        self.is_all || self.contacts.len() > HURRIED_FROM
    }

    pub(super) fn note(&mut self, contacts: &[ContactId]) {
        if self.is_all {
            return;
        }
        self.contacts.extend(contacts);
        if self.contacts.len() > NOTED {
            *self = Self { since: self.since, contacts: BTreeSet::new(), is_all: true };
        }
    }

    /// Whether what is stored of a part may be out of date.
    pub(super) fn has_changed(&self, place: Place, end: Option<ContactId>) -> bool {
        self.is_all
            || place.position.is_none_or(|position| position < self.since)
            || self.contacts.range(place.first..).next().is_some_and(|id| end.is_none_or(|end| *id < end))
    }
}

/// How columns are saved.
#[derive(Debug, Default)]
pub(super) struct Saving {
    /// When it was last looked whether something has to be saved.
    pub(super) looked: Option<Instant>,
    /// Since when saving is left to others: what they save does not fit in here.
    pub(super) left: Option<Instant>,
    /// What was stored last, by where the part begins.
    pub(super) written: BTreeMap<ContactId, Written>,
    pub(super) hasher: RandomState,
}

/// A part as it was stored.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) position: i64,
    /// A hash of each column.
    columns: BTreeMap<Cow<'static, str>, u64>,
}

impl Written {
    /// What is stored of a part at a position.
    pub(super) fn of(position: i64, part: &StoredPart, hasher: &RandomState) -> Self {
        let columns = saved_columns::named(part).map(|(name, bytes)| (name, hasher.hash_one(bytes)));
        Self { position, columns: columns.collect() }
    }

    /// The columns that are as before.
    pub(super) fn same(&self, before: &Self) -> BTreeSet<Cow<'static, str>> {
        let same = self.columns.iter().filter(|(name, hash)| before.columns.get(*name) == Some(hash));
        same.map(|(name, _)| name.clone()).collect()
    }
}
