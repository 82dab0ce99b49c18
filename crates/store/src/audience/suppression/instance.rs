//! The addresses that get no mail of any project, which the operator keeps.

use std::collections::{BTreeMap, BTreeSet};

use mailwright_core::address::EmailAddress;
use mailwright_core::suppression::SuppressionReason;
use mailwright_core::time::Timestamp;

use super::{read_listed, read_reason, set, stored};
use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};

/// An address on the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The address.
    pub email: EmailAddress,
    /// Why.
    pub reason: SuppressionReason,
    /// Since when.
    pub created_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Option<Timestamp>,
}

/// Those of some addresses that are on the list.
pub(super) async fn among(
    rx: &Rx<'_>,
    emails: &BTreeSet<&EmailAddress>,
    now: Timestamp,
) -> Result<BTreeMap<EmailAddress, SuppressionReason>> {
    let found = rx
        .all(
            "select email, reason from instance_suppressions where email {in $1} \
             and (expires_at is null or expires_at > $2)",
            &[set(emails), now.into()],
            read_listed,
        )
        .await?;
    Ok(found.into_iter().collect())
}

/// Puts an address on the list; one that is there already is there for this reason from now on.
pub async fn add(tx: &Tx<'_>, entry: &Entry) -> Result<()> {
    tx.execute_one(
        "insert into instance_suppressions (email, reason, created_at, expires_at) values ($1, $2, $3, $4) \
         on conflict (email) do update set reason = excluded.reason, created_at = excluded.created_at, \
         expires_at = excluded.expires_at",
        args![&entry.email, stored(entry.reason), entry.created_at, entry.expires_at],
    )
    .await
}

/// Takes an address off the list; whether it was there.
pub async fn remove(tx: &Tx<'_>, email: &EmailAddress) -> Result<bool> {
    Ok(tx.execute("delete from instance_suppressions where email = $1", args![email]).await? > 0)
}

/// The list from behind an address on, in the order of the addresses.
pub async fn list(rx: &Rx<'_>, after: Option<&EmailAddress>, limit: usize) -> Result<Vec<Entry>> {
    rx.all(
        "select email, reason, created_at, expires_at from instance_suppressions where email > $1 \
         order by email limit $2",
        args![after.map_or("", EmailAddress::as_str), limit],
        |r| {
            Ok(Entry {
                email: r.get(0)?,
                reason: read_reason(r, 1)?,
                created_at: r.get(2)?,
                expires_at: r.get(3)?,
            })
        },
    )
    .await
}
