//! `/workflows/:id/steps`.

use crate::json::Json;
use axum::extract::State;
use axum::http::StatusCode;
use mailwright_app::{App, Resource};
use mailwright_core::ids::{StepId, TemplateId, WorkflowId};
use mailwright_core::patch::Patch;
use mailwright_core::role::Capability;
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::edit::{NewStep, StepChange};
use mailwright_core::workflow::graph::{self, Step};
use mailwright_core::workflow::kind::StepType;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::auth::needs::WriteWorkflows;
use crate::auth::{Caller, ProjectAccess};
use crate::error::{ErrorEnvelope, Failure, LegacyError, Result};
use crate::fields::Name;
use crate::params::{self, Params, PathText, PathTexts, one_of};
use crate::schema::{Body, Payload, missing};

/// A place on the canvas.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
pub(crate) struct Position {
    /// From the left.
    x: f64,
    /// From the top.
    y: f64,
}

impl From<graph::Position> for Position {
    fn from(graph::Position { x, y }: graph::Position) -> Self {
        Self { x, y }
    }
}

impl From<Position> for graph::Position {
    fn from(Position { x, y }: Position) -> Self {
        Self { x, y }
    }
}

/// A step of a workflow.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StepView {
    id: StepId,
    workflow_id: WorkflowId,
    r#type: StepType,
    name: String,
    position: Position,
    /// How it does what it does, by type (docs/workflows.md).
    config: Value,
    /// The template of a `SEND_EMAIL` step.
    template_id: Option<TemplateId>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl StepView {
    pub(crate) fn new(step: Step, workflow_id: WorkflowId) -> Self {
        Self {
            id: step.id,
            workflow_id,
            r#type: step.kind,
            name: step.name,
            position: step.position.into(),
            config: step.config,
            template_id: step.template,
            created_at: step.created_at,
            updated_at: step.updated_at,
        }
    }

    /// As a caller sees it. The values of headers may be secrets: only who may change the workflow sees them.
    pub(crate) fn seen_by(mut self, caller: &Caller) -> Self {
        let is_hidden = self.r#type == StepType::Webhook && !caller.holder.may(Capability::WriteWorkflows);
        let headers = self.config.get_mut("headers").and_then(Value::as_object_mut).filter(|_| is_hidden);
        for (_, value) in headers.into_iter().flatten() {
            *value = HIDDEN.into();
        }
        self
    }
}

/// What stands for a value that the caller may not see.
const HIDDEN: &str = "(hidden)";

/// A step to add.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AddStepRequest)]
pub(crate) struct AddRequest {
    r#type: StepType,
    name: Name,
    position: Position,
    /// By type (docs/workflows.md).
    #[schema(value_type = Object)]
    config: Value,
    /// The template of a `SEND_EMAIL` step.
    template_id: Option<TemplateId>,
    /// Whether it is linked from the newest step that leads nowhere; true by default.
    auto_connect: Option<bool>,
}

const TYPE: (&str, &str) = ("type", "type is required");
const NAME: (&str, &str) = ("name", "name is required");
const POSITION: (&str, &str) = ("position", "position is required");
const CONFIG: (&str, &str) = ("config", "config is required");

impl Payload for AddRequest {
    fn legacy(body: &Value) -> Option<&'static str> {
        missing(body, &[TYPE, NAME, POSITION, CONFIG])
    }
}

/// Add a step
#[utoipa::path(post, path = "/workflows/{id}/steps", tag = "Workflows", operation_id = "addStep", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)), request_body = AddRequest,
    responses(
        (status = 201, body = StepView), (status = 404, description = "There is no such workflow, template or segment", body = ErrorEnvelope),
        (status = 400, description = "A member is missing (`LegacyError`), or the workflow cannot have such a step (`ErrorEnvelope`)", body = LegacyError),
        (status = 422, description = "Validation failed", body = ErrorEnvelope)))]
pub(crate) async fn add(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<WriteWorkflows>,
    PathText(id): PathText,
    Body(body): Body<AddRequest>,
) -> Result<(StatusCode, Json<StepView>), Failure> {
    let workflow = params::id(&id, Resource::Workflow)?;
    let new = NewStep {
        id: app.new_step(),
        kind: body.r#type,
        name: body.name.into(),
        position: body.position.into(),
        config: body.config,
        template: body.template_id,
    };
    let step = app.add_step(&project, workflow, new, body.auto_connect.unwrap_or(true)).await?;
    Ok((StatusCode::CREATED, Json(StepView::new(step, workflow))))
}

/// A step to put between two others.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = InsertStepRequest)]
pub(crate) struct InsertRequest {
    r#type: StepType,
    name: Name,
    /// Where it is shown; at the beginning of the canvas where nothing is said.
    position: Option<Position>,
    /// By type (docs/workflows.md).
    #[schema(value_type = Object)]
    config: Value,
    /// The template of a `SEND_EMAIL` step.
    template_id: Option<TemplateId>,
}

impl Payload for InsertRequest {
    fn legacy(body: &Value) -> Option<&'static str> {
        missing(body, &[TYPE, NAME, CONFIG])
    }
}

impl InsertRequest {
    pub(super) fn step(self, id: StepId) -> NewStep {
        NewStep {
            id,
            kind: self.r#type,
            name: self.name.into(),
            position: self.position.unwrap_or(Position { x: 0.0, y: 0.0 }).into(),
            config: self.config,
            template: self.template_id,
        }
    }
}

/// Changes to a step. Its type stays.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = UpdateStepRequest)]
pub(crate) struct UpdateRequest {
    name: Option<Name>,
    position: Option<Position>,
    /// By type (docs/workflows.md).
    #[schema(value_type = Option<Object>)]
    config: Option<Value>,
    /// null clears it.
    #[serde(default)]
    #[schema(value_type = Option<TemplateId>)]
    template_id: Patch<TemplateId>,
}

impl Payload for UpdateRequest {}

/// Change a step
///
/// While contacts go through the enabled workflow, the change is kept until the workflow is published.
#[utoipa::path(patch, path = "/workflows/{id}/steps/{stepId}", tag = "Workflows", operation_id = "updateStep", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path), ("stepId" = String, Path)), request_body = UpdateRequest,
    responses(
        (status = 200, body = StepView), (status = 404, description = "There is no such workflow, step, template or segment", body = ErrorEnvelope),
        (status = 400, description = "The workflow would become too large", body = ErrorEnvelope),
        (status = 422, description = "Validation failed", body = ErrorEnvelope)))]
pub(crate) async fn update(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<WriteWorkflows>,
    PathTexts(id, step): PathTexts,
    Body(body): Body<UpdateRequest>,
) -> Result<Json<StepView>, Failure> {
    let workflow = params::id(&id, Resource::Workflow)?;
    let change = StepChange {
        name: body.name.map(String::from),
        position: body.position.map(Into::into),
        config: body.config,
        template: body.template_id,
    };
    let step = app.change_step(&project, workflow, params::id(&step, Resource::Step)?, change).await?;
    Ok(Json(StepView::new(step, workflow)))
}

/// Delete a step
///
/// With it goes every step that can be reached from it; with `splice=true` only the step, and what led to it leads to
/// where it led.
#[utoipa::path(delete, path = "/workflows/{id}/steps/{stepId}", tag = "Workflows", operation_id = "deleteStep", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path), ("stepId" = String, Path),
        ("splice" = Option<bool>, Query, description = "Whether the steps around it are linked; `true` or `false`")),
    responses(
        (status = 204), (status = 404, body = ErrorEnvelope),
        (status = 400, description = "The step is the TRIGGER, or has branches and cannot be spliced out; or `splice` is neither `true` nor `false`", body = ErrorEnvelope)))]
pub(crate) async fn delete(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<WriteWorkflows>,
    PathTexts(id, step): PathTexts,
    params: Params,
) -> Result<StatusCode> {
    let workflow = params::id(&id, Resource::Workflow)?;
    // whoever means to keep the steps behind it must not lose them by a slip
    let name = |spliced| if spliced { "true" } else { "false" };
    let spliced = one_of(&params, "splice", |text| text.parse().ok(), &[true, false], name)?;
    let spliced = spliced.unwrap_or(false);
    app.remove_step(&project, workflow, params::id(&step, Resource::Step)?, spliced).await?;
    Ok(StatusCode::NO_CONTENT)
}
