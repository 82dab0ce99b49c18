//! Counting the segments that are due, and applying new conditions to all contacts.
//!
//! Counts of segments whose members are not tracked, and new conditions, may take minutes. They run beside the rounds,
//! one at a time for each project ([`ProjectWork`]), so no other project waits for them.

use std::time::{Duration, Instant};

use mailwright_core::ids::{ProjectNumber, SegmentId};
use mailwright_core::segment::Segment;
use mailwright_core::time::Timestamp;
use mailwright_store::Door;
use mailwright_store::audience::segment as store;
use mailwright_store::body;

use super::pace::{PROJECTS, SHARE};
use crate::App;
use crate::background::project_work::ProjectWork;
use crate::background::runner::{Next, Work};
use crate::error::Result;

/// Looks at the segments that are due.
pub(super) struct Counting {
    pub(super) app: App,
    pub(super) looking: ProjectWork,
}

impl Work for Counting {
    async fn round(&mut self) -> Result<Next> {
        self.app.look_at_due_segments(&self.looking).await?;
        Ok(Next::Woken)
    }
}

impl App {
    /// Starts to look at the due segments of each project that is not being looked at.
    async fn look_at_due_segments(&self, looking: &ProjectWork) -> Result<()> {
        let now = self.0.clock.now();
        let read = self.read(body!(async |rx| store::due_projects(rx, now, PROJECTS).await));
        for project in read.await? {
            let (app, places) = (self.clone(), looking.clone());
            looking.start("due segments", project, async move {
                if let Err(error) = app.look_at_project(project, &places).await {
                    tracing::warn!(%error, project = project.0, "segments were not looked at, trying again later");
                }
            });
        }
        Ok(())
    }

    /// Counts the due segments of a project that are not tracked, and enrolls the members of those that are. One that
    /// fails has its turn again after the interval, and the others have theirs.
    async fn look_at_project(&self, project: ProjectNumber, looking: &ProjectWork) -> Result<()> {
        let (began, now) = (Instant::now(), self.0.clock.now());
        let interval = self.settings().segments.refresh_interval;
        while looking.goes_on(began) {
            let turn = self.0.audience.segments.turn().await;
            let claim = self.0.db.write_in_background(body!(async |tx| store::claim_due(
                tx,
                project,
                now,
                now.plus(interval)
            )
            .await));
            let Some(id) = claim.await? else { return Ok(()) };
            drop(turn);
            if let Err(error) = self.look_at_segment(project, id, interval).await {
                tracing::warn!(%error, project = project.0, segment = %id, "a segment could not be counted");
                self.0.db.ping().await?;
            }
        }
        Ok(())
    }

    async fn look_at_segment(&self, project: ProjectNumber, id: SegmentId, interval: Duration) -> Result<()> {
        let read = self.read(body!(async |rx| store::get(rx, project, id).await));
        match read.await? {
            None => Ok(()),
            Some(segment) if segment.is_tracked() => self.compute_in_background(project, id).await,
            Some(segment) => {
                let now = self.0.clock.now();
                let next = |cost: Duration| Some(now.plus(interval.max(cost * SHARE)));
                self.count_in_background(project, segment, next).await.map(drop)
            }
        }
    }

    /// Counts the members of a segment by its condition, if that is what it shows; how long it took.
    pub(super) async fn recount(&self, project: ProjectNumber, id: SegmentId) -> Result<Option<Duration>> {
        let read = self.read(body!(async |rx| {
            let shown = store::state(rx, project, id).await?.is_some_and(|state| !state.settled);
            if shown { store::get(rx, project, id).await } else { Ok(None) }
        }));
        let Some(segment) = read.await? else { return Ok(None) };
        self.count_in_background(project, segment, |_| None).await.map(Some)
    }

    /// Counts, and stores when the background work counts again, as far as `next` says so for the time it took.
    async fn count_in_background(
        &self,
        project: ProjectNumber,
        segment: Segment,
        next: impl FnOnce(Duration) -> Option<Timestamp>,
    ) -> Result<Duration> {
        let (id, before) = (segment.id, self.0.clock.now());
        let counted = self.count_segment(Door::Background(project), project, segment, before).await?;
        let cost = self.0.clock.now().since(before);
        let due_at = next(cost);
        let stored = self
            .0
            .db
            .write_in_background(
                body!(async |tx| store::set_counted(tx, project, id, counted, due_at).await),
            );
        stored.await?;
        Ok(cost)
    }
}
