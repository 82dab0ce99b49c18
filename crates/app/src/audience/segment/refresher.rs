//! The background work for segments: it judges contacts that changed, follows the passing of time, and counts.
//!
//! - **Changes.** Every transaction that changes a contact or appends an event notes the contact in `contact_changes`
//!   (`counter::Deltas`). A round takes notes of projects that have some and judges their contacts.
//! - **Time.** Conditions on `createdAt` and on events change at an instant that the ids give. A sweep once a second
//!   looks at the range of ids that left a window. It continues where the last sweep ended (`swept_to`), also after a
//!   pause of days. For `updatedAt` and dates in `data`, a contact is stored with the next instant at which it is to be
//!   judged again (`segment_timers`).
//! - **Counts** of segments whose members are not tracked, and new conditions, may take minutes. They run beside the
//!   rounds, one at a time for each project ([`ProjectWork`]), so no
//!   other project waits for them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mailwright_core::ids::{ContactId, EventId, ProjectNumber, SegmentId};
use mailwright_core::segment::{Segment, Sweep};
use mailwright_core::time::Timestamp;
use mailwright_store::Door;
use mailwright_store::audience::segment::{self as store, Swept, Upkeep};
use mailwright_store::insight::counter::Deltas;
use tokio::sync::Semaphore;

use super::live::{self, BATCH};
use crate::App;
use crate::background::project_work::ProjectWork;
use crate::background::runner::{Next, Runner, Work, every};
use crate::background::tasks::Tasks;
use crate::error::Result;

/// How often contacts that other processes changed are looked for.
const LOOK: Duration = Duration::from_millis(250);
/// The least time between two looks, however many hints there are.
const LEAST: Duration = Duration::from_millis(20);
/// How often windows that passed are looked for.
const SWEEP: Duration = Duration::from_secs(1);
/// How far behind the time the sweep stays where several processes have clocks of their own.
const MARGIN: Duration = Duration::from_millis(250);
/// How long a stretch of time in which nothing passed may become before that is noted.
const NOTE: Duration = Duration::from_mins(1);
/// Contacts found by one look at a stretch of time.
const PAGE: usize = 500;
/// Projects looked at together.
const PROJECTS: i64 = 500;
/// Projects worked on at the same time.
const TOGETHER: usize = 4;
/// Batches of one project before the others have their turn.
const TURN: usize = 50;
/// How often one transaction asks whether a contact is in a segment, about; it holds up others on SQLite meanwhile.
const MOST_JUDGED: usize = 20_000;
/// The fewest contacts of a batch, however many segments there are.
const LEAST_BATCH: usize = 20;
/// A count may take up to one part in so many of the time.
const SHARE: u32 = 50;

/// Starts the background work.
pub(crate) fn start(app: &App, tasks: &Tasks) {
    let judging =
        Judging { app: app.clone(), beside: Beside::new(tasks), tracks: true, looked_at: Instant::now() };
    let runner = Runner::new(app, "segment members", LOOK).woken_by(app.0.segments.waker()).resting(LEAST);
    runner.start(tasks, judging);
    every(app, tasks, "segment windows", SWEEP, |app| async move { app.sweep_segments().await });
    let look = app.settings().segments.refresh_interval.min(Duration::from_secs(5));
    every(app, tasks, "removed segments", look, |app| async move { app.clear_up().await });
    let counting = Counting { app: app.clone(), looking: ProjectWork::new(tasks) };
    Runner::new(app, "segment counts", look).start(tasks, counting);
}

/// Judges contacts that changed.
struct Judging {
    app: App,
    beside: Beside,
    /// Whether some project has tracked segments. Where none has, hints are not worth a look.
    tracks: bool,
    looked_at: Instant,
}

impl Work for Judging {
    async fn round(&mut self) -> Result<Next> {
        let rest = LOOK.saturating_sub(self.looked_at.elapsed());
        if !self.tracks && !rest.is_zero() {
            return Ok(Next::In(rest));
        }
        if rest.is_zero() {
            self.tracks = self.app.tracks_segments().await?;
            self.looked_at = Instant::now();
        }
        self.app.judge_changed(&self.beside).await?;
        self.app.start_recounts(&self.beside);
        Ok(Next::Woken)
    }
}

/// Looks at the segments that are due.
struct Counting {
    app: App,
    looking: ProjectWork,
}

impl Work for Counting {
    async fn round(&mut self) -> Result<Next> {
        self.app.look_at_due_segments(&self.looking).await?;
        Ok(Next::Woken)
    }
}

/// Tracked segments whose members are not all enrolled show a count, which is taken again after members changed.
#[derive(Default)]
struct Recounts(BTreeMap<(ProjectNumber, SegmentId), Recount>);

/// The recounts that are wanted, which are taken while contacts are judged.
type Wanted = Arc<Mutex<Recounts>>;

fn lock(wanted: &Wanted) -> MutexGuard<'_, Recounts> {
    wanted.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What goes on beside the rounds: none of it holds up what is done for another project.
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

struct Recount {
    wanted: bool,
    not_before: Timestamp,
}

impl Recounts {
    fn of(&mut self, project: ProjectNumber, segment: SegmentId) -> &mut Recount {
        self.0.entry((project, segment)).or_insert(Recount { wanted: false, not_before: Timestamp(0) })
    }

    fn want(&mut self, project: ProjectNumber, segments: BTreeSet<SegmentId>) {
        for segment in segments {
            self.of(project, segment).wanted = true;
        }
    }

    /// The projects with counts to take now. What is neither wanted nor to be waited for is forgotten.
    fn due(&mut self, now: Timestamp) -> BTreeSet<ProjectNumber> {
        self.0.retain(|_, recount| recount.wanted || recount.not_before > now);
        let due = self.0.iter().filter(|(_, recount)| recount.is_due(now));
        due.map(|((project, _), _)| *project).collect()
    }

    /// Takes the next count of a project to take now. It is wanted again if members change from here on.
    fn take(&mut self, project: ProjectNumber, now: Timestamp) -> Option<SegmentId> {
        let mut due = self.0.iter_mut().filter(|((of, _), recount)| *of == project && recount.is_due(now));
        let ((_, segment), recount) = due.next()?;
        recount.wanted = false;
        Some(*segment)
    }
}

impl Recount {
    fn is_due(&self, now: Timestamp) -> bool {
        self.wanted && self.not_before <= now
    }
}

impl App {
    async fn tracks_segments(&self) -> Result<bool> {
        let first = ProjectNumber(i64::MIN);
        let found =
            self.0.db.read(move |rx| Box::pin(async move { store::tracking(rx, first, 1).await })).await?;
        Ok(!found.is_empty())
    }

    /// Starts to judge the changed contacts of each project that is not being judged.
    async fn judge_changed(&self, beside: &Beside) -> Result<()> {
        let projects =
            self.0.db.read(|rx| Box::pin(async move { store::pending(rx, PROJECTS).await })).await?;
        for project in projects {
            let (app, of) = (self.clone(), beside.clone());
            beside.judging.start("segment upkeep", project, async move {
                if let Err(error) = app.judge_project(project, &of).await {
                    tracing::warn!(%error, project = project.0, "contacts could not be judged, trying again");
                }
            });
        }
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

    /// Judges the contacts of a project that changed. What it meets another transaction at is for a later round.
    async fn judge_project(&self, project: ProjectNumber, beside: &Beside) -> Result<()> {
        for _ in 0..TURN {
            let (live_segments, now) = (self.0.segments.clone(), self.0.clock.now());
            let turn = beside.turns.acquire().await;
            let judged = self.write_in_background(move |tx| {
                Box::pin(async move {
                    // whoever has the project goes on with it
                    let Some(upkeep) = store::lock_if_free(tx, project).await? else { return Ok(None) };
                    let live = live_segments.live(tx, project, upkeep.version).await?;
                    let batch = (MOST_JUDGED / live.len().max(1)).clamp(LEAST_BATCH, BATCH);
                    let taken = store::take(tx, project, batch).await?;
                    // clocks differ between processes, and nothing that was true is to become false again
                    let now = now.max(upkeep.swept_to).max(taken.newest);
                    let changed = live::judge(tx, project, &live, &taken.contacts, None, now).await?;
                    Ok(Some((changed, taken.entries == batch)))
                })
            });
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

    /// Counts the members of a segment by its condition, if that is what it shows; how long it took.
    async fn recount(&self, project: ProjectNumber, id: SegmentId) -> Result<Option<Duration>> {
        let read = self.0.db.read(move |rx| {
            Box::pin(async move {
                let shown = store::state(rx, project, id).await?.is_some_and(|state| !state.settled);
                if shown { store::get(rx, project, id).await } else { Ok(None) }
            })
        });
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
        let stored = self.0.db.write_in_background(move |tx| {
            Box::pin(async move { store::set_counted(tx, project, id, counted, due_at).await })
        });
        stored.await?;
        Ok(cost)
    }

    /// Finds the contacts that left a window although nothing happened to them.
    async fn sweep_segments(&self) -> Result<()> {
        let mut after = ProjectNumber(i64::MIN);
        loop {
            let read =
                self.0.db.read(move |rx| Box::pin(async move { store::tracking(rx, after, PROJECTS).await }));
            let projects = read.await?;
            let Some(last) = projects.last() else { return Ok(()) };
            after = *last;
            for project in projects {
                if let Err(error) = self.sweep_project(project).await {
                    tracing::warn!(%error, project = project.0, "passing windows were not followed, trying again");
                    self.0.db.ping().await?;
                }
            }
        }
    }

    async fn sweep_project(&self, project: ProjectNumber) -> Result<()> {
        let now = self.0.clock.now();
        let live_segments = self.0.segments.clone();
        let read = self.0.db.read(move |rx| {
            Box::pin(async move {
                let Some(upkeep) = store::upkeep(rx, project).await? else { return Ok(None) };
                let live = live_segments.live(rx, project, upkeep.version).await?;
                Ok(Some((upkeep, live.sweeps(), store::is_timer_due(rx, project, now).await?)))
            })
        });
        let Some((Upkeep { swept_to, .. }, sweeps, timer_due)) = read.await? else { return Ok(()) };
        let until = if self.0.db.is_shared() { now.minus(MARGIN) } else { now };
        let mut found = 0;
        if until > swept_to {
            for sweep in &sweeps {
                found += self.sweep(project, sweep, swept_to, until).await?;
            }
        }
        if found > 0 || until > swept_to.plus(NOTE) {
            let noted = self.0.db.write_in_background(move |tx| {
                Box::pin(async move { store::sweep_done(tx, project, swept_to, until).await })
            });
            noted.await?;
        }
        while timer_due && self.fire_timers(project, now).await? {}
        Ok(())
    }

    /// Queues the contacts that left a window between two instants; how many.
    async fn sweep(
        &self,
        project: ProjectNumber,
        sweep: &Sweep,
        from: Timestamp,
        until: Timestamp,
    ) -> Result<usize> {
        let (first, end) = (from.minus(sweep.length), until.minus(sweep.length));
        let mut found = 0;
        match sweep.event.clone() {
            None => {
                let mut next = Some(ContactId::first_of(first));
                while let Some(from) = next {
                    let read = self.0.db.read(move |rx| {
                        Box::pin(async move { store::created_between(rx, project, from, end, PAGE).await })
                    });
                    let page: Swept<ContactId> = read.await?;
                    next = page.next;
                    found += self.judge_soon(project, page.contacts, until).await?;
                }
            }
            Some(name) => {
                let mut next = Some(EventId::first_of(first));
                while let Some(from) = next {
                    let name = name.clone();
                    let read = self.0.db.read(move |rx| {
                        Box::pin(
                            async move { store::events_between(rx, project, &name, from, end, PAGE).await },
                        )
                    });
                    let page: Swept<EventId> = read.await?;
                    next = page.next;
                    found += self.judge_soon(project, page.contacts, until).await?;
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
            let queued = self.0.db.write_in_background(move |tx| {
                Box::pin(async move {
                    let mut deltas = Deltas::default();
                    for contact in contacts {
                        deltas.touch(project, contact, at);
                    }
                    deltas.save(tx).await
                })
            });
            queued.await?;
            self.wake_segments();
        }
        Ok(count)
    }

    /// Queues contacts whose time to be judged again has come. Returns whether there may be more.
    async fn fire_timers(&self, project: ProjectNumber, now: Timestamp) -> Result<bool> {
        let fired = self.write_in_background(move |tx| {
            Box::pin(async move {
                let due = store::take_timers(tx, project, now, PAGE as i64).await?;
                let mut deltas = Deltas::default();
                for contact in &due {
                    deltas.touch(project, *contact, now);
                }
                deltas.save(tx).await?;
                Ok(due.len())
            })
        });
        let fired = fired.await?;
        self.wake_segments();
        Ok(fired == PAGE)
    }

    /// Removes what segments left behind that were removed.
    async fn clear_up(&self) -> Result<()> {
        let projects =
            self.0.db.read(|rx| Box::pin(async move { store::removals(rx, PROJECTS).await })).await?;
        for project in projects {
            if let Err(error) = self.clear_up_project(project).await {
                tracing::warn!(%error, project = project.0, "removed segments were not cleared up, trying again");
                self.0.db.ping().await?;
            }
        }
        Ok(())
    }

    async fn clear_up_project(&self, project: ProjectNumber) -> Result<()> {
        let step = || {
            self.0.db.write_in_background(move |tx| {
                Box::pin(async move { store::remove_members_step(tx, project).await })
            })
        };
        while step().await? {}
        Ok(())
    }

    /// Starts to look at the due segments of each project that is not being looked at.
    async fn look_at_due_segments(&self, looking: &ProjectWork) -> Result<()> {
        let now = self.0.clock.now();
        let read =
            self.0.db.read(move |rx| Box::pin(async move { store::due_projects(rx, now, PROJECTS).await }));
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
            let turn = self.0.segments.turn().await;
            let claim = self.0.db.write_in_background(move |tx| {
                Box::pin(async move { store::claim_due(tx, project, now, now.plus(interval)).await })
            });
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
        let read = self.0.db.read(move |rx| Box::pin(async move { store::get(rx, project, id).await }));
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_taken_once_and_again_when_members_change_meanwhile() {
        let (project, other) = (ProjectNumber(1), ProjectNumber(2));
        let segment = SegmentId::new(Timestamp(1), rand::random());
        let mut recounts = Recounts::default();
        recounts.want(project, BTreeSet::from([segment]));
        assert_eq!(recounts.due(Timestamp(10)), BTreeSet::from([project]));
        assert_eq!(recounts.take(other, Timestamp(10)), None);
        assert_eq!(recounts.take(project, Timestamp(10)), Some(segment));
        assert_eq!(recounts.take(project, Timestamp(10)), None, "it is being taken");
        assert!(recounts.due(Timestamp(10)).is_empty());

        recounts.want(project, BTreeSet::from([segment]));
        recounts.of(project, segment).not_before = Timestamp(20);
        assert!(recounts.due(Timestamp(19)).is_empty(), "it has to wait");
        assert_eq!(recounts.due(Timestamp(20)), BTreeSet::from([project]));
        assert_eq!(recounts.take(project, Timestamp(20)), Some(segment));
        recounts.due(Timestamp(20));
        assert!(recounts.0.is_empty(), "what nobody wants is forgotten");
    }
}
