//! The epoch: how often the instance was restored. And the moments at which backups were made.

use mailwright_core::lost::Stretch;
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};

/// How many moments of backups are kept.
const MARKS: i64 = 100;

/// A restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Epoch {
    /// Its number; the first restore is 1.
    pub number: i64,
    /// When the backup was made, as far as is known.
    pub lost_from: Option<Timestamp>,
    /// When it was restored.
    pub raised_at: Timestamp,
    /// When everything that may have been handed over was held; `None` while that is not done.
    pub held_at: Option<Timestamp>,
}

impl Epoch {
    /// What was lost.
    pub fn stretch(self) -> Stretch {
        let until = self.raised_at;
        let from = self.lost_from.unwrap_or_else(|| until.minus(Stretch::UNKNOWN));
        Stretch { from: from.min(until), until }
    }
}

/// The last restore; `None` for an instance that was never restored.
pub async fn last(rx: &Rx<'_>) -> Result<Option<Epoch>> {
    rx.optional(
        "select number, lost_from, raised_at, held_at from epochs order by number desc limit 1",
        &[],
        |r| Ok(Epoch { number: r.get(0)?, lost_from: r.get(1)?, raised_at: r.get(2)?, held_at: r.get(3)? }),
    )
    .await
}

/// What the last restore lost.
pub async fn stretch(rx: &Rx<'_>) -> Result<Option<Stretch>> {
    Ok(last(rx).await?.map(Epoch::stretch))
}

/// Raises the epoch. One whose holding was interrupted is gone on with.
pub async fn raise(tx: &Tx<'_>, now: Timestamp) -> Result<Epoch> {
    let before = last(tx).await?;
    if let Some(unfinished) = before.filter(|epoch| epoch.held_at.is_none()) {
        return Ok(unfinished);
    }
    let lost_from = last_backup(tx).await?;
    let number = before.map_or(1, |epoch| epoch.number + 1);
    tx.execute_one(
        "insert into epochs (number, lost_from, raised_at) values ($1, $2, $3)",
        args![number, lost_from, now],
    )
    .await?;
    Ok(Epoch { number, lost_from, raised_at: now, held_at: None })
}

/// Notes that everything is held, so that the database may be served.
pub async fn held(tx: &Tx<'_>, number: i64, now: Timestamp) -> Result<()> {
    tx.execute_one("update epochs set held_at = $2 where number = $1", args![number, now]).await?;
    tx.execute("update backup_marks set is_copy = false where is_copy", &[]).await?;
    Ok(())
}

/// Notes that a backup is made now.
pub async fn mark(tx: &Tx<'_>, program: &str, now: Timestamp) -> Result<()> {
    tx.execute(
        "insert into backup_marks (made_at, program, is_copy) values ($1, $2, $3) on conflict (made_at) do nothing",
        args![now, program, false],
    )
    .await?;
    tx.execute(
        "delete from backup_marks where made_at not in \
         (select made_at from backup_marks order by made_at desc limit $1)",
        args![MARKS],
    )
    .await?;
    Ok(())
}

/// When the newest backup was made.
pub async fn last_backup(rx: &Rx<'_>) -> Result<Option<Timestamp>> {
    rx.optional("select made_at from backup_marks order by made_at desc limit 1", &[], |r| r.get(0)).await
}

/// Why a database may not be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unserved {
    /// It is the copy in a backup.
    Copy,
    /// A restore of it was interrupted.
    Unfinished,
}

/// Whether a database may be served.
pub async fn unserved(rx: &Rx<'_>) -> Result<Option<Unserved>> {
    if last(rx).await?.is_some_and(|epoch| epoch.held_at.is_none()) {
        return Ok(Some(Unserved::Unfinished));
    }
    let is_copy = rx.exists("select 1 from backup_marks where is_copy limit 1", &[]).await?;
    Ok(is_copy.then_some(Unserved::Copy))
}
