//! Brings new contacts into the index of addresses of large projects, where it follows them (SQLite).

use std::time::Duration;

use mailwright_core::ids::ProjectNumber;
use mailwright_store::audience::search::index;
use mailwright_store::body;

use crate::App;
use crate::background::runner::{Next, Runner, Work};
use crate::background::tasks::Tasks;
use crate::error::Result;

/// How often it is looked for new contacts.
const SWEEP: Duration = Duration::from_secs(1);
/// Steps of a project in a round, at most, so that the others have their turn.
const STEPS: usize = 200;

/// Starts to follow new contacts.
pub(crate) fn start(app: &App, tasks: &Tasks) {
    // PostgreSQL keeps its indexes itself
    if !app.0.db.is_shared() {
        Runner::new(app, "address index", SWEEP).start(tasks, Following { app: app.clone() });
    }
}

struct Following {
    app: App,
}

impl Work for Following {
    async fn round(&mut self) -> Result<Next> {
        let (mut after, mut next) = (ProjectNumber(0), Next::Woken);
        loop {
            let projects = self.app.read(body!(async |rx| index::followed(rx, after).await)).await?;
            let Some(last) = projects.last() else { return Ok(next) };
            after = *last;
            for project in projects {
                match self.follow(project).await {
                    Ok(true) => next = Next::Now,
                    Ok(false) => {}
                    Err(error) => {
                        let project = project.0;
                        tracing::warn!(%error, project, "new contacts are not in the index of addresses yet");
                        self.app.0.db.ping().await?;
                    }
                }
            }
        }
    }
}

impl Following {
    /// Whether there may be more to do.
    async fn follow(&self, project: ProjectNumber) -> Result<bool> {
        for _ in 0..STEPS {
            if !index::follow_step(&self.app.0.db, project).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
