//! The request limit and the sending throttle of a project, shared by every process on the database.

use mailwright_core::ids::ProjectNumber;
use mailwright_core::time::Timestamp;

use crate::args;
use crate::error::Result;
use crate::tx::Tx;

/// Which of a project's requests are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bucket {
    /// Those with a secret key, and those of members.
    Secret,
    /// Those with the public key.
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

/// Takes up to `wanted` of the `limit` requests that the window starting at `window` allows. A process takes a handful
/// at a time and counts them down in memory.
///
/// To stay exact near the limit the handful shrinks with what is left.
pub async fn take_requests(
    tx: &mut Tx<'_>,
    bucket: Bucket,
    project: ProjectNumber,
    window: Timestamp,
    limit: i64,
    wanted: i64,
) -> Result<i64> {
    let table = bucket.table();
    tx.execute(
        format!(
            "insert into {table} (project_id, started_at, used) values ($1, $2, 0) \
             on conflict (project_id) do update set started_at = excluded.started_at, used = 0 \
             where {table}.started_at < excluded.started_at"
        ),
        args![project, window],
    )
    .await?;
    let lock = if tx.is_postgres() { " for update" } else { "" };
    let used: i64 = tx
        .one(format!("select used from {table} where project_id = $1{lock}"), args![project], |r| r.get(0))
        .await?;
    let left = (limit - used).max(0);
    let taken = wanted.min(left).min((left / 16).max(1)).min(left);
    tx.execute(format!("update {table} set used = used + $2 where project_id = $1"), args![project, taken])
        .await?;
    Ok(taken)
}

/// How far ahead of ours the clock may be that a bucket was last refilled by, in milliseconds. Beyond that, ours was set
/// back, and the bucket would not be refilled until it has caught up.
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
    let lock = if tx.is_postgres() { " for update" } else { "" };
    let (tokens, refilled_at) = tx
        .one(
            format!("select millitokens, refilled_at from throttles where project_id = $1{lock}"),
            args![project],
            |r| Ok((r.get::<i64>(0)?, r.get::<i64>(1)?)),
        )
        .await?;
    let elapsed = (now.0 - refilled_at).clamp(0, 1000);
    let tokens = (tokens + elapsed * per_second).min(capacity.max(1000));
    let taken = wanted.min(tokens / 1000 - reserved).max(0);
    let left = tokens - taken * 1000;
    // callers come in another order than their clocks say, and no moment may be paid twice
    let refilled_at = if refilled_at > now.0 + AHEAD { now.0 } else { refilled_at.max(now.0) };
    tx.execute_one(
        "update throttles set millitokens = $2, refilled_at = $3 where project_id = $1",
        args![project, left, refilled_at],
    )
    .await?;
    Ok(taken)
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
    use crate::db::{Db, Location, StoreMetrics};
    use crate::migrate::migrate;

    const NOW: i64 = 1_741_608_000_000;

    async fn take(db: &Db, wanted: i64, reserved: i64, at: i64) -> i64 {
        let taken = db.write(move |tx| {
            Box::pin(async move {
                take_sends(tx, ProjectNumber(1), 10, [wanted, reserved], Timestamp(NOW + at)).await
            })
        });
        taken.await.unwrap()
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
}
