//! `/workflows/:id/stats`.

use std::collections::BTreeMap;

use crate::json::Json;
use axum::extract::State;
use mailwright_app::{App, Resource};
use mailwright_core::ids::{StepId, WorkflowId};
use mailwright_core::workflow::figures::Figure;
use mailwright_core::workflow::kind::StepType;
use mailwright_store::automation::figures::Figures;
use serde::Serialize;
use utoipa::ToSchema;

use crate::auth::ProjectAccess;
use crate::auth::needs::ReadWorkflows;
use crate::error::{ErrorEnvelope, Result};
use crate::params::{self, PathText};

/// What became of mails.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MailFigures {
    /// Mails that were made.
    created: i64,
    /// Mails that the next hop took.
    sent: i64,
    delivered: i64,
    opened: i64,
    clicked: i64,
    bounced: i64,
    complained: i64,
    /// Mails by whose link the recipient opted out.
    unsubscribed: i64,
    /// Mails that could not be sent.
    unsent: i64,
}

impl MailFigures {
    fn new(figures: &Figures) -> Self {
        Self {
            created: figures.of(Figure::Emails),
            sent: figures.of(Figure::Sent),
            delivered: figures.of(Figure::Delivered),
            opened: figures.of(Figure::Opened),
            clicked: figures.of(Figure::Clicked),
            bounced: figures.of(Figure::Bounced),
            complained: figures.of(Figure::Complained),
            unsubscribed: figures.of(Figure::Unsubscribed),
            unsent: figures.of(Figure::Unsent),
        }
    }
}

/// The figures of a step.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StepFigures {
    step_id: StepId,
    /// Null for a step that the workflow does not have any more.
    name: Option<String>,
    r#type: Option<StepType>,
    /// Executions that came to it.
    entered: i64,
    /// Executions that stand at it.
    waiting: i64,
    completed: i64,
    skipped: i64,
    failed: i64,
    /// How often each branch, or each outcome of a wait, was taken.
    branches: BTreeMap<String, i64>,
    emails: MailFigures,
}

/// The figures of a workflow.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WorkflowStats {
    workflow_id: WorkflowId,
    /// Executions that began.
    entered: i64,
    /// Executions that are not over.
    waiting: i64,
    /// Executions that came to the end of their way.
    completed: i64,
    /// Executions that came to an EXIT, or to the goal.
    exited: i64,
    failed: i64,
    cancelled: i64,
    /// Executions that ended because the contact reached the goal.
    converted: i64,
    emails: MailFigures,
    steps: Vec<StepFigures>,
}

/// Show a workflow's figures
///
/// What happened stays counted when contacts are deleted.
#[utoipa::path(get, path = "/workflows/{id}/stats", tag = "Workflows", operation_id = "getWorkflowStats", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 200, body = WorkflowStats), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn stats(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadWorkflows>,
    PathText(id): PathText,
) -> Result<Json<WorkflowStats>> {
    let stats = app.workflow_stats(&project, params::id(&id, Resource::Workflow)?).await?;
    let whole = &stats.whole;
    let steps = stats.steps.iter().map(|step| StepFigures {
        step_id: step.id,
        name: step.name.clone(),
        r#type: step.kind,
        entered: step.figures.of(Figure::Entered),
        waiting: step.figures.of(Figure::Waiting),
        completed: step.figures.of(Figure::Completed),
        skipped: step.figures.of(Figure::Skipped),
        failed: step.figures.of(Figure::Failed),
        branches: step.figures.branches.clone(),
        emails: MailFigures::new(&step.figures),
    });
    Ok(Json(WorkflowStats {
        workflow_id: stats.workflow,
        entered: whole.of(Figure::Entered),
        waiting: whole.of(Figure::Waiting),
        completed: whole.of(Figure::Completed),
        exited: whole.of(Figure::Exited),
        failed: whole.of(Figure::Failed),
        cancelled: whole.of(Figure::Cancelled),
        converted: whole.of(Figure::Converted),
        emails: MailFigures::new(whole),
        steps: steps.collect(),
    }))
}
