//! Finding the projects with domains that accounts are to be asked about, and what is to be removed from accounts.
//!
//! The requests run beside the rounds, so that a service that does not answer delays nobody else's, nor the stop of the
//! service.

use mailwright_core::ids::ProjectNumber;
use mailwright_store::body;
use mailwright_store::sending::{domain_identity, ses_identity};

use crate::App;
use crate::background::project_work::ProjectWork;
use crate::background::runner::{Next, Work};
use crate::background::tasks::Tasks;
use crate::error::Result;

/// In whose place removals run, which are of no project: the numbers of projects begin with 1.
const NOBODY: ProjectNumber = ProjectNumber(0);

/// The rounds.
pub(crate) struct Registrations {
    app: App,
    beside: ProjectWork,
}

impl Registrations {
    /// What they are called in the log and in the metrics.
    pub(crate) const NAME: &'static str = "domain identities";

    pub(crate) fn new(app: &App, tasks: &Tasks) -> Self {
        Self { app: app.clone(), beside: ProjectWork::new(tasks) }
    }
}

impl Work for Registrations {
    async fn round(&mut self) -> Result<Next> {
        let (app, now) = (&self.app, self.app.0.clock.now());
        let beside = &self.beside;
        let job = |number| async move {
            if app.read(body!(async |rx| domain_identity::is_due(rx, number, now).await)).await? {
                let app = app.clone();
                beside.start(Self::NAME, number, async move {
                    if let Err(error) = app.ask_about_domains(number).await {
                        tracing::warn!(%error, project = number.0, "domains could not be registered, trying again later");
                    }
                });
            }
            Ok(())
        };
        if app.read(body!(async |rx| ses_identity::is_due(rx, now).await)).await? {
            let app = app.clone();
            beside.start(Self::NAME, NOBODY, async move {
                if let Err(error) = app.remove_given_up().await {
                    tracing::warn!(%error, "domains could not be removed from accounts, trying again later");
                }
            });
        }
        app.each_project(job, Self::NAME).await?;
        Ok(Next::Woken)
    }
}
