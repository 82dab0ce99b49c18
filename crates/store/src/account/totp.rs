//! Second factors: the seed of an account's codes, and its recovery codes.

use mailwright_core::ids::UserId;
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;

/// The second factor of an account.
#[derive(Debug, Clone)]
pub struct Factor {
    /// The seed of its codes, encrypted.
    pub seed: Vec<u8>,
    /// Whether a code proved that the owner has the seed. Before that it opens and closes nothing.
    pub confirmed: bool,
}

/// The second factor of an account.
pub async fn get(rx: &mut Rx<'_>, user: UserId) -> Result<Option<Factor>> {
    rx.optional("select seed, confirmed_at is not null from totp where user_id = $1", args![user], |r| {
        Ok(Factor { seed: r.get(0)?, confirmed: r.get(1)? })
    })
    .await
}

/// Stores a seed that has to be confirmed, in place of an earlier one that was not confirmed. False if the user has a
/// confirmed one.
pub async fn begin(tx: &mut Tx<'_>, user: UserId, seed: &[u8], now: Timestamp) -> Result<bool> {
    let stored = tx
        .execute(
            "insert into totp (user_id, seed, created_at, last_step) values ($1, $2, $3, 0) \
             on conflict (user_id) do update set seed = excluded.seed, created_at = excluded.created_at \
             where totp.confirmed_at is null",
            args![user, seed, now],
        )
        .await?;
    Ok(stored == 1)
}

/// Notes that the owner has the seed that is stored; `step` is the time step of the code that proved it. False when
/// another seed is stored by now, or the factor is confirmed already.
pub async fn confirm(tx: &mut Tx<'_>, user: UserId, seed: &[u8], step: i64, now: Timestamp) -> Result<bool> {
    let confirmed = tx
        .execute(
            "update totp set confirmed_at = $4, last_step = $3 where user_id = $1 and seed = $2 and confirmed_at is null",
            args![user, seed, step, now],
        )
        .await?;
    Ok(confirmed == 1)
}

/// Uses the code of a time step up. False when it, or a later one, was used before.
pub async fn use_step(tx: &mut Tx<'_>, user: UserId, step: i64) -> Result<bool> {
    let changed = tx
        .execute(
            "update totp set last_step = $2 where user_id = $1 and last_step < $2 and confirmed_at is not null",
            args![user, step],
        )
        .await?;
    Ok(changed == 1)
}

/// Removes the second factor of an account with its recovery codes. False when it has none.
pub async fn remove(tx: &mut Tx<'_>, user: UserId) -> Result<bool> {
    tx.execute("delete from recovery_codes where user_id = $1", args![user]).await?;
    Ok(tx.execute("delete from totp where user_id = $1", args![user]).await? == 1)
}

/// Gives an account recovery codes, in the place of those it had; each is the hash of one.
pub async fn put_recovery_codes(tx: &mut Tx<'_>, user: UserId, hashes: &[[u8; 32]]) -> Result<()> {
    tx.execute("delete from recovery_codes where user_id = $1", args![user]).await?;
    tx.each(
        "insert into recovery_codes (user_id, hash) select $2, r.hash from {rows r: hash bytes}",
        &[Arg::Blobs(hashes.iter().map(|hash| Some(hash.as_slice().into())).collect()), user.into()],
    )
    .await?;
    Ok(())
}

/// Uses a recovery code up. False when the account has no such code.
pub async fn use_recovery_code(tx: &mut Tx<'_>, user: UserId, hash: &[u8]) -> Result<bool> {
    let removed =
        tx.execute("delete from recovery_codes where user_id = $1 and hash = $2", args![user, hash]).await?;
    Ok(removed == 1)
}

/// How many recovery codes an account has left.
pub async fn recovery_codes_left(rx: &mut Rx<'_>, user: UserId) -> Result<i64> {
    rx.one("select count(*) from recovery_codes where user_id = $1", args![user], |r| r.get(0)).await
}
