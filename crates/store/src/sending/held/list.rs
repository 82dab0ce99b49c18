//! The list of held mails.

use mailwright_core::email::EmailSource;
use mailwright_core::ids::{CampaignId, EmailId, ProjectNumber, WorkflowId};
use mailwright_core::time::Timestamp;

use super::decide::Which;
use crate::args;
use crate::database::error::Result;
use crate::database::tx::Rx;
use crate::database::value::Arg;

/// A mail that is held.
#[derive(Debug, Clone)]
pub struct HeldEmail {
    /// Identifier.
    pub id: EmailId,
    /// Address it goes to; `None` once the contact was removed.
    pub recipient: Option<String>,
    /// Subject.
    pub subject: String,
    /// The origin of the mail.
    pub source: EmailSource,
    /// Campaign it came from.
    pub campaign: Option<CampaignId>,
    /// Workflow it came from.
    pub workflow: Option<WorkflowId>,
    /// When it was accepted.
    pub created_at: Timestamp,
}

/// Up to `limit` held mails of a project, or of one of its campaigns, in the order of their ids, after one of them.
pub async fn page(
    rx: &Rx<'_>,
    project: ProjectNumber,
    campaign: Option<CampaignId>,
    after: Option<EmailId>,
    limit: usize,
) -> Result<Vec<HeldEmail>> {
    let mut args: Vec<Arg<'_>> = vec![project.into(), limit.into()];
    let mut which = String::new();
    if let Some(campaign) = campaign {
        args.push(campaign.into());
        which += &format!(" and h.campaign_id = ${}", args.len());
    }
    if let Some(after) = after {
        args.push(after.into());
        which += &format!(" and h.email_id > ${}", args.len());
    }
    rx.all(
        format!(
            "select e.id, e.recipient, e.subject, e.source, e.campaign_id, e.workflow_id, e.created_at \
             from held_emails h join emails e on e.project_id = $1 and e.id = h.email_id \
             where h.project_id = $1 and e.status = 'IN_DOUBT'{which} order by h.email_id limit $2"
        ),
        &args,
        |r| {
            Ok(HeldEmail {
                id: r.get(0)?,
                recipient: Some(r.get::<String>(1)?).filter(|address| !address.is_empty()),
                subject: r.get(2)?,
                source: r.named(3, "emails.source", EmailSource::from_name)?,
                campaign: r.get(4)?,
                workflow: r.get(5)?,
                created_at: r.get(6)?,
            })
        },
    )
    .await
}

/// How many of some mails of a project are held.
pub async fn count(rx: &Rx<'_>, project: ProjectNumber, which: &Which) -> Result<i64> {
    let mut args: Vec<Arg<'_>> = vec![project.into()];
    let (which, argument) = which.condition(2);
    args.extend(argument);
    let sql = format!("select count(*) from held_emails where project_id = $1{which}");
    rx.one(sql, &args, |r| r.get(0)).await
}

/// Most held mails that [`counts`] looks at.
const GROUPED: i64 = 10_000;

/// The held mails of a project in numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// By what they came from.
    pub sources: Vec<(EmailSource, i64)>,
    /// By campaign, those with most mails first.
    pub campaigns: Vec<(CampaignId, i64)>,
    /// Whether there are more than were looked at.
    pub is_cut: bool,
}

/// The held mails of a project in numbers, by what they came from and by campaign: the first 10,000 of them.
pub async fn counts(rx: &Rx<'_>, project: ProjectNumber) -> Result<Counts> {
    let found = rx
        .all(
            "select e.source, h.campaign_id, count(*) from \
             (select email_id, campaign_id from held_emails where project_id = $1 order by email_id limit $2) h \
             join emails e on e.project_id = $1 and e.id = h.email_id group by e.source, h.campaign_id",
            args![project, GROUPED],
            |r| Ok((r.named(0, "emails.source", EmailSource::from_name)?, r.get(1)?, r.get::<i64>(2)?)),
        )
        .await?;
    let mut counts = Counts::default();
    for (source, campaign, count) in found {
        add(&mut counts.sources, source, count);
        if let Some(campaign) = campaign {
            add(&mut counts.campaigns, campaign, count);
        }
    }
    counts.campaigns.sort_by_key(|(id, count)| (std::cmp::Reverse(*count), *id));
    counts.is_cut = count_up_to(rx, project, GROUPED + 1).await? > GROUPED;
    Ok(counts)
}

fn add<K: PartialEq>(sums: &mut Vec<(K, i64)>, key: K, count: i64) {
    match sums.iter_mut().find(|(known, _)| *known == key) {
        Some((_, sum)) => *sum += count,
        None => sums.push((key, count)),
    }
}

/// How many mails of a project are held, counted up to `most`.
pub async fn count_up_to(rx: &Rx<'_>, project: ProjectNumber, most: i64) -> Result<i64> {
    rx.one(
        "select count(*) from (select 1 from held_emails where project_id = $1 limit $2) as held",
        args![project, most],
        |r| r.get(0),
    )
    .await
}

/// Most held mails that [`count_everywhere`] counts.
const COUNTED: i64 = 100_000;

/// How many mails of all projects are held, counted up to 100,000.
pub async fn count_everywhere(rx: &Rx<'_>) -> Result<i64> {
    rx.one(
        "select count(*) from (select 1 from held_emails where project_id > 0 limit $1) as held",
        args![COUNTED],
        |r| r.get(0),
    )
    .await
}
