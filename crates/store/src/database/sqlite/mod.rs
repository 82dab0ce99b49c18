//! SQLite: one writer thread that commits in groups, a few threads for reads, and others for slow ones.
//!
//! A commit costs a flush to disk, so commits are limited to a few hundred a second. The writer therefore takes one
//! job, runs it, goes on with the jobs that are already queued, commits once (`synchronous = full`), and only then
//! answers all callers. An idle writer adds no wait.
//!
//! [`log`] copies the write-ahead log into the database on a thread of its own, because the writer's own copying is a
//! pause for all callers.

pub mod backup;
mod connection;
pub mod copies;
mod log;
mod read;
mod thread;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crossbeam_channel::{Sender, TrySendError, bounded};
use mailwright_core::time::Clock;
use tokio::sync::oneshot;

use self::connection::{connect, refuse_foreign};
use self::copies::following::{Follow, Following};
use self::log::{LOG_PAGES, Log};
use self::read::Readers;
use self::thread::{QUEUE, Thread, caught, closed, kept_running, poll_once, spawn};
pub(crate) use self::writer::WriteKind;
use self::writer::{Job, Reply, write_loop};
use crate::database::body::{ReadBody, WriteBody};
use crate::database::dialect::{Dialect, Texts};
use crate::database::error::{Error, Result};
use crate::database::metrics::StoreMetrics;
use crate::database::slow::{Reader, SlowReads};
use crate::database::tx::{Session, Tx};
use crate::database::undone::{Answer, Undone};

pub(crate) struct Sqlite {
    interactive: Sender<Job>,
    bulk: Sender<Job>,
    readers: Readers,
    texts: Arc<Texts>,
    log: Arc<Log>,
    path: PathBuf,
    threads: Vec<Thread>,
}

impl Sqlite {
    pub(crate) fn open(path: &Path, slow_reads: SlowReads, metrics: StoreMetrics) -> Result<Self> {
        Self::start(path, slow_reads, metrics, Log::new(LOG_PAGES))
    }

    fn start(path: &Path, slow_reads: SlowReads, metrics: StoreMetrics, log: Log) -> Result<Self> {
        let mut writer = connect(path)?;
        refuse_foreign(path, &writer)?;
        writer.execute_batch(
            "pragma journal_mode = wal; pragma synchronous = full; pragma cache_size = -10240; \
             pragma wal_autocheckpoint = 0; pragma journal_size_limit = 268435456;",
        )?;
        let (interactive, interactive_jobs) = bounded::<Job>(QUEUE);
        let (bulk, bulk_jobs) = bounded::<Job>(QUEUE);
        let (stop, stopped) = bounded(0);
        let copier = connect(path)?;
        let log = Arc::new(log);
        let (to_copy, to_restart) = (Arc::clone(&log), Arc::clone(&log));
        let mut threads = vec![
            spawn("sqlite-log", move || {
                kept_running("sqlite-log", || log::copy_loop(&copier, &to_copy, &stopped));
                copier
            })?,
            spawn("sqlite-writer", move || {
                kept_running("sqlite-writer", || {
                    write_loop(&mut writer, &interactive_jobs, &bulk_jobs, &to_restart, &metrics);
                });
                drop::<Sender<()>>(stop);
                writer
            })?,
        ];
        let texts = Arc::new(Texts::new(Dialect::Sqlite));
        let readers = Readers::start(path, slow_reads, &log, &texts, &mut threads)?;
        Ok(Self { interactive, bulk, readers, texts, log, path: path.to_owned(), threads })
    }

    pub(crate) async fn write(&self, kind: WriteKind, body: WriteBody) -> Result<Answer, Undone> {
        let (answer, answered) = oneshot::channel();
        let texts = Arc::clone(&self.texts);
        let job = Job::new(kind, move |connection| {
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
        let queue = if kind == WriteKind::Bulk { &self.bulk } else { &self.interactive };
        queue.try_send(job).map_err(|refused| match refused {
            TrySendError::Full(_) => Error::Busy,
            TrySendError::Disconnected(_) => closed(),
        })?;
        // the thread panicked, before or after the commit
        answered.await.map_err(|_| Error::Unknown("the thread that writes panicked".into()))?
    }

    pub(crate) async fn read(&self, body: ReadBody) -> Result<Answer> {
        self.readers.fast(body).await
    }

    pub(crate) async fn read_slow(&self, reader: Reader, body: ReadBody) -> Result<Answer> {
        self.readers.slow(reader, body).await
    }

    /// Where the database is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Has the log be read for copies before it is started anew.
    pub(crate) fn follow(&self, follow: &Follow, clock: &Clock) -> Result<Arc<Following>> {
        let following = Arc::new(Following::new(&self.path, follow, clock)?);
        if self.log.follow(&following) {
            Ok(following)
        } else {
            Err(Error::Unavailable("copies of this database are made already".into()))
        }
    }

    /// Runs something on the thread that writes, in a transaction: nobody writes meanwhile, whichever the process.
    pub(crate) async fn in_turn<T: Send + 'static>(
        &self,
        run: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        let (answer, answered) = oneshot::channel();
        let job = Job::new(WriteKind::Interactive, move |connection| {
            let outcome = connection.map(|_| run());
            // nothing was written
            (false, Box::new(move |_| drop(answer.send(outcome))))
        });
        self.interactive.try_send(job).map_err(|refused| match refused {
            TrySendError::Full(_) => Error::Busy,
            TrySendError::Disconnected(_) => closed(),
        })?;
        answered.await.map_err(|_| closed())?
    }

    /// Runs what is queued, then closes the files.
    pub(crate) fn close(self) {
        let Self { interactive, bulk, readers, threads, log, .. } = self;
        drop((interactive, bulk, readers));
        let connections: Vec<_> = threads.into_iter().map(Thread::join).collect();
        if let Some(following) = log.following().filter(|following| following.keeps_log()) {
            // a connection that is not closed keeps the last one from removing the log; the process is about to end
            std::mem::forget(Arc::clone(following));
        }
        drop(connections);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    use mailwright_core::ids::ProjectNumber;

    use super::*;
    use crate::args;
    use crate::body;
    use crate::database::body::{read_body, write_body};

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
        read_body(body!(async |rx| rx.one(text, args![to], |r| r.get::<i64>(0)).await))
    }

    async fn write(engine: &Sqlite, sql: String) {
        let written =
            engine.write(WriteKind::Interactive, write_body(body!(async |tx| tx.execute(sql, &[]).await)));
        written.await.unwrap();
    }

    #[tokio::test]
    async fn nothing_is_left_beside_a_database_that_was_closed() {
        let folder = tempfile::tempdir().unwrap();
        for round in 0..200 {
            let engine = open(&folder, SLOW, LOG_PAGES);
            let ours = "create table if not exists schema_migrations (number integer, applied_at integer)";
            write(&engine, ours.into()).await;
            write(&engine, "insert into schema_migrations values (1, 1)".into()).await;
            // all threads have read, so that all their connections are in the log
            let reads = (0..8).map(|_| engine.read(counting(1)));
            futures_util::future::try_join_all(reads).await.unwrap();
            Arc::into_inner(engine).unwrap().close();
            let entries = std::fs::read_dir(folder.path()).unwrap();
            let left: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
            assert_eq!(left, ["test.sqlite"], "in round {round}");
        }
    }

    #[tokio::test]
    async fn a_large_write_begins_a_transaction_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let engine = open(&folder, SLOW, LOG_PAGES);
        let (go_on, going_on) = std::sync::mpsc::channel();
        let blocks = engine.in_turn(move || going_on.recv().unwrap());
        let savepoint = |kind| {
            let undo = write_body(body!(async |tx| {
                Ok::<_, Error>(tx.execute("rollback to job", &[]).await.is_ok())
            }));
            let written = engine.write(kind, undo);
            async { *written.await.unwrap().downcast::<bool>().unwrap() }
        };
        let unblock = async { go_on.send(()).unwrap() };
        // each is queued when it is first polled, and the first is alone since nothing of it is kept
        let found = futures_util::future::join5(
            async { blocks.await.map(|()| true).unwrap() },
            savepoint(WriteKind::Interactive),
            savepoint(WriteKind::Interactive),
            savepoint(WriteKind::Large),
            savepoint(WriteKind::Interactive),
        );
        let (found, ()) = tokio::join!(found, unblock);
        assert_eq!(found, (true, false, true, false, true));
    }

    #[tokio::test]
    async fn a_panic_of_the_writer_costs_the_jobs_of_that_moment() {
        let folder = tempfile::tempdir().unwrap();
        let engine = open(&folder, SLOW, LOG_PAGES);
        write(&engine, "create table kept (n integer)".into()).await;
        // what the thread does itself, outside of a body
        let panics = Job::new(WriteKind::Interactive, |connection| {
            connection.unwrap().execute("insert into kept values (1)", []).unwrap();
            panic!("as the test wants it")
        });
        engine.interactive.try_send(panics).unwrap();
        write(&engine, "insert into kept values (2)".into()).await;
        let sum =
            read_body(body!(async |rx| rx.one("select sum(n) from kept", &[], |r| r.get::<i64>(0)).await));
        assert_eq!(*engine.read(sum).await.unwrap().downcast::<i64>().unwrap(), 2);
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
                            engine.read(reading(2_000)).await.unwrap();
                        } else {
                            let reader = Reader::Request(ProjectNumber(reader));
                            engine.read_slow(reader, reading(60_000)).await.unwrap();
                        }
                    }
                })
            })
            .collect();
        let began = Instant::now();
        while engine.log.restarts() < 3 {
            assert!(began.elapsed() < Duration::from_mins(4), "the log only grows");
            write(&engine, "insert into filled values (randomblob(40000))".into()).await;
        }
        done.store(true, Ordering::Relaxed);
        for reader in reading {
            reader.await.unwrap();
        }
    }
}
