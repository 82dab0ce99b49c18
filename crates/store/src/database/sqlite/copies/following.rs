//! The follower, shared by the thread that looks after the log, the thread that writes, and whoever ships what it read.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use mailwright_core::time::{Clock, Timestamp};
use rusqlite::Connection;

use super::follower::{Follower, Trouble};
use super::frames::Place;
use super::spool::{Spool, Spooled};
use crate::database::error::{Error, Result};

/// How copies are made.
#[derive(Debug, Clone)]
pub struct Follow {
    /// A folder for what waits, which is emptied.
    pub folder: PathBuf,
    /// Most bytes that wait.
    pub spool_bytes: u64,
    /// How often the log is read.
    pub every: Duration,
}

/// How a line of copies stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Its name; `None` if there is none.
    pub generation: Option<String>,
    /// Everything that was committed before this moment was read.
    pub complete_until: Option<Timestamp>,
    /// Why the last line ended.
    pub trouble: Option<Trouble>,
    /// Bytes that wait.
    pub waiting_bytes: u64,
}

/// Where a snapshot stands in a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// The line.
    pub generation: String,
    /// The last object whose pages the snapshot has.
    pub sequence: u64,
    /// Everything that was committed before this moment is in it.
    pub complete_until: Timestamp,
    /// Nothing in it was committed after this moment.
    pub committed_by: Timestamp,
}

pub(crate) struct Following {
    follower: Mutex<Follower>,
    spool: Arc<Spool>,
    clock: Clock,
    every: Duration,
    looked: Mutex<Option<Instant>>,
    folder: PathBuf,
    keeps_log: AtomicBool,
}

impl Following {
    pub(crate) fn new(database: &Path, follow: &Follow, clock: &Clock) -> Result<Self> {
        let cannot =
            |error: std::io::Error| Error::Unavailable(format!("{}: {error}", follow.folder.display()));
        fs::create_dir_all(&follow.folder).map_err(cannot)?;
        let spool = Arc::new(Spool::new(&follow.folder.join("spool"), follow.spool_bytes).map_err(cannot)?);
        Ok(Self {
            follower: Mutex::new(Follower::new(database, Arc::clone(&spool), clock.clone())?),
            spool,
            clock: clock.clone(),
            every: follow.every,
            looked: Mutex::default(),
            folder: follow.folder.clone(),
            keeps_log: AtomicBool::new(false),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Follower> {
        self.follower.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the log, if it is time.
    pub(crate) fn look(&self) {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        if looked.is_none_or(|at| at.elapsed() >= self.every) {
            *looked = Some(Instant::now());
            drop(looked);
            self.advance();
        }
    }

    /// Reads the log now. Whether all of it was read.
    pub(crate) fn advance(&self) -> bool {
        self.lock().advance()
    }

    /// By the thread that writes, between two transactions: whether it may try to start the log anew. It does not wait
    /// for a thread that is just reading the log.
    pub(crate) fn make_way(&self, writer: &Connection) -> bool {
        match self.follower.try_lock() {
            Ok(mut follower) => follower.make_way(writer),
            Err(TryLockError::Poisoned(follower)) => follower.into_inner().make_way(writer),
            Err(TryLockError::WouldBlock) => false,
        }
    }

    pub(super) fn prepare(&self, generation: &str, resumed: Option<(Place, u64)>) {
        self.spool.clear();
        self.lock().prepare(generation, resumed);
    }

    /// By the thread that writes, in a transaction: begins a line that was prepared.
    pub(super) fn anchor(&self) -> std::result::Result<(), Trouble> {
        let mut follower = self.lock();
        let anchored = follower.anchor();
        if let Err(trouble) = &anchored {
            follower.end(trouble.clone());
        }
        anchored
    }

    /// By the thread that writes, in a transaction: begins a read of exactly what the line has so far.
    pub(super) fn mark(&self, source: &Connection) -> Result<Option<Mark>> {
        let mut follower = self.lock();
        if !follower.is_pinned() || !follower.advance() {
            return Ok(None);
        }
        source.execute_batch("begin; select count(*) from sqlite_master")?;
        let committed_by = self.clock.now();
        Ok(follower.course.as_ref().map(|course| Mark {
            generation: course.generation.clone(),
            sequence: course.next - 1,
            complete_until: course.complete_until,
            committed_by: committed_by.max(course.complete_until),
        }))
    }

    pub(super) fn end(&self, trouble: Trouble) {
        self.lock().end(trouble);
    }

    pub(super) fn standing(&self) -> Standing {
        let follower = self.lock();
        Standing {
            generation: follower.course.as_ref().map(|course| course.generation.clone()),
            complete_until: follower.course.as_ref().map(|course| course.complete_until),
            trouble: follower.trouble.clone(),
            waiting_bytes: self.spool.bytes(),
        }
    }

    pub(super) fn first(&self) -> Option<Spooled> {
        self.spool.first()
    }

    pub(super) fn done(&self) {
        self.spool.done();
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn keep_log(&self) {
        self.keeps_log.store(true, Ordering::SeqCst);
    }

    /// Whether the log is to be there after the end of the process.
    pub(crate) fn keeps_log(&self) -> bool {
        self.keeps_log.load(Ordering::SeqCst) && self.lock().is_pinned()
    }
}
