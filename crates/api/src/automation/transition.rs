//! `/workflows/:id/transitions`.

use crate::json::Json;
use axum::extract::State;
use axum::http::StatusCode;
use mailwright_app::{App, Resource};
use mailwright_core::ids::{StepId, TransitionId, WorkflowId};
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::edit::NewTransition;
use mailwright_core::workflow::graph::Transition;
use mailwright_core::workflow::kind::WaitOutcome;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::step::{InsertRequest, StepView};
use crate::auth::ProjectAccess;
use crate::auth::needs::WriteWorkflows;
use crate::error::{ErrorEnvelope, Failure, LegacyError, Result};
use crate::fields::Name;
use crate::params::{self, PathText, PathTexts};
use crate::schema::{Body, Payload, WholeNumber, missing};

/// The branch of a transition, as earlier versions of the API have it.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct BranchCondition {
    /// The branch.
    #[schema(value_type = Option<Name>)]
    branch: Option<String>,
}

/// A way from one step to another.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TransitionView {
    id: TransitionId,
    from_step_id: StepId,
    to_step_id: StepId,
    /// The branch of a CONDITION or `RANDOM_SPLIT` step that takes it.
    branch: Option<String>,
    /// The same.
    condition: Option<BranchCondition>,
    /// The outcome of a `WAIT_FOR_EVENT` step that takes it; null for both.
    wait_outcome: Option<WaitOutcome>,
    /// The lowest is tried first.
    priority: i64,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl TransitionView {
    pub(crate) fn new(transition: &Transition) -> Self {
        let condition = transition.branch.clone().map(|branch| BranchCondition { branch: Some(branch) });
        Self {
            id: transition.id,
            from_step_id: transition.from,
            to_step_id: transition.to,
            branch: transition.branch.clone(),
            condition,
            wait_outcome: transition.outcome,
            priority: transition.priority,
            created_at: transition.created_at,
            updated_at: transition.updated_at,
        }
    }
}

/// A transition to add.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AddTransitionRequest)]
pub(crate) struct AddRequest {
    from_step_id: StepId,
    to_step_id: StepId,
    /// The branch that takes it; required where the step has branches.
    branch: Option<Name>,
    /// The same, for clients of earlier versions of the API.
    condition: Option<BranchCondition>,
    /// The outcome of a `WAIT_FOR_EVENT` step that takes it; both where nothing is said.
    wait_outcome: Option<WaitOutcome>,
    /// The lowest is tried first; 0 by default.
    #[schema(value_type = Option<i32>)]
    priority: Option<WholeNumber>,
}

impl Payload for AddRequest {
    fn legacy(body: &Value) -> Option<&'static str> {
        missing(body, &[("fromStepId", "fromStepId is required"), ("toStepId", "toStepId is required")])
    }
}

/// Add a transition
#[utoipa::path(post, path = "/workflows/{id}/transitions", tag = "Workflows", operation_id = "addTransition", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)), request_body = AddRequest,
    responses(
        (status = 201, body = TransitionView), (status = 404, description = "There is no such workflow or step", body = ErrorEnvelope),
        (status = 400, description = "A step is missing (`LegacyError`), or the transition would make a workflow that cannot be run (`ErrorEnvelope`)", body = LegacyError),
        (status = 422, description = "Validation failed", body = ErrorEnvelope)))]
pub(crate) async fn add(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<WriteWorkflows>,
    PathText(id): PathText,
    Body(body): Body<AddRequest>,
) -> Result<(StatusCode, Json<TransitionView>), Failure> {
    let branch = body.branch.map(String::from).or(body.condition.and_then(|condition| condition.branch));
    let new = NewTransition {
        id: app.new_transition(),
        from: body.from_step_id,
        to: body.to_step_id,
        branch,
        outcome: body.wait_outcome,
        priority: body.priority.map_or(0, |priority| priority.0),
    };
    let transition = app.add_transition(&project, params::id(&id, Resource::Workflow)?, new).await?;
    Ok((StatusCode::CREATED, Json(TransitionView::new(&transition))))
}

/// Delete a transition
#[utoipa::path(delete, path = "/workflows/{id}/transitions/{transitionId}", tag = "Workflows", operation_id = "deleteTransition", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path), ("transitionId" = String, Path)),
    responses((status = 204), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn delete(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<WriteWorkflows>,
    PathTexts(id, transition): PathTexts,
) -> Result<StatusCode> {
    let workflow = params::id(&id, Resource::Workflow)?;
    app.remove_transition(&project, workflow, params::id(&transition, Resource::Transition)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Put a step between two others
///
/// The transition leads to the new step, and the new step to where the transition led.
#[utoipa::path(post, path = "/workflows/{id}/transitions/{transitionId}/insert-step", tag = "Workflows", operation_id = "insertStep", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path), ("transitionId" = String, Path)), request_body = InsertRequest,
    responses(
        (status = 201, body = StepView), (status = 404, description = "There is no such workflow, transition, template or segment", body = ErrorEnvelope),
        (status = 400, description = "A member is missing (`LegacyError`), or such a step cannot stand there (`ErrorEnvelope`)", body = LegacyError),
        (status = 422, description = "Validation failed", body = ErrorEnvelope)))]
pub(crate) async fn insert_step(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<WriteWorkflows>,
    PathTexts(id, transition): PathTexts,
    Body(body): Body<InsertRequest>,
) -> Result<(StatusCode, Json<StepView>), Failure> {
    let workflow: WorkflowId = params::id(&id, Resource::Workflow)?;
    let on = params::id(&transition, Resource::Transition)?;
    let step = app.insert_step(&project, workflow, on, body.step(app.new_step())).await?;
    Ok((StatusCode::CREATED, Json(StepView::new(step, workflow))))
}
