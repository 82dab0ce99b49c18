//! Who may do what in a project: the one table that every endpoint is checked against.
//!
//! An endpoint names the [`Capability`] that it needs. A person has it through the [`Role`] in the project, a secret
//! key through its [`Scopes`]. `tests/tests/it/accounts/access/` calls every endpoint as every kind of caller.

use crate::names::names_in_json;

names_in_json! {
    /// The role of a member of a project.
    #[derive(PartialOrd, Ord)]
    pub enum Role {
        /// Works with the project's content.
        Member = "MEMBER",
        /// Also manages settings, domains, keys and members.
        Admin = "ADMIN",
        /// Also hands the project over. Nobody else can remove an owner.
        Owner = "OWNER",
    }
}

names_in_json! {
    /// A part of a project that a secret key can be limited to.
    #[derive(PartialOrd, Ord)]
    pub enum Scope {
        /// Reading anything.
        Read = "read",
        /// Sending mail and recording events.
        Send = "send",
        /// Contacts, their fields and events: reading and changing.
        Contacts = "contacts",
        /// Templates and campaigns: reading and changing.
        Campaigns = "campaigns",
        /// Workflows and their executions: reading and changing.
        Workflows = "workflows",
        /// Whatever a key can do.
        Everything = "everything",
    }
}

/// The scopes of a secret key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scopes(Vec<Scope>);

impl Scopes {
    /// Some scopes, each counted once.
    pub fn new(mut scopes: Vec<Scope>) -> Self {
        scopes.sort_unstable();
        scopes.dedup();
        Self(scopes)
    }

    /// The scopes of the project's own secret key.
    pub fn everything() -> Self {
        Self(vec![Scope::Everything])
    }

    /// Reads what [`Scopes::to_text`] wrote; names that are not known open nothing.
    pub fn from_text(text: &str) -> Self {
        Self::new(text.split(',').filter_map(Scope::from_name).collect())
    }

    /// The form that is stored.
    pub fn to_text(&self) -> String {
        self.names().join(",")
    }

    /// The names, in a fixed order.
    pub fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|scope| scope.as_str()).collect()
    }

    /// The scopes, in a fixed order.
    pub fn as_slice(&self) -> &[Scope] {
        &self.0
    }

    fn has(&self, scope: Scope) -> bool {
        self.0.contains(&scope)
    }
}

/// A permission that an endpoint requires of its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Capability {
    /// Reading contacts, their fields and events.
    ReadContacts,
    /// Changing contacts, their fields and events.
    WriteContacts,
    /// Reading templates, campaigns and what belongs to them.
    ReadCampaigns,
    /// Changing templates, campaigns and what belongs to them, and sending campaigns.
    WriteCampaigns,
    /// Reading workflows and their executions.
    ReadWorkflows,
    /// Changing workflows, and beginning and cancelling executions.
    WriteWorkflows,
    /// Sending single mails.
    Send,
    /// Recording events.
    Track,
    /// Reading mails and what became of them.
    ReadMail,
    /// Removing captured mails.
    WriteMail,
    /// Seeing the project: its settings, domains, members, keys' names and health.
    ReadProject,
    /// Adding and removing sender domains.
    ManageDomains,
    /// Inviting, changing and removing members.
    ManageMembers,
    /// Reading the audit log.
    ReadAudit,
    /// Reading the log of requests.
    ReadRequests,
    /// Changing settings, resetting and deleting the project.
    ManageProject,
    /// Making, replacing and revoking keys.
    ManageKeys,
    /// Erasing a person, and reading the receipts.
    ErasePeople,
    /// Making somebody else the owner.
    TransferOwnership,
}

/// Who has a capability: the least role of a person, and the scopes any of which is enough for a key.
struct Rule {
    role: Role,
    /// `None`: no key has it, whatever its scopes, so that a stolen key cannot outlive its revocation.
    scopes: Option<&'static [Scope]>,
}

impl Capability {
    /// All of them.
    pub const ALL: [Self; 19] = [
        Self::ReadContacts,
        Self::WriteContacts,
        Self::ReadCampaigns,
        Self::WriteCampaigns,
        Self::ReadWorkflows,
        Self::WriteWorkflows,
        Self::Send,
        Self::Track,
        Self::ReadMail,
        Self::WriteMail,
        Self::ReadProject,
        Self::ManageDomains,
        Self::ManageMembers,
        Self::ReadAudit,
        Self::ReadRequests,
        Self::ManageProject,
        Self::ManageKeys,
        Self::ErasePeople,
        Self::TransferOwnership,
    ];

    const fn rule(self) -> Rule {
        const fn rule(role: Role, scopes: &'static [Scope]) -> Rule {
            Rule { role, scopes: Some(scopes) }
        }
        match self {
            Self::ReadContacts => rule(Role::Member, &[Scope::Read, Scope::Contacts]),
            Self::WriteContacts => rule(Role::Member, &[Scope::Contacts]),
            Self::ReadCampaigns => rule(Role::Member, &[Scope::Read, Scope::Campaigns]),
            Self::WriteCampaigns => rule(Role::Member, &[Scope::Campaigns]),
            Self::ReadWorkflows => rule(Role::Member, &[Scope::Read, Scope::Workflows]),
            Self::WriteWorkflows => rule(Role::Member, &[Scope::Workflows]),
            Self::Send => rule(Role::Member, &[Scope::Send]),
            Self::Track => rule(Role::Member, &[Scope::Send, Scope::Contacts]),
            Self::ReadMail | Self::ReadProject => rule(Role::Member, &[Scope::Read]),
            Self::WriteMail => rule(Role::Member, &[]),
            Self::ManageDomains | Self::ManageMembers | Self::ReadAudit => rule(Role::Admin, &[]),
            Self::ReadRequests => rule(Role::Admin, &[Scope::Read]),
            Self::ManageProject | Self::ManageKeys | Self::ErasePeople => {
                Rule { role: Role::Admin, scopes: None }
            }
            Self::TransferOwnership => Rule { role: Role::Owner, scopes: None },
        }
    }
}

/// The role or the scopes with which a caller acts in a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// A person.
    Member(Role),
    /// A program with a secret key.
    Key(Scopes),
}

impl Holder {
    /// Whether the caller has a capability.
    pub fn may(&self, capability: Capability) -> bool {
        let needed = capability.rule();
        match self {
            Self::Member(role) => *role >= needed.role,
            Self::Key(scopes) => needed.scopes.is_some_and(|enough| {
                scopes.has(Scope::Everything) || enough.iter().any(|scope| scopes.has(*scope))
            }),
        }
    }

    /// Whether the caller may give, change or take away a role. Owners are out of reach, and a key reaches members
    /// only: with an administrator of its own making it would outlive its revocation.
    pub fn may_manage(&self, role: Role) -> bool {
        let reaches = match self {
            Self::Member(_) => role < Role::Owner,
            Self::Key(_) => role == Role::Member,
        };
        reaches && self.may(Capability::ManageMembers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_include_the_ones_below_them() {
        for capability in Capability::ALL {
            let [member, admin, owner] =
                [Role::Member, Role::Admin, Role::Owner].map(|role| Holder::Member(role).may(capability));
            assert!(owner && (admin || !member), "{capability:?}");
        }
        assert!(Holder::Member(Role::Member).may(Capability::WriteCampaigns));
        assert!(!Holder::Member(Role::Member).may(Capability::ManageDomains));
        assert!(!Holder::Member(Role::Admin).may(Capability::TransferOwnership));
    }

    #[test]
    fn scopes_open_their_part_alone() {
        let may = |scope, capability| Holder::Key(Scopes::new(vec![scope])).may(capability);
        for (scope, open) in [
            (
                Scope::Read,
                &[
                    Capability::ReadContacts,
                    Capability::ReadCampaigns,
                    Capability::ReadWorkflows,
                    Capability::ReadMail,
                    Capability::ReadProject,
                    Capability::ReadRequests,
                ][..],
            ),
            (Scope::Send, &[Capability::Send, Capability::Track]),
            (Scope::Contacts, &[Capability::ReadContacts, Capability::WriteContacts, Capability::Track]),
            (Scope::Campaigns, &[Capability::ReadCampaigns, Capability::WriteCampaigns]),
            (Scope::Workflows, &[Capability::ReadWorkflows, Capability::WriteWorkflows]),
        ] {
            for capability in Capability::ALL {
                assert_eq!(may(scope, capability), open.contains(&capability), "{scope:?} {capability:?}");
            }
        }
        assert!(may(Scope::Everything, Capability::ManageDomains));
        assert!(!may(Scope::Everything, Capability::ManageKeys), "a stolen key must not make its successor");
    }

    #[test]
    fn nobody_reaches_an_owner_and_keys_reach_members_only() {
        let key = Holder::Key(Scopes::everything());
        assert!(Holder::Member(Role::Admin).may_manage(Role::Admin));
        assert!(!Holder::Member(Role::Owner).may_manage(Role::Owner));
        assert!(!Holder::Member(Role::Member).may_manage(Role::Member));
        assert!(key.may_manage(Role::Member) && !key.may_manage(Role::Admin));
    }

    #[test]
    fn scopes_survive_their_stored_form() {
        let scopes = Scopes::new(vec![Scope::Contacts, Scope::Read, Scope::Read]);
        assert_eq!(scopes.to_text(), "read,contacts");
        assert_eq!(Scopes::from_text(&scopes.to_text()), scopes);
        assert!(!Holder::Key(Scopes::from_text("unheard-of")).may(Capability::ReadProject));
    }
}
