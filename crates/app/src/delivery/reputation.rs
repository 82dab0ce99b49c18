//! The reputation of a project: how well its mail is received (reference 3.6).

use std::time::Duration;

use mailwright_core::ids::ProjectNumber;
use mailwright_core::project::Project;
use mailwright_core::reputation::{Health, Stats};
use mailwright_core::time::Timestamp;
use mailwright_store::Rx;
use mailwright_store::body;
use mailwright_store::delivery::delivery_stats;
use mailwright_store::delivery::suspension::{self, Suspension};
use mailwright_store::project::{self, Details};

use crate::App;
use crate::error::{Error, Resource, Result};

/// How long a project counts as new.
const NEW: Duration = Duration::from_hours(30 * 24);
/// How many suspensions are shown.
const SHOWN: i64 = 20;

/// The stats of a project and what they mean.
#[derive(Debug, Clone)]
pub struct Security {
    /// The stats.
    pub stats: Stats,
    /// The judgement.
    pub health: Health,
    /// Times for which the project was disabled, newest first.
    pub suspensions: Vec<Suspension>,
}

impl App {
    /// How well a project's mail is received.
    pub async fn security(&self, project: &Project) -> Result<Security> {
        let (number, now) = (project.number, self.0.clock.now());
        let found = self
            .read(body!(async |rx| {
                let Some(details) = project::details(rx, number).await? else { return Ok(None) };
                let received = delivery_stats::read(rx, number, now).await?;
                let stats = received.stats(is_new(&details, now));
                Ok(Some((stats, suspension::recent(rx, number, SHOWN).await?)))
            }))
            .await?;
        let (stats, suspensions) = found.ok_or_else(|| Error::not_found(Resource::Project, project.id))?;
        Ok(Security { stats, health: Health::of(&stats), suspensions })
    }
}

fn is_new(details: &Details, now: Timestamp) -> bool {
    now.since(details.created_at) < NEW
}

/// The sums by which a project is judged: those since a person last enabled it. `None` if the project was deleted.
pub(crate) async fn evidence(
    rx: &mut Rx<'_>,
    number: ProjectNumber,
    now: Timestamp,
) -> mailwright_store::Result<Option<(Project, Stats)>> {
    let Some(details) = project::details(rx, number).await? else { return Ok(None) };
    let mut received = delivery_stats::read(rx, number, now).await?;
    if let Some(baseline) = suspension::baseline(rx, number).await? {
        received = received.after(&baseline);
    }
    let stats = received.stats(is_new(&details, now));
    Ok(Some((details.project, stats)))
}
