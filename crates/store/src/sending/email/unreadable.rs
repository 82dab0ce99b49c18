//! Claimed rows that cannot be read as mails.

use mailwright_core::email::{EmailStatus, Reason, RecipientState};
use mailwright_core::ids::{CampaignId, EmailId, ProjectNumber};
use mailwright_core::time::Timestamp;

use super::count::move_count;
use super::lease::ClaimRef;
use crate::args;
use crate::database::error::{Error, Result};
use crate::database::tx::Tx;
use crate::database::value::Arg;
use crate::delivery::delivery_stats;
use crate::insight::deltas::Deltas;
use crate::sending::campaign::ledger::sums;

/// A claimed row that cannot be read as a mail.
#[derive(Debug, Clone)]
pub struct Unreadable {
    /// Project.
    pub project: ProjectNumber,
    /// The claim; `None` where not even that can be read.
    pub claim: Option<ClaimRef>,
    /// The campaign of the mail.
    pub campaign: Option<CampaignId>,
    /// Whether its content may have been written to the next hop.
    pub is_doubtful: bool,
    /// The column that cannot be read.
    pub column: &'static str,
    /// Why the row cannot be read.
    pub error: Error,
}

impl Unreadable {
    /// The mail's identifier.
    pub fn id(&self) -> Option<EmailId> {
        self.claim.map(|claim| claim.id)
    }
}

/// Ends a claimed mail whose row cannot be read: it failed, or is in doubt if it may have been handed over. If it
/// cannot be tried once more, the values of its variables are removed, as in [`conclude`](fn@super::conclude). Changes
/// nothing when the claim is no longer the newest.
pub async fn settle_unreadable(tx: &mut Tx<'_>, row: &Unreadable, now: Timestamp) -> Result<()> {
    let Some(claim) = row.claim else { return Ok(()) };
    let (status, reason) = if row.is_doubtful {
        (EmailStatus::InDoubt, None)
    } else {
        (EmailStatus::Failed, Some(Reason::Unrenderable))
    };
    let recipient_state = RecipientState::of(status);
    let touched = tx
        .execute(
            "update emails set claim = claim + 1, status = $4, due_at = null, reason = $5, recipient_state = $6, error = $7, \
             in_doubt = in_doubt + $8, updated_at = $9, \
             variables = case when campaign_id is null then {json $10} else variables end \
             where project_id = $1 and id = $2 and claim = $3 and due_at is not null",
            args![
                claim.project,
                claim.id,
                claim.claim,
                status.as_str(),
                reason.map(Reason::as_str),
                row.campaign.map(|_| recipient_state.as_str()),
                format!("The stored mail cannot be read: {}.", row.column),
                i64::from(row.is_doubtful),
                now,
                Arg::Json("{}".into()),
            ],
        )
        .await?;
    if touched == 0 {
        return Ok(());
    }
    let mut deltas = Deltas::default();
    move_count(&mut deltas, claim.project, EmailStatus::Pending, status);
    if let Some(campaign) = row.campaign {
        sums::shift(
            &mut deltas,
            claim.project,
            campaign,
            (RecipientState::Waiting, None),
            (recipient_state, reason),
        );
    }
    delivery_stats::count(&mut deltas, claim.project, status, now);
    deltas.save(tx).await
}
