//! The threads for reads: some for fast reads, others for slow ones.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::connection::connect;
use super::log::Log;
use super::thread::{QUEUE, Thread, caught, closed, kept_running, poll_once, spawn};
use super::writer::rollback;
use crate::database::body::ReadBody;
use crate::database::dialect::Texts;
use crate::database::error::{Error, Result};
use crate::database::slow::{Place, Places, Reader, SlowReads};
use crate::database::tx::{Rx, Session};
use crate::database::undone::Answer;

/// Threads for fast reads.
const READERS: usize = 3;
/// How long a fast read may take: none does, and one that did would stand in the way of keys and health.
const FAST_LIMIT: Duration = Duration::from_secs(30);
/// After this many steps of SQLite's virtual machine, well under a millisecond, it is checked whether the read is still
/// wanted.
const STEPS: i32 = 4_000;
/// How much a thread of slow reads gives way to everything else.
const NICE: i32 = 5;

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// The threads that run reads.
pub(super) struct Readers {
    fast: Sender<Job>,
    slow: Sender<Job>,
    places: Places,
    limits: SlowReads,
    log: Arc<Log>,
    texts: Arc<Texts>,
}

impl Readers {
    pub(super) fn start(
        path: &Path,
        limits: SlowReads,
        log: &Arc<Log>,
        texts: &Arc<Texts>,
        threads: &mut Vec<Thread>,
    ) -> Result<Self> {
        let (fast, fast_jobs) = bounded::<Job>(QUEUE);
        let (slow, slow_jobs) = bounded::<Job>(QUEUE);
        for _ in 0..READERS {
            let (mut reader, jobs, log) = (connect_reader(path)?, fast_jobs.clone(), Arc::clone(log));
            let before = move || log.wait_for_fast_read();
            threads.push(spawn("sqlite-reader", move || {
                kept_running("sqlite-reader", || run(&mut reader, &jobs, &before));
                reader
            })?);
        }
        for _ in 0..limits.at_once.max(1) {
            let (mut reader, jobs) = (connect_reader(path)?, slow_jobs.clone());
            threads.push(spawn("sqlite-slow", move || {
                give_way();
                kept_running("sqlite-slow", || run(&mut reader, &jobs, || ()));
                reader
            })?);
        }
        let places = Places::new(limits.at_once);
        Ok(Self { fast, slow, places, limits, log: Arc::clone(log), texts: Arc::clone(texts) })
    }

    pub(super) async fn fast(&self, body: ReadBody) -> Result<Answer> {
        self.run(&self.fast, body, FAST_LIMIT, None).await
    }

    pub(super) async fn slow(&self, reader: Reader, body: ReadBody) -> Result<Answer> {
        let patience = self.limits.limit_of(reader);
        let place = self.places.take(reader, patience).await?;
        let limit = place.limit(patience);
        self.log.wait_for_slow_read(limit).await?;
        match self.run(&self.slow, body, limit, Some(place)).await {
            Err(Error::Interrupted(_)) => Err(Error::TooSlow(limit)),
            other => other,
        }
    }

    /// Runs a body on one of the threads of a queue. It is stopped when it takes too long, and when nobody waits for it
    /// any more; its place is free when it has ended.
    async fn run(
        &self,
        queue: &Sender<Job>,
        body: ReadBody,
        limit: Duration,
        place: Option<Place>,
    ) -> Result<Answer> {
        let (answer, answered) = oneshot::channel();
        let (texts, log) = (Arc::clone(&self.texts), Arc::clone(&self.log));
        let unwanted = Arc::new(AtomicBool::new(false));
        let given_up = Arc::clone(&unwanted);
        let job: Job = Box::new(move |connection| {
            let _noted = place.as_ref().map(|_| log.slow_read());
            let _place = place;
            if answer.is_closed() {
                return;
            }
            let outcome = watched(connection, limit, given_up, |connection| {
                let mut rx = Rx::new(Session::sqlite(connection, false), &texts);
                caught(|| poll_once(body(&mut rx)))
            });
            // one that panicked may have left a snapshot behind, and this thread would read from it for ever
            rollback(connection);
            let _ = answer.send(outcome);
        });
        let _guard = scopeguard::guard(unwanted, |unwanted| unwanted.store(true, Ordering::Relaxed));
        queue.try_send(job).map_err(|refused| match refused {
            TrySendError::Full(_) => Error::Busy,
            TrySendError::Disconnected(_) => closed(),
        })?;
        answered.await.map_err(|_| closed())?
    }
}

fn connect_reader(path: &Path) -> Result<Connection> {
    let reader = connect(path)?;
    reader.execute_batch("pragma query_only = on;")?;
    Ok(reader)
}

fn run(connection: &mut Connection, jobs: &Receiver<Job>, before: impl Fn()) {
    // a panic may have left a transaction behind
    rollback(connection);
    while let Ok(job) = jobs.recv() {
        before();
        job(connection);
    }
}

/// Runs statements that end with [`Error::Interrupted`] when the time is over or they are given up.
fn watched<T>(
    connection: &mut Connection,
    limit: Duration,
    given_up: Arc<AtomicBool>,
    run: impl FnOnce(&mut Connection) -> Result<T>,
) -> Result<T> {
    let end = Instant::now() + limit;
    connection
        .progress_handler(STEPS, Some(move || given_up.load(Ordering::Relaxed) || Instant::now() >= end))?;
    let outcome = run(connection);
    connection.progress_handler(0, None::<fn() -> bool>)?;
    outcome
}

/// Lowers the priority of this thread. Elsewhere than on Linux it would be the whole process's.
fn give_way() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::nice(NICE) {
        tracing::debug!(%error, "slow reads run at the priority of everything else");
    }
}
