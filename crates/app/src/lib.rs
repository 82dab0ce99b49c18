//! The use cases of Mailwright and its background work. Each use case is one method of [`App`]. A use case that writes
//! is one transaction (see `transaction.rs`), and queues the work that follows from it by rows in the same transaction.
//!
//! The modules are grouped by area, as in `mailwright-store` and `mailwright-api`. [`App::start_worker`] starts all
//! background work.

pub mod account;
pub mod audience;
pub mod automation;
pub mod background;
pub mod cli;
pub mod copies;
pub mod delivery;
mod error;
pub mod feedback;
pub mod http_client;
pub mod insight;
pub mod metrics;
pub mod project;
pub mod secret;
pub mod sending;
pub mod settings;
mod transaction;

use std::sync::Arc;
use std::time::Duration;

use mailwright_core::time::Clock;
use mailwright_mail::dns::Dns;
use mailwright_store::Db;

pub use delivery::{
    ConfiguredRoute, DirectConfig, NamedTransport, Transport, Transports, ses_identities, ses_quota,
};
pub use error::{Error, Resource, Result, SignInRefusal};
pub use mailwright_store::project::api_key::KeyKind;

use crate::audience::{confirmation, segment};
use crate::background::runner::every;
use crate::background::tasks::Tasks;
use crate::background::{job_kinds, job_worker, maintenance};
use crate::http_client::HttpClient;
use crate::metrics::Metrics;
use crate::secret::InstanceSecret;
use crate::sending::{campaign, upload};
use crate::settings::Settings;

/// The running application. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Inner>);

struct Inner {
    db: Db,
    clock: Clock,
    settings: Settings,
    secret: InstanceSecret,
    dns: Dns,
    metrics: Metrics,
    account: account::State,
    project: project::State,
    audience: audience::State,
    sending: sending::State,
    automation: automation::State,
    delivery: delivery::State,
    feedback: feedback::State,
    insight: insight::State,
    background: background::State,
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("App")
    }
}

/// How often it is tried whether the database takes writes again.
const PROBE: Duration = Duration::from_secs(2);

/// The parts of an [`App`].
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
    pub transports: Transports,
    /// Name lookups.
    pub dns: Dns,
    /// Where stats are kept.
    pub metrics: Metrics,
}

impl App {
    /// Puts the application together. It serves requests; background work starts with [`App::start_worker`].
    pub fn new(parts: Parts) -> Self {
        let Parts { db, clock, settings, secret, transports, dns, metrics } = parts;
        let http = HttpClient::new(dns.clone(), settings.allow_private_networks);
        Self(Arc::new(Inner {
            account: account::State::new(http.clone()),
            project: project::State::new(&db, &clock, &settings, http.clone()),
            audience: audience::State::new(&db, &clock, &settings, &dns),
            sending: sending::State::new(&db, &dns, &settings, http.clone()),
            automation: automation::State::new(http.clone()),
            delivery: delivery::State::new(transports, &settings, &clock, http.clone()),
            feedback: feedback::State::new(&db, &secret, http),
            insight: insight::State::default(),
            background: background::State::default(),
            db,
            clock,
            settings,
            secret,
            dns,
            metrics,
        }))
    }

    /// Starts the background work: delivery, what becomes of mails, campaigns, segments, workflows, jobs, domain checks, judging projects,
    /// removing pictures, maintenance.
    pub fn start_worker(&self, tasks: &Tasks) {
        delivery::start(self, tasks);
        feedback::start(self, tasks);
        campaign::runner::start(self, tasks);
        segment::start(self, tasks);
        confirmation::start(self, tasks);
        audience::erasure::start(self, tasks);
        audience::search_index::start(self, tasks);
        automation::start(self, tasks);
        maintenance::start(self, tasks);
        job_worker::start(self, tasks, job_kinds::open);
        delivery::suspension::start(self, tasks);
        upload::start(self, tasks);
        project::billing::start(self, tasks);
    }

    /// Whether the database takes writes, as far as is known.
    pub fn is_writable(&self) -> bool {
        self.0.db.is_writable()
    }

    /// Tries whether the database takes writes, and repeats the try while it does not: perhaps nothing else writes
    /// meanwhile.
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
}
