//! `/projects/:id/security`: how well a project's mail is received.

use crate::json::Json;
use axum::extract::State;
use mailwright_app::App;
use mailwright_app::delivery::reputation::Security;
use mailwright_core::ids::ProjectId;
use mailwright_core::project::Project;
use mailwright_core::reputation::{Level, Totals};
use mailwright_core::time::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use crate::auth::needs::ReadProject;
use crate::auth::{MemberAccess, PathAccess};
use crate::envelope::Time;
use crate::error::{ErrorEnvelope, Result};

/// Mails of a period, with their bounces and complaints.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RatesView {
    total: i64,
    bounces: i64,
    complaints: i64,
    /// Bounces in percent of the mails.
    bounce_rate: f64,
    /// Complaints in percent of the mails.
    complaint_rate: f64,
}

impl From<Totals> for RatesView {
    fn from(totals: Totals) -> Self {
        Self {
            total: totals.total,
            bounces: totals.bounces,
            complaints: totals.complaints,
            bounce_rate: totals.bounce_rate(),
            complaint_rate: totals.complaint_rate(),
        }
    }
}

/// A project's reputation. The rules for its first days are not shown, because senders of spam could adapt to them.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StatusView {
    project_id: ProjectId,
    /// Whether no rate is critical.
    is_healthy: bool,
    /// Whether a rate is reason to disable the project.
    should_disable: bool,
    /// Always zero.
    twenty_four_hour: RatesView,
    seven_day: RatesView,
    all_time: RatesView,
    /// Always false.
    is_new_project: bool,
    /// The critical rates, in words.
    violations: Vec<&'static str>,
    /// The rates with a warning, in words.
    warnings: Vec<&'static str>,
}

/// How bad each rate is: `healthy`, `warning` or `critical`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LevelsView {
    #[serde(rename = "bounce7Day")]
    bounce_7_day: &'static str,
    #[serde(rename = "bounceAllTime")]
    bounce_all_time: &'static str,
    #[serde(rename = "complaint7Day")]
    complaint_7_day: &'static str,
    #[serde(rename = "complaintAllTime")]
    complaint_all_time: &'static str,
}

/// A time for which the project was disabled.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SuspensionView {
    reason: String,
    #[schema(value_type = String, format = DateTime)]
    started_at: Timestamp,
    /// Null while it lasts.
    #[schema(value_type = Option<String>, format = DateTime)]
    ended_at: Time,
}

/// How well a project's mail is received.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SecurityView {
    status: StatusView,
    levels: LevelsView,
    is_disabled: bool,
    /// Recent suspensions, newest first.
    suspensions: Vec<SuspensionView>,
}

impl SecurityView {
    fn new(found: Security, project: &Project) -> Self {
        let Security { stats, health, suspensions } = found;
        let worst = health.worst();
        Self {
            status: StatusView {
                project_id: project.id,
                is_healthy: worst < Level::Critical,
                should_disable: worst == Level::Critical,
                twenty_four_hour: RatesView::default(),
                seven_day: stats.week.into(),
                all_time: stats.ever.into(),
                is_new_project: false,
                violations: health.words(Level::Critical),
                warnings: health.words(Level::Warning),
            },
            levels: LevelsView {
                bounce_7_day: health.bounce_week.as_str(),
                bounce_all_time: health.bounce_ever.as_str(),
                complaint_7_day: health.complaint_week.as_str(),
                complaint_all_time: health.complaint_ever.as_str(),
            },
            is_disabled: project.disabled,
            suspensions: suspensions
                .into_iter()
                .map(|s| SuspensionView { reason: s.reason, started_at: s.started_at, ended_at: s.ended_at })
                .collect(),
        }
    }
}

/// Show how well a project's mail is received
#[utoipa::path(get, path = "/projects/{id}/security", tag = "Projects", operation_id = "getSecurity", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 200, body = SecurityView), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn get(
    State(app): State<App>,
    PathAccess(project, ..): PathAccess<ReadProject>,
) -> Result<Json<SecurityView>> {
    Ok(Json(SecurityView::new(app.security(&project).await?, &project)))
}

/// Show how well the mail of one of your projects is received
#[utoipa::path(get, path = "/users/@me/projects/{id}/security", tag = "Projects", operation_id = "getMySecurity", security(("session" = [])),
    params(("id" = String, Path)),
    responses((status = 200, body = SecurityView), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn of_mine(
    State(app): State<App>,
    MemberAccess(project, ..): MemberAccess<ReadProject>,
) -> Result<Json<SecurityView>> {
    Ok(Json(SecurityView::new(app.security(&project).await?, &project)))
}
