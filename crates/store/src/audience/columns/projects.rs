//! What is known of the columns of each project, and how they are loaded, one project at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use mailwright_core::filter::columns::Aspect;
use mailwright_core::ids::ProjectNumber;
use mailwright_core::time::Clock;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::ColumnLimits;
use super::kept::Kept;
use super::room::{Room, Unfit};
use crate::database::db::Db;
use crate::database::error::Result;

/// Projects that nobody asked about for so long are forgotten.
const IDLE: Duration = Duration::from_mins(30);
/// Columns that no filter looked at for so long are let go, in memory and in what is saved.
const UNUSED: Duration = Duration::from_hours(6);
/// How long loading rests after it failed, or took columns away that did not fit in beside what was asked for.
const REST: Duration = Duration::from_mins(1);
/// For how long columns that did not fit in, or have too many long values, are not tried again.
const UNFIT: Duration = Duration::from_mins(10);
/// Most columns of a project. Those that were used last are kept.
pub(super) const MOST_COLUMNS: usize = 300;

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) db: Db,
    clock: Clock,
    pub(super) limits: ColumnLimits,
    projects: Mutex<BTreeMap<ProjectNumber, Entry>>,
    /// Bytes of the columns that are being loaded.
    pub(super) loading: AtomicUsize,
    /// Whoever loads.
    turn: tokio::sync::Mutex<()>,
}

/// A project.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) kept: Option<Arc<Kept>>,
    pub(super) used: Instant,
    /// When filters last looked at each column that there is.
    uses: BTreeMap<Aspect, Instant>,
    /// Columns that cannot be had, and until when that is believed.
    unfit: BTreeMap<Aspect, Instant>,
    loading: Option<Loading>,
    /// Loading is not tried again before.
    not_before: Option<Instant>,
}

/// Columns that are being loaded.
#[derive(Debug)]
struct Loading {
    task: AbortHandle,
    /// Closed when the task is over.
    over: watch::Receiver<()>,
}

impl Entry {
    fn new() -> Self {
        Self {
            kept: None,
            used: Instant::now(),
            uses: BTreeMap::new(),
            unfit: BTreeMap::new(),
            loading: None,
            not_before: None,
        }
    }

    /// Bytes of memory that the columns take.
    pub(super) fn bytes(&self) -> usize {
        self.kept.as_ref().map_or(0, |kept| kept.bytes())
    }

    /// Whether it has columns, or wants some.
    pub(super) fn is_active(&self) -> bool {
        self.kept.is_some() || self.loading.as_ref().is_some_and(|loading| !loading.task.is_finished())
    }

    fn may_load(&self, aspects: &BTreeSet<Aspect>) -> bool {
        let now = Instant::now();
        let waits = |until: &Instant| now < *until;
        !self.not_before.as_ref().is_some_and(waits)
            && !aspects.iter().any(|aspect| self.unfit.get(aspect).is_some_and(waits))
    }

    fn note_unfit(&mut self, aspects: impl IntoIterator<Item = Aspect>) {
        let now = Instant::now();
        self.unfit.retain(|_, until| *until > now);
        self.unfit.extend(aspects.into_iter().map(|aspect| (aspect, now + UNFIT)));
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
    pub(super) fn new(db: Db, clock: Clock, limits: ColumnLimits) -> Self {
        Self {
            db,
            clock,
            limits,
            projects: Mutex::default(),
            loading: AtomicUsize::new(0),
            turn: tokio::sync::Mutex::default(),
        }
    }

    pub(super) fn projects(&self) -> MutexGuard<'_, BTreeMap<ProjectNumber, Entry>> {
        self.projects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The columns of a project, of which some are asked for.
    pub(super) fn asked(&self, project: ProjectNumber, aspects: &BTreeSet<Aspect>) -> Option<Arc<Kept>> {
        let mut projects = self.projects();
        let entry = projects.get_mut(&project)?;
        entry.used = Instant::now();
        for aspect in aspects {
            if let Some(used) = entry.uses.get_mut(aspect) {
                *used = entry.used;
            }
        }
        entry.kept.clone()
    }

    /// The columns that were used lately; others are let go.
    pub(super) fn in_use(&self) -> Vec<(ProjectNumber, Arc<Kept>)> {
        let mut projects = self.projects();
        projects.retain(|_, entry| entry.used.elapsed() <= IDLE);
        projects.iter().filter_map(|(project, entry)| Some((*project, entry.kept.clone()?))).collect()
    }

    /// Lets columns go that do not follow any more.
    pub(super) fn forget(&self, project: ProjectNumber, kept: &Arc<Kept>) {
        if let Some(entry) = self.projects().get_mut(&project)
            && entry.kept.as_ref().is_some_and(|now| Arc::ptr_eq(now, kept))
        {
            entry.kept = None;
        }
    }

    /// Bytes of memory that all columns take, those that are being loaded included.
    pub(super) fn bytes(&self) -> usize {
        let kept: usize = self.projects().values().map(Entry::bytes).sum();
        kept + self.loading.load(Ordering::Relaxed)
    }

    /// Has columns loaded in the background, unless they are already. Tells when that is over; `None` where it was not
    /// begun.
    pub(super) fn load_soon(
        self: &Arc<Self>,
        project: ProjectNumber,
        aspects: &BTreeSet<Aspect>,
    ) -> Option<watch::Receiver<()>> {
        let mut projects = self.projects();
        let entry = projects.entry(project).or_insert_with(Entry::new);
        if let Some(loading) = entry.loading.as_ref().filter(|loading| !loading.task.is_finished()) {
            return Some(loading.over.clone());
        }
        if !entry.may_load(aspects) {
            return None;
        }
        let (shared, aspects, (is_over, over)) = (Arc::clone(self), aspects.clone(), watch::channel(()));
        let task = tokio::spawn(async move {
            shared.load(project, aspects).await;
            drop(is_over);
        });
        entry.loading = Some(Loading { task: task.abort_handle(), over: over.clone() });
        Some(over)
    }

    /// Loads columns, and those that there are already if they fit in beside them.
    async fn load(self: &Arc<Self>, project: ProjectNumber, wanted: BTreeSet<Aspect>) {
        let _turn = self.turn.lock().await;
        let all = self.with_others(project, &wanted);
        let mut outcome = self.loaded(project, &all, false).await;
        let is_alone = all != wanted && matches!(outcome, Ok(Err(Unfit)));
        if is_alone {
            outcome = self.loaded(project, &wanted, false).await;
        }
        match outcome {
            Ok(Ok(kept)) => {
                let rest = is_alone.then(|| Instant::now() + REST);
                self.keep(project, kept, rest).await;
            }
            Ok(Err(Unfit)) => self.do_without(project, &wanted).await,
            Err(error) => {
                tracing::debug!(%error, project = project.0, "the columns of a project cannot be loaded for now");
                self.rest(project);
            }
        }
    }

    /// Some columns, and as many as there may be of those that the project has, used last.
    fn with_others(&self, project: ProjectNumber, wanted: &BTreeSet<Aspect>) -> BTreeSet<Aspect> {
        let projects = self.projects();
        let uses = projects.get(&project).map(|entry| &entry.uses).into_iter().flatten();
        let mut others: Vec<_> = uses.filter(|(aspect, _)| !wanted.contains(aspect)).collect();
        others.sort_by_key(|(_, used)| std::cmp::Reverse(**used));
        let others = others.into_iter().take(MOST_COLUMNS.saturating_sub(wanted.len()));
        others.map(|(aspect, _)| aspect).chain(wanted).cloned().collect()
    }

    async fn loaded(
        self: &Arc<Self>,
        project: ProjectNumber,
        aspects: &BTreeSet<Aspect>,
        is_modest: bool,
    ) -> Result<Result<Kept, Unfit>> {
        let memory: Weak<Self> = Arc::downgrade(self);
        let room = Room::new(memory, project, is_modest);
        Kept::load((&self.db, &self.clock), project, aspects, room).await
    }

    /// Has columns be those of the project.
    async fn keep(&self, project: ProjectNumber, kept: Kept, not_before: Option<Instant>) {
        let (aspects, unfit) = kept.aspects().await;
        if !unfit.is_empty() {
            tracing::info!(
                project = project.0,
                columns = unfit.len(),
                "fields of a project have too many long values to be judged in memory"
            );
        }
        let mut projects = self.projects();
        let entry = projects.entry(project).or_insert_with(Entry::new);
        let now = Instant::now();
        entry.used = now;
        entry.uses.retain(|aspect, _| aspects.contains(aspect));
        for aspect in aspects {
            entry.uses.entry(aspect).or_insert(now);
        }
        entry.note_unfit(unfit);
        entry.not_before = not_before;
        kept.settle();
        entry.kept = Some(Arc::new(kept));
    }

    /// Notes that columns do not fit in. What was let go for them comes back.
    async fn do_without(self: &Arc<Self>, project: ProjectNumber, wanted: &BTreeSet<Aspect>) {
        tracing::info!(project = project.0, "columns of a project take too much memory");
        let (before, is_without) = {
            let mut projects = self.projects();
            let entry = projects.entry(project).or_insert_with(Entry::new);
            let mut before: BTreeSet<Aspect> = entry.uses.keys().cloned().collect();
            let mut unfit: BTreeSet<Aspect> = wanted.difference(&before).cloned().collect();
            if unfit.is_empty() {
                // it had them all, and they have grown
                before.retain(|aspect| !wanted.contains(aspect));
                unfit.clone_from(wanted);
            }
            entry.note_unfit(unfit);
            (before, entry.kept.is_none())
        };
        if before.is_empty() || !is_without {
            return;
        }
        match self.loaded(project, &before, false).await {
            Ok(Ok(kept)) => self.keep(project, kept, None).await,
            Ok(Err(Unfit)) | Err(_) => self.rest(project),
        }
    }

    fn rest(&self, project: ProjectNumber) {
        self.projects().entry(project).or_insert_with(Entry::new).not_before = Some(Instant::now() + REST);
    }

    /// Loads what others have saved as well, so that what is saved next has it too.
    pub(super) async fn join(
        self: &Arc<Self>,
        project: ProjectNumber,
        kept: &Kept,
        others: BTreeSet<Aspect>,
    ) -> Result<()> {
        let _turn = self.turn.lock().await;
        let mut aspects = kept.aspects().await.0;
        aspects.extend(others);
        if aspects.len() <= MOST_COLUMNS
            && let Ok(joined) = self.loaded(project, &aspects, true).await?
        {
            self.keep(project, joined, None).await;
        } else {
            kept.leave_saving_to_others().await;
        }
        Ok(())
    }

    /// Lets the columns of a project go that no filter looked at for long.
    pub(super) async fn let_go(&self, project: ProjectNumber, kept: &Kept) {
        let mut unused = BTreeSet::new();
        if let Some(entry) = self.projects().get_mut(&project) {
            entry.uses.retain(|aspect, used| {
                let is_used = used.elapsed() < UNUSED;
                if !is_used {
                    unused.insert(aspect.clone());
                }
                is_used
            });
        }
        if !unused.is_empty() {
            kept.let_go(&unused).await;
        }
    }
}
