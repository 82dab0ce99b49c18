//! The segments that a contact is in.

use std::sync::Arc;

use mailwright_core::filter::{Facts, References, Resolved};
use mailwright_core::ids::ContactId;
use mailwright_core::project::Project;
use mailwright_core::segment::{Segment, SegmentType};
use mailwright_core::time::Timestamp;
use mailwright_store::audience::filter::{self, Segments};
use mailwright_store::audience::segment as store;
use mailwright_store::body;

use crate::App;
use crate::error::{Error, Resource, Result};

/// Most names of events that conditions may look at for one contact.
const MOST_EVENTS: usize = 2_000;
/// How much text conditions may look through for one contact, in bytes.
const MOST_TEXT: usize = 64 * 1024 * 1024;

/// The segments of a contact.
#[derive(Debug)]
pub struct Segmented {
    /// The segments that it is in, the newest segment first, and since when, where its membership is stored.
    pub segments: Vec<(Segment, Option<Timestamp>)>,
    /// Whether these are all. Where the conditions of a project look at too much, those of segments whose members are not
    /// stored are not evaluated.
    pub is_complete: bool,
}

impl App {
    /// The segments that a contact is in: by its stored membership, or by the condition as it stands now.
    pub async fn segments_of_contact(&self, project: &Project, contact: ContactId) -> Result<Segmented> {
        let (number, now) = (project.number, self.0.clock.now());
        let read = self.read_slow(
            number,
            body!(async |rx| {
                let all = store::all(rx, number).await?;
                let mut segments = Segments::new();
                for segment in &all {
                    if is_stored(segment) {
                        segments.members(segment.id);
                    } else {
                        segments.tree(segment.id, Arc::new(store::tree_of(segment)?));
                    }
                }
                let mut references = segments.all_references(References::default());
                let is_complete = references.events.len() <= MOST_EVENTS;
                if !is_complete {
                    references = References::default();
                }
                let found = filter::facts(rx, number, &[contact], &references).await?;
                let entered = store::entered(rx, number, contact).await?;
                Ok((all, segments, found.into_iter().next(), entered, is_complete))
            }),
        );
        let (all, segments, facts, entered, mut is_complete) = read.await?;
        let facts = facts.ok_or_else(|| Error::not_found(Resource::Contact, contact))?;
        let resolved = Resolved::new(&facts, segments.trees(), now).with_text(MOST_TEXT);
        let mut found = Vec::new();
        for segment in all {
            if is_stored(&segment) {
                if let Some(since) = entered.get(&segment.id) {
                    found.push((segment, Some(*since)));
                }
            } else if is_complete {
                let is_member = resolved.is_member(segment.id);
                is_complete = !resolved.is_over();
                if is_member && is_complete {
                    found.push((segment, None));
                }
            }
        }
        Ok(Segmented { segments: found, is_complete })
    }
}

/// Whether the members of a segment are rows.
fn is_stored(segment: &Segment) -> bool {
    segment.kind == SegmentType::Static || segment.track_membership
}
