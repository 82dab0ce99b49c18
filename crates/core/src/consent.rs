//! The evidence of consent: what somebody agreed to or refused, when, and how the service knows.

use std::net::IpAddr;
use std::time::Duration;

use crate::ids::EmailId;
use crate::locale::Locale;
use crate::names::names_in_json;

/// Most entries of evidence that a contact keeps; the oldest go.
pub const MAX_ENTRIES: usize = 1_000;
/// How long the link of a confirmation mail works.
pub const CONFIRMATION_VALID: Duration = Duration::from_hours(30 * 24);
/// How soon after a confirmation mail another one may be asked for.
pub const CONFIRMATION_PAUSE: Duration = Duration::from_hours(24);

names_in_json! {
    /// What changed.
    pub enum ConsentChange {
        /// The contact was subscribed.
        Subscribed = "subscribed",
        /// The contact was unsubscribed from everything.
        Unsubscribed = "unsubscribed",
        /// The contact joined a topic.
        Joined = "topic-joined",
        /// The contact left a topic.
        Left = "topic-left",
        /// The contact was asked to confirm.
        Requested = "requested",
        /// The contact confirmed, and is subscribed, or in the topic, since then.
        Confirmed = "confirmed",
    }
}

names_in_json! {
    /// The way by which a change came.
    pub enum ConsentWay {
        /// The person, on a page of the service.
        Page = "page",
        /// The person's mail program (RFC 8058), or its provider.
        OneClick = "one-click",
        /// A request with a secret key.
        Api = "api",
        /// A member of the project.
        Dashboard = "dashboard",
        /// An event that was tracked with a secret key.
        Track = "track",
        /// An event that was tracked with the public key.
        PublicKey = "public-key",
        /// An import.
        Import = "import",
        /// A step of a workflow.
        Workflow = "workflow",
        /// A mail that the person wrote to the project.
        Inbound = "inbound",
        /// A mail bounced.
        Bounce = "bounce",
        /// The person reported a mail as spam.
        Complaint = "complaint",
    }
}

impl ConsentWay {
    /// Whether somebody else than the person may have wished for it, so that the person is asked where the project, or
    /// the topic, wants that. A workflow acts on what the person did; who writes to a project does not ask for its mail.
    pub fn is_asked_about(self) -> bool {
        match self {
            Self::Api | Self::Dashboard | Self::Track | Self::PublicKey | Self::Import | Self::Inbound => {
                true
            }
            Self::Page | Self::OneClick | Self::Workflow | Self::Bounce | Self::Complaint => false,
        }
    }
}

/// How the service knows of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evidence {
    /// The way by which it came.
    pub way: ConsentWay,
    /// The mail whose link was followed, or that bounced or was complained about.
    pub mail: Option<EmailId>,
    /// The language of the page.
    pub language: Option<Locale>,
    /// The address of the client, where the project keeps it.
    pub client: Option<IpAddr>,
    /// Whether the person confirmed with it what was asked for before.
    pub confirms: bool,
}

impl Evidence {
    /// A way, and nothing more.
    pub const fn by(way: ConsentWay) -> Self {
        Self { way, mail: None, language: None, client: None, confirms: false }
    }

    /// Whether a contact that is subscribed by it is asked to confirm first, where the project, or the topic, wants
    /// double opt-in.
    pub fn asks(&self, double_opt_in: bool) -> bool {
        double_opt_in && self.way.is_asked_about()
    }

    /// The same, because of a mail.
    #[must_use]
    pub const fn because_of(self, mail: Option<EmailId>) -> Self {
        Self { mail, ..self }
    }

    /// What it is evidence of when the subscription becomes this.
    pub fn of_flip(self, subscribed: bool) -> ConsentChange {
        match (subscribed, self.confirms) {
            (true, true) => ConsentChange::Confirmed,
            (true, false) => ConsentChange::Subscribed,
            (false, _) => ConsentChange::Unsubscribed,
        }
    }

    /// What it is evidence of when a contact joins or leaves a topic.
    pub fn of_choice(self, subscribed: bool) -> ConsentChange {
        match (subscribed, self.confirms) {
            (true, true) => ConsentChange::Confirmed,
            (true, false) => ConsentChange::Joined,
            (false, _) => ConsentChange::Left,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_acts_in_person_is_not_asked() {
        let asked: Vec<_> = ConsentWay::ALL.into_iter().filter(|way| way.is_asked_about()).collect();
        assert_eq!(
            asked,
            [
                ConsentWay::Api,
                ConsentWay::Dashboard,
                ConsentWay::Track,
                ConsentWay::PublicKey,
                ConsentWay::Import,
                ConsentWay::Inbound
            ]
        );
    }

    #[test]
    fn a_confirmation_is_told_from_a_wish() {
        let wish = Evidence::by(ConsentWay::Page);
        let confirmation = Evidence { confirms: true, ..wish };
        assert_eq!(wish.of_flip(true), ConsentChange::Subscribed);
        assert_eq!(confirmation.of_flip(true), ConsentChange::Confirmed);
        assert_eq!(confirmation.of_choice(true), ConsentChange::Confirmed);
        assert_eq!(wish.of_choice(true), ConsentChange::Joined);
        assert_eq!(confirmation.of_choice(false), ConsentChange::Left);
        assert_eq!(confirmation.of_flip(false), ConsentChange::Unsubscribed);
    }
}
