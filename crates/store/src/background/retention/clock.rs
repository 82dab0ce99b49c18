//! How far the instance has seen time pass. A clock that jumps ahead would have everything removed at once.
//!
//! What the processes of an instance see is one row, so that neither many of them nor one that starts again and again
//! believes more than one that goes on.

use std::time::Duration;

use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::Tx;

/// By how much more time may have passed than was seen, at a time.
const LEAP: Duration = Duration::from_hours(31 * 24);
/// How much time has to be seen to pass between two such leaps.
const LEAPS_APART: Duration = Duration::from_hours(24);
/// What is not seen and needs no leap: clocks go apart a little.
const SLACK: Duration = Duration::from_hours(1);

/// The time by which things are old: `now`, unless that is further ahead than may be believed. `own` is up to when this
/// process has seen time pass, if it has.
pub async fn believe(tx: &Tx<'_>, own: Option<Timestamp>, now: Timestamp) -> Result<Timestamp> {
    let stored = tx
        .optional("select seen_at, rested_ms from retention_clock where id = 1 {for_update}", args![], |r| {
            Ok((r.get::<Timestamp>(0)?, r.get::<i64>(1)?))
        })
        .await?;
    let (believed, rested) = match stored {
        None => (now, LEAPS_APART.as_millis() as i64),
        Some((seen, rested)) => next(seen, rested, own, now),
    };
    tx.execute(
        "insert into retention_clock (id, seen_at, rested_ms) values (1, $1, $2) \
         on conflict (id) do update set seen_at = excluded.seen_at, rested_ms = excluded.rested_ms",
        args![believed, rested],
    )
    .await?;
    Ok(believed)
}

/// What is believed, and how much time was seen to pass since the last leap.
fn next(seen: Timestamp, rested: i64, own: Option<Timestamp>, now: Timestamp) -> (Timestamp, i64) {
    let passed = own.unwrap_or(seen).max(seen).min(now.max(seen));
    let rested = rested.saturating_add(passed.0 - seen.0);
    if now.since(passed) <= SLACK {
        return (passed, rested);
    }
    if rested < LEAPS_APART.as_millis() as i64 {
        return (passed, rested);
    }
    (passed.plus(LEAP).min(now), 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;
    const DAY: i64 = 24 * HOUR;

    #[test]
    fn a_leap_is_believed_once_a_day_however_many_ask() {
        let far = Timestamp(1000 * DAY);
        let (mut seen, mut rested) = next(Timestamp(0), DAY, None, far);
        assert_eq!((seen, rested), (Timestamp(31 * DAY), 0));
        // processes that start again, and others beside them, have seen nothing
        for own in [None, Some(Timestamp(5)), None] {
            (seen, rested) = next(seen, rested, own, far);
            assert_eq!((seen, rested), (Timestamp(31 * DAY), 0));
        }
        for hour in 1..24 {
            (seen, rested) = next(seen, rested, Some(Timestamp(31 * DAY + hour * HOUR)), far);
            assert_eq!((seen, rested), (Timestamp(31 * DAY + hour * HOUR), hour * HOUR));
        }
        (seen, rested) = next(seen, rested, Some(Timestamp(32 * DAY)), far);
        assert_eq!((seen, rested), (Timestamp(63 * DAY), 0));
    }

    #[test]
    fn time_that_was_seen_counts_and_a_clock_that_is_set_back_does_nothing() {
        let at = Timestamp;
        assert_eq!(next(at(0), 0, Some(at(HOUR)), at(HOUR)), (at(HOUR), HOUR));
        assert_eq!(
            next(at(0), 0, Some(at(HOUR)), at(HOUR + 5)),
            (at(HOUR), HOUR),
            "clocks go apart a little"
        );
        assert_eq!(next(at(DAY), 7, Some(at(2 * DAY)), at(HOUR)), (at(DAY), 7));
        assert_eq!(
            next(at(0), DAY, None, at(10 * DAY)),
            (at(10 * DAY), 0),
            "the service did not run for ten days"
        );
    }
}
