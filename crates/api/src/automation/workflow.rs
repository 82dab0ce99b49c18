//! `/workflows`.

use std::collections::{BTreeMap, BTreeSet};

use crate::json::Json;
use axum::extract::State;
use axum::http::StatusCode;
use mailwright_app::automation::manage::{NewWorkflow, WorkflowPatch};
use mailwright_app::{App, Resource};
use mailwright_core::ids::{ProjectId, TemplateId, WorkflowId};
use mailwright_core::patch::Patch;
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::definition::Workflow;
use mailwright_core::workflow::kind::TriggerType;
use mailwright_store::automation::workflow::Listed;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::step::StepView;
use super::transition::TransitionView;
use crate::auth::needs::{ReadWorkflows, WriteWorkflows};
use crate::auth::{Caller, ProjectAccess};
use crate::error::{ErrorEnvelope, Failure, LegacyError, Result};
use crate::fields::{Description, Name, ShortText};
use crate::params::{self, PathText};
use crate::schema::{Body, Payload, missing};

/// A workflow.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WorkflowView {
    id: WorkflowId,
    project_id: ProjectId,
    name: String,
    /// Internal note.
    description: Option<String>,
    /// Whether contacts are enrolled.
    enabled: bool,
    trigger_type: TriggerType,
    /// By type: `{ eventName, filter }`, or a schedule with its `segmentId`; null for MANUAL.
    trigger_config: Option<Value>,
    /// Whether a contact may go through it again.
    allow_reentry: bool,
    /// What ends executions early: `{ eventName }` or `{ filter }`.
    goal: Option<Value>,
    /// The number of the version in force; null before the workflow is first enabled.
    version: Option<i64>,
    /// Whether what is shown differs from the version in force.
    is_draft: bool,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl WorkflowView {
    pub(super) fn new(workflow: &Workflow, project: &Project) -> Self {
        Self {
            id: workflow.id,
            project_id: project.id,
            name: workflow.name.clone(),
            description: workflow.description.clone(),
            enabled: workflow.enabled,
            trigger_type: workflow.edited.trigger_type,
            trigger_config: workflow.edited.trigger_config.clone(),
            allow_reentry: workflow.allow_reentry,
            goal: workflow.edited.goal.clone(),
            version: workflow.version,
            is_draft: workflow.is_draft,
            created_at: workflow.created_at,
            updated_at: workflow.updated_at,
        }
    }
}

impl WorkflowView {
    /// A workflow as lists read it.
    pub(super) fn of_list(workflow: Listed, project: &Project) -> Self {
        Self {
            id: workflow.id,
            project_id: project.id,
            name: workflow.name,
            description: workflow.description,
            enabled: workflow.enabled,
            trigger_type: workflow.trigger_type,
            trigger_config: workflow.trigger_config,
            allow_reentry: workflow.allow_reentry,
            goal: workflow.goal,
            version: workflow.version,
            is_draft: workflow.is_draft,
            created_at: workflow.created_at,
            updated_at: workflow.updated_at,
        }
    }
}

/// A workflow to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CreateWorkflowRequest)]
pub(crate) struct CreateRequest {
    name: Name,
    description: Option<Description>,
    /// The event that starts it.
    event_name: ShortText,
    /// Whether a contact may go through it again; false by default.
    allow_reentry: Option<bool>,
}

impl Payload for CreateRequest {
    fn legacy(body: &Value) -> Option<&'static str> {
        missing(body, &[("name", "name is required"), ("eventName", "eventName is required")])
    }
}

/// Create a workflow
///
/// It is not enabled, and has a TRIGGER step.
#[utoipa::path(post, path = "/workflows", tag = "Workflows", operation_id = "createWorkflow", security(("secretKey" = []), ("session" = [])),
    request_body = CreateRequest,
    responses(
        (status = 201, body = WorkflowView),
        (status = 400, description = "name or eventName is missing (`LegacyError`), or eventName is blank (`ErrorEnvelope`)", body = LegacyError),
        (status = 409, description = "The project has the maximum number of workflows", body = ErrorEnvelope),
        (status = 422, description = "Validation failed", body = ErrorEnvelope)))]
pub(crate) async fn create(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<WriteWorkflows>,
    Body(body): Body<CreateRequest>,
) -> Result<(StatusCode, Json<WorkflowView>), Failure> {
    let new = NewWorkflow {
        name: body.name.into(),
        description: body.description.map(String::from),
        event: body.event_name.into(),
        allow_reentry: body.allow_reentry.unwrap_or(false),
    };
    let workflow = app.create_workflow(&project, new).await?;
    Ok((StatusCode::CREATED, Json(WorkflowView::new(&workflow, &project))))
}

/// The template of a step.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StepTemplate {
    id: TemplateId,
    name: String,
}

/// A step with what leads to it and where it leads.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LinkedStep {
    #[serde(flatten)]
    step: StepView,
    template: Option<StepTemplate>,
    outgoing_transitions: Vec<TransitionView>,
    incoming_transitions: Vec<TransitionView>,
}

/// A workflow with its steps and transitions.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WorkflowDetail {
    #[serde(flatten)]
    workflow: WorkflowView,
    /// In the order in which they were created.
    steps: Vec<LinkedStep>,
    transitions: Vec<TransitionView>,
}

impl WorkflowDetail {
    fn new(
        workflow: &Workflow,
        templates: &BTreeMap<TemplateId, String>,
        project: &Project,
        caller: &Caller,
    ) -> Self {
        let graph = &workflow.edited.graph;
        let view = |found: Vec<_>| found.into_iter().map(TransitionView::new).collect();
        let steps = graph.steps.iter().map(|step| LinkedStep {
            outgoing_transitions: view(graph.leaving(step.id)),
            incoming_transitions: view(graph.entering(step.id)),
            template: step.template.and_then(|id| {
                let name = templates.get(&id).cloned()?;
                Some(StepTemplate { id, name })
            }),
            step: StepView::new(step.clone(), workflow.id).seen_by(caller),
        });
        Self {
            workflow: WorkflowView::new(workflow, project),
            steps: steps.collect(),
            transitions: graph.transitions.iter().map(TransitionView::new).collect(),
        }
    }
}

/// Get a workflow
///
/// With its steps and transitions as they are edited. `isDraft` tells whether others are in force.
#[utoipa::path(get, path = "/workflows/{id}", tag = "Workflows", operation_id = "getWorkflow", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 200, body = WorkflowDetail), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn get(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<ReadWorkflows>,
    PathText(id): PathText,
) -> Result<Json<WorkflowDetail>> {
    let workflow = app.workflow(&project, params::id(&id, Resource::Workflow)?).await?;
    let ids: BTreeSet<TemplateId> =
        workflow.edited.graph.steps.iter().filter_map(|step| step.template).collect();
    let templates = app.template_names(&project, ids).await?;
    Ok(Json(WorkflowDetail::new(&workflow, &templates, &project, &caller)))
}

/// Changes to a workflow.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = UpdateWorkflowRequest)]
pub(crate) struct UpdateRequest {
    name: Option<Name>,
    /// null clears it.
    #[serde(default)]
    #[schema(value_type = Option<Description>)]
    description: Patch<Description>,
    trigger_type: Option<TriggerType>,
    /// `{ eventName, filter }` for EVENT; `{ segmentId, start, repeat, rule, timeZone }` for SCHEDULE.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    trigger_config: Patch<Value>,
    /// `{ eventName }` or `{ filter }`; null clears it.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    goal: Patch<Value>,
    /// Whether contacts are enrolled. Who goes through a workflow goes on when it is disabled.
    enabled: Option<bool>,
    /// Whether a contact may go through it again.
    allow_reentry: Option<bool>,
}

impl Payload for UpdateRequest {}

/// Change a workflow
///
/// While contacts go through the enabled workflow, changes of trigger and goal are kept until it is published.
#[utoipa::path(patch, path = "/workflows/{id}", tag = "Workflows", operation_id = "updateWorkflow", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)), request_body = UpdateRequest,
    responses(
        (status = 200, body = WorkflowView), (status = 404, description = "There is no such workflow or segment", body = ErrorEnvelope),
        (status = 422, description = "Validation failed", body = ErrorEnvelope)))]
pub(crate) async fn update(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteWorkflows>,
    PathText(id): PathText,
    Body(body): Body<UpdateRequest>,
) -> Result<Json<WorkflowView>, Failure> {
    let id = params::id(&id, Resource::Workflow)?;
    let patch = WorkflowPatch {
        name: body.name.map(String::from),
        description: body.description.map(String::from),
        trigger_type: body.trigger_type,
        trigger_config: body.trigger_config,
        goal: body.goal,
        enabled: body.enabled,
        allow_reentry: body.allow_reentry,
    };
    let workflow = app.update_workflow(&project, &caller.actor, id, patch).await?;
    Ok(Json(WorkflowView::new(&workflow, &project)))
}

/// Delete a workflow
///
/// The executions of those who went through it go with it.
#[utoipa::path(delete, path = "/workflows/{id}", tag = "Workflows", operation_id = "deleteWorkflow", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses(
        (status = 204), (status = 404, body = ErrorEnvelope),
        (status = 409, description = "Contacts go through it", body = ErrorEnvelope)))]
pub(crate) async fn delete(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteWorkflows>,
    PathText(id): PathText,
) -> Result<StatusCode> {
    app.delete_workflow(&project, &caller.actor, params::id(&id, Resource::Workflow)?).await?;
    Ok(StatusCode::NO_CONTENT)
}
