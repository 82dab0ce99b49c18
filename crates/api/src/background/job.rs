//! The common part of answers about background jobs.

use mailwright_app::Resource;
use mailwright_app::background::job::Status;
use mailwright_core::ids::JobId;
use serde::Serialize;
use utoipa::ToSchema;

use crate::error::ApiError;

/// A job that was queued.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QueuedJob {
    /// What happens next, for people.
    message: String,
    /// Identifier of the job, to ask for its status with.
    job_id: JobId,
}

impl QueuedJob {
    pub(crate) fn new(message: &str, job_id: JobId) -> Self {
        Self { message: message.to_owned(), job_id }
    }
}

/// How a job is getting on.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct JobView<R> {
    id: JobId,
    /// `waiting`, `active`, `delayed` (tried again after a failure), `completed` or `failed`.
    state: &'static str,
    /// How much of it is done, 0 to 100.
    progress: i64,
    /// What came of it; null until it is completed.
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

/// The answer about a job that the project does not have.
pub(crate) fn not_found(id: &str) -> ApiError {
    ApiError::not_found(Resource::Job, id)
}
