//! Connections to the workers, and which of them cannot be reached.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deadpool_postgres::{Hook, HookError, Object, Pool};
use tokio_postgres::Config;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::super::connection::{Freshness, build, forget_old_plans, pool_of};
use super::super::transaction::{PATIENT, prepare_beginning};
use crate::database::dialect::Texts;
use crate::database::error::{Error, Result};
use crate::database::part::Server;
use crate::database::pooled::{WAIT, connection};

/// How long a transaction waits for a connection to a server that was reached before.
const MOMENT: Duration = Duration::from_secs(1);
/// How long a server is left alone that could not be reached: at first, and at most.
const PAUSES: (Duration, Duration) = (Duration::from_secs(2), Duration::from_mins(1));
/// Statements of groups find every row by its key, so that their plans are kept.
const KEPT: &str = " -c plan_cache_mode=force_generic_plan";
/// How long they are kept. There is one for each part, so making them anew costs many times what it does elsewhere; the
/// server makes them anew by itself once it knows that a table has grown.
const PLANS_KEPT: Duration = Duration::from_secs(15);
/// Which server it is, whatever its name is here. A standby that took over has the number of the one before it.
const IDENTITY: &str = "select cast(system_identifier as text) from pg_control_system()";
/// Has the coordinator ask a server that.
const ASK: &str = "select success, result from master_run_on_worker(array[$1::text], array[cast($2::bigint as int)], array[$3::text], false)";

pub(in super::super) struct Reach {
    /// How the coordinator is connected to, with our settings.
    pub(in super::super) config: Config,
    pub(in super::super) tls: MakeRustlsConnect,
    /// Most connections to each server.
    pub(in super::super) connections: usize,
    pub(in super::super) fresh: Arc<Freshness>,
    pub(in super::super) texts: Arc<Texts>,
    pub(in super::super) servers: Mutex<HashMap<Server, State>>,
}

pub(in super::super) enum State {
    /// A task tries to reach it.
    Tried,
    Reached(Pool),
}

impl Reach {
    /// Whether a server was reached; if nobody has tried yet, a task does.
    pub(super) fn is_reached(self: &Arc<Self>, coordinator: &Pool, server: &Server) -> bool {
        let mut servers = self.lock();
        match servers.get(server) {
            Some(State::Reached(_)) => true,
            Some(State::Tried) => false,
            None => {
                servers.insert(server.clone(), State::Tried);
                self.try_to_reach(coordinator, server, Duration::ZERO);
                false
            }
        }
    }

    /// A connection to a server; `None` if it cannot be reached.
    pub(super) async fn connection(self: &Arc<Self>, coordinator: &Pool, server: &Server) -> Option<Object> {
        let pool = match self.lock().get(server) {
            Some(State::Reached(pool)) => pool.clone(),
            Some(State::Tried) | None => return None,
        };
        let error = match tokio::time::timeout(MOMENT, pool.get()).await {
            Ok(Ok(client)) => return Some(client),
            // those that there are may be in use; what ends them shows when none is left
            _ if pool.status().size > 0 => return None,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it did not answer in time".to_owned(),
        };
        if let Some(state @ State::Reached(_)) = self.lock().get_mut(server) {
            *state = State::Tried;
            tracing::warn!(
                host = server.host,
                port = server.port,
                error,
                "a worker cannot be reached, the coordinator is asked instead"
            );
            self.try_to_reach(coordinator, server, PAUSES.0);
        }
        None
    }

    /// Tries until a server is reached, first after a while, in a task that ends with this.
    fn try_to_reach(self: &Arc<Self>, coordinator: &Pool, server: &Server, first: Duration) {
        let (reach, coordinator, server) = (Arc::downgrade(self), coordinator.clone(), server.clone());
        tokio::spawn(async move {
            tokio::time::sleep(first).await;
            let mut pause = PAUSES.0;
            loop {
                let Some(reach) = reach.upgrade() else { return };
                if coordinator.is_closed() {
                    return;
                }
                match reach.reached(&coordinator, &server).await {
                    Ok(pool) => {
                        tracing::info!(host = server.host, port = server.port, "a worker is reached");
                        reach.lock().insert(server, State::Reached(pool));
                        return;
                    }
                    Err(error) if pause == PAUSES.0 => {
                        tracing::warn!(host = server.host, port = server.port, %error, "a worker cannot be reached");
                    }
                    Err(error) => {
                        tracing::debug!(host = server.host, port = server.port, %error, "a worker cannot be reached");
                    }
                }
                drop(reach);
                tokio::time::sleep(pause).await;
                pause = (2 * pause).min(PAUSES.1);
            }
        });
    }

    /// Connections to a server, of which one was made.
    async fn reached(&self, coordinator: &Pool, server: &Server) -> Result<Pool> {
        let client = connection(coordinator).await?;
        let asked: [&(dyn tokio_postgres::types::ToSql + Sync); 3] =
            [&server.host, &i64::from(server.port), &IDENTITY];
        let answer = tokio::time::timeout(WAIT, client.query_one(ASK, &asked)).await;
        let answer =
            answer.map_err(|_| Error::Unavailable("the coordinator did not answer in time".into()))??;
        let (succeeded, identity): (bool, String) = (answer.try_get(0)?, answer.try_get(1)?);
        if !succeeded {
            return Err(Error::Unavailable(identity));
        }
        let config = at(&self.config, server);
        let pool = pool_of(config, &self.tls, self.connections, &self.fresh, &self.texts);
        let pool = build(pool.post_create(is_it(identity)).post_recycle(forget_old_plans(PLANS_KEPT)))?;
        connection(&pool).await.map(drop)?;
        Ok(pool)
    }

    pub(super) fn renew(&self) {
        for state in self.lock().values() {
            if let State::Reached(pool) = state {
                pool.retain(|_, _| false);
            }
        }
    }

    pub(super) fn close(&self) {
        for (_, state) in self.lock().drain() {
            if let State::Reached(pool) = state {
                pool.close();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Server, State>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Refuses connections to another server than the coordinator means.
fn is_it(identity: String) -> Hook {
    let identity: Arc<str> = identity.into();
    Hook::async_fn(move |client, _| {
        let identity = Arc::clone(&identity);
        Box::pin(async move {
            let asked = tokio::time::timeout(WAIT, client.query_one(IDENTITY, &[])).await;
            let found = asked.map_err(|_| HookError::message("the server did not answer in time"))?;
            let found: String = found.and_then(|row| row.try_get(0)).map_err(HookError::Backend)?;
            if *found != *identity {
                return Err(HookError::message(
                    "under its name is another server here than for the coordinator",
                ));
            }
            prepare_beginning(client).await.map_err(HookError::Backend)
        })
    })
}

/// How to connect to a server of the cluster: as to the coordinator.
fn at(coordinator: &Config, server: &Server) -> Config {
    let mut config = Config::new();
    config.host(&server.host).port(server.port);
    coordinator.get_user().map(|user| config.user(user));
    coordinator.get_password().map(|password| config.password(password));
    coordinator.get_dbname().map(|name| config.dbname(name));
    let options = coordinator.get_options().unwrap_or_default();
    config.options(format!("{options}{KEPT} -c lock_timeout={}", PATIENT.as_millis()));
    coordinator.get_application_name().map(|name| config.application_name(name));
    coordinator.get_connect_timeout().map(|timeout| config.connect_timeout(*timeout));
    coordinator.get_tcp_user_timeout().map(|timeout| config.tcp_user_timeout(*timeout));
    config
        .ssl_mode(coordinator.get_ssl_mode())
        .ssl_negotiation(coordinator.get_ssl_negotiation())
        .channel_binding(coordinator.get_channel_binding())
        .keepalives(coordinator.get_keepalives())
        .keepalives_idle(coordinator.get_keepalives_idle());
    config
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_connected_to_as_the_coordinator_is() {
        let coordinator: Config =
            "postgres://user:secret@one:5433,two/mail?sslmode=require&options=-c%20jit%3Doff"
                .parse()
                .unwrap();
        let worker = at(&coordinator, &Server { group: 3, host: "three".to_owned(), port: 6000 });
        let expected: Config =
            "postgres://user:secret@three:6000/mail?sslmode=require&options=-c%20jit%3Doff\
                                %20-c%20plan_cache_mode%3Dforce_generic_plan%20-c%20lock_timeout%3D250"
                .parse()
                .unwrap();
        assert_eq!(worker, expected);
    }
}
