//! Coalesced calls: many callers, one transaction.
//!
//! The hottest operations do not run a transaction each. They hand their operation to a [`Coalescer`], whose task
//! takes everything that is waiting, runs one body over it, and answers each caller once the transaction is on disk.
//! While one group commits, the next one gathers, so that load makes groups larger instead of queues longer.
//!
//! A group costs something however small it is. Where callers have other work to do meanwhile, a busy coalescer waits a
//! little for more of them ([`Gathering`]).

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::db::Db;
use crate::error::{Error, Result};
use crate::tx::{Rx, Tx};

/// Most operations of one group.
const GROUP: usize = 512;
/// Most operations that wait in a shard; beyond that callers get [`Error::Busy`].
const QUEUE: usize = 8192;
/// How often a group that met another transaction is tried.
const TRIES: u32 = 10;

type Call<O, R> = (O, oneshot::Sender<Result<R>>);

/// Runs one group: one result per operation, in order.
pub type WriteGroup<O, R> = for<'t> fn(&'t mut Tx<'_>, &'t [O]) -> BoxFuture<'t, Result<Vec<R>>>;
/// Like [`WriteGroup`] for operations that only read.
pub type ReadGroup<O, R> = for<'t> fn(&'t mut Rx<'_>, &'t [O]) -> BoxFuture<'t, Result<Vec<R>>>;

enum Body<O, R> {
    Write(WriteGroup<O, R>),
    Read(ReadGroup<O, R>),
}

impl<O, R> Clone for Body<O, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<O, R> Copy for Body<O, R> {}

/// How long a group waits for more operations. The first after a pause never waits.
#[derive(Debug, Clone, Copy)]
pub struct Gathering {
    /// How many operations are enough to begin with.
    pub enough: usize,
    /// With fewer, a group begins no sooner than this after the one before.
    pub apart: Duration,
}

impl Gathering {
    /// Whatever waits is enough.
    const NONE: Self = Self { enough: 1, apart: Duration::ZERO };
}

/// Gathers operations of one kind and runs them in groups.
pub struct Coalescer<O, R> {
    shards: Vec<mpsc::Sender<Call<O, R>>>,
}

impl<O, R> std::fmt::Debug for Coalescer<O, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Coalescer({} shards)", self.shards.len())
    }
}

impl<O: Send + Sync + 'static, R: Send + 'static> Coalescer<O, R> {
    /// A coalescer of writes. On PostgreSQL there are two shards, so that one computes while the other waits for the
    /// disk; on SQLite one, since there is one writer.
    pub fn writes(db: &Db, body: WriteGroup<O, R>) -> Self {
        Self::start(db, if db.is_postgres() { 2 } else { 1 }, Gathering::NONE, Body::Write(body))
    }

    /// A coalescer of writes whose callers can wait a little, so that groups are few and large.
    pub fn gathered_writes(db: &Db, gathering: Gathering, body: WriteGroup<O, R>) -> Self {
        Self::start(db, 1, gathering, Body::Write(body))
    }

    /// A coalescer of reads.
    pub fn reads(db: &Db, body: ReadGroup<O, R>) -> Self {
        Self::start(db, 1, Gathering::NONE, Body::Read(body))
    }

    fn start(db: &Db, shards: usize, gathering: Gathering, body: Body<O, R>) -> Self {
        let shards = (0..shards)
            .map(|_| {
                let (calls, waiting) = mpsc::channel(QUEUE);
                tokio::spawn(run(db.clone(), waiting, gathering, body));
                calls
            })
            .collect();
        Self { shards }
    }

    /// Runs an operation with whatever else is waiting. Operations with the same `route` run in the order given and
    /// never against each other.
    pub async fn call(&self, route: u64, operation: O) -> Result<R> {
        let (answer, answered) = oneshot::channel();
        let shard = &self.shards[(route % self.shards.len() as u64) as usize];
        shard.try_send((operation, answer)).map_err(|refused| match refused {
            mpsc::error::TrySendError::Full(_) => Error::Busy,
            mpsc::error::TrySendError::Closed(_) => Error::Unavailable("shutting down".into()),
        })?;
        answered.await.map_err(|_| Error::Unavailable("shutting down".into()))?
    }

    /// Hands over an operation that nobody waits for. It is lost when the queue is full, or the database away.
    pub fn post(&self, operation: O) {
        let (answer, _) = oneshot::channel();
        if self.shards[0].try_send((operation, answer)).is_err() {
            tracing::debug!("an operation that nobody waits for was dropped");
        }
    }
}

async fn run<O: Send + Sync + 'static, R: Send + 'static>(
    db: Db,
    mut waiting: mpsc::Receiver<Call<O, R>>,
    gathering: Gathering,
    body: Body<O, R>,
) {
    let mut calls = Vec::with_capacity(GROUP);
    let mut earliest = Instant::now();
    while waiting.recv_many(&mut calls, GROUP).await > 0 {
        gather(&mut waiting, &mut calls, gathering.enough, earliest).await;
        earliest = Instant::now() + gathering.apart;
        let (operations, answers): (Vec<O>, Vec<_>) = calls.drain(..).unzip();
        if db.is_postgres() && matches!(body, Body::Write(_)) {
            // SQLite's writer counts its own groups
            db.metrics().group(operations.len());
        }
        for (answer, outcome) in answers.into_iter().zip(run_group(&db, operations, body).await) {
            let _ = answer.send(outcome);
        }
    }
}

/// Takes more calls until there are enough, or time has come.
async fn gather<C>(waiting: &mut mpsc::Receiver<C>, calls: &mut Vec<C>, enough: usize, earliest: Instant) {
    while calls.len() < enough {
        let more = waiting.recv_many(calls, GROUP - calls.len());
        match tokio::time::timeout_at(earliest, more).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
    }
}

/// Runs a group; when it fails for a reason that may lie in one of its operations, runs each by itself, so that one
/// caller's trouble is not everybody's.
async fn run_group<O: Send + Sync + 'static, R: Send + 'static>(
    db: &Db,
    operations: Vec<O>,
    body: Body<O, R>,
) -> Vec<Result<R>> {
    let count = operations.len();
    let operations = Arc::new(operations);
    match attempt(db, &operations, 0..count, body).await {
        Ok(results) if results.len() == count => results.into_iter().map(Ok).collect(),
        Ok(_) => (0..count).map(|_| Err(Error::Statement("a group lost results".into()))).collect(),
        Err(error) if count == 1 || is_of_all(&error) => (0..count).map(|_| Err(error.clone())).collect(),
        Err(error) => {
            tracing::warn!(%error, operations = count, "a group failed, running each operation by itself");
            let mut results: Vec<Result<R>> = Vec::with_capacity(count);
            for index in 0..count {
                let one = attempt(db, &operations, index..index + 1, body).await;
                let one = one.and_then(|mut r| r.pop().ok_or(Error::NotFound));
                let lost = one.as_ref().err().filter(|error| is_of_all(error)).cloned();
                results.push(one);
                if let Some(lost) = lost {
                    // the others were not tried, so that their outcome is known
                    let lost = if let Error::Unknown(text) = lost { Error::Unavailable(text) } else { lost };
                    results.resize_with(count, || Err(lost.clone()));
                    break;
                }
            }
            results
        }
    }
}

/// Whether an error is not about one of the operations: the others would fare no better by themselves. After a commit
/// with an unknown outcome they might even be done twice.
fn is_of_all(error: &Error) -> bool {
    match error {
        Error::Unavailable(_) | Error::Unknown(_) | Error::Busy | Error::Interrupted(_) | Error::Full(_) => {
            true
        }
        Error::TooSlow(_)
        | Error::NoTurn(_)
        | Error::Crowded(_)
        | Error::Contention(_)
        | Error::Conflict(_)
        | Error::NotFound
        | Error::RowCount(_)
        | Error::Corrupt { .. }
        | Error::AwaitedOutside
        | Error::Panicked(_)
        | Error::Statement(_)
        | Error::Migration(_) => false,
    }
}

/// Runs the body over a part of the operations, again when another transaction got in the way.
async fn attempt<O: Send + Sync + 'static, R: Send + 'static>(
    db: &Db,
    operations: &Arc<Vec<O>>,
    part: std::ops::Range<usize>,
    body: Body<O, R>,
) -> Result<Vec<R>> {
    let mut tries = 0;
    loop {
        let shared = Arc::clone(operations);
        let part = part.clone();
        let outcome = match body {
            Body::Write(body) => {
                db.write_group(move |tx| Box::pin(async move { body(tx, &shared[part]).await })).await
            }
            Body::Read(body) => {
                db.read(move |rx| Box::pin(async move { body(rx, &shared[part]).await })).await
            }
        };
        match outcome {
            Err(Error::Contention(_)) if tries < TRIES => {
                tokio::time::sleep(pause(tries)).await;
                tries += 1;
            }
            other => return other,
        }
    }
}

/// How long to wait before the next try: 1 to 20 ms, longer with each, and not the same in two processes that got in
/// each other's way.
fn pause(tries: u32) -> Duration {
    let most = 2_u64.saturating_pow(tries + 1).min(20);
    Duration::from_millis(1 + RandomState::new().hash_one(tries) % most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::{Location, StoreMetrics};

    fn open(folder: &tempfile::TempDir) -> Db {
        let location = Location::Sqlite(folder.path().join("test.sqlite"));
        Db::open(&location, StoreMetrics::default()).unwrap()
    }

    /// Groups get in each other's way; single operations do what their number says.
    fn body(operations: &[u8]) -> Result<Vec<u8>> {
        match operations {
            [0] => Err(Error::NotFound),
            [1] => panic!("one"),
            [9] => Err(Error::Unknown("lost".into())),
            [one] => Ok(vec![*one]),
            [99, ..] => Err(Error::Unknown("lost".into())),
            _ => Err(Error::Contention("always".into())),
        }
    }

    async fn outcomes(operations: &[u8]) -> Vec<Result<u8>> {
        let folder = tempfile::tempdir().unwrap();
        let db = open(&folder);
        let write: WriteGroup<u8, u8> = |_, operations| Box::pin(async move { body(operations) });
        run_group(&db, operations.to_vec(), Body::Write(write)).await
    }

    #[tokio::test]
    async fn what_cannot_be_done_together_is_done_one_by_one() {
        let found = outcomes(&[2, 0, 1, 3]).await;
        assert!(
            matches!(&found[..], [Ok(2), Err(Error::NotFound), Err(Error::Panicked(text)), Ok(3)] if text == "one"),
            "{found:?}"
        );
    }

    #[tokio::test]
    async fn a_group_of_unknown_outcome_is_not_run_again() {
        let found = outcomes(&[99, 2]).await;
        assert!(matches!(found[..], [Err(Error::Unknown(_)), Err(Error::Unknown(_))]), "{found:?}");
        // by themselves, those after it are not tried
        let found = outcomes(&[2, 9, 3]).await;
        assert!(
            matches!(found[..], [Ok(2), Err(Error::Unknown(_)), Err(Error::Unavailable(_))]),
            "{found:?}"
        );
    }
}
