//! The database handle: opening, reading, writing.
//!
//! A write is a body that awaits nothing but its transaction. If the body ends with `Err`, nothing that it wrote is
//! kept. The error may be a failure of the store or a refusal of the caller, which comes back as it was ([`Refusal`]).
//!
//! On PostgreSQL a write may meet a lock that another transaction holds. A request's write ([`Db::write`]) waits for a
//! moment, then gives its connection back and runs again in its turn. All writes that are held up share a quarter of
//! the connections, so other requests find connections however many wait for one row. Work that comes again anyway
//! ([`Db::write_in_background`]) waits for a moment only and fails, so that a round over all projects goes on.
//!
//! A read takes one of three ways ([`Door`]). [`Db::read`] is for a few rows by their keys. A read that may look at
//! every row of a project uses [`Db::read_slow`], or [`Db::read_in_background`] if no client waits for it. The slow
//! reads have threads or connections of their own; [`slow`](super::slow) shares them out.
//! `docs/adr/0007-doors-for-reads.md` has the reasons.

mod at_part;
mod examining;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use mailwright_core::ids::ProjectNumber;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::body;
use crate::database::body::{ReadBody, WriteBody, answered, read_body, write_body, written};
use crate::database::detours::Detours;
use crate::database::error::{Error, Result};
use crate::database::held_up::HeldUp;
use crate::database::location::Location;
use crate::database::metrics::StoreMetrics;
use crate::database::postgres::{Apart, Plans, Postgres};
use crate::database::retry::pause;
use crate::database::slow::{Reader, SlowReads};
use crate::database::sqlite::Sqlite;
use crate::database::sqlite::WriteKind::{self, Bulk, Interactive, Large};
use crate::database::tx::{Rx, Tx};
use crate::database::undone::{Answer, Refusal, Undone};

/// How a read comes to the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// For a few rows by their keys; see [`Db::read`].
    Fast,
    /// For a request that may read all rows of a project; see [`Db::read_slow`].
    Slow(ProjectNumber),
    /// The same for background work; see [`Db::read_in_background`].
    Background(ProjectNumber),
}

/// How long a database is kept from being closed by whoever else has a handle.
const CLOSING: Duration = Duration::from_secs(2);
const CLOSING_PAUSE: Duration = Duration::from_millis(5);
/// How long a write that is tried again later waits for what another transaction holds. Rounds over many projects wait
/// for each that is held up, one after the other.
const BRIEFLY: Duration = Duration::from_millis(250);
/// The same for a request's write while others are held up already. At first one waits for as long as is configured.
const AT_ONCE: Duration = Duration::from_millis(20);
/// How long one that is held up waits in its turn.
const TURN: Duration = Duration::from_secs(1);
/// How long it is tried.
const PATIENCE: Duration = Duration::from_secs(20);

/// How many large operations of coalescers run at once on PostgreSQL: half as many as there are processors, so that
/// small ones find some time.
pub(crate) fn large_at_once() -> usize {
    std::thread::available_parallelism().map_or(1, |processors| (processors.get() / 2).max(1))
}

enum Engine {
    Sqlite(Sqlite),
    Postgres(Box<Postgres>),
}

/// A handle on the database. Cheap to clone.
#[derive(Clone)]
pub struct Db {
    engine: Arc<Engine>,
    metrics: StoreMetrics,
    large: Arc<Semaphore>,
    held_up: Arc<HeldUp>,
    detours: Arc<Detours>,
    /// The last write whose result is known was refused because the disk is full or the database is read-only.
    refuses_writes: Arc<AtomicBool>,
}

impl std::fmt::Debug for Db {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.is_postgres() { "Db(PostgreSQL)" } else { "Db(SQLite)" })
    }
}

impl Db {
    /// Opens the database, with the default for slow reads. PostgreSQL is not contacted before the first call.
    pub fn open(location: &Location, metrics: StoreMetrics) -> Result<Self> {
        Self::open_with(location, SlowReads::default(), metrics)
    }

    /// Opens the database. PostgreSQL is not contacted before the first call.
    pub fn open_with(location: &Location, slow_reads: SlowReads, metrics: StoreMetrics) -> Result<Self> {
        let engine = match location {
            Location::Sqlite(path) => Engine::Sqlite(Sqlite::open(path, slow_reads, metrics.clone())?),
            Location::Postgres { url, connections, .. } => {
                Engine::Postgres(Box::new(Postgres::open(url, *connections, slow_reads)?))
            }
        };
        // with one writer, all that are under way stand before what is small
        let at_once = if matches!(engine, Engine::Sqlite(_)) { 1 } else { large_at_once() };
        let large = Arc::new(Semaphore::new(at_once));
        let held_up = Arc::new(HeldUp::new(location));
        let (engine, detours, refuses_writes) = (Arc::new(engine), Arc::default(), Arc::default());
        Ok(Self { engine, metrics, large, held_up, detours, refuses_writes })
    }

    /// Whether other processes may share the data: whether it is PostgreSQL.
    pub fn is_shared(&self) -> bool {
        self.is_postgres()
    }

    pub(crate) fn is_postgres(&self) -> bool {
        matches!(*self.engine, Engine::Postgres(_))
    }

    /// Whether the tables are divided by project over several servers, as far as is known.
    pub fn is_divided(&self) -> bool {
        matches!(&*self.engine, Engine::Postgres(engine) if engine.is_divided())
    }

    /// Resolves when a large operation of a coalescer may run; it may until the permit is dropped.
    pub(crate) fn turn_of_large(&self) -> impl Future<Output = Option<OwnedSemaphorePermit>> + use<> {
        let large = Arc::clone(&self.large);
        async move { large.acquire_owned().await.ok() }
    }

    pub(crate) fn metrics(&self) -> &StoreMetrics {
        &self.metrics
    }

    /// Runs a body in a transaction. `Ok` means that the transaction is on disk; after an error, whichever it is,
    /// nothing of it remains, but perhaps after [`Error::Unknown`].
    ///
    /// The body may await nothing but its transaction: on SQLite it runs on the writer thread, where anything else ends
    /// in [`Error::AwaitedOutside`]. That keeps the network out of transactions on both engines.
    pub async fn write<T, E, F>(&self, body: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: Refusal,
        F: for<'t> FnOnce(&'t mut Tx<'_>) -> BoxFuture<'t, Result<T, E>> + Clone + Send + 'static,
    {
        self.write_patiently(Interactive, body).await
    }

    /// Like [`Db::write`] for some thousand rows: on SQLite it is always the first write of a transaction.
    pub async fn write_large<T: Send + 'static, E: Refusal>(
        &self,
        body: impl for<'t> FnOnce(&'t mut Tx<'_>) -> BoxFuture<'t, Result<T, E>> + Clone + Send + 'static,
    ) -> Result<T, E> {
        self.write_patiently(Large, body).await
    }

    async fn write_patiently<T: Send + 'static, E: Refusal>(
        &self,
        kind: WriteKind,
        body: impl for<'t> FnOnce(&'t mut Tx<'_>) -> BoxFuture<'t, Result<T, E>> + Clone + Send + 'static,
    ) -> Result<T, E> {
        if !self.is_postgres() {
            return written(self.transact(kind, Plans::Fresh { wait: None }, write_body(body)).await);
        }
        let body = move || write_body(body.clone());
        let first = if self.held_up.is_any() { AT_ONCE } else { self.held_up.at_first };
        written(match self.transact(kind, Plans::Fresh { wait: Some(first) }, body()).await {
            Err(Undone::Failed(Error::Contention(_))) => self.write_by_turns(kind, body).await,
            outcome => outcome,
        })
    }

    /// Writes what met another transaction: few at a time, so that others find connections meanwhile.
    async fn write_by_turns(
        &self,
        kind: WriteKind,
        body: impl Fn() -> WriteBody + Send,
    ) -> Result<Answer, Undone> {
        let (began, mut tries) = (Instant::now(), 0);
        let _counted = self.held_up.enter();
        loop {
            tokio::time::sleep(pause(tries)).await;
            let turn = self.held_up.turns.acquire().await;
            let outcome = self.transact(kind, Plans::Fresh { wait: Some(TURN) }, body()).await;
            drop(turn);
            match outcome {
                Err(Undone::Failed(Error::Contention(_))) if began.elapsed() < PATIENCE => tries += 1,
                outcome => return outcome,
            }
        }
    }

    /// Like [`Db::write`] for work that is tried again later when it fails: it waits only for a moment for locks of
    /// other transactions, and then fails with [`Error::Contention`].
    pub async fn try_write<T, E, F>(&self, body: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: Refusal,
        F: for<'t> FnOnce(&'t mut Tx<'_>) -> BoxFuture<'t, Result<T, E>> + Send + 'static,
    {
        written(self.transact(Interactive, Plans::Fresh { wait: Some(BRIEFLY) }, write_body(body)).await)
    }

    /// Like [`Db::write`] for background work: it lets interactive writes go first. A body should write a few hundred
    /// rows at most.
    pub async fn write_bulk<T, E, F>(&self, body: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: Refusal,
        F: for<'t> FnOnce(&'t mut Tx<'_>) -> BoxFuture<'t, Result<T, E>> + Clone + Send + 'static,
    {
        self.write_patiently(Bulk, body).await
    }

    /// Like [`Db::try_write`] for background work, which lets interactive writes go first: a project that is held up
    /// does not hold up those that come after it.
    pub async fn write_in_background<T, E, F>(&self, body: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: Refusal,
        F: for<'t> FnOnce(&'t mut Tx<'_>) -> BoxFuture<'t, Result<T, E>> + Send + 'static,
    {
        written(self.transact(Bulk, Plans::Fresh { wait: Some(BRIEFLY) }, write_body(body)).await)
    }

    async fn transact(&self, kind: WriteKind, plans: Plans, body: WriteBody) -> Result<Answer, Undone> {
        self.noting_refusal(match &*self.engine {
            Engine::Sqlite(engine) => engine.write(kind, body).await,
            Engine::Postgres(engine) => engine.write(plans, body).await,
        })
    }

    fn noting_refusal(&self, outcome: Result<Answer, Undone>) -> Result<Answer, Undone> {
        if let Err(undone) = &outcome
            && let Some(error) = undone.failure()
            && error.refuses_writes()
            && !self.refuses_writes.swap(true, Ordering::SeqCst)
        {
            tracing::error!(%error, "the database takes no writes; /ready says so until it does");
        }
        outcome
    }

    /// Whether writes are taken, as far as is known: false from the first that is refused for want of room, or of the
    /// right to write, until [`Db::probe_write`] finds that they are taken again.
    pub fn is_writable(&self) -> bool {
        !self.refuses_writes.load(Ordering::SeqCst)
    }

    /// Tries whether something can be written, in a database that was migrated: writes a row as it is. That a
    /// transaction ends well says less, for it may have found nothing to write.
    pub async fn probe_write(&self) -> Result<()> {
        let touch = "update schema_migrations set applied_at = applied_at where number = 1";
        self.write(body!(async |tx| tx.execute_one(touch, &[]).await)).await?;
        if !self.is_writable() {
            if let Engine::Postgres(engine) = &*self.engine {
                // other connections may have been made while none were taken, and still refuse them
                engine.renew();
            }
            self.refuses_writes.store(false, Ordering::SeqCst);
            tracing::info!("writes are taken again");
        }
        Ok(())
    }

    /// Runs a body that reads a few rows by their keys: keys, sessions, one contact, a page by an index. Reads that may
    /// look at every row of a project use [`Db::read_slow`] or [`Db::read_in_background`].
    pub async fn read<T, F>(&self, body: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Rx<'_>) -> BoxFuture<'t, Result<T>> + Send + 'static,
    {
        answered(self.run_read(read_body(body)).await?)
    }

    /// Runs a body that may read for long, for a request about a project. It has its turn after others of the project,
    /// and is stopped after a time, or when nobody waits for it any more: when the future is dropped.
    ///
    /// Fails with [`Error::Crowded`], [`Error::NoTurn`] or [`Error::TooSlow`] when that is how it ends.
    pub async fn read_slow<T, F>(&self, project: ProjectNumber, body: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Rx<'_>) -> BoxFuture<'t, Result<T>> + Send + 'static,
    {
        self.read_by(Door::Slow(project), body).await
    }

    /// The same for work that no client waits for: it may take longer, and leaves a place to requests.
    pub async fn read_in_background<T, F>(&self, project: ProjectNumber, body: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Rx<'_>) -> BoxFuture<'t, Result<T>> + Send + 'static,
    {
        self.read_by(Door::Background(project), body).await
    }

    /// Runs a body that reads, as the kind of read that `door` names.
    pub async fn read_by<T, F>(&self, door: Door, body: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Rx<'_>) -> BoxFuture<'t, Result<T>> + Send + 'static,
    {
        let body = read_body(body);
        answered(match door {
            Door::Fast => self.run_read(body).await?,
            Door::Slow(project) => self.run_slow_read(Reader::Request(project), body).await?,
            Door::Background(project) => self.run_slow_read(Reader::Background(project), body).await?,
        })
    }

    async fn run_read(&self, body: ReadBody) -> Result<Answer> {
        match &*self.engine {
            Engine::Sqlite(engine) => engine.read(body).await,
            Engine::Postgres(engine) => engine.read(body).await,
        }
    }

    async fn run_slow_read(&self, reader: Reader, body: ReadBody) -> Result<Answer> {
        match &*self.engine {
            Engine::Sqlite(engine) => engine.read_slow(reader, body).await,
            Engine::Postgres(engine) => engine.read_slow(reader, body).await,
        }
    }

    /// Runs PostgreSQL statements that cannot run in a transaction.
    pub(crate) async fn outside(&self, sql: &str) -> Result<()> {
        match &*self.engine {
            Engine::Sqlite(_) => {
                Err(Error::Statement("only PostgreSQL runs statements outside a transaction".into()))
            }
            Engine::Postgres(engine) => engine.outside(sql).await,
        }
    }

    /// A connection to PostgreSQL for migrations; `None` on SQLite.
    pub(crate) async fn apart(&self, lock_timeout: Duration) -> Result<Option<Apart>> {
        match &*self.engine {
            Engine::Sqlite(_) => Ok(None),
            Engine::Postgres(engine) => engine.apart(lock_timeout).await.map(Some),
        }
    }

    /// The embedded database; `None` with PostgreSQL.
    pub(crate) fn embedded(&self) -> Option<&Sqlite> {
        if let Engine::Sqlite(engine) = &*self.engine { Some(engine) } else { None }
    }

    /// Finishes queued writes and closes the database once this is the last handle, which takes a moment after the last
    /// request and task: writes that are grouped have tasks of their own. After two seconds it is left to whoever has one.
    pub async fn close(self) {
        let deadline = Instant::now() + CLOSING;
        while Arc::strong_count(&self.engine) > 1 && Instant::now() < deadline {
            tokio::time::sleep(CLOSING_PAUSE).await;
        }
        match Arc::try_unwrap(self.engine) {
            Ok(Engine::Sqlite(engine)) => engine.close(),
            Ok(Engine::Postgres(engine)) => engine.close(),
            Err(_) => tracing::debug!("the database stays open: it is still in use"),
        }
    }
}
