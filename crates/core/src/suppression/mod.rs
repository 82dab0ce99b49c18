//! Addresses and rules that keep mail from being sent: why, which mail that is, and what ends it.
//!
//! | Reason | Holds back | Subscribing again ends it |
//! |---|---|---|
//! | `hard-bounce` | all mail | yes |
//! | `complaint` | all mail | yes |
//! | `manual` | all mail | no |
//! | `import` | all mail | no |
//! | `unsubscribe-all` | all but transactional mail | yes |
//!
//! Whoever subscribes again says that the address works and that mail is wanted. What a person put on the list stays
//! there until a person takes it off, or until it expires. A rule holds back all mail.

pub mod file;
mod mailbox_full;
mod rule;

use serde::{Deserialize, Serialize};

use crate::address::EmailAddress;
use crate::ids::SuppressionRuleId;
use crate::names::names_in_json;
use crate::template::TemplateType;

pub use mailbox_full::{MailboxFull, SUPPRESSED_FOR};
pub use rule::{MAX_PATTERN, MAX_RULES, Rule, RuleKind, Rules, pattern};

/// Most addresses that requests and imports put on the list of a project.
pub const MAX_ADDRESSES: i64 = 1_000_000;
/// Most addresses of a request.
pub const MAX_BULK: usize = 1_000;

names_in_json! {
    /// Why an address is on the list.
    #[derive(PartialOrd, Ord)]
    pub enum SuppressionReason {
        /// The address does not exist, or its mailbox was full for days.
        HardBounce = "hard-bounce",
        /// The owner of the address reported a mail as spam.
        Complaint = "complaint",
        /// Somebody put it on the list.
        Manual = "manual",
        /// The owner of the address wants no mail but what is needed.
        UnsubscribeAll = "unsubscribe-all",
        /// It was on the list of another service.
        Import = "import",
    }
}

impl SuppressionReason {
    /// The mail that it holds back.
    pub const fn held(self) -> Held {
        match self {
            Self::HardBounce | Self::Complaint | Self::Manual | Self::Import => Held::All,
            Self::UnsubscribeAll => Held::AllButTransactional,
        }
    }

    /// Whether it ends when the owner of the address subscribes again.
    pub const fn ends_with_subscribing(self) -> bool {
        match self {
            Self::HardBounce | Self::Complaint | Self::UnsubscribeAll => true,
            Self::Manual | Self::Import => false,
        }
    }

    /// The place among the reasons when an address has two: the higher one is kept. What only a person ends is above what
    /// subscribing ends, and what holds back all mail is above what does not.
    pub const fn rank(self) -> i64 {
        match self {
            Self::UnsubscribeAll => 0,
            Self::HardBounce => 1,
            Self::Complaint => 2,
            Self::Import => 3,
            Self::Manual => 4,
        }
    }
}

/// Which mail to an address is held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Held {
    /// None.
    #[default]
    Nothing,
    /// All but transactional mail.
    AllButTransactional,
    /// All.
    All,
}

impl Held {
    /// Whether mail of a kind is held back.
    pub const fn holds(self, kind: TemplateType) -> bool {
        match (self, kind) {
            (Self::Nothing, _) | (Self::AllButTransactional, TemplateType::Transactional) => false,
            (Self::AllButTransactional, TemplateType::Marketing | TemplateType::Headless)
            | (Self::All, _) => true,
        }
    }
}

names_in_json! {
    /// Where that is which holds a mail back.
    pub enum MatchSource {
        /// The addresses of the whole instance.
        Instance = "instance",
        /// The addresses of the project.
        Project = "project",
        /// The rules of the project.
        Rule = "rule",
    }
}

/// What holds a mail back: an address on a list, or a rule. It is stored with the mail, and shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Match {
    /// `instance` and `project` are lists of addresses, `rule` is a rule of the project.
    pub source: MatchSource,
    /// The rule; null for an address on a list.
    #[schema(required = true)]
    pub id: Option<SuppressionRuleId>,
    /// The name of the rule, or the reason of the address.
    pub name: String,
    /// The kind of the rule; `ADDRESS` for an address on a list.
    pub kind: RuleKind,
    /// The pattern of the rule, or the address.
    pub pattern: String,
    /// Why the address is on the list; null for a rule.
    #[schema(required = true)]
    pub reason: Option<SuppressionReason>,
}

impl Match {
    /// An address on a list.
    pub fn of_address(source: MatchSource, address: &EmailAddress, reason: SuppressionReason) -> Self {
        Self {
            source,
            id: None,
            name: reason.as_str().to_owned(),
            kind: RuleKind::Address,
            pattern: address.as_str().to_owned(),
            reason: Some(reason),
        }
    }

    /// A rule.
    pub fn of_rule(rule: &Rule) -> Self {
        Self {
            source: MatchSource::Rule,
            id: Some(rule.id),
            name: rule.name.clone(),
            kind: rule.kind,
            pattern: rule.pattern.clone(),
            reason: None,
        }
    }

    /// As it is stored with a mail.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use SuppressionReason::{Complaint, HardBounce, Import, Manual, UnsubscribeAll};
    use TemplateType::{Headless, Marketing, Transactional};

    #[test]
    fn who_holds_what_back_and_what_ends_it() {
        for (reason, transactional, ends) in [
            (HardBounce, true, true),
            (Complaint, true, true),
            (Manual, true, false),
            (Import, true, false),
            (UnsubscribeAll, false, true),
        ] {
            assert_eq!(reason.held().holds(Transactional), transactional, "{reason}");
            assert!(reason.held().holds(Marketing) && reason.held().holds(Headless), "{reason}");
            assert_eq!(reason.ends_with_subscribing(), ends, "{reason}");
        }
        assert!([Transactional, Marketing, Headless].iter().all(|kind| !Held::Nothing.holds(*kind)));
    }

    #[test]
    fn a_reason_is_never_replaced_by_one_that_ends_sooner_or_holds_back_less() {
        for one in SuppressionReason::ALL {
            for other in SuppressionReason::ALL.into_iter().filter(|other| other.rank() > one.rank()) {
                assert!(other.held() >= one.held(), "{one} {other}");
                assert!(!other.ends_with_subscribing() || one.ends_with_subscribing(), "{one} {other}");
            }
        }
    }

    #[test]
    fn a_match_is_read_as_it_was_stored() {
        let address = EmailAddress::from_stored("ada@example.com");
        let found = Match::of_address(MatchSource::Project, &address, HardBounce);
        assert_eq!(
            found.to_text(),
            r#"{"source":"project","id":null,"name":"hard-bounce","kind":"ADDRESS","pattern":"ada@example.com","reason":"hard-bounce"}"#
        );
        assert_eq!(serde_json::from_str::<Match>(&found.to_text()).unwrap(), found);
    }
}
