//! Failed logins and other attempts, counted for all nodes together, and the clients that accounts signed in from.

use std::time::Duration;

use mailwright_core::ids::UserId;
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::Tx;

/// A party that attempts are counted against, as a hash, and how many of them a window may have.
#[derive(Debug, Clone, Copy)]
pub struct Counted {
    /// SHA-256 of the party that is counted.
    pub key: [u8; 32],
    /// Most failures of a window.
    pub limit: i64,
}

/// A count that an attempt was one too many for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsedUp {
    /// The party that is counted.
    pub key: [u8; 32],
    /// When its window began.
    pub began: Timestamp,
}

impl UsedUp {
    /// Seconds until its window is over, one at least.
    pub fn wait(&self, window: Duration, now: Timestamp) -> i64 {
        self.began.plus(window).since(now).as_secs().max(1) as i64
    }
}

/// Counts an attempt as failed until [`succeeded`] says otherwise, so that attempts at the same time cannot slip
/// through together. A window that began at or before `window_start` is over and another one begins. When a limit is
/// passed, that is the answer, and what comes after it in `counted` is left alone: a client that is refused must not
/// use up the attempts of an address. Give the client first, always, so that two
/// attempts cannot wait for each other.
pub async fn attempt(
    tx: &mut Tx<'_>,
    counted: &[Counted],
    window_start: Timestamp,
    now: Timestamp,
) -> Result<Option<UsedUp>> {
    for Counted { key, limit } in counted {
        let (failures, started_at) = tx
            .one(
                "insert into login_attempts (key, started_at, failures) values ($1, $2, 1) \
                 on conflict (key) do update set \
                 failures = case when login_attempts.started_at <= $3 then 1 else login_attempts.failures + 1 end, \
                 started_at = case when login_attempts.started_at <= $3 then excluded.started_at \
                 else login_attempts.started_at end returning failures, started_at",
                args![key.as_slice(), now, window_start],
                |r| Ok((r.get::<i64>(0)?, r.get::<Timestamp>(1)?)),
            )
            .await?;
        if failures > *limit {
            return Ok(Some(UsedUp { key: *key, began: started_at }));
        }
    }
    Ok(None)
}

/// The password was right: the attempt is taken back, and what else was counted against `forgiven` is forgotten.
pub async fn succeeded(tx: &mut Tx<'_>, forgiven: &[u8], counted: &[Counted]) -> Result<()> {
    for Counted { key, .. } in counted {
        if key == forgiven {
            tx.execute("delete from login_attempts where key = $1", args![key.as_slice()]).await?;
        } else {
            tx.execute(
                "update login_attempts set failures = failures - 1 where key = $1 and failures > 0",
                args![key.as_slice()],
            )
            .await?;
        }
    }
    Ok(())
}

/// Forgets the attempts that were counted under a key.
pub async fn forget(tx: &mut Tx<'_>, key: &[u8]) -> Result<()> {
    tx.execute("delete from login_attempts where key = $1", args![key]).await?;
    Ok(())
}

/// Notes that an account signed in from a client.
pub async fn remember_client(tx: &mut Tx<'_>, user: UserId, client: &[u8], now: Timestamp) -> Result<()> {
    tx.execute(
        "insert into login_clients (user_id, client, seen_at) values ($1, $2, $3) \
         on conflict (user_id, client) do update set seen_at = excluded.seen_at",
        args![user, client, now],
    )
    .await?;
    Ok(())
}

/// Forgets the clients that an account signed in from, so that a person who knew the old password is a stranger again.
pub async fn forget_clients(tx: &mut Tx<'_>, user: UserId) -> Result<()> {
    tx.execute("delete from login_clients where user_id = $1", args![user]).await?;
    Ok(())
}

/// Removes windows and clients that are over, some at a time; how many.
pub async fn sweep(tx: &mut Tx<'_>, window_start: Timestamp, unseen_since: Timestamp) -> Result<u64> {
    let windows = tx
        .execute(
            "delete from login_attempts where key in \
             (select key from login_attempts where started_at <= $1 limit 500)",
            args![window_start],
        )
        .await?;
    let clients = tx
        .execute(
            "delete from login_clients where (user_id, client) in \
             (select user_id, client from login_clients where seen_at <= $1 limit 500)",
            args![unseen_since],
        )
        .await?;
    Ok(windows + clients)
}
