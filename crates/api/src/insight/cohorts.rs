//! `/analytics/cohorts`: contacts by month, and who of them still opens.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use mailwright_app::App;
use mailwright_app::insight::cohorts::CohortMonth;
use mailwright_core::campaign::rate;
use serde::Serialize;
use utoipa::ToSchema;

use super::table::{Row, answer};
use crate::auth::ProjectAccess;
use crate::auth::needs::ReadMail;
use crate::error::Result;
use crate::params::{CohortMonths, Params};

/// How many contacts of a month opened mails in a month.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CohortRow {
    /// The month in which the contacts were created (UTC), such as `2026-11`.
    cohort: String,
    /// A month since then.
    month: String,
    /// How many contacts of the cohort there are.
    contacts: i64,
    /// How many of them opened a mail in the month.
    opened: i64,
    /// In percent of `contacts`.
    open_rate: f64,
}

impl From<CohortMonth> for CohortRow {
    fn from(of: CohortMonth) -> Self {
        Self {
            cohort: of.created.to_string(),
            month: of.month.to_string(),
            contacts: of.contacts,
            opened: of.opened,
            open_rate: (rate(of.opened, of.contacts) * 10.0).round() / 10.0,
        }
    }
}

impl Row for CohortRow {
    const HEADER: &'static [&'static str] = &["cohort", "month", "contacts", "opened", "openRate"];

    fn cells(&self) -> Vec<String> {
        vec![
            self.cohort.clone(),
            self.month.clone(),
            self.contacts.to_string(),
            self.opened.to_string(),
            self.open_rate.to_string(),
        ]
    }
}

/// Show who still opens
///
/// The contacts that were created in each of the last months (UTC), and how many of them opened a mail in each month
/// since. Contacts that were removed are not in the figures.
#[utoipa::path(get, path = "/analytics/cohorts", tag = "Analytics", operation_id = "listCohorts", security(("secretKey" = []), ("session" = [])),
    params(("months" = inline(Option<CohortMonths>), Query, description = "Of how many months, this one included")),
    responses((status = 200, content((Vec<CohortRow> = "application/json"), (String = "text/csv")))))]
pub(crate) async fn list(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadMail>,
    params: Params,
    headers: HeaderMap,
) -> Result<Response> {
    let cohorts = app.cohorts(&project, params.bounded::<CohortMonths>()).await?;
    Ok(answer(&headers, cohorts.into_iter().map(CohortRow::from).collect()))
}
