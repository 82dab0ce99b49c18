//! The rate of the instance: how many mails a second all processes together hand over. A retry counts again, because
//! the rate is for what the next hop allows.
//!
//! The bucket is one row in the database. A process takes a tenth of a second's worth at a time, when mails wait for
//! it, so few transactions meet at that row. The tokens are spent as the queues are served: the most urgent lane first,
//! and within a lane by turns.

use std::sync::Arc;
use std::time::Duration;

use mailwright_core::email::Lane;
use mailwright_store::body;
use mailwright_store::project::rate_limit;

use super::Delivery;

/// Most mails taken at a time.
const HANDFUL: i64 = 100;
/// How many handfuls a second of the rate has, where it is large enough.
const HANDFULS: i64 = 10;
/// Pauses while there is nothing to take.
const SHORTEST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_millis(250);
/// Pause after the database did not answer.
const AFTER_FAILURE: Duration = Duration::from_millis(500);

/// Lets mails out at `per_second` until the service stops.
pub(super) async fn run(delivery: Arc<Delivery>, per_second: i64) {
    let dispatcher = &delivery.app.0.delivery.dispatcher;
    while !delivery.tasks.is_stopping() {
        let wanted = handful(dispatcher.held_up(), per_second);
        if wanted == [0; 3] {
            tokio::select! {
                () = dispatcher.until_held_up() => {}
                () = delivery.tasks.stopping() => {}
            }
            continue;
        }
        let now = delivery.now();
        let taken = delivery
            .app
            .0
            .db
            .write(body!(async |tx| rate_limit::take_instance(tx, per_second, wanted, now).await));
        let pause = match taken.await {
            Ok(0) => Duration::from_millis((1000 / per_second) as u64).clamp(SHORTEST, LONGEST),
            Ok(taken) => {
                dispatcher.allow(taken);
                continue;
            }
            Err(error) => {
                tracing::warn!(%error, "the instance's rate cannot be read, mail waits");
                AFTER_FAILURE
            }
        };
        delivery.tasks.pause(pause).await;
    }
}

/// How many of the waiting mails of each lane to ask for, the most urgent lane first.
fn handful(waiting: [i64; 3], per_second: i64) -> [i64; 3] {
    let mut left = (per_second / HANDFULS).clamp(1, HANDFUL);
    waiting.map(|waiting| {
        let wanted = waiting.min(left);
        left -= wanted;
        wanted
    })
}

/// How many mails of a lane are claimed ahead where so many would be otherwise: no more than the rate lets out in a
/// second, so that what is paused or cancelled does not leave long after.
pub(super) fn ahead(most: usize, per_second: i64) -> usize {
    match usize::try_from(per_second) {
        Ok(per_second @ 1..) => per_second.max(8).min(most),
        _ => most,
    }
}

const _: () = assert!(Lane::ALL.len() == 3, "one figure for each lane");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_urgent_lane_is_asked_for_first() {
        assert_eq!(handful([3, 0, 500], 100), [3, 0, 7]);
        assert_eq!(handful([0, 40, 500], 100), [0, 10, 0]);
        assert_eq!(handful([0, 0, 5], 1), [0, 0, 1]);
        assert_eq!(handful([0, 0, 5000], 100_000), [0, 0, 100]);
        assert_eq!(handful([0, 0, 0], 100), [0; 3]);
    }

    #[test]
    fn no_more_is_claimed_ahead_than_leaves_soon() {
        assert_eq!(
            [ahead(128, 0), ahead(128, 50), ahead(128, 1), ahead(128, 9999), ahead(4, 1)],
            [128, 50, 8, 128, 4]
        );
    }
}
