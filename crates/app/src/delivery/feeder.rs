//! Claims due mails into the queue, one feeder for each lane: a mail that somebody waits for is not claimed after
//! hundreds of a campaign.

use std::sync::Arc;
use std::time::Duration;

use mailwright_core::email::{EmailStatus, Lane};
use mailwright_core::ids::ProjectNumber;
use mailwright_core::time::Timestamp;
use mailwright_store::campaign::queue;
use mailwright_store::counter::Deltas;
use mailwright_store::email::{self, Claimed};
use mailwright_store::{Tx, project, rate};
use rand::seq::SliceRandom;

use super::{Delivery, outcome, reference};

/// How often a feeder looks for work that nobody hinted at.
const SWEEP: Duration = Duration::from_millis(250);
/// The fewest mails of one project that are claimed together.
const SMALLEST_SHARE: usize = 16;
/// Pause after the database did not answer.
const AFTER_FAILURE: Duration = Duration::from_millis(500);

pub(super) async fn run(delivery: Arc<Delivery>, lane: Lane) {
    let dispatcher = &delivery.app.0.dispatcher;
    let mut sweep_at = Timestamp(0);
    while !delivery.tasks.is_stopping() {
        let now = delivery.now();
        dispatcher.feeder_seen(lane, now);
        let worked = feed(&delivery, lane, now, &mut sweep_at).await;
        let pause = match worked {
            Ok(true) => continue,
            Ok(false) => sweep_at.since(delivery.now()).min(SWEEP),
            Err(error) => {
                tracing::warn!(%error, lane = lane.as_str(), "mails could not be claimed");
                AFTER_FAILURE
            }
        };
        tokio::select! {
            () = dispatcher.wanted(lane), if pause != AFTER_FAILURE => {}
            () = tokio::time::sleep(pause) => {}
            () = delivery.tasks.stopping() => {}
        }
    }
    let left: Vec<_> = dispatcher.drain(lane).iter().map(reference).collect();
    delivery.release(&left, delivery.now()).await;
}

/// One round. Returns whether anything was claimed.
async fn feed(
    delivery: &Delivery,
    lane: Lane,
    now: Timestamp,
    sweep_at: &mut Timestamp,
) -> mailwright_store::Result<bool> {
    if let Some(rest) = delivery.hop.rests() {
        // claimed again when it can be handed over, and looked at again then
        let left: Vec<_> = delivery.app.0.dispatcher.drain(lane).iter().map(reference).collect();
        delivery.release(&left, now).await;
        *sweep_at = now.plus(rest);
        return Ok(false);
    }
    if *sweep_at <= now {
        delivery.app.0.dispatcher.add_due(lane, delivery.app.projects_with_mail(lane, now).await?);
        *sweep_at = now.plus(SWEEP);
    }
    feed_lane(delivery, lane, now).await
}

/// Fills the queue of a lane, every project that has mail due getting its share.
async fn feed_lane(delivery: &Delivery, lane: Lane, now: Timestamp) -> mailwright_store::Result<bool> {
    let dispatcher = &delivery.app.0.dispatcher;
    let capacity = delivery.app.settings().delivery.connections.max(8) * 4;
    let room = capacity.saturating_sub(dispatcher.depth(lane));
    if room < capacity / 2 {
        return Ok(false);
    }
    let projects = dispatcher.take_due(lane);
    let share = (room / projects.len().max(1)).max(SMALLEST_SHARE);
    let mut room = room as i64;
    let mut worked = false;
    for (position, project) in projects.iter().copied().enumerate() {
        if room <= 0 {
            dispatcher.add_due(lane, projects[position..].to_vec());
            break;
        }
        if delivery.hop.keeps_back(project) {
            continue;
        }
        let wanted = share.min(room as usize);
        let claims = match claim(delivery, project, lane, wanted, now).await {
            Ok(claims) => claims,
            Err(error) => {
                dispatcher.add_due(lane, projects[position..].to_vec());
                return Err(error);
            }
        };
        if claims.more {
            dispatcher.add_due(lane, vec![project]);
        }
        room -= claims.mails.len() as i64;
        worked |= claims.more || !claims.mails.is_empty();
        enqueue(delivery, lane, claims.mails).await;
    }
    Ok(worked)
}

/// What was claimed of a project.
#[derive(Default)]
struct Claims {
    mails: Vec<Claimed>,
    /// Whether there may be more to claim at once.
    more: bool,
}

async fn claim(
    delivery: &Delivery,
    project: ProjectNumber,
    lane: Lane,
    wanted: usize,
    now: Timestamp,
) -> mailwright_store::Result<Claims> {
    let instance_rate = delivery.app.settings().delivery.per_second;
    let lease_until = delivery.lease_until();
    let wanted = wanted as i64;
    delivery
        .app
        .0
        .db
        .write(move |tx| {
            Box::pin(async move {
                let Some(per_second) = per_second(tx, project, instance_rate).await? else {
                    return Ok(Claims::default());
                };
                if lane == Lane::Campaign {
                    return claim_campaigns(tx, project, per_second, wanted, now, lease_until).await;
                }
                let mut allowed = wanted;
                if per_second > 0 {
                    let due = email::due(tx, project, lane, now, wanted).await?;
                    allowed = throttle(tx, project, lane, [per_second, due], now).await?;
                }
                let mails = email::claim(tx, project, lane, allowed, now, lease_until).await?;
                Ok(Claims { more: mails.len() as i64 == wanted, mails })
            })
        })
        .await
}

/// Claims mails of a project's campaigns, each having its share, and looks at their contacts again. Which campaign comes
/// first is left to chance, so that none is always last. Mails left half handed over come before all others: they are
/// not sent, but settled.
async fn claim_campaigns(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    per_second: i64,
    wanted: i64,
    now: Timestamp,
    lease_until: Timestamp,
) -> mailwright_store::Result<Claims> {
    let mut mails = queue::claim_abandoned(tx, project, wanted, now, lease_until).await?;
    let mut campaigns = queue::active(tx, project, now).await?;
    campaigns.shuffle(&mut rand::rng());
    let mut allowed = wanted;
    if per_second > 0 {
        let due = queue::due(tx, project, &campaigns, now, wanted).await?;
        allowed = throttle(tx, project, Lane::Campaign, [per_second, due], now).await?;
    }
    let share = (allowed / campaigns.len().max(1) as i64).max(1);
    let mut more = mails.len() as i64 == wanted;
    for campaign in campaigns {
        let limit = share.min(allowed);
        if limit == 0 {
            break;
        }
        let claimed = queue::claim(tx, project, campaign, limit, now, lease_until).await?;
        more |= claimed.len() as i64 == limit;
        allowed -= claimed.len() as i64;
        mails.extend(claimed);
    }
    let mut deltas = Deltas::default();
    let mails = queue::recheck(tx, project, mails, &mut deltas, now).await?;
    deltas.save(tx).await?;
    Ok(Claims { mails, more })
}

/// Mails a second that a project may send, 0 for any number; `None` when it is disabled.
async fn per_second(
    tx: &mut Tx<'_>,
    number: ProjectNumber,
    instance_rate: i64,
) -> mailwright_store::Result<Option<i64>> {
    let sending = project::sending(tx, number).await?.filter(|sending| !sending.project.disabled);
    Ok(sending.map(|sending| match sending.per_second {
        // a project slows itself down; faster than the operator wants it does not become
        Some(own) if instance_rate > 0 => own.min(instance_rate),
        own => own.unwrap_or(instance_rate),
    }))
}

/// How many of the mails that are due in a lane a project may send now. What it has due in more urgent lanes has the
/// first claim on its rate.
async fn throttle(
    tx: &mut Tx<'_>,
    number: ProjectNumber,
    lane: Lane,
    [per_second, due]: [i64; 2],
    now: Timestamp,
) -> mailwright_store::Result<i64> {
    let mut reserved = 0;
    for urgent in Lane::ALL.into_iter().take_while(|urgent| *urgent != lane) {
        reserved += email::due(tx, number, urgent, now, per_second - reserved).await?;
    }
    rate::take_sends(tx, number, per_second, [due, reserved], now).await
}

/// Queues claimed mails; those that an earlier process left half handed over are settled first.
async fn enqueue(delivery: &Delivery, lane: Lane, claimed: Vec<Claimed>) {
    let claimed = delivery.hold(claimed);
    let (doubtful, fresh): (Vec<_>, Vec<_>) =
        claimed.into_iter().partition(|mail| mail.status == EmailStatus::Sending);
    delivery.app.0.dispatcher.push(lane, fresh);
    for mail in doubtful {
        let record = outcome::abandoned(&mail, lane, delivery.now());
        delivery.record(record).await;
    }
}
