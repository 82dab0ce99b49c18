//! Links that prove an address: a person who opens one receives mail there. A link is stored as a hash, for a short
//! time, and works once. Using one uses up all links of its kind.

use mailwright_core::address::EmailAddress;
use mailwright_core::ids::{OneTimeLinkId, UserId};
use mailwright_core::names;
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};

names! {
    /// The purpose of a link.
    pub enum Purpose {
        /// To note that the address is the account's.
        Verify = "verify",
        /// To set another password.
        Reset = "reset",
    }
}

/// A link to be sent.
#[derive(Debug, Clone)]
pub struct NewLink {
    /// Identifier.
    pub id: OneTimeLinkId,
    /// The account of the link.
    pub user: UserId,
    /// Its purpose.
    pub purpose: Purpose,
    /// The address it is sent to.
    pub email: EmailAddress,
    /// SHA-256 of its token.
    pub token_hash: [u8; 32],
    /// When it is no longer good.
    pub expires_at: Timestamp,
}

/// Stores a link.
pub async fn create(tx: &mut Tx<'_>, new: &NewLink, now: Timestamp) -> Result<()> {
    tx.execute_one(
        "insert into proofs (id, user_id, purpose, email, token_hash, created_at, expires_at) \
         values ($1, $2, $3, $4, $5, $6, $7)",
        args![
            new.id,
            new.user,
            new.purpose.as_str(),
            &new.email,
            new.token_hash.as_slice(),
            now,
            new.expires_at
        ],
    )
    .await
}

/// When the links of a kind that were made for a user after a time were made, the oldest first, at most 100.
pub async fn made_since(
    rx: &mut Rx<'_>,
    user: UserId,
    purpose: Purpose,
    since: Timestamp,
) -> Result<Vec<Timestamp>> {
    rx.all(
        "select created_at from proofs where user_id = $1 and purpose = $2 and created_at > $3 \
         order by created_at limit 100",
        args![user, purpose.as_str(), since],
        |r| r.get(0),
    )
    .await
}

/// The user and the address of a link that is still good.
pub async fn find(
    rx: &mut Rx<'_>,
    purpose: Purpose,
    token_hash: &[u8],
    now: Timestamp,
) -> Result<Option<(UserId, EmailAddress)>> {
    rx.optional(
        "select user_id, email from proofs where token_hash = $1 and purpose = $2 and used_at is null and expires_at > $3",
        args![token_hash, purpose.as_str(), now],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )
    .await
}

/// Uses a link that is still good: user and address. It and all others of its kind are used up.
pub async fn take(
    tx: &mut Tx<'_>,
    purpose: Purpose,
    token_hash: &[u8],
    now: Timestamp,
) -> Result<Option<(UserId, EmailAddress)>> {
    let taken: Option<(UserId, EmailAddress)> = tx
        .optional(
            "update proofs set used_at = $3 where token_hash = $1 and purpose = $2 and used_at is null \
             and expires_at > $3 returning user_id, email",
            args![token_hash, purpose.as_str(), now],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )
        .await?;
    if let Some((user, _)) = &taken {
        void(tx, *user, purpose, now).await?;
    }
    Ok(taken)
}

/// Makes the links of a kind useless that a user was sent.
pub async fn void(tx: &mut Tx<'_>, user: UserId, purpose: Purpose, now: Timestamp) -> Result<()> {
    tx.execute(
        "update proofs set used_at = $3 where user_id = $1 and purpose = $2 and used_at is null",
        args![user, purpose.as_str(), now],
    )
    .await?;
    Ok(())
}

/// Notes that somebody asked to reset the password of the account with an address.
pub async fn ask(tx: &mut Tx<'_>, email: &EmailAddress, now: Timestamp) -> Result<()> {
    tx.execute_one(
        "insert into reset_requests (id, email) values ($1, $2)",
        args![OneTimeLinkId::new(now, rand::random()), email],
    )
    .await
}

/// Removes up to `limit` of the addresses that [`ask`] noted, those that waited longest, and returns them.
pub async fn asked(tx: &mut Tx<'_>, limit: i64) -> Result<Vec<EmailAddress>> {
    tx.all(
        "delete from reset_requests where id in (select id from reset_requests order by id limit $1 {skip_locked}) \
         returning email",
        args![limit],
        |r| r.get(0),
    )
    .await
}

/// Whether [`asked`] would find anything.
pub async fn is_asked(rx: &mut Rx<'_>) -> Result<bool> {
    rx.exists("select 1 from reset_requests order by id limit 1", &[]).await
}

/// Removes links that expired before a time, some at a time; how many.
pub async fn sweep(tx: &mut Tx<'_>, before: Timestamp) -> Result<u64> {
    tx.execute(
        "delete from proofs where id in (select id from proofs where expires_at <= $1 limit 500)",
        args![before],
    )
    .await
}
