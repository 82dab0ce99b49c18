//! Starting scheduled campaigns. One that missed its time by more than `latest_start_hours` becomes a draft again.

use std::time::Duration;

use mailwright_core::audit::{Action, Actor};
use mailwright_core::campaign::{Campaign, CampaignStatus};
use mailwright_core::ids::{CampaignId, ProjectNumber};
use mailwright_core::time::Timestamp;
use mailwright_store::body;
use mailwright_store::project::audit;
use mailwright_store::sending::campaign::{self as store, audience};
use mailwright_store::{Tx, project};
use serde_json::json;

use super::Campaigns;
use crate::error::{Result, too_many_conditions};
use crate::sending::campaign::state::start as start_campaign;
use crate::sending::domain::sender_refused;

/// How late a scheduled campaign may always start: it is never looked at in the very moment, and a process that froze
/// may hold its row until the database ends it.
const GRACE: Duration = Duration::from_mins(1);

impl Campaigns {
    /// Starts a campaign whose time has come, or cancels it when its project may not send. One that is too late becomes
    /// a draft again.
    pub(super) async fn fire(&self, number: ProjectNumber, id: CampaignId) -> Result<bool> {
        let rules = Rules {
            now: self.app.clock().now(),
            latest_start: self.app.settings().latest_start,
            leaves: self.app.mail_leaves(),
        };
        let db = &self.app.0.db;
        let fired = db.write_in_background(body!(async |tx| fire(tx, number, id, rules).await)).await?;
        if let Some(campaign) = &fired {
            tracing::info!(campaign = %id, status = campaign.status.as_str(), "a scheduled campaign was due");
        }
        Ok(fired.is_some())
    }
}

/// The limits for starting a scheduled campaign.
#[derive(Debug, Clone, Copy)]
struct Rules {
    now: Timestamp,
    /// How late it may start.
    latest_start: Duration,
    /// Whether mail leaves the machine.
    leaves: bool,
}

/// Starts a scheduled campaign. Returns it when its time had come.
async fn fire(
    tx: &mut Tx<'_>,
    number: ProjectNumber,
    id: CampaignId,
    Rules { now, latest_start, leaves }: Rules,
) -> mailwright_store::Result<Option<Campaign>> {
    let due = |campaign: &Campaign| {
        campaign.status == CampaignStatus::Scheduled && campaign.scheduled_for.is_some_and(|at| at <= now)
    };
    let Some(mut campaign) = store::get_for_update(tx, number, id).await?.filter(due) else {
        return Ok(None);
    };
    let latest_start = latest_start.max(GRACE);
    if let Some(due_at) = campaign.scheduled_for.filter(|at| now.since(*at) > latest_start) {
        // what was good news on Friday may do harm on Monday: somebody has to look at it
        let note = format!(
            "The campaign was scheduled for {due_at}. The service did not run then or could not start it, and \
             is now more than {} late. Send or schedule it again.",
            spelled(latest_start)
        );
        let entry = audit::Entry::new(Action::CampaignMissed, id.to_string())
            .with(json!({ "name": campaign.name, "scheduledFor": due_at }));
        audit::record(tx, number, &Actor::Service, &entry, now).await?;
        campaign.status = CampaignStatus::Draft;
        campaign.scheduled_for = None;
        campaign.note = Some(note);
        campaign.updated_at = now;
        store::save_state(tx, number, &campaign).await?;
        return Ok(Some(campaign));
    }
    let disabled = project::get(tx, number).await?.is_none_or(|project| project.disabled);
    let refused = if disabled {
        Some("The project was disabled when the campaign was due.".to_owned())
    } else if !audience::can_be_found(tx, number, &campaign.audience, now).await? {
        Some(too_many_conditions())
    } else {
        sender_refused(tx, number, campaign.from.domain(), leaves).await?.map(|refused| refused.to_string())
    };
    if let Some(reason) = refused {
        campaign.status = CampaignStatus::Cancelled;
        campaign.note = Some(reason);
        campaign.finished_at = Some(now);
        campaign.updated_at = now;
    } else {
        start_campaign(tx, number, &mut campaign, None, now).await?;
    }
    store::save_state(tx, number, &campaign).await?;
    Ok(Some(campaign))
}

fn spelled(time: Duration) -> String {
    match time.as_secs() / 3600 {
        0 => "1 minute".into(), // less than an hour is the grace
        1 => "1 hour".into(),
        hours => format!("{hours} hours"),
    }
}
