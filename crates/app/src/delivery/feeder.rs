//! Claims due mails into the queue.

use std::sync::Arc;
use std::time::Duration;

use mailwright_core::email::{EmailStatus, Lane};
use mailwright_core::ids::ProjectNumber;
use mailwright_core::time::Timestamp;
use mailwright_store::email::{self, Claimed};
use mailwright_store::{Tx, project, rate};

use super::{Delivery, outcome, reference};

/// How often the feeder looks for work that nobody hinted at.
const SWEEP: Duration = Duration::from_millis(250);
/// The fewest mails of one project that are claimed together.
const SMALLEST_SHARE: usize = 16;
/// Pause after the database did not answer.
const AFTER_FAILURE: Duration = Duration::from_millis(500);

pub(super) async fn run(delivery: Arc<Delivery>) {
    let dispatcher = &delivery.app.0.dispatcher;
    let mut sweep_at = Timestamp(0);
    while !delivery.tasks.is_stopping() {
        let now = delivery.now();
        dispatcher.feeder_seen(now);
        let worked = feed(&delivery, now, &mut sweep_at).await;
        let pause = match worked {
            Ok(true) => continue,
            Ok(false) => sweep_at.since(delivery.now()).min(SWEEP),
            Err(error) => {
                tracing::warn!(%error, "mails could not be claimed");
                AFTER_FAILURE
            }
        };
        tokio::select! {
            () = dispatcher.wanted(), if pause != AFTER_FAILURE => {}
            () = tokio::time::sleep(pause) => {}
            () = delivery.tasks.stopping() => {}
        }
    }
    let left: Vec<_> = dispatcher.drain().iter().map(reference).collect();
    delivery.release(&left, delivery.now()).await;
}

/// One round over the lanes. Returns whether anything was claimed.
async fn feed(
    delivery: &Delivery,
    now: Timestamp,
    sweep_at: &mut Timestamp,
) -> mailwright_store::Result<bool> {
    let closed_until = delivery.breaker.closed_until();
    if closed_until > now {
        *sweep_at = closed_until;
        return Ok(false);
    }
    if *sweep_at <= now {
        for lane in Lane::ALL {
            let due = delivery
                .app
                .0
                .db
                .read(move |rx| Box::pin(async move { email::due_projects(rx, lane, now).await }));
            delivery.app.0.dispatcher.add_due(lane, due.await?);
        }
        *sweep_at = now.plus(SWEEP);
    }
    let mut worked = false;
    for lane in Lane::ALL {
        worked |= feed_lane(delivery, lane, now).await?;
    }
    Ok(worked)
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
        let wanted = share.min(room as usize);
        let claimed = match claim(delivery, project, lane, wanted, now).await {
            Ok(claimed) => claimed,
            Err(error) => {
                dispatcher.add_due(lane, projects[position..].to_vec());
                return Err(error);
            }
        };
        if claimed.len() == wanted {
            dispatcher.add_due(lane, vec![project]);
        }
        room -= claimed.len() as i64;
        worked |= !claimed.is_empty();
        enqueue(delivery, lane, claimed).await;
    }
    Ok(worked)
}

async fn claim(
    delivery: &Delivery,
    project: ProjectNumber,
    lane: Lane,
    wanted: usize,
    now: Timestamp,
) -> mailwright_store::Result<Vec<Claimed>> {
    let instance_rate = delivery.app.settings().delivery.per_second;
    let lease_until = delivery.lease_until();
    delivery
        .app
        .0
        .db
        .write(move |tx| {
            Box::pin(async move {
                let allowed = throttle(tx, project, lane, instance_rate, wanted as i64, now).await?;
                if allowed == 0 {
                    return Ok(Vec::new());
                }
                email::claim(tx, project, lane, allowed, now, lease_until).await
            })
        })
        .await
}

/// How many mails a project may send now: none when it is disabled.
async fn throttle(
    tx: &mut Tx<'_>,
    number: ProjectNumber,
    lane: Lane,
    instance_rate: i64,
    wanted: i64,
    now: Timestamp,
) -> mailwright_store::Result<i64> {
    let Some(sending) = project::sending(tx, number).await? else { return Ok(0) };
    if sending.project.disabled {
        return Ok(0);
    }
    let per_second = sending.per_second.unwrap_or(instance_rate);
    if per_second <= 0 {
        return Ok(wanted);
    }
    let due = email::due(tx, number, lane, now, wanted).await?;
    rate::take_sends(tx, number, per_second, due, now).await
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
