//! What a review of a campaign finds, under the names that answers have.

use crate::names::names_in_json;

names_in_json! {
    /// Whether something keeps a campaign from being sent.
    pub enum ReviewSeverity {
        /// The campaign cannot be sent like this.
        Error = "error",
        /// It can be sent, and somebody should look at it before.
        Warning = "warning",
    }
}

names_in_json! {
    /// What is wrong with a campaign, or may be.
    pub enum ReviewCode {
        /// It was sent already, or is being sent.
        NotEditable = "NOT_EDITABLE",
        /// The project may not send from the sender's domain.
        SenderUnverified = "SENDER_UNVERIFIED",
        /// Subject or body has errors in the templates' language.
        InvalidTemplate = "INVALID_TEMPLATE",
        /// The segment, or the topic, is gone, or the filter cannot be looked up.
        InvalidAudience = "INVALID_AUDIENCE",
        /// Nobody would get a mail.
        EmptyAudience = "EMPTY_AUDIENCE",
        /// Nobody of the audience is in the topic.
        EmptyTopic = "EMPTY_TOPIC",
        /// The audience could not be counted in time.
        UncountedAudience = "UNCOUNTED_AUDIENCE",
        /// It has more recipients than the limits of the project leave room for in this month.
        OverLimit = "OVER_LIMIT",
        /// It has no footer and no link with which a reader unsubscribes.
        NoUnsubscribeLink = "NO_UNSUBSCRIBE_LINK",
        /// Some recipients have no value for what the mail writes.
        MissingValues = "MISSING_VALUES",
        /// A condition of the mail looks at nothing, so that it is the same for everybody.
        ConstantCondition = "CONSTANT_CONDITION",
        /// A button or a link of it leads nowhere.
        DeadLink = "DEAD_LINK",
        /// It is so long that Gmail shows only its beginning.
        Clipped = "CLIPPED",
        /// Its links lead by way of the service's own host, because the domain has no host for tracked links.
        NoTrackingHost = "NO_TRACKING_HOST",
        /// It was never sent as a test.
        NeverTested = "NEVER_TESTED",
        /// It was changed since it was last sent as a test.
        ChangedSinceTest = "CHANGED_SINCE_TEST",
    }
}

impl ReviewCode {
    /// How much it matters.
    pub fn severity(self) -> ReviewSeverity {
        match self {
            Self::NotEditable
            | Self::SenderUnverified
            | Self::InvalidTemplate
            | Self::InvalidAudience
            | Self::EmptyAudience
            | Self::EmptyTopic
            | Self::OverLimit => ReviewSeverity::Error,
            Self::UncountedAudience
            | Self::NoUnsubscribeLink
            | Self::MissingValues
            | Self::ConstantCondition
            | Self::DeadLink
            | Self::Clipped
            | Self::NoTrackingHost
            | Self::NeverTested
            | Self::ChangedSinceTest => ReviewSeverity::Warning,
        }
    }
}
