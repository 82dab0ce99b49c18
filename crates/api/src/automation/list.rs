//! Lists of workflows, and changes of several.

use std::collections::BTreeSet;

use crate::json::Json;
use axum::extract::State;
use mailwright_app::App;
use mailwright_app::automation::manage::Counted;
use mailwright_core::ids::WorkflowId;
use mailwright_core::issue::Issue;
use mailwright_core::project::Project;
use mailwright_store::automation::workflow::{List, Sort};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::workflow::WorkflowView;
use crate::auth::ProjectAccess;
use crate::auth::needs::{ReadWorkflows, WriteWorkflows};
use crate::error::{ErrorEnvelope, Failure, Result};
use crate::params::{Direction, PageNumber, PageSize, Params, WorkflowSort};
use crate::schema::{Body, Payload, check_count};

/// How much belongs to a workflow.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WorkflowCount {
    /// Steps, the TRIGGER included.
    steps: i64,
    /// Executions that are stored.
    executions: i64,
}

/// A workflow in a list.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WorkflowListItem {
    #[serde(flatten)]
    workflow: WorkflowView,
    #[serde(rename = "_count")]
    count: WorkflowCount,
}

impl WorkflowListItem {
    fn new(counted: Counted, project: &Project) -> Self {
        let Counted { workflow, executions } = counted;
        Self {
            count: WorkflowCount { steps: workflow.steps, executions },
            workflow: WorkflowView::of_list(workflow, project),
        }
    }
}

/// A page of workflows.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WorkflowPage {
    data: Vec<WorkflowListItem>,
    total: i64,
    page: i64,
    page_size: i64,
    total_pages: i64,
}

/// Which workflows are listed.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WorkflowStatus {
    /// Those that are enabled.
    Active,
    /// Those that are not.
    Disabled,
}

/// List workflows
#[utoipa::path(get, path = "/workflows", tag = "Workflows", operation_id = "listWorkflows", security(("secretKey" = []), ("session" = [])),
    params(
        ("page" = inline(Option<PageNumber>), Query, description = "Page number"),
        ("pageSize" = inline(Option<PageSize>), Query, description = "Rows per page"),
        ("status" = inline(Option<WorkflowStatus>), Query, description = "Only workflows that are enabled, or that are not"),
        ("search" = Option<String>, Query, description = "Only workflows whose name or description contains this text, in any case"),
        ("sort" = inline(Option<WorkflowSort>), Query, description = "Sort field"),
        ("dir" = inline(Option<Direction>), Query, description = "Sort direction"),
    ),
    responses((status = 200, body = WorkflowPage)))]
pub(crate) async fn list(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadWorkflows>,
    params: Params,
) -> Result<Json<WorkflowPage>> {
    let (page, page_size) = (params.bounded::<PageNumber>(), params.bounded::<PageSize>());
    let list = List {
        offset: (page - 1) * page_size,
        limit: page_size,
        enabled: params.choice("status").map(|status| matches!(status, WorkflowStatus::Active)),
        search: params.text("search").map(str::to_lowercase),
        sort: match params.choice("sort") {
            Some(WorkflowSort::Name) => Sort::Name,
            Some(WorkflowSort::UpdatedAt) => Sort::UpdatedAt,
            Some(WorkflowSort::Steps) => Sort::Steps,
            Some(WorkflowSort::CreatedAt) | None => Sort::CreatedAt,
        },
        descending: params.descending(),
    };
    let (workflows, total) = app.workflows(&project, list).await?;
    let data = workflows.into_iter().map(|counted| WorkflowListItem::new(counted, &project)).collect();
    Ok(Json(WorkflowPage { data, total, page, page_size, total_pages: (total + page_size - 1) / page_size }))
}

/// Most workflows of a bulk request.
const MAX_BULK: usize = 1000;

/// A change to several workflows.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = BulkUpdateWorkflowsRequest)]
pub(crate) struct BulkUpdateRequest {
    /// The workflows; one that is named twice counts once.
    #[schema(min_items = 1, max_items = 1000)]
    ids: Vec<WorkflowId>,
    /// Whether they are deleted; nothing else can be done with several.
    delete: Option<bool>,
}

impl Payload for BulkUpdateRequest {
    fn check(&self) -> Vec<Issue> {
        check_count("ids", self.ids.len(), MAX_BULK)
    }
}

/// The result of a change to several workflows.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BulkUpdated {
    /// How many were deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted: Option<usize>,
    /// How many were changed otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    updated: Option<usize>,
}

/// Change several workflows
///
/// Deletes all of them, or none if one of them does not exist or contacts go through it.
#[utoipa::path(post, path = "/workflows/bulk-update", tag = "Workflows", operation_id = "bulkUpdateWorkflows", security(("secretKey" = []), ("session" = [])),
    request_body = BulkUpdateRequest,
    responses(
        (status = 200, body = BulkUpdated), (status = 404, body = ErrorEnvelope),
        (status = 409, description = "Contacts go through one of them", body = ErrorEnvelope),
        (status = 422, description = "Validation failed", body = ErrorEnvelope)))]
pub(crate) async fn bulk_update(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteWorkflows>,
    Body(body): Body<BulkUpdateRequest>,
) -> Result<Json<BulkUpdated>, Failure> {
    let ids: BTreeSet<WorkflowId> = body.ids.into_iter().collect();
    if body.delete != Some(true) {
        app.check_workflows(&project, ids).await?;
        return Ok(Json(BulkUpdated { deleted: None, updated: Some(0) }));
    }
    let count = ids.len();
    app.delete_workflows(&project, &caller.actor, ids.into_iter().collect()).await?;
    Ok(Json(BulkUpdated { deleted: Some(count), updated: None }))
}
