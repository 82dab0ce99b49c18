//! Members of projects, and invitations.
//!
//! A person whose account has a proven address is added at once. Others get an invitation, because anybody can sign up
//! with a stranger's address. The invited person redeems its token after signing up; a person who proved the address
//! needs no token.
//!
//! An invitation that a key asked for opens nothing until a person confirms it by inviting the same address. Otherwise
//! a stolen key would outlive its revocation in the member that it made. An invitation that was not confirmed is
//! removed with the key.

use std::time::Duration;

use mailwright_core::address::EmailAddress;
use mailwright_core::audit::{Action, Actor};
use mailwright_core::ids::{InvitationId, ProjectId, ProjectNumber, UserId};
use mailwright_core::name::without_links;
use mailwright_core::project::Project;
use mailwright_core::role::{Capability, Holder, Role};
use mailwright_core::time::Timestamp;
use mailwright_store::account::attempts::{self, Counted};
use mailwright_store::account::user::{self, User};
use mailwright_store::project::api_key;
use mailwright_store::project::api_key::KeyHash;
use mailwright_store::project::audit::{self, Entry};
use mailwright_store::project::member as store;
use mailwright_store::{Rx, Tx, project};
use serde_json::json;

use crate::App;
use crate::account::session::digest;
use crate::error::{Error, Resource, Result};
use crate::project::key::{Token, hash};
use crate::sending::send::Operation;
use crate::sending::system_mail::{Notice, Page, enqueue};

pub use mailwright_store::project::member::{Invitation, Member, Opened};

/// Most members of a project, and most invitations.
pub const MOST: i64 = 500;
/// Most invitations that keys asked for and nobody confirmed.
const MOST_OF_KEYS: i64 = 100;
/// How long an invitation can be accepted.
const INVITED_FOR: Duration = Duration::from_hours(14 * 24);
/// Most invitations of an address in a window of [`Allowance`], from all who invite.
const MAILS_TO_ADDRESS: i64 = 9;
/// Most of them by one person, so that nobody keeps others from inviting.
const MAILS_TO_ADDRESS_BY_ONE: i64 = 3;
/// Most that are mailed for a project, and for a person, in a window.
const MAILS_OF_ONE: i64 = 50;

/// What became of inviting somebody.
#[derive(Debug)]
pub enum Invited {
    /// The address has a proven account, which is a member now.
    Member(Member),
    /// It has none, or nobody proved to receive mail there: an invitation waits for it.
    Invitation {
        /// The invitation.
        invitation: Invitation,
        /// What opens it, to be told to the invited person alone; `None` when that person was sent it.
        token: Option<Token>,
    },
}

/// An invitation that a new account redeems.
#[derive(Debug)]
pub(crate) struct Redeemed {
    token_hash: KeyHash,
    /// What it is to.
    pub(crate) project: ProjectNumber,
    /// Whether the token was sent to the address alone, so that its holder receives mail there.
    pub(crate) by_mail: bool,
}

/// The caller of a request that manages members.
#[derive(Debug, Clone)]
pub struct Manager {
    /// Who it is.
    pub actor: Actor,
    /// What it is allowed.
    pub holder: Holder,
}

impl Manager {
    fn require(&self, role: Role) -> Result<()> {
        if self.holder.may_manage(role) {
            return Ok(());
        }
        Err(Error::NotAllowed(match (role, &self.holder) {
            (Role::Owner, _) => {
                "Nobody but an owner can give ownership away, and an owner cannot be removed by others."
                    .into()
            }
            (_, Holder::Key(_)) => "With a key only members of the role MEMBER can be managed.".into(),
            _ => "Only administrators and owners manage members.".into(),
        }))
    }

    fn is(&self, user: UserId) -> bool {
        matches!(self.actor, Actor::User { id, .. } if id == user)
    }

    fn is_key(&self) -> bool {
        matches!(self.actor, Actor::Key { .. })
    }

    fn label(&self) -> String {
        match &self.actor {
            Actor::User { email, .. } => email.clone(),
            Actor::Key { name, .. } => name.clone().unwrap_or_else(|| "API key".into()),
            Actor::Operator => "operator".into(),
            Actor::Service => "service".into(),
        }
    }
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

/// What inviting somebody came to in its transaction.
enum Outcome {
    Member(Member),
    Invited(Invitation),
    /// Refused, and what was counted for it stays, so that asking without end is bounded. A refusal for want of room
    /// tells that the address has no proven account.
    Refused(Error),
}

/// The window in which invitations by mail are counted.
#[derive(Debug, Clone, Copy)]
struct Allowance {
    /// Its id: the number changes with a reset.
    project: ProjectId,
    window: Duration,
    now: Timestamp,
}

impl Allowance {
    /// Counts a mail to a stranger, and says what to refuse it with where it would make the instance a relay. The
    /// person who stands for it comes first, then the project, what the person sends to the address, and what everybody
    /// does: who is refused must not use up what others have. The order is always the same, so that two invitations
    /// cannot wait for each other.
    async fn take(
        self,
        tx: &mut Tx<'_>,
        person: Option<UserId>,
        email: &EmailAddress,
    ) -> Result<Option<Error>> {
        let by_person = person.map(|id| digest("invitations by", &[id.to_string().as_bytes()]));
        let of_project = digest("invitations of", &[self.project.to_string().as_bytes()]);
        let mut counted: Vec<_> = by_person
            .into_iter()
            .chain([of_project])
            .map(|key| Counted { key, limit: MAILS_OF_ONE })
            .collect();
        let to = email.as_str().as_bytes();
        let by = person.map_or_else(|| self.project.to_string(), |id| id.to_string());
        let by_one = digest("invitation to, by", &[to, by.as_bytes()]);
        counted.push(Counted { key: by_one, limit: MAILS_TO_ADDRESS_BY_ONE });
        counted.push(Counted { key: digest("invitation to", &[to]), limit: MAILS_TO_ADDRESS });
        let refused = attempts::attempt(tx, &counted, self.now.minus(self.window), self.now).await?;
        Ok(refused.map(|began| {
            let wait = began.plus(self.window).since(self.now).as_secs().max(1);
            Error::TooManyMails { retry_after: wait as i64 }
        }))
    }
}

impl App {
    /// The members of a project, those who came first first.
    pub async fn members(&self, project: &Project) -> Result<Vec<Member>> {
        let number = project.number;
        Ok(self.0.db.read(move |rx| Box::pin(async move { store::list(rx, number, MOST).await })).await?)
    }

    /// The invitations that nobody accepted yet, newest first.
    pub async fn invitations(&self, project: &Project) -> Result<Vec<Invitation>> {
        let number = project.number;
        Ok(self
            .0
            .db
            .read(move |rx| {
                Box::pin(async move { store::invitations(rx, number, MOST + MOST_OF_KEYS).await })
            })
            .await?)
    }

    /// Makes the owner of an address a member, or invites who has no account that is known to be the owner's. A key
    /// only asks for it: [`App::confirm_invitation`].
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
        let platform = if manager.is_key() { None } else { self.platform().await? };
        // one that is sent proves the address, so nobody else gets to see it
        let (token, mail) = match &platform {
            None => (Token::random(), None),
            Some(platform) => {
                let notice = Notice {
                    to: email.clone(),
                    page: Page::Invitation,
                    id: id.into(),
                    values: vec![
                        ("project", without_links(&project.name).into_owned()),
                        ("inviter", manager.label()),
                    ],
                };
                (self.link_token(Page::Invitation, id.into())?, Some(self.notice(platform, &notice)))
            }
        };
        let wanted = Wanted { id, email, role, token_hash: token.hash(), mail };
        let allowance =
            Allowance { project: project.id, window: self.settings().accounts.attempts_window, now };
        let invited = self.write(move |tx| Box::pin(add_or_invite(tx, number, manager, wanted, allowance)));
        match invited.await? {
            Outcome::Member(member) => Ok(Invited::Member(member)),
            Outcome::Refused(refused) => Err(refused),
            Outcome::Invited(invitation) => {
                let token = match &platform {
                    Some(platform) => {
                        self.wake_platform(platform);
                        None
                    }
                    None => invitation.confirmed.then_some(token),
                };
                tracing::info!(project = %project.id, invitation = %invitation.id, "an invitation was made");
                Ok(Invited::Invitation { invitation, token })
            }
        }
    }

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
        let read =
            self.0.db.read(move |rx| Box::pin(async move { store::opened(rx, &token_hash, now).await }));
        Ok(read.await?)
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
            .0
            .db
            .read(move |rx| {
                Box::pin(async move {
                    match project::current(rx, number).await? {
                        Some(number) => store::invitation(rx, number, id).await,
                        None => Ok(None),
                    }
                })
            })
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
        let withdrawn = self.write(move |tx| {
            Box::pin(async move {
                let unknown = || Error::not_found(Resource::Invitation, id);
                let number = project::lock(tx, number).await?.ok_or_else(unknown)?;
                let found = store::invitation(tx, number, id).await?.ok_or_else(unknown)?;
                let manager = renew(tx, number, manager).await?;
                manager.require(found.role)?;
                store::withdraw(tx, number, id).await?;
                let entry = Entry::new(Action::InvitationRevoked, found.email.to_string());
                Ok(audit::record(tx, number, &manager.actor, &entry, now).await?)
            })
        });
        withdrawn.await
    }

    /// Makes a user a member with the token of an invitation to the user's own address.
    pub async fn accept_invitation(&self, user: &User, token: &str) -> Result<()> {
        let (user, token_hash, now) = (user.clone(), hash(token), self.0.clock.now());
        let accepted = self.write(move |tx| {
            Box::pin(async move {
                let dead = || Error::not_found(Resource::Invitation, "");
                let invited = store::find_by_token(tx, &token_hash, &user.email, now).await?;
                let (_, number) = invited.ok_or_else(dead)?;
                user::hold(tx, &user.email).await?;
                room(tx, number).await?;
                let invited = store::take_by_token(tx, &token_hash, &user.email, now).await?;
                let (number, role) = invited.ok_or_else(dead)?;
                join(tx, number, (&user, true), role, now).await
            })
        });
        accepted.await
    }

    /// Notes that a person accepted this very invitation, after signing in had made the person a member.
    pub async fn agree(&self, user: &User, invitation: &Opened) -> Result<()> {
        let (user, number) = (user.id, invitation.project.number);
        let agreed = self.write(move |tx| {
            Box::pin(async move {
                let Some(number) = project::lock(tx, number).await? else { return Ok(()) };
                if store::get(tx, number, user).await?.is_some() {
                    store::accept(tx, number, user).await?;
                }
                Ok(())
            })
        });
        agreed.await
    }

    /// Changes what a member is. Making somebody the owner only offers the project, and the member hands it over by
    /// taking the role: who was the owner stays as an administrator. Nobody comes to own what he does not want, and
    /// answers for it. Taking the role that one has agrees to be a member.
    pub async fn change_role(
        &self,
        project: &Project,
        manager: Manager,
        user: UserId,
        role: Role,
    ) -> Result<Member> {
        let (number, now) = (project.number, self.0.clock.now());
        let changed = self.write(move |tx| {
            Box::pin(async move {
                let (number, member) = locked(tx, number, user).await?;
                let manager = renew(tx, number, manager).await?;
                let before = member.role;
                if role != Role::Owner {
                    demote(tx, number, &manager, &member, role).await?;
                } else if manager.is(user) {
                    take_over(tx, number, &manager, &member, now).await?;
                } else {
                    return offer(tx, number, &manager, &member, now).await;
                }
                if role != Role::Owner && before != role {
                    let told = json!({ "from": before.as_str(), "to": role.as_str() });
                    let entry = Entry::new(Action::MemberChanged, member.email.to_string()).with(told);
                    audit::record(tx, number, &manager.actor, &entry, now).await?;
                }
                store::get(tx, number, user).await?.ok_or_else(|| Error::not_found(Resource::Member, user))
            })
        });
        changed.await
    }

    /// Removes a member, who may be the caller. The last owner cannot leave. Of a disabled project members only remove
    /// themselves, the last owner included: nobody is kept in what does not work. It counts against its owners as if
    /// they had stayed, and keeps what it has.
    pub async fn remove_member(&self, project: &Project, manager: Manager, user: UserId) -> Result<()> {
        if project.disabled && !manager.is(user) {
            return Err(Error::ProjectDisabled);
        }
        let (number, now) = (project.number, self.0.clock.now());
        self.write(move |tx| Box::pin(remove(tx, number, manager, user, now))).await
    }
}

/// Locks a project: its number by then, and one of its members, who must be one.
async fn locked(tx: &mut Tx<'_>, number: ProjectNumber, user: UserId) -> Result<(ProjectNumber, Member)> {
    let unknown = || Error::not_found(Resource::Member, user);
    let number = project::lock(tx, number).await?.ok_or_else(unknown)?;
    Ok((number, store::get(tx, number, user).await?.ok_or_else(unknown)?))
}

/// Removes a member of a project as it is once it is locked.
async fn remove(
    tx: &mut Tx<'_>,
    number: ProjectNumber,
    manager: Manager,
    user: UserId,
    now: Timestamp,
) -> Result<()> {
    let (number, member) = locked(tx, number, user).await?;
    let manager = renew(tx, number, manager).await?;
    let leaves = manager.is(user);
    let is_disabled = project::get(tx, number).await?.is_some_and(|found| found.disabled);
    match (leaves, is_disabled) {
        (true, true) => {}
        (true, false) if member.role != Role::Owner || store::owners(tx, number).await? > 1 => {}
        (true, false) => return Err(last_owner()),
        (false, true) => return Err(Error::ProjectDisabled),
        (false, false) => manager.require(member.role)?,
    }
    if is_disabled && member.role == Role::Owner {
        store::authorize(tx, number, user).await?;
    }
    store::remove(tx, number, user).await?;
    let told = json!({ "role": member.role.as_str(), "left": leaves });
    let entry = Entry::new(Action::MemberRemoved, member.email.to_string()).with(told);
    Ok(audit::record(tx, number, &manager.actor, &entry, now).await?)
}

/// Makes somebody a member, who asked for it or agreed to it, or did not; `None` when it is one already.
async fn enroll(
    tx: &mut Tx<'_>,
    number: ProjectNumber,
    actor: &Actor,
    (user, accepted): (&User, bool),
    role: Role,
    now: Timestamp,
) -> Result<Option<Member>> {
    if !store::add(tx, number, user.id, role, accepted, now).await? {
        return Ok(None);
    }
    store::forget_invitation(tx, number, &user.email).await?;
    let entry =
        Entry::new(Action::MemberAdded, user.email.to_string()).with(json!({ "role": role.as_str() }));
    audit::record(tx, number, actor, &entry, now).await?;
    Ok(Some(Member {
        user: user.id,
        email: user.email.clone(),
        name: user.name.clone().filter(|_| accepted),
        role,
        offered_by: None,
        created_at: now,
    }))
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
    let key = if let Actor::Key { id, .. } = &manager.actor { Some(*id) } else { None };
    // what keys ask for must not leave persons without a place; one to the same address makes room for this one
    let (of_persons, of_keys) = store::count_invitations(tx, number, &email).await?;
    if key.is_none() && of_persons >= MOST {
        return Ok(None);
    }
    if key.is_some() && of_keys >= MOST_OF_KEYS {
        return Err(Error::Conflict(format!(
            "{MOST_OF_KEYS} invitations that keys asked for wait to be confirmed, which is the most. A member who manages \
             members has to confirm or withdraw them."
        )));
    }
    if key.is_some() && store::is_invited_by_person(tx, number, &email, now).await? {
        return Err(Error::Conflict("A member has invited this address already.".into()));
    }
    let invitation = Invitation {
        id,
        email,
        role,
        invited_by: manager.label(),
        created_at: now,
        expires_at: now.plus(INVITED_FOR),
        confirmed: key.is_none(),
    };
    store::invite(tx, number, &invitation, &token_hash, key).await?;
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

/// What who acts is allowed now that the project is locked, as it is where roles change and keys are revoked: nobody
/// does with a request on its way what he may not do any more.
async fn renew(tx: &mut Tx<'_>, number: ProjectNumber, manager: Manager) -> Result<Manager> {
    match &manager.actor {
        Actor::User { id, .. } => {
            let role = store::get(tx, number, *id).await?.map(|member| member.role);
            let held = |role| Manager { holder: Holder::Member(role), ..manager };
            role.map(held).ok_or_else(|| Error::not_found(Resource::Project, ""))
        }
        Actor::Key { id, .. } => {
            if api_key::is_live(tx, number, *id).await? {
                Ok(manager)
            } else {
                Err(Error::KeyRevoked)
            }
        }
        Actor::Operator | Actor::Service => Ok(manager),
    }
}

/// The same for what people alone do: whether somebody has a capability now that the project is locked.
pub(crate) async fn still_may(
    tx: &mut Tx<'_>,
    number: ProjectNumber,
    actor: &Actor,
    capability: Capability,
) -> Result<()> {
    let Actor::User { id, .. } = actor else { return Ok(()) };
    match store::get(tx, number, *id).await?.map(|member| member.role) {
        None => Err(Error::not_found(Resource::Project, "")),
        Some(role) if Holder::Member(role).may(capability) => Ok(()),
        Some(_) => Err(Error::NotAllowed("Your role in this project does not allow this any more.".into())),
    }
}

/// The person who is responsible for an invitation mail: the one who invites, whose address must be proven. The
/// instance stands for itself.
async fn responsible_user(tx: &mut Tx<'_>, actor: &Actor) -> Result<Option<UserId>> {
    let Actor::User { id, .. } = actor else { return Ok(None) };
    let person = user::get(tx, *id).await?.filter(|user| user.email_verified);
    person.map(|user| Some(user.id)).ok_or_else(unproven)
}

/// Withdraws what revoked keys asked for and nobody confirmed: what a stolen key began must not go on without it. The
/// addresses.
pub(crate) async fn withdraw_of_revoked(
    tx: &mut Tx<'_>,
    number: ProjectNumber,
    actor: &Actor,
    now: Timestamp,
) -> mailwright_store::Result<Vec<EmailAddress>> {
    let mut withdrawn = store::withdraw_of_revoked(tx, number).await?;
    withdrawn.sort();
    for email in &withdrawn {
        let entry = Entry::new(Action::InvitationRevoked, email.to_string());
        audit::record(tx, number, actor, &entry, now).await?;
    }
    Ok(withdrawn)
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

/// Makes a new account a member of what it was invited to, where there is [`room`] for it.
pub(crate) async fn redeem(tx: &mut Tx<'_>, invited: &Redeemed, user: UserId, now: Timestamp) -> Result<()> {
    let Some(user) = user::get(tx, user).await? else { return Ok(()) };
    let taken = store::take_by_token(tx, &invited.token_hash, &user.email, now).await?;
    match taken {
        Some((number, role)) => join(tx, number, (&user, true), role, now).await,
        None => Ok(()),
    }
}

/// Accepts every invitation of an address that its owner proved to have. One to a project that is full or disabled
/// stays, for the next time. Nobody was asked, so the name is not shown there yet.
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

/// Offers the project to a member, who owns it once he takes it.
async fn offer(
    tx: &mut Tx<'_>,
    number: ProjectNumber,
    manager: &Manager,
    to: &Member,
    now: Timestamp,
) -> Result<Member> {
    let Actor::User { id: from, .. } = manager.actor else {
        return manager.require(Role::Owner).map(|()| to.clone());
    };
    if !manager.holder.may(Capability::TransferOwnership) {
        return manager.require(Role::Owner).map(|()| to.clone());
    }
    if to.role == Role::Owner {
        return Ok(to.clone());
    }
    store::offer(tx, number, to.user, from).await?;
    let entry = Entry::new(Action::MemberChanged, to.email.to_string())
        .with(json!({ "from": to.role.as_str(), "offered": Role::Owner.as_str() }));
    audit::record(tx, number, &manager.actor, &entry, now).await?;
    Ok(Member { offered_by: Some(from), ..to.clone() })
}

/// Hands the project over to the caller, from the owner who offered it and still is one.
async fn take_over(
    tx: &mut Tx<'_>,
    number: ProjectNumber,
    manager: &Manager,
    to: &Member,
    now: Timestamp,
) -> Result<()> {
    if to.role == Role::Owner {
        return Ok(());
    }
    let from = match to.offered_by {
        Some(by) => store::get(tx, number, by).await?.filter(|member| member.role == Role::Owner),
        None => None,
    };
    let Some(from) = from else { return manager.require(Role::Owner) };
    store::set_role(tx, number, to.user, Role::Owner).await?;
    store::accept(tx, number, to.user).await?;
    store::set_role(tx, number, from.user, Role::Admin).await?;
    let entry = Entry::new(Action::OwnershipTransferred, to.email.to_string());
    Ok(audit::record(tx, number, &manager.actor, &entry, now).await?)
}

/// Gives a member a role below that of an owner. Owners step down themselves, as long as another one stays.
async fn demote(
    tx: &mut Tx<'_>,
    number: ProjectNumber,
    manager: &Manager,
    member: &Member,
    role: Role,
) -> Result<()> {
    if member.role == role && manager.is(member.user) {
        return Ok(store::accept(tx, number, member.user).await?);
    }
    if member.role == Role::Owner && manager.is(member.user) {
        if store::owners(tx, number).await? <= 1 {
            return Err(last_owner());
        }
    } else {
        manager.require(member.role.max(role))?;
    }
    Ok(store::set_role(tx, number, member.user, role).await?)
}

fn unproven() -> Error {
    Error::NotAllowed(
        "An invitation is mailed to a stranger, for which somebody has to stand: verify your own address first."
            .into(),
    )
}

fn last_owner() -> Error {
    Error::NotAllowed("You are the last owner of the project. Make another member the owner first.".into())
}

fn full() -> Error {
    Error::Conflict(format!("A project can have {MOST} members and as many invitations."))
}

#[cfg(test)]
mod tests {
    use mailwright_store::account::user::NewUser;
    use mailwright_store::database::migrate;
    use mailwright_store::delivery::suspension;
    use mailwright_store::{Db, Location, StoreMetrics};

    use super::*;

    #[tokio::test]
    async fn of_a_project_that_was_disabled_meanwhile_nobody_is_removed_by_others() {
        let (folder, now) = (tempfile::tempdir().unwrap(), Timestamp(1));
        let db =
            Db::open(&Location::Sqlite(folder.path().join("members.db")), StoreMetrics::default()).unwrap();
        migrate::migrate(&db, now).await.unwrap();
        let (refused, standing) = db
            .write(move |tx| {
                Box::pin(async move {
                    let number = project::create(tx, "Acme", "en", now).await?.number;
                    let mut owners = Vec::new();
                    for name in ["ada", "grace"] {
                        let email = EmailAddress::parse(&format!("{name}@example.com")).unwrap();
                        let new = NewUser { email, name: None, password_hash: None, email_verified: true };
                        let id = user::create(tx, &new, now).await?.unwrap();
                        store::add(tx, number, id, Role::Owner, true, now).await?;
                        owners.push((id, new.email.to_string()));
                    }
                    suspension::start(tx, number, "Unpaid", now).await?;
                    let (ada, grace) = (owners[0].clone(), owners[1].0);
                    let actor = Actor::User { id: ada.0, email: ada.1 };
                    let manager = Manager { actor, holder: Holder::Member(Role::Owner) };
                    let refused = remove(tx, number, manager, grace, now).await;
                    store::remove(tx, number, grace).await?;
                    Ok::<_, Error>((refused, project::standing(tx, grace).await?))
                })
            })
            .await
            .unwrap();
        assert!(matches!(refused, Err(Error::ProjectDisabled)), "{refused:?}");
        assert_eq!(standing, (0, false), "who was not removed did not depart");
    }
}
