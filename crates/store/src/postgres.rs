//! PostgreSQL: a pool of connections; a transaction is a transaction.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use futures_util::future::BoxFuture;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::dialect::{Dialect, Texts};
use crate::error::{Error, Result};
use crate::tx::{Rx, Session, Tx};

/// How long a connection is waited for.
const WAIT: Duration = Duration::from_secs(5);
/// How long an operation may take before its connection counts as lost.
const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) struct Postgres {
    pool: Pool,
    texts: Arc<Texts>,
}

impl Postgres {
    pub(crate) fn open(url: &str, connections: usize) -> Result<Self> {
        let mut config = tokio_postgres::Config::from_str(url)
            .map_err(|e| Error::Unavailable(format!("the database URL cannot be read: {e}")))?;
        // Every statement of ours is served by an index; a plan made while a table was still small must not be kept
        // when it has grown. Statements that do scan ask for it themselves.
        let settings = "-c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off -c jit=off";
        let options =
            config.get_options().map_or_else(|| settings.to_owned(), |given| format!("{settings} {given}"));
        config.options(options);
        config.connect_timeout(WAIT).tcp_user_timeout(Duration::from_secs(30)).application_name("mailwright");
        let manager = Manager::from_config(
            config,
            MakeRustlsConnect::new(tls()),
            ManagerConfig { recycling_method: RecyclingMethod::Fast },
        );
        let pool = Pool::builder(manager)
            .max_size(connections)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(WAIT))
            .create_timeout(Some(WAIT))
            .build()
            .map_err(|e| Error::Unavailable(e.to_string()))?;
        Ok(Self { pool, texts: Arc::new(Texts::new(Dialect::Postgres)) })
    }

    pub(crate) async fn write<T, F>(&self, body: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx<'_>) -> BoxFuture<'t, Result<T>> + Send + 'static,
    {
        patient(async {
            let mut client = self.pool.get().await?;
            let transaction = client.transaction().await?;
            let outcome = body(&mut Tx::new(Session::Transaction(&transaction), &self.texts)).await;
            match outcome {
                Ok(value) => {
                    transaction.commit().await?;
                    Ok(value)
                }
                Err(error) => {
                    let _ = transaction.rollback().await;
                    Err(error)
                }
            }
        })
        .await
    }

    pub(crate) async fn read<T, F>(&self, body: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Rx<'_>) -> BoxFuture<'t, Result<T>> + Send + 'static,
    {
        patient(async {
            let client = self.pool.get().await?;
            body(&mut Rx::new(Session::Postgres(&client), &self.texts)).await
        })
        .await
    }

    /// Runs statements outside a transaction, for what cannot run inside one (`create index concurrently`).
    pub(crate) async fn outside(&self, sql: &str) -> Result<()> {
        let client = self.pool.get().await?;
        Ok(client.batch_execute(sql).await?)
    }

    pub(crate) fn close(&self) {
        self.pool.close();
    }
}

async fn patient<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    match tokio::time::timeout(PATIENCE, work).await {
        Ok(outcome) => outcome,
        Err(_) => Err(Error::Unavailable("the database did not answer in time".into())),
    }
}

fn tls() -> rustls::ClientConfig {
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth()
}
