//! Segments: making and changing them, and their members.
//!
//! A condition is a filter. Segments that refer to each other form a graph without cycles (`core::segment::graph`). If
//! the members of a segment are not stored, its filter is evaluated where it is referred to, up to a bounded size.
//!
//! The members of a **tracked** segment are rows. `live` judges contacts, `refresher` is the background work that keeps
//! the rows current, `compute` judges all contacts by one segment. A new condition, or tracking that was switched on,
//! is not applied to all contacts at once: `compute` does so on request, the background work some minutes later
//! (`due_at`). Until then `memberCount` is a count by the condition; afterwards it is the sum that is kept with the
//! rows (`settled`).

mod check;
mod compute;
mod history;
mod live;
mod member;
mod of_contact;
mod preview;
mod refresher;
mod usage;

use mailwright_core::audit::{Action, Actor};
use mailwright_core::contact::Contact;
use mailwright_core::ids::{ProjectNumber, SegmentId};
use mailwright_core::patch::Patch;
use mailwright_core::project::Project;
use mailwright_core::segment::{MAX_SEGMENTS, Segment, SegmentType};
use mailwright_core::short_text::counted;
use mailwright_core::time::Timestamp;
use mailwright_store::audience::columns::Page;
use mailwright_store::audience::filter;
use mailwright_store::audience::segment::{self as store, Standing};
use mailwright_store::body;
use mailwright_store::insight::counter::{self, Counter};
use mailwright_store::project::audit::{self, Entry};
use mailwright_store::{Door, Tx};
use serde_json::{Value, json};

use crate::App;
use crate::error::{Error, Resource, Result};

pub use compute::Computed;
pub use member::Added;
pub use of_contact::Segmented;
pub use preview::Preview;

pub use history::DAYS_KEPT;
pub(crate) use live::LiveSegments;
pub(crate) use refresher::start;

/// A segment to create.
#[derive(Debug, Clone)]
pub struct NewSegment {
    /// Name.
    pub name: String,
    /// Internal note.
    pub description: Option<String>,
    /// Whether the segment is static or dynamic.
    pub kind: SegmentType,
    /// The condition of a dynamic segment.
    pub condition: Option<Value>,
    /// Whether members are stored, and events emitted.
    pub track_membership: bool,
}

/// Changes to a segment.
#[derive(Debug, Clone, Default)]
pub struct SegmentPatch {
    /// A new name.
    pub name: Option<String>,
    /// A new note.
    pub description: Patch<String>,
    /// A new condition; ignored by static segments.
    pub condition: Option<Value>,
    /// Whether members are stored from now on.
    pub track_membership: Option<bool>,
}

impl SegmentPatch {
    fn apply(self, segment: &mut Segment, now: Timestamp) {
        segment.name = self.name.unwrap_or_else(|| std::mem::take(&mut segment.name));
        self.description.apply(&mut segment.description);
        if segment.kind == SegmentType::Dynamic {
            segment.condition = self.condition.or_else(|| segment.condition.take());
        }
        segment.track_membership = self.track_membership.unwrap_or(segment.track_membership);
        segment.updated_at = now;
    }
}

/// In projects with more contacts the members of a segment are not counted for every page: that takes milliseconds for
/// each ten thousand.
const COUNTED_EACH_TIME: i64 = 50_000;

/// A page of a segment's members.
#[derive(Debug)]
pub struct Members {
    /// The contacts.
    pub contacts: Vec<Contact>,
    /// How many there are in all.
    pub total: i64,
}

impl App {
    /// Every segment of a project, newest first.
    pub async fn segments(&self, project: &Project) -> Result<Vec<Segment>> {
        let number = project.number;
        self.read(body!(async |rx| store::all(rx, number).await)).await
    }

    /// One segment.
    pub async fn segment(&self, project: &Project, id: SegmentId) -> Result<Segment> {
        let number = project.number;
        let found = self.read(body!(async |rx| store::get(rx, number, id).await)).await?;
        found.ok_or_else(|| Error::not_found(Resource::Segment, id))
    }

    /// Creates a segment. The members of a tracked one are enrolled by [`App::compute_segment`], or by the background
    /// work some minutes later; contacts that change before are judged at once.
    pub async fn create_segment(&self, project: &Project, new: NewSegment) -> Result<Segment> {
        let now = self.0.clock.now();
        let segment = Segment {
            id: SegmentId::new(now, rand::random()),
            name: new.name,
            description: new.description,
            kind: new.kind,
            condition: new.condition.filter(|_| new.kind == SegmentType::Dynamic),
            track_membership: new.track_membership,
            member_count: 0,
            created_at: now,
            updated_at: now,
        };
        let standing = self.standing(project.number, &segment, now).await?;
        let number = project.number;
        let stored = segment.clone();
        self.write(body!(async |tx| {
            let segment = stored.clone();

            store::lock(tx, number, now).await?;
            if store::count(tx, number).await? >= MAX_SEGMENTS as i64 {
                return Err(Error::Conflict(format!(
                    "A project can have at most {MAX_SEGMENTS} segments. Delete one that is no longer needed."
                )));
            }
            check::references(&store::all(tx, number).await?, &segment)?;
            store::create(tx, number, &segment, standing).await?;
            Ok(store::changed(tx, number, now).await?)
        }))
        .await?;
        Ok(Segment { member_count: standing.counted, ..segment })
    }

    /// Changes a segment. A change to the condition of a tracked one counts for its members as creating one does.
    pub async fn update_segment(
        &self,
        project: &Project,
        id: SegmentId,
        patch: SegmentPatch,
    ) -> Result<Segment> {
        let (number, now) = (project.number, self.0.clock.now());
        let mut after = self.segment(project, id).await?;
        let may_mean_else = patch.condition.is_some() || patch.track_membership.is_some();
        patch.clone().apply(&mut after, now);
        let standing = if may_mean_else { self.standing(number, &after, now).await? } else { SETTLED };
        let next = now.plus(self.settings().segments.refresh_interval);
        self.write(body!(async |tx| {
            let patch = patch.clone();

            store::lock(tx, number, now).await?;
            let found = store::get_for_update(tx, number, id).await?;
            let before = found.ok_or_else(|| Error::not_found(Resource::Segment, id))?;
            let mut after = before.clone();
            patch.apply(&mut after, now);
            if has_new_meaning(&before, &after) {
                let all = store::all(tx, number).await?;
                check::references(&all, &after)?;
                store::restate(tx, number, id, standing).await?;
                store::unsettle(tx, number, &check::graph(&all).dependents(id), next).await?;
            }
            store::update(tx, number, &after).await?;
            Ok(store::changed(tx, number, now).await?)
        }))
        .await?;
        self.segment(project, id).await
    }

    /// Removes a segment that nothing refers to.
    pub async fn delete_segment(&self, project: &Project, actor: &Actor, id: SegmentId) -> Result<()> {
        let (number, now, actor) = (project.number, self.0.clock.now(), actor.clone());
        self.write(body!(async |tx| {
            let actor = actor.clone();

            store::lock(tx, number, now).await?;
            check_unused(tx, number, id).await?;
            let found = store::get(tx, number, id).await?;
            let segment = found.ok_or_else(|| Error::not_found(Resource::Segment, id))?;
            store::delete(tx, number, id).await?;
            store::changed(tx, number, now).await?;
            let entry = Entry::new(Action::SegmentDeleted, id.to_string());
            let entry = entry.with(json!({ "name": segment.name }));
            Ok(audit::record(tx, number, &actor, &entry, now).await?)
        }))
        .await
    }

    /// A page of the members: those of a static segment by when they were added, the newest first; those of a dynamic
    /// one as the condition finds them now, the newest contact first.
    ///
    /// The total of a dynamic segment is counted with every page while the project is small. Later it is the count that
    /// the segment shows: exact if members are tracked, otherwise some minutes old at most.
    pub async fn segment_contacts(
        &self,
        project: &Project,
        id: SegmentId,
        offset: i64,
        limit: i64,
    ) -> Result<Members> {
        let (number, now) = (project.number, self.0.clock.now());
        let segment = self.segment(project, id).await?;
        let (skip, most) = (offset as usize, limit as usize);
        if segment.kind == SegmentType::Dynamic {
            let page = Page { after: None, offset: skip, limit: most };
            let found = self.page_found(number, &store::tree_of(&segment)?, now, page).await?;
            if let Some((contacts, total)) = found {
                return Ok(Members { contacts, total });
            }
        }
        let read = self.read_slow(
            number,
            body!(async |rx| {
                if segment.kind == SegmentType::Static {
                    let contacts = store::page(rx, number, id, offset, limit).await?;
                    return Ok(Members { contacts, total: segment.member_count });
                }
                let tree = store::tree_of(&segment)?;
                let segments = store::resolve(rx, number, &tree).await?;
                let contacts = filter::page_at(rx, number, &tree, &segments, now, skip, most).await?;
                let is_large = counter::value(rx, number, Counter::Contacts, "").await? > COUNTED_EACH_TIME;
                let total = if is_large {
                    segment.member_count
                } else {
                    filter::count(rx, number, &tree, &segments, now).await?
                };
                Ok(Members { contacts, total })
            }),
        );
        read.await
    }

    /// Counts the members of a segment anew. Emits nothing, and nobody joins or leaves.
    pub async fn refresh_segment(&self, project: &Project, id: SegmentId) -> Result<i64> {
        let (number, now) = (project.number, self.0.clock.now());
        let segment = self.segment(project, id).await?;
        if segment.kind == SegmentType::Static {
            return Ok(segment.member_count);
        }
        let counted = self.count_segment(Door::Slow(number), number, segment, now).await?;
        self.0.db.write(body!(async |tx| store::set_counted(tx, number, id, counted, None).await)).await?;
        Ok(counted)
    }

    async fn count_segment(
        &self,
        door: Door,
        project: ProjectNumber,
        segment: Segment,
        now: Timestamp,
    ) -> Result<i64> {
        self.count_found(door, project, store::tree_of(&segment)?, now).await
    }

    /// Checks the condition of a segment that is to be stored, and counts the contacts that it finds.
    async fn standing(&self, project: ProjectNumber, segment: &Segment, now: Timestamp) -> Result<Standing> {
        let Some(condition) = segment.condition.as_ref() else { return Ok(SETTLED) };
        let tree = check::condition(condition)?;
        let all = self.read(body!(async |rx| store::all(rx, project).await));
        check::references(&all.await?, segment)?;
        let counted = self.count_found(Door::Slow(project), project, tree, now).await?;
        let due_at = Some(now.plus(self.settings().segments.refresh_interval));
        Ok(Standing { counted, settled: segment.is_tracked() && counted == 0, due_at })
    }
}

/// How a static segment stands.
const SETTLED: Standing = Standing { counted: 0, settled: true, due_at: None };

/// Whether the same contacts may be judged in another way.
fn has_new_meaning(before: &Segment, after: &Segment) -> bool {
    before.kind == SegmentType::Dynamic
        && (before.condition != after.condition || before.track_membership != after.track_membership)
}

/// Refuses to remove a segment that something refers to.
async fn check_unused(tx: &mut Tx<'_>, project: ProjectNumber, id: SegmentId) -> Result<()> {
    let store::Uses { segments, campaigns, workflows } = store::uses(tx, project, id).await?;
    let is = |names: &[String]| if names.len() == 1 { "is" } else { "are" };
    let some = |names: &[String]| names.iter().take(3).map(String::as_str).collect::<Vec<_>>().join(", ");
    let message = if !campaigns.is_empty() {
        let (count, are) = (counted(campaigns.len() as u64, "campaign"), is(&campaigns));
        format!("It is the audience of {count} that {are} not over: {}.", some(&campaigns))
    } else if !segments.is_empty() {
        let count = counted(segments.len() as u64, "other segment");
        format!("The condition of {count} refers to this one: {}.", some(&segments))
    } else if !workflows.is_empty() {
        let count = counted(workflows.len() as u64, "workflow");
        let refer = if workflows.len() == 1 { "refers" } else { "refer" };
        format!("{count} {refer} to it: {}.", some(&workflows))
    } else {
        return Ok(());
    };
    Err(Error::Conflict(message))
}
