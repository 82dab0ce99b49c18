//! SQLite: one writer thread that commits in groups, a few reader threads.
//!
//! A commit costs a flush to disk, so whatever commits per call is capped at a few hundred calls a second. The writer
//! therefore takes one job, runs it, keeps taking jobs that are already queued, each under a savepoint, commits once, and
//! only then answers everybody. Idle, that is a group of one with no added wait.
//!
//! The write-ahead log is copied into the database by a thread of its own, rarely and while the writer goes on. The
//! writer only copies what came in meanwhile, and then starts the log anew.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError, bounded, select};
use futures_util::future::BoxFuture;
use mailwright_core::filter::date::Moment;
use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;
use tokio::sync::oneshot;

use crate::db::StoreMetrics;
use crate::dialect::{Dialect, Texts};
use crate::error::{Error, Result};
use crate::tx::{Rx, Session, Tx, given_up};

/// Most jobs of one commit.
const GROUP: usize = 512;
/// Most jobs that wait, interactive and bulk each; beyond that callers get [`Error::Busy`].
const QUEUE: usize = 8192;
const READERS: usize = 3;
/// Pages in the log from which on it is copied into the database: 160 MB. Rarer is better, since a page that changed
/// often is copied once.
const LOG_PAGES: i64 = 40_000;
/// Pages left to copy that the writer may copy by itself: a pause of a few milliseconds.
const FEW_PAGES: i64 = 500;
/// How often the log is gone through at most before the writer copies the rest, however much it is.
const PASSES: usize = 12;
/// How often the length of the log is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// Answers a job's caller, told whether the group was committed.
type Reply = Box<dyn FnOnce(Result<()>) + Send>;
/// Given the connection, or why there is none.
type Job = Box<dyn FnOnce(Result<&mut Connection>) -> (bool, Reply) + Send>;
type Read = Box<dyn FnOnce(&mut Connection) + Send>;

pub(crate) struct Sqlite {
    interactive: Sender<Job>,
    bulk: Sender<Job>,
    reads: Sender<Read>,
    texts: Arc<Texts>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Sqlite {
    pub(crate) fn open(path: &Path, metrics: StoreMetrics) -> Result<Self> {
        let writer = connect(path)?;
        writer.execute_batch(
            "pragma journal_mode = wal; pragma synchronous = full; pragma cache_size = -65536; \
             pragma wal_autocheckpoint = 0; pragma journal_size_limit = 268435456;",
        )?;
        let (interactive, interactive_jobs) = bounded::<Job>(QUEUE);
        let (bulk, bulk_jobs) = bounded::<Job>(QUEUE);
        let (reads, read_jobs) = bounded::<Read>(QUEUE);
        let restart = Arc::new(AtomicBool::new(false));
        let (stop, stopped) = bounded(0);
        let copier = connect(path)?;
        let due = Arc::clone(&restart);
        let mut threads = vec![
            spawn("sqlite-log", move || copy_loop(&copier, &due, &stopped))?,
            spawn("sqlite-writer", move || {
                write_loop(writer, &interactive_jobs, &bulk_jobs, &restart, &metrics);
                drop::<Sender<()>>(stop);
            })?,
        ];
        for _ in 0..READERS {
            let reader = connect(path)?;
            reader.execute_batch("pragma query_only = on; pragma cache_size = -16384;")?;
            let jobs = read_jobs.clone();
            threads.push(spawn("sqlite-reader", move || read_loop(reader, &jobs))?);
        }
        Ok(Self { interactive, bulk, reads, texts: Arc::new(Texts::new(Dialect::Sqlite)), threads })
    }

    pub(crate) async fn write<T, F>(&self, bulk: bool, body: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx<'_>) -> BoxFuture<'t, Result<T>> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let texts = Arc::clone(&self.texts);
        let job: Job = Box::new(move |connection| {
            let outcome = connection.and_then(|connection| {
                let mut tx = Tx::new(Session::sqlite(connection, true), &texts);
                caught(|| poll_once(body(&mut tx)))
            });
            let keep = outcome.is_ok();
            let reply: Reply = Box::new(move |committed| {
                let _ = answer.send(committed.and(outcome));
            });
            (keep, reply)
        });
        let queue = if bulk { &self.bulk } else { &self.interactive };
        queue.try_send(job).map_err(|refused| match refused {
            TrySendError::Full(_) => Error::Busy,
            TrySendError::Disconnected(_) => closed(),
        })?;
        answered.await.map_err(|_| closed())?
    }

    pub(crate) async fn read<T, F>(&self, body: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Rx<'_>) -> BoxFuture<'t, Result<T>> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let texts = Arc::clone(&self.texts);
        let job: Read = Box::new(move |connection| {
            let mut rx = Rx::new(Session::sqlite(connection, false), &texts);
            let _ = answer.send(caught(|| poll_once(body(&mut rx))));
        });
        self.reads.try_send(job).map_err(|refused| match refused {
            TrySendError::Full(_) => Error::Busy,
            TrySendError::Disconnected(_) => closed(),
        })?;
        answered.await.map_err(|_| closed())?
    }

    /// Runs what is queued, then closes the files.
    pub(crate) fn close(self) {
        let Self { interactive, bulk, reads, threads, .. } = self;
        drop((interactive, bulk, reads));
        for thread in threads {
            let _ = thread.join();
        }
    }
}

fn closed() -> Error {
    Error::Unavailable("the database is closed".into())
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<std::thread::JoinHandle<()>> {
    std::thread::Builder::new()
        .name(name.into())
        .spawn(run)
        .map_err(|e| Error::Unavailable(format!("cannot start thread {name}: {e}")))
}

fn connect(path: &Path) -> Result<Connection> {
    let connection =
        Connection::open(path).map_err(|e| Error::Unavailable(format!("{}: {e}", path.display())))?;
    connection.busy_timeout(Duration::from_secs(10))?;
    connection.execute_batch("pragma foreign_keys = on; pragma temp_store = memory;")?;
    connection.set_prepared_statement_cache_capacity(256);
    rusqlite::vtab::array::load_module(&connection)?;
    add_functions(&connection)?;
    Ok(connection)
}

/// `canonical_date(text)`: the canonical form of a date for filters, null for anything else.
fn add_functions(connection: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("canonical_date", 1, flags, |context| {
        let text = context.get_raw(0).as_str().ok();
        Ok(text.and_then(Moment::of_stored).map(|date| date.as_str().to_owned()))
    })?;
    Ok(())
}

/// SQLite answers at once, so a body is ready at its first poll; one that is not awaited something it must not.
fn poll_once<T>(mut body: BoxFuture<'_, Result<T>>) -> Result<T> {
    use std::task::{Context, Poll, Waker};
    match body.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => Err(Error::AwaitedOutside),
    }
}

/// A panic in a body must not take the thread, and with it every later call, down.
fn caught<T>(run: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        Err(Error::Panicked(text))
    })
}

fn read_loop(mut connection: Connection, jobs: &Receiver<Read>) {
    while let Ok(job) = jobs.recv() {
        job(&mut connection);
    }
}

/// Copies the log when it is long, then asks the writer to start it anew. Ends when the writer does.
fn copy_loop(connection: &Connection, restart: &AtomicBool, stopped: &Receiver<()>) {
    while stopped.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
        if restart.load(Ordering::Relaxed) {
            continue;
        }
        match copy_if_long(connection) {
            Ok(copied) => restart.store(copied, Ordering::Relaxed),
            Err(error) => tracing::warn!(%error, "the write-ahead log could not be copied, trying again"),
        }
    }
}

/// Copies the log if it is long, and again what was written meanwhile, until little is left for the writer.
fn copy_if_long(connection: &Connection) -> rusqlite::Result<bool> {
    if checkpoint(connection, "noop")?.0 < LOG_PAGES {
        return Ok(false);
    }
    for _ in 0..PASSES {
        let (length, copied) = checkpoint(connection, "passive")?;
        if length - copied <= FEW_PAGES {
            break;
        }
    }
    Ok(true)
}

/// Pages in the log, and how many of them are in the database too.
fn checkpoint(connection: &Connection, mode: &str) -> rusqlite::Result<(i64, i64)> {
    connection.query_row(&format!("pragma wal_checkpoint({mode})"), [], |row| Ok((row.get(1)?, row.get(2)?)))
}

fn write_loop(
    mut connection: Connection,
    interactive: &Receiver<Job>,
    bulk: &Receiver<Job>,
    restart: &AtomicBool,
    metrics: &StoreMetrics,
) {
    let mut groups: usize = 0;
    while let Some(first) = next_job(interactive, bulk, groups) {
        groups = groups.wrapping_add(1);
        if restart.swap(false, Ordering::Relaxed) {
            // a reader in the log is not waited for: then it is done after a later group
            let _ = connection.execute_batch(
                "pragma busy_timeout = 0; pragma wal_checkpoint(restart); pragma busy_timeout = 10000;",
            );
        }
        let (replies, outcome) = run_group(&mut connection, first, interactive);
        metrics.group(replies.len());
        if let Err(error) = &outcome {
            tracing::error!(%error, jobs = replies.len(), "a group of writes was not committed");
        }
        for reply in replies {
            reply(outcome.clone());
        }
    }
    let _ = connection.execute_batch("pragma wal_checkpoint(truncate)");
}

/// Under steady load, a bulk job has its turn once in so many groups.
const BULK_TURN: usize = 16;

/// The next job, interactive ones mostly first; `None` when both queues are closed.
fn next_job(interactive: &Receiver<Job>, bulk: &Receiver<Job>, groups: usize) -> Option<Job> {
    if groups.is_multiple_of(BULK_TURN)
        && let Ok(job) = bulk.try_recv()
    {
        return Some(job);
    }
    if let Ok(job) = interactive.try_recv() {
        return Some(job);
    }
    select! {
        recv(interactive) -> job => job.or_else(|_| bulk.recv()).ok(),
        recv(bulk) -> job => job.or_else(|_| interactive.recv()).ok(),
    }
}

/// Runs a job, and under a savepoint each what is queued behind it, and commits. The first needs no savepoint: alone it
/// can be undone as a whole. That matters for large ones, since at the end of every statement under a savepoint SQLite
/// goes through all pages that were changed since.
fn run_group(connection: &mut Connection, first: Job, queued: &Receiver<Job>) -> (Vec<Reply>, Result<()>) {
    let mut replies = Vec::new();
    if let Err(error) = connection.execute_batch("begin immediate") {
        let error = Error::from(error);
        let (_, reply) = first(Err(error.clone()));
        return (vec![reply], Err(error));
    }
    let (keep, reply) = first(Ok(&mut *connection));
    replies.push(reply);
    if connection.is_autocommit() {
        return (replies, Err(given_up()));
    }
    if !keep {
        rollback(connection);
        return (replies, Ok(()));
    }
    while replies.len() < GROUP
        && let Ok(job) = queued.try_recv()
    {
        let (reply, outcome) = run_job(connection, job);
        replies.push(reply);
        if let Err(error) = outcome {
            rollback(connection);
            return (replies, Err(error));
        }
    }
    let outcome = connection.execute_batch("commit").map_err(Error::from);
    if outcome.is_err() {
        rollback(connection);
    }
    (replies, outcome)
}

/// Runs one job under a savepoint. The error, if any, is of the whole transaction: SQLite gives it up by itself when
/// the disk is full.
fn run_job(connection: &mut Connection, job: Job) -> (Reply, Result<()>) {
    let savepoint = cached(connection, "savepoint job");
    let (keep, reply) = job(Ok(&mut *connection));
    if let Err(error) = savepoint {
        return (reply, Err(error));
    }
    if connection.is_autocommit() {
        return (reply, Err(given_up()));
    }
    let undone = if keep { Ok(()) } else { cached(connection, "rollback to job") };
    (reply, undone.and_then(|()| cached(connection, "release job")))
}

fn cached(connection: &Connection, sql: &str) -> Result<()> {
    connection.prepare_cached(sql)?.execute([])?;
    Ok(())
}

fn rollback(connection: &Connection) {
    if !connection.is_autocommit() {
        let _ = connection.execute_batch("rollback");
    }
}
