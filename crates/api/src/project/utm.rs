//! The UTM parameters of a project's tracked links.

use mailwright_core::issue::Issue;
use mailwright_core::project::{MAX_UTM, Utm};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::fields::{ShortText, clip};

/// The UTM parameters that are added to the targets of tracked links.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UtmView {
    /// `utm_source`.
    source: String,
    /// `utm_medium`.
    medium: String,
    /// `utm_campaign`; null: the name of the campaign, or else of the template.
    campaign: Option<String>,
}

impl UtmView {
    pub(super) fn new(utm: Utm) -> Self {
        Self { source: utm.source, medium: utm.medium, campaign: utm.campaign }
    }
}

/// New UTM parameters. Each has at most 100 characters; an empty one is left out.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct UtmChange {
    /// `utm_source`.
    source: ShortText,
    /// `utm_medium`; `email` if it is left out.
    medium: Option<ShortText>,
    /// `utm_campaign`. Left out or null: the name of the campaign, or else of the template.
    campaign: Option<ShortText>,
}

impl UtmChange {
    pub(super) fn utm(self) -> Utm {
        Utm {
            source: self.source.0,
            medium: self.medium.map_or_else(|| "email".to_owned(), |medium| medium.0),
            campaign: self.campaign.map(|campaign| campaign.0),
        }
    }

    /// The issues of values that are too long.
    pub(super) fn issues(&self) -> Vec<Issue> {
        let given = [
            ("source", Some(&self.source)),
            ("medium", self.medium.as_ref()),
            ("campaign", self.campaign.as_ref()),
        ];
        let long = given.into_iter().filter_map(|(name, value)| Some((name, value?)));
        long.filter(|(_, value)| value.0.chars().count() > MAX_UTM)
            .map(|(name, value)| {
                let text = format!("Must have at most {MAX_UTM} characters.");
                Issue::new(format!("utm.{name}"), "too_big", text).received(clip(&value.0))
            })
            .collect()
    }
}
