//! How an invited person becomes a member: with the token of the invitation, or with a proven address and no token.

use mailwright_core::address::EmailAddress;
use mailwright_core::audit::Actor;
use mailwright_core::ids::{InvitationId, ProjectNumber, UserId};
use mailwright_core::role::Role;
use mailwright_core::time::Timestamp;
use mailwright_store::account::user::{self, User};
use mailwright_store::body;
use mailwright_store::project::api_key::KeyHash;
use mailwright_store::project::member::{self as store, Opened};
use mailwright_store::{Rx, Tx, project};

use super::membership::{MOST, enroll, full};
use crate::App;
use crate::error::{Error, Resource, Result};
use crate::project::key::token::hash;
use crate::sending::system_mail::Page;

/// An invitation that a new account redeems.
#[derive(Debug)]
pub(crate) struct Redeemed {
    token_hash: KeyHash,
    /// The project of the invitation.
    pub(crate) project: ProjectNumber,
    /// Whether the token was sent to the address alone, so that its holder receives mail there.
    pub(crate) by_mail: bool,
}

impl App {
    /// The invitation that a token opens for an address.
    pub(crate) async fn invited(
        &self,
        rx: &mut Rx<'_>,
        token: &str,
        email: &EmailAddress,
    ) -> mailwright_store::Result<Option<Redeemed>> {
        let token_hash = hash(token);
        let found = store::find_by_token(rx, &token_hash, email, self.0.clock.now()).await?;
        let by_mail = |id: InvitationId| {
            self.link_token(Page::Invitation, id.into()).is_ok_and(|sent| sent.hash() == token_hash)
        };
        Ok(found.map(|(id, project)| Redeemed { token_hash, project, by_mail: by_mail(id) }))
    }

    /// The invitation that a token opens, as long as it can be accepted. Looking does not accept it.
    pub async fn opened_invitation(&self, token: &str) -> Result<Option<Opened>> {
        let (token_hash, now) = (hash(token), self.0.clock.now());
        self.read(body!(async |rx| store::opened(rx, &token_hash, now).await)).await
    }

    /// Makes a user a member with the token of an invitation to the user's own address.
    pub async fn accept_invitation(&self, user: &User, token: &str) -> Result<()> {
        let (user, token_hash, now) = (user.clone(), hash(token), self.0.clock.now());
        self.write(body!(async |tx| {
            let invited = store::find_by_token(tx, &token_hash, &user.email, now).await?;
            let (_, number) = invited.ok_or_else(dead)?;
            user::hold(tx, &user.email).await?;
            room(tx, number).await?;
            let invited = store::take_by_token(tx, &token_hash, &user.email, now).await?;
            let (number, role) = invited.ok_or_else(dead)?;
            join(tx, number, (&user, true), role, now).await
        }))
        .await
    }

    /// Notes that a person accepted this very invitation, after signing in had made the person a member.
    pub async fn agree(&self, user: &User, invitation: &Opened) -> Result<()> {
        let (user, number) = (user.id, invitation.project.number);
        self.write(body!(async |tx| {
            let Some(number) = project::lock(tx, number).await? else { return Ok(()) };
            if store::get(tx, number, user).await?.is_some() {
                store::accept(tx, number, user).await?;
            }
            Ok(())
        }))
        .await
    }
}

/// Refuses a new member if the project is full or disabled, and keeps it so until the transaction ends. Returns the
/// number that the project has by then. Call it before an invitation is used up, so that a refused invitation stays;
/// all changes of invitations take the locks in this order.
pub(crate) async fn room(tx: &mut Tx<'_>, number: ProjectNumber) -> Result<ProjectNumber> {
    let locked = project::lock(tx, number).await?;
    let number = locked.ok_or_else(|| Error::not_found(Resource::Invitation, ""))?;
    if project::get(tx, number).await?.is_some_and(|found| found.disabled) {
        return Err(Error::ProjectDisabled);
    }
    if store::count(tx, number).await? >= MOST { Err(full()) } else { Ok(number) }
}

/// Makes somebody who was invited a member, who accepted this very invitation or not; a member stays what he is.
async fn join(
    tx: &mut Tx<'_>,
    number: ProjectNumber,
    (user, accepted): (&User, bool),
    role: Role,
    now: Timestamp,
) -> Result<()> {
    let actor = Actor::User { id: user.id, email: user.email.to_string() };
    enroll(tx, number, &actor, (user, accepted), role, now).await.map(drop)
}

fn dead() -> Error {
    Error::not_found(Resource::Invitation, "")
}

/// Makes a new account a member of what it was invited to, where there is [`room`] for it.
pub(crate) async fn redeem(tx: &mut Tx<'_>, invited: &Redeemed, user: UserId, now: Timestamp) -> Result<()> {
    let Some(user) = user::get(tx, user).await? else { return Ok(()) };
    let taken = store::take_by_token(tx, &invited.token_hash, &user.email, now).await?;
    // it may have been withdrawn at this moment
    let (number, role) = taken.ok_or_else(dead)?;
    join(tx, number, (&user, true), role, now).await
}

/// Accepts every invitation to an address that was verified. Invitations to projects that are full or disabled stay.
/// The person was not asked, so the projects do not show the name yet.
pub(crate) async fn accept_all(
    tx: &mut Tx<'_>,
    user: UserId,
    email: &EmailAddress,
    now: Timestamp,
) -> Result<()> {
    let invited = store::invited_to(tx, email, now).await?;
    if invited.is_empty() {
        return Ok(());
    }
    let Some(user) = user::get(tx, user).await? else { return Ok(()) };
    for number in invited {
        let number = match room(tx, number).await {
            Ok(number) => number,
            Err(failure @ Error::Store(_)) => return Err(failure),
            Err(_) => continue,
        };
        if let Some(role) = store::take(tx, number, email, now).await? {
            join(tx, number, (&user, false), role, now).await?;
        }
    }
    Ok(())
}
