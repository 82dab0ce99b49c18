//! What is known of a contact, for the evaluation in memory.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use super::tree::Filter;
use crate::contact::Contact;
use crate::custom_data::Data;
use crate::event::Activity;
use crate::ids::SegmentId;
use crate::time::Timestamp;

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
    /// The data of the event that is being handled.
    fn context(&self) -> Option<&Data> {
        None
    }
    /// Whether a condition may look through a text of so many bytes. If not, it does not hold.
    fn may_look_through(&self, _bytes: usize) -> bool {
        true
    }
}

/// A contact's facts, with untracked segments evaluated on first use and cached.
#[derive(Debug)]
pub struct Resolved<'a, F> {
    facts: &'a F,
    trees: &'a BTreeMap<SegmentId, Arc<Filter>>,
    now: Timestamp,
    known: RefCell<BTreeMap<SegmentId, bool>>,
    /// How much text conditions may still look through, in bytes; `None` when one wanted more.
    text: Cell<Option<usize>>,
}

impl<'a, F: Facts> Resolved<'a, F> {
    /// `trees` are the filters of the segments whose members are stored nowhere; `facts` answers for all others.
    pub fn new(facts: &'a F, trees: &'a BTreeMap<SegmentId, Arc<Filter>>, now: Timestamp) -> Self {
        Self { facts, trees, now, known: RefCell::default(), text: Cell::new(Some(usize::MAX)) }
    }

    /// The same, where conditions look through so many bytes of text in all: searching a text takes time.
    #[must_use]
    pub fn with_text(mut self, bytes: usize) -> Self {
        self.text = Cell::new(Some(bytes));
        self
    }

    /// Whether conditions wanted to look through more text than they may, so that what they say does not count.
    pub fn is_over(&self) -> bool {
        self.text.get().is_none()
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

    fn context(&self) -> Option<&Data> {
        self.facts.context()
    }

    fn may_look_through(&self, bytes: usize) -> bool {
        self.text.set(self.text.get().and_then(|left| left.checked_sub(bytes)));
        !self.is_over()
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
