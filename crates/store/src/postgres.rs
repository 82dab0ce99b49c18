//! PostgreSQL: a pool of connections; a transaction is a transaction.

use std::panic::AssertUnwindSafe;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime};
use futures_util::FutureExt;
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
        let mut client = self.pool.get().await?;
        let outcome = transact(&mut client, &self.texts, body).await;
        discard_if_in_doubt(client, &outcome);
        outcome
    }

    pub(crate) async fn read<T, F>(&self, body: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Rx<'_>) -> BoxFuture<'t, Result<T>> + Send + 'static,
    {
        let mut client = self.pool.get().await?;
        let outcome =
            patient(caught(async { body(&mut Rx::new(Session::Postgres(&mut client), &self.texts)).await }))
                .await;
        discard_if_in_doubt(client, &outcome);
        outcome
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

async fn transact<T, F>(client: &mut Object, texts: &Texts, body: F) -> Result<T>
where
    F: for<'t> FnOnce(&'t mut Tx<'_>) -> BoxFuture<'t, Result<T>> + Send,
{
    let work = patient(async {
        let transaction = client.transaction().await?;
        let outcome =
            caught(async { body(&mut Tx::new(Session::Transaction(&transaction), texts)).await }).await;
        match outcome {
            Ok(value) => Ok((transaction, value)),
            Err(error) => {
                let _ = transaction.rollback().await;
                Err(error)
            }
        }
    });
    let (transaction, value) = work.await?;
    // from here on a failure leaves open whether the change is there
    match tokio::time::timeout(PATIENCE, transaction.commit()).await {
        Ok(Ok(())) => Ok(value),
        Ok(Err(error)) => Err(Error::of_commit(error)),
        Err(_) => Err(Error::Unknown("the commit was not answered in time".into())),
    }
}

/// A connection that was lost, or whose last statement was not answered, must not go back to the pool: whoever gets it
/// next would wait behind that statement.
fn discard_if_in_doubt<T>(client: Object, outcome: &Result<T>) {
    if matches!(outcome, Err(Error::Unavailable(_) | Error::Unknown(_) | Error::Panicked(_))) {
        drop(Object::take(client));
    }
}

/// A panic in a body must not take its caller down: a coalescer's task would leave every later call without an answer.
async fn caught<T>(body: impl Future<Output = Result<T>>) -> Result<T> {
    match AssertUnwindSafe(body).catch_unwind().await {
        Ok(outcome) => outcome,
        Err(panic) => Err(Error::panicked(&*panic)),
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
