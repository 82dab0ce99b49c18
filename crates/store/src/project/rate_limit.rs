//! The request limits and the sending throttle of a project, and the rate of the instance: shared by all processes on
//! the database.

use mailwright_core::ids::ProjectNumber;
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::Tx;

/// Which of a project's requests are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bucket {
    /// Requests with a secret key, and requests of members.
    Secret,
    /// Requests with the public key.
    Public,
}

impl Bucket {
    fn table(self) -> &'static str {
        match self {
            Self::Secret => "rate_windows",
            Self::Public => "public_rate_windows",
        }
    }
}

/// Takes up to `wanted` of the `limit` requests that the window starting at `window` allows, in which `now` lies. A
/// process takes a handful at a time and counts them down in memory. A window that begins in the future was counted
/// before the clock was set back, and does not count.
///
/// To stay exact near the limit the handful shrinks with what is left.
pub async fn take_requests(
    tx: &mut Tx<'_>,
    bucket: Bucket,
    project: ProjectNumber,
    [window, now]: [Timestamp; 2],
    limit: i64,
    wanted: i64,
) -> Result<i64> {
    let table = bucket.table();
    tx.execute(
        format!(
            "insert into {table} (project_id, started_at, used) values ($1, $2, 0) \
             on conflict (project_id) do update set started_at = excluded.started_at, used = 0 \
             where {table}.started_at < excluded.started_at or {table}.started_at > $3"
        ),
        args![project, window, Timestamp(now.0 + AHEAD)],
    )
    .await?;
    let used: i64 = tx
        .one(format!("select used from {table} where project_id = $1 {{for_update}}"), args![project], |r| {
            r.get(0)
        })
        .await?;
    let left = (limit - used).max(0);
    let taken = wanted.min(left).min((left / 16).max(1)).min(left);
    tx.execute(format!("update {table} set used = used + $2 where project_id = $1"), args![project, taken])
        .await?;
    Ok(taken)
}

/// How far ahead of ours the clock may be that a bucket was last refilled by, in milliseconds. Beyond that, ours was
/// set back, and the bucket would not be refilled until it has caught up.
const AHEAD: i64 = 5_000;

/// Takes up to `wanted` sends from the project's token bucket of `per_second` tokens a second, one second deep, and
/// leaves `reserved` for others. Returns how many were taken.
pub async fn take_sends(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    per_second: i64,
    [wanted, reserved]: [i64; 2],
    now: Timestamp,
) -> Result<i64> {
    let capacity = per_second * 1000;
    tx.execute(
        "insert into throttles (project_id, millitokens, refilled_at) values ($1, $2, $3) on conflict (project_id) do nothing",
        args![project, capacity, now],
    )
    .await?;
    let (tokens, refilled_at) = tx
        .one(
            "select millitokens, refilled_at from throttles where project_id = $1 {for_update}",
            args![project],
            |r| Ok((r.get::<i64>(0)?, r.get::<i64>(1)?)),
        )
        .await?;
    let bucket = Tokens { tokens, refilled_at }.refilled(per_second, capacity.max(1000), now);
    let taken = wanted.min(bucket.tokens / 1000 - reserved).max(0);
    tx.execute_one(
        "update throttles set millitokens = $2, refilled_at = $3 where project_id = $1",
        args![project, bucket.tokens - taken * 1000, bucket.refilled_at],
    )
    .await?;
    Ok(taken)
}

/// A token bucket: thousandths of tokens, and when they were last counted.
#[derive(Debug, Clone, Copy)]
struct Tokens {
    tokens: i64,
    refilled_at: i64,
}

impl Tokens {
    fn refilled(self, per_second: i64, capacity: i64, now: Timestamp) -> Self {
        // as much as fills it, so that nothing overflows
        let elapsed = (now.0 - self.refilled_at).clamp(0, capacity / per_second.max(1) + 1);
        Self {
            tokens: (self.tokens + elapsed * per_second).min(capacity),
            // callers come in another order than their clocks say, and no moment may be paid twice
            refilled_at: if self.refilled_at > now.0 + AHEAD { now.0 } else { self.refilled_at.max(now.0) },
        }
    }
}

/// The fewest tokens that the instance's bucket holds, so that a part of it can be kept for urgent mail.
const SHALLOWEST: i64 = 4;

/// How many mails the bucket of an instance of `per_second` lets out at once, at most: a second's worth.
pub fn instance_depth(per_second: i64) -> i64 {
    per_second.max(SHALLOWEST)
}

/// Takes up to so many sends for each lane, the most urgent first, from the token bucket of the whole instance. The
/// lanes behind the first leave a part of the bucket to those before them, which other processes may have mail of: an
/// eighth, and a quarter. Returns how many were taken.
pub async fn take_instance(
    tx: &mut Tx<'_>,
    per_second: i64,
    wanted: [i64; 3],
    now: Timestamp,
) -> Result<i64> {
    let capacity = instance_depth(per_second) * 1000;
    tx.execute(
        "insert into instance_rate (id, millitokens, refilled_at) values (1, $1, $2) on conflict (id) do nothing",
        args![capacity, now],
    )
    .await?;
    let (tokens, refilled_at) = tx
        .one("select millitokens, refilled_at from instance_rate where id = 1 {for_update}", &[], |r| {
            Ok((r.get::<i64>(0)?, r.get::<i64>(1)?))
        })
        .await?;
    let bucket = Tokens { tokens, refilled_at }.refilled(per_second, capacity, now);
    let mut left = bucket.tokens;
    for (wanted, kept) in wanted.into_iter().zip([0, capacity / 8, capacity / 4]) {
        left -= wanted.min((left - kept) / 1000).max(0) * 1000;
    }
    tx.execute_one(
        "update instance_rate set millitokens = $1, refilled_at = $2 where id = 1",
        args![left, bucket.refilled_at],
    )
    .await?;
    Ok((bucket.tokens - left) / 1000)
}

/// How many requests are left in the current window.
pub async fn requests_left(
    tx: &mut Tx<'_>,
    bucket: Bucket,
    project: ProjectNumber,
    limit: i64,
) -> Result<i64> {
    let table = bucket.table();
    let used: i64 = tx
        .one(format!("select used from {table} where project_id = $1"), args![project], |r| r.get(0))
        .await?;
    Ok((limit - used).max(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body;
    use crate::database::db::Db;
    use crate::database::location::Location;
    use crate::database::metrics::StoreMetrics;
    use crate::database::migrate::migrate;

    const NOW: i64 = 1_741_608_000_000;

    async fn take(db: &Db, wanted: i64, reserved: i64, at: i64) -> i64 {
        let taken = db.write(body!(async |tx| take_sends(
            tx,
            ProjectNumber(1),
            10,
            [wanted, reserved],
            Timestamp(NOW + at)
        )
        .await));
        taken.await.unwrap()
    }

    #[tokio::test]
    async fn a_window_of_a_clock_that_was_set_back_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Sqlite(folder.path().join("rate.db"));
        let db = Db::open(&location, StoreMetrics::default()).unwrap();
        migrate(&db, Timestamp(NOW)).await.unwrap();
        let take = |at: i64| {
            let now = NOW + at;
            let times = [Timestamp(now - now.rem_euclid(60_000)), Timestamp(now)];
            let db = db.clone();
            async move {
                let taken = db.write(body!(async |tx| take_requests(
                    tx,
                    Bucket::Secret,
                    ProjectNumber(1),
                    times,
                    3,
                    100
                )
                .await));
                taken.await.unwrap()
            }
        };
        let hour = 3_600_000;
        let mut ahead = Vec::new();
        for _ in 0..4 {
            ahead.push(take(hour).await);
        }
        assert_eq!(ahead, [1, 1, 1, 0]);
        // set back by an hour: the limit of that minute holds, not that of an hour later
        let mut back = Vec::new();
        for _ in 0..4 {
            back.push(take(1_000).await);
        }
        assert_eq!(back, [1, 1, 1, 0]);
        // a clock a moment behind ours does not begin our window anew
        let (next, minute) = (60_000 - NOW.rem_euclid(60_000), 60_000);
        assert_eq!(take(next + minute).await, 1);
        assert_eq!([take(next + minute - 1).await, take(next + minute - 1).await], [1, 1]);
        assert_eq!(take(next + minute).await, 0);
    }

    #[tokio::test]
    async fn a_bucket_pays_no_moment_twice_and_keeps_what_is_reserved() {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Sqlite(folder.path().join("rate.db"));
        let db = Db::open(&location, StoreMetrics::default()).unwrap();
        migrate(&db, Timestamp(NOW)).await.unwrap();
        assert_eq!(take(&db, 100, 4, 0).await, 6);
        assert_eq!(take(&db, 100, 4, 0).await, 0);
        assert_eq!(take(&db, 100, 0, 0).await, 4);
        // half a second is worth five, whoever comes when by his own clock
        assert_eq!(take(&db, 100, 0, 500).await, 5);
        assert_eq!(take(&db, 100, 0, 100).await, 0);
        assert_eq!(take(&db, 100, 0, 500).await, 0);
        // a clock that was set back by a minute counts from there
        assert_eq!(take(&db, 100, 0, -60_000).await, 0);
        assert_eq!(take(&db, 100, 0, -59_500).await, 5);
    }

    async fn take_instance_at(db: &Db, wanted: [i64; 3], at: i64) -> i64 {
        let taken = db.write(body!(async |tx| take_instance(tx, 40, wanted, Timestamp(NOW + at)).await));
        taken.await.unwrap()
    }

    #[tokio::test]
    async fn urgent_lanes_have_the_first_claim_on_the_instances_rate() {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Sqlite(folder.path().join("rate.db"));
        let db = Db::open(&location, StoreMetrics::default()).unwrap();
        migrate(&db, Timestamp(NOW)).await.unwrap();
        assert_eq!(take_instance_at(&db, [3, 0, 100], 0).await, 30);
        assert_eq!(take_instance_at(&db, [0, 0, 100], 0).await, 0);
        assert_eq!(take_instance_at(&db, [0, 100, 0], 0).await, 5);
        assert_eq!(take_instance_at(&db, [100, 100, 100], 0).await, 5);
        // what comes in goes to whoever is first in line, and the part that is kept fills up again
        assert_eq!(take_instance_at(&db, [1, 0, 100], 100).await, 1);
        assert_eq!(take_instance_at(&db, [0, 0, 100], 200).await, 0);
        assert_eq!(take_instance_at(&db, [0, 0, 100], 300).await, 1);
        assert_eq!(take_instance_at(&db, [100, 0, 0], 60_000).await, 40);
    }

    #[test]
    fn the_slowest_instance_sends_of_every_lane() {
        let kept = instance_depth(1) * 1000 / 4;
        assert!(instance_depth(1) * 1000 - kept >= 1000);
        let bucket = Tokens { tokens: 0, refilled_at: 0 };
        assert_eq!(bucket.refilled(1, 4000, Timestamp(2500)).tokens, 2500);
        assert_eq!(bucket.refilled(1, 4000, Timestamp(1 << 40)).tokens, 4000);
    }
}
