//! PostgreSQL: a pool of connections; a transaction is a transaction.

use std::panic::AssertUnwindSafe;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use deadpool_postgres::{Hook, HookError, Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join};
use scopeguard::ScopeGuard;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::dialect::{Dialect, Texts};
use crate::error::{Error, Result};
use crate::tx::{Rx, Session, Tx};

/// How long a connection is waited for.
const WAIT: Duration = Duration::from_secs(5);
/// How long an operation may take before its connection counts as lost.
const PATIENCE: Duration = Duration::from_mins(1);
/// How long a connection keeps the plans of its statements.
const PLANS_KEPT: Duration = Duration::from_secs(2);

pub(crate) struct Postgres {
    pool: Pool,
    texts: Arc<Texts>,
}

/// Which plans the statements of a transaction run by.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Plans {
    /// The server decides: by default it plans a statement anew for few rows, which takes longer than running it.
    Fresh,
    /// Those made a moment ago. For statements that find every row by its key, whatever they are given.
    Kept,
}

impl Plans {
    /// How a transaction begins.
    fn begin(self) -> &'static str {
        match self {
            Self::Fresh => "begin",
            Self::Kept => "begin; set local plan_cache_mode = force_generic_plan",
        }
    }
}

impl Postgres {
    pub(crate) fn open(url: &str, connections: usize) -> Result<Self> {
        let mut config = tokio_postgres::Config::from_str(url)
            .map_err(|e| Error::Unavailable(format!("the database URL cannot be read: {e}")))?;
        // Every statement of ours is served by an index. Statements that do scan ask for it themselves.
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
            .post_recycle(forget_old_plans())
            .build()
            .map_err(|e| Error::Unavailable(e.to_string()))?;
        Ok(Self { pool, texts: Arc::new(Texts::new(Dialect::Postgres)) })
    }

    pub(crate) async fn write<T, F>(&self, plans: Plans, body: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx<'_>) -> BoxFuture<'t, Result<T>> + Send + 'static,
    {
        let client = scopeguard::guard(self.connection().await?, roll_back);
        let outcome = transact(&client, &self.texts, plans, body).await;
        let client = ScopeGuard::into_inner(client);
        if leaves_doubt(&outcome) {
            drop(Object::take(client));
        }
        outcome
    }

    pub(crate) async fn read<T, F>(&self, body: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Rx<'_>) -> BoxFuture<'t, Result<T>> + Send + 'static,
    {
        let client = scopeguard::guard(self.connection().await?, roll_back);
        let session = Session::Postgres { client: &client, in_transaction: false };
        let outcome = patient(caught(async { body(&mut Rx::new(session, &self.texts)).await })).await;
        let client = ScopeGuard::into_inner(client);
        if leaves_doubt(&outcome) {
            drop(Object::take(client));
        }
        outcome
    }

    /// Runs statements outside a transaction, for what cannot run inside one (`create index concurrently`).
    pub(crate) async fn outside(&self, sql: &str) -> Result<()> {
        let client = self.connection().await?;
        Ok(client.batch_execute(sql).await?)
    }

    /// A connection that answers.
    async fn connection(&self) -> Result<Object> {
        match tokio::time::timeout(2 * WAIT, self.pool.get()).await {
            Ok(connection) => Ok(connection?),
            Err(_) => Err(Error::Unavailable("the database did not answer in time".into())),
        }
    }

    pub(crate) fn close(&self) {
        self.pool.close();
    }
}

/// A plan is made for a table as large as it is at that time. One that was made while it was empty reads all of a
/// project's rows once it has grown, and the server would keep it: so no plan outlives a short stretch of time.
fn forget_old_plans() -> Hook {
    let begin = Instant::now();
    let stretch = move |at: Instant| at.saturating_duration_since(begin).as_millis() / PLANS_KEPT.as_millis();
    Hook::async_fn(move |client, metrics| {
        let last_used = metrics.recycled.unwrap_or(metrics.created);
        Box::pin(async move {
            if stretch(last_used) == stretch(Instant::now()) {
                return Ok(());
            }
            match tokio::time::timeout(WAIT, client.batch_execute("discard plans")).await {
                Ok(done) => done.map_err(HookError::Backend),
                // a connection that gives no answer is replaced
                Err(_) => Err(HookError::message("the database did not answer in time")),
            }
        })
    })
}

/// A caller that goes away in the middle must not leave its transaction to whoever gets the connection next.
fn roll_back(client: Object) {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return drop(Object::take(client)) };
    runtime.spawn(async move {
        if client.batch_execute("rollback").await.is_err() {
            drop(Object::take(client));
        }
    });
}

async fn transact<T, F>(client: &Object, texts: &Texts, plans: Plans, body: F) -> Result<T>
where
    F: for<'t> FnOnce(&'t mut Tx<'_>) -> BoxFuture<'t, Result<T>> + Send,
{
    let work = patient(async {
        // on the way together with the body's first statements, before which the server runs it
        let begin = client.batch_execute(plans.begin());
        let session = Session::Postgres { client, in_transaction: true };
        let body = caught(async { body(&mut Tx::new(session, texts)).await });
        let (started, outcome) = join(begin, body).await;
        let outcome = started.map_err(Error::from).and(outcome);
        if outcome.is_err() {
            let _ = client.batch_execute("rollback").await;
        }
        outcome
    });
    let value = work.await?;
    // from here on a failure leaves open whether the change is there
    match tokio::time::timeout(PATIENCE, commit(client)).await {
        Ok(Ok(())) => Ok(value),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(Error::Unknown("the commit was not answered in time".into())),
    }
}

async fn commit(client: &Object) -> Result<()> {
    client.batch_execute("commit").await.map_err(Error::of_commit)
}

/// A connection that was lost, or whose last statement was not answered, must not go back to the pool: whoever gets it
/// next would wait behind that statement.
fn leaves_doubt<T>(outcome: &Result<T>) -> bool {
    matches!(outcome, Err(Error::Unavailable(_) | Error::Unknown(_) | Error::Panicked(_)))
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
