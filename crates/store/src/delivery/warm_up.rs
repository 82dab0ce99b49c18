//! How far source addresses and sender domains have come in their warm-up ([`mailwright_core::pacing::warm_up`]). The rows
//! are shared by all processes, so that the volume of a day holds for them together.

use std::collections::HashMap;

use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;

/// A row as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredWarmUp {
    /// What warms up.
    pub subject: String,
    /// How far it has come, as JSON.
    pub progress: String,
    /// When it was written.
    pub updated_at: Timestamp,
}

fn texts<'a>(values: impl Iterator<Item = &'a str>) -> Arg<'a> {
    Arg::Texts(values.map(|value| Some(value.into())).collect())
}

/// What is stored of subjects, whose rows are this transaction's until it ends. `subjects` are sorted and different, so
/// that no two transactions wait for each other.
pub async fn lock(tx: &mut Tx<'_>, subjects: &[String], now: Timestamp) -> Result<HashMap<String, String>> {
    let names = || texts(subjects.iter().map(String::as_str));
    tx.each(
        "insert into warm_ups (subject, progress, updated_at) select r.subject, '{}', $2 \
         from {rows r: subject text} where true on conflict (subject) do nothing",
        &[names(), now.into()],
    )
    .await?;
    let rows = tx
        .each_returning(
            "select w.subject, w.progress from {rows r: subject text} join warm_ups w on w.subject = r.subject \
             order by w.subject {for_update}",
            &[names()],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )
        .await?;
    Ok(rows.into_iter().collect())
}

/// Stores what was locked before.
pub async fn put(tx: &mut Tx<'_>, rows: &[(String, String)], now: Timestamp) -> Result<()> {
    let subjects = texts(rows.iter().map(|(subject, _)| subject.as_str()));
    let progress = texts(rows.iter().map(|(_, progress)| progress.as_str()));
    tx.each(
        "update warm_ups set progress = r.progress, updated_at = $3 \
         from {rows r: subject text, progress text} where warm_ups.subject = r.subject",
        &[subjects, progress, now.into()],
    )
    .await?;
    Ok(())
}

/// The subjects after a name, in the order of their names, `most` at a time.
pub async fn all(rx: &mut Rx<'_>, after: &str, most: i64) -> Result<Vec<StoredWarmUp>> {
    rx.all(
        "select subject, progress, updated_at from warm_ups where subject > $1 order by subject limit $2",
        args![after, most],
        |r| Ok(StoredWarmUp { subject: r.get(0)?, progress: r.get(1)?, updated_at: r.get(2)? }),
    )
    .await
}

/// Forgets what nobody has written since, `most` at a time. Returns how many there were.
pub async fn forget(tx: &mut Tx<'_>, before: Timestamp, most: i64) -> Result<u64> {
    tx.execute(
        "delete from warm_ups where subject in \
         (select subject from warm_ups where updated_at < $1 order by updated_at limit $2)",
        args![before, most],
    )
    .await
}
