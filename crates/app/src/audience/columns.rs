//! Filters of large projects, judged in memory where that is possible (`store::audience::columns`).

use std::time::Duration;

use mailwright_core::contact::Contact;
use mailwright_core::filter::Filter;
use mailwright_core::ids::ProjectNumber;
use mailwright_core::time::Timestamp;
use mailwright_store::audience::columns::{Found, Page};
use mailwright_store::audience::{contact, filter, segment};
use mailwright_store::{Door, body};

use crate::App;
use crate::background::runner::every;
use crate::background::tasks::Tasks;
use crate::error::Result;

/// How often columns follow what changes.
const LOOK: Duration = Duration::from_millis(250);

impl App {
    /// Starts to follow what changes, for the columns of this process. Every process that answers requests does so.
    pub fn start_columns(&self, tasks: &Tasks) {
        every(self, tasks, "columns of contacts", LOOK, |app| async move {
            app.0.audience.columns.round().await?;
            app.0.metrics.columns(app.0.audience.columns.bytes());
            Ok(())
        });
    }

    /// How many contacts a filter finds; as `door` says where the database has to count.
    pub(super) async fn count_found(
        &self,
        door: Door,
        project: ProjectNumber,
        tree: Filter,
        now: Timestamp,
    ) -> Result<i64> {
        if let Some(found) = self.in_columns(project, &tree, now, Page::default()).await? {
            return Ok(found.count);
        }
        self.read_by(
            door,
            body!(async |rx| {
                let segments = segment::resolve(rx, project, &tree).await?;
                filter::count(rx, project, &tree, &segments, now).await
            }),
        )
        .await
    }

    /// Some of the contacts that a filter finds, the newest first, and how many there are in all; `None` where the
    /// database has to look.
    pub(super) async fn page_found(
        &self,
        project: ProjectNumber,
        tree: &Filter,
        now: Timestamp,
        page: Page,
    ) -> Result<Option<(Vec<Contact>, i64)>> {
        let Some(Found { count, newest }) = self.in_columns(project, tree, now, page).await? else {
            return Ok(None);
        };
        let read = self.read(body!(async |rx| contact::some(rx, project, &newest).await));
        let mut contacts = read.await?;
        contacts.reverse();
        Ok(Some((contacts, count)))
    }

    async fn in_columns(
        &self,
        project: ProjectNumber,
        tree: &Filter,
        now: Timestamp,
        page: Page,
    ) -> Result<Option<Found>> {
        let asked = tree.clone();
        let segments = self.read(body!(async |rx| segment::resolve(rx, project, &asked).await)).await?;
        let found = self.0.audience.columns.find(project, tree, &segments, now, page).await;
        let found = found.unwrap_or_else(|error| {
            tracing::debug!(%error, project = project.0, "contacts could not be judged in memory");
            None
        });
        self.0.metrics.judged(if found.is_some() { "memory" } else { "database" });
        Ok(found)
    }
}
