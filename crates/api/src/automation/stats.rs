//! `/workflows/:id/stats`.

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

fn of(figures: &Figures, figure: Figure) -> i64 {
    figures.get(&figure).copied().unwrap_or(0)
}

impl MailFigures {
    fn new(figures: &Figures) -> Self {
        Self {
            created: of(figures, Figure::Emails),
            sent: of(figures, Figure::Sent),
            delivered: of(figures, Figure::Delivered),
            opened: of(figures, Figure::Opened),
            clicked: of(figures, Figure::Clicked),
            bounced: of(figures, Figure::Bounced),
            complained: of(figures, Figure::Complained),
            unsubscribed: of(figures, Figure::Unsubscribed),
            unsent: of(figures, Figure::Unsent),
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
        entered: of(&step.figures, Figure::Entered),
        waiting: of(&step.figures, Figure::Waiting),
        completed: of(&step.figures, Figure::Completed),
        skipped: of(&step.figures, Figure::Skipped),
        failed: of(&step.figures, Figure::Failed),
        emails: MailFigures::new(&step.figures),
    });
    Ok(Json(WorkflowStats {
        workflow_id: stats.workflow,
        entered: of(whole, Figure::Entered),
        waiting: of(whole, Figure::Waiting),
        completed: of(whole, Figure::Completed),
        exited: of(whole, Figure::Exited),
        failed: of(whole, Figure::Failed),
        cancelled: of(whole, Figure::Cancelled),
        converted: of(whole, Figure::Converted),
        emails: MailFigures::new(whole),
        steps: steps.collect(),
    }))
}
