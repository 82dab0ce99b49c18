//! Copies and versions of workflows, and what runs on which.

use crate::json::Json;
use axum::extract::State;
use axum::http::StatusCode;
use mailwright_app::automation::migration::{Moved, Plan};
use mailwright_app::{App, Resource};
use mailwright_core::ids::{ContactId, ExecutionId, StepId, WorkflowId};
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::migrate::Stuck;
use mailwright_store::automation::version::Listed;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::workflow::WorkflowView;
use crate::auth::ProjectAccess;
use crate::auth::needs::{ReadWorkflows, WriteWorkflows};
use crate::background::job::{JobView, not_found};
use crate::error::{ErrorEnvelope, Failure, Result};
use crate::params::{self, PathText, PathTexts};
use crate::schema::{Body, Payload};

/// Copy a workflow
///
/// The copy is not enabled, and nobody went through it.
#[utoipa::path(post, path = "/workflows/{id}/duplicate", tag = "Workflows", operation_id = "duplicateWorkflow", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses(
        (status = 201, body = WorkflowView), (status = 404, body = ErrorEnvelope),
        (status = 409, description = "The project has the maximum number of workflows", body = ErrorEnvelope)))]
pub(crate) async fn duplicate(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<WriteWorkflows>,
    PathText(id): PathText,
) -> Result<(StatusCode, Json<WorkflowView>)> {
    let copy = app.duplicate_workflow(&project, params::id(&id, Resource::Workflow)?).await?;
    Ok((StatusCode::CREATED, Json(WorkflowView::new(&copy, &project))))
}

/// Publish a workflow
///
/// Puts what is edited of an enabled workflow into force. Contacts that go through it stay on the version that they
/// began with.
#[utoipa::path(post, path = "/workflows/{id}/publish", tag = "Workflows", operation_id = "publishWorkflow", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses(
        (status = 200, body = WorkflowView), (status = 404, body = ErrorEnvelope),
        (status = 400, description = "The workflow is not enabled", body = ErrorEnvelope)))]
pub(crate) async fn publish(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteWorkflows>,
    PathText(id): PathText,
) -> Result<Json<WorkflowView>> {
    let id = params::id(&id, Resource::Workflow)?;
    let workflow = app.publish_workflow(&project, &caller.actor, id).await?;
    Ok(Json(WorkflowView::new(&workflow, &project)))
}

/// A version of a workflow.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct VersionView {
    number: i64,
    /// Executions of it that are stored.
    executions: i64,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// When another one took its place; null for the one in force.
    #[schema(value_type = Option<String>, format = DateTime)]
    replaced_at: Option<Timestamp>,
}

impl From<Listed> for VersionView {
    fn from(version: Listed) -> Self {
        let Listed { number, executions, created_at, replaced_at } = version;
        Self { number, executions, created_at, replaced_at }
    }
}

/// List a workflow's versions
///
/// The newest hundred, the newest first.
#[utoipa::path(get, path = "/workflows/{id}/versions", tag = "Workflows", operation_id = "listWorkflowVersions", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 200, body = Vec<VersionView>), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn list(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadWorkflows>,
    PathText(id): PathText,
) -> Result<Json<Vec<VersionView>>> {
    let versions = app.workflow_versions(&project, params::id(&id, Resource::Workflow)?).await?;
    Ok(Json(versions.into_iter().map(VersionView::from).collect()))
}

/// Whether executions are moved.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MigrateWorkflowRequest)]
pub(crate) struct MigrateRequest {
    /// Whether it is only said what would be done; true by default.
    dry_run: Option<bool>,
}

impl Payload for MigrateRequest {
    const MAX_BODY: usize = 16 * 1024;
}

/// Executions that would go on at a step of the version in force.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MovesToStep {
    step_id: StepId,
    step_name: String,
    count: i64,
}

/// Executions that would stay, for a reason.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StaysFor {
    /// `no_step`, `would_repeat` or `request`.
    reason: &'static str,
    count: i64,
}

/// An execution that would stay.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StayingExecution {
    execution_id: ExecutionId,
    contact_id: ContactId,
    step_id: Option<StepId>,
    reason: Stuck,
}

/// What moving executions would do, or does.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MigrationView {
    dry_run: bool,
    /// The version in force.
    to_version: i64,
    moves: Vec<MovesToStep>,
    stays: Vec<StaysFor>,
    /// The first hundred of those that stay.
    staying: Vec<StayingExecution>,
    /// The job that moves them; null if nothing is done.
    job_id: Option<mailwright_core::ids::JobId>,
}

impl MigrationView {
    fn new(plan: Plan, job_id: Option<mailwright_core::ids::JobId>) -> Self {
        let moves = plan.moves.into_iter();
        let stays = plan.stays.into_iter();
        let staying = plan.staying.into_iter();
        Self {
            dry_run: job_id.is_none(),
            to_version: plan.to,
            moves: moves
                .map(|(step_id, (step_name, count))| MovesToStep { step_id, step_name, count })
                .collect(),
            stays: stays.map(|(reason, count)| StaysFor { reason, count }).collect(),
            staying: staying
                .map(|one| StayingExecution {
                    execution_id: one.execution,
                    contact_id: one.contact,
                    step_id: one.step,
                    reason: one.why,
                })
                .collect(),
            job_id,
        }
    }
}

/// Move executions to the version in force
///
/// Says which of those on earlier versions would go on at which step, and which would stay. With `dryRun: false` they
/// are moved in the background.
#[utoipa::path(post, path = "/workflows/{id}/migrate", tag = "Workflows", operation_id = "migrateWorkflow", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)), request_body = MigrateRequest,
    responses(
        (status = 200, description = "What would be done", body = MigrationView),
        (status = 202, description = "It is done in the background", body = MigrationView),
        (status = 400, description = "The workflow was never enabled", body = ErrorEnvelope),
        (status = 404, body = ErrorEnvelope),
        (status = 422, description = "Validation failed", body = ErrorEnvelope),
        (status = 429, description = "Too many jobs are queued", body = ErrorEnvelope)))]
pub(crate) async fn migrate(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteWorkflows>,
    PathText(id): PathText,
    Body(body): Body<MigrateRequest>,
) -> Result<(StatusCode, Json<MigrationView>), Failure> {
    let id = params::id(&id, Resource::Workflow)?;
    let plan = app.plan_migration(&project, id).await?;
    if body.dry_run.unwrap_or(true) {
        return Ok((StatusCode::OK, Json(MigrationView::new(plan, None))));
    }
    let job = app.migrate_workflow(&project, &caller.actor, id).await?;
    Ok((StatusCode::ACCEPTED, Json(MigrationView::new(plan, Some(job)))))
}

/// The result of moving executions.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MigrationResult {
    /// Executions that were moved.
    moved: i64,
    /// Executions that stayed on their version.
    stayed: i64,
}

impl From<Moved> for MigrationResult {
    fn from(moved: Moved) -> Self {
        Self { moved: moved.moved, stayed: moved.stayed }
    }
}

/// Get the status of a migration
#[utoipa::path(get, path = "/workflows/{id}/migrate/{jobId}", tag = "Workflows", operation_id = "getMigration", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path), ("jobId" = String, Path)),
    responses((status = 200, body = JobView<MigrationResult>), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn migration(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadWorkflows>,
    PathTexts(id, job): PathTexts,
) -> Result<Json<JobView<MigrationResult>>, Failure> {
    let workflow: WorkflowId = params::id(&id, Resource::Workflow)?;
    app.workflow(&project, workflow).await?;
    let found = match job.parse() {
        Ok(id) => app.migration(&project, workflow, id).await?,
        Err(_) => None,
    };
    Ok(Json(JobView::new(found.ok_or_else(|| not_found(&job))?, MigrationResult::from)))
}
