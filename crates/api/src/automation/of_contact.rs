//! `/contacts/:id/executions`.

use crate::json::Json;
use axum::extract::State;
use mailwright_app::{App, Resource};
use mailwright_core::ids::{ContactId, WorkflowId};
use mailwright_core::time::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::execution::{ExecutionView, StepName};
use crate::auth::ProjectAccess;
use crate::auth::needs::ReadWorkflows;
use crate::envelope::CursorPage;
use crate::error::{ErrorEnvelope, Result};
use crate::params::{self, Params, PathText, RowLimit};

/// A workflow, by its name.
#[derive(Debug, Serialize, ToSchema)]
struct WorkflowName {
    id: WorkflowId,
    name: String,
}

/// A way of a contact through a workflow.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ContactExecution {
    #[serde(flatten)]
    execution: ExecutionView,
    workflow: WorkflowName,
    /// The step that it stands at, or ended at; null once it is `COMPLETED`.
    #[schema(required)]
    current_step: Option<StepName>,
    /// When its last step began, or it ended.
    #[schema(value_type = String, format = DateTime)]
    since: Timestamp,
}

/// List a contact's executions
///
/// The ways of a contact through all workflows, the newest first.
#[utoipa::path(get, path = "/contacts/{id}/executions", tag = "Workflows", operation_id = "listContactExecutions", security(("secretKey" = []), ("session" = [])),
    params(
        ("id" = String, Path),
        ("limit" = inline(Option<RowLimit>), Query, description = "Rows per page"),
        ("cursor" = Option<String>, Query, description = "The `cursor` of the previous page")),
    responses(
        (status = 200, body = CursorPage<ContactExecution>),
        (status = 400, description = "Invalid cursor", body = ErrorEnvelope),
        (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn list(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadWorkflows>,
    PathText(id): PathText,
    params: Params,
) -> Result<Json<CursorPage<ContactExecution>>> {
    let id: ContactId = params::id(&id, Resource::Contact)?;
    let limit = params.bounded::<RowLimit>() as usize;
    let page = app.executions_of_contact(&project, id, params.cursor()?, limit).await?;
    let shown = |standing| {
        let execution = ExecutionView::new(standing);
        let workflow = page.workflows.get(&standing.stored.workflow)?;
        Some(ContactExecution {
            execution,
            workflow: WorkflowName { id: workflow.id, name: workflow.name.clone() },
            current_step: standing.current.as_ref().map(StepName::new),
            since: standing.stored.execution.stands_since(),
        })
    };
    let last = page.executions.last().filter(|_| page.has_more);
    Ok(Json(CursorPage {
        data: page.executions.iter().filter_map(shown).collect(),
        cursor: last.map(|standing| standing.stored.execution.id.to_string()),
        has_more: page.has_more,
        total: page.total,
    }))
}
