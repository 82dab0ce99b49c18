//! Policies of domains about TLS of their mail servers (MTA-STS, RFC 8461). They outlive the process, so that a restart
//! gives an attacker no opening.

use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};

/// A kept policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptPolicy {
    /// The version that the domain's record named.
    pub version: String,
    /// The policy, as it was fetched.
    pub policy: String,
    /// When that was.
    pub fetched_at: Timestamp,
    /// Until when it holds.
    pub expires_at: Timestamp,
}

/// The policy of a domain, if one holds.
pub async fn get(rx: &mut Rx<'_>, domain: &str, now: Timestamp) -> Result<Option<KeptPolicy>> {
    let sql = "select version, policy, fetched_at, expires_at from tls_policies \
               where domain = $1 and expires_at > $2";
    rx.optional(sql, args![domain, now], |r| {
        Ok(KeptPolicy { version: r.get(0)?, policy: r.get(1)?, fetched_at: r.get(2)?, expires_at: r.get(3)? })
    })
    .await
}

/// Keeps a policy. One that was fetched later stays.
pub async fn put(tx: &mut Tx<'_>, domain: &str, kept: &KeptPolicy) -> Result<()> {
    tx.execute(
        "insert into tls_policies (domain, version, policy, fetched_at, expires_at) values ($1, $2, $3, $4, $5) \
         on conflict (domain) do update set version = excluded.version, policy = excluded.policy, \
         fetched_at = excluded.fetched_at, expires_at = excluded.expires_at \
         where tls_policies.fetched_at <= excluded.fetched_at",
        args![domain, kept.version.as_str(), kept.policy.as_str(), kept.fetched_at, kept.expires_at],
    )
    .await?;
    Ok(())
}

/// Forgets policies that hold no longer, `most` at a time. Returns how many there were.
pub async fn forget(tx: &mut Tx<'_>, now: Timestamp, most: i64) -> Result<u64> {
    tx.execute(
        "delete from tls_policies where domain in \
         (select domain from tls_policies where expires_at <= $1 order by expires_at limit $2)",
        args![now, most],
    )
    .await
}
