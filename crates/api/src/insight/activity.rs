//! `/activity`: the feed of everything that happens in a project.

use std::collections::BTreeSet;
use std::time::Duration;

use axum::extract::State;
use mailwright_app::App;
use mailwright_app::insight::activity::{Scope, Wanted};
use mailwright_core::activity::ActivityType;
use mailwright_core::campaign::rate;
use mailwright_core::rollup::Metric;
use serde::Serialize;
use utoipa::ToSchema;

use super::analytics::period;
use super::entry::ActivityView;
use crate::auth::ProjectAccess;
use crate::auth::needs::ReadMail;
use crate::error::{ApiError, ErrorEnvelope, Result};
use crate::json::Json;
use crate::params::{ActivityLimit, Minutes, Params};

/// A page of the feed.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ActivityList {
    /// Newest first.
    data: Vec<ActivityView>,
    /// Where the next page starts; null on the last page.
    #[schema(required = true)]
    cursor: Option<String>,
    /// Whether more follows.
    has_more: bool,
    /// How many entries there are, where the first page has them all; 0 otherwise, because a feed is not counted.
    total: usize,
}

/// List what happened
///
/// Everything that happened in the project in one feed, newest first: mails and what became of them, events, contacts,
/// campaigns, workflows and segments. Pass at most one of `contactId`, `campaignId`, `workflowId` and `templateId`.
#[utoipa::path(get, path = "/activity", tag = "Activity", operation_id = "listActivity", security(("secretKey" = []), ("session" = [])),
    params(
        ("limit" = inline(Option<ActivityLimit>), Query, description = "Entries per page"),
        ("cursor" = Option<String>, Query, description = "The `cursor` of the previous page"),
        ("types" = Option<String>, Query, description = "Only these types, separated by commas. Types that there are not count for nothing."),
        ("contactId" = Option<String>, Query, description = "Only what is about this contact"),
        ("campaignId" = Option<String>, Query, description = "Only this campaign and what became of its mails"),
        ("workflowId" = Option<String>, Query, description = "Only this workflow, its executions and what became of its mails"),
        ("templateId" = Option<String>, Query, description = "Only what became of mails of this template"),
        ("startDate" = Option<String>, Query, description = "Only from this time on"),
        ("endDate" = Option<String>, Query, description = "Only before this time")),
    responses((status = 200, body = ActivityList), (status = 400, description = "A parameter cannot be read", body = ErrorEnvelope)))]
pub(crate) async fn list(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadMail>,
    params: Params,
) -> Result<Json<ActivityList>> {
    let wanted = Wanted {
        scope: scope(&params)?,
        types: types(&params),
        from: params.instant("startDate")?,
        until: params.instant("endDate")?,
        after: params.cursor()?,
        limit: params.bounded::<ActivityLimit>() as usize,
    };
    let is_first = wanted.after.is_none();
    let page = app.activity(&project, wanted).await?;
    Ok(Json(ActivityList {
        total: if is_first && page.next.is_none() { page.entries.len() } else { 0 },
        data: page.entries.into_iter().map(ActivityView::from).collect(),
        has_more: page.next.is_some(),
        cursor: page.next.map(|place| place.to_string()),
    }))
}

/// Which types are asked for; `None` for all. Those that there are not are dropped.
pub(super) fn types(params: &Params) -> Option<BTreeSet<ActivityType>> {
    let text = params.text("types")?;
    Some(text.split(',').filter_map(|name| ActivityType::from_name(name.trim())).collect())
}

pub(super) fn scope(params: &Params) -> Result<Scope> {
    let scopes = [
        params.id("contactId")?.map(Scope::Contact),
        params.id("campaignId")?.map(Scope::Campaign),
        params.id("workflowId")?.map(Scope::Workflow),
        params.id("templateId")?.map(Scope::Template),
    ];
    let mut given = scopes.into_iter().flatten();
    match (given.next(), given.next()) {
        (None, _) => Ok(Scope::Project),
        (Some(scope), None) => Ok(scope),
        (Some(_), Some(_)) => {
            Err(ApiError::bad_request("Pass one of contactId, campaignId, workflowId and templateId."))
        }
    }
}

/// The types of the feed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ActivityTypes {
    types: Vec<ActivityType>,
}

/// List the types of what happens
#[utoipa::path(get, path = "/activity/types", tag = "Activity", operation_id = "listActivityTypes", security(("secretKey" = []), ("session" = [])),
    responses((status = 200, body = ActivityTypes)))]
pub(crate) async fn types_of_feed(ProjectAccess(..): ProjectAccess<ReadMail>) -> Json<ActivityTypes> {
    Json(ActivityTypes { types: ActivityType::ALL.to_vec() })
}

/// What happened in a period.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ActivityStats {
    /// Events, the service's own included.
    total_events: i64,
    /// Mails of the period that were sent.
    total_emails_sent: i64,
    /// Those that a person opened.
    total_emails_opened: i64,
    /// Those in which a person followed a link.
    total_emails_clicked: i64,
    /// Executions of workflows that began.
    total_workflows_started: i64,
    /// In percent of the mails that were sent.
    open_rate: f64,
    /// In percent of the mails that were sent.
    click_rate: f64,
}

/// Add up what happened
///
/// The period is widened to whole quarters of an hour. What became of a mail counts for the time when it was accepted.
#[utoipa::path(get, path = "/activity/stats", tag = "Activity", operation_id = "getActivityStats", security(("secretKey" = []), ("session" = [])),
    params(
        ("startDate" = Option<String>, Query, description = "From when on; 30 days before the end if missing"),
        ("endDate" = Option<String>, Query, description = "Before when; now if missing")),
    responses((status = 200, body = ActivityStats), (status = 400, description = "Invalid date", body = ErrorEnvelope)))]
pub(crate) async fn stats(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadMail>,
    params: Params,
) -> Result<Json<ActivityStats>> {
    let figures = app.figures(&project, period(&app, &params)?).await?;
    let sent = figures.get(Metric::Sent);
    let (opened, clicked) = (figures.get(Metric::Opened), figures.get(Metric::Clicked));
    Ok(Json(ActivityStats {
        total_events: figures.get(Metric::Events),
        total_emails_sent: sent,
        total_emails_opened: opened,
        total_emails_clicked: clicked,
        total_workflows_started: figures.get(Metric::Started),
        open_rate: rate(opened, sent),
        click_rate: rate(clicked, sent),
    }))
}

/// How much happened lately.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RecentCount {
    /// Events; 10,000 where there are more.
    count: i64,
    minutes: i64,
}

/// Count what happened lately
#[utoipa::path(get, path = "/activity/recent-count", tag = "Activity", operation_id = "countRecentActivity", security(("secretKey" = []), ("session" = [])),
    params(("minutes" = inline(Option<Minutes>), Query, description = "Of how many minutes")),
    responses((status = 200, body = RecentCount)))]
pub(crate) async fn recent_count(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadMail>,
    params: Params,
) -> Result<Json<RecentCount>> {
    let minutes = params.bounded::<Minutes>();
    let count = app.recent_count(&project, Duration::from_mins(minutes as u64)).await?;
    Ok(Json(RecentCount { count, minutes }))
}
