//! Campaigns that may need a person.

use mailwright_core::ids::{CampaignId, ProjectNumber};
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::Rx;

/// A campaign that is paused.
#[derive(Debug, Clone)]
pub struct Paused {
    /// Identifier.
    pub id: CampaignId,
    /// Its name.
    pub name: String,
    /// Since when.
    pub at: Timestamp,
    /// Why, where the service paused it.
    pub note: Option<String>,
}

/// The campaigns that are paused while they are being sent, the newest first, at most `limit`.
pub async fn paused(rx: &Rx<'_>, project: ProjectNumber, limit: i64) -> Result<Vec<Paused>> {
    rx.all(
        "select id, name, paused_at, note from campaigns where project_id = $1 and next_at is not null \
         and status = 'SENDING' and paused_at is not null order by id desc limit $2",
        args![project, limit],
        |r| Ok(Paused { id: r.get(0)?, name: r.get(1)?, at: r.get(2)?, note: r.get(3)? }),
    )
    .await
}

/// The latest campaigns whose sending began since a time, by id and name, at most `limit`.
pub async fn sent_since(
    rx: &Rx<'_>,
    project: ProjectNumber,
    since: Timestamp,
    limit: i64,
) -> Result<Vec<(CampaignId, String)>> {
    rx.all(
        "select id, name from campaigns where project_id = $1 and sent_at is not null and sent_at >= $2 \
         order by sent_at desc, id desc limit $3",
        args![project, since, limit],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )
    .await
}
