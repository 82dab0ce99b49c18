//! The periods of a project, as they are stored.

use mailwright_core::ids::ProjectNumber;
use mailwright_core::project::MarketingCap;
use mailwright_core::retention::Periods;
use serde_json::Value as Json;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::Rx;

/// The periods that a project has of its own, and its cap on marketing mails, for which its mails are needed.
pub async fn own(rx: &Rx<'_>, project: ProjectNumber) -> Result<(Periods, Option<MarketingCap>)> {
    let found = rx
        .optional(
            "select {json_out retention}, marketing_cap, marketing_cap_hours from projects where number = $1",
            args![project],
            |r| {
                let own = r.get::<Option<Json>>(0)?;
                let (emails, hours) = (r.get::<Option<i64>>(1)?, r.get::<Option<i64>>(2)?);
                let cap = emails.zip(hours).map(|(emails, hours)| {
                    let number = |number: i64| u32::try_from(number).unwrap_or(u32::MAX);
                    MarketingCap { emails: number(emails), hours: number(hours) }
                });
                Ok((own.as_ref().map(Periods::from_json).unwrap_or_default(), cap))
            },
        )
        .await?;
    Ok(found.unwrap_or_default())
}
