//! Giving an account to the owner of its address.

use mailwright_core::time::Timestamp;
use mailwright_store::Tx;
use mailwright_store::account::attempts::{self};
use mailwright_store::account::one_time_link::{self, Purpose};
use mailwright_store::account::session;
use mailwright_store::account::user::{self, User};

/// Gives an account to the person who is known to receive mail at its address. The account gets another password, or
/// none if the person comes from a provider. Sessions, links and known clients of the person who used it until now end.
/// A second factor stays if the address was proven before; otherwise a stranger may have set it up.
pub(crate) async fn hand_over(
    tx: &mut Tx<'_>,
    user: &User,
    hash: Option<&str>,
    now: Timestamp,
) -> mailwright_store::Result<()> {
    user::put_password(tx, user.id, hash, now).await?;
    session::end_all(tx, user.id, None).await?;
    for purpose in [Purpose::Verify, Purpose::Reset] {
        one_time_link::void(tx, user.id, purpose, now).await?;
    }
    attempts::forget_clients(tx, user.id).await?;
    if !user.email_verified {
        mailwright_store::account::totp::remove(tx, user.id).await?;
        user::verify(tx, user.id, &user.email, now).await?;
    }
    Ok(())
}
