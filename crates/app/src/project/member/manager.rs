//! Who manages members, and with what rights. Rights are read again under the lock of the project, because they may
//! have been lost since the request began.

use mailwright_core::audit::Actor;
use mailwright_core::ids::{ProjectNumber, UserId};
use mailwright_core::role::{Capability, Holder, Role};
use mailwright_store::Tx;
use mailwright_store::project::api_key;
use mailwright_store::project::member as store;

use crate::error::{Error, Resource, Result};

/// The caller of a request that manages members.
#[derive(Debug, Clone)]
pub struct Manager {
    /// Who it is.
    pub actor: Actor,
    /// Its role or scopes.
    pub holder: Holder,
}

impl Manager {
    pub(super) fn require(&self, role: Role) -> Result<()> {
        if self.holder.may_manage(role) {
            return Ok(());
        }
        Err(Error::NotAllowed(match (role, &self.holder) {
            (Role::Owner, _) => {
                "Only an owner can offer ownership, and others cannot remove an owner.".into()
            }
            (_, Holder::Key(_)) => {
                "A key manages members of the role MEMBER only, and needs full access.".into()
            }
            _ => "Only administrators and owners manage members.".into(),
        }))
    }

    pub(super) fn is(&self, user: UserId) -> bool {
        matches!(self.actor, Actor::User { id, .. } if id == user)
    }

    pub(super) fn is_key(&self) -> bool {
        matches!(self.actor, Actor::Key { .. })
    }

    pub(super) fn label(&self) -> String {
        match &self.actor {
            Actor::User { email, .. } => email.clone(),
            Actor::Key { name, .. } => name.clone().unwrap_or_else(|| "API key".into()),
            Actor::Operator => "operator".into(),
            Actor::Service => "service".into(),
        }
    }
}

/// The rights of the actor, read again under the lock of the project, which changes of roles and revocations of keys
/// take too: a request that began before such a change cannot use the old rights.
pub(super) async fn renew(tx: &mut Tx<'_>, number: ProjectNumber, manager: Manager) -> Result<Manager> {
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

/// The same for actions of people only: whether a user has a capability, read under the lock of the project.
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
