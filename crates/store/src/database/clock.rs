//! The database's clock. The processes that share the database judge each other's leases by it.

use std::time::{Duration, Instant};

use mailwright_core::time::Clock;

use crate::body;
use crate::database::db::Db;
use crate::database::error::Result;

/// How often the database is asked in a row; the quickest answer is the one that counts.
const QUESTIONS: usize = 3;

/// One comparison of the process's clock with the database's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// How many milliseconds the database's clock is ahead of the machine's.
    pub ahead: i64,
    /// How far the truth is from that at most: half of the time that the answer took.
    pub give_or_take: Duration,
}

impl Reading {
    /// How far apart the clocks are at least.
    pub fn apart(self) -> Duration {
        Duration::from_millis(self.ahead.unsigned_abs()).saturating_sub(self.give_or_take)
    }
}

/// Compares the machine's clock with the database's. `None` where the database is embedded: it has the machine's clock.
pub async fn compare(db: &Db, clock: &Clock) -> Result<Option<Reading>> {
    if !db.is_postgres() {
        return Ok(None);
    }
    let clock = clock.clone();
    let compared = db.read(body!(async |rx| {
        let mut best: Option<Reading> = None;
        for _ in 0..QUESTIONS {
            let (asked_at, began) = (clock.uncorrected(), Instant::now());
            let answer = rx
                .one("select floor(extract(epoch from clock_timestamp()) * 1000)::bigint", &[], |r| {
                    r.get::<i64>(0)
                })
                .await?;
            let half = began.elapsed() / 2;
            // the clocks are read to the millisecond
            let give_or_take = half + Duration::from_millis(1);
            let ahead = answer - asked_at.plus(half).0;
            if best.is_none_or(|best| give_or_take < best.give_or_take) {
                best = Some(Reading { ahead, give_or_take });
            }
        }
        Ok(best)
    }));
    compared.await
}
