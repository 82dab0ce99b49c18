//! The write-ahead log: when it is copied into the database, and what keeps it from growing while reads overlap.
//!
//! A thread of its own copies the log, rarely and while the writer goes on, until little is left. The writer copies
//! only the pages that came in meanwhile, and then restarts the log. It can restart the log only at a moment when no
//! reader uses it. If reads overlap without a pause, there is no such moment. So when the log is much too long, new
//! reads are held back: slow reads until the log was restarted, and fast reads, once no slow read runs any more, for
//! some milliseconds now and then.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use rusqlite::Connection;
use tokio::sync::watch;

use super::copies::following::Following;
use crate::database::error::{Error, Result};

/// Pages in the log from which on it is copied into the database: 160 MB. Rarer is better, since a page that changed
/// often is copied once.
pub(super) const LOG_PAGES: i64 = 40_000;
/// The same where the disk is nearly full: 1 MB.
const FEWEST_PAGES: i64 = 250;
/// Bytes that a page takes in the log.
const PAGE: u64 = 4096 + 24;
/// The log is copied when it uses more than the free room on the disk, its own size included, divided by this.
const PART_OF_ROOM: u64 = 4;
/// So many times as long, reads are held back.
const TOO_LONG: i64 = 3;
/// Pages left to copy that the writer may copy by itself: a pause of a few milliseconds.
const FEW_PAGES: i64 = 500;
/// How often the log is gone through at most before the writer copies the rest, however much it is.
const PASSES: usize = 12;
/// How often the length of the log is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// How long fast reads are held back at most.
const HOLD: Duration = Duration::from_millis(200);
/// Time from one such hold to the next, at least.
const HOLDS_APART: Duration = Duration::from_secs(1);

/// The state of the log that writer, copier and readers share.
pub(super) struct Log {
    /// Pages from which on it is copied.
    pages: i64,
    /// Whether the writer is to start it anew.
    restart: AtomicBool,
    /// Whether it is so long that slow reads wait.
    too_long: watch::Sender<bool>,
    slow_reads: AtomicUsize,
    /// Until when fast reads are held back.
    hold: Mutex<Option<Instant>>,
    lifted: Condvar,
    restarts: AtomicUsize,
    /// Who has to have read the log before it is started anew.
    following: OnceLock<Arc<Following>>,
}

impl Log {
    pub(super) fn new(pages: i64) -> Self {
        Self {
            pages,
            restart: AtomicBool::new(false),
            too_long: watch::Sender::new(false),
            slow_reads: AtomicUsize::new(0),
            hold: Mutex::new(None),
            lifted: Condvar::new(),
            restarts: AtomicUsize::new(0),
            following: OnceLock::new(),
        }
    }

    /// Has the log be read from now on before it is started anew. Whether nobody had asked for that before.
    pub(super) fn follow(&self, following: &Arc<Following>) -> bool {
        self.following.set(Arc::clone(following)).is_ok()
    }

    /// Who reads the log.
    pub(super) fn following(&self) -> Option<&Arc<Following>> {
        self.following.get()
    }

    /// Waits until the log is short enough for a slow read; at most `patience`.
    pub(super) async fn wait_for_slow_read(&self, patience: Duration) -> Result<()> {
        let mut too_long = self.too_long.subscribe();
        match tokio::time::timeout(patience, too_long.wait_for(|too_long| !too_long)).await {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::NoTurn(patience)),
        }
    }

    /// Notes a slow read until what is returned is dropped.
    pub(super) fn slow_read(&self) -> impl Drop {
        self.slow_reads.fetch_add(1, Ordering::SeqCst);
        scopeguard::guard((), |()| {
            self.slow_reads.fetch_sub(1, Ordering::SeqCst);
        })
    }

    /// Waits while fast reads are held back.
    pub(super) fn wait_for_fast_read(&self) {
        let mut hold = self.held();
        while let Some(left) = hold.and_then(|until| until.checked_duration_since(Instant::now())) {
            if left.is_zero() {
                return;
            }
            hold = self.lifted.wait_timeout(hold, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn held(&self) -> MutexGuard<'_, Option<Instant>> {
        self.hold.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Between two groups of the writer: starts the log anew if that is wanted. A reader in the log is waited for while
    /// reads are held back; otherwise it is done after a later group.
    pub(super) fn restart_if_wanted(&self, writer: &Connection) {
        if !self.restart.swap(false, Ordering::Relaxed) {
            return;
        }
        if self.following().is_some_and(|following| !following.make_way(writer)) {
            return;
        }
        let hold = self.held().and_then(|until| until.checked_duration_since(Instant::now()));
        let patience = hold.unwrap_or_default().as_millis();
        let _ = writer.execute_batch(&format!("pragma busy_timeout = {patience}"));
        let blocked = writer
            .query_row("pragma wal_checkpoint(restart)", [], |row| row.get::<_, bool>(0))
            .unwrap_or(true);
        let _ = writer.execute_batch("pragma busy_timeout = 10000");
        if !blocked {
            self.restarts.fetch_add(1, Ordering::Relaxed);
            *self.held() = None;
            self.lifted.notify_all();
            self.too_long.send_replace(false);
        }
    }

    /// How many slow reads run.
    #[cfg(test)]
    pub(super) fn slow_reads(&self) -> usize {
        self.slow_reads.load(Ordering::SeqCst)
    }

    /// How often the log was started anew.
    #[cfg(test)]
    pub(super) fn restarts(&self) -> usize {
        self.restarts.load(Ordering::Relaxed)
    }
}

/// Copies the log when it is long, then asks the writer to start it anew. Ends when the writer does.
pub(super) fn copy_loop(connection: &Connection, log: &Log, stopped: &Receiver<()>) {
    let mut copier = Copier { connection, log, file: file_of(connection), length: 0, held_at: None };
    while stopped.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
        if let Some(following) = log.following() {
            following.look();
        }
        if let Err(error) = copier.look() {
            tracing::warn!(%error, "the write-ahead log could not be copied, trying again");
        }
    }
}

struct Copier<'l> {
    connection: &'l Connection,
    log: &'l Log,
    /// Path of the log; `None` for a database in memory.
    file: Option<PathBuf>,
    /// How long the log was at the last look.
    length: i64,
    /// When fast reads were held back the last time.
    held_at: Option<Instant>,
}

impl Copier<'_> {
    fn look(&mut self) -> rusqlite::Result<()> {
        let (mut length, mut copied) = checkpoint(self.connection, "noop")?;
        let grows = length > self.length;
        self.length = length;
        let pages = self.pages();
        if length >= pages && !self.log.restart.load(Ordering::Relaxed) {
            (length, copied) = self.copy(copied)?;
        }
        // a log that is in the database as a whole is nobody's obstacle: the next write starts it anew
        let too_long = length >= TOO_LONG * pages && (copied < length || grows);
        self.log.too_long.send_if_modified(|known| std::mem::replace(known, too_long) != too_long);
        let rested = self.held_at.is_none_or(|at| at.elapsed() >= HOLDS_APART);
        if too_long && grows && rested && self.log.slow_reads.load(Ordering::SeqCst) == 0 {
            self.held_at = Some(Instant::now());
            *self.log.held() = Some(Instant::now() + HOLD);
            self.log.restart.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Pages from which on the log is copied: fewer where there is little room on the disk, so that the log, which
    /// grows to several times as much while reads overlap, does not fill it.
    fn pages(&self) -> i64 {
        let room = self.file.as_deref().and_then(room);
        room.map_or(self.log.pages, |room| pages_in(room).min(self.log.pages))
    }

    /// Copies the log, and again what was written meanwhile, until little is left for the writer, which is then asked
    /// to start it anew. A slow read in the log keeps what came after it from being copied.
    fn copy(&self, mut before: i64) -> rusqlite::Result<(i64, i64)> {
        let (mut length, mut copied) = (0, before);
        for pass in 0..PASSES {
            // what was not read yet is not copied
            if let Some(following) = self.log.following() {
                following.advance();
            }
            (length, copied) = checkpoint(self.connection, "passive")?;
            if length - copied <= FEW_PAGES {
                break;
            }
            if copied == before && pass > 0 {
                return Ok((length, copied));
            }
            before = copied;
        }
        self.log.restart.store(true, Ordering::Relaxed);
        Ok((length, copied))
    }
}

/// The log of a database.
fn file_of(connection: &Connection) -> Option<PathBuf> {
    let database = connection.path().filter(|path| !path.is_empty())?;
    Some(PathBuf::from(format!("{database}-wal")))
}

/// The bytes that the log has and could have.
fn room(file: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(file).ok()?;
    let own = file.metadata().map_or(0, |log| log.len());
    Some(disk.f_bavail.saturating_mul(disk.f_frsize).saturating_add(own))
}

fn pages_in(room: u64) -> i64 {
    i64::try_from(room / PART_OF_ROOM / PAGE).unwrap_or(i64::MAX).max(FEWEST_PAGES)
}

/// Pages in the log, and how many of them are in the database too.
fn checkpoint(connection: &Connection, mode: &str) -> rusqlite::Result<(i64, i64)> {
    connection.query_row(&format!("pragma wal_checkpoint({mode})"), [], |row| Ok((row.get(1)?, row.get(2)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_leaves_most_of_the_room_to_others() {
        const MB: u64 = 1024 * 1024;
        assert_eq!(pages_in(0), FEWEST_PAGES);
        assert_eq!(pages_in(2 * MB), FEWEST_PAGES);
        assert_eq!(pages_in(64 * MB), 4072);
        assert!(pages_in(1024 * MB) > LOG_PAGES);
        let folder = tempfile::tempdir().unwrap();
        let connection = Connection::open(folder.path().join("test.sqlite")).unwrap();
        connection.execute_batch("pragma journal_mode = wal; create table t (n int)").unwrap();
        let file = file_of(&connection).unwrap();
        assert!(file.exists(), "{}", file.display());
        assert!(room(&file).unwrap() > 0);
        assert_eq!(file_of(&Connection::open_in_memory().unwrap()), None);
    }
}
