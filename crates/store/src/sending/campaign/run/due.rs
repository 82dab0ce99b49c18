//! The campaigns that there is something to do for.

use mailwright_core::address::EmailAddress;
use mailwright_core::campaign::{Audience, CampaignStatus};
use mailwright_core::ids::{CampaignId, ContactId, ProjectNumber, TopicId};
use mailwright_core::template::TemplateType;
use mailwright_core::time::Timestamp;
use serde_json::Value as Json;

use crate::args;
use crate::database::dialect::Sql;
use crate::database::error::{Error, Result};
use crate::database::tx::{Row, Rx, Tx};
use crate::database::value::Arg;
use crate::sending::campaign::ledger::Retry;
use crate::sending::campaign::read_audience;

/// A campaign that there is something to do for.
#[derive(Debug, Clone)]
pub struct Run {
    /// Project.
    pub project: ProjectNumber,
    /// The campaign.
    pub id: CampaignId,
    /// Its status.
    pub status: CampaignStatus,
    /// Kind of mail.
    pub kind: TemplateType,
    /// Subject, with variables.
    pub subject: String,
    /// Sender address.
    pub from: EmailAddress,
    /// Sender display name.
    pub from_name: Option<String>,
    /// Reply address.
    pub reply_to: Option<EmailAddress>,
    /// The audience.
    pub audience: Audience,
    /// When it started: contacts made later are not part of it.
    pub sent_at: Option<Timestamp>,
    /// SHA-256 of the content of its mails.
    pub content_hash: Vec<u8>,
    /// The last contact that was frozen.
    pub frozen_to: Option<ContactId>,
    /// When the whole audience was frozen.
    pub frozen_at: Option<Timestamp>,
    /// A retry that is under way.
    pub retry: Option<Retry>,
    /// Since when there is something to do for it.
    pub next_at: Timestamp,
    /// The topic that its mails belong to.
    pub topic: Option<TopicId>,
    /// Whether a restore holds the mails that it makes: they may have been made, and sent, before.
    pub is_held: bool,
}

/// The projects that have a campaign to be looked at, the longest due first. It goes from one project with a campaign
/// that is not over to the next, so that it does not matter how many projects there are.
pub async fn due_projects(rx: &mut Rx<'_>, now: Timestamp) -> Result<Vec<ProjectNumber>> {
    rx.projects_with_work(
        Sql::Either {
whole: "with recursive under_way(project_id) as (select cast(0 as {int}) union all select \
         (select c.project_id from campaigns c where c.project_id > u.project_id and c.next_at is not null \
         order by c.project_id, c.next_at limit 1) from under_way u where u.project_id is not null) \
         select d.project_id from (select u.project_id, (select c.next_at from campaigns c \
         where c.project_id = u.project_id and c.next_at is not null order by c.next_at limit 1) as next_at \
         from under_way u where u.project_id > 0) d where d.next_at <= $1 order by d.next_at, d.project_id",
divided: "select project_id from campaigns where next_at <= $1 group by project_id order by min(next_at), project_id",
},
        args![now],
    )
    .await
}

/// Most campaigns of a project that are looked at together.
const TOGETHER: i64 = 100;

/// The campaigns of a project that there is something to do for.
#[derive(Debug, Default)]
pub struct Due {
    /// The campaigns that can be read.
    pub runs: Vec<Run>,
    /// The campaigns that cannot be read, and why.
    pub unreadable: Vec<(CampaignId, Error)>,
    /// Whether there may be more.
    pub more: bool,
}

/// The campaigns of a project that are to be looked at by the process `holder`, the longest due first.
pub async fn due(rx: &mut Rx<'_>, project: ProjectNumber, holder: i64, now: Timestamp) -> Result<Due> {
    let rows = rx
        .all(
            "select id, status, type, subject, from_address, from_name, reply_to, audience_type, segment_id, \
             {json_out condition}, sent_at, content_hash, frozen_to, frozen_at, {json_out retry}, project_id, next_at, topic_id, held_from is not null \
             from campaigns where project_id = $1 and next_at <= $2 and (lease_until <= $2 or lease_holder = $3) \
             order by next_at limit $4",
            args![project, now, holder, TOGETHER],
            |r| {
                let id: CampaignId = r.get(0)?;
                Ok(read_run(r).map_err(|error| (id, error)))
            },
        )
        .await?;
    let mut due = Due { more: rows.len() as i64 == TOGETHER, ..Due::default() };
    for row in rows {
        match row {
            Ok(run) => due.runs.push(run),
            Err(unreadable) => due.unreadable.push(unreadable),
        }
    }
    Ok(due)
}

fn read_run(r: &Row<'_>) -> Result<Run> {
    let retry: Option<Json> = r.get(14)?;
    Ok(Run {
        project: r.get(15)?,
        id: r.get(0)?,
        status: r.named(1, "campaigns.status", CampaignStatus::from_name)?,
        kind: r.named(2, "campaigns.type", TemplateType::from_name)?,
        subject: r.get(3)?,
        from: r.get(4)?,
        from_name: r.get(5)?,
        reply_to: r.get(6)?,
        audience: read_audience(r, 7)?,
        sent_at: r.get(10)?,
        content_hash: r.get::<Option<Vec<u8>>>(11)?.unwrap_or_default(),
        frozen_to: r.get(12)?,
        frozen_at: r.get(13)?,
        retry: match retry {
            None => None,
            Some(stored) => Some(Retry::from_json(&stored).ok_or(Error::Corrupt {
                column: 14,
                expected: "a retry",
                detail: "campaigns.retry cannot be read".into(),
            })?),
        },
        next_at: r.get(16)?,
        topic: r.get(17)?,
        is_held: r.get(18)?,
    })
}

/// Puts off looking at a campaign.
pub async fn put_off(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    id: CampaignId,
    until: Timestamp,
) -> Result<()> {
    tx.execute(
        "update campaigns set next_at = $3 where project_id = $1 and id = $2 and next_at is not null",
        args![project, id, until],
    )
    .await?;
    Ok(())
}

/// Puts off looking at campaigns of a project that only wait for their mails. One that something was done with since it
/// was read is left alone.
pub async fn wait(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    waiting: &[(CampaignId, CampaignStatus, Timestamp)],
    until: Timestamp,
) -> Result<()> {
    tx.each(
        "update campaigns set next_at = $5 from {rows r: project_id int, campaign_id id, status text, seen int} \
         where campaigns.project_id = r.project_id and campaigns.id = r.campaign_id and campaigns.next_at = r.seen \
         and campaigns.status = r.status and campaigns.retry is null",
        &[
            Arg::Ints(vec![Some(project.0); waiting.len()]),
            Arg::Ids(waiting.iter().map(|(id, ..)| Some((*id).into())).collect()),
            Arg::Texts(waiting.iter().map(|(_, status, _)| Some(status.as_str().into())).collect()),
            Arg::Ints(waiting.iter().map(|(.., seen)| Some(seen.0)).collect()),
            until.into(),
        ],
    )
    .await?;
    Ok(())
}

/// Which of some campaigns end as soon as none of their mails waits.
pub async fn ending(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    campaigns: &[CampaignId],
) -> Result<Vec<CampaignId>> {
    let set = Arg::Ids(campaigns.iter().map(|id| Some((*id).into())).collect());
    rx.all(
        "select id from campaigns where project_id = $1 and id {in $2} and finished_at is null and retry is null \
         and (status = 'CANCELLED' or (status = 'SENDING' and frozen_at is not null))",
        &[project.into(), set],
        |r| r.get(0),
    )
    .await
}
