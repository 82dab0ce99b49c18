//! The cap on the marketing mails of a project.

use mailwright_core::issue::Issue;
use mailwright_core::project::{MAX_CAP_EMAILS, MAX_CAP_HOURS, MarketingCap};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema::WholeNumber;

/// How many marketing mails a contact gets in a period, those of campaigns and workflows together.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub(crate) struct MarketingCapView {
    emails: u32,
    hours: u32,
}

impl MarketingCapView {
    pub(super) fn new(cap: MarketingCap) -> Self {
        Self { emails: cap.emails, hours: cap.hours }
    }
}

/// A new cap on marketing mails.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
pub(crate) struct MarketingCapChange {
    /// The most mails, 1 to 1,000.
    #[schema(value_type = i64)]
    emails: WholeNumber,
    /// The period in hours, 1 to 8,760.
    #[schema(value_type = i64)]
    hours: WholeNumber,
}

impl MarketingCapChange {
    pub(super) fn cap(self) -> MarketingCap {
        let number = |number: WholeNumber| u32::try_from(number.0).unwrap_or(1);
        MarketingCap { emails: number(self.emails), hours: number(self.hours) }
    }

    /// What is wrong with it.
    pub(super) fn issues(self) -> impl Iterator<Item = Issue> {
        let emails = range("marketingCap.emails", self.emails, MAX_CAP_EMAILS);
        emails.into_iter().chain(range("marketingCap.hours", self.hours, MAX_CAP_HOURS))
    }
}

/// The issue of a number that is not from 1 to `most`.
fn range(field: &str, number: WholeNumber, most: u32) -> Option<Issue> {
    let (code, text) = match number.0 {
        ..1 => ("too_small", "Must be at least 1.".to_owned()),
        found if found > i64::from(most) => ("too_big", format!("Must be at most {most}.")),
        _ => return None,
    };
    Some(Issue::new(field, code, text).received(number.0.to_string()))
}
