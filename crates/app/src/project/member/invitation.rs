//! Inviting people, and withdrawing invitations.
//!
//! An invitation that a key asked for opens nothing until a person confirms it by inviting the same address. Otherwise
//! a stolen key would outlive its revocation in the member that it made. An invitation that was not confirmed is
//! removed with the key.

use std::time::Duration;

use mailwright_core::address::EmailAddress;
use mailwright_core::audit::{Action, Actor};
use mailwright_core::ids::{InvitationId, ProjectNumber, UserId};
use mailwright_core::name::without_links;
use mailwright_core::project::Project;
use mailwright_core::role::Role;
use mailwright_core::time::Timestamp;
use mailwright_store::account::user::{self, User};
use mailwright_store::body;
use mailwright_store::project::api_key::KeyHash;
use mailwright_store::project::audit::{self, Entry};
use mailwright_store::project::member::{self as store, Invitation, Inviter, Member};
use mailwright_store::{Tx, project};
use serde_json::json;

use super::mail_limit::Allowance;
use super::manager::{Manager, renew};
use super::membership::{MOST, enroll, full};
use crate::App;
use crate::error::{Error, Resource, Result};
use crate::project::key::token::Token;
use crate::sending::send::Operation;
use crate::sending::system_mail::{Notice, Page, enqueue};

/// Most invitations that keys asked for and nobody confirmed.
const MOST_OF_KEYS: i64 = 100;
/// How long an invitation can be accepted.
const INVITED_FOR: Duration = Duration::from_hours(14 * 24);

/// The result of inviting somebody.
#[derive(Debug)]
pub enum Invited {
    /// The address has a proven account, which is a member now.
    Member(Member),
    /// The address has no account, or its account is not verified: an invitation waits for it.
    Invitation {
        /// The invitation.
        invitation: Invitation,
        /// Its token, for the invited person only; `None` if it was sent by mail.
        token: Option<Token>,
    },
}

/// An invitation that is to be made.
#[derive(Clone)]
struct Wanted {
    id: InvitationId,
    email: EmailAddress,
    role: Role,
    token_hash: KeyHash,
    /// The mail that brings it, where the instance sends mail.
    mail: Option<Operation>,
}

/// The result of an invitation in its transaction.
enum Outcome {
    Member(Member),
    Invited(Invitation),
    /// Refused. The counts of the request stay, so that repeated requests are bounded. A refusal because the project is
    /// full shows that the address has no verified account.
    Refused(Error),
}

impl App {
    /// The invitations that nobody accepted yet, newest first.
    pub async fn invitations(&self, project: &Project) -> Result<Vec<Invitation>> {
        let number = project.number;
        self.read(body!(async |rx| store::invitations(rx, number, MOST + MOST_OF_KEYS).await)).await
    }

    /// Makes the owner of an address a member if the address has a verified account, and invites the address otherwise.
    /// A key only asks for an invitation: [`App::confirm_invitation`].
    pub async fn invite(
        &self,
        project: &Project,
        manager: Manager,
        email: EmailAddress,
        role: Role,
    ) -> Result<Invited> {
        manager.require(role)?;
        let (number, now) = (project.number, self.0.clock.now());
        let id = InvitationId::new(now, rand::random());
        // what a key asks for is sent to nobody
        let sender = if manager.is_key() { None } else { self.system_sender().await? };
        // one that is sent proves the address, so nobody else gets to see it
        let (token, mail) = match &sender {
            None => (Token::random(), None),
            Some(sender) => {
                let notice = Notice {
                    to: email.clone(),
                    page: Page::Invitation,
                    id: id.into(),
                    values: vec![
                        ("project", without_links(&project.name).into_owned()),
                        ("inviter", manager.label()),
                    ],
                };
                (self.link_token(Page::Invitation, id.into())?, Some(self.notice(sender, &notice)))
            }
        };
        let wanted = Wanted { id, email, role, token_hash: token.hash(), mail };
        let allowance =
            Allowance { project: project.id, window: self.settings().accounts.attempts_window, now };
        let invited =
            self.write(body!(async |tx| add_or_invite(tx, number, manager, wanted, allowance).await));
        match invited.await? {
            Outcome::Member(member) => Ok(Invited::Member(member)),
            Outcome::Refused(refused) => Err(refused),
            Outcome::Invited(invitation) => {
                let token = match &sender {
                    Some(sender) => {
                        self.wake_system_mail(sender);
                        None
                    }
                    None => invitation.confirmed.then_some(token),
                };
                tracing::info!(project = %project.id, invitation = %invitation.id, "an invitation was made");
                Ok(Invited::Invitation { invitation, token })
            }
        }
    }

    /// Does what a key asked for, in the name of a person who may.
    pub async fn confirm_invitation(
        &self,
        project: &Project,
        manager: Manager,
        id: InvitationId,
    ) -> Result<Invited> {
        let number = project.number;
        let found = self
            .read(body!(async |rx| {
                match project::current(rx, number).await? {
                    Some(number) => store::invitation(rx, number, id).await,
                    None => Ok(None),
                }
            }))
            .await?
            .ok_or_else(|| Error::not_found(Resource::Invitation, id))?;
        if found.confirmed {
            return Err(Error::Conflict("A person made this invitation, or confirmed it already.".into()));
        }
        self.invite(project, manager, found.email, found.role).await
    }

    /// Withdraws an invitation, as far as the caller may give the role away that it is to.
    pub async fn withdraw_invitation(
        &self,
        project: &Project,
        manager: Manager,
        id: InvitationId,
    ) -> Result<()> {
        let (number, now) = (project.number, self.0.clock.now());
        self.write(body!(async |tx| {
            let unknown = || Error::not_found(Resource::Invitation, id);
            let number = project::lock(tx, number).await?.ok_or_else(unknown)?;
            let found = store::invitation(tx, number, id).await?.ok_or_else(unknown)?;
            let manager = renew(tx, number, manager).await?;
            manager.require(found.role)?;
            store::withdraw(tx, number, id).await?;
            let entry = Entry::new(Action::InvitationRevoked, found.email.to_string());
            Ok(audit::record(tx, number, &manager.actor, &entry, now).await?)
        }))
        .await
    }
}

/// Adds the account that stands for an address, or invites the address. Each address counts, with an account or
/// without, so that a caller learns about few accounts.
async fn add_or_invite(
    tx: &mut Tx<'_>,
    number: ProjectNumber,
    manager: Manager,
    wanted: Wanted,
    allowance: Allowance,
) -> Result<Outcome> {
    user::hold(tx, &wanted.email).await?;
    let locked = project::lock(tx, number).await?;
    let number = locked.ok_or_else(|| Error::not_found(Resource::Project, ""))?;
    let manager = renew(tx, number, manager).await?;
    manager.require(wanted.role)?;
    if store::count(tx, number).await? >= MOST {
        return Err(full());
    }
    let owner = owner_of(tx, number, &wanted, manager.is_key()).await?;
    let is_member = match &owner {
        Some(user) => store::get(tx, number, user.id).await?.is_some(),
        None => false,
    };
    // counted, whether it is going to be mailed or not
    if wanted.mail.is_some() && !is_member {
        let person = responsible_user(tx, &manager.actor).await?;
        if let Some(refused) = allowance.take(tx, person, &wanted.email).await? {
            return Ok(Outcome::Refused(refused));
        }
    }
    let now = allowance.now;
    if let Some(user) = owner {
        let added = enroll(tx, number, &manager.actor, (&user, false), wanted.role, now).await?;
        let member_already =
            || Error::Conflict(format!("{} is a member of the project already.", user.email));
        return added.map(Outcome::Member).ok_or_else(member_already);
    }
    let invited = invite(tx, number, &manager, wanted, now).await?;
    Ok(invited.map_or_else(|| Outcome::Refused(full()), Outcome::Invited))
}

/// Invites an address; `None` when there are as many invitations of persons as there may be.
async fn invite(
    tx: &mut Tx<'_>,
    number: ProjectNumber,
    manager: &Manager,
    Wanted { id, email, role, token_hash, mail }: Wanted,
    now: Timestamp,
) -> Result<Option<Invitation>> {
    let inviter = match &manager.actor {
        Actor::User { id, .. } => Inviter::Member(*id),
        Actor::Key { id, .. } => Inviter::Key(*id),
        Actor::Operator | Actor::Service => Inviter::Instance,
    };
    let by_key = manager.is_key();
    // what keys ask for must not leave persons without a place; one to the same address makes room for this one
    let (of_persons, of_keys) = store::count_invitations(tx, number, &email).await?;
    if !by_key && of_persons >= MOST {
        return Ok(None);
    }
    if by_key && of_keys >= MOST_OF_KEYS {
        return Err(Error::Conflict(format!(
            "{MOST_OF_KEYS} invitations that keys asked for wait to be confirmed, which is the maximum. An \
             administrator or the owner has to confirm or withdraw some of them."
        )));
    }
    if by_key && store::is_invited_by_person(tx, number, &email, now).await? {
        return Err(Error::Conflict("A member has invited this address already.".into()));
    }
    let invitation = Invitation {
        id,
        email,
        role,
        invited_by: manager.label(),
        created_at: now,
        expires_at: now.plus(INVITED_FOR),
        confirmed: !by_key,
    };
    store::invite(tx, number, &invitation, &token_hash, inviter).await?;
    let told = json!({ "role": role.as_str() });
    let entry = Entry::new(Action::MemberInvited, invitation.email.to_string()).with(told);
    audit::record(tx, number, &manager.actor, &entry, now).await?;
    if let Some(mail) = mail {
        enqueue(tx, &[mail]).await?;
    }
    Ok(Some(invitation))
}

/// The account that an address stands for: one whose address is proven, and none if a key asks. The account of a member
/// is found as well.
async fn owner_of(
    tx: &mut Tx<'_>,
    number: ProjectNumber,
    wanted: &Wanted,
    by_key: bool,
) -> mailwright_store::Result<Option<User>> {
    let Some(user) = user::by_email(tx, &wanted.email).await? else { return Ok(None) };
    let known = (user.email_verified && !by_key) || store::get(tx, number, user.id).await?.is_some();
    Ok(known.then_some(user))
}

/// The person who is responsible for an invitation mail: the one who invites, whose address must be verified. `None`
/// for the instance itself.
async fn responsible_user(tx: &mut Tx<'_>, actor: &Actor) -> Result<Option<UserId>> {
    let Actor::User { id, .. } = actor else { return Ok(None) };
    let person = user::get(tx, *id).await?.filter(|user| user.email_verified);
    person.map(|user| Some(user.id)).ok_or_else(unproven)
}

fn unproven() -> Error {
    Error::NotAllowed(
        "Invitations are mailed to other people, so your own address must be verified first.".into(),
    )
}
