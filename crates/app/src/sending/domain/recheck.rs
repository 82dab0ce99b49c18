//! Looking for the DNS records of sender domains again, at intervals.
//!
//! A round only finds the projects that have a domain to look up. The look-ups run beside it, so that name servers that
//! do not answer delay nobody else's domains, nor the stop of the service.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use mailwright_core::domain::Domain;
use mailwright_core::ids::ProjectNumber;
use mailwright_store::body;
use mailwright_store::sending::domain as store;
use tokio::sync::Semaphore;

use crate::App;
use crate::background::project_work::ProjectWork;
use crate::background::runner::{Next, Work};
use crate::background::tasks::Tasks;
use crate::error::{Error, Result};

/// Domains of a project that are looked up at the same time.
const OF_PROJECT: usize = 8;
/// Domains of all projects that are looked up at the same time.
const OF_ALL: usize = 512;
/// Projects whose domains are taken over at the same time, so that requests find a connection to the database.
const CLAIMS: usize = 4;
/// When it is looked again, if there was no place for some projects.
const SOON: Duration = Duration::from_millis(500);

/// The rounds that find the domains whose time has come.
pub(crate) struct Rechecks {
    app: App,
    beside: ProjectWork,
    places: Arc<Places>,
}

/// What is done at the same time.
struct Places {
    claims: Semaphore,
    checks: Semaphore,
}

impl Rechecks {
    pub(crate) fn new(app: &App, tasks: &Tasks) -> Self {
        let places = Places { claims: Semaphore::new(CLAIMS), checks: Semaphore::new(OF_ALL) };
        Self { app: app.clone(), beside: ProjectWork::new(tasks), places: Arc::new(places) }
    }
}

impl Work for Rechecks {
    async fn round(&mut self) -> Result<Next> {
        let (app, now) = (&self.app, self.app.0.clock.now());
        for number in app.read(body!(async |rx| store::projects_with_checks(rx, now).await)).await? {
            if self.beside.is_full() {
                return Ok(Next::In(SOON));
            }
            let (app, places) = (app.clone(), Arc::clone(&self.places));
            self.beside.start("domain checks", number, async move {
                if let Err(error) = app.check_due_domains(number, &places).await {
                    tracing::warn!(%error, project = number.0, "domains could not be checked, trying again later");
                }
            });
        }
        Ok(Next::Woken)
    }
}

impl App {
    async fn check_due_domains(&self, project: ProjectNumber, places: &Places) -> Result<()> {
        let now = self.0.clock.now();
        let next = now.plus(self.settings().domains.check_interval);
        let claiming = places.claims.acquire().await;
        let claimed = self
            .0
            .db
            .write_in_background(body!(async |tx| store::claim_due(tx, project, now, next).await))
            .await?;
        drop(claiming);
        let check = |domain| async {
            let _place = places.checks.acquire().await;
            self.check_claimed(project, domain).await;
        };
        stream::iter(claimed).map(check).buffer_unordered(OF_PROJECT).collect::<()>().await;
        Ok(())
    }

    async fn check_claimed(&self, project: ProjectNumber, domain: Domain) {
        match self.check_domain(project, &domain).await {
            Ok(_) | Err(Error::NotFound { .. }) => {} // not found: it was removed meanwhile
            Err(error) => {
                tracing::warn!(%error, domain = %domain.id, "a domain could not be checked, trying again later");
            }
        }
    }
}
