//! Idempotency keys: of all requests of a project with the same key, one does its work.
//!
//! Keys of requests with the project's public key are kept apart, under a prefix that no client can send. Anybody can
//! read the public key in a web page, and a visitor who guesses an order number must not keep its receipt from being
//! sent.
//!
//! A key is claimed in the transaction that does the work, before the work. So of N requests with one key exactly one
//! runs, and a crash leaves neither the key nor the work. A claim in a transaction of its own would leave a dead key if
//! the process dies in between.

use std::collections::{HashMap, HashSet};

use mailwright_core::ids::ProjectNumber;
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::{Error, Result};
use crate::database::tx::{Row, Rx, Tx};
use crate::database::value::Arg;

/// Within a scope, keys with the same text are the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All requests of a project but those with its public key.
    Project,
    /// Requests with the public key.
    Public,
}

/// Comes before the text of a key in [`Scope::Public`]. The keys of clients are printable, so this is in none of them.
const PUBLIC: &str = "public\u{1f}";

/// A key of a client as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScopedKey(String);

impl ScopedKey {
    /// The key with this text.
    pub fn new(scope: Scope, text: &str) -> Self {
        match scope {
            Scope::Project => Self(text.to_owned()),
            Scope::Public => Self(format!("{PUBLIC}{text}")),
        }
    }

    fn as_str(&self) -> &str {
        &self.0
    }
}

/// A key to claim.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Project.
    pub project: ProjectNumber,
    /// The key.
    pub key: ScopedKey,
    /// Method of the request.
    pub method: &'static str,
    /// Path of the request.
    pub path: &'static str,
    /// When it is claimed.
    pub at: Timestamp,
    /// When it is free again.
    pub expires_at: Timestamp,
}

/// The request that used a key first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Used {
    /// Method of that request.
    pub method: String,
    /// Path of that request.
    pub path: String,
    /// Status of its answer.
    pub status_code: Option<i64>,
    /// When it was made.
    pub at: Timestamp,
}

fn read(row: &Row<'_>) -> Result<Used> {
    Ok(Used { method: row.get(0)?, path: row.get(1)?, status_code: row.get(2)?, at: row.get(3)? })
}

/// The request that holds a key now, if there is one.
pub async fn holder(
    rx: &Rx<'_>,
    project: ProjectNumber,
    key: &ScopedKey,
    now: Timestamp,
) -> Result<Option<Used>> {
    rx.optional(
        "select method, path, status_code, created_at from idempotency_keys \
         where project_id = $1 and key = $2 and expires_at > $3",
        args![project, key.as_str(), now],
        read,
    )
    .await
}

/// Claims keys. For each claim `None` when it succeeded, or who holds the key. Of equal keys in the group, the first
/// gets it. An expired key is free at once.
pub async fn claim(tx: &Tx<'_>, claims: &[&Claim]) -> Result<Vec<Option<Used>>> {
    let mut seen = HashSet::new();
    let mut firsts: Vec<_> = claims.iter().filter(|c| seen.insert((c.project, c.key.as_str()))).collect();
    // two groups that claim the same keys in different orders would wait for each other
    firsts.sort_by_key(|c| (c.project, c.key.as_str()));
    let won: HashSet<(ProjectNumber, String)> = tx
        .each_returning(
            "insert into idempotency_keys (project_id, key, method, path, status_code, created_at, expires_at) \
             select r.project_id, r.key, r.method, r.path, 200, r.created_at, r.expires_at \
             from {rows r: project_id int, key text, method text, path text, created_at int, expires_at int} where true \
             on conflict (project_id, key) do update set method = excluded.method, path = excluded.path, \
             created_at = excluded.created_at, expires_at = excluded.expires_at \
             where idempotency_keys.expires_at <= excluded.created_at returning project_id, key",
            &[
                Arg::Ints(firsts.iter().map(|c| Some(c.project.0)).collect()),
                Arg::Texts(firsts.iter().map(|c| Some(c.key.as_str().into())).collect()),
                Arg::Texts(firsts.iter().map(|c| Some(c.method.into())).collect()),
                Arg::Texts(firsts.iter().map(|c| Some(c.path.into())).collect()),
                Arg::Ints(firsts.iter().map(|c| Some(c.at.0)).collect()),
                Arg::Ints(firsts.iter().map(|c| Some(c.expires_at.0)).collect()),
            ],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )
        .await?
        .into_iter()
        .collect();
    let mut given = HashMap::new();
    let mut outcomes = Vec::with_capacity(claims.len());
    for claim in claims {
        let key = (claim.project, claim.key.as_str().to_owned());
        outcomes.push(if let Some(used) = given.get(&key) {
            Some(Used::clone(used))
        } else if won.contains(&key) {
            let used = Used {
                method: claim.method.to_owned(),
                path: claim.path.to_owned(),
                status_code: Some(200),
                at: claim.at,
            };
            given.insert(key, used);
            None
        } else {
            let holder = holder(tx, claim.project, &claim.key, Timestamp(i64::MIN)).await?;
            // a key that was given back since the insert is free, but not ours: the next try gets it
            Some(
                holder
                    .ok_or_else(|| Error::Contention("an idempotency key was given back meanwhile".into()))?,
            )
        });
    }
    Ok(outcomes)
}

/// Gives a key back: its request did no work after all.
pub async fn release(tx: &mut Tx<'_>, project: ProjectNumber, key: &ScopedKey) -> Result<()> {
    tx.execute(
        "delete from idempotency_keys where project_id = $1 and key = $2",
        args![project, key.as_str()],
    )
    .await?;
    Ok(())
}

/// Removes some expired keys of a project; how many.
pub async fn sweep(tx: &mut Tx<'_>, project: ProjectNumber, now: Timestamp) -> Result<u64> {
    tx.execute(
        "delete from idempotency_keys where project_id = $1 and key in \
         (select key from idempotency_keys where project_id = $1 and expires_at <= $2 limit 500)",
        args![project, now],
    )
    .await
}
