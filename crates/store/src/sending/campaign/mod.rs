//! Campaigns: their records (here), their audience (`audience`), how they are carried out (`run`), the mails that wait
//! to be handed over (`queue`), and the ledger of what happened to each mail (`ledger`).
//!
//! A contact that leaves an address while a campaign is under way leaves a salted hash of it with its mail (`former`).
//! By that hash the campaign knows that it has written to the address. The end of the campaign removes the hashes.

pub mod audience;
pub mod ledger;
pub mod queue;
pub mod review;
pub mod run;
pub mod trouble;

use mailwright_core::address::EmailAddress;
use mailwright_core::campaign::{Audience, AudienceType, Campaign, CampaignStatus};
use mailwright_core::ids::{CampaignId, ContactId, ProjectNumber, SegmentId};
use mailwright_core::template::TemplateType;
use mailwright_core::time::Timestamp;
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

use super::source::Owner;
use super::version;
use crate::args;
use crate::database::error::{Error, Result};
use crate::database::tx::{Row, Rx, Tx};
use crate::database::value::Arg;
use crate::insight::counter::{self, Counter};

const COLUMNS: &str = "id, name, description, subject, body, from_address, from_name, reply_to, type, status, \
     audience_type, segment_id, {json_out condition}, scheduled_for, recipients, sent_at, paused_at, frozen_at, \
     finished_at, note, created_at, updated_at, tracking, topic_id";

fn read(row: &Row<'_>) -> Result<Campaign> {
    Ok(Campaign {
        id: row.get(0)?,
        name: row.get(1)?,
        description: row.get(2)?,
        subject: row.get(3)?,
        body: row.get(4)?,
        from: row.get(5)?,
        from_name: row.get(6)?,
        reply_to: row.get(7)?,
        kind: row.named(8, "campaigns.type", TemplateType::from_name)?,
        status: row.named(9, "campaigns.status", CampaignStatus::from_name)?,
        audience: read_audience(row, 10)?,
        scheduled_for: row.get(13)?,
        recipients: row.get(14)?,
        sent_at: row.get(15)?,
        paused_at: row.get(16)?,
        frozen_at: row.get(17)?,
        finished_at: row.get(18)?,
        note: row.get(19)?,
        created_at: row.get(20)?,
        updated_at: row.get(21)?,
        tracking: row.get(22)?,
        topic: row.get(23)?,
    })
}

/// Reads `audience_type`, `segment_id` and `condition`, which stand side by side from `column` on.
fn read_audience(row: &Row<'_>, column: usize) -> Result<Audience> {
    let missing = |what: &str| Error::Corrupt {
        column,
        expected: "an audience",
        detail: format!("campaigns.{what} is null"),
    };
    Ok(match row.named(column, "campaigns.audience_type", AudienceType::from_name)? {
        AudienceType::All => Audience::All,
        AudienceType::Segment => {
            let id: Option<SegmentId> = row.get(column + 1)?;
            Audience::Segment(id.ok_or_else(|| missing("segment_id"))?)
        }
        AudienceType::Filtered => {
            let tree: Option<Json> = row.get(column + 2)?;
            Audience::Filtered(tree.ok_or_else(|| missing("condition"))?)
        }
    })
}

/// The text that a search looks at, lower-cased in Rust, since the engines lower-case differently.
fn search_text(campaign: &Campaign) -> String {
    format!("{}\n{}\n{}", campaign.name, campaign.subject, campaign.from).to_lowercase()
}

/// When the campaign has to be looked at next; `None` when nothing is left to do for it.
fn next_at(campaign: &Campaign) -> Option<Timestamp> {
    match campaign.status {
        CampaignStatus::Draft | CampaignStatus::Sent => None,
        CampaignStatus::Scheduled => campaign.scheduled_for,
        CampaignStatus::Sending | CampaignStatus::Cancelled => {
            campaign.finished_at.is_none().then_some(campaign.updated_at)
        }
    }
}

/// One campaign.
pub async fn get(rx: &mut Rx<'_>, project: ProjectNumber, id: CampaignId) -> Result<Option<Campaign>> {
    rx.optional(
        format!("select {COLUMNS} from campaigns where project_id = $1 and id = $2"),
        args![project, id],
        read,
    )
    .await
}

/// One campaign, which nobody else changes before the transaction ends.
pub async fn get_for_update(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    id: CampaignId,
) -> Result<Option<Campaign>> {
    tx.optional(
        format!("select {COLUMNS} from campaigns where project_id = $1 and id = $2 {{for_update}}"),
        args![project, id],
        read,
    )
    .await
}

/// Stores a new campaign, which has not started.
pub async fn create(tx: &mut Tx<'_>, project: ProjectNumber, campaign: &Campaign) -> Result<()> {
    tx.execute_one(
        "insert into campaigns (project_id, id, name, description, subject, body, from_address, from_name, reply_to, type, \
         audience_type, segment_id, condition, recipients, search, status, created_at, updated_at, \
         tracking, topic_id, lease_until, lease_holder) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, {json $13}, $14, $15, $16, $17, $18, $19, $20, 0, 0)",
        args![
            project,
            campaign.id,
            &campaign.name,
            campaign.description.as_deref(),
            &campaign.subject,
            &campaign.body,
            &campaign.from,
            campaign.from_name.as_deref(),
            campaign.reply_to.as_ref().map(EmailAddress::as_str),
            campaign.kind.as_str(),
            campaign.audience.kind().as_str(),
            campaign.audience.segment(),
            campaign.audience.condition(),
            campaign.recipients,
            search_text(campaign),
            campaign.status.as_str(),
            campaign.created_at,
            campaign.updated_at,
            campaign.tracking,
            campaign.topic,
        ],
    )
    .await
}

/// Stores the content and the audience of a campaign.
pub async fn update(tx: &mut Tx<'_>, project: ProjectNumber, campaign: &Campaign) -> Result<()> {
    tx.execute_one(
        "update campaigns set name = $3, description = $4, subject = $5, body = $6, from_address = $7, from_name = $8, \
         reply_to = $9, type = $10, audience_type = $11, segment_id = $12, condition = {json $13}, recipients = $14, \
         search = $15, updated_at = $16, tracking = $17, topic_id = $18 where project_id = $1 and id = $2",
        args![
            project,
            campaign.id,
            &campaign.name,
            campaign.description.as_deref(),
            &campaign.subject,
            &campaign.body,
            &campaign.from,
            campaign.from_name.as_deref(),
            campaign.reply_to.as_ref().map(EmailAddress::as_str),
            campaign.kind.as_str(),
            campaign.audience.kind().as_str(),
            campaign.audience.segment(),
            campaign.audience.condition(),
            campaign.recipients,
            search_text(campaign),
            campaign.updated_at,
            campaign.tracking,
            campaign.topic,
        ],
    )
    .await
}

/// Stores the state of a campaign. If the campaign can be sent again, a requested retry is removed.
pub async fn save_state(tx: &mut Tx<'_>, project: ProjectNumber, campaign: &Campaign) -> Result<()> {
    tx.execute_one(
        "update campaigns set status = $3, scheduled_for = $4, recipients = $5, sent_at = $6, paused_at = $7, \
         finished_at = $8, note = $9, next_at = $10, updated_at = $11, \
         retry = case when $3 = 'SENDING' then retry else null end where project_id = $1 and id = $2",
        args![
            project,
            campaign.id,
            campaign.status.as_str(),
            campaign.scheduled_for,
            campaign.recipients,
            campaign.sent_at,
            campaign.paused_at,
            campaign.finished_at,
            campaign.note.as_deref(),
            next_at(campaign),
            campaign.updated_at,
        ],
    )
    .await
}

/// Removes a campaign with its stats and versions. Its mails stay.
pub async fn delete(tx: &mut Tx<'_>, project: ProjectNumber, id: CampaignId) -> Result<()> {
    tx.execute_one("delete from campaigns where project_id = $1 and id = $2", args![project, id]).await?;
    version::delete_all(tx, project, Owner::Campaign(id)).await?;
    counter::forget_all(tx, project, Counter::Link, &ledger::key::beginning(id)).await?;
    counter::forget_all(tx, project, Counter::Campaign, &ledger::key::beginning(id)).await
}

/// Whether a campaign that was not sent yet, or is being sent, sends from a domain.
pub async fn uses_domain(rx: &mut Rx<'_>, project: ProjectNumber, domain: &str) -> Result<bool> {
    let found = rx
        .all(
            "select from_address from campaigns where project_id = $1 and status in ('DRAFT', 'SCHEDULED', 'SENDING')",
            args![project],
            |r| r.get::<EmailAddress>(0),
        )
        .await?;
    Ok(found.iter().any(|from| from.domain().eq_ignore_ascii_case(domain)))
}

/// The campaigns that are not over, with their audiences by segment or filter: what depends on segments, fields and
/// events.
pub async fn audiences(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
) -> Result<Vec<(CampaignId, String, Audience)>> {
    rx.all(
        "select id, name, audience_type, segment_id, {json_out condition} from campaigns where project_id = $1 \
         and status in ('DRAFT', 'SCHEDULED', 'SENDING') and audience_type <> 'ALL' order by id",
        args![project],
        |r| Ok((r.get(0)?, r.get(1)?, read_audience(r, 2)?)),
    )
    .await
}

/// A salted hash of an address: with it a campaign knows an address again whose contact has left it.
fn former(campaign: CampaignId, email: &EmailAddress) -> Vec<u8> {
    let mut hasher = Sha256::new();
    hasher.update(campaign.as_uuid().as_bytes());
    hasher.update(email.as_str());
    hasher.finalize().to_vec()
}

/// Notes, when a contact leaves an address, which of the campaigns under way have written to it there.
pub(crate) async fn leave_address(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    contact: ContactId,
    old: &EmailAddress,
) -> Result<()> {
    for campaign in under_way(tx, project).await? {
        tx.execute(
            "update emails set former = $4 where project_id = $1 and campaign_id = $2 and contact_id = $3 \
             and claim > 0 and recipient_state <> 'SKIPPED'",
            args![project, campaign, contact, former(campaign, old)],
        )
        .await?;
    }
    Ok(())
}

/// The campaigns that are being sent, and not paused, from a domain.
pub async fn sending_from(rx: &mut Rx<'_>, project: ProjectNumber, domain: &str) -> Result<Vec<CampaignId>> {
    let found = rx
        .all(
            "select id, from_address from campaigns where project_id = $1 and status = 'SENDING' and paused_at is null \
             order by id",
            args![project],
            |r| Ok((r.get::<CampaignId>(0)?, r.get::<EmailAddress>(1)?)),
        )
        .await?;
    let is_from = |from: &EmailAddress| from.domain().eq_ignore_ascii_case(domain);
    Ok(found.into_iter().filter(|(_, from)| is_from(from)).map(|(id, _)| id).collect())
}

/// Has the campaigns of a project looked at within `latest` that are under way: a clock that was ahead may have put
/// that off.
pub async fn bring_forward(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    now: Timestamp,
    latest: Timestamp,
) -> Result<()> {
    tx.execute(
        "update campaigns set next_at = case when next_at > $3 then $2 else next_at end, \
         lease_until = case when lease_until > $3 then $2 else lease_until end \
         where project_id = $1 and next_at is not null and status in ('SENDING', 'CANCELLED') \
         and (next_at > $3 or lease_until > $3)",
        args![project, now, latest],
    )
    .await?;
    Ok(())
}

/// The campaigns that are being sent.
pub async fn under_way(rx: &mut Rx<'_>, project: ProjectNumber) -> Result<Vec<CampaignId>> {
    rx.all(
        "select id from campaigns where project_id = $1 and next_at is not null and status = 'SENDING'",
        args![project],
        |r| r.get(0),
    )
    .await
}

/// Keeps campaigns from freezing contacts before the transaction ends, so that one that is removed meanwhile cannot
/// come into a ledger behind its back.
pub(crate) async fn hold_freezing(tx: &mut Tx<'_>, project: ProjectNumber) -> Result<()> {
    tx.all(
        "select id from campaigns where project_id = $1 and next_at is not null and status = 'SENDING' \
         and frozen_at is null order by id {for_share}",
        args![project],
        |r| r.get::<CampaignId>(0),
    )
    .await
    .map(drop)
}

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// By name.
    Name,
    /// By creation.
    CreatedAt,
    /// By last change.
    UpdatedAt,
}

/// A page of a list.
#[derive(Debug, Clone)]
pub struct List {
    /// Rows to skip.
    pub offset: i64,
    /// Most rows.
    pub limit: i64,
    /// Only campaigns with this status.
    pub status: Option<CampaignStatus>,
    /// Substring of name, subject or sender address, lower-cased, taken literally.
    pub search: Option<String>,
    /// Order.
    pub sort: Sort,
    /// Whether the order is reversed.
    pub descending: bool,
}

/// Reads a page of campaigns and how many there are in all.
pub async fn list(rx: &mut Rx<'_>, project: ProjectNumber, list: &List) -> Result<(Vec<Campaign>, i64)> {
    let mut args: Vec<Arg<'_>> = vec![project.into()];
    let mut filter = String::new();
    if let Some(status) = list.status {
        args.push(status.as_str().into());
        filter += &format!(" and status = ${}", args.len());
    }
    if let Some(search) = &list.search {
        args.push(search.into());
        filter += &format!(" and {{contains search ${}}}", args.len());
    }
    let total = rx
        .one(format!("select count(*) from campaigns where project_id = $1{filter}"), &args, |r| r.get(0))
        .await?;
    let column = match list.sort {
        Sort::Name => "name",
        Sort::CreatedAt => "created_at",
        Sort::UpdatedAt => "updated_at",
    };
    let direction = if list.descending { "desc" } else { "asc" };
    args.extend([list.limit.into(), list.offset.into()]);
    let (limit, offset) = (args.len() - 1, args.len());
    let page = rx
        .all(
            format!(
                "select {COLUMNS} from campaigns where project_id = $1{filter} \
                 order by {column} {direction}, id {direction} limit ${limit} offset ${offset}"
            ),
            &args,
            read,
        )
        .await?;
    Ok((page, total))
}

/// When sending of the latest campaign began; `None` when none was sent.
pub async fn last_sent(rx: &mut Rx<'_>, project: ProjectNumber) -> Result<Option<Timestamp>> {
    rx.optional(
        "select sent_at from campaigns where project_id = $1 and sent_at is not null order by sent_at desc limit 1",
        args![project],
        |r| r.get(0),
    )
    .await
}
