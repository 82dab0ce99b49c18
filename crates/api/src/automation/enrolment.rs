//! Enrolling the members of a segment in a workflow.

use crate::json::Json;
use axum::extract::State;
use axum::http::StatusCode;
use mailwright_app::automation::enrolment::Enrolled;
use mailwright_app::{App, Resource};
use mailwright_core::custom_data;
use mailwright_core::ids::{SegmentId, WorkflowId};
use mailwright_core::issue::Issue;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::auth::ProjectAccess;
use crate::auth::needs::{ReadWorkflows, WriteWorkflows};
use crate::background::job::{JobView, QueuedJob, not_found};
use crate::error::{ErrorEnvelope, Failure};
use crate::fields::DataObject;
use crate::params::{self, PathText, PathTexts};
use crate::schema::{Body, Payload};

/// Whom to enrol.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = EnrolSegmentRequest)]
pub(crate) struct EnrolRequest {
    segment_id: SegmentId,
    /// Values for the steps, which see them as `event`. At most 64 KB.
    context: Option<DataObject>,
}

impl Payload for EnrolRequest {
    fn check(&self) -> Vec<Issue> {
        self.context.as_ref().map(|context| custom_data::check(&context.0, "context")).unwrap_or_default()
    }
}

/// Enrol a segment
///
/// Begins an execution for each member of a segment that may go through the workflow, in the background.
#[utoipa::path(post, path = "/workflows/{id}/enrol", tag = "Workflows", operation_id = "enrolSegment", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)), request_body = EnrolRequest,
    responses(
        (status = 202, description = "Queued", body = QueuedJob),
        (status = 400, description = "The workflow is not enabled", body = ErrorEnvelope),
        (status = 404, description = "There is no such workflow or segment", body = ErrorEnvelope),
        (status = 422, description = "Validation failed", body = ErrorEnvelope),
        (status = 429, description = "Too many jobs are queued", body = ErrorEnvelope)))]
pub(crate) async fn enrol(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteWorkflows>,
    PathText(id): PathText,
    Body(body): Body<EnrolRequest>,
) -> Result<(StatusCode, Json<QueuedJob>), Failure> {
    let id = params::id(&id, Resource::Workflow)?;
    let context = body.context.unwrap_or_default().0;
    let job = app.enrol_segment(&project, &caller.actor, id, body.segment_id, context).await?;
    Ok((StatusCode::ACCEPTED, Json(QueuedJob::new("The segment is being enrolled.", job))))
}

/// The result of enrolling a segment.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EnrolmentResult {
    /// Members that began.
    enrolled: i64,
    /// Members that did not, because they go through the workflow, or did and may not again.
    refused: i64,
}

impl From<Enrolled> for EnrolmentResult {
    fn from(enrolled: Enrolled) -> Self {
        Self { enrolled: enrolled.enrolled, refused: enrolled.refused }
    }
}

/// Get the status of an enrolment
#[utoipa::path(get, path = "/workflows/{id}/enrol/{jobId}", tag = "Workflows", operation_id = "getEnrolment", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path), ("jobId" = String, Path)),
    responses((status = 200, body = JobView<EnrolmentResult>), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn status(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadWorkflows>,
    PathTexts(id, job): PathTexts,
) -> Result<Json<JobView<EnrolmentResult>>, Failure> {
    let workflow: WorkflowId = params::id(&id, Resource::Workflow)?;
    app.workflow(&project, workflow).await?;
    let found = match job.parse() {
        Ok(id) => app.enrolment(&project, workflow, id).await?,
        Err(_) => None,
    };
    Ok(Json(JobView::new(found.ok_or_else(|| not_found(&job))?, EnrolmentResult::from)))
}
