//! Deciding about held mails, in steps.

use std::collections::BTreeMap;

use mailwright_core::campaign::CampaignStatus;
use mailwright_core::email::{EmailStatus, RecipientState};
use mailwright_core::ids::{CampaignId, EmailId, ProjectNumber, StepId, WorkflowId};
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::figures::Figure;

use super::note::{forget, ids};
use crate::automation::figures;
use crate::database::error::Result;
use crate::database::tx::Tx;
use crate::database::value::Arg;
use crate::insight::deltas::Deltas;
use crate::sending::campaign::{self, ledger};
use crate::sending::email::count::move_count;

/// Mails of one step.
const TOGETHER: i64 = 500;
/// What is said of a mail that was held and is not sent.
const DISCARDED: &str =
    "It may have been sent before a backup was restored. Somebody decided not to send it again.";

/// What becomes of held mails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// They are sent.
    Resend,
    /// They are not sent, and stay in doubt.
    Discard,
}

/// What a step did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Decided {
    /// Mails that wait to be sent now.
    pub resent: usize,
    /// Mails that are not sent.
    pub discarded: usize,
    /// Whether there may be more.
    pub more: bool,
}

/// Which of the held mails of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// All of them.
    All,
    /// Those of a campaign.
    Campaign(CampaignId),
    /// These, as far as they are held.
    These(Vec<EmailId>),
}

impl Which {
    /// A condition on `held_emails` with its argument, which is the `n`th.
    pub(super) fn condition(&self, n: usize) -> (String, Option<Arg<'static>>) {
        match self {
            Self::All => (String::new(), None),
            Self::Campaign(id) => (format!(" and campaign_id = ${n}"), Some((*id).into())),
            Self::These(mails) => (format!(" and email_id {{in ${n}}}"), Some(ids(mails))),
        }
    }
}

/// Decides about the next of some held mails of a project. What belongs to a campaign that was
/// cancelled or removed, or to a contact that was removed, is not sent in any case.
pub async fn decide(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    which: &Which,
    decision: Decision,
    now: Timestamp,
) -> Result<Decided> {
    let mut args: Vec<Arg<'_>> = vec![project.into(), TOGETHER.into()];
    let (which, argument) = which.condition(3);
    args.extend(argument);
    let found: Vec<(EmailId, Option<CampaignId>)> = tx
        .all(
            format!(
                "select email_id, campaign_id from held_emails where project_id = $1{which} order by email_id limit $2"
            ),
            &args,
            |r| Ok((r.get(0)?, r.get(1)?)),
        )
        .await?;
    let mut by_campaign: BTreeMap<Option<CampaignId>, Vec<EmailId>> = BTreeMap::new();
    for (id, campaign) in &found {
        by_campaign.entry(*campaign).or_default().push(*id);
    }
    let (mut resent, mut discarded) = (Vec::new(), Vec::new());
    for (campaign, mails) in by_campaign {
        let goes_on = match campaign {
            Some(id) if decision == Decision::Resend => reopen(tx, project, id, now).await?,
            Some(_) | None => true,
        };
        if goes_on && decision == Decision::Resend { &mut resent } else { &mut discarded }.extend(mails);
    }
    let sent = resend(tx, project, &resent, now).await?;
    discard(tx, project, &discarded, now).await?;
    let all: Vec<EmailId> = found.iter().map(|(id, _)| *id).collect();
    forget(tx, project, &all).await?;
    Ok(Decided { resent: sent, discarded: found.len() - sent, more: found.len() as i64 == TOGETHER })
}

/// Has a campaign that is over go on for mails that are sent again; false if nothing of it is sent any more.
async fn reopen(tx: &mut Tx<'_>, project: ProjectNumber, id: CampaignId, now: Timestamp) -> Result<bool> {
    let Some(mut found) = campaign::get_for_update(tx, project, id).await? else { return Ok(false) };
    match found.status {
        CampaignStatus::Sending => Ok(true),
        CampaignStatus::Sent => {
            found.status = CampaignStatus::Sending;
            found.finished_at = None;
            found.updated_at = now;
            campaign::save_state(tx, project, &found).await?;
            Ok(true)
        }
        CampaignStatus::Draft | CampaignStatus::Scheduled | CampaignStatus::Cancelled => Ok(false),
    }
}

/// What a mail came from.
type Sent = (Option<CampaignId>, Option<WorkflowId>, Option<StepId>);

/// Puts mails back into the queue; how many.
async fn resend(tx: &mut Tx<'_>, project: ProjectNumber, mails: &[EmailId], now: Timestamp) -> Result<usize> {
    if mails.is_empty() {
        return Ok(0);
    }
    let sent: Vec<Sent> = tx
        .all(
            "update emails set status = 'PENDING', due_at = $3, claim = claim + 1, waited_ms = 0, error = null, \
             recipient_state = case when campaign_id is null then recipient_state else 'WAITING' end, updated_at = $3 \
             where project_id = $1 and id {in $2} and status = 'IN_DOUBT' and recipient <> '' \
             returning campaign_id, workflow_id, step_id",
            &[project.into(), ids(mails), now.into()],
            |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)),
        )
        .await?;
    let mut deltas = Deltas::default();
    for (campaign, workflow, step) in &sent {
        move_count(&mut deltas, project, EmailStatus::InDoubt, EmailStatus::Pending);
        if let Some(campaign) = campaign {
            let (from, to) = ((RecipientState::InDoubt, None), (RecipientState::Waiting, None));
            ledger::shift(&mut deltas, project, *campaign, from, to);
        }
        if let Some(step) = workflow.zip(*step) {
            figures::add_mail(deltas.sums(), project, step, Figure::Unsent, -1);
        }
    }
    deltas.save(tx).await?;
    Ok(sent.len())
}

/// Notes that mails are not sent. The values of their variables, which may open an account, are removed; a mail of a
/// campaign can be retried, and keeps them.
async fn discard(tx: &Tx<'_>, project: ProjectNumber, mails: &[EmailId], now: Timestamp) -> Result<()> {
    if mails.is_empty() {
        return Ok(());
    }
    tx.execute(
        "update emails set error = case when recipient = '' then null else $3 end, updated_at = $4, \
         variables = case when campaign_id is null then {json $5} else variables end \
         where project_id = $1 and id {in $2} and status = 'IN_DOUBT'",
        &[project.into(), ids(mails), DISCARDED.into(), now.into(), Arg::Json("{}".into())],
    )
    .await?;
    Ok(())
}
