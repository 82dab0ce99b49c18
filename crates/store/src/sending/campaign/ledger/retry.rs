//! Retries: mails of a campaign that were not sent and are put back into the queue.

use mailwright_core::email::{EmailStatus, Reason, RecipientState};
use mailwright_core::ids::{CampaignId, EmailId, ProjectNumber};
use mailwright_core::rollup::Metric;
use mailwright_core::time::Timestamp;
use serde_json::{Value as Json, json};
use uuid::Uuid;

use super::page::{Page, Place, walk};
use super::sums::{count_bounces, shift};
use crate::args;
use crate::audience::suppression;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;
use crate::insight::deltas::Deltas;
use crate::insight::rollup;
use crate::sending::email::count::move_count;
use crate::sending::held::note as held;

/// A retry that was asked for: which mails, and how far it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    /// The mails in this state.
    pub recipient_state: RecipientState,
    /// Only the mails with this reason.
    pub reason: Option<Reason>,
    /// When it was asked for: a mail that fails again later is not tried once more.
    pub asked_at: Timestamp,
    /// The last mail looked at.
    pub after: Option<Place>,
}

impl Retry {
    /// As it is stored.
    fn to_json(&self) -> Json {
        json!({
            "state": self.recipient_state.as_str(),
            "reason": self.reason.map(Reason::as_str),
            "askedAt": self.asked_at.0,
            "after": self.after.as_ref().map(|place| json!([place.reason, place.id])),
        })
    }

    /// Reads what [`Retry::to_json`] made.
    pub(crate) fn from_json(stored: &Json) -> Option<Self> {
        let after = &stored["after"];
        Some(Self {
            recipient_state: RecipientState::from_name(stored["state"].as_str()?)?,
            reason: stored["reason"].as_str().and_then(Reason::from_name),
            asked_at: Timestamp(stored["askedAt"].as_i64()?),
            after: match after[1].as_str() {
                Some(id) => Some(Place {
                    reason: after[0].as_str().unwrap_or_default().to_owned(),
                    id: id.parse::<EmailId>().ok()?,
                }),
                None => None,
            },
        })
    }
}

/// Notes that a retry is to be carried out, or how far it came; `None` that it is done.
pub async fn save_retry(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    campaign: CampaignId,
    retry: Option<&Retry>,
) -> Result<()> {
    tx.execute_one(
        "update campaigns set retry = {json $3} where project_id = $1 and id = $2",
        args![project, campaign, retry.map(Retry::to_json)],
    )
    .await
}

/// Whether a retry is under way.
pub async fn is_retrying(rx: &mut Rx<'_>, project: ProjectNumber, campaign: CampaignId) -> Result<bool> {
    rx.exists(
        "select 1 from campaigns where project_id = $1 and id = $2 and retry is not null",
        args![project, campaign],
    )
    .await
}

/// Puts up to `limit` mails of a retry back into the queue. Returns the place it came to; `None` when it is through.
pub async fn requeue(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    campaign: CampaignId,
    retry: &Retry,
    limit: usize,
    now: Timestamp,
) -> Result<Option<Place>> {
    let page = Page {
        recipient_state: retry.recipient_state,
        reason: retry.reason,
        after: retry.after.clone(),
        limit,
    };
    let mut args: Vec<Arg<'_>> = vec![project.into(), campaign.into(), limit.into(), retry.asked_at.into()];
    let walk = walk(&page, &mut args);
    let found = tx
        .all(
            format!(
                "select id, status, reason, updated_at <= $4, bounced_at is not null, recipient from emails \
                 where project_id = $1 and campaign_id = $2{walk} limit $3 {{for_update}}"
            ),
            &args,
            |r| {
                Ok((
                    r.get::<EmailId>(0)?,
                    r.named(1, "emails.status", EmailStatus::from_name)?,
                    r.named_or_null(2, "emails.reason", Reason::from_name)?,
                    r.get::<bool>(3)?,
                    (r.get::<bool>(4)?, r.get::<String>(5)?),
                ))
            },
        )
        .await?;
    let mut deltas = Deltas::default();
    let mut ids: Vec<Option<Uuid>> = Vec::new();
    let (mut suppressed, mut in_doubt) = (Vec::new(), Vec::new());
    for (id, status, reason, _, (has_bounced, recipient)) in found.iter().filter(|(.., old, _)| *old) {
        ids.push(Some((*id).into()));
        match status {
            EmailStatus::Suppressed => suppressed.push(*id),
            EmailStatus::InDoubt => in_doubt.push(*id),
            _ => {}
        }
        move_count(&mut deltas, project, *status, EmailStatus::Pending);
        let to = (RecipientState::Waiting, None);
        shift(&mut deltas, project, campaign, (retry.recipient_state, *reason), to);
        count_bounces(&mut deltas, project, campaign, *status, -1);
        let bounced = -i64::from(*has_bounced);
        rollup::count_mail(deltas.sums(), project, Metric::Bounced, (*id, recipient), bounced);
    }
    tx.execute(
        "update emails set status = 'PENDING', recipient_state = 'WAITING', reason = null, error = null, suppression = null, \
         due_at = $3, waited_ms = 0, bounced_at = null, claim = claim + 1, updated_at = $3 where project_id = $1 and id {in $2}",
        &[project.into(), Arg::Ids(ids), now.into()],
    )
    .await?;
    suppression::mail::forget(tx, project, &suppressed).await?;
    // a restore may hold them: this is the decision
    held::forget(tx, project, &in_doubt).await?;
    deltas.save(tx).await?;
    let last = found.last().filter(|_| found.len() == limit);
    Ok(last.map(|(id, _, reason, ..)| Place {
        reason: reason.map_or(String::new(), |r| r.as_str().to_owned()),
        id: *id,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retry_is_read_back_as_it_was_stored() {
        let place = Place { reason: "bounced".into(), id: EmailId::new(Timestamp(5), rand::random()) };
        for (reason, after) in [(None, None), (Some(Reason::Bounced), Some(place))] {
            let retry =
                Retry { recipient_state: RecipientState::Failed, reason, asked_at: Timestamp(7), after };
            assert_eq!(Retry::from_json(&retry.to_json()), Some(retry));
        }
        assert_eq!(Retry::from_json(&json!({})), None);
    }
}
