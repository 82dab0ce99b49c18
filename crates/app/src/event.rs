//! Reading events.

use mailwright_core::ids::ContactId;
use mailwright_core::project::Project;
use mailwright_store::counter::{self, Counter};
use mailwright_store::event as store;

use crate::App;
use crate::error::Result;

pub use mailwright_store::event::Event;

impl App {
    /// The newest events of a project, of one name if given.
    pub async fn events(&self, project: &Project, name: Option<String>, limit: i64) -> Result<Vec<Event>> {
        let number = project.number;
        let read = self
            .0
            .db
            .read(move |rx| Box::pin(async move { store::recent(rx, number, name.as_deref(), limit).await }));
        Ok(read.await?)
    }

    /// The newest events of a contact.
    pub async fn contact_events(
        &self,
        project: &Project,
        contact: ContactId,
        limit: i64,
    ) -> Result<Vec<Event>> {
        let number = project.number;
        let read = self
            .0
            .db
            .read(move |rx| Box::pin(async move { store::of_contact(rx, number, contact, limit).await }));
        Ok(read.await?)
    }

    /// The names of a project's events, the most frequent first.
    pub async fn event_names(&self, project: &Project) -> Result<Vec<String>> {
        let number = project.number;
        let mut names = self
            .0
            .db
            .read(move |rx| Box::pin(async move { counter::values(rx, number, Counter::Event).await }))
            .await?;
        names.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        Ok(names.into_iter().map(|(name, _)| name).collect())
    }
}
