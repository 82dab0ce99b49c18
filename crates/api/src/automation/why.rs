//! `/workflows/:id/why`.

use crate::json::Json;
use axum::extract::State;
use mailwright_app::automation::whom::Whom;
use mailwright_app::automation::why::{Decided, Decision};
use mailwright_app::{App, Resource};
use mailwright_core::ids::{ContactId, EventId, WorkflowId};
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::kind::Refused;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::execution::{ExecutionView, StepExecutionView};
use crate::auth::ProjectAccess;
use crate::auth::needs::ReadWorkflows;
use crate::error::{ApiError, ErrorEnvelope, Result};
use crate::params::{self, Params, PathText};

/// What was decided about a contact.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DecisionView {
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    /// `refused`: an event did not begin an execution; `began`: an execution began.
    decision: &'static str,
    /// The event; null for an execution that no event began.
    event_id: Option<EventId>,
    event_name: Option<String>,
    /// Why it was refused.
    reason: Option<Refused>,
    /// What the conditions of the trigger saw that do not hold.
    #[schema(value_type = Option<Vec<Object>>)]
    seen: Option<Value>,
    /// The execution that began.
    execution: Option<ExecutionView>,
    /// What its steps decided and saw, in order.
    steps: Vec<StepExecutionView>,
}

impl DecisionView {
    fn new(decided: &Decided) -> Self {
        let at = decided.at;
        match &decided.decision {
            Decision::Refused { event, name, why, seen } => Self {
                at,
                decision: "refused",
                event_id: Some(*event),
                event_name: name.clone(),
                reason: Some(*why),
                seen: Some(seen.clone()).filter(|seen| !seen.is_null()),
                execution: None,
                steps: Vec::new(),
            },
            Decision::Began { name, told } => {
                let execution = &told.standing.stored.execution;
                Self {
                    at,
                    decision: "began",
                    event_id: execution.source,
                    event_name: name.clone(),
                    reason: None,
                    seen: None,
                    execution: Some(ExecutionView::new(&told.standing)),
                    steps: told.steps.iter().map(|taken| StepExecutionView::new(execution, taken)).collect(),
                }
            }
        }
    }
}

/// Everything that was decided about a contact in a workflow.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Why {
    workflow_id: WorkflowId,
    contact_id: ContactId,
    /// The oldest first.
    decisions: Vec<DecisionView>,
}

/// Show why a contact goes through a workflow, or does not
///
/// The events that did not begin an execution, with what stopped them, and the executions with every decision of their
/// steps. Refusals are known for 30 days.
#[utoipa::path(get, path = "/workflows/{id}/why", tag = "Workflows", operation_id = "explainWorkflow", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path), ("contact" = String, Query, description = "Id or address of the contact")),
    responses(
        (status = 200, body = Why),
        (status = 400, description = "`contact` is missing", body = ErrorEnvelope),
        (status = 404, description = "There is no such workflow or contact", body = ErrorEnvelope)))]
pub(crate) async fn why(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadWorkflows>,
    PathText(id): PathText,
    params: Params,
) -> Result<Json<Why>> {
    let workflow_id = params::id(&id, Resource::Workflow)?;
    let contact = params.text("contact").ok_or_else(|| {
        ApiError::bad_request("Name the contact, by id or address, in the parameter contact.".to_owned())
    })?;
    let whom = Whom::parse(contact)?;
    let (contact_id, decided) = app.why(&project, workflow_id, whom).await?;
    Ok(Json(Why { workflow_id, contact_id, decisions: decided.iter().map(DecisionView::new).collect() }))
}
