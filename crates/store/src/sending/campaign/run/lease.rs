//! The lease of a campaign, and its start.

use mailwright_core::campaign::CampaignStatus;
use mailwright_core::ids::{CampaignId, ProjectNumber};
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};

/// The process that takes the step, and the end of its lease on the campaign.
#[derive(Debug, Clone, Copy)]
pub struct Lease {
    /// The process.
    pub holder: i64,
    /// Now.
    pub now: Timestamp,
    /// The end.
    pub until: Timestamp,
}

/// Takes or extends the lease of a campaign that has a status; false when another process has it, or when the campaign
/// has another status by now. Until the transaction ends nobody else changes the campaign.
pub async fn lease(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    id: CampaignId,
    status: CampaignStatus,
    lease: Lease,
) -> Result<bool> {
    let touched = tx
        .execute(
            "update campaigns set lease_until = $5, lease_holder = $4, next_at = $3 where project_id = $1 and id = $2 \
             and status = $6 and next_at is not null and (lease_until <= $3 or lease_holder = $4)",
            args![project, id, lease.now, lease.holder, lease.until, status.as_str()],
        )
        .await?;
    Ok(touched == 1)
}

/// What the mails of a campaign say; `None` before it was sent.
pub async fn content_hash(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    id: CampaignId,
) -> Result<Option<Vec<u8>>> {
    let sql = "select content_hash from campaigns where project_id = $1 and id = $2";
    let found = rx.optional(sql, args![project, id], |r| r.get::<Option<Vec<u8>>>(0)).await?;
    Ok(found.flatten())
}

/// Notes what the mails of a campaign that starts say. [`crate::sending::campaign::save_state`] does the rest.
pub async fn start(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    id: CampaignId,
    content_hash: &[u8],
) -> Result<()> {
    tx.execute_one(
        "update campaigns set content_hash = $3, frozen_to = null, frozen_at = null where project_id = $1 and id = $2",
        args![project, id, content_hash],
    )
    .await
}
