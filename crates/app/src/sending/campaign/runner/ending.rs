//! Ending campaigns, and cancelling them.
//!
//! A campaign that only waits for its mails is put off for ten seconds. When a worker settled one of its mails, its
//! ledger is read at once, together with those of other such campaigns.
//!
//! A campaign ends when it is frozen, nothing waits, and audience = accepted + skipped + failed + in doubt. The
//! equation is stored; an outcome that comes later changes the ledger and not the equation. A ledger that does not add
//! up is an error in the log, and the campaign does not end.

use std::collections::BTreeMap;
use std::time::Duration;

use mailwright_core::campaign::{Campaign, CampaignStatus};
use mailwright_core::email::RecipientState;
use mailwright_core::ids::{CampaignId, ProjectNumber};
use mailwright_core::time::Timestamp;
use mailwright_store::body;
use mailwright_store::sending::campaign as store;
use mailwright_store::sending::campaign::ledger::{self};
use mailwright_store::sending::campaign::run::{self, Run};
use mailwright_store::{Error as StoreError, Tx};

use super::backoff::PUT_OFF;
use super::{CHUNK, Campaigns, Ending};
use crate::error::Result;

/// When a campaign is looked at again that only waits for its mails. The process that settles the last of them looks at
/// once; this is for what no process tells, such as the removal of a contact, or one that died before it could.
const WAITING: Duration = Duration::from_secs(10);

impl Campaigns {
    /// Reads the ledgers of campaigns of a project that end when no mail waits. Returns those that do, and how many
    /// were put off.
    pub(super) async fn look(
        &self,
        project: ProjectNumber,
        campaigns: &BTreeMap<CampaignId, Ending>,
    ) -> Result<(Vec<CampaignId>, usize)> {
        if campaigns.is_empty() {
            return Ok((Vec::new(), 0));
        }
        let ids: Vec<_> = campaigns.keys().copied().collect();
        let told: Vec<_> = campaigns.iter().filter(|(_, e)| e.is_none()).map(|(id, _)| *id).collect();
        let (ledgers, told) = self
            .app
            .read(body!(async |rx| {
                let told = run::ending(rx, project, &told).await?;
                Ok((ledger::read(rx, project, &ids).await?, told))
            }))
            .await?;
        let waits = |id| ledgers.get(id).is_some_and(|ledger| ledger.count(RecipientState::Waiting) > 0);
        let (waiting, over): (Vec<_>, Vec<_>) = campaigns.iter().partition(|(id, _)| waits(id));
        let over = over.into_iter().filter(|(id, ending)| ending.is_some() || told.contains(id));
        let over = over.map(|(id, _)| *id).collect();
        let waiting: Vec<_> = waiting
            .into_iter()
            .filter_map(|(id, ending)| ending.map(|(status, seen)| (*id, status, seen)))
            .collect();
        let put_off = waiting.len();
        if put_off > 0 {
            let until = self.app.clock().now().plus(WAITING);
            let ids: Vec<_> = waiting.iter().map(|(id, ..)| *id).collect();
            let put_off = self
                .app
                .0
                .db
                .write_in_background(body!(async |tx| run::wait(tx, project, &waiting, until).await));
            match put_off.await {
                // those that are over do not wait for it
                Err(StoreError::Contention(_)) => {
                    for id in ids {
                        self.rest(id);
                    }
                    return Ok((over, 0));
                }
                put_off => put_off?,
            }
        }
        Ok((over, put_off))
    }

    /// Skips the next mails of a cancelled campaign. When none waits any more, it is over; those on the wire are waited
    /// for.
    pub(super) async fn cancel(&self, run: Run) -> Result<bool> {
        let (number, id, lease) = (run.project, run.id, self.lease());
        let skipped = self.app.0.db.write_in_background(body!(async |tx| {
            if !run::lease(tx, number, id, CampaignStatus::Cancelled, lease).await? {
                return Ok(0);
            }
            ledger::cancel(tx, number, id, CHUNK, lease.now).await
        }));
        if skipped.await? == CHUNK {
            return Ok(true);
        }
        let ending = BTreeMap::from([(id, Some((run.status, lease.now)))]);
        let (over, _) = self.look(number, &ending).await?;
        if over.is_empty() { Ok(false) } else { self.finish(number, id).await }
    }

    /// Ends a campaign when the mail of every contact of its audience is settled. Returns whether anything was done.
    pub(super) async fn finish(&self, number: ProjectNumber, id: CampaignId) -> Result<bool> {
        let now = self.app.clock().now();
        let ended = self.app.0.db.write_in_background(body!(async |tx| finish(tx, number, id, now).await));
        match ended.await? {
            End::NotYet => Ok(false),
            End::Goes => Ok(true),
            End::Over => {
                tracing::info!(campaign = %id, "a campaign is over, every mail is accounted for");
                Ok(true)
            }
            End::Wrong => {
                tracing::error!(campaign = %id, "the ledger of a campaign does not add up");
                Ok(false)
            }
        }
    }
}

/// How far the end of a campaign came.
enum End {
    /// There is something to be done before.
    NotYet,
    /// A step of it is done.
    Goes,
    /// The campaign is over.
    Over,
    /// The ledger of the campaign does not add up.
    Wrong,
}

async fn finish(
    tx: &mut Tx<'_>,
    number: ProjectNumber,
    id: CampaignId,
    now: Timestamp,
) -> mailwright_store::Result<End> {
    let there = |campaign: &Campaign| {
        matches!(campaign.status, CampaignStatus::Sending | CampaignStatus::Cancelled)
            && campaign.finished_at.is_none()
    };
    let Some(mut campaign) = store::get_for_update(tx, number, id).await?.filter(there) else {
        return Ok(End::NotYet);
    };
    let open = campaign.status == CampaignStatus::Sending
        && (campaign.frozen_at.is_none() || ledger::is_retrying(tx, number, id).await?);
    let ledger = ledger::read(tx, number, &[id]).await?.remove(&id).unwrap_or_default();
    if open || ledger.count(RecipientState::Waiting) > 0 {
        return Ok(End::NotYet);
    }
    if !ledger.is_balanced() {
        run::put_off(tx, number, id, now.plus(PUT_OFF)).await?;
        return Ok(End::Wrong);
    }
    if run::forget_former(tx, number, id).await? {
        return Ok(End::Goes);
    }
    if campaign.status == CampaignStatus::Sending {
        campaign.status = CampaignStatus::Sent;
    }
    campaign.paused_at = None;
    campaign.finished_at = Some(now);
    campaign.updated_at = now;
    run::finish(tx, number, &campaign, &ledger.equation()).await?;
    Ok(End::Over)
}
