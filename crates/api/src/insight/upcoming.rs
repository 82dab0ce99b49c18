//! `/activity/upcoming`: what is going to happen.

use std::time::Duration;

use axum::extract::State;
use mailwright_app::App;
use mailwright_app::insight::upcoming::{Pending, Scheduled, Upcoming, WaitingOnDay};
use mailwright_core::time::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::auth::ProjectAccess;
use crate::auth::needs::ReadMail;
use crate::error::Result;
use crate::json::Json;
use crate::params::{ActivityLimit, DaysAhead, Params};

/// What is going to happen.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UpcomingList {
    /// The earliest first.
    activities: Vec<UpcomingView>,
    /// Whether there is more than is listed, or counted.
    has_more: bool,
}

/// Something that is going to happen.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UpcomingView {
    id: String,
    /// `campaign.scheduled`, `workflow.scheduled` or `job.pending`.
    r#type: &'static str,
    /// When; of executions the first of the day, of a job when it was asked for.
    #[schema(value_type = String, format = DateTime)]
    timestamp: Timestamp,
    /// What else there is to tell, by type.
    #[schema(value_type = Object)]
    metadata: Value,
}

/// List what is going to happen
///
/// Campaigns that are scheduled, executions of workflows that go on, by workflow and day (of the project's time zone),
/// and jobs that are not done.
#[utoipa::path(get, path = "/activity/upcoming", tag = "Activity", operation_id = "listUpcoming", security(("secretKey" = []), ("session" = [])),
    params(
        ("limit" = inline(Option<ActivityLimit>), Query, description = "How many at most"),
        ("daysAhead" = inline(Option<DaysAhead>), Query, description = "Within how many days")),
    responses((status = 200, body = UpcomingList)))]
pub(crate) async fn list(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadMail>,
    params: Params,
) -> Result<Json<UpcomingList>> {
    let limit = params.bounded::<ActivityLimit>();
    let within = Duration::from_hours(24 * params.bounded::<DaysAhead>() as u64);
    // one more of each than is listed
    let Upcoming { campaigns, executions, jobs, has_more } =
        app.upcoming(&project, within, limit + 1).await?;
    let mut activities: Vec<UpcomingView> = jobs.into_iter().map(UpcomingView::from).collect();
    activities.extend(campaigns.into_iter().map(UpcomingView::from));
    activities.extend(executions.into_iter().map(UpcomingView::from));
    activities.sort_by(|one, other| (one.timestamp, &one.id).cmp(&(other.timestamp, &other.id)));
    let has_more = has_more || activities.len() > limit as usize;
    activities.truncate(limit as usize);
    Ok(Json(UpcomingList { activities, has_more }))
}

impl From<Scheduled> for UpcomingView {
    fn from(campaign: Scheduled) -> Self {
        Self {
            id: format!("{}_scheduled", campaign.id),
            r#type: "campaign.scheduled",
            timestamp: campaign.at,
            metadata: json!({
                "campaignId": campaign.id,
                "campaignName": campaign.name,
                "subject": campaign.subject,
                "totalRecipients": campaign.recipients,
                "audienceType": campaign.audience.as_str(),
                "segmentName": campaign.segment_name,
            }),
        }
    }
}

impl From<WaitingOnDay> for UpcomingView {
    fn from(day: WaitingOnDay) -> Self {
        Self {
            id: format!("{}_{}", day.workflow, day.date),
            r#type: "workflow.scheduled",
            timestamp: day.first,
            metadata: json!({
                "workflowId": day.workflow,
                "workflowName": day.name,
                "day": day.date,
                "executions": day.executions,
            }),
        }
    }
}

impl From<Pending> for UpcomingView {
    fn from(job: Pending) -> Self {
        Self {
            id: format!("{}_job", job.id),
            r#type: "job.pending",
            timestamp: job.created_at,
            metadata: json!({
                "jobId": job.id,
                "kind": job.kind.as_str(),
                "state": job.state.as_str(),
                "progress": job.percent,
            }),
        }
    }
}
