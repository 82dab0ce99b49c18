//! A connection beside the pools, for migrations and for building indexes, which may take long.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use deadpool_postgres::{Object, Pool};
use futures_util::future::BoxFuture;
use tokio_postgres::Config;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::connection::{pool, with_settings};
use super::transaction::{caught, commit};
use crate::database::dialect::Texts;
use crate::database::error::Result;
use crate::database::pooled::{WAIT, connection};
use crate::database::tx::{Failure, Session, Tx};
use crate::database::undone::Undone;

/// How often the server looks whether we are still there while it runs a statement, in milliseconds.
const LIVENESS: u32 = 2_000;

/// A connection without a limit on the time of a statement. What is under way when this is dropped is cancelled, and
/// the server ends it by itself when this process dies.
pub(crate) struct Apart {
    client: Object,
    /// Whether a statement is under way.
    busy: AtomicBool,
    texts: Arc<Texts>,
    tls: MakeRustlsConnect,
    /// The connection is closed with it.
    _pool: Pool,
}

impl Apart {
    /// A connection that waits for a lock of the database for `lock_timeout` at most; zero: as long as it takes.
    pub(super) async fn connect(
        config: &Config,
        tls: &MakeRustlsConnect,
        texts: Arc<Texts>,
        lock_timeout: Duration,
    ) -> Result<Self> {
        let pool = pool(with_settings(config, Duration::ZERO), tls, 1, &Arc::default(), &texts)?;
        let client = connection(&pool).await?;
        client.batch_execute(&format!("set lock_timeout = {}", lock_timeout.as_millis())).await?;
        let liveness = format!(
            "select set_config(name, '{LIVENESS}', false) from pg_settings \
             where name = 'client_connection_check_interval'"
        );
        // older servers do not have it, and some systems cannot do it
        let _ = client.batch_execute(&liveness).await;
        Ok(Self { client, busy: AtomicBool::new(false), texts, tls: tls.clone(), _pool: pool })
    }

    /// Whether the tables are divided by project.
    pub(crate) fn is_divided(&self) -> bool {
        self.texts.is_divided()
    }

    /// Runs statements outside a transaction.
    pub(crate) async fn run(&self, sql: &str) -> Result<()> {
        self.noting(async { Ok(self.client.batch_execute(sql).await?) }).await
    }

    /// Runs a body in a transaction, however long it takes.
    pub(crate) async fn transact<T, F>(&self, body: F) -> Result<T>
    where
        F: for<'t> FnOnce(&'t mut Tx<'_>) -> BoxFuture<'t, Result<T>> + Send,
    {
        let work = async {
            let client = &self.client;
            client.batch_execute("begin").await?;
            let failure = Failure::default();
            let session = Session::Postgres { client, transaction: Some(&failure), at: None };
            let outcome = caught(async { body(&mut Tx::new(session, &self.texts)).await }).await;
            match failure.settle(outcome.map_err(Undone::from)) {
                Ok(value) => commit(client, self.is_divided()).await.map(|()| value),
                Err(undone) => {
                    let _ = client.batch_execute("rollback").await;
                    Err(undone.into_error())
                }
            }
        };
        self.noting(work).await
    }

    async fn noting<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        self.busy.store(true, Ordering::Relaxed);
        let outcome = work.await;
        self.busy.store(false, Ordering::Relaxed);
        outcome
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if *self.busy.get_mut() {
            let (token, tls) = (self.client.cancel_token(), self.tls.clone());
            runtime.spawn(async move { tokio::time::timeout(WAIT, token.cancel_query(tls)).await });
        }
    }
}
