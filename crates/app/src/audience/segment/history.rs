//! How the sizes of segments change over time: one number a day, of UTC.
//!
//! The background work notes what each segment shows several times a day, so that the last of a day stays. It reads the
//! numbers that segments show anyway and counts nothing.

use std::time::Duration;

use mailwright_core::ids::{ProjectNumber, SegmentId};
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use mailwright_store::audience::segment::history as store;
use mailwright_store::body;

use crate::App;
use crate::background::runner::every;
use crate::background::tasks::Tasks;
use crate::error::Result;

/// For how many days sizes are kept.
pub const DAYS_KEPT: i64 = 400;
/// How often what segments show is noted.
const NOTING: Duration = Duration::from_mins(15);
/// Sizes that one transaction removes.
const FORGET: i64 = 500;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

pub(super) fn start(app: &App, tasks: &Tasks) {
    every(app, tasks, "segment sizes", NOTING, |app| async move { app.note_segment_sizes().await });
}

impl App {
    /// The sizes of a segment on the last days, the oldest first, with that of today as it is now. Days of which nothing
    /// was noted are missing.
    pub async fn segment_sizes(
        &self,
        project: &Project,
        id: SegmentId,
        days: i64,
    ) -> Result<Vec<(Timestamp, i64)>> {
        let (number, today) = (project.number, day(self.0.clock.now()));
        let segment = self.segment(project, id).await?;
        let read = self.read(body!(async |rx| store::sizes(rx, number, id, today - days + 1).await));
        let mut sizes = read.await?;
        sizes.retain(|(day, _)| *day < today);
        sizes.push((today, segment.member_count));
        Ok(sizes.into_iter().map(|(day, size)| (Timestamp(day * DAY_MS), size)).collect())
    }

    /// Notes the sizes of all segments, and removes those that are too old.
    async fn note_segment_sizes(&self) -> Result<()> {
        let today = day(self.0.clock.now());
        let job = |number: ProjectNumber| async move {
            if !self.read(body!(async |rx| store::is_behind(rx, number, today).await)).await? {
                return Ok(());
            }
            let noted = self.0.db.write_in_background(body!(async |tx| store::note(tx, number, today).await));
            noted.await?;
            let oldest = today - DAYS_KEPT + 1;
            while self
                .0
                .db
                .write_in_background(body!(async |tx| store::forget(tx, number, oldest, FORGET).await))
                .await?
                > 0
            {}
            Ok(())
        };
        self.each_project(job, "segment sizes").await
    }
}

/// The day of an instant, counted from 1970.
fn day(at: Timestamp) -> i64 {
    at.0.div_euclid(DAY_MS)
}
