//! The two engines: where databases are made, copied and removed.

mod cluster;

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use mailwright_core::ids::ProjectNumber;
use mailwright_store::{Db, Location, StoreMetrics};
use tokio_postgres::{Client, NoTls};

use crate::cpu;
use crate::server::Variables;

pub(crate) use cluster::Cluster;

/// The first bytes of a file of SQLite.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// A database engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    Sqlite,
    Postgres,
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        })
    }
}

/// Where the databases of an engine are made.
#[derive(Debug, Clone)]
pub(crate) enum Host {
    Sqlite,
    Postgres(Arc<Cluster>),
}

impl Host {
    pub(crate) fn engine(&self) -> Engine {
        match self {
            Self::Sqlite => Engine::Sqlite,
            Self::Postgres(_) => Engine::Postgres,
        }
    }
}

/// A database, removed when it is dropped. `folder` is the data directory of the servers on it.
#[derive(Debug)]
pub(crate) struct Database {
    folder: PathBuf,
    owned: Option<Owned>,
}

/// A database of a PostgreSQL server.
#[derive(Debug)]
struct Owned {
    cluster: Arc<Cluster>,
    name: String,
}

impl Database {
    /// Makes an empty database in the folder `home`.
    pub(crate) async fn create(host: &Host, home: &Path, name: &str) -> Result<Self> {
        Self::make(host, home, name, "").await
    }

    async fn make(host: &Host, home: &Path, name: &str, like: &str) -> Result<Self> {
        let folder = home.join(name);
        std::fs::create_dir_all(&folder)?;
        let owned = match host {
            Host::Sqlite => None,
            Host::Postgres(cluster) => {
                let owned = Owned {
                    cluster: cluster.clone(),
                    name: format!("mailwright_bench_{}_{name}", std::process::id()),
                };
                cluster.execute(&format!("drop database if exists {} with (force)", owned.name)).await?;
                cluster.execute(&format!("create database {} {like}", owned.name)).await?;
                Some(owned)
            }
        };
        Ok(Self { folder, owned })
    }

    /// Copies the database. Nobody may be using it.
    pub(crate) async fn copy(&self, home: &Path, name: &str) -> Result<Self> {
        self.settle().await?;
        let Some(owned) = &self.owned else {
            let copy = Self::make(&Host::Sqlite, home, name, "").await?;
            let file = self.file()?;
            let target = copy.folder.join(file.file_name().unwrap_or_default());
            tokio::task::spawn_blocking(move || {
                std::fs::copy(&file, &target)?;
                std::fs::File::open(&target)?.sync_all()
            })
            .await??;
            return Ok(copy);
        };
        // connections that were closed a moment ago may still count as users
        let others = format!(
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = '{}' and backend_type = 'client backend'",
            owned.name
        );
        owned.cluster.execute(&others).await?;
        let host = Host::Postgres(Arc::clone(&owned.cluster));
        Self::make(&host, home, name, &format!("template {} strategy file_copy", owned.name)).await
    }

    /// What a server needs to know to use this database.
    pub(crate) fn variables(&self) -> Result<Variables> {
        let mut variables = vec![("MAILWRIGHT_DATA_DIR", self.folder.display().to_string())];
        if self.owned.is_some() {
            variables.push(("MAILWRIGHT_DATABASE_URL", self.url()?));
        }
        Ok(variables)
    }

    /// Opens the database through the product's own layer.
    pub(crate) fn open(&self) -> Result<Db> {
        let location = match &self.owned {
            None => Location::Sqlite(self.file()?),
            Some(_) => Location::Postgres {
                url: self.url()?,
                connections: 8,
                lock_wait: std::time::Duration::from_millis(250),
            },
        };
        Ok(Db::open(&location, StoreMetrics::default())?)
    }

    /// Where SQLite keeps the data: the one file in the folder that is its.
    pub(crate) fn file(&self) -> Result<PathBuf> {
        for entry in std::fs::read_dir(&self.folder)? {
            let path = entry?.path();
            if path.is_file() {
                let mut first = Vec::new();
                std::fs::File::open(&path)?.take(MAGIC.len() as u64).read_to_end(&mut first)?;
                if first == MAGIC {
                    return Ok(path);
                }
            }
        }
        bail!("{} holds no database of SQLite", self.folder.display())
    }

    /// Where PostgreSQL keeps the data.
    pub(crate) fn url(&self) -> Result<String> {
        let owned = self.owned.as_ref().context("SQLite has no URL")?;
        owned.cluster.url(&owned.name)
    }

    /// Brings everything that was written into the tables' files, and what else waits for a disk to it, so that each
    /// measurement begins with an empty log and none pays for what was before.
    pub(crate) async fn settle(&self) -> Result<()> {
        if let Some(owned) = &self.owned {
            owned.cluster.checkpoint().await?;
        } else {
            let settle = |connection: &rusqlite::Connection| {
                Ok(connection.execute_batch("pragma wal_checkpoint(truncate)")?)
            };
            self.on_sqlite(settle).await?;
        }
        Ok(tokio::task::spawn_blocking(rustix::fs::sync).await?)
    }

    /// Drops the indexes of a table, so that much can be written to it in short time; the statements that make them
    /// again. Keys stay.
    pub(crate) async fn drop_indexes(&self, table: &'static str) -> Result<Vec<String>> {
        if self.owned.is_none() {
            let drop = move |connection: &rusqlite::Connection| {
                let mut query = connection.prepare(
                    "select name, sql from sqlite_schema where type = 'index' and tbl_name = ?1 and sql is not null",
                )?;
                let indexes: Vec<(String, String)> = query
                    .query_map([table], |row| Ok((row.get(0)?, row.get(1)?)))?
                    .collect::<rusqlite::Result<_>>()?;
                for (name, _) in &indexes {
                    connection.execute_batch(&format!("drop index {name}"))?;
                }
                Ok(indexes.into_iter().map(|(_, definition)| definition).collect())
            };
            return self.on_sqlite(drop).await;
        }
        let client = self.client().await?;
        let query = "select i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid) from pg_index i \
                     where i.indrelid = $1::text::regclass and not i.indisunique";
        let mut definitions = Vec::new();
        for row in client.query(query, &[&table]).await? {
            client.batch_execute(&format!("drop index {}", row.get::<_, String>(0))).await?;
            definitions.push(row.get(1));
        }
        Ok(definitions)
    }

    /// Makes the indexes again that were dropped.
    pub(crate) async fn make_indexes(&self, definitions: Vec<String>) -> Result<()> {
        let script = definitions.join(";\n");
        if self.owned.is_none() {
            let make = move |connection: &rusqlite::Connection| {
                Ok(connection.execute_batch(&format!("pragma cache_size = -262144; {script}"))?)
            };
            return self.on_sqlite(make).await;
        }
        let client = self.client().await?;
        Ok(client.batch_execute(&format!("set maintenance_work_mem = '256MB'; {script}")).await?)
    }

    /// The bytes of a table's rows, without its indexes.
    pub(crate) async fn table_bytes(&self, table: &'static str) -> Result<u64> {
        if self.owned.is_none() {
            let measure = move |connection: &rusqlite::Connection| {
                let query = "select sum(pgsize) from dbstat where name = ?1";
                Ok(connection.query_row(query, [table], |row| row.get::<_, i64>(0))?)
            };
            return Ok(self.on_sqlite(measure).await?.try_into()?);
        }
        // a row has a pointer of 4 bytes in its page; what updates have freed is used again
        let query = format!("select sum(pg_column_size(t.*) + 4)::bigint from {table} t");
        let bytes: i64 = self.client().await?.query_one(&query, &[]).await?.get(0);
        Ok(bytes.try_into()?)
    }

    /// The bytes of all tables and indexes, without what is free in them for more.
    pub(crate) async fn bytes(&self) -> Result<u64> {
        let query = if self.owned.is_none() {
            "select (page_count - freelist_count) * page_size \
             from pragma_page_count(), pragma_freelist_count(), pragma_page_size()"
        } else {
            "select pg_database_size(current_database())"
        };
        Ok(self.number(query.to_owned()).await?.unwrap_or_default().try_into()?)
    }

    /// How many events a project has from before an instant, in milliseconds.
    pub(crate) async fn rows_before(&self, project: ProjectNumber, until: i64) -> Result<u64> {
        let query =
            format!("select count(*) from events where project_id = {} and created_at < {until}", project.0);
        Ok(self.number(query).await?.unwrap_or_default().try_into()?)
    }

    /// When the oldest event of a project happened, in milliseconds.
    pub(crate) async fn oldest_event(&self, project: ProjectNumber) -> Result<Option<i64>> {
        let query = format!(
            "select max(created_at) from (select created_at from events where project_id = {} order by id limit 1) as oldest",
            project.0
        );
        self.number(query).await
    }

    /// The one number that a query finds.
    async fn number(&self, query: String) -> Result<Option<i64>> {
        if self.owned.is_none() {
            return self
                .on_sqlite(move |connection| Ok(connection.query_row(&query, [], |row| row.get(0))?))
                .await;
        }
        Ok(self.client().await?.query_one(&query, &[]).await?.get(0))
    }

    /// How many rows a table has, or those of its rows that a condition after its name is true of.
    pub(crate) async fn rows(&self, table: &'static str) -> Result<u64> {
        let count = self.number(format!("select count(*) from {table}")).await?;
        Ok(count.unwrap_or_default().try_into()?)
    }

    async fn on_sqlite<T: Send + 'static>(
        &self,
        work: impl FnOnce(&rusqlite::Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let file = self.file()?;
        tokio::task::spawn_blocking(move || {
            let connection = rusqlite::Connection::open(file)?;
            connection.busy_timeout(Duration::from_secs(30))?;
            work(&connection)
        })
        .await?
    }

    /// The first process of the database server, if it runs on this machine. Where the tables are divided over several
    /// servers, those of all PostgreSQL servers on this machine: a server does not tell the processes of the others.
    pub(crate) async fn server_processes(&self) -> Result<Vec<u32>> {
        let Some(owned) = &self.owned else { return Ok(Vec::new()) };
        let client = self.client().await?;
        let here = "inet_server_addr() is null or inet_server_addr() <<= '127.0.0.0/8' or inet_server_addr() = '::1'";
        let row = client.query_opt(&format!("select pg_backend_pid() where {here}"), &[]).await?;
        let Some(row) = row else { return Ok(Vec::new()) };
        if owned.cluster.is_divided {
            return cpu::first_named("postgres");
        }
        Ok(cpu::parent_named(row.get::<_, i32>(0).try_into()?, "postgres").into_iter().collect())
    }

    async fn client(&self) -> Result<Client> {
        let (client, connection) = tokio_postgres::connect(&self.url()?, NoTls).await?;
        tokio::spawn(connection);
        Ok(client)
    }

    /// Gives the planner its stats after much was written, and autovacuum less to do in between.
    pub(crate) async fn vacuum(&self) -> Result<()> {
        let Some(owned) = &self.owned else { return Ok(()) };
        self.client()
            .await?
            .batch_execute("vacuum (analyze)")
            .await
            .with_context(|| format!("vacuum of {}", owned.name))
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // there are several with a million contacts each; what is left goes with the folder of the run
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        let statement = format!("drop database if exists {} with (force)", self.name);
        let cluster = Arc::clone(&self.cluster);
        // a value is dropped outside of any future: the statement gets a thread and a runtime of its own
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(cluster.execute(&statement))
        });
        // a server that is gone has taken its databases along
        let _ = dropping.join();
    }
}
