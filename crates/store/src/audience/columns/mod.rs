//! The columns that filters of large projects are judged by, in the memory of this process.
//!
//! A count over custom data reads the JSON of every contact. So the first filter on some fields of a large project has
//! these fields, and whatever else it looks at, read in the background ([`load`]), and from then on filters are judged
//! in memory (`core::filter::columns`). Until then, and for what columns do not know, the database counts.
//!
//! Every transaction puts the contacts that it changes into a log ([`contact_log`](super::contact_log)), and columns
//! follow it ([`kept`]): the contacts that changed are read anew, in one snapshot together with the log, so that columns
//! are true of one moment. A count asks the log first. If few contacts changed, it reads them and is exact as of now. If
//! many did, it is exact as of a moment up to [`FRESH`] ago.
//!
//! All columns of a process take a bounded amount of memory; those that were not used for the longest go first.

mod kept;
mod load;
mod save;
mod start;
mod step;
mod unsaved;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mailwright_core::filter::Filter;
use mailwright_core::filter::columns::{Aspect, Bits, Columns};
use mailwright_core::ids::{ContactId, ProjectNumber, SegmentId};
use mailwright_core::time::{Clock, Timestamp};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::audience::filter::Segments;
use crate::audience::saved_columns;
use crate::body;
use crate::database::db::Db;
use crate::database::error::{Error, Result};
use crate::insight::counter::{self, Counter};

use kept::Kept;

/// How old a moment may be that an answer is true of.
pub const FRESH: Duration = Duration::from_secs(1);
/// Columns that nobody asked for this long are let go.
const IDLE: Duration = Duration::from_mins(30);
/// For how long a filter waits while columns are read that were saved.
const MOMENT: Duration = Duration::from_secs(1);
/// How long the loading of columns rests after it failed, and columns that did not fit in are not tried again.
const REST: Duration = Duration::from_mins(1);

/// Columns that are of no use: they take too much memory.
#[derive(Debug, Clone, Copy)]
struct Unfit;

/// What limits columns.
#[derive(Debug, Clone, Copy)]
pub struct ColumnLimits {
    /// Most bytes of all columns of this process together; 0 for no columns at all.
    pub bytes: usize,
    /// Projects with fewer contacts have none: the database counts quickly enough.
    pub contacts: i64,
}

/// The columns of this process. Cheap to clone.
#[derive(Debug, Clone)]
pub struct AudienceColumns(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    db: Db,
    clock: Clock,
    limits: ColumnLimits,
    projects: Mutex<BTreeMap<ProjectNumber, Entry>>,
}

#[derive(Debug)]
struct Entry {
    kept: Option<Arc<Kept>>,
    used: Instant,
    loading: Option<Loading>,
    /// Loading is not tried again before.
    not_before: Option<Instant>,
}

/// What is asked of columns; `None` where one is missing.
type Judge<T> = Arc<dyn Fn(&Columns) -> Option<T> + Send + Sync>;

/// Of when an answer has to be true.
#[derive(Debug, Clone, Copy)]
enum AsOf {
    /// Of a moment up to [`FRESH`] before the question.
    Lately,
    /// Of a moment after it.
    Now,
}

/// Columns that are being loaded.
#[derive(Debug)]
struct Loading {
    task: AbortHandle,
    /// Closed when the task is over.
    over: watch::Receiver<()>,
}

/// What was found in columns.
#[derive(Debug)]
pub struct Found {
    /// How many contacts.
    pub count: i64,
    /// The newest of them, as many as were asked for.
    pub newest: Vec<ContactId>,
}

/// Which contacts are asked for, the newest first.
#[derive(Debug, Clone, Copy, Default)]
pub struct Page {
    /// Those after this one.
    pub after: Option<ContactId>,
    /// So many are passed over.
    pub offset: usize,
    /// So many at most.
    pub limit: usize,
}

impl AudienceColumns {
    /// No columns yet.
    pub fn new(db: Db, clock: Clock, limits: ColumnLimits) -> Self {
        Self(Arc::new(Shared { db, clock, limits, projects: Mutex::default() }))
    }

    /// What filters find, judged at `now`, of the contacts as they are or were up to [`FRESH`] ago. `None` where there are
    /// no columns for it; then they are loaded in the background, if they can be. One call judges a project at a time.
    pub async fn find(
        &self,
        project: ProjectNumber,
        filters: Vec<Filter>,
        segments: &Segments,
        now: Timestamp,
        page: Page,
    ) -> Result<Option<Vec<Found>>> {
        let aspects = filters.iter().flat_map(|filter| filter.aspects(segments.trees())).collect();
        let trees = segments.trees().clone();
        let judge = move |columns: &Columns| {
            let found = filters.iter().map(|filter| {
                let found = columns.find(filter, &trees, now)?;
                Some(page_of(columns, &found, page))
            });
            found.collect()
        };
        self.ask(project, aspects, AsOf::Lately, Arc::new(judge)).await
    }

    /// The contacts of whom a filter, judged at `now`, says another thing than that they are stored members of a segment,
    /// and those that `also` finds; of the contacts as they are now. `None` as in [`AudienceColumns::find`].
    pub async fn differing(
        &self,
        project: ProjectNumber,
        segment: SegmentId,
        (filter, also): (Arc<Filter>, Option<Arc<Filter>>),
        segments: &Segments,
        now: Timestamp,
    ) -> Result<Option<Vec<ContactId>>> {
        let trees = segments.trees().clone();
        let filters = [Some(&filter), also.as_ref()].into_iter().flatten();
        let mut aspects: BTreeSet<Aspect> = filters.flat_map(|filter| filter.aspects(&trees)).collect();
        aspects.insert(Aspect::Segment(segment));
        let judge = move |columns: &Columns| {
            let mut found = columns.find(&filter, &trees, now)?.differing(columns.members(segment)?);
            if let Some(also) = &also {
                found = found.or(&columns.find(also, &trees, now)?);
            }
            Some(columns.newest(&found, None).collect())
        };
        self.ask(project, aspects, AsOf::Now, Arc::new(judge)).await
    }

    async fn ask<T: Send + 'static>(
        &self,
        project: ProjectNumber,
        aspects: BTreeSet<Aspect>,
        as_of: AsOf,
        judge: Judge<T>,
    ) -> Result<Option<T>> {
        if !self.is_on() {
            return Ok(None);
        }
        let found = self.ask_now(project, as_of, Arc::clone(&judge)).await?;
        if found.is_some() {
            return Ok(found);
        }
        let Some(mut over) = self.load_soon(project, &aspects).await? else { return Ok(None) };
        let behind = self.0.db.read(body!(async |rx| saved_columns::behind(rx, project, &aspects).await));
        if behind.await?.is_none() {
            return Ok(None);
        }
        _ = tokio::time::timeout(MOMENT, over.changed()).await;
        self.ask_now(project, as_of, judge).await
    }

    /// Asks the columns that there are.
    async fn ask_now<T: Send + 'static>(
        &self,
        project: ProjectNumber,
        as_of: AsOf,
        judge: Judge<T>,
    ) -> Result<Option<T>> {
        let Some(kept) = self.0.kept(project) else { return Ok(None) };
        let turn = kept.turn().await;
        match as_of {
            AsOf::Lately => kept.be_fresh().await?,
            AsOf::Now => kept.catch_up().await?,
        }
        let state = kept.read().await;
        let found = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            judge(state.columns()?)
        });
        found.await.map_err(|e| Error::Panicked(e.to_string()))
    }

    /// Bytes of memory that all columns take.
    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }

    /// Reads what changed, gives positions in the logs, and lets go what nobody used for long. To be called a few times
    /// a second.
    pub async fn round(&self) -> Result<()> {
        let mut outcome = Ok(());
        for (_, kept) in self.0.in_use() {
            // one project does not keep the others from their turn
            outcome = outcome.and(kept.catch_up().await);
        }
        outcome
    }

    /// Saves columns where it is time to. To be called every few seconds.
    pub async fn save(&self) -> Result<()> {
        let mut outcome = Ok(());
        for (project, kept) in self.0.in_use() {
            let saved = match kept.save().await {
                Ok(others) if others.is_empty() => Ok(()),
                Ok(others) => self.0.join(project, &kept, others).await,
                Err(error) => Err(error),
            };
            outcome = outcome.and(saved);
        }
        outcome
    }

    /// Whether there may be columns at all.
    pub fn is_on(&self) -> bool {
        self.0.limits.bytes > 0
    }

    /// Has columns loaded in the background, unless they are already. Tells when that is over; `None` where it was not
    /// begun.
    async fn load_soon(
        &self,
        project: ProjectNumber,
        aspects: &BTreeSet<Aspect>,
    ) -> Result<Option<watch::Receiver<()>>> {
        let count =
            self.0.db.read(body!(async |rx| counter::value(rx, project, Counter::Contacts, "").await));
        if count.await? < self.0.limits.contacts {
            return Ok(None);
        }
        let mut projects = self.0.projects();
        let entry = projects.entry(project).or_insert_with(Entry::new);
        if let Some(loading) = entry.loading.as_ref().filter(|loading| !loading.task.is_finished()) {
            return Ok(Some(loading.over.clone()));
        }
        if entry.not_before.is_some_and(|at| Instant::now() < at) {
            return Ok(None);
        }
        let (shared, aspects, (is_over, over)) = (Arc::clone(&self.0), aspects.clone(), watch::channel(()));
        let task = tokio::spawn(async move {
            shared.load(project, aspects).await;
            drop(is_over);
        });
        entry.loading = Some(Loading { task: task.abort_handle(), over: over.clone() });
        Ok(Some(over))
    }
}

fn page_of(columns: &Columns, found: &Bits, page: Page) -> Found {
    let newest = columns.newest(found, page.after).skip(page.offset).take(page.limit).collect();
    Found { count: found.count() as i64, newest }
}

impl Entry {
    fn new() -> Self {
        Self { kept: None, used: Instant::now(), loading: None, not_before: None }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let projects = self.projects.get_mut().unwrap_or_else(PoisonError::into_inner);
        for loading in projects.values().filter_map(|entry| entry.loading.as_ref()) {
            loading.task.abort();
        }
    }
}

impl Shared {
    fn projects(&self) -> MutexGuard<'_, BTreeMap<ProjectNumber, Entry>> {
        self.projects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self, project: ProjectNumber) -> Option<Arc<Kept>> {
        let mut projects = self.projects();
        let entry = projects.get_mut(&project)?;
        entry.used = Instant::now();
        entry.kept.clone()
    }

    /// The columns that were used lately; others are let go.
    fn in_use(&self) -> Vec<(ProjectNumber, Arc<Kept>)> {
        let mut projects = self.projects();
        for entry in projects.values_mut().filter(|entry| entry.used.elapsed() > IDLE) {
            entry.kept = None;
        }
        projects.retain(|_, entry| entry.used.elapsed() <= IDLE.max(REST));
        projects.iter().filter_map(|(project, entry)| Some((*project, entry.kept.clone()?))).collect()
    }

    fn bytes(&self) -> usize {
        let projects = self.projects();
        let all = projects.values().filter_map(|entry| entry.kept.as_ref());
        all.map(|kept| kept.bytes()).sum()
    }

    /// Loads columns, and those that there are already.
    async fn load(&self, project: ProjectNumber, aspects: BTreeSet<Aspect>) {
        let before = self.kept(project);
        let outcome = self.loaded(project, before.as_deref(), aspects).await;
        let mut projects = self.projects();
        let entry = projects.entry(project).or_insert_with(Entry::new);
        match outcome {
            Ok(Ok(kept)) => {
                entry.kept = Some(Arc::new(kept));
                entry.used = Instant::now();
            }
            Ok(Err(Unfit)) => {
                entry.kept = None;
                tracing::info!(project = project.0, "the columns of a project take too much memory");
                entry.not_before = Some(Instant::now() + REST);
            }
            Err(error) => {
                tracing::debug!(%error, project = project.0, "the columns of a project cannot be loaded for now");
                entry.not_before = Some(Instant::now() + REST);
            }
        }
        drop(projects);
        self.make_room(project);
    }

    async fn loaded(
        &self,
        project: ProjectNumber,
        before: Option<&Kept>,
        mut aspects: BTreeSet<Aspect>,
    ) -> Result<Result<Kept, Unfit>> {
        if let Some(before) = before {
            aspects.extend(before.aspects().await);
        }
        Kept::load((&self.db, &self.clock), project, &aspects, self.limits.bytes).await
    }

    /// Loads what others have saved as well, so that what is saved next has it too.
    async fn join(&self, project: ProjectNumber, kept: &Kept, aspects: BTreeSet<Aspect>) -> Result<()> {
        match self.loaded(project, Some(kept), aspects).await? {
            Ok(kept) => {
                if let Some(entry) = self.projects().get_mut(&project) {
                    entry.kept = Some(Arc::new(kept));
                }
            }
            Err(Unfit) => kept.leave_saving_to_others().await,
        }
        self.make_room(project);
        Ok(())
    }

    /// Lets go of what was not used for the longest, until all is within the limit. `project` goes last.
    fn make_room(&self, project: ProjectNumber) {
        while self.bytes() > self.limits.bytes {
            let mut projects = self.projects();
            let others = projects.iter_mut().filter(|(_, entry)| entry.kept.is_some());
            let Some((_, entry)) = others.min_by_key(|(number, entry)| (**number == project, entry.used))
            else {
                return;
            };
            entry.kept = None;
        }
    }
}
