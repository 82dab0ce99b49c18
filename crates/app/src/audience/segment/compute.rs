//! Judges every contact by one segment: on request, and in the background after its condition changed.
//!
//! The contacts whose membership row disagrees with the condition are selected, in memory or by the database in parts of
//! the project; only these are judged, in transactions of a few hundred. A background pass repeats the check after each `compute`,
//! because a transaction that read the old setting may commit after it.
//!
//! The answer counts the difference since `compute` was last asked (`reported`), whichever process noticed the changes.
//! Two moves that undo each other in between appear as events only.

use std::collections::BTreeSet;
use std::sync::Arc;

use mailwright_core::filter::{
    Condition, DataTest, Filter, Group, Logic, TimeField, TimeTest, Window, WindowSource,
};
use mailwright_core::ids::{ContactId, ProjectNumber, SegmentId};
use mailwright_core::project::Project;
use mailwright_core::segment::{Live, SegmentType};
use mailwright_core::time::Timestamp;
use mailwright_store::audience::segment::{self as store, Part, Reported, State};
use mailwright_store::body;
use mailwright_store::sending::held::epoch;
use mailwright_store::{Door, Patience, retrying};

use super::live::{self, BATCH};
use crate::App;
use crate::error::{Error, Resource, Result};

/// How many contacts the database looks at for one query.
const PART: usize = 10_000;

/// The result of evaluating every contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Computed {
    /// Contacts that joined since the last call, including those that joined in the background.
    pub added: i64,
    /// Contacts that left since then.
    pub removed: i64,
    /// Members there are now.
    pub total: i64,
}

/// A segment while every contact is judged by it.
#[derive(Clone)]
struct Judging {
    project: ProjectNumber,
    segment: SegmentId,
    tree: Arc<Filter>,
    /// Finds contacts that are to be remembered with the time at which they are judged again.
    timed: Option<Arc<Filter>>,
    state: State,
}

impl App {
    /// Judges every contact by a tracked segment: those that join and leave are stored, with their events.
    pub async fn compute_segment(&self, project: &Project, id: SegmentId) -> Result<Computed> {
        let segment = self.segment(project, id).await?;
        if segment.kind == SegmentType::Static {
            return Ok(Computed { added: 0, removed: 0, total: segment.member_count });
        }
        if !segment.track_membership {
            return Err(Error::BadRequest(
                "The members of this segment are not tracked. Set trackMembership to true first.".into(),
            ));
        }
        let number = project.number;
        let Some(judging) = self.judging(number, id).await? else {
            return Err(Error::not_found(Resource::Segment, id));
        };
        self.judge_all(Door::Slow(number), &judging).await?;
        self.settle(&judging, judging.state.due_at).await?;
        let (mut added, mut removed, mut after) = (0, 0, ContactId::first_of(Timestamp(0)));
        while let Some(news) = self.report(number, id, after).await? {
            added += news.added;
            removed += news.removed;
            after = news.last;
        }
        let total = self.segment(project, id).await?.member_count;
        Ok(Computed { added, removed, total })
    }

    async fn report(
        &self,
        project: ProjectNumber,
        segment: SegmentId,
        after: ContactId,
    ) -> Result<Option<Reported>> {
        let now = self.0.clock.now();
        self.write(body!(async |tx| {
            store::lock(tx, project, now).await?;
            Ok(store::report(tx, project, segment, after).await?)
        }))
        .await
    }

    /// The same for the background work, which is done with the segment then.
    pub(super) async fn compute_in_background(&self, project: ProjectNumber, id: SegmentId) -> Result<()> {
        let Some(judging) = self.judging(project, id).await? else { return Ok(()) };
        self.judge_all(Door::Background(project), &judging).await?;
        self.settle(&judging, None).await
    }

    /// `None` when there is no such tracked segment any more.
    async fn judging(&self, project: ProjectNumber, id: SegmentId) -> Result<Option<Judging>> {
        let live_segments = self.0.audience.segments.clone();
        self.read(body!(async |rx| {
            // the state first: a change that comes between the two is noticed when it is compared
            let Some(state) = store::state(rx, project, id).await? else { return Ok(None) };
            let Some(tracking) = store::tracking_state(rx, project).await? else { return Ok(None) };
            let live = live_segments.live(rx, project, tracking.version).await?;
            Ok(judging(project, id, state, &live))
        }))
        .await
    }

    async fn judge_all(&self, door: Door, judging: &Judging) -> Result<()> {
        let (project, segment) = (judging.project, judging.segment);
        let filters = (Arc::clone(&judging.tree), judging.timed.clone());
        if let Some(found) = self.differing_found(project, segment, filters, self.0.clock.now()).await? {
            return self.judge_these(door, judging, &found).await;
        }
        let mut after = ContactId::first_of(Timestamp(0));
        loop {
            let (tree, timed, now) = (Arc::clone(&judging.tree), judging.timed.clone(), self.0.clock.now());
            let (part, found): (Part, Vec<ContactId>) = self
                .read_by(
                    door,
                    body!(async |rx| {
                        let part = store::part(rx, project, after, PART).await?;
                        let found =
                            store::differing(rx, project, segment, part, &tree, timed.as_deref(), now)
                                .await?;
                        Ok((part, found))
                    }),
                )
                .await?;
            self.judge_these(door, judging, &found).await?;
            match part.last {
                Some(last) => after = last,
                None => return Ok(()),
            }
        }
    }

    async fn judge_these(&self, door: Door, judging: &Judging, contacts: &[ContactId]) -> Result<()> {
        for batch in contacts.chunks(BATCH) {
            let _turn = match door {
                Door::Background(_) => self.0.audience.segments.turn().await,
                Door::Slow(_) | Door::Fast => None,
            };
            self.judge_batch(judging, batch.to_vec()).await?;
        }
        Ok(())
    }

    /// Judges some contacts by a segment and those that depend on it.
    async fn judge_batch(&self, judging: &Judging, contacts: Vec<ContactId>) -> Result<()> {
        let (project, segment, is_lost) = (judging.project, judging.segment, judging.state.is_lost);
        let contacts: Arc<[ContactId]> = contacts.into();
        let once = || {
            let (live_segments, contacts, now) =
                (self.0.audience.segments.clone(), Arc::clone(&contacts), self.0.clock.now());
            self.write_in_background(body!(async |tx| {
                let state = store::lock(tx, project, now).await?;
                let live = live_segments.live(tx, project, state.version).await?;
                let scope = live.with_dependents(segment);
                let now = now.max(state.swept_to);
                let lost = if is_lost { epoch::stretch(tx).await? } else { None };
                Ok(live::judge(tx, project, &live, &contacts, Some(&scope), lost, now).await?)
            }))
        };
        retrying(Patience::USUAL, once).await.map(drop)
    }

    /// Notes that every contact was judged, unless the condition changed meanwhile.
    async fn settle(&self, judging: &Judging, due_at: Option<Timestamp>) -> Result<()> {
        let (project, segment, revision) = (judging.project, judging.segment, judging.state.revision);
        self.0
            .db
            .write(body!(async |tx| store::settle(tx, project, segment, revision, due_at).await))
            .await?;
        Ok(())
    }
}

fn judging(project: ProjectNumber, segment: SegmentId, state: State, live: &Live) -> Option<Judging> {
    let tree = live.get(segment).filter(|definition| definition.tracked)?.tree.clone();
    // once the background work went through all contacts, whoever changes is remembered with every change
    let incomplete = !state.settled || state.due_at.is_some();
    let timed = if incomplete { within_any(live.timed_of(segment)) } else { None };
    Some(Judging { project, segment, tree, timed: timed.map(Arc::new), state })
}

/// A filter for the contacts that are inside of one of the windows, and so will leave it.
fn within_any(windows: BTreeSet<Window>) -> Option<Filter> {
    let groups: Vec<Group> = windows
        .into_iter()
        .filter_map(|window| {
            let condition = match window.source {
                WindowSource::Data(path) => Condition::Data { path, test: DataTest::Within(window.length) },
                WindowSource::UpdatedAt => {
                    Condition::Time { field: TimeField::UpdatedAt, test: TimeTest::Within(window.length) }
                }
                WindowSource::CreatedAt | WindowSource::Event(_) | WindowSource::Activity(_) => return None,
            };
            Some(Group { conditions: vec![condition], nested: None })
        })
        .collect();
    (!groups.is_empty()).then_some(Filter { logic: Logic::Or, groups })
}
