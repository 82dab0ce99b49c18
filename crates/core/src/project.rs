//! Projects.

use std::time::Duration;

use serde_json::{Value as Json, json};
use uuid::Uuid;

use crate::ids::{ProjectId, ProjectNumber};
use crate::names::names_in_json;
use crate::template::TemplateType;
use crate::time::Timestamp;

names_in_json! {
    /// Which mails are tracked.
    pub enum Tracking {
        /// All of them.
        Enabled = "ENABLED",
        /// None.
        Disabled = "DISABLED",
        /// All but those of the type `TRANSACTIONAL`.
        MarketingOnly = "MARKETING_ONLY",
    }
}

impl Tracking {
    /// Whether mails of a kind are tracked, where template, campaign and send leave it to the project.
    pub fn covers(self, kind: TemplateType) -> bool {
        match self {
            Self::Enabled => true,
            Self::Disabled => false,
            Self::MarketingOnly => kind != TemplateType::Transactional,
        }
    }
}

/// The longest value of a UTM parameter, in characters.
pub const MAX_UTM: usize = 100;

/// The UTM parameters that are added to the targets of tracked links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Utm {
    /// `utm_source`.
    pub source: String,
    /// `utm_medium`.
    pub medium: String,
    /// `utm_campaign`; `None` for the name of the campaign, or else of the template.
    pub campaign: Option<String>,
}

impl Utm {
    /// As it is stored.
    pub fn to_json(&self) -> Json {
        json!({ "source": self.source, "medium": self.medium, "campaign": self.campaign })
    }

    /// Reads what [`Utm::to_json`] made.
    pub fn from_json(stored: &Json) -> Self {
        let text = |name: &str| stored[name].as_str().map(str::to_owned);
        Self {
            source: text("source").unwrap_or_default(),
            medium: text("medium").unwrap_or_default(),
            campaign: text("campaign"),
        }
    }

    /// The parameters with their values.
    pub fn parameters(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let campaign = self.campaign.as_deref().map(|campaign| ("utm_campaign", campaign));
        [("utm_source", self.source.as_str()), ("utm_medium", &self.medium)].into_iter().chain(campaign)
    }
}

/// How many marketing mails a contact of a project gets in a period, those of campaigns and workflows together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarketingCap {
    /// The most mails.
    pub emails: u32,
    /// The period, in hours.
    pub hours: u32,
}

/// The most mails that a cap can allow.
pub const MAX_CAP_EMAILS: u32 = 1000;
/// The longest period of a cap, in hours: a year.
pub const MAX_CAP_HOURS: u32 = 8760;

impl MarketingCap {
    /// The period.
    pub fn period(self) -> Duration {
        Duration::from_hours(self.hours.into())
    }

    /// When another mail is allowed after `now`, given when the contact got mails, the newest first; `None` if one is
    /// allowed now.
    pub fn until(self, got: &[Timestamp], now: Timestamp) -> Option<Timestamp> {
        let last = self.emails.checked_sub(1).and_then(|count| usize::try_from(count).ok())?;
        let decisive = got.get(last)?;
        Some(decisive.plus(self.period())).filter(|until| *until > now)
    }
}

/// The project that the instance's own mails are sent from. It has no members and no keys, and no list shows it.
pub fn system() -> ProjectId {
    Uuid::from_u128(0x0000_0000_0000_7000_8000_0000_0000_0001).into()
}

/// The project a request acts in, as its key tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// The number rows carry.
    pub number: ProjectNumber,
    /// The id clients see.
    pub id: ProjectId,
    /// Name, shown to recipients when a sender has no display name.
    pub name: String,
    /// Language of public pages and footers, such as `en` or `pt-BR`.
    pub language: String,
    /// Whether writes are refused.
    pub disabled: bool,
    /// Which mails are tracked.
    pub tracking: Tracking,
    /// Whether contacts whom somebody else subscribes have to confirm.
    pub double_opt_in: bool,
    /// Whether the evidence of consent keeps the address of the client.
    pub consent_keeps_address: bool,
}

impl Project {
    /// Whether the instance's own mails are sent from it.
    pub fn is_system(&self) -> bool {
        self.id == system()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cap_allows_so_many_mails_in_its_period() {
        let hour = |hours: i64| Timestamp(hours * 3_600_000);
        let cap = MarketingCap { emails: 2, hours: 24 };
        for (got, now, until) in [
            (vec![], 30, None),
            (vec![29], 30, None),
            (vec![29, 10], 30, Some(34)),
            (vec![29, 10], 34, None),
            (vec![29, 20, 10], 30, Some(44)),
        ] {
            let got: Vec<Timestamp> = got.into_iter().map(hour).collect();
            assert_eq!(cap.until(&got, hour(now)), until.map(hour), "{got:?} at {now}");
        }
    }
}
