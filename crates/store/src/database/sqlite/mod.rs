//! SQLite: one writer thread that commits in groups, a few threads for reads, and others for slow ones.
//!
//! A commit costs a flush to disk, so commits are limited to a few hundred a second. The writer therefore takes one
//! job, runs it, goes on with the jobs that are already queued, commits once (`synchronous = full`), and only then
//! answers all callers. An idle writer adds no wait.
//!
//! The jobs after the first one run under a savepoint each, so that one that fails is undone alone. The first job runs
//! without a savepoint: inside one, SQLite walks all dirty pages after every statement.
//!
//! [`log`] copies the write-ahead log into the database on a thread of its own, because the writer's own copying is a
//! pause for all callers.

mod log;
mod read;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded, select};
use futures_util::future::BoxFuture;
use mailwright_core::filter::date::Moment;
use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;
use tokio::sync::oneshot;

use self::log::{LOG_PAGES, Log};
use self::read::Readers;
use crate::database::db::{Answer, ReadBody, StoreMetrics, Undone, WriteBody};
use crate::database::dialect::{Dialect, Texts};
use crate::database::error::{Error, Result};
use crate::database::slow::{Reader, SlowReads};
use crate::database::tx::{Session, Tx, given_up};

/// Most jobs of one commit.
const GROUP: usize = 512;
/// Most jobs that wait, interactive and bulk each; beyond that callers get [`Error::Busy`].
const QUEUE: usize = 8192;
/// Answers a job's caller, told whether the group was committed.
type Reply = Box<dyn FnOnce(Result<()>) + Send>;
/// Runs on the connection, or is told why there is none. Returns whether the job's changes are kept, and what answers
/// its caller.
type Job = Box<dyn FnOnce(Result<&mut Connection>) -> (bool, Reply) + Send>;

pub(crate) struct Sqlite {
    interactive: Sender<Job>,
    bulk: Sender<Job>,
    readers: Readers,
    texts: Arc<Texts>,
    #[cfg(test)]
    log: Arc<Log>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Sqlite {
    pub(crate) fn open(path: &Path, slow_reads: SlowReads, metrics: StoreMetrics) -> Result<Self> {
        Self::start(path, slow_reads, metrics, Log::new(LOG_PAGES))
    }

    fn start(path: &Path, slow_reads: SlowReads, metrics: StoreMetrics, log: Log) -> Result<Self> {
        let writer = connect(path)?;
        refuse_foreign(path, &writer)?;
        writer.execute_batch(
            "pragma journal_mode = wal; pragma synchronous = full; pragma cache_size = -65536; \
             pragma wal_autocheckpoint = 0; pragma journal_size_limit = 268435456;",
        )?;
        let (interactive, interactive_jobs) = bounded::<Job>(QUEUE);
        let (bulk, bulk_jobs) = bounded::<Job>(QUEUE);
        let (stop, stopped) = bounded(0);
        let copier = connect(path)?;
        let log = Arc::new(log);
        let (to_copy, to_restart) = (Arc::clone(&log), Arc::clone(&log));
        let mut threads = vec![
            spawn("sqlite-log", move || log::copy_loop(&copier, &to_copy, &stopped))?,
            spawn("sqlite-writer", move || {
                write_loop(writer, &interactive_jobs, &bulk_jobs, &to_restart, &metrics);
                drop::<Sender<()>>(stop);
            })?,
        ];
        let texts = Arc::new(Texts::new(Dialect::Sqlite));
        let readers = Readers::start(path, slow_reads, &log, &texts, &mut threads)?;
        Ok(Self {
            interactive,
            bulk,
            readers,
            texts,
            #[cfg(test)]
            log,
            threads,
        })
    }

    pub(crate) async fn write(&self, bulk: bool, body: WriteBody) -> Result<Answer, Undone> {
        let (answer, answered) = oneshot::channel();
        let texts = Arc::clone(&self.texts);
        let job: Job = Box::new(move |connection| {
            let outcome = connection.map_err(Undone::from).and_then(|connection| {
                let mut tx = Tx::new(Session::sqlite(connection, true), &texts);
                caught(|| poll_once(body(&mut tx)))
            });
            let keep = outcome.is_ok();
            let reply: Reply = Box::new(move |committed| {
                let _ = answer.send(committed.map_err(Undone::from).and(outcome));
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

    pub(crate) async fn read(&self, body: ReadBody) -> Result<Answer> {
        self.readers.fast(body).await
    }

    pub(crate) async fn read_slow(&self, reader: Reader, body: ReadBody) -> Result<Answer> {
        self.readers.slow(reader, body).await
    }

    /// Runs what is queued, then closes the files.
    pub(crate) fn close(self) {
        let Self { interactive, bulk, readers, threads, .. } = self;
        drop((interactive, bulk, readers));
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

/// Refuses a file that another program wrote, before anything in it is changed.
fn refuse_foreign(path: &Path, connection: &Connection) -> Result<()> {
    let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let foreign = || -> rusqlite::Result<bool> {
        let tables = count("select count(*) from sqlite_master")?;
        let ours = count(
            "select count(*) from pragma_table_info('schema_migrations') where name in ('number', 'applied_at')",
        )?;
        Ok(tables > 0 && ours != 2)
    };
    let path = path.display();
    match foreign() {
        Ok(false) => Ok(()),
        Ok(true) => Err(Error::Unusable(format!(
            "{path} is a database of another program, not one of Mailwright; set MAILWRIGHT_DATA_DIR to another folder"
        ))),
        Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::NotADatabase) => {
            Err(Error::Unusable(format!(
                "{path} is not a database; restore it from a backup, or set MAILWRIGHT_DATA_DIR to another folder"
            )))
        }
        Err(error) => Err(match Error::from(error) {
            Error::Unavailable(text) => Error::Unavailable(format!("{path}: {text}")),
            other => other,
        }),
    }
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
fn poll_once<T, E: From<Error>>(mut body: BoxFuture<'_, Result<T, E>>) -> Result<T, E> {
    use std::task::{Context, Poll, Waker};
    match body.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => Err(Error::AwaitedOutside.into()),
    }
}

/// A panic in a body must not take the thread, and with it every later call, down.
fn caught<T, E: From<Error>>(run: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(Error::panicked(&*panic).into()))
}

fn write_loop(
    mut connection: Connection,
    interactive: &Receiver<Job>,
    bulk: &Receiver<Job>,
    log: &Log,
    metrics: &StoreMetrics,
) {
    let mut groups: usize = 0;
    while let Some(first) = next_job(interactive, bulk, groups) {
        groups = groups.wrapping_add(1);
        log.restart_if_wanted(&connection);
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Instant;

    use mailwright_core::ids::ProjectNumber;

    use super::*;
    use crate::args;
    use crate::database::db::{read_body, write_body};

    const SLOW: SlowReads = SlowReads { at_once: 3, time_limit: Duration::from_secs(20) };

    fn open(folder: &tempfile::TempDir, slow: SlowReads, pages: i64) -> Arc<Sqlite> {
        let path = folder.path().join("test.sqlite");
        Arc::new(Sqlite::start(&path, slow, StoreMetrics::default(), Log::new(pages)).unwrap())
    }

    /// A read that counts to a number.
    fn counting(to: i64) -> ReadBody {
        query(
            "with recursive n(i) as (select 1 union all select i + 1 from n where i < $1) select count(*) from n",
            to,
        )
    }

    /// The same in a view of the table, which is in the log.
    fn reading(to: i64) -> ReadBody {
        query(
            "with recursive n(i) as (select 1 from (select count(*) from filled) union all \
             select i + 1 from n where i < $1) select count(*) from n",
            to,
        )
    }

    fn query(text: &'static str, to: i64) -> ReadBody {
        read_body(move |rx| Box::pin(async move { rx.one(text, args![to], |r| r.get::<i64>(0)).await }))
    }

    async fn write(engine: &Sqlite, sql: String) {
        let written =
            engine.write(false, write_body(|tx| Box::pin(async move { tx.execute(sql, &[]).await })));
        written.await.unwrap();
    }

    #[tokio::test]
    async fn slow_reads_do_not_stand_in_the_way_of_fast_ones() {
        let folder = tempfile::tempdir().unwrap();
        let engine = open(&folder, SLOW, LOG_PAGES);
        // one that is known to be quick, so that all places are taken
        engine.read_slow(Reader::Request(ProjectNumber(1)), counting(1)).await.unwrap();
        let endless = || counting(i64::MAX);
        let mut reading: Vec<_> = (1..10)
            .map(|project| {
                let (engine, body) = (Arc::clone(&engine), endless());
                let reader = Reader::Request(ProjectNumber(project));
                tokio::spawn(async move { engine.read_slow(reader, body).await })
            })
            .collect();
        while engine.log.slow_reads() < SLOW.at_once {
            tokio::task::yield_now().await;
        }
        engine.read(counting(1)).await.unwrap();
        // those nobody waits for any more end, and with them the others have their turn
        while let Some(gone) = reading.pop() {
            gone.abort();
        }
        while engine.log.slow_reads() > 0 {
            tokio::task::yield_now().await;
        }
        engine.read_slow(Reader::Request(ProjectNumber(1)), counting(1)).await.unwrap();
    }

    #[tokio::test]
    async fn a_slow_read_has_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        let limit = Duration::from_millis(50);
        let engine = open(&folder, SlowReads { at_once: 1, time_limit: limit }, LOG_PAGES);
        let outcome = engine.read_slow(Reader::Request(ProjectNumber(1)), counting(i64::MAX)).await;
        assert!(matches!(outcome, Err(Error::TooSlow(time)) if time == limit), "{:?}", outcome.err());
        engine.read_slow(Reader::Request(ProjectNumber(1)), counting(1)).await.unwrap();
    }

    /// Reads without a pause, of both kinds, and nobody but them to make one for the log.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn the_log_is_started_anew_although_reads_overlap() {
        let folder = tempfile::tempdir().unwrap();
        let engine = open(&folder, SLOW, 100);
        write(&engine, "create table filled (text blob)".into()).await;
        let done = Arc::new(AtomicBool::new(false));
        let reading: Vec<_> = (0..12)
            .map(|reader| {
                let (engine, done) = (Arc::clone(&engine), Arc::clone(&done));
                tokio::spawn(async move {
                    while !done.load(Ordering::Relaxed) {
                        if reader % 2 == 0 {
                            engine.read(reading(20_000)).await.unwrap();
                        } else {
                            let reader = Reader::Request(ProjectNumber(reader));
                            engine.read_slow(reader, reading(300_000)).await.unwrap();
                        }
                    }
                })
            })
            .collect();
        let began = Instant::now();
        while engine.log.restarts() < 3 {
            assert!(began.elapsed() < Duration::from_mins(1), "the log only grows");
            write(&engine, "insert into filled values (randomblob(40000))".into()).await;
        }
        done.store(true, Ordering::Relaxed);
        for reader in reading {
            reader.await.unwrap();
        }
    }
}
