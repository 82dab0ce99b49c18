//! How the jobs of a workflow are getting on.

use mailwright_core::ids::{JobId, WorkflowId};
use mailwright_core::job::{JobKind, JobState};
use mailwright_core::project::Project;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::App;
use crate::background::job::{Status, from_value};
use crate::error::Result;

/// How far a job of a workflow came.
pub(super) trait OfWorkflow: DeserializeOwned {
    /// The workflow.
    fn workflow(&self) -> Option<WorkflowId>;
}

impl App {
    /// How a job is getting on; `None` when the workflow has no such job.
    pub(super) async fn job_of<P: OfWorkflow>(
        &self,
        project: &Project,
        workflow: WorkflowId,
        id: JobId,
        kinds: &'static [JobKind],
    ) -> Result<Option<Status<P>>> {
        let Some((job, _)) = self.job::<Value>(project, id, kinds, 0).await? else { return Ok(None) };
        let progress = from_value::<P>(&job.progress).ok();
        let Some(progress) = progress.filter(|found| found.workflow() == Some(workflow)) else {
            return Ok(None);
        };
        Ok(Some(Status {
            id: job.id,
            state: job.state,
            percent: job.percent,
            result: (job.state == JobState::Completed).then_some(progress),
            failed_reason: job.failed_reason,
        }))
    }
}
