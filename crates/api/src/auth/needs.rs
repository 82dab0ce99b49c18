//! The capabilities that endpoints need, as types.

use mailwright_core::role::Capability;

/// A capability as a type, so that a handler's signature names it.
pub(crate) trait Needs {
    /// The capability.
    const CAPABILITY: Capability;
    /// Whether it is there for writing in a disabled project as well: then the use case looks whether the project is.
    const ALSO_DISABLED: bool = false;
}

macro_rules! needs {
    ($($name:ident),+ $(,)?) => { $(
        #[derive(Debug)]
        pub(crate) struct $name;

        impl Needs for $name {
            const CAPABILITY: Capability = Capability::$name;
        }
    )+ };
}

needs!(
    ReadContacts,
    WriteContacts,
    ReadCampaigns,
    WriteCampaigns,
    ReadWorkflows,
    WriteWorkflows,
    ReadMail,
    WriteMail,
    ReadProject,
    ManageDomains,
    ManageMembers,
    ManageProject,
    ManageKeys,
    ErasePeople,
    ReadAudit,
    ReadRequests,
    Track,
);

/// Capability of administrators: to pay, also for a project that is disabled because nobody did.
#[derive(Debug)]
pub(crate) struct Pay;

impl Needs for Pay {
    const CAPABILITY: Capability = Capability::ManageProject;
    const ALSO_DISABLED: bool = true;
}

/// Capability of all members: to change their own membership.
#[derive(Debug)]
pub(crate) struct Leave;

impl Needs for Leave {
    const CAPABILITY: Capability = Capability::ReadProject;
    const ALSO_DISABLED: bool = true;
}
