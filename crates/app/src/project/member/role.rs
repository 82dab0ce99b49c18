//! Changing what a member is, and handing a project over.

use mailwright_core::audit::{Action, Actor};
use mailwright_core::ids::{ProjectNumber, UserId};
use mailwright_core::project::Project;
use mailwright_core::role::{Capability, Holder, Role};
use mailwright_core::time::Timestamp;
use mailwright_store::Tx;
use mailwright_store::account::user;
use mailwright_store::body;
use mailwright_store::project::audit::{self, Entry};
use mailwright_store::project::member::{self as store, Member};
use serde_json::json;

use super::manager::{Manager, renew};
use super::membership::{last_owner, locked};
use super::withdrawal::withdraw_of_member;
use crate::App;
use crate::error::{Error, Resource, Result};
use crate::project::room_for_project;

impl App {
    /// Changes what a member is. Making somebody the owner only offers the project, and the member hands it over by
    /// taking the role: who was the owner stays as an administrator. So nobody becomes an owner without agreeing. A
    /// member who sets the role that they have agrees to be a member.
    pub async fn change_role(
        &self,
        project: &Project,
        manager: Manager,
        user: UserId,
        role: Role,
    ) -> Result<Member> {
        let (number, now) = (project.number, self.0.clock.now());
        let most = self.settings().accounts.projects_per_user;
        self.write(body!(async |tx| {
            if role == Role::Owner && manager.is(user) {
                // so that projects made and taken over at the same time are counted one after the other
                user::lock(tx, user).await?.ok_or(Error::SignedOut)?;
            }
            let (number, member) = locked(tx, number, user).await?;
            let manager = renew(tx, number, manager).await?;
            let before = member.role;
            if role != Role::Owner {
                demote(tx, number, &manager, &member, role, now).await?;
            } else if manager.is(user) {
                take_over(tx, number, &manager, &member, most, now).await?;
            } else {
                return offer(tx, number, &manager, &member, now).await;
            }
            if role != Role::Owner && before != role {
                let told = json!({ "from": before.as_str(), "to": role.as_str() });
                let entry = Entry::new(Action::MemberChanged, member.email.to_string()).with(told);
                audit::record(tx, number, &manager.actor, &entry, now).await?;
            }
            store::get(tx, number, user).await?.ok_or_else(|| Error::not_found(Resource::Member, user))
        }))
        .await
    }
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
    most: i64,
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
    room_for_project(tx, to.user, most).await?;
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
    now: Timestamp,
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
    if !Holder::Member(role).may(Capability::ManageMembers) {
        withdraw_of_member(tx, number, member.user, &manager.actor, now).await?;
    }
    Ok(store::set_role(tx, number, member.user, role).await?)
}
