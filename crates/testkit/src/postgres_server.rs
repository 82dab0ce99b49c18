//! The PostgreSQL server that tests make their databases on, and the databases that they copy.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tokio_postgres::config::Host;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, NoTls};

use crate::app::{build, clear_environment, printed};
use crate::prepared;

/// Held while the template is made, so that one test process makes it and the others wait.
const TEMPLATE_LOCK: i64 = 0x6d77_7465_7374;

/// How often a database is tried to be dropped, or copied, that others use.
const ATTEMPTS: usize = 5;

/// The server that test databases are created on; with Citus, the coordinator.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    config: Config,
    host: String,
    port: u16,
    user: String,
    password: Option<String>,
}

impl Server {
    pub(crate) fn from_environment() -> Self {
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

    pub(crate) fn url(&self, database: &str, port: Option<u16>) -> String {
        let password = self.password.as_ref().map(|password| format!(":{password}")).unwrap_or_default();
        let address = match port {
            Some(port) => format!("127.0.0.1:{port}"),
            None => format!("{}:{}", self.host, self.port),
        };
        format!("postgres://{}{password}@{address}/{database}", self.user)
    }

    pub(crate) async fn connect(&self) -> Client {
        connected(&self.config).await
    }

    /// How its databases are connected to.
    pub(crate) fn config(&self) -> Config {
        self.config.clone()
    }

    /// `host:port` of the server.
    pub(crate) fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// A connection that keeps other tests from making a template while it is open.
    async fn alone(&self) -> Client {
        let client = self.connect().await;
        // Session-level: given back with the connection, also when this process dies.
        client.execute("select pg_advisory_lock($1)", &[&TEMPLATE_LOCK]).await.unwrap();
        client
    }

    /// Runs statements about databases on the workers of this server, then on itself. With Citus, a database is one of
    /// each of them, and Citus does not copy databases by itself.
    pub(crate) async fn everywhere(&self, client: &Client, statements: &str) {
        self.everywhere_alone(client, "", statements).await;
    }

    /// The same once the sessions have ended that `end` ends.
    async fn everywhere_alone(&self, client: &Client, end: &str, statements: &str) {
        for worker in self.workers(client).await {
            run_alone(&worker, end, statements).await;
        }
        run_alone(client, end, statements).await;
    }

    /// A connection to each of the workers. A server without Citus has none.
    async fn workers(&self, client: &Client) -> Vec<Client> {
        if !divides(client).await {
            return Vec::new();
        }
        let nodes = "select nodename, nodeport from pg_dist_node where groupid <> 0 and noderole = 'primary'";
        let mut workers = Vec::new();
        for node in client.query(nodes, &[]).await.unwrap() {
            let (host, port) = (node.get::<_, String>(0), node.get::<_, i32>(1));
            let mut config = Config::new();
            config.host(&host).port(port.try_into().unwrap()).user(&self.user).dbname("postgres");
            if let Some(password) = &self.password {
                config.password(password);
            }
            workers.push(connected(&config).await);
        }
        workers
    }

    /// The name of a database with the project that tests begin with, made when it is not there yet, and what `bootstrap`
    /// printed of it: the comment of the database.
    pub(crate) async fn prepared(
        &self,
        client: &Client,
        binary: &Path,
        env: &[(String, String)],
    ) -> (String, Value) {
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
        self.everywhere(&client, &format!("drop database if exists {making} with (force)")).await;
        self.everywhere(&client, &format!("create database {making} template {template}")).await;
        let data = tempfile::tempdir().unwrap();
        let (binary, env) = (binary.to_owned(), env.to_vec());
        let (url, data_dir) = (self.url(&making, None), data.path().display().to_string());
        let bootstrap = move || {
            let more = [("MAILWRIGHT_DATABASE_URL", &*url), ("MAILWRIGHT_DATA_DIR", &*data_dir)];
            prepared::bootstrap(&binary, &env, &more)
        };
        let project = tokio::task::spawn_blocking(bootstrap).await.unwrap();
        let comment = project.to_string().replace('\'', "''");
        run(&client, &format!("comment on database {making} is '{comment}'")).await;
        self.finish(&client, &making, &name).await;
        (name, project)
    }

    /// The name of a database migrated by this very program, made when it is not there yet.
    pub(crate) async fn template(&self, client: &Client, binary: &Path) -> String {
        let name = template_name(binary);
        let exists = "select 1 from pg_database where datname = $1";
        if !client.query(exists, &[&name]).await.unwrap().is_empty() {
            return name;
        }
        let client = self.alone().await;
        if client.query(exists, &[&name]).await.unwrap().is_empty() {
            let making = format!("{name}_making");
            self.everywhere(&client, &format!("drop database if exists {making} with (force)")).await;
            self.everywhere(&client, &format!("create database {making}")).await;
            let data = tempfile::tempdir().unwrap();
            let mut command = Command::new(binary);
            clear_environment(&mut command);
            command
                .arg("migrate")
                .env("MAILWRIGHT_DATABASE_URL", self.url(&making, None))
                .env("MAILWRIGHT_DATA_DIR", data.path());
            let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
            printed("migrate", &output);
            self.finish(&client, &making, &name).await;
        }
        name
    }

    /// Gives a database that is to be copied its name. A session that ends is still counted for a moment, and one that
    /// Citus has in every database that is used would keep it from being copied.
    async fn finish(&self, client: &Client, making: &str, name: &str) {
        let end = format!(
            "select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = '{making}'"
        );
        let rename = format!("alter database {making} rename to {name}");
        self.everywhere_alone(client, &end, &rename).await;
    }
}

/// Whether the server of a connection divides tables.
pub(crate) async fn divides(client: &Client) -> bool {
    let divides = "select exists (select 1 from pg_extension where extname = 'citus')";
    client.query_one(divides, &[]).await.unwrap().get(0)
}

/// A connection, by which databases are made and dropped on its own server alone.
pub(crate) async fn connected(config: &Config) -> Client {
    let (client, connection) = config.connect(NoTls).await.unwrap_or_else(|error| {
        let (hosts, ports) = (config.get_hosts(), config.get_ports());
        panic!("PostgreSQL at {hosts:?} {ports:?} (MAILWRIGHT_TEST_POSTGRES) is out of reach: {error}")
    });
    tokio::spawn(connection);
    // each server is told by itself
    let _ = client.batch_execute("set citus.enable_create_database_propagation = off").await;
    client
}

async fn run(client: &Client, statements: &str) {
    run_alone(client, "", statements).await;
}

/// Runs statements that nobody else may use a database for, again while somebody does: before each try the sessions are
/// ended that `end` ends. The server waits five seconds for them; the servers of a cluster begin new ones meanwhile.
async fn run_alone(client: &Client, end: &str, statements: &str) {
    for _ in 0..ATTEMPTS {
        client.batch_execute(end).await.unwrap_or_else(|error| panic!("{end}: {error:?}"));
        match client.batch_execute(statements).await {
            Err(error) if error.code() == Some(&SqlState::OBJECT_IN_USE) => {}
            done => return done.unwrap_or_else(|error| panic!("{statements}: {error:?}")),
        }
    }
    panic!("{statements}: others go on using it");
}

/// A name that changes with the program, so that the schema of an older build is never used.
fn template_name(binary: &Path) -> String {
    let mut hasher = DefaultHasher::new();
    build(binary).hash(&mut hasher);
    format!("mailwright_template_{:016x}", hasher.finish())
}
