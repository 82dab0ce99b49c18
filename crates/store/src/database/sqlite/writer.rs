//! The thread that writes.
//!
//! The jobs after the first one run under a savepoint each, so that one that fails is undone alone. The first job runs
//! without a savepoint: inside one, SQLite walks through all pages that it changed after every statement.

use crossbeam_channel::{Receiver, select};
use rusqlite::Connection;

use super::log::Log;
use crate::database::error::{Error, Result};
use crate::database::metrics::StoreMetrics;
use crate::database::tx::given_up;

/// Most jobs of one commit.
const GROUP: usize = 512;
/// Answers a job's caller, told whether the group was committed.
pub(super) type Reply = Box<dyn FnOnce(Result<()>) + Send>;

/// What is known of a write before it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriteKind {
    /// Somebody waits for it, and it is not large.
    Interactive,
    /// The same with some thousand rows: it does not run under a savepoint.
    Large,
    /// It lets the others go first. It does not run under a savepoint either.
    Bulk,
}

type Run = Box<dyn FnOnce(Result<&mut Connection>) -> (bool, Reply) + Send>;

/// A job for the connection.
pub(super) struct Job {
    is_large: bool,
    run: Run,
}

impl Job {
    /// `run` gets an error if there is no connection. It returns whether its changes are kept, and a function that
    /// answers its caller.
    pub(super) fn new(
        kind: WriteKind,
        run: impl FnOnce(Result<&mut Connection>) -> (bool, Reply) + Send + 'static,
    ) -> Self {
        Self { is_large: kind == WriteKind::Large, run: Box::new(run) }
    }
}

pub(super) fn write_loop(
    connection: &mut Connection,
    interactive: &Receiver<Job>,
    bulk: &Receiver<Job>,
    log: &Log,
    metrics: &StoreMetrics,
) {
    // a panic may have left a transaction behind
    rollback(connection);
    let mut groups: usize = 0;
    let mut held = None;
    while let Some(first) = held.take().or_else(|| next_job(interactive, bulk, groups)) {
        groups = groups.wrapping_add(1);
        log.restart_if_wanted(connection);
        let (replies, outcome) = run_group(connection, first, interactive, &mut held);
        metrics.group(replies.len());
        if let Err(error) = &outcome {
            tracing::error!(%error, jobs = replies.len(), "a group of writes was not committed");
        }
        for reply in replies {
            reply(outcome.clone());
        }
    }
    match log.following() {
        // the next start goes on where the copies are, and the database has all of the log nevertheless
        Some(following) if following.keeps_log() => drop(following.make_way(connection)),
        // whoever else reads the log, in this process or in another one, is not waited for
        _ => drop(connection.execute_batch("pragma busy_timeout = 0; pragma wal_checkpoint(truncate)")),
    }
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
/// goes through all pages that were changed since. So a large one that comes behind others is `held` for the next group.
fn run_group(
    connection: &mut Connection,
    first: Job,
    queued: &Receiver<Job>,
    held: &mut Option<Job>,
) -> (Vec<Reply>, Result<()>) {
    let mut replies = Vec::new();
    if let Err(error) = connection.execute_batch("begin immediate") {
        let error = Error::from(error);
        let (_, reply) = (first.run)(Err(error.clone()));
        return (vec![reply], Err(error));
    }
    let (keep, reply) = (first.run)(Ok(&mut *connection));
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
        if job.is_large {
            *held = Some(job);
            break;
        }
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

/// Runs one job under a savepoint. An error concerns the whole transaction: SQLite rolls it back by itself when the
/// disk is full.
fn run_job(connection: &mut Connection, job: Job) -> (Reply, Result<()>) {
    let savepoint = cached(connection, "savepoint job");
    let (keep, reply) = (job.run)(Ok(&mut *connection));
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

pub(super) fn rollback(connection: &Connection) {
    if !connection.is_autocommit() {
        let _ = connection.execute_batch("rollback");
    }
}
