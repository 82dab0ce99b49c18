//! The use cases of Mailwright and its background work. Each use case is one method of [`App`]. A use case that writes
//! is one transaction (see `transaction.rs`), and queues the work that follows from it by rows in the same transaction.
//!
//! The modules are grouped by area, as in `mailwright-store` and `mailwright-api`. [`App::start_worker`] starts all
//! background work.

pub mod account;
pub mod audience;
pub mod background;
pub mod cli;
pub mod delivery;
mod error;
mod http_client;
pub mod metrics;
pub mod project;
pub mod secret;
pub mod sending;
pub mod settings;
mod transaction;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use mailwright_core::project::Project;
use mailwright_core::time::Clock;
use mailwright_mail::dns::Dns;
use mailwright_store::audience::email_search_cache::EmailSearchCaches;
use mailwright_store::{Coalescer, Db};
use tokio::sync::OnceCell;

pub use delivery::Transport;
pub use error::{Error, Resource, Result};
pub use mailwright_store::project::api_key::KeyKind;

use crate::account::password::Passwords;
use crate::audience::segment::LiveSegments;
use crate::audience::{contact, segment, track};
use crate::background::clock::Watch;
use crate::background::runner::{Waker, every};
use crate::background::tasks::Tasks;
use crate::background::{job, maintenance};
use crate::delivery::Dispatcher;
use crate::delivery::suspension::ReputationQueue;
use crate::http_client::HttpClient;
use crate::metrics::Metrics;
use crate::project::key;
use crate::project::key::Keyring;
use crate::project::rate_limit::Limiter;
use crate::secret::InstanceSecret;
use crate::sending::campaign::runner::Hints;
use crate::sending::content::Contents;
use crate::sending::email::Told;
use crate::sending::key_pool::KeyPool;
use crate::sending::{campaign, send};
use crate::settings::Settings;

/// The running application. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Inner>);

struct Inner {
    db: Db,
    clock: Clock,
    settings: Settings,
    secret: InstanceSecret,
    transport: Transport,
    dns: Dns,
    metrics: Metrics,
    keyring: Keyring,
    limiter: Limiter,
    passwords: Passwords,
    platform: OnceCell<Project>,
    http: HttpClient,
    contents: Contents,
    illegible: Told,
    email_search_caches: EmailSearchCaches,
    tracks: Coalescer<track::Operation, track::Outcome>,
    sends: Coalescer<send::Operation, send::Outcome>,
    upserts: Coalescer<contact::Operation, contact::Outcome>,
    dispatcher: Dispatcher,
    key_pool: KeyPool,
    jobs: Waker,
    segments: LiveSegments,
    campaigns: Hints,
    reputation_queue: ReputationQueue,
    watch: Watch,
    /// How often this process saw that a domain may, or may not, be sent from any more.
    domain_changes: AtomicU64,
    /// Whether the process was asked to stop.
    is_leaving: AtomicBool,
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("App")
    }
}

/// How often it is tried whether the database takes writes again.
const PROBE: Duration = Duration::from_secs(2);

/// What an [`App`] is made of.
#[derive(Debug)]
pub struct Parts {
    /// The database, migrated.
    pub db: Db,
    /// Where the time comes from.
    pub clock: Clock,
    /// The operator's settings.
    pub settings: Settings,
    /// The instance's secret.
    pub secret: InstanceSecret,
    /// Where mail goes.
    pub transport: Transport,
    /// Name lookups.
    pub dns: Dns,
    /// Where stats are kept.
    pub metrics: Metrics,
}

impl App {
    /// Puts the application together. It serves requests; background work starts with [`App::start_worker`].
    pub fn new(parts: Parts) -> Self {
        let Parts { db, clock, settings, secret, transport, dns, metrics } = parts;
        Self(Arc::new(Inner {
            keyring: Keyring::new(&db, clock.clone()),
            limiter: Limiter::new(&db, clock.clone(), settings.requests),
            passwords: Passwords::default(),
            platform: OnceCell::new(),
            http: HttpClient::default(),
            contents: Contents::new(db.clone()),
            illegible: Told::default(),
            email_search_caches: EmailSearchCaches::new(db.clone()),
            tracks: Coalescer::writes(&db, |tx, operations| Box::pin(track::run(tx, operations))),
            sends: Coalescer::writes(&db, |tx, operations| Box::pin(send::run(tx, operations))),
            upserts: Coalescer::writes(&db, |tx, operations| Box::pin(contact::run(tx, operations))),
            dispatcher: Dispatcher::default(),
            key_pool: KeyPool::default(),
            jobs: Waker::default(),
            segments: LiveSegments::default(),
            campaigns: Hints::default(),
            reputation_queue: ReputationQueue::default(),
            watch: Watch::default(),
            domain_changes: AtomicU64::new(0),
            is_leaving: AtomicBool::new(false),
            db,
            clock,
            settings,
            secret,
            transport,
            dns,
            metrics,
        }))
    }

    /// Starts the background work: delivery, campaigns, segments, jobs, domain checks, judging projects,
    /// housekeeping.
    pub fn start_worker(&self, tasks: &Tasks) {
        delivery::start(self, tasks);
        campaign::runner::start(self, tasks);
        segment::start(self, tasks);
        maintenance::start(self, tasks);
        job::start(self, tasks);
        delivery::suspension::start(self, tasks);
    }

    /// Whether the background work is alive; true as well when this process does none.
    pub fn worker_is_alive(&self) -> bool {
        self.0.dispatcher.is_alive()
    }

    /// Whether the database takes writes, as far as is known.
    pub fn is_writable(&self) -> bool {
        self.0.db.is_writable()
    }

    /// Tries whether the database takes writes, and again and again while it does not: nobody else may write then.
    pub async fn start_probing(&self, tasks: &Tasks) {
        if let Err(error) = self.0.db.probe_write().await {
            tracing::warn!(%error, "nothing could be written");
        }
        every(self, tasks, "write probe", PROBE, |app| async move {
            if app.is_writable() { Ok(()) } else { Ok(app.0.db.probe_write().await?) }
        });
    }

    /// Whether the database answers and has the schema of this program.
    pub async fn is_ready(&self) -> Result<bool> {
        Ok(mailwright_store::database::migrate::is_current(&self.0.db).await?)
    }

    /// Notes that the process is going to stop, so that it no longer says to be ready.
    pub fn leave(&self) {
        self.0.is_leaving.store(true, Ordering::SeqCst);
    }

    /// Whether the process is going to stop.
    pub fn is_leaving(&self) -> bool {
        self.0.is_leaving.load(Ordering::SeqCst)
    }

    /// Whether mail leaves the machine, so that a domain has to be proved before anything is sent from it.
    pub(crate) fn mail_leaves(&self) -> bool {
        !matches!(self.0.transport, Transport::Capture)
    }

    /// The operator's settings.
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// The stats.
    pub fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    /// Where the time comes from.
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// What to answer a caller whose remembered key turned out to be no longer good.
    fn stale(&self, caller: &key::Identity, stale: key::Stale) -> Error {
        if let Some(hash) = &caller.hash {
            self.0.keyring.forget(hash);
        }
        stale.into()
    }

    /// Whose keys are whose.
    pub fn keyring(&self) -> &Keyring {
        &self.0.keyring
    }

    /// The request limit.
    pub fn limiter(&self) -> &Limiter {
        &self.0.limiter
    }
}
