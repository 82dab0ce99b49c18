//! How the campaigns of a time did.

use mailwright_core::campaign::CampaignStatus;
use mailwright_core::ids::{CampaignId, ProjectNumber};
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::Rx;

/// Most campaigns whose figures are compared: the newest.
const MOST: i64 = 1_000;

/// A campaign that was sent.
#[derive(Debug, Clone)]
pub struct SentCampaign {
    /// Identifier.
    pub id: CampaignId,
    /// Its name.
    pub name: String,
    /// Its subject.
    pub subject: String,
}

/// The campaigns that began to be sent from a time on and before another and are done, at most 1,000, the newest first.
pub async fn sent(
    rx: &Rx<'_>,
    project: ProjectNumber,
    (from, until): (Timestamp, Timestamp),
) -> Result<Vec<SentCampaign>> {
    rx.all(
        "select id, name, subject from campaigns where project_id = $1 and sent_at is not null and sent_at >= $2 \
         and sent_at < $3 and status = $4 order by sent_at desc, id desc limit $5",
        args![project, from, until, CampaignStatus::Sent.as_str(), MOST],
        |r| Ok(SentCampaign { id: r.get(0)?, name: r.get(1)?, subject: r.get(2)? }),
    )
    .await
}

/// How many campaigns that were created from a time on and before another have each status today.
pub async fn by_status(
    rx: &Rx<'_>,
    project: ProjectNumber,
    (from, until): (Timestamp, Timestamp),
) -> Result<Vec<(CampaignStatus, i64)>> {
    rx.all(
        "select status, count(*) from campaigns where project_id = $1 and created_at >= $2 and created_at < $3 \
         group by status",
        args![project, from, until],
        |r| Ok((r.named(0, "campaigns.status", CampaignStatus::from_name)?, r.get(1)?)),
    )
    .await
}
