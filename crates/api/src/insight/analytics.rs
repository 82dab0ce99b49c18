//! `/analytics`: figures of a project over time, as JSON or CSV.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use mailwright_app::App;
use mailwright_app::insight::analytics::{CampaignFigures, Day, Period, TopCampaign, TopEvent};
use mailwright_core::campaign::rate;
use mailwright_core::ids::CampaignId;
use mailwright_core::rollup::Metric;
use mailwright_core::time::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::table::{Row, answer, answer_one};
use crate::auth::ProjectAccess;
use crate::auth::needs::ReadMail;
use crate::error::{ErrorEnvelope, Result};
use crate::params::{Params, TopCampaignLimit, TopEventLimit};

/// The period that a request asks for; the last thirty days if it does not say.
pub(super) fn period(app: &App, params: &Params) -> Result<Period> {
    Ok(app.period(params.instant("startDate")?, params.instant("endDate")?))
}

/// What became of the mails that were accepted on a day.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DayView {
    /// When the day begins in the project's time zone.
    #[schema(value_type = String, format = DateTime)]
    date: Timestamp,
    /// The date in that zone, such as `2026-11-25`.
    day: String,
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
    /// Mails that came in on the day.
    received: i64,
    /// Events that happened on the day.
    events: i64,
}

impl From<Day> for DayView {
    fn from(day: Day) -> Self {
        let of = |metric| day.figures.get(metric);
        Self {
            date: day.begin,
            emails: of(Metric::Emails),
            sent: of(Metric::Sent),
            delivered: of(Metric::Delivered),
            opens: of(Metric::Opened),
            clicks: of(Metric::Clicked),
            bounces: of(Metric::Bounced),
            complaints: of(Metric::Complained),
            unsubscribes: of(Metric::Unsubscribed),
            received: of(Metric::Received),
            events: of(Metric::Events),
            day: day.date,
        }
    }
}

impl Row for DayView {
    const HEADER: &'static [&'static str] = &[
        "date",
        "day",
        "emails",
        "sent",
        "delivered",
        "opens",
        "clicks",
        "bounces",
        "complaints",
        "unsubscribes",
        "received",
        "events",
    ];

    fn cells(&self) -> Vec<String> {
        let numbers = [
            self.emails,
            self.sent,
            self.delivered,
            self.opens,
            self.clicks,
            self.bounces,
            self.complaints,
            self.unsubscribes,
            self.received,
            self.events,
        ];
        let texts = [self.date.to_string(), self.day.clone()];
        texts.into_iter().chain(numbers.map(|number| number.to_string())).collect()
    }
}

/// Show what happened day by day
///
/// A row for each day that the period touches, in the project's time zone, days without anything included. What became of
/// a mail counts for the day on which it was accepted.
///
/// With `domain` the rows tell of the mails to recipients of that domain, and the days are those of UTC. `received` and
/// `events` are not counted by domain, and are 0. Of a day 250 domains are counted by name; the mails to another one are not
/// told. By campaign and by template nothing is counted day by day.
#[utoipa::path(get, path = "/analytics/timeseries", tag = "Analytics", operation_id = "getTimeseries", security(("secretKey" = []), ("session" = [])),
    params(
        ("startDate" = Option<String>, Query, description = "From when on; 30 days before the end if missing"),
        ("endDate" = Option<String>, Query, description = "Before when; now if missing"),
        ("domain" = Option<String>, Query, description = "Only mails to recipients of this domain")),
    responses(
        (status = 200, content((Vec<DayView> = "application/json"), (String = "text/csv"))),
        (status = 400, description = "Invalid date, or more than 1,100 days", body = ErrorEnvelope)))]
pub(crate) async fn timeseries(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadMail>,
    params: Params,
    headers: HeaderMap,
) -> Result<Response> {
    let period = period(&app, &params)?;
    let days = match params.text("domain") {
        Some(domain) => app.timeseries_of_domain(&project, period, domain).await?,
        None => app.timeseries(&project, period).await?,
    };
    Ok(answer(&headers, days.into_iter().map(DayView::from).collect()))
}

/// How a campaign did.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TopCampaignView {
    id: CampaignId,
    name: String,
    subject: String,
    sent_count: i64,
    opened_count: i64,
    clicked_count: i64,
    /// In percent of `sentCount`.
    open_rate: f64,
    /// In percent of `sentCount`.
    click_rate: f64,
}

impl From<TopCampaign> for TopCampaignView {
    fn from(campaign: TopCampaign) -> Self {
        let TopCampaign { id, name, subject, sent, opened, clicked } = campaign;
        Self {
            id,
            name,
            subject,
            sent_count: sent,
            opened_count: opened,
            clicked_count: clicked,
            open_rate: rounded(rate(opened, sent)),
            click_rate: rounded(rate(clicked, sent)),
        }
    }
}

impl Row for TopCampaignView {
    const HEADER: &'static [&'static str] =
        &["id", "name", "subject", "sentCount", "openedCount", "clickedCount", "openRate", "clickRate"];

    fn cells(&self) -> Vec<String> {
        vec![
            self.id.to_string(),
            self.name.clone(),
            self.subject.clone(),
            self.sent_count.to_string(),
            self.opened_count.to_string(),
            self.clicked_count.to_string(),
            self.open_rate.to_string(),
            self.click_rate.to_string(),
        ]
    }
}

/// A percentage with one decimal.
fn rounded(rate: f64) -> f64 {
    (rate * 10.0).round() / 10.0
}

/// List the best campaigns
///
/// Those that began to be sent in the period and are done, at most the newest 1,000 of them; the ones that most people
/// opened first.
#[utoipa::path(get, path = "/analytics/top-campaigns", tag = "Analytics", operation_id = "listTopCampaigns", security(("secretKey" = []), ("session" = [])),
    params(
        ("limit" = inline(Option<TopCampaignLimit>), Query, description = "How many"),
        ("startDate" = Option<String>, Query, description = "From when on; 30 days before the end if missing"),
        ("endDate" = Option<String>, Query, description = "Before when; now if missing")),
    responses(
        (status = 200, content((Vec<TopCampaignView> = "application/json"), (String = "text/csv"))),
        (status = 400, description = "Invalid date", body = ErrorEnvelope)))]
pub(crate) async fn top_campaigns(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadMail>,
    params: Params,
    headers: HeaderMap,
) -> Result<Response> {
    let limit = params.bounded::<TopCampaignLimit>() as usize;
    let top = app.top_campaigns(&project, period(&app, &params)?, limit).await?;
    Ok(answer(&headers, top.into_iter().map(TopCampaignView::from).collect()))
}

/// How the campaigns of a period did.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CampaignFiguresView {
    /// Campaigns that were created in the period.
    total: i64,
    /// Those of them that are drafts or scheduled.
    active: i64,
    /// Those of them that are sent.
    completed: i64,
    /// Opens in percent of the mails of all campaigns that were sent in the period.
    average_open_rate: f64,
    /// Clicks in percent of the same.
    average_click_rate: f64,
}

impl From<CampaignFigures> for CampaignFiguresView {
    fn from(figures: CampaignFigures) -> Self {
        Self {
            total: figures.total,
            active: figures.active,
            completed: figures.completed,
            average_open_rate: rounded(figures.open_rate),
            average_click_rate: rounded(figures.click_rate),
        }
    }
}

impl Row for CampaignFiguresView {
    const HEADER: &'static [&'static str] =
        &["total", "active", "completed", "averageOpenRate", "averageClickRate"];

    fn cells(&self) -> Vec<String> {
        let counts = [self.total, self.active, self.completed].map(|count| count.to_string());
        let rates = [self.average_open_rate, self.average_click_rate].map(|rate| rate.to_string());
        counts.into_iter().chain(rates).collect()
    }
}

/// Show how campaigns do
#[utoipa::path(get, path = "/analytics/campaign-stats", tag = "Analytics", operation_id = "getCampaignFigures", security(("secretKey" = []), ("session" = [])),
    params(
        ("startDate" = Option<String>, Query, description = "From when on; 30 days before the end if missing"),
        ("endDate" = Option<String>, Query, description = "Before when; now if missing")),
    responses(
        (status = 200, content((CampaignFiguresView = "application/json"), (String = "text/csv"))),
        (status = 400, description = "Invalid date", body = ErrorEnvelope)))]
pub(crate) async fn campaign_stats(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadMail>,
    params: Params,
    headers: HeaderMap,
) -> Result<Response> {
    let figures = app.campaign_figures(&project, period(&app, &params)?).await?;
    Ok(answer_one(&headers, CampaignFiguresView::from(figures)))
}

/// How often an event happened.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TopEventView {
    name: String,
    count: i64,
    /// By how many percent that is more than in the period of the same length before; 100 where there was none.
    trend: i64,
}

impl From<TopEvent> for TopEventView {
    fn from(event: TopEvent) -> Self {
        Self { name: event.name, count: event.count, trend: event.trend }
    }
}

impl Row for TopEventView {
    const HEADER: &'static [&'static str] = &["name", "count", "trend"];

    fn cells(&self) -> Vec<String> {
        vec![self.name.clone(), self.count.to_string(), self.trend.to_string()]
    }
}

/// List the most frequent events
///
/// Those that were recorded by you; the service's own are left out.
#[utoipa::path(get, path = "/analytics/top-events", tag = "Analytics", operation_id = "listTopEvents", security(("secretKey" = []), ("session" = [])),
    params(
        ("limit" = inline(Option<TopEventLimit>), Query, description = "How many"),
        ("startDate" = Option<String>, Query, description = "From when on; 30 days before the end if missing"),
        ("endDate" = Option<String>, Query, description = "Before when; now if missing")),
    responses(
        (status = 200, content((Vec<TopEventView> = "application/json"), (String = "text/csv"))),
        (status = 400, description = "Invalid date", body = ErrorEnvelope)))]
pub(crate) async fn top_events(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadMail>,
    params: Params,
    headers: HeaderMap,
) -> Result<Response> {
    let limit = params.bounded::<TopEventLimit>() as usize;
    let top = app.top_events(&project, period(&app, &params)?, limit).await?;
    Ok(answer(&headers, top.into_iter().map(TopEventView::from).collect()))
}
