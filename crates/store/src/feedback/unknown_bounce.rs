//! What receivers said that no rule knows, for all projects of the instance: the texts hold no personal data.

use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;

/// A text that no rule knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownBounce {
    /// What was said, without what differs from mail to mail.
    pub said: String,
    /// How often.
    pub times: i64,
    /// When it was said first.
    pub first_at: Timestamp,
    /// When it was said last.
    pub last_at: Timestamp,
}

/// Counts texts.
pub async fn count(tx: &Tx<'_>, said: &[(String, i64)], now: Timestamp) -> Result<()> {
    tx.each(
        "insert into unknown_bounces (said, times, first_at, last_at) \
         select r.said, r.times, $3, $3 from {rows r: said text, times int} where true \
         on conflict (said) do update set times = unknown_bounces.times + excluded.times, last_at = excluded.last_at",
        &[
            Arg::Texts(said.iter().map(|(said, _)| Some(said.as_str().into())).collect()),
            Arg::Ints(said.iter().map(|(_, times)| Some(*times)).collect()),
            now.into(),
        ],
    )
    .await?;
    Ok(())
}

/// Removes those that were said before the `kept`th newest.
pub async fn trim(tx: &mut Tx<'_>, kept: i64) -> Result<u64> {
    tx.execute(
        "delete from unknown_bounces where last_at < \
         (select u.last_at from unknown_bounces u order by u.last_at desc limit 1 offset $1)",
        args![kept],
    )
    .await
}

/// The texts that were said most often.
pub async fn most_frequent(rx: &mut Rx<'_>, limit: i64) -> Result<Vec<UnknownBounce>> {
    rx.all(
        "select said, times, first_at, last_at from unknown_bounces order by times desc, said limit $1",
        args![limit],
        |row| {
            Ok(UnknownBounce {
                said: row.get(0)?,
                times: row.get(1)?,
                first_at: row.get(2)?,
                last_at: row.get(3)?,
            })
        },
    )
    .await
}
