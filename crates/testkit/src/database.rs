//! A PostgreSQL database per test, copied from one that was migrated once.

use std::collections::HashSet;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::Mutex;
use tokio_postgres::{Client, Config, Error, SimpleQueryMessage};

use crate::empty_database::apart;
use crate::postgres_server::{Server, connected, divides};
use crate::rows::{Reader, Rows};

/// A database that is dropped with this value.
#[derive(Debug)]
pub(crate) struct Database {
    server: Server,
    name: String,
    reader: Mutex<Option<Reader>>,
}

impl Database {
    /// Creates a database with the schema of this program.
    pub(crate) async fn create(binary: &Path) -> Self {
        let server = Server::from_environment();
        let client = server.connect().await;
        let template = server.template(&client, binary).await;
        Self::copy(server, &client, &template).await
    }

    /// Creates a database that holds the project that tests begin with. What `bootstrap` printed of it comes along.
    pub(crate) async fn prepared(binary: &Path, env: &[(String, String)]) -> (Self, Value) {
        let server = Server::from_environment();
        let client = server.connect().await;
        let (template, printed) = server.prepared(&client, binary, env).await;
        (Self::copy(server, &client, &template).await, printed)
    }

    async fn copy(server: Server, client: &Client, template: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let unique = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("mailwright_test_{}_{unique}", std::process::id());
        // Left over when an earlier process with this id was killed.
        server.everywhere(client, &format!("drop database if exists {name} with (force)")).await;
        server.everywhere(client, &format!("create database {name} template {template}")).await;
        Self { server, name, reader: Mutex::default() }
    }

    /// The URL of the database; through a port of 127.0.0.1 when one is given.
    pub(crate) fn url(&self, port: Option<u16>) -> String {
        self.server.url(&self.name, port)
    }

    async fn connect(&self) -> Client {
        connected(self.server.config().dbname(&self.name)).await
    }

    /// The rows that a query finds, as text. A null is an empty text.
    pub(crate) async fn ask(&self, query: &str) -> Result<Vec<Vec<String>>, Error> {
        let client = self.connect().await;
        let mut rows = Vec::new();
        for message in client.simple_query(query).await? {
            if let SimpleQueryMessage::Row(row) = message {
                rows.push((0..row.len()).map(|at| row.get(at).unwrap_or_default().to_owned()).collect());
            }
        }
        Ok(rows)
    }

    /// Runs statements in the database.
    pub(crate) async fn run(&self, statements: &str) {
        let client = self.connect().await;
        client.batch_execute(statements).await.unwrap_or_else(|error| panic!("{statements}: {error:?}"));
    }

    /// Runs statements that change tables themselves in one transaction, each sent by itself.
    pub(crate) async fn reshape(&self, statements: &[&str]) {
        let client = self.connect().await;
        // a function that is made has Citus talk to each worker once, after a table was changed over many connections
        let one_by_one = "set local citus.multi_shard_modify_mode to 'sequential'";
        for statement in ["begin", one_by_one].iter().chain(statements).chain(&["commit"]) {
            client.batch_execute(statement).await.unwrap_or_else(|error| panic!("{statement}: {error:?}"));
        }
    }

    /// Runs statements in a transaction that stays open, with all that it locks.
    pub(crate) async fn hold(&self, statements: &str) -> Held {
        let client = self.connect().await;
        let waiting = if divides(&client).await { WAITING_IN_CLUSTER } else { WAITING };
        Held { clients: vec![begun(client, statements).await], waiting }
    }

    /// Keeps a table from being written, by a transaction that stays open; where it is divided, by one on each server that
    /// has parts of it.
    pub(crate) async fn hold_table(&self, table: &str) -> Held {
        if !divides(&self.connect().await).await {
            return self.hold(&format!("lock table {table} in exclusive mode")).await;
        }
        let parts = format!(
            "select n.nodename, n.nodeport, string_agg(shard_name(s.logicalrelid, s.shardid), ', ') from pg_dist_shard s \
             join pg_dist_placement p on p.shardid = s.shardid join pg_dist_node n on n.groupid = p.groupid \
             where s.logicalrelid = '{table}'::regclass group by 1, 2"
        );
        let mut clients = Vec::new();
        for row in self.ask(&parts).await.unwrap() {
            let mut config = Config::new();
            config.host(&row[0]).port(row[1].parse().unwrap()).dbname(&self.name);
            config.user(self.server.config().get_user().unwrap());
            // Citus keeps others from parts
            let lock = format!(
                "set local citus.enable_manual_changes_to_shards = on; lock table {} in exclusive mode",
                row[2]
            );
            clients.push(begun(connected(&config).await, &lock).await);
        }
        Held { clients, waiting: WAITING }
    }

    /// Every row of every table, as text.
    pub(crate) async fn contents(&self) -> String {
        let client = self.connect().await;
        let tables = client
            .query(
                "select table_name::text from information_schema.tables \
                 where table_schema = 'public' and table_type = 'BASE TABLE'",
                &[],
            )
            .await
            .unwrap();
        let mut text = String::new();
        for table in tables {
            let table: &str = table.get(0);
            for row in client.query(&format!("select t::text from \"{table}\" t"), &[]).await.unwrap() {
                text += row.get::<_, &str>(0);
                text.push('\n');
            }
        }
        text
    }

    /// Every row of every table, as of one moment.
    pub(crate) async fn rows(&self) -> Rows {
        let mut reader = self.reader.lock().await;
        if reader.is_none() {
            *reader = Some(Reader::new(self.connect().await));
        }
        reader.as_mut().unwrap().rows().await
    }

    /// Writes the database to a file, as `pg_dump` does.
    pub(crate) async fn dump(&self, to: &Path) {
        let mut command = Command::new("pg_dump");
        command.args(["--format=custom", "--file"]).arg(to).arg(self.url(None));
        run(command).await;
    }

    /// Puts such a file in the place of the database.
    pub(crate) async fn load(&self, from: &Path) {
        self.reader.lock().await.take();
        let client = self.server.connect().await;
        for statement in [
            format!("drop database if exists {} with (force)", self.name),
            format!("create database {} template template0", self.name),
        ] {
            self.server.everywhere(&client, &statement).await;
        }
        let mut command = Command::new("pg_restore");
        command.args(["--exit-on-error", "--single-transaction", "--no-owner", "--dbname"]);
        command.arg(self.url(None)).arg(from);
        run(command).await;
    }

    /// The other servers of a cluster: their numbers, and `host:port` of each.
    pub(crate) async fn workers(&self) -> Vec<(String, String)> {
        if !divides(&self.connect().await).await {
            return Vec::new();
        }
        let query = "select nodeid, nodename || ':' || nodeport from pg_dist_node where groupid <> 0";
        let rows = self.ask(query).await.unwrap();
        rows.into_iter().map(|mut row| (row.remove(0), row.remove(0))).collect()
    }

    /// Has a server of a cluster be known under a port of 127.0.0.1, in this database alone.
    pub(crate) async fn rename_worker(&self, number: &str, port: u16) {
        self.ask(&format!("select citus_update_node({number}, '127.0.0.1', {port})")).await.unwrap();
    }

    /// `host:port` of the server.
    pub(crate) fn address(&self) -> String {
        self.server.address()
    }
}

/// Runs a tool of PostgreSQL.
async fn run(mut command: Command) {
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap();
    let output = output.unwrap_or_else(|error| panic!("the tools of PostgreSQL are needed: {error}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The statements that wait for what the session that asks holds.
const WAITING: &str = "select pid, query_start::text from pg_stat_activity \
                       where pg_backend_pid() = any(pg_blocking_pids(pid))";
/// The same where tables are divided: it is a worker that they wait on, for the session of ours that it serves. Those that wait
/// are sessions on the coordinator or on a worker.
const WAITING_IN_CLUSTER: &str = "select a.pid, a.query_start::text from citus_internal.global_blocked_processes() b \
                                  join citus_stat_activity a on a.global_pid = b.waiting_global_pid and not a.is_worker_query \
                                  where b.blocking_global_pid = citus_backend_gpid()";

/// A session in a transaction that has run statements.
async fn begun(client: Client, statements: &str) -> Client {
    let statements = format!("begin; {statements}");
    client.batch_execute(&statements).await.unwrap_or_else(|error| panic!("{statements}: {error:?}"));
    client
}

/// Transactions that are rolled back when this is dropped.
#[derive(Debug)]
#[must_use = "it is rolled back at once"]
pub struct Held {
    clients: Vec<Client>,
    waiting: &'static str,
}

impl Held {
    /// Waits until so many statements have waited for what this holds.
    pub async fn waited_for(&self, statements: usize) {
        let (since, mut seen) = (Instant::now(), HashSet::new());
        while seen.len() < statements {
            assert!(since.elapsed() < Duration::from_secs(30), "only {} waited", seen.len());
            for (server, client) in self.clients.iter().enumerate() {
                // otherwise a transaction sees the same all the time
                client.batch_execute("select pg_stat_clear_snapshot()").await.unwrap();
                for row in client.query(self.waiting, &[]).await.unwrap() {
                    seen.insert((server, row.get::<_, i32>(0), row.get::<_, String>(1)));
                }
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let statement = format!("drop database if exists {} with (force)", self.name);
        let server = self.server.clone();
        apart(async move { server.everywhere(&server.connect().await, &statement).await });
    }
}
