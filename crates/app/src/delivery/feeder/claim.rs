//! A project's turn in a lane: one transaction that claims mails of the project.
//!
//! It takes tokens from the project's rate limit, leaving enough for mail that is due in more urgent lanes, and claims
//! mails. A claim moves `due_at` into the future, which is the lease, and raises `claim`, which fences off the previous
//! holder. A claim waits for the locks of other transactions for 250 ms at most.

use std::collections::HashMap;
use std::time::Duration;

use mailwright_core::email::Lane;
use mailwright_core::ids::{CampaignId, ProjectNumber};
use mailwright_core::time::Timestamp;
use mailwright_store::database::migrate;
use mailwright_store::insight::deltas::Deltas;
use mailwright_store::project::rate_limit;
use mailwright_store::sending::campaign::queue;
use mailwright_store::sending::email::{self, Taken};
use mailwright_store::{Tx, project};

/// How long a project waits after its rate is used up.
const THROTTLED: Duration = Duration::from_millis(250);

/// When a project is claimed for again after its turn.
#[derive(Debug, Default)]
pub(super) enum Rest {
    /// Nothing more is due.
    #[default]
    Done,
    /// There may be more to claim at once.
    More,
    /// It goes on after a pause.
    In(Duration),
    /// A newer program has migrated the database.
    Never,
}

/// The claimed mails of a project.
#[derive(Default)]
pub(super) struct Claims {
    pub(super) taken: Taken,
    pub(super) next: Rest,
    /// The campaign that had the last turn.
    pub(super) last: Option<CampaignId>,
    /// Campaigns with mails that were skipped instead of claimed.
    pub(super) skipped: Vec<CampaignId>,
}

/// A project's turn in a lane.
#[derive(Clone, Copy)]
pub(super) struct Claim {
    pub(super) project: ProjectNumber,
    pub(super) lane: Lane,
    pub(super) wanted: i64,
    /// Mails a second that each project may send, 0 for any number.
    pub(super) instance_rate: i64,
    /// The campaign that had the last turn.
    pub(super) after: Option<CampaignId>,
    pub(super) now: Timestamp,
    pub(super) lease_until: Timestamp,
}

impl Claim {
    pub(super) async fn run(self, tx: &mut Tx<'_>) -> mailwright_store::Result<Claims> {
        // in the transaction that claims: what a newer program wrote must not be taken for something that cannot be
        // read
        if migrate::is_superseded(tx).await? {
            return Ok(Claims { next: Rest::Never, ..Claims::default() });
        }
        // disabled or gone: the sweep finds it once it may send again
        let Some(per_second) = self.per_second(tx).await? else { return Ok(Claims::default()) };
        if self.lane == Lane::Campaign {
            return self.campaigns(tx, per_second).await;
        }
        let mut allowed = self.wanted;
        let mut due = self.wanted;
        if per_second > 0 {
            due = email::due(tx, self.project, self.lane, self.now, self.wanted).await?;
            allowed = self.throttle(tx, [per_second, due]).await?;
        }
        let mut taken =
            email::claim(tx, self.project, self.lane, allowed, self.now, self.lease_until).await?;
        let next = self.next(taken.len() as i64, [allowed, due]);
        if !taken.mails.is_empty() {
            let mut deltas = Deltas::default();
            taken.mails = email::recheck(tx, self.project, taken.mails, &mut deltas, self.now).await?;
            deltas.save(tx).await?;
        }
        Ok(Claims { taken, next, ..Claims::default() })
    }

    /// When the project is claimed for again, given the numbers of mails that were taken, allowed and due.
    fn next(&self, taken: i64, [allowed, due]: [i64; 2]) -> Rest {
        if allowed < due {
            Rest::In(THROTTLED)
        } else if taken == self.wanted {
            Rest::More
        } else {
            Rest::Done
        }
    }

    /// Claims mails of the project's campaigns, which take turns, and looks at their contacts again. Mails left half
    /// handed over come before all others: they are not sent, but settled.
    async fn campaigns(&self, tx: &mut Tx<'_>, per_second: i64) -> mailwright_store::Result<Claims> {
        let (project, now) = (self.project, self.now);
        // not queued but settled at once, so they take no room from the others
        let mut taken = queue::claim_abandoned(tx, project, self.wanted, now, self.lease_until).await?;
        let mut more = taken.len() as i64 == self.wanted;
        let mut campaigns = queue::active(tx, project, now).await?;
        // in the order of their ids, from behind the one that was last
        campaigns.sort_unstable();
        let first = self.after.map_or(0, |after| campaigns.partition_point(|campaign| *campaign <= after));
        campaigns.rotate_left(first);
        let mut allowed = self.wanted;
        let mut due = 0;
        if per_second > 0 {
            due = queue::due(tx, project, &campaigns, now, self.wanted).await?;
            allowed = self.throttle(tx, [per_second, due]).await?;
        }
        let is_throttled = allowed < due;
        let share = (allowed / campaigns.len().max(1) as i64).max(1);
        let mut last = None;
        for campaign in campaigns {
            let limit = share.min(allowed);
            if limit == 0 {
                more |= last.is_some();
                break;
            }
            let claimed = queue::claim(tx, project, campaign, limit, now, self.lease_until).await?;
            more |= claimed.len() as i64 == limit;
            allowed -= claimed.len() as i64;
            last = Some(campaign);
            taken.append(claimed);
        }
        let before = campaigns_of(&taken);
        let mut deltas = Deltas::default();
        taken.mails = queue::recheck(tx, project, taken.mails, &mut deltas, now).await?;
        deltas.save(tx).await?;
        let after = campaigns_of(&taken);
        let skipped = before.into_iter().filter(|(id, count)| after.get(id) != Some(count));
        let skipped = skipped.map(|(id, _)| id).collect();
        let next = match (is_throttled, more) {
            (true, _) => Rest::In(THROTTLED),
            (false, true) => Rest::More,
            (false, false) => Rest::Done,
        };
        Ok(Claims { taken, next, last, skipped })
    }

    /// Mails a second that the project may send, 0 for any number; `None` when it is disabled or gone.
    async fn per_second(&self, tx: &mut Tx<'_>) -> mailwright_store::Result<Option<i64>> {
        let sending = project::sending(tx, self.project).await?.filter(|sending| !sending.project.disabled);
        Ok(sending.map(|sending| match sending.per_second {
            // a project slows itself down; faster than the operator wants it does not become
            Some(own) if self.instance_rate > 0 => own.min(self.instance_rate),
            own => own.unwrap_or(self.instance_rate),
        }))
    }

    /// How many of the mails that are due in the lane the project may send now. What it has due in more urgent lanes
    /// has the first claim on its rate.
    async fn throttle(&self, tx: &mut Tx<'_>, [per_second, due]: [i64; 2]) -> mailwright_store::Result<i64> {
        let mut reserved = 0;
        for urgent in Lane::ALL.into_iter().take_while(|urgent| *urgent != self.lane) {
            reserved += email::due(tx, self.project, urgent, self.now, per_second - reserved).await?;
        }
        rate_limit::take_sends(tx, self.project, per_second, [due, reserved], self.now).await
    }
}

/// How many mails of each campaign there are.
fn campaigns_of(taken: &Taken) -> HashMap<CampaignId, usize> {
    let mut counts = HashMap::new();
    for campaign in taken.mails.iter().filter_map(|mail| mail.campaign) {
        *counts.entry(campaign).or_default() += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use mailwright_store::body;
    use mailwright_store::{Db, Location, StoreMetrics};

    use super::*;

    #[tokio::test]
    async fn a_project_that_may_not_send_has_no_further_turn() {
        let (folder, now) = (tempfile::tempdir().unwrap(), Timestamp(1));
        let db = Db::open(&Location::Sqlite(folder.path().join("gone.db")), StoreMetrics::default()).unwrap();
        migrate::migrate(&db, now).await.unwrap();
        let project = ProjectNumber(7);
        for lane in Lane::ALL {
            let claim =
                Claim { project, lane, wanted: 8, instance_rate: 0, after: None, now, lease_until: now };
            let claims = db.try_write(body!(async |tx| claim.run(tx).await)).await.unwrap();
            assert!(matches!(claims.next, Rest::Done), "{lane:?}: {:?}", claims.next);
        }
    }
}
