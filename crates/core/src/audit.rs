//! The audit log: who did what in a project.

use crate::ids::{ApiKeyId, UserId};

/// Who acts in a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Actor {
    /// A person.
    User {
        /// The account.
        id: UserId,
        /// Its address at the time.
        email: String,
    },
    /// A program with a key.
    Key {
        /// The key.
        id: ApiKeyId,
        /// Its name; the project's own pair has none.
        name: Option<String>,
    },
    /// The operator of the instance, on the command line.
    Operator,
    /// The service itself.
    Service,
}

/// As logs name an actor: by its id, without address or name.
impl std::fmt::Display for Actor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::User { id, .. } => write!(f, "user {id}"),
            Self::Key { id, .. } => write!(f, "key {id}"),
            Self::Operator => f.write_str("operator"),
            Self::Service => f.write_str("service"),
        }
    }
}

/// An action that the audit log records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// The project was created.
    ProjectCreated,
    /// Its settings were changed.
    ProjectUpdated,
    /// Its data was purged.
    ProjectReset,
    /// It was disabled.
    ProjectDisabled,
    /// It was enabled again.
    ProjectEnabled,
    /// Its pair of keys was replaced.
    KeysRotated,
    /// A key was made.
    KeyCreated,
    /// A key was revoked.
    KeyRevoked,
    /// Somebody without an account was invited.
    MemberInvited,
    /// An invitation was withdrawn.
    InvitationRevoked,
    /// Somebody became a member.
    MemberAdded,
    /// A member's role was changed.
    MemberChanged,
    /// A member was removed, or left.
    MemberRemoved,
    /// The project got another owner.
    OwnershipTransferred,
    /// A sender domain was added.
    DomainAdded,
    /// A sender domain got another key.
    DomainRenewed,
    /// A sender domain was removed.
    DomainRemoved,
    /// A contact was deleted.
    ContactDeleted,
    /// Many contacts were to be deleted, in the background.
    ContactsDeleted,
    /// A segment was deleted.
    SegmentDeleted,
    /// The events of a name were deleted.
    EventsDeleted,
    /// A custom field was removed from all contacts.
    FieldDeleted,
    /// A template was deleted.
    TemplateDeleted,
    /// A campaign was sent.
    CampaignSent,
    /// A campaign was scheduled.
    CampaignScheduled,
    /// The time of a scheduled campaign passed while the service did not run.
    CampaignMissed,
    /// A campaign was paused.
    CampaignPaused,
    /// A campaign went on.
    CampaignResumed,
    /// Mails of a campaign were to be sent again.
    CampaignRetried,
    /// A campaign was cancelled.
    CampaignCancelled,
    /// A campaign was deleted.
    CampaignDeleted,
    /// The captured mails were removed.
    MailboxCleared,
}

impl Action {
    /// The name in the API and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ProjectCreated => "project.created",
            Self::ProjectUpdated => "project.updated",
            Self::ProjectReset => "project.reset",
            Self::ProjectDisabled => "project.disabled",
            Self::ProjectEnabled => "project.enabled",
            Self::KeysRotated => "keys.rotated",
            Self::KeyCreated => "key.created",
            Self::KeyRevoked => "key.revoked",
            Self::MemberInvited => "member.invited",
            Self::InvitationRevoked => "invitation.revoked",
            Self::MemberAdded => "member.added",
            Self::MemberChanged => "member.changed",
            Self::MemberRemoved => "member.removed",
            Self::OwnershipTransferred => "ownership.transferred",
            Self::DomainAdded => "domain.added",
            Self::DomainRenewed => "domain.renewed",
            Self::DomainRemoved => "domain.removed",
            Self::ContactDeleted => "contact.deleted",
            Self::ContactsDeleted => "contacts.deleted",
            Self::SegmentDeleted => "segment.deleted",
            Self::EventsDeleted => "events.deleted",
            Self::FieldDeleted => "field.deleted",
            Self::TemplateDeleted => "template.deleted",
            Self::CampaignSent => "campaign.sent",
            Self::CampaignScheduled => "campaign.scheduled",
            Self::CampaignMissed => "campaign.missed",
            Self::CampaignPaused => "campaign.paused",
            Self::CampaignResumed => "campaign.resumed",
            Self::CampaignRetried => "campaign.retried",
            Self::CampaignCancelled => "campaign.cancelled",
            Self::CampaignDeleted => "campaign.deleted",
            Self::MailboxCleared => "mailbox.cleared",
        }
    }
}
