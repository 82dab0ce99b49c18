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
use super::room::{Room, Unfit};
use super::unsaved::{Saving, Unsaved};
use super::{FRESH, start};
use crate::audience::contact_log::{self, LOG, Most, News};
use crate::audience::saved_columns;
use crate::body;
use crate::database::db::Db;
use crate::database::error::{Error, Result};
use crate::database::placed_log::PLACED_AT_ONCE;
use crate::database::tx::Rx;

/// What whoever asks reads of the log at once.
const FEW: Most = Most { rows: 20, contacts: 200 };
/// What is read of the log at a time.
const MANY: Most = Most { rows: 500, contacts: 1_000 };
/// How many times as many are taken over together.
const TOGETHER: usize = 20;
/// Bytes from which on what was read is taken over.
const GATHERED: usize = 8 << 20;
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
    room: Room,
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
    lost: Option<Lost>,
}

/// Why columns do not follow any more.
#[derive(Debug, Clone, Copy)]
enum Lost {
    /// The log went on without them.
    Log,
    /// They do not fit in.
    Room,
}

/// Why there is nothing to be judged by.
#[derive(Debug, Clone, Copy)]
pub(super) enum Gap {
    /// The columns have to be loaded anew.
    Lost,
    /// They will be there when what changed is taken over.
    Behind,
}

impl State {
    /// The columns, where they are true of a moment.
    pub(super) fn columns(&self) -> Result<&Columns, Gap> {
        match self.lost {
            Some(_) => Err(Gap::Lost),
            None if self.is_between => Err(Gap::Behind),
            None => Ok(&self.columns),
        }
    }

    /// Has nothing more be read for columns that were given up.
    fn read_what_is_left(&mut self) {
        self.wanted = Arc::new(Wanted::of(&self.columns.aspects().cloned().collect()));
    }

    /// Nothing of these columns, which were given up, is stored any more. Where it is again, somebody else uses them.
    pub(super) fn forget_given_up(&mut self, aspects: &BTreeSet<Aspect>) {
        self.columns.forget_given_up(aspects);
    }
}

impl Kept {
    /// Reads columns of all contacts.
    pub(super) async fn load(
        (db, clock): (&Db, &Clock),
        project: ProjectNumber,
        aspects: &BTreeSet<Aspect>,
        room: Room,
    ) -> Result<Result<Self, Unfit>> {
        let now = clock.now();
        let head = db.write(body!(async |tx| LOG.follow(tx, project, now).await)).await?;
        let started = start::start(db, project, aspects, &room).await?;
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
            lost: None,
        };
        let kept = Self {
            project,
            db: db.clone(),
            clock: clock.clone(),
            room,
            state: Arc::new(RwLock::new(state)),
            bytes: AtomicUsize::new(0),
            catching_up: Mutex::new(Some(Instant::now())),
            saving: Mutex::default(),
            judging: Arc::default(),
        };
        kept.catch_up().await?;
        let lost = kept.state.read().await.lost;
        match lost {
            None => Ok(Ok(kept)),
            Some(Lost::Room) => Ok(Err(Unfit)),
            Some(Lost::Log) => Err(Error::Busy),
        }
    }

    /// The columns are now those of their project.
    pub(super) fn settle(&self) {
        self.room.settle();
    }

    /// Whether they do not follow any more.
    pub(super) async fn is_lost(&self) -> bool {
        self.state.read().await.lost.is_some()
    }

    /// Lets columns go.
    pub(super) async fn let_go(&self, aspects: &BTreeSet<Aspect>) {
        let mut state = self.state.write().await;
        for aspect in aspects {
            state.columns.give_up(aspect);
        }
        state.read_what_is_left();
        self.bytes.store(state.columns.bytes(), Ordering::Relaxed);
    }

    /// The turn to judge, until it is dropped.
    pub(super) async fn turn(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.judging).lock_owned().await
    }

    /// The columns, which nobody changes meanwhile.
    pub(super) async fn read(&self) -> OwnedRwLockReadGuard<State> {
        Arc::clone(&self.state).read_owned().await
    }

    /// What they are about, and which were given up.
    pub(super) async fn aspects(&self) -> (BTreeSet<Aspect>, BTreeSet<Aspect>) {
        let state = self.state.read().await;
        (state.columns.aspects().cloned().collect(), state.columns.given_up().clone())
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
        if self.is_lost().await {
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
        let (mut parts, mut bytes) = (Vec::new(), 0);
        loop {
            let (as_of, asked) = (Instant::now(), Arc::clone(&wanted));
            let step = self.db.read(body!(async |rx| changes(rx, project, position, &asked).await));
            let Some(step) = step.await? else {
                self.state.write().await.lost = Some(Lost::Log);
                return Ok(());
            };
            let (news, removals) = (step.news, step.removals);
            position = news.position;
            bytes += step.part.bytes();
            parts.push(step.part);
            if !news.has_more || parts.len() == TOGETHER || bytes > GATHERED {
                let parts = std::mem::take(&mut parts);
                self.take_over((&wanted, parts), &news, removals, as_of).await;
                bytes = 0;
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

    async fn take_over(
        &self,
        (wanted, parts): (&Wanted, Vec<Part>),
        news: &News,
        removals: i64,
        as_of: Instant,
    ) {
        let mut state = self.state.write().await;
        let before = state.columns.given_up().len();
        for part in parts {
            state.unsaved.note(part.contacts());
            wanted.put(part, &mut state.columns);
        }
        if state.columns.given_up().len() != before {
            state.read_what_is_left();
        }
        let bytes = state.columns.bytes();
        self.bytes.store(bytes, Ordering::Relaxed);
        (state.position, state.as_of, state.is_between) = (news.position, as_of, news.has_more);
        state.removals = removals;
        if !self.room.admits(bytes) {
            state.lost = Some(Lost::Room);
        }
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
