//! Removing what segments left behind that were removed.

use mailwright_core::ids::ProjectNumber;
use mailwright_store::audience::segment as store;
use mailwright_store::body;

use super::pace::PROJECTS;
use crate::App;
use crate::error::Result;

impl App {
    /// Removes what segments left behind that were removed.
    pub(super) async fn clear_up(&self) -> Result<()> {
        let projects = self.read(body!(async |rx| store::removals(rx, PROJECTS).await)).await?;
        for project in projects {
            if let Err(error) = self.clear_up_project(project).await {
                tracing::warn!(%error, project = project.0, "rows of removed segments were not deleted, \
                    trying again");
                self.0.db.ping().await?;
            }
        }
        Ok(())
    }

    async fn clear_up_project(&self, project: ProjectNumber) -> Result<()> {
        let now = self.0.clock.now();
        let step = || {
            self.0
                .db
                .write_in_background(body!(async |tx| store::remove_members_step(tx, project, now).await))
        };
        while step().await? {}
        Ok(())
    }
}
