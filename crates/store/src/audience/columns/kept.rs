//! The columns of a project, and how they follow what changes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mailwright_core::filter::columns::{Aspect, Columns};
use mailwright_core::ids::{ContactId, ProjectNumber};
use mailwright_core::time::Clock;
use tokio::sync::{Mutex, OwnedMutexGuard, OwnedRwLockReadGuard, RwLock};

use super::load::{Part, Wanted};
use super::unsaved::{Saving, Unsaved};
use super::{FRESH, Unfit, start};
use crate::audience::contact_log::{self, LOG, Most, News};
use crate::audience::saved_columns;
use crate::body;
use crate::database::db::Db;
use crate::database::error::Result;
use crate::database::placed_log::PLACED_AT_ONCE;
use crate::database::tx::Rx;

/// What whoever asks reads of the log at once.
const FEW: Most = Most { rows: 20, contacts: 200 };
/// What is read of the log at a time.
const MANY: Most = Most { rows: 500, contacts: 1_000 };
/// How many times as many are taken over together.
const TOGETHER: usize = 20;
/// Positions are given from more rows without one on; fewer than are read at a time.
const UNPLACED: usize = 5;
/// How often it is noted that the log is followed.
const NOTED: Duration = Duration::from_mins(1);

/// The columns of a project.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) project: ProjectNumber,
    pub(super) db: Db,
    pub(super) clock: Clock,
    /// Most bytes that they may take.
    most: usize,
    pub(super) state: Arc<RwLock<State>>,
    bytes: AtomicUsize,
    /// Whoever reads what changed; when it was last noted that the log is followed.
    catching_up: Mutex<Option<Instant>>,
    /// Whoever saves.
    pub(super) saving: Mutex<Saving>,
    /// Whoever judges: however many ask, a project takes one processor.
    judging: Arc<Mutex<()>>,
}

#[derive(Debug)]
pub(super) struct State {
    columns: Columns,
    wanted: Arc<Wanted>,
    /// Up to where the log was read.
    pub(super) position: i64,
    /// How often contacts had been removed by then.
    pub(super) removals: i64,
    /// What changed since the columns were saved.
    pub(super) unsaved: Unsaved,
    /// The moment that the columns are true of was after this one.
    as_of: Instant,
    /// Only a part of what changed was taken over, so the columns are true of no moment.
    is_between: bool,
    /// The log went on without us, or the columns do not fit in any more.
    is_lost: bool,
}

impl State {
    /// The columns; `None` where they are true of no moment.
    pub(super) fn columns(&self) -> Option<&Columns> {
        (!self.is_lost && !self.is_between).then_some(&self.columns)
    }
}

impl Kept {
    /// Reads columns of all contacts.
    pub(super) async fn load(
        (db, clock): (&Db, &Clock),
        project: ProjectNumber,
        aspects: &BTreeSet<Aspect>,
        most: usize,
    ) -> Result<Result<Self, Unfit>> {
        let now = clock.now();
        let head = db.write(body!(async |tx| LOG.follow(tx, project, now).await)).await?;
        let started = start::start(db, project, aspects, most).await?;
        let Ok(start::Started { columns, position }) = started else { return Ok(Err(Unfit)) };
        let position = position.map_or(head.position, |position| position.min(head.position));
        let state = State {
            columns,
            wanted: Arc::new(Wanted::of(aspects)),
            position,
            removals: 0,
            unsaved: Unsaved::since(position),
            as_of: Instant::now(),
            is_between: true,
            is_lost: false,
        };
        let kept = Self {
            project,
            db: db.clone(),
            clock: clock.clone(),
            most,
            state: Arc::new(RwLock::new(state)),
            bytes: AtomicUsize::new(0),
            catching_up: Mutex::new(Some(Instant::now())),
            saving: Mutex::default(),
            judging: Arc::default(),
        };
        kept.catch_up().await?;
        Ok(Ok(kept))
    }

    /// The turn to judge, until it is dropped.
    pub(super) async fn turn(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.judging).lock_owned().await
    }

    /// The columns, which nobody changes meanwhile.
    pub(super) async fn read(&self) -> OwnedRwLockReadGuard<State> {
        Arc::clone(&self.state).read_owned().await
    }

    /// What they are about.
    pub(super) async fn aspects(&self) -> BTreeSet<Aspect> {
        self.state.read().await.columns.aspects().cloned().collect()
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Has the columns be true of now, or of a moment up to [`FRESH`] ago if much changed since.
    pub(super) async fn be_fresh(&self) -> Result<()> {
        let (position, is_young) = {
            let state = self.state.read().await;
            (state.position, state.as_of.elapsed() < FRESH)
        };
        let project = self.project;
        let news = self.db.read(body!(async |rx| contact_log::since(rx, project, position, FEW).await));
        match news.await? {
            Some(news) if news.contacts.is_empty() => Ok(()),
            Some(news) if is_young && (news.has_more || news.contacts.len() > FEW.contacts) => Ok(()),
            _ => self.catch_up().await,
        }
    }

    /// Reads what changed. The contacts are read without holding anybody up; they are taken over together, so that the
    /// columns are true of one moment, unless there are very many.
    pub(super) async fn catch_up(&self) -> Result<()> {
        // one at a time; who waited finds little to do
        let mut noted = self.catching_up.lock().await;
        if self.state.read().await.is_lost {
            return Ok(());
        }
        let project = self.project;
        if noted.is_none_or(|at| at.elapsed() >= NOTED) {
            let now = self.clock.now();
            self.db.write(body!(async |tx| LOG.follow(tx, project, now).await)).await?;
            *noted = Some(Instant::now());
            saved_columns::forget_old(&self.db, project, now).await?;
        }
        let (mut position, wanted) = {
            let state = self.state.read().await;
            (state.position, Arc::clone(&state.wanted))
        };
        let mut parts = Vec::new();
        loop {
            let (as_of, asked) = (Instant::now(), Arc::clone(&wanted));
            let step = self.db.read(body!(async |rx| changes(rx, project, position, &asked).await));
            let Some(step) = step.await? else {
                self.state.write().await.is_lost = true;
                return Ok(());
            };
            let (news, removals) = (step.news, step.removals);
            position = news.position;
            parts.push(step.part);
            if !news.has_more || parts.len() == TOGETHER {
                self.take_over(std::mem::take(&mut parts), &news, removals, as_of).await;
            }
            if news.unplaced > UNPLACED {
                // those without a position are told again and again
                self.place().await?;
            }
            if !news.has_more {
                return Ok(());
            }
        }
    }

    async fn take_over(&self, parts: Vec<Part>, news: &News, removals: i64, as_of: Instant) {
        let mut state = self.state.write().await;
        let State { columns, wanted, unsaved, .. } = &mut *state;
        let fits = parts.into_iter().all(|part| {
            unsaved.note(part.contacts());
            wanted.put(part, columns)
        });
        let bytes = columns.bytes();
        self.bytes.store(bytes, Ordering::Relaxed);
        (state.position, state.as_of, state.is_between) = (news.position, as_of, news.has_more);
        state.removals = removals;
        state.is_lost |= !fits || state.columns.is_full() || bytes > self.most;
    }

    /// Gives positions to the rows of the log that have none.
    async fn place(&self) -> Result<()> {
        let (project, now) = (self.project, self.clock.now());
        loop {
            let placed = self.db.write_in_background(body!(async |tx| LOG.place_new(tx, project, now).await));
            if placed.await?.1 < PLACED_AT_ONCE as u64 {
                return Ok(());
            }
        }
    }
}

/// What changed after a position of the log.
struct Changes {
    news: News,
    /// How often contacts had been removed.
    removals: i64,
    /// What the contacts have now.
    part: Part,
}

/// What changed after a position of the log, in one snapshot. `None` if the log does not tell any more.
async fn changes(
    rx: &Rx<'_>,
    project: ProjectNumber,
    position: i64,
    wanted: &Wanted,
) -> Result<Option<Changes>> {
    rx.begin_snapshot().await?;
    let step = async {
        let Some(news) = contact_log::since(rx, project, position, MANY).await? else { return Ok(None) };
        let removals = saved_columns::removals(rx, project).await?;
        let contacts: Vec<ContactId> = news.contacts.iter().copied().collect();
        let part = wanted.read_these(rx, project, contacts).await?;
        Ok(Some(Changes { news, removals, part }))
    };
    let step = step.await;
    rx.end_snapshot().await?;
    step
}
