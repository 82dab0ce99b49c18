//! Invitations that end with the right of whoever made them.

use mailwright_core::address::EmailAddress;
use mailwright_core::audit::{Action, Actor};
use mailwright_core::ids::{ProjectNumber, UserId};
use mailwright_core::time::Timestamp;
use mailwright_store::Tx;
use mailwright_store::project::audit::{self, Entry};
use mailwright_store::project::member as store;

/// Withdraws invitations that revoked keys asked for and nobody confirmed, so that a stolen key has no effect after its
/// revocation. Returns the addresses.
pub(crate) async fn withdraw_of_revoked(
    tx: &mut Tx<'_>,
    number: ProjectNumber,
    actor: &Actor,
    now: Timestamp,
) -> mailwright_store::Result<Vec<EmailAddress>> {
    let withdrawn = store::withdraw_of_revoked(tx, number).await?;
    note_withdrawn(tx, number, actor, withdrawn, now).await
}

/// Withdraws the open invitations of a member who may invite no longer, so that nobody comes back, or brings others in,
/// by an invitation made before.
pub(super) async fn withdraw_of_member(
    tx: &mut Tx<'_>,
    number: ProjectNumber,
    member: UserId,
    actor: &Actor,
    now: Timestamp,
) -> mailwright_store::Result<()> {
    let withdrawn = store::withdraw_of_member(tx, number, member).await?;
    note_withdrawn(tx, number, actor, withdrawn, now).await.map(drop)
}

async fn note_withdrawn(
    tx: &mut Tx<'_>,
    number: ProjectNumber,
    actor: &Actor,
    mut withdrawn: Vec<EmailAddress>,
    now: Timestamp,
) -> mailwright_store::Result<Vec<EmailAddress>> {
    withdrawn.sort();
    for email in &withdrawn {
        let entry = Entry::new(Action::InvitationRevoked, email.to_string());
        audit::record(tx, number, actor, &entry, now).await?;
    }
    Ok(withdrawn)
}
