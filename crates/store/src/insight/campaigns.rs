//! How the campaigns of a time did.

use mailwright_core::campaign::CampaignStatus;
use mailwright_core::ids::{CampaignId, ProjectNumber};
use mailwright_core::time::Timestamp;
use serde_json::Value as Json;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::Rx;
use crate::database::value::Arg;

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

/// The links of the mails of some campaigns, as they are stored.
pub async fn links(
    rx: &Rx<'_>,
    project: ProjectNumber,
    campaigns: &[CampaignId],
) -> Result<Vec<(CampaignId, Json)>> {
    rx.all(
        "select g.id, coalesce({json_out c.links}, {json_out l.links}) from campaigns g \
         left join contents c on c.project_id = g.project_id and c.hash = g.content_hash \
         left join content_links l on l.project_id = g.project_id and l.hash = g.content_hash \
         where g.project_id = $1 and g.id {in $2} and coalesce(c.links, l.links) is not null",
        &[project.into(), Arg::Ids(campaigns.iter().map(|id| Some((*id).into())).collect())],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )
    .await
}
