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

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mailwright_core::filter::Filter;
use mailwright_core::filter::columns::{Aspect, Bits, Columns};
use mailwright_core::ids::{ContactId, ProjectNumber};
use mailwright_core::time::{Clock, Timestamp};
use tokio::task::AbortHandle;

use crate::audience::filter::Segments;
use crate::body;
use crate::database::db::Db;
use crate::database::error::{Error, Result};
use crate::insight::counter::{self, Counter};

use kept::Kept;

/// How old a moment may be that an answer is true of.
pub const FRESH: Duration = Duration::from_secs(1);
/// Columns that nobody asked for this long are let go.
const IDLE: Duration = Duration::from_mins(30);
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
    loading: Option<AbortHandle>,
    /// Loading is not tried again before.
    not_before: Option<Instant>,
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
        let aspects: BTreeSet<Aspect> =
            filters.iter().flat_map(|filter| filter.aspects(segments.trees())).collect();
        // who is a stored member is not in the log
        if !self.is_on() || aspects.iter().any(|aspect| matches!(aspect, Aspect::Segment(_))) {
            return Ok(None);
        }
        let Some(kept) = self.0.kept(project) else {
            self.load_soon(project, aspects).await?;
            return Ok(None);
        };
        let turn = kept.turn().await;
        kept.be_fresh().await?;
        let trees = segments.trees().clone();
        let state = kept.read().await;
        let found = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            let columns = state.columns()?;
            let found = filters.iter().map(|filter| {
                let found = columns.find(filter, &trees, now)?;
                Some(page_of(columns, &found, page))
            });
            found.collect::<Option<Vec<Found>>>()
        });
        let found = found.await.map_err(|e| Error::Panicked(e.to_string()))?;
        if found.is_none() {
            self.load_soon(project, aspects).await?;
        }
        Ok(found)
    }

    /// Bytes of memory that all columns take.
    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }

    /// Reads what changed, gives positions in the logs, and lets go what nobody used for long. To be called a few times
    /// a second.
    pub async fn round(&self) -> Result<()> {
        let mut outcome = Ok(());
        for kept in self.0.in_use() {
            // one project does not keep the others from their turn
            outcome = outcome.and(kept.catch_up().await);
        }
        outcome
    }

    /// Whether there may be columns at all.
    pub fn is_on(&self) -> bool {
        self.0.limits.bytes > 0
    }

    async fn load_soon(&self, project: ProjectNumber, aspects: BTreeSet<Aspect>) -> Result<()> {
        let count =
            self.0.db.read(body!(async |rx| counter::value(rx, project, Counter::Contacts, "").await));
        if count.await? < self.0.limits.contacts {
            return Ok(());
        }
        let mut projects = self.0.projects();
        let entry = projects.entry(project).or_insert_with(Entry::new);
        let is_loading = entry.loading.as_ref().is_some_and(|task| !task.is_finished());
        if is_loading || entry.not_before.is_some_and(|at| Instant::now() < at) {
            return Ok(());
        }
        let shared = Arc::clone(&self.0);
        let task = tokio::spawn(async move { shared.load(project, aspects).await });
        entry.loading = Some(task.abort_handle());
        Ok(())
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
        for task in projects.values().filter_map(|entry| entry.loading.as_ref()) {
            task.abort();
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
    fn in_use(&self) -> Vec<Arc<Kept>> {
        let mut projects = self.projects();
        for entry in projects.values_mut().filter(|entry| entry.used.elapsed() > IDLE) {
            entry.kept = None;
        }
        projects.retain(|_, entry| entry.used.elapsed() <= IDLE.max(REST));
        projects.values().filter_map(|entry| entry.kept.clone()).collect()
    }

    fn bytes(&self) -> usize {
        let projects = self.projects();
        let all = projects.values().filter_map(|entry| entry.kept.as_ref());
        all.map(|kept| kept.bytes()).sum()
    }

    /// Loads columns, and those that there are already.
    async fn load(&self, project: ProjectNumber, aspects: BTreeSet<Aspect>) {
        let outcome = self.loaded(project, aspects).await;
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
        mut aspects: BTreeSet<Aspect>,
    ) -> Result<Result<Kept, Unfit>> {
        if let Some(before) = self.kept(project) {
            aspects.extend(before.aspects().await);
        }
        Kept::load((&self.db, &self.clock), project, &aspects, self.limits.bytes).await
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
