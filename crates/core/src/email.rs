//! One mail to one recipient: its states, lanes and sources.

use serde::{Deserialize, Serialize};

macro_rules! names {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $text)] $variant),+ }

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
    };
}

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
        /// It was refused for good.
        Bounced = "BOUNCED",
        /// The recipient called it spam.
        Complained = "COMPLAINED",
        /// It cannot be sent, for a reason on the sender's side.
        Failed = "FAILED",
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
