//! The capabilities that endpoints need, as types.

use mailwright_core::role::Capability;

/// A capability as a type, so that a handler's signature names it.
pub(crate) trait Needs {
    /// The capability.
    const CAPABILITY: Capability;
    /// Whether a disabled project does not refuse it, whatever its method: it only reads, or the use case looks whether the
    /// project is.
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

/// Capability of requests that read contacts and have a body. A disabled project can be read.
#[derive(Debug)]
pub(crate) struct SearchContacts;

impl Needs for SearchContacts {
    const CAPABILITY: Capability = Capability::ReadContacts;
    const ALSO_DISABLED: bool = true;
}

/// Capability of requests that have a mail looked at that is not saved. A disabled project can be read.
#[derive(Debug)]
pub(crate) struct LookAtMail;

impl Needs for LookAtMail {
    const CAPABILITY: Capability = Capability::ReadCampaigns;
    const ALSO_DISABLED: bool = true;
}

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
