//! `/analytics/domains`, `/analytics/links`: what became of mails by recipients' domains, and which links were followed.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use mailwright_app::App;
use mailwright_app::insight::recipients::{DomainFigures, TopLink};
use mailwright_core::rollup::Metric;
use serde::Serialize;
use utoipa::ToSchema;

use super::analytics::period;
use super::table::{Row, answer};
use crate::auth::ProjectAccess;
use crate::auth::needs::ReadMail;
use crate::error::{ErrorEnvelope, Result};
use crate::params::{DomainLimit, LinkLimit, Params};

/// What became of the mails to a domain.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DomainRow {
    /// The domain of the recipients; null for all that are not listed, together.
    domain: Option<String>,
    /// Mails that were accepted.
    emails: i64,
    sent: i64,
    delivered: i64,
    /// Mails that a person opened.
    opens: i64,
    /// Mails in which a person followed a link.
    clicks: i64,
    bounces: i64,
    complaints: i64,
    unsubscribes: i64,
}

impl From<DomainFigures> for DomainRow {
    fn from(DomainFigures { domain, figures }: DomainFigures) -> Self {
        Self {
            domain,
            emails: figures.get(Metric::Emails),
            sent: figures.get(Metric::Sent),
            delivered: figures.get(Metric::Delivered),
            opens: figures.get(Metric::Opened),
            clicks: figures.get(Metric::Clicked),
            bounces: figures.get(Metric::Bounced),
            complaints: figures.get(Metric::Complained),
            unsubscribes: figures.get(Metric::Unsubscribed),
        }
    }
}

impl Row for DomainRow {
    const HEADER: &'static [&'static str] = &[
        "domain",
        "emails",
        "sent",
        "delivered",
        "opens",
        "clicks",
        "bounces",
        "complaints",
        "unsubscribes",
    ];

    fn cells(&self) -> Vec<String> {
        let counts = [
            self.emails,
            self.sent,
            self.delivered,
            self.opens,
            self.clicks,
            self.bounces,
            self.complaints,
            self.unsubscribes,
        ];
        let counts = counts.into_iter().map(|count| count.to_string());
        std::iter::once(self.domain.clone().unwrap_or_default()).chain(counts).collect()
    }
}

/// Compare recipients' domains
///
/// What became of the mails that were accepted in the period, by the domain of the recipients: the domains that got most
/// mails first, all others together at the end. The period is widened to whole days (UTC). Of each day the 250 domains
/// that came first are counted by name.
#[utoipa::path(get, path = "/analytics/domains", tag = "Analytics", operation_id = "compareDomains", security(("secretKey" = []), ("session" = [])),
    params(
        ("limit" = inline(Option<DomainLimit>), Query, description = "How many domains"),
        ("startDate" = Option<String>, Query, description = "From when on; 30 days before the end if missing"),
        ("endDate" = Option<String>, Query, description = "Before when; now if missing")),
    responses(
        (status = 200, content((Vec<DomainRow> = "application/json"), (String = "text/csv"))),
        (status = 400, description = "Invalid date, or too long a period", body = ErrorEnvelope)))]
pub(crate) async fn domains(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadMail>,
    params: Params,
    headers: HeaderMap,
) -> Result<Response> {
    let limit = params.bounded::<DomainLimit>() as usize;
    let found = app.domain_figures(&project, period(&app, &params)?, limit).await?;
    Ok(answer(&headers, found.into_iter().map(DomainRow::from).collect()))
}

/// A link of campaigns.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LinkRow {
    /// Where it leads, or what the template says in the place of a target with variables.
    url: String,
    /// How many campaigns have it.
    campaigns: i64,
    /// Clicks of people.
    clicks: i64,
    /// Mails in which a person followed it.
    unique_clicks: i64,
    /// Clicks of machines.
    machine_clicks: i64,
}

impl From<TopLink> for LinkRow {
    fn from(link: TopLink) -> Self {
        Self {
            url: link.url,
            campaigns: link.campaigns,
            clicks: link.clicks.clicks,
            unique_clicks: link.clicks.people,
            machine_clicks: link.clicks.machines,
        }
    }
}

impl Row for LinkRow {
    const HEADER: &'static [&'static str] = &["url", "campaigns", "clicks", "uniqueClicks", "machineClicks"];

    fn cells(&self) -> Vec<String> {
        let counts = [self.campaigns, self.clicks, self.unique_clicks, self.machine_clicks];
        std::iter::once(self.url.clone()).chain(counts.into_iter().map(|count| count.to_string())).collect()
    }
}

/// List the links that people follow
///
/// The links of the campaigns that began to be sent in the period and are done, at most the newest 200 of them; those
/// with the most clicks first. A link counts in all campaigns that have it.
#[utoipa::path(get, path = "/analytics/links", tag = "Analytics", operation_id = "listTopLinks", security(("secretKey" = []), ("session" = [])),
    params(
        ("limit" = inline(Option<LinkLimit>), Query, description = "How many"),
        ("startDate" = Option<String>, Query, description = "From when on; 30 days before the end if missing"),
        ("endDate" = Option<String>, Query, description = "Before when; now if missing")),
    responses(
        (status = 200, content((Vec<LinkRow> = "application/json"), (String = "text/csv"))),
        (status = 400, description = "Invalid date", body = ErrorEnvelope)))]
pub(crate) async fn links(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadMail>,
    params: Params,
    headers: HeaderMap,
) -> Result<Response> {
    let limit = params.bounded::<LinkLimit>() as usize;
    let top = app.top_links(&project, period(&app, &params)?, limit).await?;
    Ok(answer(&headers, top.into_iter().map(LinkRow::from).collect()))
}
