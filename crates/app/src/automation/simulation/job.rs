//! A rehearsal with a project's whole history, as a background job: some hundred contacts in each step.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use mailwright_core::ids::{ContactId, JobId, ProjectNumber, WorkflowId};
use mailwright_core::job::JobKind;
use mailwright_core::project::Project;
use mailwright_store::Rx;
use mailwright_store::background::job::Progress;
use mailwright_store::insight::counter::{self, Counter};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::history::next_contacts;
use super::plan::{Rehearsal, Script, Which};
use super::rehearsed::Rehearsed;
use super::setting::Setting;
use crate::App;
use crate::automation::jobs::OfWorkflow;
use crate::background::job::{JobHandler, Look, Part, Status, StepResult, from_value, to_value};
use crate::error;

/// How far a rehearsal came.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct SimulationProgress {
    workflow: Option<WorkflowId>,
    total: i64,
    after: Option<ContactId>,
    done: i64,
    rehearsed: Rehearsed,
}

impl App {
    /// Rehearses a workflow with all that a project recorded in the last days, in the background.
    pub async fn simulate_history(
        &self,
        project: &Project,
        id: WorkflowId,
        which: (Which, Option<Which>),
        days: i64,
    ) -> error::Result<JobId> {
        let script = self.script(project, id, which, self.last_days(days)).await?;
        let input = to_value(&script).to_string().into_bytes();
        let rehearsed = Rehearsed::begin(&Rehearsal::new(script));
        let begun =
            to_value(&SimulationProgress { workflow: Some(id), rehearsed, ..SimulationProgress::default() });
        self.queue_job(project, JobKind::SimulateWorkflow, input, begun, None).await
    }

    /// How a rehearsal is getting on; `None` when the workflow has no such job.
    pub async fn simulation(
        &self,
        project: &Project,
        workflow: WorkflowId,
        id: JobId,
    ) -> error::Result<Option<Status<Rehearsed>>> {
        let found =
            self.job_of::<SimulationProgress>(project, workflow, id, &[JobKind::SimulateWorkflow]).await?;
        Ok(found.map(|status| Status {
            id: status.id,
            state: status.state,
            percent: status.percent,
            result: status.result.map(|progress| progress.rehearsed),
            failed_reason: status.failed_reason,
        }))
    }
}

impl OfWorkflow for SimulationProgress {
    fn workflow(&self) -> Option<WorkflowId> {
        self.workflow
    }
}

/// A rehearsal under way.
pub(crate) struct Simulation {
    project: ProjectNumber,
    rehearsal: Arc<Rehearsal>,
}

impl Simulation {
    /// Reads its input.
    pub(crate) fn open(project: ProjectNumber, input: &[u8]) -> Result<Self, String> {
        let json: Value = serde_json::from_slice(input).map_err(|error| error.to_string())?;
        let script: Script = from_value(&json)?;
        Ok(Self { project, rehearsal: Arc::new(Rehearsal::new(script)) })
    }
}

impl JobHandler for Simulation {
    fn next(&self, progress: &Value) -> Result<Part, String> {
        let before = from_value(progress)?;
        Ok(Part::Look(Arc::new(Step {
            project: self.project,
            rehearsal: Arc::clone(&self.rehearsal),
            before,
        })))
    }
}

/// The next contacts.
struct Step {
    project: ProjectNumber,
    rehearsal: Arc<Rehearsal>,
    before: SimulationProgress,
}

impl Look for Step {
    fn run<'t>(&'t self, rx: &'t mut Rx<'_>) -> BoxFuture<'t, mailwright_store::Result<StepResult>> {
        Box::pin(async move {
            let mut now = self.before.clone();
            if now.after.is_none() {
                now.total = counter::value(rx, self.project, Counter::Contacts, "").await?;
            }
            let setting = Setting::load(rx, self.project, &self.rehearsal).await?;
            let looked =
                next_contacts(rx, self.project, &self.rehearsal, &setting, now.after, &mut now.rehearsed)
                    .await?;
            now.after = looked.last.or(now.after);
            now.done += looked.contacts;
            let done = (now.done * 100 / now.total.max(1)).clamp(0, 99);
            let percent = if looked.is_all { 100 } else { done };
            Ok(StepResult {
                progress: Progress { progress: to_value(&now), percent },
                is_last: looked.is_all,
            })
        })
    }
}
