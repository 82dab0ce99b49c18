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

macro_rules! needs_also_disabled {
    ($($(#[$doc:meta])* $name:ident: $capability:ident),+ $(,)?) => { $(
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) struct $name;

        impl Needs for $name {
            const CAPABILITY: Capability = Capability::$capability;
            const ALSO_DISABLED: bool = true;
        }
    )+ };
}

needs_also_disabled!(
    /// To read contacts by requests that have a body. A disabled project can be read.
    SearchContacts: ReadContacts,
    /// To have a mail looked at that is not saved. A disabled project can be read.
    LookAtMail: ReadCampaigns,
    /// Of administrators: to pay, also for a project that is disabled because nobody did.
    Pay: ManageProject,
    /// Of all members: to change their own membership.
    Leave: ReadProject,
);
