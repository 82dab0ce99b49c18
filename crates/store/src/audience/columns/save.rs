//! Saves the columns of a project, so that another process, or this one after it was started again, need not read every
//! contact.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mailwright_core::filter::columns::Aspect;
use mailwright_core::ids::ContactId;
use uuid::Uuid;

use super::kept::Kept;
use super::unsaved::{Saving, Unsaved, Written};
use crate::audience::saved_columns::{self, Outline, Place, Writing};
use crate::body;
use crate::database::error::{Error, Result};

/// How often it is looked whether something has to be saved.
const LOOK: Duration = Duration::from_secs(2);
/// How old saved columns become while contacts change.
const EVERY: Duration = Duration::from_mins(5);
/// How old they become while many do.
const SOON: Duration = Duration::from_secs(30);
/// How long what others saved is left as it is, where it does not fit in here.
const ALONE: Duration = Duration::from_mins(10);
/// How long parts are missing at most whose contact was removed.
const REPAIRED: Duration = Duration::from_mins(1);
/// Contacts of a part, once it is divided.
const CONTACTS: usize = 32_768;
/// Contacts from which on a part is divided.
const MANY: usize = CONTACTS + CONTACTS / 2;

impl Kept {
    /// Has others alone save columns of the project.
    pub(super) async fn leave_saving_to_others(&self) {
        self.saving.lock().await.left.get_or_insert_with(Instant::now);
    }

    /// Saves the columns if it is time to. Returns columns that another process has saved and that are not here, so that
    /// they have to be loaded first.
    pub(super) async fn save(&self) -> Result<BTreeSet<Aspect>> {
        let mut saving = self.saving.lock().await;
        if saving.looked.is_some_and(|at| at.elapsed() < LOOK) {
            return Ok(BTreeSet::new());
        }
        saving.looked = Some(Instant::now());
        let project = self.project;
        let stored = self.db.read(body!(async |rx| {
            Ok((saved_columns::outline(rx, project).await?, saved_columns::saved_at(rx, project).await?))
        }));
        let (outline, saved_at) = stored.await?;
        let now = self.clock.now();
        // a clock that went back does not keep anybody from saving
        let is_younger = |age| saved_at > now.minus(age) && saved_at <= now;
        let (aspects, given_up) = self.aspects().await;
        let others = outline.aspects.difference(&aspects).filter(|aspect| !given_up.contains(aspect));
        let others: BTreeSet<Aspect> = others.cloned().collect();
        if !others.is_empty() {
            let Some(left) = saving.left else { return Ok(others) };
            if left.elapsed() <= ALONE || is_younger(ALONE) {
                return Ok(BTreeSet::new());
            }
        }
        let are_many = self.state.read().await.unsaved.are_many();
        let age = if aspects != outline.aspects || outline.position().is_none() {
            LOOK
        } else if outline.places.iter().any(|place| place.position.is_none()) {
            REPAIRED
        } else if are_many {
            SOON
        } else {
            EVERY
        };
        if is_younger(age) {
            return Ok(BTreeSet::new());
        }
        let is_ours =
            self.db.write(body!(async |tx| saved_columns::take_turn(tx, project, saved_at, now).await));
        if is_ours.await? {
            let is_other = aspects != outline.aspects;
            if self.save_parts(&mut saving, outline, is_other).await? {
                self.state.write().await.forget_given_up(&given_up);
            }
        }
        Ok(BTreeSet::new())
    }

    /// Saves the parts that changed; all of them where there are other columns than before. Returns whether all is saved.
    async fn save_parts(&self, saving: &mut Saving, outline: Outline, is_other: bool) -> Result<bool> {
        let Some((unsaved, until)) = self.begin_to_save().await else { return Ok(false) };
        let outcome = self.save_these(saving, outline, &unsaved, until, is_other).await;
        if !matches!(outcome, Ok(true)) {
            self.state.write().await.unsaved.is_all = true;
        }
        outcome
    }

    /// What changed up to the position of now; what changes from now on is noted anew.
    async fn begin_to_save(&self) -> Option<(Unsaved, i64)> {
        let mut state = self.state.write().await;
        state.columns().ok()?;
        let position = state.position;
        Some((std::mem::replace(&mut state.unsaved, Unsaved::since(position)), position))
    }

    /// Returns whether all is saved.
    async fn save_these(
        &self,
        saving: &mut Saving,
        outline: Outline,
        unsaved: &Unsaved,
        until: i64,
        is_other: bool,
    ) -> Result<bool> {
        let Some(outline) = self.divided(outline).await? else { return Ok(false) };
        let (mut same, mut is_whole) = (Vec::new(), true);
        for (at, place) in outline.places.iter().enumerate() {
            let end = outline.end(at);
            if is_other || unsaved.has_changed(*place, end) {
                is_whole &= self.save_part(saving, place.first, end).await?;
            } else {
                same.push(place.first);
            }
        }
        let project = self.project;
        self.db.write(body!(async |tx| saved_columns::advance(tx, project, &same, until).await)).await?;
        Ok(is_whole)
    }

    /// Divides parts that have too many contacts, and tells how the columns are stored then.
    async fn divided(&self, mut outline: Outline) -> Result<Option<Outline>> {
        let is_new = outline.places.is_empty();
        if is_new {
            outline.places.push(Place { first: ContactId::from(Uuid::nil()), position: None });
        }
        let mut cuts = Vec::new();
        {
            let state = self.state.read().await;
            let Ok(columns) = state.columns() else { return Ok(None) };
            for (at, place) in outline.places.iter().enumerate() {
                let (mut from, end) = (place.first, outline.end(at));
                let mut ends = Vec::new();
                while columns.count_between(from, end) > MANY
                    && let Some(cut) = columns.end_of(from, end, CONTACTS)
                {
                    ends.push(cut);
                    from = cut;
                }
                if is_new || !ends.is_empty() {
                    cuts.push((place.first, ends));
                }
            }
        }
        if cuts.is_empty() {
            return Ok(Some(outline));
        }
        let project = self.project;
        for (first, ends) in cuts {
            self.db.write(body!(async |tx| saved_columns::divide(tx, project, first, &ends).await)).await?;
        }
        self.db.read(body!(async |rx| saved_columns::outline(rx, project).await)).await.map(Some)
    }

    /// Returns whether the part is saved.
    async fn save_part(&self, saving: &mut Saving, first: ContactId, end: Option<ContactId>) -> Result<bool> {
        let (project, state) = (self.project, self.read().await);
        let (before, hasher) = (saving.written.remove(&first), saving.hasher.clone());
        let writing = tokio::task::spawn_blocking(move || {
            let columns = state.columns().ok()?;
            let (position, removals, part) = (state.position, state.removals, columns.part(first, end)?);
            let now = Written::of(position, &part, &hasher);
            let same = before.map(|before| (before.position, now.same(&before)));
            Some((Writing { project, first, end, position, removals, part, same }, now))
        });
        let writing = writing.await.map_err(|e| Error::Panicked(e.to_string()))?;
        let Some((writing, now)) = writing else { return Ok(false) };
        let writing = Arc::new(writing);
        let is_saved =
            self.db.write_in_background(body!(async |tx| saved_columns::write(tx, &writing).await));
        let is_saved = is_saved.await?;
        if is_saved {
            saving.written.insert(first, now);
        }
        Ok(is_saved)
    }
}
