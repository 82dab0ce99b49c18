//! Reading events, and removing the events of a name.

use std::time::Duration;

use mailwright_core::audit::{Action, Actor};
use mailwright_core::event::is_reserved;
use mailwright_core::ids::{CampaignId, ContactId, ProjectNumber};
use mailwright_core::project::Project;
use mailwright_core::segment::Segment;
use mailwright_core::time::Timestamp;
use mailwright_store::audience::{event as store, event_counts, names};
use mailwright_store::body;
use mailwright_store::insight::counter::{self, Counter};
use mailwright_store::project::audit::{self, Entry};
use mailwright_store::{Patience, retrying};

use crate::App;
use crate::error::{Error, Result};

pub use mailwright_store::audience::event::Event;

impl App {
    /// The newest events of a project, of one name if given.
    pub async fn events(&self, project: &Project, name: Option<String>, limit: i64) -> Result<Vec<Event>> {
        let number = project.number;
        self.read_slow(number, body!(async |rx| store::recent(rx, number, name.as_deref(), limit).await))
            .await
    }

    /// The newest events of a contact.
    pub async fn contact_events(
        &self,
        project: &Project,
        contact: ContactId,
        limit: i64,
    ) -> Result<Vec<Event>> {
        let number = project.number;
        self.read_slow(number, body!(async |rx| store::of_contact(rx, number, contact, limit).await)).await
    }

    /// The names of a project's events, the most frequent first.
    pub async fn event_names(&self, project: &Project) -> Result<Vec<String>> {
        Ok(self.event_counts(project).await?.into_iter().map(|(name, _)| name).collect())
    }

    /// How often events of each name happened, the most frequent first: from `from` up to and with `until`, or ever
    /// where neither is given.
    pub async fn event_stats(
        &self,
        project: &Project,
        from: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> Result<Vec<(String, i64)>> {
        let number = project.number;
        if from.is_none() && until.is_none() {
            return self.event_counts(project).await;
        }
        let (from, now) = (from.unwrap_or_default(), self.0.clock.now());
        let until = until.unwrap_or(now).plus(Duration::from_millis(1));
        let read = self.read_slow(
            number,
            body!(async |rx| event_counts::counts_between(rx, number, from, until, now).await),
        );
        read.await
    }

    /// The names of a project's events with how often each happened, the most frequent first.
    async fn event_counts(&self, project: &Project) -> Result<Vec<(String, i64)>> {
        let number = project.number;
        let mut counts = self
            .read_slow(number, body!(async |rx| counter::values(rx, number, Counter::Event).await))
            .await?;
        counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        Ok(counts)
    }

    /// The segments that refer to events of a name, and the number of the events.
    pub async fn event_usage(&self, project: &Project, name: &str) -> Result<Usage> {
        let (number, wanted, now) = (project.number, name.to_owned(), self.0.clock.now());
        let (total, contacts) = self
            .read_slow(
                number,
                body!(async |rx| {
                    let total = counter::value(rx, number, Counter::Event, &wanted).await?;
                    Ok((total, store::unique_contacts(rx, number, &wanted, total, now).await?))
                }),
            )
            .await?;
        let segments = self.segments_with_event(project, name).await?;
        let campaigns = self.campaigns_with_event(project, name).await?;
        Ok(Usage { segments, campaigns, total, contacts, can_delete: !is_reserved(name) })
    }

    /// Removes every event of a name; how many. The service's own events stay.
    pub async fn delete_events(&self, project: &Project, actor: &Actor, name: &str) -> Result<usize> {
        if is_reserved(name) {
            return Err(Error::BadRequest(format!(
                "{name} is an event of the service itself and cannot be deleted."
            )));
        }
        // events that are tracked meanwhile stay, so that there is an end
        let until = self.0.clock.now().plus(Duration::from_millis(1));
        let mut removed = 0;
        loop {
            let is_first = removed == 0;
            let step =
                || self.remove_some_events(project.number, actor.clone(), name.to_owned(), until, is_first);
            match retrying(Patience::USUAL, step).await? {
                0 => break,
                count => removed += count,
            }
        }
        self.wake_segments();
        Ok(removed)
    }

    /// Removes the next events of a name; how many. When there are none the name is forgotten.
    async fn remove_some_events(
        &self,
        number: ProjectNumber,
        actor: Actor,
        name: String,
        until: Timestamp,
        is_first: bool,
    ) -> Result<usize> {
        let now = self.0.clock.now();
        self.write_bulk(body!(async |tx| {
            let removed = store::remove(tx, number, &name, until, now).await?;
            if removed == 0 {
                names::forget_event(tx, number, &name).await?;
            }
            if is_first && removed > 0 {
                let entry = Entry::new(Action::EventsDeleted, name);
                audit::record(tx, number, &actor, &entry, now).await?;
            }
            Ok(removed)
        }))
        .await
    }
}

/// The segments that refer to events of a name, and the number of the events.
#[derive(Debug)]
pub struct Usage {
    /// Segments whose condition looks at them.
    pub segments: Vec<Segment>,
    /// Campaigns whose filter looks at them and that are not over, by id and name.
    pub campaigns: Vec<(CampaignId, String)>,
    /// Events.
    pub total: i64,
    /// Contacts that have one.
    pub contacts: i64,
    /// Whether they can be removed.
    pub can_delete: bool,
}
