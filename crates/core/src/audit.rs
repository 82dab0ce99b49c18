//! The audit log: who did what in a project.

use crate::ids::{ApiKeyId, UserId};
use crate::names;

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

impl Actor {
    /// The address or the name of a user or a key.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::User { email, .. } => Some(email),
            Self::Key { name, .. } => name.as_deref(),
            Self::Operator | Self::Service => None,
        }
    }
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

names! {
    /// An action that the audit log records.
    pub enum Action {
        /// The project was created.
        ProjectCreated = "project.created",
        /// The settings of the project were changed.
        ProjectUpdated = "project.updated",
        /// The project was reset.
        ProjectReset = "project.reset",
        /// The project was disabled.
        ProjectDisabled = "project.disabled",
        /// The project was enabled again.
        ProjectEnabled = "project.enabled",
        /// The project's own pair of keys was replaced.
        KeysRotated = "keys.rotated",
        /// The secret that requests of workflows are signed with was replaced.
        WebhookSecretRotated = "webhook_secret.rotated",
        /// A key was made.
        KeyCreated = "key.created",
        /// A key was revoked.
        KeyRevoked = "key.revoked",
        /// Somebody without an account was invited.
        MemberInvited = "member.invited",
        /// An invitation was withdrawn.
        InvitationRevoked = "invitation.revoked",
        /// Somebody became a member.
        MemberAdded = "member.added",
        /// A member's role was changed.
        MemberChanged = "member.changed",
        /// A member was removed, or left.
        MemberRemoved = "member.removed",
        /// The project got another owner.
        OwnershipTransferred = "ownership.transferred",
        /// A sender domain was added.
        DomainAdded = "domain.added",
        /// A sender domain got another key.
        DomainRenewed = "domain.renewed",
        /// New keys were made for a sender domain.
        DomainKeyMade = "domain.key_made",
        /// A key of a sender domain was replaced by the new one, whose record was found.
        DomainKeyReplaced = "domain.key_replaced",
        /// A sender domain was registered with the service that a transport leads to, or its key was replaced there.
        DomainIdentityRegistered = "domain.identity_registered",
        /// A sender domain was removed.
        DomainRemoved = "domain.removed",
        /// Mail that waits was to wait on, to leave by another transport, or to be given up.
        InterventionMade = "intervention.made",
        /// Such an intervention was ended.
        InterventionEnded = "intervention.ended",
        /// A contact was deleted.
        ContactDeleted = "contact.deleted",
        /// A person was to be erased, in the background.
        PersonErased = "person.erased",
        /// Many contacts were to be deleted, in the background.
        ContactsDeleted = "contacts.deleted",
        /// A segment was deleted.
        SegmentDeleted = "segment.deleted",
        /// The events of a name were deleted.
        EventsDeleted = "events.deleted",
        /// A custom field was removed from all contacts.
        FieldDeleted = "field.deleted",
        /// A template was deleted.
        TemplateDeleted = "template.deleted",
        /// An uploaded picture was deleted.
        UploadDeleted = "upload.deleted",
        /// A topic was created.
        TopicCreated = "topic.created",
        /// A topic was changed.
        TopicUpdated = "topic.updated",
        /// A topic was deleted.
        TopicDeleted = "topic.deleted",
        /// A campaign was sent.
        CampaignSent = "campaign.sent",
        /// A campaign was scheduled.
        CampaignScheduled = "campaign.scheduled",
        /// The time of a scheduled campaign passed while the service did not run.
        CampaignMissed = "campaign.missed",
        /// A campaign was paused.
        CampaignPaused = "campaign.paused",
        /// A campaign went on.
        CampaignResumed = "campaign.resumed",
        /// Mails of a campaign were to be sent again.
        CampaignRetried = "campaign.retried",
        /// A campaign was cancelled.
        CampaignCancelled = "campaign.cancelled",
        /// A campaign was deleted.
        CampaignDeleted = "campaign.deleted",
        /// A workflow was enabled.
        WorkflowEnabled = "workflow.enabled",
        /// A workflow was disabled.
        WorkflowDisabled = "workflow.disabled",
        /// What was edited of a workflow came into force.
        WorkflowPublished = "workflow.published",
        /// A workflow was deleted.
        WorkflowDeleted = "workflow.deleted",
        /// The members of a segment were to be enrolled in a workflow.
        SegmentEnrolled = "workflow.segment_enrolled",
        /// Executions were to be moved to the version of a workflow that is in force.
        ExecutionsMigrated = "workflow.executions_migrated",
        /// All executions of a workflow were cancelled.
        ExecutionsCancelled = "workflow.executions_cancelled",
        /// An address was put on the list of those that get no mail.
        SuppressionAdded = "suppression.added",
        /// Several addresses were put on the list at once.
        SuppressionsAdded = "suppressions.added",
        /// An address was taken off the list.
        SuppressionRemoved = "suppression.removed",
        /// A file of addresses for the list was to be read, in the background.
        SuppressionsImported = "suppressions.imported",
        /// A rule that keeps mail from addresses was made.
        SuppressionRuleCreated = "suppression_rule.created",
        /// Such a rule was changed.
        SuppressionRuleUpdated = "suppression_rule.updated",
        /// Such a rule was removed.
        SuppressionRuleDeleted = "suppression_rule.deleted",
        /// The limits on the mails of a month were changed.
        BillingLimitsChanged = "billing.limits_changed",
        /// The project was subscribed.
        SubscriptionStarted = "billing.subscription_started",
        /// The subscription of the project ended.
        SubscriptionEnded = "billing.subscription_ended",
        /// Mails that a restore held were to be sent.
        HeldMailsResent = "held_mails.resent",
        /// Mails that a restore held are not sent.
        HeldMailsDiscarded = "held_mails.discarded",
        /// The captured mails were removed.
        MailboxCleared = "mailbox.cleared",
    }
}
