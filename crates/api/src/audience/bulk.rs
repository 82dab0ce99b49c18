//! `/contacts/bulk-*` and `/contacts/bulk/:jobId`.

use crate::json::Json;
use axum::extract::State;
use axum::http::StatusCode;
use mailwright_app::App;
use mailwright_app::audience::bulk::BulkDone;
use mailwright_core::bulk::{BulkProgress, ContactFailure, MAX_CONTACTS, Operation};
use mailwright_core::ids::{ContactId, JobId};
use mailwright_core::issue::Issue;
use mailwright_core::project::Project;
use mailwright_store::background::job::Job;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::auth::needs::{ReadContacts, WriteContacts};
use crate::auth::{Caller, ProjectAccess};
use crate::background::job::{JobList, JobView, ListedJob, QueuedJob, not_found};
use crate::error::{ErrorEnvelope, Failure};
use crate::params::PathText;
use crate::schema::{Body, Payload, check_count};

/// How the contacts are chosen.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Mode {
    /// By their ids.
    Ids,
}

/// The contacts to change.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BulkRequest {
    /// `ids`, which is the default.
    #[serde(rename = "mode")]
    _mode: Option<Mode>,
    /// 1 to 1,000 ids. An id that occurs twice counts once.
    #[schema(min_items = 1, max_items = 1000)]
    contact_ids: Vec<ContactId>,
}

impl Payload for BulkRequest {
    fn check(&self) -> Vec<Issue> {
        check_count("contactIds", self.contact_ids.len(), MAX_CONTACTS)
    }
}

/// The result of a bulk operation.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BulkResult {
    /// `subscribe`, `unsubscribe` or `delete`.
    operation: &'static str,
    /// Number of different ids in the request.
    total_requested: u64,
    /// Contacts that were changed.
    success_count: u64,
    /// Contacts that were in the wanted state already.
    unchanged_count: u64,
    /// Ids that are no contact of the project.
    failure_count: u64,
    /// The failures, in the order of the request.
    errors: Vec<ContactFailure>,
    /// The bulk operation that was undone.
    #[serde(skip_serializing_if = "Option::is_none")]
    undoes: Option<JobId>,
}

impl From<BulkDone> for BulkResult {
    fn from(done: BulkDone) -> Self {
        Self {
            operation: done.operation.as_str(),
            total_requested: done.counts.total,
            success_count: done.counts.succeeded,
            unchanged_count: done.counts.unchanged,
            failure_count: done.counts.failed,
            errors: done.failures,
            undoes: done.counts.undoes,
        }
    }
}

async fn queue(
    app: &App,
    project: &Project,
    caller: &Caller,
    operation: Operation,
    body: BulkRequest,
    message: &str,
) -> Result<(StatusCode, Json<QueuedJob>), Failure> {
    let id = app.queue_bulk(project, &caller.actor, operation, body.contact_ids).await?;
    Ok((StatusCode::ACCEPTED, Json(QueuedJob::new(message, id))))
}

/// Subscribe many contacts
///
/// Runs in the background. Each contact whose subscription changes gets an event.
#[utoipa::path(post, path = "/contacts/bulk-subscribe", tag = "Contacts", operation_id = "bulkSubscribeContacts", security(("secretKey" = []), ("session" = [])),
    request_body = BulkRequest,
    responses(
        (status = 202, description = "Queued", body = QueuedJob),
        (status = 422, description = "`contactIds` must have 1 to 1,000 ids", body = ErrorEnvelope),
        (status = 429, description = "Too many jobs are queued", body = ErrorEnvelope),
    ))]
pub(crate) async fn subscribe(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteContacts>,
    Body(body): Body<BulkRequest>,
) -> Result<(StatusCode, Json<QueuedJob>), Failure> {
    queue(&app, &project, &caller, Operation::Subscribe, body, "The contacts are being subscribed.").await
}

/// Unsubscribe many contacts
///
/// Runs in the background. Each contact whose subscription changes gets an event.
#[utoipa::path(post, path = "/contacts/bulk-unsubscribe", tag = "Contacts", operation_id = "bulkUnsubscribeContacts", security(("secretKey" = []), ("session" = [])),
    request_body = BulkRequest,
    responses(
        (status = 202, description = "Queued", body = QueuedJob),
        (status = 422, description = "`contactIds` must have 1 to 1,000 ids", body = ErrorEnvelope),
        (status = 429, description = "Too many jobs are queued", body = ErrorEnvelope),
    ))]
pub(crate) async fn unsubscribe(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteContacts>,
    Body(body): Body<BulkRequest>,
) -> Result<(StatusCode, Json<QueuedJob>), Failure> {
    queue(&app, &project, &caller, Operation::Unsubscribe, body, "The contacts are being unsubscribed.").await
}

/// Delete many contacts
///
/// Runs in the background. The contacts are deleted permanently, with their events and mails.
#[utoipa::path(post, path = "/contacts/bulk-delete", tag = "Contacts", operation_id = "bulkDeleteContacts", security(("secretKey" = []), ("session" = [])),
    request_body = BulkRequest,
    responses(
        (status = 202, description = "Queued", body = QueuedJob),
        (status = 422, description = "`contactIds` must have 1 to 1,000 ids", body = ErrorEnvelope),
        (status = 429, description = "Too many jobs are queued", body = ErrorEnvelope),
    ))]
pub(crate) async fn delete(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteContacts>,
    Body(body): Body<BulkRequest>,
) -> Result<(StatusCode, Json<QueuedJob>), Failure> {
    queue(&app, &project, &caller, Operation::Delete, body, "The contacts are being deleted.").await
}

/// How far a bulk operation came.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BulkCounts {
    /// `subscribe`, `unsubscribe` or `delete`.
    operation: &'static str,
    /// Number of different ids in the request.
    total_requested: u64,
    /// Contacts that were changed.
    success_count: u64,
    /// Contacts that were in the wanted state already.
    unchanged_count: u64,
    /// Ids that are no contact of the project.
    failure_count: u64,
    /// The bulk operation that it undoes.
    #[schema(required)]
    undoes: Option<JobId>,
    /// Whether it can be undone: it is over, and flipped subscriptions.
    can_undo: bool,
}

/// List bulk operations
///
/// The newest first: all that are not finished, and the finished ones that are kept. A project keeps its last 100
/// finished jobs of all kinds.
#[utoipa::path(get, path = "/contacts/bulk", tag = "Contacts", operation_id = "listBulkJobs", security(("secretKey" = []), ("session" = [])),
    responses((status = 200, body = JobList<BulkCounts>)))]
pub(crate) async fn list(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadContacts>,
) -> Result<Json<JobList<BulkCounts>>, Failure> {
    let shown = |(job, operation, counts): (Job, Operation, BulkProgress)| {
        let counts = BulkCounts {
            operation: operation.as_str(),
            total_requested: counts.total,
            success_count: counts.succeeded,
            unchanged_count: counts.unchanged,
            failure_count: counts.failed,
            undoes: counts.undoes,
            can_undo: operation != Operation::Delete && counts.succeeded > 0 && job.finished_at.is_some(),
        };
        ListedJob::new(job, counts)
    };
    let data = app.bulk_operations(&project).await?.into_iter().map(shown).collect();
    Ok(Json(JobList { data }))
}

/// Undo a bulk operation
///
/// Subscribes again whom it unsubscribed, or the other way round, in the background. Contacts whose subscription changed
/// since, and those whose address is suppressed, stay as they are and count as unchanged. Nobody has to confirm again.
#[utoipa::path(post, path = "/contacts/bulk/{jobId}/undo", tag = "Contacts", operation_id = "undoBulkJob", security(("secretKey" = []), ("session" = [])),
    params(("jobId" = String, Path)),
    responses(
        (status = 202, description = "Queued", body = QueuedJob), (status = 404, body = ErrorEnvelope),
        (status = 409, description = "It deleted contacts, is not over, or changed no subscription", body = ErrorEnvelope),
        (status = 429, description = "Too many jobs are queued", body = ErrorEnvelope)))]
pub(crate) async fn undo(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteContacts>,
    PathText(id): PathText,
) -> Result<(StatusCode, Json<QueuedJob>), Failure> {
    let job = id.parse().map_err(|_| not_found(&id))?;
    let undoing = app.undo_bulk(&project, &caller.actor, job).await?.ok_or_else(|| not_found(&id))?;
    Ok((StatusCode::ACCEPTED, Json(QueuedJob::new("The subscriptions are being set back.", undoing))))
}

/// Get the status of a bulk operation
#[utoipa::path(get, path = "/contacts/bulk/{jobId}", tag = "Contacts", operation_id = "getBulkJob", security(("secretKey" = []), ("session" = [])),
    params(("jobId" = String, Path)),
    responses((status = 200, body = JobView<BulkResult>), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn status(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadContacts>,
    PathText(id): PathText,
) -> Result<Json<JobView<BulkResult>>, Failure> {
    let job = id.parse().map_err(|_| not_found(&id))?;
    let status = app.bulk_status(&project, job).await?.ok_or_else(|| not_found(&id))?;
    Ok(Json(JobView::new(status, BulkResult::from)))
}
