//! The cap on the marketing mails of a project.

use mailwright_core::issue::Issue;
use mailwright_core::project::{MAX_CAP_EMAILS, MAX_CAP_HOURS, MarketingCap};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema::{WholeNumber, check_range};

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
        let emails = check_range("marketingCap.emails", self.emails, 1, MAX_CAP_EMAILS.into());
        emails.into_iter().chain(check_range("marketingCap.hours", self.hours, 1, MAX_CAP_HOURS.into()))
    }
}
