//! The common part of answers about background jobs.

use mailwright_app::Resource;
use mailwright_app::background::job::Status;
use mailwright_core::ids::JobId;
use mailwright_core::time::Timestamp;
use mailwright_store::background::job::Job;
use serde::Serialize;
use utoipa::ToSchema;

use crate::error::ApiError;

/// A job that was queued.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QueuedJob {
    /// What happens next, as a sentence.
    message: String,
    /// Id of the job, for asking for its status.
    job_id: JobId,
}

impl QueuedJob {
    pub(crate) fn new(message: &str, job_id: JobId) -> Self {
        Self { message: message.to_owned(), job_id }
    }
}

/// The state and progress of a job.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct JobView<R> {
    id: JobId,
    /// `waiting`, `active`, `delayed` (tried again after a failure), `completed` or `failed`.
    state: &'static str,
    /// Progress in percent, 0 to 100.
    progress: i64,
    /// Result of the job; null until it is completed.
    #[schema(required)]
    result: Option<R>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    failed_reason: Option<String>,
}

impl<R> JobView<R> {
    pub(crate) fn new<T>(status: Status<T>, result: impl FnOnce(T) -> R) -> Self {
        Self {
            id: status.id,
            state: status.state.as_str(),
            progress: status.percent,
            result: status.result.map(result),
            failed_reason: status.failed_reason,
        }
    }
}

/// The jobs of a project, the newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct JobList<C> {
    pub(crate) data: Vec<ListedJob<C>>,
}

/// A job of a list.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListedJob<C> {
    id: JobId,
    /// `waiting`, `active`, `delayed` (tried again after a failure), `completed` or `failed`.
    state: &'static str,
    /// Progress in percent, 0 to 100.
    progress: i64,
    /// The counts so far.
    counts: C,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    failed_reason: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// When it ended; null until then.
    #[schema(value_type = Option<String>, format = DateTime, required)]
    finished_at: Option<Timestamp>,
}

impl<C> ListedJob<C> {
    pub(crate) fn new(job: Job, counts: C) -> Self {
        Self {
            id: job.id,
            state: job.state.as_str(),
            progress: job.percent,
            counts,
            failed_reason: job.failed_reason,
            created_at: job.created_at,
            finished_at: job.finished_at,
        }
    }
}

/// The answer about a job that the project does not have.
pub(crate) fn not_found(id: &str) -> ApiError {
    ApiError::not_found(Resource::Job, id)
}
