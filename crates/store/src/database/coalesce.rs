//! Coalesced calls: many callers, one transaction.
//!
//! The hottest operations do not run a transaction each. They hand their operation to a [`Coalescer`]. Its task takes
//! all operations that wait, runs one body over them, and answers each caller once the transaction is on disk. While
//! one group commits, the next one gathers, so load makes groups larger instead of queues longer. Bodies work on sets:
//! a statement with `{rows}` runs once over arrays on PostgreSQL, and row by row on SQLite (see
//! [`dialect`](super::dialect)).
//!
//! If the group's transaction conflicts with another one, the group is retried as a whole. If it fails for any other
//! reason, its operations run one at a time, so that one bad operation fails alone.
//!
//! A group is bounded by bytes as well as by number. A large operation runs alone, beside the small ones. Projects take
//! turns with their large operations, and a process runs few of them at a time, so that the database has time for the
//! others. If a group needs more data than fits into memory, it is cut into halves. On SQLite, with its one writer,
//! small operations wait for one large operation at most.
//!
//! On PostgreSQL another transaction may hold a lock that a group needs, such as the lock of a project's names. A group
//! waits for it for a moment only. Then the operations of each project run by themselves. Operations that still meet
//! the lock are set aside like large ones and tried again by turns; later operations of the same project queue behind
//! them. So a long transaction of one project holds up that project, and delays the small operations of others once and
//! for a moment. A large operation may have to wait for such a try, which takes none of the turns of large operations.
//!
//! Each group has a fixed cost. If callers have other work to do meanwhile, a busy coalescer waits a little for more of
//! them ([`Gathering`]).
//!
//! A coalescer's task lives as long as its database handle.

use std::collections::{HashSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use mailwright_core::ids::ProjectNumber;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::database::db::Db;
use crate::database::error::{Error, Result};
use crate::database::retry::{Patience, retrying};
use crate::database::tx::{Rx, Tx};

/// Most operations of one group.
const GROUP: usize = 512;
/// Most operations that wait in a shard; beyond that callers get [`Error::Busy`].
const QUEUE: usize = 8192;
/// Most bytes of one group, except that a large operation is one by itself.
const GROUP_BYTES: usize = 4 * 1024 * 1024;
/// From so many bytes on an operation is large.
const LARGE_BYTES: usize = 32 * 1024;
/// From so many rows on an operation is large.
const LARGE_ROWS: usize = 16;
/// Most bytes of operations that wait in a shard; beyond that callers get [`Error::Busy`].
const QUEUE_BYTES: usize = 256 * 1024 * 1024;
/// How often a group that met another transaction is tried.
const TRIES: u32 = 10;
/// How long a group waits for what another transaction holds. One that waited that long is not tried again as a whole.
const WAIT: Duration = Duration::from_millis(250);
/// The same for the operations of one project of it, which are tried after that.
const BRIEFLY: Duration = Duration::from_millis(20);
/// How long an operation by itself is tried again that meets what another transaction holds.
const PATIENCE: Duration = Duration::from_secs(30);

/// What an operation writes, about.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// The project that it is for.
    pub project: ProjectNumber,
    /// Things that are written one by one, such as mails.
    pub rows: usize,
    /// Bytes.
    pub bytes: usize,
}

impl Load {
    /// Of an operation that is never large, whosever it is.
    const SMALL: Self = Self { project: ProjectNumber(0), rows: 0, bytes: 0 };

    fn is_large(self) -> bool {
        self.rows >= LARGE_ROWS || self.bytes >= LARGE_BYTES
    }
}

/// An operation that waits, and who waits for it.
struct Call<O, R> {
    route: u64,
    operation: O,
    answer: oneshot::Sender<Result<R>>,
    load: Held,
    /// Since when it has met what another transaction holds.
    held_up: Option<Instant>,
}

impl<O, R> Call<O, R> {
    fn project(&self) -> ProjectNumber {
        self.load.load.project
    }

    fn turn(&self) -> Turn {
        Turn { route: self.route, project: self.project(), is_held_up: self.held_up.is_some() }
    }

    /// The operation, and the call with another in its place.
    fn replace<P>(self, operation: P) -> (O, Call<P, R>) {
        let Self { route, operation: before, answer, load, held_up } = self;
        (before, Call { route, operation, answer, load, held_up })
    }
}

/// What is known of a call that others may have to come after.
#[derive(Debug, Clone, Copy)]
struct Turn {
    route: u64,
    project: ProjectNumber,
    is_held_up: bool,
}

/// What calls have to come after: those of the same route, and those of the same project that are held up.
#[derive(Debug, Default)]
struct Before {
    routes: HashSet<u64>,
    projects: HashSet<ProjectNumber>,
}

impl Before {
    fn add(&mut self, turn: Turn) {
        self.routes.insert(turn.route);
        if turn.is_held_up {
            self.projects.insert(turn.project);
        }
    }

    fn is_before(&self, turn: Turn) -> bool {
        self.routes.contains(&turn.route) || self.projects.contains(&turn.project)
    }
}

/// What a waiting operation holds of its shard, given back with it.
struct Held {
    load: Load,
    all: Arc<Waiting>,
}

/// What waits in a shard.
#[derive(Debug, Default)]
struct Waiting {
    calls: AtomicUsize,
    bytes: AtomicUsize,
}

impl Held {
    /// `None` when too many operations, or too many bytes of them, wait already.
    fn take(all: &Arc<Waiting>, load: Load) -> Option<Self> {
        let held = Self { load, all: Arc::clone(all) };
        let calls = all.calls.fetch_add(1, Ordering::Relaxed);
        let bytes = all.bytes.fetch_add(load.bytes, Ordering::Relaxed);
        // an operation alone is always taken
        (calls < QUEUE && (bytes == 0 || bytes + load.bytes <= QUEUE_BYTES)).then_some(held)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.all.calls.fetch_sub(1, Ordering::Relaxed);
        self.all.bytes.fetch_sub(self.load.bytes, Ordering::Relaxed);
    }
}

/// Operations that wait for a turn of their own, because they are large or met what another transaction holds, or have
/// to come after one of these: each project's in their order, one project after the other.
struct Aside<O, R>(VecDeque<(ProjectNumber, VecDeque<Call<O, R>>)>);

impl<O, R> Aside<O, R> {
    fn put(&mut self, call: Call<O, R>) {
        let project = call.project();
        match self.0.iter_mut().find(|(of, _)| *of == project) {
            Some((_, calls)) => calls.push_back(call),
            None => self.0.push_back((project, VecDeque::from([call]))),
        }
    }

    /// Puts calls behind the others of their projects, but before those of their routes, which came later.
    fn put_back(&mut self, back: Vec<Call<O, R>>) {
        let routes: HashSet<u64> = back.iter().map(|call| call.route).collect();
        let mut after = Vec::new();
        for (_, calls) in &mut self.0 {
            let (later, others): (Vec<_>, Vec<_>) =
                calls.drain(..).partition(|call| routes.contains(&call.route));
            calls.extend(others);
            after.extend(later);
        }
        back.into_iter().chain(after).for_each(|call| self.put(call));
    }

    /// The next large one, or small ones of one project; none when there are none.
    fn next(&mut self) -> Vec<Call<O, R>> {
        let Some((project, mut calls)) = self.0.pop_front() else { return Vec::new() };
        let (mut bytes, mut count) = (0, 0);
        for load in calls.iter().map(|call| call.load.load) {
            bytes += load.bytes;
            if count > 0 && (count == GROUP || load.is_large() || bytes > GROUP_BYTES) {
                break;
            }
            count += 1;
            if load.is_large() {
                break;
            }
        }
        let rest = calls.split_off(count);
        if !rest.is_empty() {
            self.0.push_back((project, rest));
        }
        calls.into()
    }

    fn turns(&self) -> impl Iterator<Item = Turn> {
        self.0.iter().flat_map(|(_, calls)| calls.iter().map(Call::turn))
    }
}

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
    shards: Vec<Shard<O, R>>,
}

struct Shard<O, R> {
    calls: mpsc::Sender<Call<O, R>>,
    waiting: Arc<Waiting>,
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
                Shard { calls, waiting: Arc::default() }
            })
            .collect();
        Self { shards }
    }

    /// Runs an operation with whatever else is waiting. Operations with the same `route` run in the order given and
    /// never against each other.
    pub async fn call(&self, route: u64, operation: O) -> Result<R> {
        self.call_sized(route, Load::SMALL, operation).await
    }

    /// The same for an operation that may be large.
    pub async fn call_sized(&self, route: u64, load: Load, operation: O) -> Result<R> {
        let (answer, answered) = oneshot::channel();
        let shard = &self.shards[(route % self.shards.len() as u64) as usize];
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
    /// Runs operations, if there are any, when their turn has come. Operations that are held up wait for nobody's turn,
    /// and only briefly for what holds them up unless they are the only ones.
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

/// Cuts calls into groups of a bounded size. Large ones are set aside, and so is what has to come after one of them.
fn groups<O, R>(
    calls: &mut Vec<Call<O, R>>,
    aside: &mut Aside<O, R>,
    running: &[Turn],
) -> Vec<Vec<Call<O, R>>> {
    let mut before = Before::default();
    aside.turns().chain(running.iter().copied()).for_each(|turn| before.add(turn));
    let mut groups = Vec::new();
    let (mut group, mut bytes) = (Vec::with_capacity(calls.len()), 0);
    for call in calls.drain(..) {
        let load = call.load.load;
        if load.is_large() || before.is_before(call.turn()) {
            before.add(call.turn());
            aside.put(call);
            continue;
        }
        if !group.is_empty() && bytes + load.bytes > GROUP_BYTES {
            groups.push(std::mem::take(&mut group));
            bytes = 0;
        }
        bytes += load.bytes;
        group.push(call);
    }
    if !group.is_empty() {
        groups.push(group);
    }
    groups
}

/// Runs a group and answers its callers. Returns the calls that met what another transaction holds and are to be tried
/// again, in their order: nothing of them was done.
async fn answer_group<O: Send + Sync + 'static, R: Send + 'static>(
    db: &Db,
    mut calls: Vec<Call<O, R>>,
    wait: Duration,
    body: Body<O, R>,
) -> Vec<Call<O, R>> {
    calls.sort_by_key(Call::project);
    let projects: Vec<_> = calls.iter().map(Call::project).collect();
    let (operations, callers): (Vec<O>, Vec<_>) = calls.into_iter().map(|call| call.replace(())).unzip();
    if db.is_postgres() && matches!(body, Body::Write(_)) {
        // SQLite's writer counts its own groups
        db.metrics().group(operations.len());
    }
    let operations = Arc::new(operations);
    let results = run_group(db, &operations, &projects, wait, body).await;
    let operations = Arc::into_inner(operations).into_iter().flatten().map(Some);
    let mut held_up = Vec::new();
    for ((caller, outcome), operation) in
        callers.into_iter().zip(results).zip(operations.chain(std::iter::repeat_with(|| None)))
    {
        let since = caller.held_up.unwrap_or_else(Instant::now);
        match (outcome, operation) {
            (Err(Error::Contention(_)), Some(operation)) if since.elapsed() < PATIENCE => {
                let ((), call) = caller.replace(operation);
                held_up.push(Call { held_up: Some(since), ..call });
            }
            (outcome, _) => drop(caller.answer.send(outcome)),
        }
    }
    held_up
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

/// Runs a group, sorted by project. When it fails for a reason that may lie in one of its operations, runs each by
/// itself, so that one caller's trouble is not everybody's. When it meets what another transaction holds, runs each
/// project's operations by themselves. A group that is too much together is cut into halves.
async fn run_group<O: Send + Sync + 'static, R: Send + 'static>(
    db: &Db,
    operations: &Arc<Vec<O>>,
    projects: &[ProjectNumber],
    wait: Duration,
    body: Body<O, R>,
) -> Vec<Result<R>> {
    let count = operations.len();
    let mut results = Vec::with_capacity(count);
    // parts that wait, the next one last
    let whole = 0..count;
    let mut parts = vec![whole];
    // the last project that was held up: its further operations come after those that were
    let mut held_up: Option<(ProjectNumber, Error)> = None;
    while let Some(part) = parts.pop() {
        let of_projects = by_project(projects, &part);
        let before = held_up.as_ref().filter(|(project, _)| *project == projects[part.start]);
        let outcome = if let Some((_, error)) = before {
            Err(error.clone())
        } else {
            let wait = if part.len() == count { wait } else { BRIEFLY };
            attempt(db, operations, part.clone(), body, wait).await
        };
        match outcome {
            Ok(done) if done.len() == part.len() => results.extend(done.into_iter().map(Ok)),
            Ok(_) => {
                let lost = || Err(Error::Statement("a group lost results".into()));
                results.extend(part.map(|_| lost()));
            }
            Err(error) if is_of_all(&error) => {
                results.extend(part.clone().map(|_| Err(error.clone())));
                // the others were not tried, so that their outcome is known
                let lost = if let Error::Unknown(text) = error { Error::Unavailable(text) } else { error };
                results.resize_with(count, || Err(lost.clone()));
                break;
            }
            Err(Error::Contention(_)) if of_projects.len() > 1 => {
                parts.extend(of_projects.into_iter().rev());
            }
            Err(error @ Error::Contention(_)) => {
                tracing::debug!(%error, operations = part.len(), "operations of a project met another transaction");
                held_up = Some((projects[part.start], error.clone()));
                results.extend(part.map(|_| Err(error.clone())));
            }
            Err(error) if part.len() == 1 => results.push(Err(error)),
            Err(Error::Excess(_)) => {
                let middle = part.start + part.len() / 2;
                parts.extend([middle..part.end, part.start..middle]);
            }
            Err(error) => {
                tracing::warn!(%error, operations = part.len(), "a group failed, running each operation by itself");
                parts.extend(part.rev().map(|index| index..index + 1));
            }
        }
    }
    results
}

/// Cuts a part of a group, sorted by project, into those of each project.
fn by_project(projects: &[ProjectNumber], part: &Range<usize>) -> Vec<Range<usize>> {
    let mut start = part.start;
    let of_one = projects[part.clone()].chunk_by(|one, next| one == next).map(|of_one| {
        let end = start + of_one.len();
        std::mem::replace(&mut start, end)..end
    });
    of_one.collect()
}

/// Whether an error is not about one of the operations: the others would fare no better by themselves. After a commit
/// with an unknown outcome they might even be done twice.
fn is_of_all(error: &Error) -> bool {
    match error {
        Error::Unavailable(_)
        | Error::Unknown(_)
        | Error::Busy
        | Error::Interrupted(_)
        | Error::Full(_)
        | Error::ReadOnly(_) => true,
        Error::TooSlow(_)
        | Error::NoTurn(_)
        | Error::Crowded(_)
        | Error::Contention(_)
        | Error::Aborted
        | Error::Conflict(_)
        | Error::NotFound
        | Error::ForeignCursor
        | Error::RowCount(_)
        | Error::Corrupt { .. }
        | Error::Excess(_)
        | Error::TooManyConditions
        | Error::AwaitedOutside
        | Error::Panicked(_)
        | Error::Statement(_)
        | Error::Unusable(_)
        | Error::Migration(_) => false,
    }
}

/// Runs the body over a part of the operations, again when another transaction got in the way and little time was lost.
async fn attempt<O: Send + Sync + 'static, R: Send + 'static>(
    db: &Db,
    operations: &Arc<Vec<O>>,
    part: Range<usize>,
    body: Body<O, R>,
    wait: Duration,
) -> Result<Vec<R>> {
    let once = || async {
        let (shared, part) = (Arc::clone(operations), part.clone());
        match body {
            Body::Write(body) => {
                db.write_group(wait, move |tx| Box::pin(async move { body(tx, &shared[part]).await })).await
            }
            Body::Read(body) => {
                db.read(move |rx| Box::pin(async move { body(rx, &shared[part]).await })).await
            }
        }
    };
    retrying(Patience { tries: TRIES, time: wait }, once).await
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use mailwright_core::excess::Excess;

    use super::*;
    use crate::args;
    use crate::audience::names;
    use crate::database::db::{Location, StoreMetrics, large_at_once};
    use crate::database::migrate::tests::Database;

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
        let projects: Vec<_> = (0..).map(ProjectNumber).take(operations.len()).collect();
        run_group(&db, &Arc::new(operations.to_vec()), &projects, WAIT, Body::Write(write)).await
    }

    #[tokio::test]
    async fn what_cannot_be_done_together_is_done_one_by_one() {
        let found = outcomes(&[2, 0, 1, 3]).await;
        assert!(
            matches!(&found[..], [Ok(2), Err(Error::NotFound), Err(Error::Panicked(text)), Ok(3)] if text == "one"),
            "{found:?}"
        );
    }

    fn call(all: &Arc<Waiting>, operation: u8, route: u64, load: Load) -> Call<u8, ()> {
        let (answer, _) = oneshot::channel();
        Call { route, operation, answer, load: Held::take(all, load).unwrap(), held_up: None }
    }

    fn numbers(group: &[Call<u8, ()>]) -> Vec<u8> {
        group.iter().map(|call| call.operation).collect()
    }

    /// What is aside, as it is run.
    fn in_turn(aside: &mut Aside<u8, ()>) -> Vec<Vec<u8>> {
        std::iter::from_fn(|| Some(aside.next()).filter(|group| !group.is_empty()))
            .map(|group| numbers(&group))
            .collect()
    }

    fn bytes(bytes: usize) -> Load {
        Load { bytes, ..Load::SMALL }
    }

    #[test]
    fn groups_are_bounded_and_large_operations_run_alone() {
        let all = Arc::default();
        let mut calls: Vec<_> =
            (0..200).map(|n| call(&all, n, u64::from(n), bytes(LARGE_BYTES - 1))).collect();
        calls.insert(3, call(&all, 250, 7, bytes(LARGE_BYTES)));
        calls.push(call(&all, 251, 500, Load { rows: LARGE_ROWS - 1, ..Load::SMALL }));
        calls.push(call(&all, 252, 501, Load { rows: LARGE_ROWS, ..Load::SMALL }));
        let mut aside = Aside(VecDeque::new());
        let found: Vec<_> = groups(&mut calls, &mut aside, &[]).iter().map(|group| numbers(group)).collect();
        let small: Vec<u8> = (0..200).filter(|n| *n != 7).chain([251]).collect();
        let most = GROUP_BYTES / (LARGE_BYTES - 1);
        assert_eq!(found, [&small[..most], &small[most..]]);
        // what comes after a large operation of its route stays behind it
        let found = in_turn(&mut aside);
        assert_eq!(found, [[250], [7], [252]]);
        // and so does what comes after one that is under way
        let mut calls = vec![call(&all, 1, 7, Load::SMALL), call(&all, 2, 8, Load::SMALL)];
        let running = Turn { route: 7, project: ProjectNumber(0), is_held_up: false };
        let found: Vec<_> =
            groups(&mut calls, &mut aside, &[running]).iter().map(|group| numbers(group)).collect();
        assert_eq!(found, [[2]]);
        assert_eq!(in_turn(&mut aside), [[1]]);
        drop(calls);
        assert_eq!(all.bytes.load(Ordering::Relaxed), 0, "bytes are given back");
    }

    #[test]
    fn a_project_that_is_held_up_is_set_aside() {
        let all = Arc::default();
        let of = |operation, project| {
            let load = Load { project: ProjectNumber(project), ..Load::SMALL };
            call(&all, operation, u64::from(operation), load)
        };
        let mut aside = Aside(VecDeque::new());
        aside.put(Call { held_up: Some(Instant::now()), ..of(1, 5) });
        let found: Vec<_> = groups(&mut vec![of(2, 5), of(3, 6)], &mut aside, &[])
            .iter()
            .map(|group| numbers(group))
            .collect();
        assert_eq!(found, [[3]]);
        // also while it is tried again
        let again = aside.next();
        assert_eq!(numbers(&again), [1, 2]);
        let found: Vec<_> = groups(&mut vec![of(4, 5), of(6, 6)], &mut aside, &[again[0].turn()])
            .iter()
            .map(|group| numbers(group))
            .collect();
        assert_eq!(found, [[6]]);
        // but not after it
        let found: Vec<_> =
            groups(&mut vec![of(7, 5)], &mut aside, &[]).iter().map(|group| numbers(group)).collect();
        assert_eq!(found, [[7]]);
        let found = in_turn(&mut aside).concat();
        assert_eq!(found, [4]);
    }

    #[test]
    fn projects_take_turns_with_large_operations() {
        let all = Arc::default();
        let mut aside = Aside(VecDeque::new());
        for (operation, project) in [(1, 1), (2, 1), (3, 1), (4, 2), (5, 3), (6, 2)] {
            let load = Load { project: ProjectNumber(project), rows: LARGE_ROWS, bytes: 0 };
            aside.put(call(&all, operation, u64::from(operation), load));
        }
        let found = in_turn(&mut aside).concat();
        assert_eq!(found, [1, 4, 5, 2, 6, 3]);
    }

    #[test]
    fn small_ones_that_were_set_aside_run_together() {
        let all = Arc::default();
        let mut aside = Aside(VecDeque::new());
        let large = Load { rows: LARGE_ROWS, ..Load::SMALL };
        for (operation, load) in [(1, Load::SMALL), (2, Load::SMALL), (3, large), (4, Load::SMALL)] {
            aside.put(call(&all, operation, 0, load));
        }
        aside.put(call(&all, 5, 0, Load { project: ProjectNumber(1), ..Load::SMALL }));
        assert_eq!(in_turn(&mut aside), [vec![1, 2], vec![5], vec![3], vec![4]]);
        let most = GROUP_BYTES / (LARGE_BYTES - 1);
        for _ in 0..=most {
            aside.put(call(&all, 0, 0, bytes(LARGE_BYTES - 1)));
        }
        assert_eq!(in_turn(&mut aside), [vec![0; most], vec![0]]);
        for _ in 0..=GROUP {
            aside.put(call(&all, 0, 0, Load::SMALL));
        }
        assert_eq!(in_turn(&mut aside), [vec![0; GROUP], vec![0]]);
    }

    #[test]
    fn what_is_put_back_stays_before_others_of_its_route() {
        let all = Arc::default();
        let mut aside = Aside(VecDeque::new());
        let large = Load { rows: LARGE_ROWS, ..Load::SMALL };
        for (operation, route, load) in [
            (1, 7, Load::SMALL),
            (2, 7, Load::SMALL),
            (3, 8, large),
            (4, 7, Load::SMALL),
            (5, 9, Load::SMALL),
        ] {
            aside.put(call(&all, operation, route, load));
        }
        let first = aside.next();
        assert_eq!(numbers(&first), [1, 2]);
        aside.put_back(first);
        assert_eq!(in_turn(&mut aside).concat(), [3, 5, 1, 2, 4]);
        aside.put_back(vec![call(&all, 6, 7, Load::SMALL), call(&all, 7, 7, Load::SMALL)]);
        assert_eq!(in_turn(&mut aside), [[6, 7]]);
    }

    #[tokio::test]
    async fn operations_of_a_project_that_is_held_up_keep_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let db = open(&folder);
        // all of it is too much, and 1 meets another transaction
        let write: WriteGroup<u8, u8> = |_, operations| {
            Box::pin(async move {
                match operations {
                    _ if operations.len() > 3 => Err(Error::Excess(Excess::Contacts)),
                    _ if operations.contains(&1) => Err(Error::Contention("held".into())),
                    _ => Ok(operations.to_vec()),
                }
            })
        };
        let projects = [5, 5, 5, 5, 6].map(ProjectNumber);
        let found = run_group(&db, &Arc::new(vec![1, 2, 3, 4, 5]), &projects, WAIT, Body::Write(write)).await;
        let held = |outcome: &Result<u8>| matches!(outcome, Err(Error::Contention(_)));
        assert!(found[..4].iter().all(held) && matches!(found[4], Ok(5)), "{found:?}");
    }

    #[tokio::test]
    async fn what_is_held_up_stays_before_a_large_one_of_its_route() {
        static TRIED: AtomicUsize = AtomicUsize::new(0);
        static DONE: Mutex<Vec<u8>> = Mutex::new(Vec::new());
        let folder = tempfile::tempdir().unwrap();
        // the first meets another transaction until its group is set aside
        let write: WriteGroup<u8, ()> = |_, operations| {
            Box::pin(async move {
                let held = operations.contains(&1) && TRIED.fetch_add(1, Ordering::Relaxed) <= TRIES as usize;
                if held {
                    return Err(Error::Contention("held".into()));
                }
                DONE.lock().unwrap().extend(operations);
                Ok(vec![(); operations.len()])
            })
        };
        let coalescer = Coalescer::writes(&open(&folder), write);
        let large = Load { rows: LARGE_ROWS, ..Load::SMALL };
        let (small, large) = futures_util::future::join(
            coalescer.call_sized(7, Load::SMALL, 1),
            coalescer.call_sized(7, large, 2),
        )
        .await;
        assert!(small.is_ok() && large.is_ok());
        assert_eq!(*DONE.lock().unwrap(), [1, 2]);
    }

    const HELD: ProjectNumber = ProjectNumber(1);

    #[tokio::test]
    async fn a_project_that_is_held_up_keeps_no_other_waiting() {
        let database = Database::create("coalesce").await;
        let db = database.open();
        let create = db.write(|tx| {
            Box::pin(async move { tx.script("create table done (project_id {int} not null)").await })
        });
        create.await.unwrap();
        let (begun, has_lock) = oneshot::channel();
        let (let_go, until) = oneshot::channel::<()>();
        let holder = db.clone();
        let holding = tokio::spawn(async move {
            let work = holder.write_in_background(|tx| {
                Box::pin(async move {
                    names::lock(tx, HELD).await?;
                    let _ = begun.send(());
                    let _ = until.await;
                    Ok::<_, Error>(())
                })
            });
            work.await
        });
        has_lock.await.unwrap();
        let write: WriteGroup<ProjectNumber, ()> = |tx, projects| {
            Box::pin(async move {
                for project in projects {
                    tx.execute("insert into done (project_id) values ($1)", args![*project]).await?;
                    names::lock(tx, *project).await?;
                }
                Ok(vec![(); projects.len()])
            })
        };
        let coalescer = Arc::new(Coalescer::writes(&db, write));
        let mut calls = [HELD, ProjectNumber(2), HELD, ProjectNumber(0)].map(|project| {
            let (coalescer, load) = (Arc::clone(&coalescer), Load { project, ..Load::SMALL });
            // all in one shard
            tokio::spawn(async move { coalescer.call_sized(2 * project.0 as u64, load, project).await })
        });
        for others in [1, 3] {
            (&mut calls[others]).await.unwrap().unwrap();
        }
        assert!(!calls[0].is_finished() && !calls[2].is_finished() && !holding.is_finished());
        // they need none of the turns of large ones
        let mut turns = Vec::new();
        for _ in 0..large_at_once() {
            turns.push(db.turn_of_large().await);
        }
        let_go.send(()).unwrap();
        holding.await.unwrap().unwrap();
        for own in [0, 2] {
            (&mut calls[own]).await.unwrap().unwrap();
        }
        let done = db.read(|rx| {
            let sql = "select project_id from done order by project_id";
            Box::pin(async move { rx.all(sql, &[], |r| r.get::<i64>(0)).await })
        });
        assert_eq!(done.await.unwrap(), [0, 1, 1, 2], "each is done once");
        database.drop().await;
    }

    #[test]
    fn so_much_waits() {
        let all = Arc::default();
        let most = Held::take(&all, bytes(QUEUE_BYTES * 2));
        assert!(most.is_some(), "one is always taken");
        assert!(Held::take(&all, bytes(1)).is_none());
        drop(most);
        let held: Vec<_> = (0..QUEUE).map(|_| Held::take(&all, bytes(1))).collect();
        assert!(held.iter().all(Option::is_some) && Held::take(&all, bytes(1)).is_none());
        drop(held);
        assert_eq!(all.calls.load(Ordering::Relaxed) + all.bytes.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn a_group_that_is_too_much_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        let db = open(&folder);
        let write: WriteGroup<u8, usize> = |_, operations| {
            Box::pin(async move {
                let sum: usize = operations.iter().map(|o| usize::from(*o)).sum();
                if sum > 10 {
                    Err(Error::Excess(Excess::Contacts))
                } else {
                    Ok(vec![operations.len(); operations.len()])
                }
            })
        };
        let operations = Arc::new(vec![3, 3, 3, 11, 1, 1]);
        let found = run_group(&db, &operations, &[ProjectNumber(1); 6], WAIT, Body::Write(write)).await;
        assert!(
            matches!(found[..], [Ok(3), Ok(3), Ok(3), Err(Error::Excess(Excess::Contacts)), Ok(2), Ok(2)]),
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
