//! One mail to one recipient: its states, lanes and sources.

macro_rules! names {
    ($(#[doc = $doc:literal])* $name:ident { $($(#[doc = $vdoc:literal])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $name { $($(#[doc = $vdoc])* #[serde(rename = $text)] $variant),+ }

        impl $name {
            /// Every value, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name as it is stored and shown.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            /// The value whose name is `text`.
            pub fn from_name(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.as_str() == text)
            }
        }

        // by hand, since the derived schema would show the variants instead of the names
        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                utoipa::openapi::ObjectBuilder::new()
                    .schema_type(utoipa::openapi::schema::Type::String)
                    .description(Some([$($doc.trim()),*].join(" ")))
                    .enum_values(Some(Self::ALL.iter().map(|value| value.as_str())))
                    .into()
            }
        }

        impl utoipa::ToSchema for $name {
            fn name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
        }
    };
}

pub(crate) use names;

names! {
    /// Where a mail stands.
    EmailStatus {
        /// Waiting for a hand-over, the first or another.
        Pending = "PENDING",
        /// Being handed over: the content is about to be, or has been, written to the next hop.
        Sending = "SENDING",
        /// The next hop took it.
        Sent = "SENT",
        /// The recipient's host took it.
        Delivered = "DELIVERED",
        /// It was opened.
        Opened = "OPENED",
        /// A link in it was followed.
        Clicked = "CLICKED",
        /// It was refused for good, because there is no such address.
        Bounced = "BOUNCED",
        /// The recipient called it spam.
        Complained = "COMPLAINED",
        /// It cannot be sent, for another reason than that there is no such address.
        Failed = "FAILED",
        /// It is not sent, for a reason known before it was handed over.
        Skipped = "SKIPPED",
        /// The connection broke between the content and the reply; nobody knows whether it was taken.
        InDoubt = "IN_DOUBT",
    }
}

names! {
    /// What made a mail.
    EmailSource {
        /// `/v1/send`, or a template or campaign of that type.
        Transactional = "TRANSACTIONAL",
        /// A campaign.
        Campaign = "CAMPAIGN",
        /// A workflow step.
        Workflow = "WORKFLOW",
    }
}

names! {
    /// Where a campaign's mail stands in the campaign's ledger. It says what the hand-over came to, and stays when the
    /// mail is opened, clicked or complained about later.
    RecipientState {
        /// It waits, or is on the wire.
        Waiting = "WAITING",
        /// The next hop took it.
        Accepted = "ACCEPTED",
        /// It is not sent, for a reason known before.
        Skipped = "SKIPPED",
        /// It was tried in vain.
        Failed = "FAILED",
        /// Nobody knows whether it was taken.
        InDoubt = "IN_DOUBT",
    }
}

impl RecipientState {
    /// What a hand-over came to that left a mail in `status`.
    pub fn of(status: EmailStatus) -> Self {
        match status {
            EmailStatus::Pending | EmailStatus::Sending => Self::Waiting,
            EmailStatus::Sent
            | EmailStatus::Delivered
            | EmailStatus::Opened
            | EmailStatus::Clicked
            | EmailStatus::Complained => Self::Accepted,
            EmailStatus::Skipped => Self::Skipped,
            EmailStatus::Bounced | EmailStatus::Failed => Self::Failed,
            EmailStatus::InDoubt => Self::InDoubt,
        }
    }
}

names! {
    /// Why a mail is not sent.
    Reason {
        /// The contact is not subscribed.
        Unsubscribed = "unsubscribed",
        /// The address refused mail for good, or complained.
        Suppressed = "suppressed",
        /// The contact was removed.
        Deleted = "deleted",
        /// The campaign has written to that address already.
        Duplicate = "duplicate",
        /// The campaign was cancelled.
        Cancelled = "cancelled",
        /// It cannot be put together.
        Unrenderable = "unrenderable",
        /// The next hop says that there is no such address.
        Bounced = "bounced",
        /// The next hop refused recipient or content for good, and not because there is no such address.
        Rejected = "rejected",
        /// It is larger than the next hop takes.
        TooLarge = "too_large",
        /// It was tried for too long.
        Expired = "expired",
        /// The sender may not send: refused by the next hop, or its domain is gone.
        Sender = "sender",
    }
}

/// The queue a mail waits in. Each has reserved capacity, so that one never waits behind another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lane {
    /// One mail for one action of somebody.
    Transactional,
    /// Mail of automations.
    Workflow,
    /// Mail to an audience.
    Campaign,
}

impl Lane {
    /// Every lane, the most urgent first.
    pub const ALL: [Self; 3] = [Self::Transactional, Self::Workflow, Self::Campaign];

    /// The number stored with a mail.
    pub fn number(self) -> i64 {
        match self {
            Self::Transactional => 0,
            Self::Workflow => 1,
            Self::Campaign => 2,
        }
    }

    /// The name in metrics and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Transactional => "transactional",
            Self::Workflow => "workflow",
            Self::Campaign => "campaign",
        }
    }
}
