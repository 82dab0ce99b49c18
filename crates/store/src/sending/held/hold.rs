//! Holding what a lost stretch may have handed over, in steps.

use mailwright_core::email::{EmailStatus, RecipientState};
use mailwright_core::ids::{CampaignId, ContactId, EmailId, ProjectNumber, StepId, WorkflowId};
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::figures::Figure;

use super::note::{WHY, ids, note};
use crate::args;
use crate::automation::figures;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;
use crate::insight::deltas::Deltas;
use crate::sending::campaign::ledger;
use crate::sending::email::count::move_count;

/// Mails and executions of one step.
const TOGETHER: i64 = 500;

/// Mails that wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    /// Those of no campaign.
    NoCampaign,
    /// Those of a campaign.
    Of(CampaignId),
    /// Those of campaigns that were on the wire, whatever became of their campaigns.
    OnTheWire,
}

/// The campaigns of a project whose mails are sent. What waits of a cancelled one is skipped and never sent.
pub async fn campaigns(rx: &Rx<'_>, project: ProjectNumber) -> Result<Vec<CampaignId>> {
    rx.all(
        "select id from campaigns where project_id = $1 and status = 'SENDING' order by id",
        args![project],
        |r| r.get(0),
    )
    .await
}

/// Holds some mails that wait: they are in doubt, and noted. Returns whether there may be more.
pub async fn mails(tx: &mut Tx<'_>, project: ProjectNumber, which: Waiting, now: Timestamp) -> Result<bool> {
    let mut args: Vec<Arg<'_>> = vec![project.into(), TOGETHER.into()];
    let which = match which {
        Waiting::NoCampaign => "campaign_id is null and due_at is not null",
        Waiting::Of(campaign) => {
            args.push(campaign.into());
            "campaign_id = $3 and due_at is not null"
        }
        Waiting::OnTheWire => "status = 'SENDING' and campaign_id is not null",
    };
    let found: Vec<EmailId> = tx
        .all(
            format!("select id from emails where project_id = $1 and {which} limit $2 {{for_update}}"),
            &args,
            |r| r.get(0),
        )
        .await?;
    hold(tx, project, &found, now).await?;
    Ok(found.len() as i64 == TOGETHER)
}

async fn hold(tx: &mut Tx<'_>, project: ProjectNumber, found: &[EmailId], now: Timestamp) -> Result<()> {
    type Held = (EmailId, Option<CampaignId>, Option<WorkflowId>, Option<StepId>);
    let held: Vec<Held> = tx
        .all(
            "update emails set status = 'IN_DOUBT', due_at = null, claim = claim + 1, in_doubt = in_doubt + 1, \
             recipient_state = case when campaign_id is null then recipient_state else 'IN_DOUBT' end, \
             reason = null, error = case when recipient = '' then null else $3 end, updated_at = $4 \
             where project_id = $1 and id {in $2} returning id, campaign_id, workflow_id, step_id",
            &[project.into(), ids(found), WHY.into(), now.into()],
            |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?)),
        )
        .await?;
    let mut deltas = Deltas::default();
    for (_, campaign, workflow, step) in &held {
        move_count(&mut deltas, project, EmailStatus::Pending, EmailStatus::InDoubt);
        if let Some(campaign) = campaign {
            let (from, to) = ((RecipientState::Waiting, None), (RecipientState::InDoubt, None));
            ledger::shift(&mut deltas, project, *campaign, from, to);
        }
        if let Some(step) = workflow.zip(*step) {
            figures::add_mail(deltas.sums(), project, step, Figure::Unsent, 1);
        }
    }
    let noted: Vec<_> = held.iter().map(|(id, campaign, ..)| (*id, *campaign)).collect();
    note(tx, project, &noted).await?;
    deltas.save(tx).await
}

/// Marks the campaigns that were not frozen, or whose time may have come: what they make is held. Retries that were
/// under way end: what they would send may have been sent.
pub async fn mark_campaigns(tx: &Tx<'_>, project: ProjectNumber, now: Timestamp) -> Result<()> {
    tx.execute(
        "update campaigns set held_from = $2 where project_id = $1 and held_from is null \
         and ((status = 'SENDING' and frozen_at is null) or (status = 'SCHEDULED' and scheduled_for <= $2))",
        args![project, now],
    )
    .await?;
    tx.execute(
        "update campaigns set retry = null, lease_until = 0 where project_id = $1 and (retry is not null or lease_until > 0)",
        args![project],
    )
    .await?;
    Ok(())
}

/// Marks the segments that every contact is still to be judged by.
pub async fn mark_segments(tx: &Tx<'_>, project: ProjectNumber, now: Timestamp) -> Result<()> {
    tx.execute(
        "update segments set lost_until = $2 where project_id = $1 and due_at is not null",
        args![project, now],
    )
    .await?;
    Ok(())
}

/// A place among the executions that are not over.
pub type Place = (ContactId, WorkflowId);

/// Marks the next executions that are not over: what they do is held as long as they may have done it before. Returns
/// the last of them; `None` when there are no more.
pub async fn mark_executions(
    tx: &Tx<'_>,
    project: ProjectNumber,
    after: Option<Place>,
    now: Timestamp,
) -> Result<Option<Place>> {
    let (contact, workflow) =
        after.unwrap_or((ContactId::from_bytes([0; 16]), WorkflowId::from_bytes([0; 16])));
    let found: Vec<Place> = tx
        .all(
            "select contact_id, workflow_id from workflow_executions where project_id = $1 and completed_at is null \
             and (contact_id, workflow_id) > ($2, $3) order by contact_id, workflow_id limit $4",
            args![project, contact, workflow, TOGETHER],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )
        .await?;
    tx.each(
        "update workflow_executions set lost_until = $4, behind = 0 \
         from {rows r: project_id int, contact_id id, workflow_id id} \
         where workflow_executions.project_id = r.project_id and workflow_executions.contact_id = r.contact_id \
         and workflow_executions.workflow_id = r.workflow_id and workflow_executions.completed_at is null",
        &[
            Arg::Ints(vec![Some(project.0); found.len()]),
            Arg::Ids(found.iter().map(|(contact, _)| Some((*contact).into())).collect()),
            Arg::Ids(found.iter().map(|(_, workflow)| Some((*workflow).into())).collect()),
            now.into(),
        ],
    )
    .await?;
    Ok(found.last().copied().filter(|_| found.len() as i64 == TOGETHER))
}

/// Lets a campaign send what it makes from now on: somebody has decided to send it.
pub async fn unmark_campaign(tx: &Tx<'_>, project: ProjectNumber, id: CampaignId) -> Result<()> {
    tx.execute("update campaigns set held_from = null where project_id = $1 and id = $2", args![project, id])
        .await?;
    Ok(())
}
