//! Judging the contacts that changed, and counting again what they changed.
//!
//! Every transaction that changes a contact or appends an event notes the contact in `contact_changes`
//! (`deltas::Deltas`). A round takes notes of projects that have some and judges their contacts.

use std::sync::Arc;
use std::time::Instant;

use mailwright_core::ids::ProjectNumber;
use mailwright_store::audience::segment as store;
use mailwright_store::body;
use mailwright_store::sending::held::epoch;
use tokio::sync::Semaphore;

use super::pace::{LEAST_BATCH, LOOK, MOST_JUDGED, PROJECTS, SHARE, TOGETHER, TURN};
use super::recounts::{Wanted, lock};
use crate::App;
use crate::audience::segment::live::{self, BATCH};
use crate::background::project_work::ProjectWork;
use crate::background::runner::{Next, Work};
use crate::background::tasks::Tasks;
use crate::error::Result;

/// Judges contacts that changed.
pub(super) struct Judging {
    app: App,
    beside: Beside,
    /// Whether some project has tracked segments. Where none has, hints are not worth a look.
    tracks: bool,
    looked_at: Instant,
}

impl Judging {
    pub(super) fn new(app: &App, tasks: &Tasks) -> Self {
        Self { app: app.clone(), beside: Beside::new(tasks), tracks: true, looked_at: app.clock().steady() }
    }
}

impl Work for Judging {
    async fn round(&mut self) -> Result<Next> {
        let now = self.app.clock().steady();
        let rest = LOOK.saturating_sub(now.saturating_duration_since(self.looked_at));
        if !self.tracks && !rest.is_zero() {
            return Ok(Next::In(rest));
        }
        if rest.is_zero() {
            self.tracks = self.app.tracks_segments().await?;
            self.looked_at = now;
        }
        self.app.judge_changed(&self.beside).await?;
        self.app.start_recounts(&self.beside);
        Ok(Next::Woken)
    }
}

/// The work beside the rounds, which does not delay the work for other projects.
#[derive(Clone)]
struct Beside {
    /// The projects whose contacts are judged.
    judging: ProjectWork,
    /// The permits to do so: few projects are judged at the same time.
    turns: Arc<Semaphore>,
    /// The projects whose segments are counted.
    counting: ProjectWork,
    wanted: Wanted,
}

impl Beside {
    fn new(tasks: &Tasks) -> Self {
        Self {
            judging: ProjectWork::new(tasks),
            turns: Arc::new(Semaphore::new(TOGETHER)),
            counting: ProjectWork::new(tasks),
            wanted: Wanted::default(),
        }
    }
}

impl App {
    async fn tracks_segments(&self) -> Result<bool> {
        let first = ProjectNumber(i64::MIN);
        let found = self.read(body!(async |rx| store::tracking(rx, first, 1).await)).await?;
        Ok(!found.is_empty())
    }

    /// Starts to judge the changed contacts of each project that is not being judged.
    async fn judge_changed(&self, beside: &Beside) -> Result<()> {
        let projects = self.read(body!(async |rx| store::pending(rx, PROJECTS).await)).await?;
        for project in projects {
            let (app, of) = (self.clone(), beside.clone());
            beside.judging.start("segment changes", project, async move {
                if let Err(error) = app.judge_project(project, &of).await {
                    tracing::warn!(%error, project = project.0, "contacts could not be evaluated, trying \
                        again");
                }
            });
        }
        Ok(())
    }

    /// Judges the contacts of a project that changed. What it meets another transaction at is for a later round.
    async fn judge_project(&self, project: ProjectNumber, beside: &Beside) -> Result<()> {
        for _ in 0..TURN {
            let (live_segments, now) = (self.0.audience.segments.clone(), self.0.clock.now());
            let turn = beside.turns.acquire().await;
            let judged = self.write_in_background(body!(async |tx| {
                // whoever has the project goes on with it
                let Some(state) = store::lock_if_free(tx, project).await? else { return Ok(None) };
                let live = live_segments.live(tx, project, state.version).await?;
                let batch = (MOST_JUDGED / live.len().max(1)).clamp(LEAST_BATCH, BATCH);
                let taken = store::take(tx, project, batch).await?;
                // clocks differ between processes, and nothing that was true is to become false again
                let now = now.max(state.swept_to).max(taken.newest);
                let lost = epoch::stretch(tx).await?.filter(|stretch| stretch.covers(taken.oldest));
                let changed = live::judge(tx, project, &live, &taken.contacts, None, lost, now).await?;
                Ok(Some((changed, taken.entries == batch)))
            }));
            let judged = judged.await;
            drop(turn);
            let (segments, more) = match judged {
                Ok(Some(judged)) => judged,
                Ok(None) => return Ok(()),
                Err(error) if error.is_contention() => return Ok(()),
                Err(error) => return Err(error),
            };
            lock(&beside.wanted).want(project, segments);
            if !more {
                break;
            }
        }
        // for counts that are wanted now, and for whoever changed meanwhile
        self.wake_segments();
        Ok(())
    }

    /// Starts the due counts of each project that is not being counted.
    fn start_recounts(&self, beside: &Beside) {
        let due = lock(&beside.wanted).due(self.0.clock.now());
        for project in due {
            let (app, of) = (self.clone(), beside.clone());
            beside.counting.start("segment recounts", project, async move {
                app.recount_project(project, &of.wanted, &of.counting).await;
            });
        }
    }

    /// Takes the counts of a project that are due. One that fails is taken again after the interval.
    async fn recount_project(&self, project: ProjectNumber, wanted: &Wanted, counting: &ProjectWork) {
        let began = Instant::now();
        while counting.goes_on(began) {
            let now = self.0.clock.now();
            let Some(segment) = lock(wanted).take(project, now) else { return };
            let counted = self.recount(project, segment).await;
            let mut recounts = lock(wanted);
            let recount = recounts.of(project, segment);
            match counted {
                Ok(Some(cost)) => recount.not_before = now.plus((cost * SHARE).max(LOOK)),
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(%error, project = project.0, %segment, "a segment could not be counted");
                    recount.wanted = true;
                    recount.not_before = self.0.clock.now().plus(self.settings().segments.refresh_interval);
                }
            }
        }
    }
}
