//! The PostgreSQL server that databases are made on.

use anyhow::{Context, Result, bail, ensure};
use tokio_postgres::config::Host as Address;
use tokio_postgres::{Client, Config, NoTls};

/// A PostgreSQL server on which databases may be made; with Citus, the coordinator.
#[derive(Debug)]
pub(crate) struct Cluster {
    config: Config,
    pub(crate) version: String,
    /// Whether it has Citus, so that tables are divided over several servers.
    pub(super) is_divided: bool,
}

impl Cluster {
    /// The server named by `MAILWRIGHT_TEST_POSTGRES`. One that does not write to disk is refused: what is measured is
    /// the cost of durable writes.
    pub(crate) async fn from_environment() -> Result<Self> {
        let url = std::env::var("MAILWRIGHT_TEST_POSTGRES").unwrap_or_default();
        ensure!(
            !url.is_empty(),
            "PostgreSQL is not there: run this through scripts/with-postgres, set MAILWRIGHT_TEST_POSTGRES to a server \
             on which databases may be made, or pass --engine sqlite"
        );
        let mut config: Config = url.parse().context("MAILWRIGHT_TEST_POSTGRES is not a database URL")?;
        config.dbname("postgres");
        let mut cluster = Self { config, version: String::new(), is_divided: false };
        let client = cluster.connect().await?;
        for setting in ["fsync", "synchronous_commit", "full_page_writes"] {
            let value = show(&client, setting).await?;
            ensure!(
                value == "on",
                "PostgreSQL runs with {setting}={value}; durable writes need {setting}=on"
            );
        }
        cluster.version = show(&client, "server_version").await?;
        let citus = "select extversion from pg_extension where extname = 'citus'";
        if let Some(row) = client.query_opt(citus, &[]).await? {
            cluster.is_divided = true;
            cluster.version = format!("{}, Citus {}", cluster.version, row.get::<_, String>(0));
        }
        Ok(cluster)
    }

    pub(super) fn url(&self, database: &str) -> Result<String> {
        let Some(Address::Tcp(host)) = self.config.get_hosts().first() else {
            bail!("MAILWRIGHT_TEST_POSTGRES must name a TCP host");
        };
        let port = self.config.get_ports().first().copied().unwrap_or(5432);
        let user = self.config.get_user().unwrap_or("postgres");
        let password = self.config.get_password().map(|p| format!(":{}", String::from_utf8_lossy(p)));
        Ok(format!("postgres://{user}{}@{host}:{port}/{database}", password.unwrap_or_default()))
    }

    async fn connect(&self) -> Result<Client> {
        let (client, connection) = self
            .config
            .connect(NoTls)
            .await
            .context("PostgreSQL (MAILWRIGHT_TEST_POSTGRES) is out of reach")?;
        tokio::spawn(connection);
        Ok(client)
    }

    pub(super) async fn execute(&self, statement: &str) -> Result<()> {
        self.connect().await?.batch_execute(statement).await.with_context(|| statement.to_owned())
    }

    /// Brings everything that was written into the tables' files, on every server.
    pub(super) async fn checkpoint(&self) -> Result<()> {
        self.execute("checkpoint").await?;
        if self.is_divided {
            self.execute("select run_command_on_workers('checkpoint')").await?;
        }
        Ok(())
    }
}

async fn show(client: &Client, setting: &str) -> Result<String> {
    Ok(client.query_one(&format!("show {setting}"), &[]).await?.get(0))
}
