//! PostgreSQL: a pool of connections, and another one for slow reads.
//!
//! **Statements end in the server.** They have a `statement_timeout`, and a statement that nobody waits for any more is
//! cancelled. A connection that is merely closed would leave its statement running. The commit alone has no timeout: if
//! a commit that waits for a standby is stopped, the server reports it as done. If a process freezes inside a
//! transaction, the server ends the transaction after some time; a process that wakes up finds its connection closed.
//!
//! **Plans.** Sequential scans, hash joins and merge joins are disabled for our sessions: every statement is served by
//! an index, and a query that should scan asks for it (`Rx::query_with_seqscan`). Cached plans are discarded after
//! a moment, because a plan that was made for a small table reads the whole table after it has grown. Coalesced
//! statements keep their plans: they find every row by its key, and planning takes longer than running them
//! ([`Plans`]). Of the connections that are free the one that was used last is used next: it has the plans of what was
//! asked a moment ago.
//!
//! [`Apart`] is a connection beside the pools, without a timeout, for migrations and for building indexes.

mod apart;
mod connection;
#[cfg(test)]
mod tests;
mod transaction;
mod workers;

use std::str::FromStr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use deadpool_postgres::{Object, Pool};
use mailwright_core::ids::ProjectNumber;
use mailwright_tls::ClientTls;
use scopeguard::ScopeGuard;
use tokio::sync::OnceCell;
use tokio_postgres::Config;
use tokio_postgres_rustls::MakeRustlsConnect;

use self::connection::{
    ALIVE, Freshness, cancel, give_up, place, pool, pool_of_slow_reads, roll_back, unreadable, waiting_helps,
    with_settings,
};
use self::transaction::{caught, leaves_doubt, patient, read_within, transact};
use self::workers::{Reach, Workers};
use crate::database::body::{ReadBody, WriteBody};
use crate::database::dialect::{Dialect, Texts};
use crate::database::error::{Error, Result, with_causes};
use crate::database::part::Part;
use crate::database::pooled::{WAIT, connection};
use crate::database::slow::{Places, Reader, SlowReads};
use crate::database::tx::{At, Rx, Session};
use crate::database::undone::{Answer, Undone};

pub(crate) use self::apart::Apart;
pub(crate) use self::transaction::Plans;
pub(crate) use self::workers::Places as PartsOf;

/// How long a statement may take that is no slow read. The server gives it up before we do.
const STATEMENT: Duration = Duration::from_secs(50);

pub(crate) struct Postgres {
    pool: Pool,
    fresh: Arc<Freshness>,
    slow: Pool,
    places: Places,
    limits: SlowReads,
    texts: Arc<Texts>,
    workers: Workers,
    config: Config,
    tls: MakeRustlsConnect,
}

impl Postgres {
    pub(crate) fn open(url: &str, connections: usize, limits: SlowReads) -> Result<Self> {
        let mut config = Config::from_str(url).map_err(|error| unreadable(url, &error))?;
        config.connect_timeout(WAIT).tcp_user_timeout(Duration::from_secs(30)).keepalives_idle(ALIVE);
        config.application_name("mailwright");
        // whether the server speaks TLS, and `sslmode` asks for it, shows when it is connected to
        let tls = ClientTls::default().get_before_it_is_needed().map_err(Error::Unusable)?;
        let tls = MakeRustlsConnect::new(tls);
        let (for_slow, for_others) = limits.split(connections);
        let fresh = Arc::new(Freshness::default());
        let texts = Arc::new(Texts::new(Dialect::Postgres));
        let pool = pool(with_settings(&config, STATEMENT), &tls, for_others, &fresh, &texts)?;
        let slow = pool_of_slow_reads(&config, &tls, for_slow, limits, &fresh, &texts)?;
        let workers = Workers::new(Reach {
            config: with_settings(&config, STATEMENT),
            tls: tls.clone(),
            connections: for_others,
            fresh: Arc::clone(&fresh),
            texts: Arc::clone(&texts),
            servers: Mutex::default(),
        });
        Ok(Self { pool, fresh, slow, places: Places::new(for_slow), limits, texts, workers, config, tls })
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
        self.write_by(self.connection().await?, plans, None, body).await
    }

    /// Runs a transaction on the server that has parts, given in the order of their numbers. Fails with
    /// [`Error::Elsewhere`] if it cannot run there, and with [`Error::NoPart`] if one of them is not there.
    pub(crate) async fn write_at(
        &self,
        parts: &[Arc<Part>],
        plans: Plans,
        body: WriteBody,
    ) -> Result<Answer, Undone> {
        let Some(first) = parts.first().filter(|_| !parts.iter().any(|part| part.is_gone())) else {
            return Err(Error::NoPart.into());
        };
        let Some(client) = self.workers.connection(&self.pool, &first.server).await else {
            return Err(Error::NoPart.into());
        };
        let reading = OnceCell::new();
        let at = At { parts, turn: 0, coordinator: &self.pool, reading: &reading };
        let outcome = self.write_by(client, plans, Some(at), body).await;
        let failure = outcome.as_ref().err().and_then(Undone::failure);
        if failure.is_some_and(leaves_doubt)
            && let Some(client) = reading.into_inner()
        {
            give_up(client, self.tls.clone());
        }
        // it has become a standby and another took over, or what it had was replaced: nothing was kept
        let is_lost =
            failure.is_some_and(|error| matches!(error, Error::ReadOnly(_)) || error.is_of_missing_table());
        if let (true, [part]) = (is_lost, parts) {
            part.miss();
        }
        if parts.iter().any(|part| part.is_gone()) {
            self.workers.forget();
        }
        if is_lost { Err(Error::NoPart.into()) } else { outcome }
    }

    /// Where projects are, as far as transactions can run there.
    pub(crate) async fn parts_of(&self, projects: &[ProjectNumber]) -> PartsOf {
        if self.is_divided() {
            Box::pin(self.workers.places(&self.pool, projects)).await
        } else {
            PartsOf::new()
        }
    }

    /// The server of a cluster that a project is on, if that is known.
    pub(crate) fn server_of(&self, project: ProjectNumber) -> Option<i64> {
        self.workers.server_of(project)
    }

    async fn write_by(
        &self,
        client: Object,
        plans: Plans,
        at: Option<At<'_>>,
        body: WriteBody,
    ) -> Result<Answer, Undone> {
        let client = scopeguard::guard(client, roll_back);
        // boxed, since the futures of all that writes hold it
        let outcome = Box::pin(transact(&client, &self.texts, plans, at, body)).await;
        let client = ScopeGuard::into_inner(client);
        let failure = outcome.as_ref().err().and_then(Undone::failure);
        if let (Some(Error::ReadOnly(_)), None) = (failure, at) {
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
        self.slow.retain(|_, _| false);
        self.workers.renew();
    }

    pub(crate) async fn read(&self, body: ReadBody) -> Result<Answer> {
        let client = scopeguard::guard(self.connection().await?, roll_back);
        let session = Session::Postgres { client: &client, transaction: None, at: None };
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

    /// Whether the tables are divided by project, as far as is known.
    pub(crate) fn is_divided(&self) -> bool {
        self.texts.is_divided()
    }

    /// Runs statements outside a transaction, for what cannot run inside one (`create index concurrently`).
    pub(crate) async fn outside(&self, sql: &str) -> Result<()> {
        self.apart(Duration::ZERO).await?.run(sql).await
    }

    /// A connection outside the pools, for work without a limit of time.
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
        self.workers.close();
    }
}
