//! PostgreSQL: a pool of connections, and another one for slow reads.
//!
//! **Statements end in the server.** They have a `statement_timeout`, and a statement that nobody waits for any more is
//! cancelled. A connection that is merely closed would leave its statement running. The commit alone has no timeout: if
//! a commit that waits for a standby is stopped, the server reports it as done. If a process freezes inside a
//! transaction, the server ends the transaction after [`IDLE`]; a process that wakes up finds its connection closed.
//!
//! **Plans.** Sequential scans, hash joins and merge joins are disabled for our sessions: every statement is served by
//! an index, and a query that should scan asks for it (`Rx::query_with_seqscan`). Cached plans are discarded after
//! [`PLANS_KEPT`], because a plan that was made for a small table reads the whole table after it has grown. Coalesced
//! statements keep their plans: they find every row by its key, and planning takes longer than running them
//! ([`Plans`]).
//!
//! [`Apart`] is a connection beside the pools, without a timeout, for migrations and for building indexes.

mod apart;

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use deadpool_postgres::{Hook, HookError, Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime};
use futures_util::FutureExt;
use futures_util::future::join;
use scopeguard::ScopeGuard;
use tokio_postgres::Config;
use tokio_postgres::config::Host;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::database::db::{Answer, ReadBody, Undone, WriteBody};
use crate::database::dialect::{Dialect, Texts};
use crate::database::error::{Error, Result, with_causes};
use crate::database::slow::{Place, Places, Reader, SlowReads};
use crate::database::tx::{Failure, Rx, Session, Tx};

pub(crate) use self::apart::Apart;

/// How long a connection is waited for.
const WAIT: Duration = Duration::from_secs(5);
/// How long a statement may take that is no slow read. The server gives it up before we do.
const STATEMENT: Duration = Duration::from_secs(50);
/// How long a transaction may do nothing before the server ends it. Ours never pause, so the process is frozen or cut
/// off from the server, and others that need its locks have waited for long. If the process goes on, it finds the
/// connection closed and its transaction undone.
const IDLE: Duration = Duration::from_secs(30);
/// How long an operation may take before its connection counts as lost.
const PATIENCE: Duration = Duration::from_mins(1);
/// Plans that scan are switched off: every statement of ours is served by an index. Statements that do scan ask for it
/// themselves.
const SETTINGS: &str = "-c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off -c jit=off";
/// How long a connection keeps the plans of its statements.
const PLANS_KEPT: Duration = Duration::from_secs(2);

pub(crate) struct Postgres {
    pool: Pool,
    fresh: Arc<Freshness>,
    slow: Pool,
    places: Places,
    limits: SlowReads,
    texts: Arc<Texts>,
    config: Config,
    tls: MakeRustlsConnect,
}

/// Which plans the statements of a transaction run by, and how long they wait for what other transactions hold.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Plans {
    /// The server decides: by default it plans a statement anew for few rows, which takes longer than running it.
    Fresh {
        /// How long they wait, if not for as long as a statement may take.
        wait: Option<Duration>,
    },
    /// Those made a moment ago. For statements that find every row by its key, whatever they are given.
    Kept {
        /// How long they wait.
        wait: Duration,
    },
}

impl Plans {
    /// How a transaction begins.
    fn begin(self) -> Cow<'static, str> {
        match self {
            Self::Fresh { wait: None } => "begin".into(),
            Self::Fresh { wait: Some(wait) } => {
                format!("begin; set local lock_timeout = {}", wait.as_millis().max(1)).into()
            }
            Self::Kept { wait } => format!(
                "begin; set local plan_cache_mode = force_generic_plan; set local lock_timeout = {}",
                wait.as_millis().max(1)
            )
            .into(),
        }
    }
}

impl Postgres {
    pub(crate) fn open(url: &str, connections: usize, limits: SlowReads) -> Result<Self> {
        let mut config = Config::from_str(url).map_err(|error| unreadable(url, &error))?;
        config.connect_timeout(WAIT).tcp_user_timeout(Duration::from_secs(30)).application_name("mailwright");
        let tls = MakeRustlsConnect::new(tls());
        let (for_slow, for_others) = limits.split(connections);
        let fresh = Arc::new(Freshness::default());
        let pool = pool(with_settings(&config, STATEMENT), &tls, for_others, &fresh)?;
        let slow = pool_of_slow_reads(&config, &tls, for_slow, limits)?;
        let texts = Arc::new(Texts::new(Dialect::Postgres));
        Ok(Self { pool, fresh, slow, places: Places::new(for_slow), limits, texts, config, tls })
    }

    /// Connects once and looks whether this is a database to work with.
    pub(crate) async fn examine(&self) -> Result<()> {
        let place = place(&self.config);
        let cannot = |text: &str| format!("cannot connect to PostgreSQL at {place}: {text}");
        let connecting = tokio::time::timeout(WAIT, self.config.connect(self.tls.clone()));
        let Ok(connected) = connecting.await else {
            return Err(Error::Unavailable(cannot("it does not answer")));
        };
        let (client, connection) = connected.map_err(|error| {
            let text = cannot(&with_causes(&error));
            if waiting_helps(&error) { Error::Unavailable(text) } else { Error::Unusable(text) }
        })?;
        let connection = tokio::spawn(connection);
        let asked = tokio::time::timeout(WAIT, client.query_one("show server_encoding", &[])).await;
        connection.abort();
        let Ok(answer) = asked else { return Err(Error::Unavailable(cannot("it does not answer"))) };
        let encoding: String = answer?.get(0);
        if encoding != "UTF8" {
            return Err(Error::Unusable(format!(
                "the database at {place} has the encoding {encoding}, which cannot hold all text; it must be UTF8: \
                 create database ... encoding 'UTF8' template template0"
            )));
        }
        Ok(())
    }

    pub(crate) async fn write(&self, plans: Plans, body: WriteBody) -> Result<Answer, Undone> {
        let client = scopeguard::guard(self.connection().await?, roll_back);
        let outcome = transact(&client, &self.texts, plans, body).await;
        let client = ScopeGuard::into_inner(client);
        let failure = outcome.as_ref().err().and_then(Undone::failure);
        if let Some(Error::ReadOnly(_)) = failure {
            // the server became a standby, or was told to: new connections find the new primary, or what it was told
            // now
            self.renew();
        }
        if failure.is_some_and(leaves_doubt) {
            give_up(client, self.tls.clone());
        }
        outcome
    }

    /// Has every connection that there is replaced before it is used again.
    pub(crate) fn renew(&self) {
        *self.fresh.since() = Some(Instant::now());
        self.pool.retain(|_, _| false);
    }

    pub(crate) async fn read(&self, body: ReadBody) -> Result<Answer> {
        let client = scopeguard::guard(self.connection().await?, roll_back);
        let session = Session::Postgres { client: &client, transaction: None };
        let outcome = patient(caught(async { body(&mut Rx::new(session, &self.texts)).await })).await;
        let client = ScopeGuard::into_inner(client);
        if outcome.as_ref().err().is_some_and(leaves_doubt) {
            give_up(client, self.tls.clone());
        }
        outcome
    }

    pub(crate) async fn read_slow(&self, reader: Reader, body: ReadBody) -> Result<Answer> {
        let patience = self.limits.limit_of(reader);
        let place = self.places.take(reader, patience).await?;
        let limit = place.limit(patience);
        let client = connection(&self.slow).await?;
        // the place is taken until the query has ended, whether we wait for it or not
        let tls = self.tls.clone();
        let held =
            scopeguard::guard((client, place), move |(client, place)| cancel(client, tls, Some(place)));
        let work = tokio::time::timeout(limit, read_within(&held.0, limit, &self.texts, body));
        let outcome = work.await.unwrap_or_else(|_| Err(Error::Interrupted("it took too long".into())));
        match outcome {
            // what was stopped here may go on there
            Err(Error::Interrupted(_)) => Err(Error::TooSlow(limit)),
            outcome => {
                let (client, _place) = ScopeGuard::into_inner(held);
                if outcome.as_ref().err().is_some_and(leaves_doubt) {
                    give_up(client, self.tls.clone());
                }
                outcome
            }
        }
    }

    /// Runs statements outside a transaction, for what cannot run inside one (`create index concurrently`).
    pub(crate) async fn outside(&self, sql: &str) -> Result<()> {
        self.apart(Duration::ZERO).await?.run(sql).await
    }

    /// A connection of its own beside the pools, for what may take as long as it takes.
    pub(crate) async fn apart(&self, lock_timeout: Duration) -> Result<Apart> {
        Apart::connect(&self.config, &self.tls, Arc::clone(&self.texts), lock_timeout).await
    }

    /// A connection that answers.
    async fn connection(&self) -> Result<Object> {
        connection(&self.pool).await
    }

    pub(crate) fn close(&self) {
        self.pool.close();
        self.slow.close();
    }
}

/// What is wrong with a URL, without what can be a password.
fn unreadable(url: &str, error: &tokio_postgres::Error) -> Error {
    let text = with_causes(error);
    let hint = if ["verify-full", "verify-ca"].iter().any(|mode| url.contains(&format!("sslmode={mode}"))) {
        "; sslmode is disable, prefer or require, and with TLS the certificate is always checked, so require does \
         what verify-full asks for"
    } else if text.contains("sslmode") {
        "; sslmode is disable, prefer or require"
    } else {
        ""
    };
    Error::Unusable(format!("MAILWRIGHT_DATABASE_URL cannot be read: {text}{hint}"))
}

/// Where the server is looked for, and the name of the database.
fn place(config: &Config) -> String {
    let ports = config.get_ports();
    let port = |at: usize| ports.get(at).or(ports.first()).copied().unwrap_or(5432);
    let host = |(at, host): (usize, &Host)| match host {
        Host::Tcp(name) => format!("{name}:{}", port(at)),
        Host::Unix(folder) => format!("{} (port {})", folder.display(), port(at)),
    };
    let hosts: Vec<_> = config.get_hosts().iter().enumerate().map(host).collect();
    let name = config.get_dbname().or(config.get_user()).unwrap_or_default();
    format!("{}, database {name:?}", hosts.join(" or "))
}

/// Whether a server that refuses a connection may take it later: not where it knows neither the database nor the user.
fn waiting_helps(error: &tokio_postgres::Error) -> bool {
    let Some(refusal) = error.as_db_error() else {
        // a server without TLS stays without
        return std::error::Error::source(error)
            .is_none_or(|cause| cause.is::<std::io::Error>() && !with_causes(error).contains("certificate"));
    };
    !matches!(refusal.code().code().get(..2), Some("28" | "3D" | "42"))
}

async fn connection(pool: &Pool) -> Result<Object> {
    match tokio::time::timeout(2 * WAIT, pool.get()).await {
        Ok(connection) => Ok(connection?),
        Err(_) => Err(Error::Unavailable("the database did not answer in time".into())),
    }
}

/// A configuration whose sessions have our settings. Settings in the URL override them.
fn with_settings(config: &Config, statement_timeout: Duration) -> Config {
    let settings = format!(
        "{SETTINGS} -c statement_timeout={} -c idle_in_transaction_session_timeout={}",
        statement_timeout.as_millis(),
        IDLE.as_millis()
    );
    let options =
        config.get_options().map_or_else(|| settings.clone(), |given| format!("{settings} {given}"));
    let mut config = config.clone();
    config.options(options);
    config
}

/// Since when a connection must be there to be used again; any may be at first.
#[derive(Debug, Default)]
struct Freshness(Mutex<Option<Instant>>);

impl Freshness {
    fn since(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses the connections that are older.
    fn check(self: &Arc<Self>) -> Hook {
        let fresh = Arc::clone(self);
        Hook::sync_fn(move |_, metrics| match *fresh.since() {
            Some(since) if metrics.created < since => {
                Err(HookError::message("it was made before writes were refused"))
            }
            _ => Ok(()),
        })
    }
}

fn pool(config: Config, tls: &MakeRustlsConnect, connections: usize, fresh: &Arc<Freshness>) -> Result<Pool> {
    let manager =
        Manager::from_config(config, tls.clone(), ManagerConfig { recycling_method: RecyclingMethod::Fast });
    Pool::builder(manager)
        .max_size(connections)
        .runtime(Runtime::Tokio1)
        .wait_timeout(Some(WAIT))
        .create_timeout(Some(WAIT))
        .pre_recycle(fresh.check())
        .post_recycle(forget_old_plans())
        .build()
        .map_err(|e| Error::Unavailable(e.to_string()))
}

/// There are as many connections as places, so nobody waits for one here.
fn pool_of_slow_reads(
    config: &Config,
    tls: &MakeRustlsConnect,
    connections: usize,
    limits: SlowReads,
) -> Result<Pool> {
    pool(with_settings(config, limits.time_limit), tls, connections, &Arc::default())
}

/// Runs a body whose statements the server stops after a time.
async fn read_within(client: &Object, limit: Duration, texts: &Texts, body: ReadBody) -> Result<Answer> {
    let timeout = format!("set statement_timeout = {}", limit.as_millis().max(1));
    // on the way together with the body's first statement, before which the server runs it
    let limited = client.batch_execute(&timeout);
    let session = Session::Postgres { client, transaction: None };
    let body = caught(async { body(&mut Rx::new(session, texts)).await });
    let (limited, outcome) = join(limited, body).await;
    limited.map_err(Error::from).and(outcome)
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

/// A caller that goes away in the middle must not leave its transaction to the next user of the connection.
fn roll_back(client: Object) {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return drop(Object::take(client)) };
    runtime.spawn(async move {
        if client.batch_execute("rollback").await.is_err() {
            drop(Object::take(client));
        }
    });
}

/// Does away with a connection that was lost, or whose last statement was not answered. What it may still run ends.
fn give_up(client: Object, tls: MakeRustlsConnect) {
    if client.is_closed() {
        drop(Object::take(client));
    } else {
        cancel(client, tls, None);
    }
}

/// Cancels what a connection runs, and does away with it: a late cancellation must not meet the next one's statement.
/// Its place is free when the server has ended it.
fn cancel(client: Object, tls: MakeRustlsConnect, place: Option<Place>) {
    let client = Object::take(client);
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return drop(client) };
    runtime.spawn(async move {
        let cancelled = tokio::time::timeout(WAIT, client.cancel_token().cancel_query(tls)).await;
        if !matches!(cancelled, Ok(Ok(()))) {
            tracing::debug!("a query could not be cancelled, the server ends it after its time");
        }
        // answered when the statement before it has ended
        let _ = tokio::time::timeout(WAIT, client.batch_execute("rollback")).await;
        drop((client, place));
    });
}

async fn transact(client: &Object, texts: &Texts, plans: Plans, body: WriteBody) -> Result<Answer, Undone> {
    let work = patient(async {
        // on the way together with the body's first statements, before which the server runs it
        let begin = plans.begin();
        let begin = client.batch_execute(&begin);
        let failure = Failure::default();
        let session = Session::Postgres { client, transaction: Some(&failure) };
        let body = caught(async { body(&mut Tx::new(session, texts)).await });
        let (started, outcome) = join(begin, body).await;
        let started = started.map_err(|error| Error::from(error).into());
        let outcome = started.and(failure.settle(outcome));
        if outcome.is_err() {
            let _ = client.batch_execute("rollback").await;
        }
        outcome
    });
    let value = work.await?;
    // from here on a failure leaves open whether the change is there
    match tokio::time::timeout(PATIENCE, commit(client)).await {
        Ok(Ok(())) => Ok(value),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(Error::Unknown("the commit was not answered in time".into()).into()),
    }
}

async fn commit(client: &Object) -> Result<()> {
    // without a limit: the server would take a commit whose standby is slow for done when it is stopped
    client.batch_execute("set local statement_timeout = 0; commit").await.map_err(Error::of_commit)
}

/// A connection that was lost, or whose last statement was not answered, must not go back to the pool: its next user
/// would wait behind that statement. Nor must one that can write nothing.
fn leaves_doubt(failure: &Error) -> bool {
    matches!(failure, Error::Unavailable(_) | Error::Unknown(_) | Error::ReadOnly(_) | Error::Panicked(_))
}

/// A panic in a body must not take its caller down: a coalescer's task would leave every later call without an answer.
async fn caught<T, E: From<Error>>(body: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    match AssertUnwindSafe(body).catch_unwind().await {
        Ok(outcome) => outcome,
        Err(panic) => Err(Error::panicked(&*panic).into()),
    }
}

async fn patient<T, E: From<Error>>(work: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    match tokio::time::timeout(PATIENCE, work).await {
        Ok(outcome) => outcome,
        Err(_) => Err(Error::Unavailable("the database did not answer in time".into()).into()),
    }
}

fn tls() -> rustls::ClientConfig {
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth()
}
