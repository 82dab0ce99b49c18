//! The task of a coalescer, which runs what waits group by group.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use mailwright_core::ids::ProjectNumber;
use tokio::sync::{Semaphore, SemaphorePermit, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::answer::answer_group;
use super::aside::{Aside, GROUP, groups};
use super::call::{Call, Held, Load, QUEUE, Turn, Waiting};
use super::group::{BRIEFLY, Body, ReadGroup, WAIT, WriteGroup};
use crate::database::db::Db;
use crate::database::error::{Error, Result};

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

/// From so many operations on, a group begins beside that of another shard.
pub(super) const ENOUGH_FOR_TWO: usize = 32;
/// How long a smaller group waits for that of another shard, at most: one that is held up holds up nobody else.
const OTHER_SHARD: Duration = Duration::from_millis(10);

/// Whose turn it is among the shards of a coalescer, while they have few operations.
///
/// A transaction of fifteen statements costs about a millisecond of processor time, however few operations are in it.
/// So two small groups beside each other cost twice as much as one after the other, which gathers more meanwhile. Large
/// groups are worth a transaction each, and use a second processor of the database.
pub(super) struct OneAtATime(Semaphore);

impl OneAtATime {
    pub(super) fn new() -> Self {
        Self(Semaphore::new(1))
    }

    /// Waits for the turn while more operations come in; no longer than until there are enough, or for [`OTHER_SHARD`].
    pub(super) async fn wait<C>(
        &self,
        waiting: &mut mpsc::Receiver<C>,
        calls: &mut Vec<C>,
    ) -> Option<SemaphorePermit<'_>> {
        let until = Instant::now() + OTHER_SHARD;
        let turn = self.0.acquire();
        tokio::pin!(turn);
        while calls.len() < ENOUGH_FOR_TWO {
            tokio::select! {
                biased;
                turn = &mut turn => return turn.ok(),
                () = tokio::time::sleep_until(until) => break,
                Some(()) = take_more(waiting, calls) => {}
                else => break,
            }
        }
        None
    }
}

/// Gathers operations of one kind and runs them in groups.
pub struct Coalescer<O, R> {
    db: Db,
    gathering: Gathering,
    body: Body<O, R>,
    shards: Vec<Shard<O, R>>,
    /// Where the tables are divided, one for each server whose projects are known: operations for one that does not answer
    /// hold up no others, and those for one part gather.
    by_server: RwLock<HashMap<i64, Shard<O, R>>>,
}

struct Shard<O, R> {
    calls: mpsc::Sender<Call<O, R>>,
    waiting: Arc<Waiting>,
}

impl<O, R> Clone for Shard<O, R> {
    fn clone(&self) -> Self {
        Self { calls: self.calls.clone(), waiting: Arc::clone(&self.waiting) }
    }
}

impl<O: Send + Sync + 'static, R: Send + 'static> Shard<O, R> {
    fn start(db: &Db, gathering: Gathering, turns: Option<Arc<OneAtATime>>, body: Body<O, R>) -> Self {
        let (calls, waiting) = mpsc::channel(QUEUE);
        tokio::spawn(run(db.clone(), waiting, gathering, turns, body));
        Self { calls, waiting: Arc::default() }
    }
}

impl<O, R> std::fmt::Debug for Coalescer<O, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Coalescer({} shards)", self.shards.len())
    }
}

impl<O: Send + Sync + 'static, R: Send + 'static> Coalescer<O, R> {
    /// A coalescer of writes. On PostgreSQL there are two shards, which take turns while they have little to do; on SQLite
    /// one, since there is one writer.
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
        let alternation = (shards > 1).then(|| Arc::new(OneAtATime::new()));
        let shards = (0..shards).map(|_| Shard::start(db, gathering, alternation.clone(), body)).collect();
        Self { db: db.clone(), gathering, body, shards, by_server: RwLock::default() }
    }

    /// Where an operation for a project waits.
    fn shard(&self, route: u64, project: ProjectNumber) -> Shard<O, R> {
        let Some(server) = self.db.server_of(project) else {
            return self.shards[(route % self.shards.len() as u64) as usize].clone();
        };
        if let Some(shard) = self.by_server.read().unwrap_or_else(PoisonError::into_inner).get(&server) {
            return shard.clone();
        }
        let mut by_server = self.by_server.write().unwrap_or_else(PoisonError::into_inner);
        let start = || Shard::start(&self.db, self.gathering, None, self.body);
        by_server.entry(server).or_insert_with(start).clone()
    }

    /// Runs an operation together with the others that wait. Operations with the same `route` run in the order given
    /// and never against each other, unless the place of their project changes meanwhile.
    pub async fn call(&self, route: u64, operation: O) -> Result<R> {
        self.call_sized(route, Load::SMALL, operation).await
    }

    /// The same for an operation that may be large.
    pub async fn call_sized(&self, route: u64, load: Load, operation: O) -> Result<R> {
        let (answer, answered) = oneshot::channel();
        let shard = self.shard(route, load.project);
        let load = Held::take(&shard.waiting, load).ok_or(Error::Busy)?;
        let call = Call { route, operation, answer, load, held_up: None };
        shard.calls.try_send(call).map_err(|refused| match refused {
            mpsc::error::TrySendError::Full(_) => Error::Busy,
            mpsc::error::TrySendError::Closed(_) => Error::Unavailable("shutting down".into()),
        })?;
        answered.await.map_err(|_| Error::Unavailable("shutting down".into()))?
    }

    /// Hands over an operation that nobody waits for. It is lost when the queue is full, or the database away.
    pub fn post(&self, operation: O) {
        let (answer, _) = oneshot::channel();
        let shard = &self.shards[0];
        let Some(load) = Held::take(&shard.waiting, Load::SMALL) else { return };
        if shard.calls.try_send(Call { route: 0, operation, answer, load, held_up: None }).is_err() {
            tracing::debug!("an operation that nobody waits for was dropped");
        }
    }
}

async fn run<O: Send + Sync + 'static, R: Send + 'static>(
    db: Db,
    mut waiting: mpsc::Receiver<Call<O, R>>,
    gathering: Gathering,
    alternation: Option<Arc<OneAtATime>>,
    body: Body<O, R>,
) {
    let mut calls = Vec::with_capacity(GROUP);
    let mut aside = Aside(VecDeque::new());
    let mut running: Option<Running<O, R>> = None;
    let mut earliest = Instant::now();
    loop {
        if running.is_none() && calls.is_empty() {
            if waiting.recv_many(&mut calls, GROUP).await == 0 {
                return;
            }
            gather(&mut waiting, &mut calls, gathering.enough, earliest).await;
        } else {
            while calls.len() < GROUP
                && let Ok(call) = waiting.try_recv()
            {
                calls.push(call);
            }
        }
        let turn = match &alternation {
            Some(alternation) if !calls.is_empty() => alternation.wait(&mut waiting, &mut calls).await,
            _ => None,
        };
        earliest = Instant::now() + gathering.apart;
        let turns = running.as_ref().map_or(&[][..], |running| &running.turns);
        let mut groups = groups(&mut calls, &mut aside, turns).into_iter();
        while let Some(group) = groups.next() {
            let held_up = answer_group(&db, group, WAIT, body).await;
            if !held_up.is_empty() {
                aside.put_back(held_up);
                // what is left may have to come after one of them
                calls.extend(groups.flatten());
                break;
            }
        }
        drop(turn);
        // until nothing is aside any more, or something small waits
        loop {
            if running.is_none() {
                let calls = aside.next();
                running = Running::start(&db, calls, aside.0.is_empty(), body);
            }
            let Some(alone) = &mut running else { break };
            if !calls.is_empty() {
                break;
            }
            tokio::select! {
                biased;
                held_up = &mut alone.work => {
                    running = None;
                    aside.put_back(held_up.unwrap_or_default());
                }
                Some(()) = take_more(&mut waiting, &mut calls) => {}
            }
        }
    }
}

/// Operations that were set aside, under way by themselves.
struct Running<O, R> {
    turns: Vec<Turn>,
    /// Ends with the calls that met what another transaction holds.
    work: JoinHandle<Vec<Call<O, R>>>,
}

impl<O: Send + Sync + 'static, R: Send + 'static> Running<O, R> {
    /// Runs operations, if there are any, when their turn has come. Operations that are held up do not wait for a turn,
    /// and only briefly for the lock, unless they are the only ones.
    fn start(db: &Db, calls: Vec<Call<O, R>>, only: bool, body: Body<O, R>) -> Option<Self> {
        if calls.is_empty() {
            return None;
        }
        let held_up = calls.iter().any(|call| call.held_up.is_some());
        let wait = if held_up && !only { BRIEFLY } else { WAIT };
        let (turns, db) = (calls.iter().map(Call::turn).collect(), db.clone());
        let work = tokio::spawn(async move {
            let _turn = if held_up { None } else { db.turn_of_large().await };
            answer_group(&db, calls, wait, body).await
        });
        Some(Self { turns, work })
    }
}

/// Takes what waits, or waits for it; `None` when nothing will come any more.
async fn take_more<C>(waiting: &mut mpsc::Receiver<C>, calls: &mut Vec<C>) -> Option<()> {
    (waiting.recv_many(calls, GROUP).await > 0).then_some(())
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
