//! Requests by host: how many there may be at once, and the connections that are kept.
//!
//! Each host has a pool of its own, so that connections can be bounded in all: those to the hosts that were used
//! longest ago are closed. A request first waits for a place of its host and only then for one of all, so that requests
//! to a slow host do not take the places of others while they wait.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::connector::Connector;
use super::error::{Error, Failure, Phase};
use super::limits::Limits;

/// The connections of one host.
pub(super) type Pool = Client<Connector, Full<Bytes>>;

/// The hosts that requests go to.
pub(super) struct Hosts {
    limits: Limits,
    connector: Connector,
    places: Arc<Semaphore>,
    /// Last used last.
    known: Mutex<Vec<(String, Arc<Host>)>>,
}

struct Host {
    pool: Pool,
    places: Arc<Semaphore>,
}

/// The right to make a request to a host.
pub(super) struct Turn {
    host: Arc<Host>,
    _places: (OwnedSemaphorePermit, OwnedSemaphorePermit),
}

impl Turn {
    pub(super) fn pool(&self) -> &Pool {
        &self.host.pool
    }
}

impl Hosts {
    pub(super) fn new(limits: Limits, connector: Connector) -> Self {
        let places = Arc::new(Semaphore::new(limits.at_once));
        Self { limits, connector, places, known: Mutex::default() }
    }

    /// Waits until a request may be made to a host.
    pub(super) async fn turn(&self, name: &str) -> Result<Turn, Error> {
        let host = self.host(name);
        let limit = self.limits.turn;
        let places = timeout(limit, self.places_of(&host))
            .await
            .map_err(|_| Error::NotSent(Failure::timeout(Phase::Turn, limit)))?
            .map_err(|error| Error::NotSent(Failure::Connection(error.to_string())))?;
        Ok(Turn { host, _places: places })
    }

    async fn places_of(
        &self,
        host: &Host,
    ) -> Result<(OwnedSemaphorePermit, OwnedSemaphorePermit), AcquireError> {
        let of_host = Arc::clone(&host.places).acquire_owned().await?;
        let of_all = Arc::clone(&self.places).acquire_owned().await?;
        Ok((of_host, of_all))
    }

    fn host(&self, name: &str) -> Arc<Host> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (name, host) = match known.iter().position(|(known, _)| known == name) {
            Some(at) => known.remove(at),
            None => (name.to_owned(), Arc::new(self.new_host())),
        };
        known.push((name, Arc::clone(&host)));
        // a host that a request is under way to keeps its count of places
        while known.len() > self.limits.hosts
            && let Some(at) = known.iter().position(|(_, host)| Arc::strong_count(host) == 1)
        {
            known.remove(at);
        }
        host
    }

    fn new_host(&self) -> Host {
        let limits = &self.limits;
        let pool = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(limits.idle)
            .pool_max_idle_per_host(limits.idle_per_host)
            .http1_max_buf_size(limits.answer_head)
            .http1_max_headers(limits.answer_headers)
            .build(self.connector.clone());
        Host { pool, places: Arc::new(Semaphore::new(limits.at_once_per_host)) }
    }
}
