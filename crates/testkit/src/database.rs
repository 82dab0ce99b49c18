//! A PostgreSQL database per test, copied from one that was migrated once.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::Mutex;
use tokio_postgres::config::Host;
use tokio_postgres::{Client, Config, NoTls};

use crate::app::{build, clear_environment, printed};
use crate::prepared;
use crate::rows::{Reader, Rows};

/// Held while the template is made, so that one test process makes it and the others wait.
const TEMPLATE_LOCK: i64 = 0x6d77_7465_7374;

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
        for statement in [
            format!("drop database if exists {name} with (force)"),
            format!("create database {name} template {template}"),
        ] {
            client.batch_execute(&statement).await.unwrap_or_else(|error| panic!("{statement}: {error:?}"));
        }
        Self { server, name, reader: Mutex::default() }
    }

    /// The URL of the database; through a port of 127.0.0.1 when one is given.
    pub(crate) fn url(&self, port: Option<u16>) -> String {
        self.server.url(&self.name, port)
    }

    /// Runs statements in the database.
    pub(crate) async fn run(&self, statements: &str) {
        let mut config = self.server.config.clone();
        let (client, connection) = config.dbname(&self.name).connect(NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute(statements).await.unwrap_or_else(|error| panic!("{statements}: {error:?}"));
    }

    /// Runs statements in a transaction that stays open, with all that it locks.
    pub(crate) async fn hold(&self, statements: &str) -> Held {
        let mut config = self.server.config.clone();
        let (client, connection) = config.dbname(&self.name).connect(NoTls).await.unwrap();
        tokio::spawn(connection);
        let statements = format!("begin; {statements}");
        client.batch_execute(&statements).await.unwrap_or_else(|error| panic!("{statements}: {error:?}"));
        Held(client)
    }

    /// Every row of every table, as text.
    pub(crate) async fn contents(&self) -> String {
        let mut config = self.server.config.clone();
        let (client, connection) = config.dbname(&self.name).connect(NoTls).await.unwrap();
        tokio::spawn(connection);
        let tables = client
            .query(
                "select table_name::text from information_schema.tables where table_schema = 'public'",
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
            let mut config = self.server.config.clone();
            let (client, connection) = config.dbname(&self.name).connect(NoTls).await.unwrap();
            tokio::spawn(connection);
            *reader = Some(Reader::new(client));
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
        self.server.execute(&format!("drop database if exists {} with (force)", self.name)).await;
        self.server.execute(&format!("create database {} template template0", self.name)).await;
        let mut command = Command::new("pg_restore");
        command.args(["--exit-on-error", "--single-transaction", "--no-owner", "--dbname"]);
        command.arg(self.url(None)).arg(from);
        run(command).await;
    }

    /// `host:port` of the server.
    pub(crate) fn address(&self) -> String {
        format!("{}:{}", self.server.host, self.server.port)
    }
}

/// Runs a tool of PostgreSQL.
async fn run(mut command: Command) {
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap();
    let output = output.unwrap_or_else(|error| panic!("the tools of PostgreSQL are needed: {error}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A transaction that is rolled back when this is dropped.
#[derive(Debug)]
#[must_use = "it is rolled back at once"]
pub struct Held(tokio_postgres::Client);

impl Held {
    /// Waits until so many statements have waited for what this holds.
    pub async fn waited_for(&self, statements: usize) {
        let waiting = "select pid, query_start::text from pg_stat_activity \
                       where pg_backend_pid() = any(pg_blocking_pids(pid))";
        let (since, mut seen) = (Instant::now(), HashSet::new());
        while seen.len() < statements {
            assert!(since.elapsed() < Duration::from_secs(30), "only {} waited", seen.len());
            // otherwise a transaction sees the same all the time
            self.0.batch_execute("select pg_stat_clear_snapshot()").await.unwrap();
            for row in self.0.query(waiting, &[]).await.unwrap() {
                seen.insert((row.get::<_, i32>(0), row.get::<_, String>(1)));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let statement = format!("drop database if exists {} with (force)", self.name);
        let server = self.server.clone();
        // A value is dropped outside of any future: the statement gets a thread and a runtime of its own.
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(server.execute(&statement));
        });
        let dropped = dropped.join().is_ok();
        assert!(dropped || std::thread::panicking(), "the test database {} could not be dropped", self.name);
    }
}

/// The server that test databases are created on.
#[derive(Clone, Debug)]
struct Server {
    config: Config,
    host: String,
    port: u16,
    user: String,
    password: Option<String>,
}

impl Server {
    fn from_environment() -> Self {
        let url = std::env::var("MAILWRIGHT_TEST_POSTGRES").ok().filter(|url| !url.is_empty());
        let url = url.unwrap_or_else(|| {
            panic!(
                "this test needs PostgreSQL: set MAILWRIGHT_TEST_POSTGRES to a server on which databases may be \
                 created, such as postgres://postgres@127.0.0.1:5432, or run the tests through scripts/with-postgres"
            )
        });
        let mut config: Config = url
            .parse()
            .unwrap_or_else(|error| panic!("MAILWRIGHT_TEST_POSTGRES is not a database URL: {error}"));
        let host = match config.get_hosts().first() {
            Some(Host::Tcp(host)) => host.clone(),
            other => panic!("MAILWRIGHT_TEST_POSTGRES must name a TCP host, not {other:?}"),
        };
        let port = config.get_ports().first().copied().unwrap_or(5432);
        let user = config.get_user().unwrap_or("postgres").to_owned();
        let password = config.get_password().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        config.user(&user).dbname("postgres");
        Self { config, host, port, user, password }
    }

    fn url(&self, database: &str, port: Option<u16>) -> String {
        let password = self.password.as_ref().map(|password| format!(":{password}")).unwrap_or_default();
        let address = match port {
            Some(port) => format!("127.0.0.1:{port}"),
            None => format!("{}:{}", self.host, self.port),
        };
        format!("postgres://{}{password}@{address}/{database}", self.user)
    }

    async fn connect(&self) -> Client {
        let (client, connection) = self.config.connect(NoTls).await.unwrap_or_else(|error| {
            panic!(
                "PostgreSQL at {}:{} (MAILWRIGHT_TEST_POSTGRES) is out of reach: {error}",
                self.host, self.port
            )
        });
        tokio::spawn(connection);
        client
    }

    /// A connection that keeps other tests from making a template while it is open.
    async fn alone(&self) -> Client {
        let client = self.connect().await;
        // Session-level: given back with the connection, also when this process dies.
        client.execute("select pg_advisory_lock($1)", &[&TEMPLATE_LOCK]).await.unwrap();
        client
    }

    async fn execute(&self, statement: &str) {
        let client = self.connect().await;
        client.batch_execute(statement).await.unwrap_or_else(|error| panic!("{statement}: {error:?}"));
    }

    /// The name of a database with the project that tests begin with, made when it is not there yet, and what `bootstrap`
    /// printed of it: the comment of the database.
    async fn prepared(&self, client: &Client, binary: &Path, env: &[(String, String)]) -> (String, Value) {
        let name = prepared::name(binary, env);
        let find = "select shobj_description(oid, 'pg_database') from pg_database where datname = $1";
        if let Some(row) = client.query_opt(find, &[&name]).await.unwrap() {
            return (name, serde_json::from_str(row.get(0)).unwrap());
        }
        let template = self.template(client, binary).await;
        let client = self.alone().await;
        if let Some(row) = client.query_opt(find, &[&name]).await.unwrap() {
            return (name, serde_json::from_str(row.get(0)).unwrap());
        }
        let making = format!("{name}_making");
        client.batch_execute(&format!("drop database if exists {making} with (force)")).await.unwrap();
        client.batch_execute(&format!("create database {making} template {template}")).await.unwrap();
        let data = tempfile::tempdir().unwrap();
        let (binary, env) = (binary.to_owned(), env.to_vec());
        let (url, data_dir) = (self.url(&making, None), data.path().display().to_string());
        let run = move || {
            let more = [("MAILWRIGHT_DATABASE_URL", &*url), ("MAILWRIGHT_DATA_DIR", &*data_dir)];
            prepared::bootstrap(&binary, &env, &more)
        };
        let project = tokio::task::spawn_blocking(run).await.unwrap();
        // a session that ends is still counted for a moment
        let rename = format!(
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = '{making}';
             comment on database {making} is '{}'; alter database {making} rename to {name}",
            project.to_string().replace('\'', "''")
        );
        client.batch_execute(&rename).await.unwrap();
        (name, project)
    }

    /// The name of a database migrated by this very program, made when it is not there yet.
    async fn template(&self, client: &Client, binary: &Path) -> String {
        let name = template_name(binary);
        let exists = "select 1 from pg_database where datname = $1";
        if !client.query(exists, &[&name]).await.unwrap().is_empty() {
            return name;
        }
        let client = self.alone().await;
        if client.query(exists, &[&name]).await.unwrap().is_empty() {
            let making = format!("{name}_making");
            client.batch_execute(&format!("drop database if exists {making} with (force)")).await.unwrap();
            client.batch_execute(&format!("create database {making}")).await.unwrap();
            let data = tempfile::tempdir().unwrap();
            let mut command = Command::new(binary);
            clear_environment(&mut command);
            command
                .arg("migrate")
                .env("MAILWRIGHT_DATABASE_URL", self.url(&making, None))
                .env("MAILWRIGHT_DATA_DIR", data.path());
            let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
            printed("migrate", &output);
            client.batch_execute(&format!("alter database {making} rename to {name}")).await.unwrap();
        }
        name
    }
}

/// A name that changes with the program, so that the schema of an older build is never used.
fn template_name(binary: &Path) -> String {
    let mut hasher = DefaultHasher::new();
    build(binary).hash(&mut hasher);
    format!("mailwright_template_{:016x}", hasher.finish())
}
