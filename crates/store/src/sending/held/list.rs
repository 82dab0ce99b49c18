//! The list of held mails.

use mailwright_core::email::EmailSource;
use mailwright_core::ids::{CampaignId, EmailId, ProjectNumber, WorkflowId};
use mailwright_core::time::Timestamp;

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

/// How many mails of a project, or of one of its campaigns, are held.
pub async fn count(rx: &Rx<'_>, project: ProjectNumber, campaign: Option<CampaignId>) -> Result<i64> {
    match campaign {
        None => {
            let sql = "select count(*) from held_emails where project_id = $1";
            rx.one(sql, args![project], |r| r.get(0)).await
        }
        Some(campaign) => {
            let sql = "select count(*) from held_emails where project_id = $1 and campaign_id = $2";
            rx.one(sql, args![project, campaign], |r| r.get(0)).await
        }
    }
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
