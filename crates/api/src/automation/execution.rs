//! `/workflows/:id/executions`.

use crate::json::Json;
use axum::extract::State;
use axum::http::StatusCode;
use mailwright_app::automation::execution::{Standing, TakenStep, Told};
use mailwright_app::{App, Resource};
use mailwright_core::custom_data;
use mailwright_core::ids::{ContactId, EventId, ExecutionId, StepId, WorkflowId};
use mailwright_core::issue::Issue;
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::execution::Execution;
use mailwright_core::workflow::graph::Step;
use mailwright_core::workflow::kind::{ExecutionStatus, StepStatus, StepType};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::step::StepView;
use super::workflow::WorkflowView;
use crate::auth::ProjectAccess;
use crate::auth::needs::{ReadWorkflows, WriteWorkflows};
use crate::error::{ErrorEnvelope, Failure, LegacyError, Result};
use crate::fields::DataObject;
use crate::params::{self, PageNumber, PageSize, Params, PathText, PathTexts, one_of};
use crate::schema::{Body, Payload, missing};

/// A contact's way through a workflow.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExecutionView {
    id: ExecutionId,
    workflow_id: WorkflowId,
    contact_id: ContactId,
    status: ExecutionStatus,
    /// The step that it stands at, or ended at; null once it is `COMPLETED`.
    current_step_id: Option<StepId>,
    /// Why it ended, if there is more to say than that it did.
    exit_reason: Option<String>,
    /// The data of the events that began it and ended its waits, or what its caller gave.
    #[schema(value_type = Option<Object>)]
    context: Option<Map<String, Value>>,
    /// The event that began it.
    source_event_id: Option<EventId>,
    /// The version of the workflow that it runs.
    version: i64,
    /// Whether it ended because the contact reached the goal.
    converted: bool,
    #[schema(value_type = String, format = DateTime)]
    started_at: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime)]
    completed_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl ExecutionView {
    pub(super) fn new(standing: &Standing) -> Self {
        let stored = &standing.stored;
        let execution = &stored.execution;
        Self {
            id: execution.id,
            workflow_id: stored.workflow,
            contact_id: execution.contact,
            status: execution.status,
            current_step_id: standing.current.as_ref().map(|step| step.id),
            exit_reason: execution.exit_reason.clone(),
            context: Some(execution.context.clone()).filter(|context| !context.is_empty()),
            source_event_id: execution.source,
            version: stored.version,
            converted: execution.is_converted,
            started_at: execution.started_at,
            completed_at: execution.completed_at,
            created_at: execution.started_at,
            updated_at: execution.changed_at(),
        }
    }
}

/// The contact of an execution.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ExecutionContact {
    id: ContactId,
    email: Option<String>,
}

impl ExecutionContact {
    fn new(standing: &Standing) -> Self {
        let email = standing.email.as_ref().map(ToString::to_string);
        Self { id: standing.stored.execution.contact, email }
    }
}

/// A step, by its name.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StepName {
    id: StepId,
    name: String,
    r#type: StepType,
}

impl StepName {
    pub(super) fn new(step: &Step) -> Self {
        Self { id: step.id, name: step.name.clone(), r#type: step.kind }
    }
}

/// An execution in a list.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExecutionListItem {
    #[serde(flatten)]
    execution: ExecutionView,
    contact: ExecutionContact,
    current_step: Option<StepName>,
}

/// A page of executions.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExecutionPage {
    data: Vec<ExecutionListItem>,
    total: i64,
    page: i64,
    page_size: i64,
    total_pages: i64,
}

/// List executions
///
/// The newest first.
#[utoipa::path(get, path = "/workflows/{id}/executions", tag = "Workflows", operation_id = "listExecutions", security(("secretKey" = []), ("session" = [])),
    params(
        ("id" = String, Path),
        ("page" = inline(Option<PageNumber>), Query, description = "Page number"),
        ("pageSize" = inline(Option<PageSize>), Query, description = "Rows per page"),
        ("status" = Option<ExecutionStatus>, Query, description = "Only executions with this status"),
    ),
    responses(
        (status = 200, body = ExecutionPage), (status = 404, body = ErrorEnvelope),
        (status = 400, description = "There is no such status", body = ErrorEnvelope)))]
pub(crate) async fn list(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadWorkflows>,
    PathText(id): PathText,
    params: Params,
) -> Result<Json<ExecutionPage>> {
    let (page, page_size) = (params.bounded::<PageNumber>(), params.bounded::<PageSize>());
    let status = one_of(
        &params,
        "status",
        ExecutionStatus::from_name,
        &ExecutionStatus::ALL,
        ExecutionStatus::as_str,
    )?;
    let id = params::id(&id, Resource::Workflow)?;
    let (found, total) = app.executions(&project, id, status, ((page - 1) * page_size, page_size)).await?;
    let item = |standing: &Standing| ExecutionListItem {
        execution: ExecutionView::new(standing),
        contact: ExecutionContact::new(standing),
        current_step: standing.current.as_ref().map(StepName::new),
    };
    let data = found.iter().map(item).collect();
    Ok(Json(ExecutionPage { data, total, page, page_size, total_pages: (total + page_size - 1) / page_size }))
}

/// An execution to begin.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = StartExecutionRequest)]
pub(crate) struct StartRequest {
    contact_id: ContactId,
    /// Values for its steps, which see them as `event`. At most 64 KB.
    context: Option<DataObject>,
}

impl Payload for StartRequest {
    fn check(&self) -> Vec<Issue> {
        self.context.as_ref().map(|context| custom_data::check(&context.0, "context")).unwrap_or_default()
    }

    fn legacy(body: &Value) -> Option<&'static str> {
        missing(body, &[("contactId", "contactId is required")])
    }
}

/// Begin an execution
///
/// It is answered at once; the steps are taken in the background.
#[utoipa::path(post, path = "/workflows/{id}/executions", tag = "Workflows", operation_id = "startExecution", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)), request_body = StartRequest,
    responses(
        (status = 201, body = ExecutionView), (status = 404, description = "There is no such workflow or contact", body = ErrorEnvelope),
        (status = 400, description = "contactId is missing (`LegacyError`), or the workflow is not enabled (`ErrorEnvelope`)", body = LegacyError),
        (status = 409, description = "The contact goes through the workflow, or did and may not again", body = ErrorEnvelope),
        (status = 422, description = "Validation failed", body = ErrorEnvelope)))]
pub(crate) async fn start(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<WriteWorkflows>,
    PathText(id): PathText,
    Body(body): Body<StartRequest>,
) -> Result<(StatusCode, Json<ExecutionView>), Failure> {
    let id = params::id(&id, Resource::Workflow)?;
    let context = body.context.unwrap_or_default().0;
    let standing = app.start_execution(&project, id, body.contact_id, context).await?;
    Ok((StatusCode::CREATED, Json(ExecutionView::new(&standing))))
}

/// What a step did in an execution.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StepExecutionView {
    /// Made from the ids of execution and step, and always the same.
    id: StepId,
    execution_id: ExecutionId,
    step_id: StepId,
    status: StepStatus,
    /// When its wait ends at the latest.
    #[schema(value_type = Option<String>, format = DateTime)]
    scheduled_for: Option<Timestamp>,
    /// The same.
    #[schema(value_type = Option<String>, format = DateTime)]
    execute_after: Option<Timestamp>,
    /// What it decided and saw, by type (docs/workflows.md).
    #[schema(value_type = Option<Object>)]
    output: Option<Value>,
    /// Why it failed.
    error: Option<String>,
    /// The event that ended its wait.
    resume_event_id: Option<EventId>,
    #[schema(value_type = String, format = DateTime)]
    started_at: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime)]
    completed_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
    step: StepName,
}

impl StepExecutionView {
    pub(super) fn new(execution: &Execution, taken: &TakenStep) -> Self {
        let record = &taken.record;
        Self {
            id: execution.id_of_step(taken.step.id),
            execution_id: execution.id,
            step_id: taken.step.id,
            status: record.status,
            scheduled_for: record.until,
            execute_after: record.until,
            output: taken.output.clone(),
            error: record.error.clone(),
            resume_event_id: record.resumed_by(),
            started_at: record.started_at,
            completed_at: record.completed_at,
            created_at: record.started_at,
            updated_at: record.completed_at.unwrap_or(record.started_at),
            step: StepName::new(&taken.step),
        }
    }
}

/// An execution with all that it did.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExecutionDetail {
    #[serde(flatten)]
    execution: ExecutionView,
    workflow: WorkflowView,
    contact: ExecutionContact,
    current_step: Option<StepView>,
    /// The steps that it took, the oldest first.
    step_executions: Vec<StepExecutionView>,
}

/// Get an execution
#[utoipa::path(get, path = "/workflows/{id}/executions/{executionId}", tag = "Workflows", operation_id = "getExecution", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path), ("executionId" = String, Path)),
    responses((status = 200, body = ExecutionDetail), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn get(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<ReadWorkflows>,
    PathTexts(id, execution): PathTexts,
) -> Result<Json<ExecutionDetail>> {
    let workflow = params::id(&id, Resource::Workflow)?;
    let told = app.execution(&project, workflow, params::id(&execution, Resource::Execution)?).await?;
    let Told { standing, workflow, steps } = &told;
    Ok(Json(ExecutionDetail {
        execution: ExecutionView::new(standing),
        workflow: WorkflowView::new(workflow, &project),
        contact: ExecutionContact::new(standing),
        current_step: standing.current.clone().map(|step| StepView::new(step, workflow.id).seen_by(&caller)),
        step_executions: steps
            .iter()
            .map(|taken| StepExecutionView::new(&standing.stored.execution, taken))
            .collect(),
    }))
}

/// Cancel an execution
#[utoipa::path(delete, path = "/workflows/{id}/executions/{executionId}", tag = "Workflows", operation_id = "cancelExecution", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path), ("executionId" = String, Path)),
    responses(
        (status = 200, body = ExecutionView), (status = 404, body = ErrorEnvelope),
        (status = 409, description = "It is over", body = ErrorEnvelope)))]
pub(crate) async fn cancel(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<WriteWorkflows>,
    PathTexts(id, execution): PathTexts,
) -> Result<Json<ExecutionView>> {
    let workflow = params::id(&id, Resource::Workflow)?;
    let execution = params::id(&execution, Resource::Execution)?;
    let standing = app.cancel_execution(&project, workflow, execution).await?;
    Ok(Json(ExecutionView::new(&standing)))
}

/// How many executions were cancelled.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ExecutionsCancelled {
    cancelled: usize,
}

/// Cancel all executions
///
/// All that are running or waiting.
#[utoipa::path(post, path = "/workflows/{id}/executions/cancel-all", tag = "Workflows", operation_id = "cancelAllExecutions", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 200, body = ExecutionsCancelled), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn cancel_all(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteWorkflows>,
    PathText(id): PathText,
) -> Result<Json<ExecutionsCancelled>> {
    let id = params::id(&id, Resource::Workflow)?;
    let cancelled = app.cancel_executions(&project, &caller.actor, id).await?;
    Ok(Json(ExecutionsCancelled { cancelled }))
}
