//! The database handle: opening, reading, writing.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::error::{Error, Result};
use crate::postgres::{Plans, Postgres};
use crate::sqlite::Sqlite;
use crate::tx::{Rx, Tx};

/// Where the data is.
#[derive(Debug, Clone)]
pub enum Location {
    /// A file of the embedded database.
    Sqlite(PathBuf),
    /// The URL of a PostgreSQL database.
    Postgres {
        /// `postgres://user:password@host:port/name`.
        url: String,
        /// Most connections of this process.
        connections: usize,
    },
}

/// What the store measures.
#[derive(Debug, Clone)]
pub struct StoreMetrics {
    groups: Histogram,
}

impl StoreMetrics {
    /// Declares the metrics in `registry`.
    pub fn new(registry: &mut Registry) -> Self {
        let groups = Histogram::new([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0]);
        registry.register("write_batch_size", "Operations that one commit carried", groups.clone());
        Self { groups }
    }

    pub(crate) fn group(&self, size: usize) {
        self.groups.observe(size as f64);
    }
}

impl Default for StoreMetrics {
    fn default() -> Self {
        Self::new(&mut Registry::default())
    }
}

enum Engine {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

/// A handle on the database. Cheap to clone.
#[derive(Clone)]
pub struct Db {
    engine: Arc<Engine>,
    metrics: StoreMetrics,
}

impl std::fmt::Debug for Db {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.is_postgres() { "Db(PostgreSQL)" } else { "Db(SQLite)" })
    }
}

impl Db {
    /// Opens the database. PostgreSQL is not contacted before the first call.
    pub fn open(location: &Location, metrics: StoreMetrics) -> Result<Self> {
        let engine = match location {
            Location::Sqlite(path) => Engine::Sqlite(Sqlite::open(path, metrics.clone())?),
            Location::Postgres { url, connections } => Engine::Postgres(Postgres::open(url, *connections)?),
        };
        Ok(Self { engine: Arc::new(engine), metrics })
    }

    /// Whether the engine is PostgreSQL, where other processes may share the data.
    pub fn is_postgres(&self) -> bool {
        matches!(*self.engine, Engine::Postgres(_))
    }

    pub(crate) fn metrics(&self) -> &StoreMetrics {
        &self.metrics
    }

    /// Runs a body in a transaction. `Ok` means that the transaction is on disk.
    ///
    /// The body may await nothing but its transaction: on SQLite it runs on the writer thread, where anything else
    /// ends in [`Error::AwaitedOutside`]. That keeps the network out of transactions on both engines.
    pub async fn write<T, F>(&self, body: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx<'_>) -> BoxFuture<'t, Result<T>> + Send + 'static,
    {
        self.transact(false, Plans::Fresh, body).await
    }

    /// Like [`Db::write`] for a coalescer's group, whose statements find every row by its key.
    pub(crate) async fn write_group<T, F>(&self, body: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx<'_>) -> BoxFuture<'t, Result<T>> + Send + 'static,
    {
        self.transact(false, Plans::Kept, body).await
    }

    /// Like [`Db::write`] for background work: it lets interactive writes go first. A body should write a few hundred
    /// rows at most.
    pub async fn write_bulk<T, F>(&self, body: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx<'_>) -> BoxFuture<'t, Result<T>> + Send + 'static,
    {
        self.transact(true, Plans::Fresh, body).await
    }

    async fn transact<T, F>(&self, bulk: bool, plans: Plans, body: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx<'_>) -> BoxFuture<'t, Result<T>> + Send + 'static,
    {
        match &*self.engine {
            Engine::Sqlite(engine) => engine.write(bulk, body).await,
            Engine::Postgres(engine) => engine.write(plans, body).await,
        }
    }

    /// Runs a body that reads.
    pub async fn read<T, F>(&self, body: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Rx<'_>) -> BoxFuture<'t, Result<T>> + Send + 'static,
    {
        match &*self.engine {
            Engine::Sqlite(engine) => engine.read(body).await,
            Engine::Postgres(engine) => engine.read(body).await,
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

    /// Whether the database answers.
    pub async fn ping(&self) -> Result<()> {
        self.read(|rx| {
            Box::pin(async move { rx.one("select cast(1 as {int})", &[], |r| r.get::<i64>(0)).await })
        })
        .await
        .map(drop)
    }

    /// Finishes queued writes and closes the database, when this is the last handle.
    pub fn close(self) {
        match Arc::try_unwrap(self.engine) {
            Ok(Engine::Sqlite(engine)) => engine.close(),
            Ok(Engine::Postgres(engine)) => engine.close(),
            Err(_) => tracing::debug!("the database stays open: it is still in use"),
        }
    }
}
