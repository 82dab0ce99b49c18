//! The accounts at providers that people sign in with.

use mailwright_core::ids::UserId;
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};

/// The user who has an account at a provider.
pub async fn user(rx: &mut Rx<'_>, provider: &str, subject: &str) -> Result<Option<UserId>> {
    rx.optional(
        "select user_id from identities where provider = $1 and subject = $2",
        args![provider, subject],
        |r| r.get(0),
    )
    .await
}

/// Notes that an account at a provider belongs to a user. Fails with a conflict if it belongs to a user already.
pub async fn create(
    tx: &mut Tx<'_>,
    provider: &str,
    subject: &str,
    user: UserId,
    now: Timestamp,
) -> Result<()> {
    tx.execute_one(
        "insert into identities (provider, subject, user_id, created_at) values ($1, $2, $3, $4)",
        args![provider, subject, user, now],
    )
    .await
}
