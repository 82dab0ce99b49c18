//! Gives places in the log to what was committed, and removes what is old.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mailwright_core::ids::ProjectNumber;
use mailwright_store::body;
use mailwright_store::database::placed_log::{Old, PLACED_AT_ONCE};
use mailwright_store::insight::activity_log as store;

use super::{Followed, locked};
use crate::App;
use crate::background::runner::{Next, Runner, Work};
use crate::background::tasks::Tasks;
use crate::error::Result;

/// How often it is looked for what happened, while somebody follows.
const LOOK: Duration = Duration::from_millis(250);
/// How often it is noted that somebody still follows.
const NOTED: Duration = Duration::from_mins(1);
/// How often it is looked where nobody follows.
const SWEEP: Duration = Duration::from_mins(1);

struct Placing {
    app: App,
    noted: Option<Instant>,
}

impl Work for Placing {
    async fn round(&mut self) -> Result<Next> {
        let all: Vec<Arc<Followed>> = locked(&self.app.0.insight.stream.followed).values().cloned().collect();
        if all.is_empty() {
            return Ok(Next::Woken);
        }
        let is_to_note = self.noted.is_none_or(|noted| noted.elapsed() >= NOTED);
        for followed in all {
            if let Err(error) = self.look(&followed, is_to_note).await {
                let project = followed.project.0;
                tracing::warn!(%error, project, "the feed of a project cannot be followed for now");
                self.app.0.db.ping().await?;
            }
        }
        if is_to_note {
            self.noted = Some(Instant::now());
        }
        Ok(Next::In(LOOK))
    }

    async fn stop(&mut self) {
        self.app.0.insight.stream.end();
    }
}

impl Placing {
    async fn look(&self, followed: &Followed, is_to_note: bool) -> Result<()> {
        let project = followed.project;
        if is_to_note {
            let now = self.app.clock().now();
            self.app
                .write(body!(async |tx| Ok(store::LOG.follow(tx, project, now).await.map(drop)?)))
                .await?;
        }
        let newest = self.app.place_all(project).await?;
        followed.newest.send_if_modified(|known| std::mem::replace(known, newest.max(*known)) < newest);
        Ok(())
    }
}

impl App {
    /// Starts to look for what happens where somebody follows. Every process that answers requests does so.
    pub fn start_streams(&self, tasks: &Tasks) {
        let work = Placing { app: self.clone(), noted: None };
        Runner::new(self, "activity streams", SWEEP)
            .woken_by(&self.0.insight.stream.waker)
            .start(tasks, work);
    }

    /// Gives places to all that was committed by now. Returns the newest place.
    pub(super) async fn place_all(&self, project: ProjectNumber) -> Result<i64> {
        loop {
            let (has_new, head) = self
                .read(body!(async |rx| {
                    // the head last: it has the places of all rows that were seen to have one
                    Ok((store::LOG.has_new(rx, project).await?, store::LOG.head(rx, project).await?))
                }))
                .await?;
            if !has_new {
                return Ok(head.map_or(0, |head| head.position));
            }
            let now = self.clock().now();
            let placed = self.write(body!(async |tx| Ok(store::LOG.place_new(tx, project, now).await?)));
            let (newest, placed) = placed.await?;
            if placed < PLACED_AT_ONCE as u64 {
                return Ok(newest);
            }
        }
    }

    /// Removes what is old of the log of a project.
    pub(crate) async fn forget_log(&self, project: ProjectNumber) -> Result<()> {
        if self.read(body!(async |rx| store::LOG.head(rx, project).await)).await?.is_none() {
            return Ok(()); // nobody ever followed
        }
        let now = self.clock().now();
        let before = now.minus(self.settings().activity.stream_kept);
        while self
            .write_bulk(body!(async |tx| Ok(store::LOG
                .remove_old(tx, project, Old::before(before), now)
                .await?)))
            .await?
        {}
        Ok(())
    }
}
