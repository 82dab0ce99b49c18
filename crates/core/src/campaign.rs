//! Campaigns: one mail to an audience, now or at a given time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::address::EmailAddress;
use crate::email::{EmailSource, Reason, RecipientState};
use crate::ids::{CampaignId, SegmentId, TopicId};
use crate::names::names_in_json;
use crate::template::TemplateType;
use crate::time::Timestamp;

names_in_json! {
    /// The status of a campaign.
    pub enum CampaignStatus {
        /// It is being written.
        Draft = "DRAFT",
        /// It starts at `scheduledFor`.
        Scheduled = "SCHEDULED",
        /// It is being sent, or paused.
        Sending = "SENDING",
        /// All its mails are settled.
        Sent = "SENT",
        /// It was cancelled.
        Cancelled = "CANCELLED",
    }
}

names_in_json! {
    /// Whom a campaign is for.
    pub enum AudienceType {
        /// Every contact.
        All = "ALL",
        /// The members of a segment.
        Segment = "SEGMENT",
        /// The contacts that a filter matches.
        Filtered = "FILTERED",
    }
}

/// Whom a campaign is for.
#[derive(Debug, Clone, PartialEq)]
pub enum Audience {
    /// Every contact.
    All,
    /// The members of a segment.
    Segment(SegmentId),
    /// The contacts that a filter tree matches, as it was given.
    Filtered(Json),
}

impl Audience {
    /// Its type.
    pub fn kind(&self) -> AudienceType {
        match self {
            Self::All => AudienceType::All,
            Self::Segment(_) => AudienceType::Segment,
            Self::Filtered(_) => AudienceType::Filtered,
        }
    }

    /// The segment, where it is one.
    pub fn segment(&self) -> Option<SegmentId> {
        match self {
            Self::Segment(id) => Some(*id),
            Self::All | Self::Filtered(_) => None,
        }
    }

    /// The filter tree, where it is one.
    pub fn condition(&self) -> Option<&Json> {
        match self {
            Self::Filtered(tree) => Some(tree),
            Self::All | Self::Segment(_) => None,
        }
    }
}

/// One mail to an audience.
#[derive(Debug, Clone, PartialEq)]
pub struct Campaign {
    /// Identifier.
    pub id: CampaignId,
    /// Internal name.
    pub name: String,
    /// Internal note.
    pub description: Option<String>,
    /// Subject, with variables.
    pub subject: String,
    /// HTML, with variables.
    pub body: String,
    /// Sender address.
    pub from: EmailAddress,
    /// Sender display name.
    pub from_name: Option<String>,
    /// Reply address.
    pub reply_to: Option<EmailAddress>,
    /// Kind of mail.
    pub kind: TemplateType,
    /// Whether its mails are tracked; `None` leaves it to the project.
    pub tracking: Option<bool>,
    /// The topic that it belongs to.
    pub topic: Option<TopicId>,
    /// Its status.
    pub status: CampaignStatus,
    /// Its audience.
    pub audience: Audience,
    /// The time for which it is or was scheduled.
    pub scheduled_for: Option<Timestamp>,
    /// How many mails it makes: counted when it is saved, exact once its audience is frozen.
    pub recipients: i64,
    /// When it started.
    pub sent_at: Option<Timestamp>,
    /// Since when it is paused.
    pub paused_at: Option<Timestamp>,
    /// When its audience was frozen as a whole.
    pub frozen_at: Option<Timestamp>,
    /// When the last of its mails was settled.
    pub finished_at: Option<Timestamp>,
    /// Why the service cancelled or paused the campaign, or did not start it.
    pub note: Option<String>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl Campaign {
    /// The origin of its mails (reference 4.4).
    pub fn source(kind: TemplateType) -> EmailSource {
        match kind {
            TemplateType::Transactional => EmailSource::Transactional,
            TemplateType::Marketing | TemplateType::Headless => EmailSource::Campaign,
        }
    }
}

/// How a contact stands to a mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recipient {
    /// Whether the contact is subscribed.
    pub subscribed: bool,
    /// Whether the contact is in the topic of the mail, if that has one.
    pub in_topic: bool,
    /// Whether the address is suppressed.
    pub suppressed: bool,
}

/// Why a contact gets no mail of this kind, if it does not. An address that refuses mail never gets any.
pub fn excluded(kind: TemplateType, recipient: Recipient) -> Option<Reason> {
    if recipient.suppressed {
        return Some(Reason::Suppressed);
    }
    match (kind.needs_subscription(), recipient.subscribed, recipient.in_topic) {
        (true, false, _) => Some(Reason::Unsubscribed),
        (true, true, false) => Some(Reason::NotInTopic),
        (true, true, true) | (false, ..) => None,
    }
}

/// The sums of a campaign: how many contacts its audience had, and how many mails are in each state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Contacts of the audience, as far as it is frozen.
    pub audience: i64,
    /// Contacts that were to get a mail when the audience was frozen.
    pub recipients: i64,
    /// Numbers of mails by state and reason, without zeros.
    pub totals: Vec<(RecipientState, Option<Reason>, i64)>,
    /// Mails that were refused by the recipient's host.
    pub bounced: i64,
    /// Mails that were delivered, opened, clicked, complained about and unsubscribed from.
    pub delivered: i64,
    /// Mails that a person opened at least once.
    pub opened: i64,
    /// Mails in which a person followed a link at least once.
    pub clicked: i64,
    /// Mails called spam.
    pub complained: i64,
    /// Recipients who unsubscribed by a link of their mail.
    pub unsubscribed: i64,
    /// Mails whose picture a machine fetched.
    pub machine_opened: i64,
    /// Mails in which a machine followed a link.
    pub machine_clicked: i64,
}

impl Ledger {
    /// Number of mails in a state.
    pub fn count(&self, recipient_state: RecipientState) -> i64 {
        self.totals.iter().filter(|(s, ..)| *s == recipient_state).map(|(.., n)| n).sum()
    }

    /// Number of mails in a state, with the reason if the state has one.
    pub fn count_for(&self, recipient_state: RecipientState, reason: Reason) -> i64 {
        let fits =
            |(s, r, _): &&(RecipientState, Option<Reason>, i64)| *s == recipient_state && *r == Some(reason);
        self.totals.iter().filter(fits).map(|(.., n)| n).sum()
    }

    /// Whether every contact of the audience is accounted for.
    pub fn adds_up(&self) -> bool {
        self.audience == self.totals.iter().map(|(.., n)| n).sum::<i64>()
    }

    /// Whether every contact of the audience is accounted for and none waits.
    pub fn is_balanced(&self) -> bool {
        self.adds_up() && self.count(RecipientState::Waiting) == 0
    }
}

/// The equation of a ledger: audience = waiting + accepted + skipped + failed + in doubt. A campaign stores the one that
/// it ended with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Equation {
    /// Contacts of the audience.
    pub audience: i64,
    /// Mails that wait.
    pub waiting: i64,
    /// Mails that the next hop took.
    pub accepted: i64,
    /// Mails that were not sent for a reason known before, by reason.
    pub skipped: BTreeMap<String, i64>,
    /// Mails that could not be sent, by reason.
    pub failed: BTreeMap<String, i64>,
    /// Mails of which nobody knows whether the next hop took them.
    pub in_doubt: i64,
    /// Whether no mail waits and the sums add up.
    pub balanced: bool,
}

impl Ledger {
    /// The equation of the ledger.
    pub fn equation(&self) -> Equation {
        let by_reason = |state| {
            let reasons = self.totals.iter().filter(|(s, ..)| *s == state);
            reasons
                .map(|(_, reason, count)| (reason.map_or("other", Reason::as_str).to_owned(), *count))
                .collect()
        };
        Equation {
            audience: self.audience,
            waiting: self.count(RecipientState::Waiting),
            accepted: self.count(RecipientState::Accepted),
            skipped: by_reason(RecipientState::Skipped),
            failed: by_reason(RecipientState::Failed),
            in_doubt: self.count(RecipientState::InDoubt),
            balanced: self.is_balanced(),
        }
    }
}

/// A share in percent; 0 of nothing.
pub fn rate(count: i64, of: i64) -> f64 {
    if of <= 0 { 0.0 } else { 100.0 * count as f64 / of as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_gets_no_mail_and_why() {
        use TemplateType::{Headless, Marketing, Transactional};
        for (kind, subscribed, in_topic, suppressed, expected) in [
            (Marketing, true, true, false, None),
            (Marketing, false, true, false, Some(Reason::Unsubscribed)),
            (Marketing, false, false, false, Some(Reason::Unsubscribed)),
            (Marketing, true, false, false, Some(Reason::NotInTopic)),
            (Marketing, false, true, true, Some(Reason::Suppressed)),
            (Marketing, true, false, true, Some(Reason::Suppressed)),
            (Headless, false, true, false, Some(Reason::Unsubscribed)),
            (Headless, true, false, false, Some(Reason::NotInTopic)),
            (Headless, true, true, true, Some(Reason::Suppressed)),
            (Transactional, false, false, false, None),
            (Transactional, true, true, true, Some(Reason::Suppressed)),
        ] {
            let recipient = Recipient { subscribed, in_topic, suppressed };
            assert_eq!(excluded(kind, recipient), expected, "{kind:?} {recipient:?}");
        }
    }

    #[test]
    fn a_ledger_balances_when_nothing_waits_and_nobody_is_missing() {
        let mut ledger = Ledger {
            audience: 5,
            totals: vec![
                (RecipientState::Accepted, None, 2),
                (RecipientState::Skipped, Some(Reason::Unsubscribed), 1),
                (RecipientState::Skipped, Some(Reason::Deleted), 1),
                (RecipientState::Waiting, None, 1),
            ],
            ..Ledger::default()
        };
        assert!(ledger.adds_up() && !ledger.is_balanced());
        assert_eq!(ledger.count(RecipientState::Skipped), 2);
        assert_eq!(ledger.count_for(RecipientState::Skipped, Reason::Deleted), 1);
        ledger.totals.pop();
        assert!(!ledger.adds_up());
        ledger.audience = 4;
        assert!(ledger.is_balanced());
    }

    #[test]
    fn rates_are_percent_and_know_zero() {
        assert!((rate(1, 4) - 25.0).abs() < f64::EPSILON);
        assert!((rate(0, 0)).abs() < f64::EPSILON);
        assert!((rate(2, 2) - 100.0).abs() < f64::EPSILON);
    }

    #[test]
    fn an_equation_is_stored_as_it_is_shown() {
        let ledger = Ledger {
            audience: 6,
            totals: vec![
                (RecipientState::Accepted, None, 3),
                (RecipientState::Skipped, Some(Reason::Unsubscribed), 1),
                (RecipientState::Failed, None, 1),
                (RecipientState::InDoubt, None, 1),
            ],
            ..Ledger::default()
        };
        let stored = serde_json::to_value(ledger.equation()).unwrap();
        assert_eq!(
            stored.to_string(),
            r#"{"accepted":3,"audience":6,"balanced":true,"failed":{"other":1},"inDoubt":1,"skipped":{"unsubscribed":1},"waiting":0}"#
        );
        assert_eq!(serde_json::from_value::<Equation>(stored).unwrap(), ledger.equation());
    }
}
