//! Connections to PostgreSQL: their settings, the pools that they are in, and how one is given up.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use deadpool_postgres::{
    Hook, HookError, Manager, ManagerConfig, Object, Pool, PoolBuilder, QueueMode, RecyclingMethod, Runtime,
};
use tokio_postgres::Config;
use tokio_postgres::config::Host;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::database::dialect::{FLAVOUR, Texts};
use crate::database::error::{Error, Result, with_causes};
use crate::database::pooled::WAIT;
use crate::database::slow::{Place, SlowReads};

/// How long a transaction may do nothing before the server ends it. Ours never pause, so the process is frozen or cut
/// off from the server, and others that need its locks have waited for long. If the process goes on, it finds the
/// connection closed and its transaction undone.
const IDLE: Duration = Duration::from_secs(30);
/// Plans that scan are switched off: every statement of ours is served by an index. Statements that do scan ask for it
/// themselves.
const SETTINGS: &str = "-c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off -c jit=off";
/// What a transaction sets for itself holds on all servers that the tables are divided over.
const EVERYWHERE: &str = "set citus.propagate_set_commands = 'local'";
/// When a connection that is not used shows that it is alive: before firewalls and address translators forget it. Those
/// used last are used first, so that some are not used for long.
pub(super) const ALIVE: Duration = Duration::from_mins(1);
/// How long a connection keeps the plans of its statements.
const PLANS_KEPT: Duration = Duration::from_secs(2);

/// The fault of a URL, without parts that may be a password.
pub(super) fn unreadable(url: &str, error: &tokio_postgres::Error) -> Error {
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

/// Host and port of the server, and the name of the database.
pub(super) fn place(config: &Config) -> String {
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

/// Whether a server that refuses a connection may accept it later: not if the database, the user or the password is
/// wrong.
pub(super) fn waiting_helps(error: &tokio_postgres::Error) -> bool {
    let Some(refusal) = error.as_db_error() else {
        // a server without TLS stays without
        return std::error::Error::source(error)
            .is_none_or(|cause| cause.is::<std::io::Error>() && !with_causes(error).contains("certificate"));
    };
    !matches!(refusal.code().code().get(..2), Some("28" | "3D" | "42"))
}

/// A configuration whose sessions have our settings. Settings in the URL override them.
pub(super) fn with_settings(config: &Config, statement_timeout: Duration) -> Config {
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
pub(super) struct Freshness(Mutex<Option<Instant>>);

impl Freshness {
    pub(super) fn since(&self) -> MutexGuard<'_, Option<Instant>> {
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

pub(super) fn pool(
    config: Config,
    tls: &MakeRustlsConnect,
    connections: usize,
    fresh: &Arc<Freshness>,
    texts: &Arc<Texts>,
) -> Result<Pool> {
    build(pool_of(config, tls, connections, fresh, texts).post_recycle(forget_old_plans(PLANS_KEPT)))
}

pub(super) fn build(pool: PoolBuilder) -> Result<Pool> {
    pool.build().map_err(|error| Error::Unavailable(error.to_string()))
}

/// A pool to be built, which keeps plans for as long as it has connections.
pub(super) fn pool_of(
    config: Config,
    tls: &MakeRustlsConnect,
    connections: usize,
    fresh: &Arc<Freshness>,
    texts: &Arc<Texts>,
) -> PoolBuilder {
    let manager =
        Manager::from_config(config, tls.clone(), ManagerConfig { recycling_method: RecyclingMethod::Fast });
    Pool::builder(manager)
        .max_size(connections)
        // the connection that was used last has the plans of its statements
        .queue_mode(QueueMode::Lifo)
        .runtime(Runtime::Tokio1)
        .wait_timeout(Some(WAIT))
        .create_timeout(Some(WAIT))
        .post_create(learn_flavour(texts))
        .pre_recycle(fresh.check())
}

/// There are as many connections as places, so nobody waits for one here.
pub(super) fn pool_of_slow_reads(
    config: &Config,
    tls: &MakeRustlsConnect,
    connections: usize,
    limits: SlowReads,
    fresh: &Arc<Freshness>,
    texts: &Arc<Texts>,
) -> Result<Pool> {
    pool(with_settings(config, limits.time_limit), tls, connections, fresh, texts)
}

/// The first connection asks what kind of server it is, before anything else is asked of it. Where that is one of several,
/// each connection is told so.
fn learn_flavour(texts: &Arc<Texts>) -> Hook {
    let texts = Arc::clone(texts);
    Hook::async_fn(move |client, _| {
        let texts = Arc::clone(&texts);
        Box::pin(async move {
            let learnt = async {
                if !texts.knows_flavour() {
                    texts.learn_flavour(client.query_one(FLAVOUR, &[]).await?.get(0));
                }
                if texts.is_divided() {
                    client.batch_execute(EVERYWHERE).await?;
                }
                Ok(())
            };
            match tokio::time::timeout(WAIT, learnt).await {
                Ok(learnt) => learnt.map_err(HookError::Backend),
                Err(_) => Err(HookError::message("the database did not answer in time")),
            }
        })
    })
}

/// A plan is made for a table as large as it is at that time. One that was made while it was empty reads all of a
/// project's rows once it has grown, and the server would keep it: so no plan outlives a short stretch of time.
pub(super) fn forget_old_plans(kept: Duration) -> Hook {
    let begin = Instant::now();
    let stretch = move |at: Instant| at.saturating_duration_since(begin).as_millis() / kept.as_millis();
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
pub(super) fn roll_back(client: Object) {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return drop(Object::take(client)) };
    runtime.spawn(async move {
        if client.batch_execute("rollback").await.is_err() {
            drop(Object::take(client));
        }
    });
}

/// Does away with a connection that was lost, or whose last statement was not answered. What it may still run ends.
pub(super) fn give_up(client: Object, tls: MakeRustlsConnect) {
    if client.is_closed() {
        drop(Object::take(client));
    } else {
        cancel(client, tls, None);
    }
}

/// Cancels what a connection runs, and does away with it: a late cancellation must not meet the next one's statement.
/// Its place is free when the server has ended it.
pub(super) fn cancel(client: Object, tls: MakeRustlsConnect, place: Option<Place>) {
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
