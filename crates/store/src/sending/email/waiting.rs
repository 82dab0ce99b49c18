//! A look at the mails that wait, for people.

use mailwright_core::email::Lane;
use mailwright_core::ids::{CampaignId, ProjectNumber};
use mailwright_core::time::Timestamp;
use serde_json::Value as Json;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Row, Rx};

/// A mail that waits, or is being handed over.
#[derive(Debug, Clone)]
pub struct WaitingMail {
    /// Address it goes to; empty once the contact was removed.
    pub recipient: String,
    /// When it is tried.
    pub due_at: Timestamp,
    /// Hand-overs tried.
    pub attempts: i64,
    /// Why it waits; `None` where it waits for its turn alone.
    pub error: Option<String>,
    /// The last attempt, as it is stored.
    pub last: Option<Json>,
    /// When it was accepted.
    pub created_at: Timestamp,
}

const COLUMNS: &str = "recipient, due_at, attempts, error, {json_last log}, created_at";

fn read(row: &Row<'_>) -> Result<WaitingMail> {
    Ok(WaitingMail {
        recipient: row.get(0)?,
        due_at: row.get(1)?,
        attempts: row.get(2)?,
        error: row.get(3)?,
        last: row.get(4)?,
        created_at: row.get(5)?,
    })
}

/// The mails of a lane that are due first, at most `most`. Those of campaigns are not among them.
pub async fn waiting(rx: &Rx<'_>, project: ProjectNumber, lane: Lane, most: i64) -> Result<Vec<WaitingMail>> {
    rx.all(
        format!(
            "select {COLUMNS} from emails where project_id = $1 and campaign_id is null and lane = $2 \
             and due_at is not null order by due_at limit $3"
        ),
        args![project, lane.number(), most],
        read,
    )
    .await
}

/// The mails of a campaign that are due first, at most `most`.
pub async fn waiting_of_campaign(
    rx: &Rx<'_>,
    project: ProjectNumber,
    campaign: CampaignId,
    most: i64,
) -> Result<Vec<WaitingMail>> {
    rx.all(
        format!(
            "select {COLUMNS} from emails where project_id = $1 and campaign_id = $2 and campaign_id is not null \
             and due_at is not null order by due_at limit $3"
        ),
        args![project, campaign, most],
        read,
    )
    .await
}
