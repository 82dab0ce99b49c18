//! Who is a member: listing, adding, leaving and removing.

use mailwright_core::audit::{Action, Actor};
use mailwright_core::ids::{ProjectNumber, UserId};
use mailwright_core::project::Project;
use mailwright_core::role::Role;
use mailwright_core::time::Timestamp;
use mailwright_store::account::user::User;
use mailwright_store::body;
use mailwright_store::project::audit::{self, Entry};
use mailwright_store::project::member::{self as store, Member};
use mailwright_store::{Tx, project};
use serde_json::json;

use super::manager::{Manager, renew};
use super::withdrawal::withdraw_of_member;
use crate::App;
use crate::error::{Error, Resource, Result};

/// Most members of a project, and most invitations.
pub const MOST: i64 = 500;

impl App {
    /// The members of a project, the oldest first.
    pub async fn members(&self, project: &Project) -> Result<Vec<Member>> {
        let number = project.number;
        self.read(body!(async |rx| store::list(rx, number, MOST).await)).await
    }

    /// Removes a member, who may be the caller. The last owner cannot leave. In a disabled project members can only
    /// remove themselves, the last owner included. The project keeps its data, and still counts as one of its owners'
    /// projects.
    pub async fn remove_member(&self, project: &Project, manager: Manager, user: UserId) -> Result<()> {
        if project.disabled && !manager.is(user) {
            return Err(Error::ProjectDisabled);
        }
        let (number, now) = (project.number, self.0.clock.now());
        self.write(body!(async |tx| remove(tx, number, manager, user, now).await)).await
    }
}

/// Locks a project: its number by then, and one of its members, who must be one.
pub(super) async fn locked(
    tx: &mut Tx<'_>,
    number: ProjectNumber,
    user: UserId,
) -> Result<(ProjectNumber, Member)> {
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
    withdraw_of_member(tx, number, user, &manager.actor, now).await?;
    let told = json!({ "role": member.role.as_str(), "left": leaves });
    let entry = Entry::new(Action::MemberRemoved, member.email.to_string()).with(told);
    Ok(audit::record(tx, number, &manager.actor, &entry, now).await?)
}

/// Makes somebody a member, with or without their agreement; `None` if they are a member already.
pub(super) async fn enroll(
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

pub(super) fn last_owner() -> Error {
    Error::NotAllowed("You are the last owner of the project. Make another member the owner first.".into())
}

pub(super) fn full() -> Error {
    Error::Conflict(format!("A project can have {MOST} members and as many invitations."))
}

#[cfg(test)]
mod tests {
    use mailwright_core::address::EmailAddress;
    use mailwright_core::role::Holder;
    use mailwright_store::account::user::{self, NewUser};
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
            .write(body!(async |tx| {
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
            }))
            .await
            .unwrap();
        assert!(matches!(refused, Err(Error::ProjectDisabled)), "{refused:?}");
        assert_eq!(standing, (0, false), "who was not removed did not depart");
    }
}
