//! Finding the contacts that are to be judged again because time passed.
//!
//! Conditions on `createdAt` and on events change at an instant that the ids give. A sweep once a second looks at the
//! range of ids that left a window. It continues where the last sweep ended (`swept_to`), also after a pause of days. For
//! `updatedAt` and dates in `data`, a contact is stored with the next instant at which it is to be judged again
//! (`segment_timers`).

use mailwright_core::ids::{ContactId, EventId, ProjectNumber};
use mailwright_core::segment::Sweep;
use mailwright_core::time::Timestamp;
use mailwright_store::audience::segment::{self as store, Swept, Tracking};
use mailwright_store::body;
use mailwright_store::insight::deltas::Deltas;
use mailwright_store::sending::held::epoch;

use super::pace::{MARGIN, NOTE, PAGE, PROJECTS};
use crate::App;
use crate::error::Result;

impl App {
    /// Finds the contacts that left a window although nothing happened to them.
    pub(super) async fn sweep_segments(&self) -> Result<()> {
        let mut after = ProjectNumber(i64::MIN);
        loop {
            let read = self.read(body!(async |rx| store::tracking(rx, after, PROJECTS).await));
            let projects = read.await?;
            let Some(last) = projects.last() else { return Ok(()) };
            after = *last;
            for project in projects {
                if let Err(error) = self.sweep_project(project).await {
                    tracing::warn!(%error, project = project.0, "segment windows were not evaluated, trying \
                        again");
                    self.0.db.ping().await?;
                }
            }
        }
    }

    async fn sweep_project(&self, project: ProjectNumber) -> Result<()> {
        let now = self.0.clock.now();
        let live_segments = self.0.audience.segments.clone();
        let read = self.read(body!(async |rx| {
            let Some(state) = store::tracking_state(rx, project).await? else { return Ok(None) };
            let live = live_segments.live(rx, project, state.version).await?;
            let stretch = epoch::stretch(rx).await?;
            Ok(Some((state, live.sweeps(), store::is_timer_due(rx, project, now).await?, stretch)))
        }));
        let Some((Tracking { swept_to, .. }, sweeps, timer_due, stretch)) = read.await? else {
            return Ok(());
        };
        // what left a window in a stretch that a restore lost may have been noticed in it: it is noted at its end
        let lost_to = stretch.filter(|stretch| stretch.covers(swept_to)).map(|stretch| stretch.until);
        let until = if self.0.db.is_shared() { now.minus(MARGIN) } else { now };
        let mut found = 0;
        if until > swept_to {
            for sweep in &sweeps {
                found += self.sweep(project, sweep, (swept_to, until), lost_to.unwrap_or(until)).await?;
            }
        }
        if found > 0 || until > swept_to.plus(NOTE) {
            self.0
                .db
                .write_in_background(body!(async |tx| store::sweep_done(tx, project, swept_to, until).await))
                .await?;
        }
        while timer_due && self.fire_timers(project, now, lost_to.unwrap_or(now)).await? {}
        Ok(())
    }

    /// Queues the contacts that left a window between two instants, as of `at`; how many.
    async fn sweep(
        &self,
        project: ProjectNumber,
        sweep: &Sweep,
        (from, until): (Timestamp, Timestamp),
        at: Timestamp,
    ) -> Result<usize> {
        let (first, end) = (from.minus(sweep.length), until.minus(sweep.length));
        let mut found = 0;
        match sweep.event.clone() {
            None => {
                let mut next = Some(ContactId::first_of(first));
                while let Some(from) = next {
                    let read = self
                        .read(body!(async |rx| store::created_between(rx, project, from, end, PAGE).await));
                    let page: Swept<ContactId> = read.await?;
                    next = page.next;
                    found += self.judge_soon(project, page.contacts, at).await?;
                }
            }
            Some(name) => {
                let mut next = Some(EventId::first_of(first));
                while let Some(from) = next {
                    let name = name.clone();
                    let read = self
                        .read(body!(
                            async |rx| store::events_between(rx, project, &name, from, end, PAGE).await
                        ));
                    let page: Swept<EventId> = read.await?;
                    next = page.next;
                    found += self.judge_soon(project, page.contacts, at).await?;
                }
            }
        }
        Ok(found)
    }

    async fn judge_soon(
        &self,
        project: ProjectNumber,
        contacts: Vec<ContactId>,
        at: Timestamp,
    ) -> Result<usize> {
        let count = contacts.len();
        if count > 0 {
            self.0
                .db
                .write_in_background(body!(async |tx| {
                    let mut deltas = Deltas::default();
                    for contact in contacts {
                        deltas.touch(project, contact, at);
                    }
                    deltas.save(tx).await
                }))
                .await?;
            self.wake_segments();
        }
        Ok(count)
    }

    /// Queues contacts whose time to be judged again has come, as of `at`. Returns whether there may be more.
    async fn fire_timers(&self, project: ProjectNumber, now: Timestamp, at: Timestamp) -> Result<bool> {
        let fired = self.write_in_background(body!(async |tx| {
            let due = store::take_timers(tx, project, now, PAGE as i64).await?;
            let mut deltas = Deltas::default();
            for contact in &due {
                deltas.touch(project, *contact, at);
            }
            deltas.save(tx).await?;
            Ok(due.len())
        }));
        let fired = fired.await?;
        self.wake_segments();
        Ok(fired == PAGE)
    }
}
