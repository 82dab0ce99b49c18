//! The figures of workflows.

use mailwright_core::ids::{StepId, WorkflowId};
use mailwright_core::project::Project;
use mailwright_core::workflow::kind::StepType;
use mailwright_store::automation::figures::{self, Figures};
use mailwright_store::automation::version::{self, Listed};
use mailwright_store::body;

use crate::App;
use crate::error::Result;

/// The figures of a step.
#[derive(Debug)]
pub struct OfStep {
    /// The step.
    pub id: StepId,
    /// Its name; `None` if the workflow does not have it any more.
    pub name: Option<String>,
    /// What it does.
    pub kind: Option<StepType>,
    /// The figures.
    pub figures: Figures,
}

/// The figures of a workflow.
#[derive(Debug)]
pub struct Stats {
    /// The workflow.
    pub workflow: WorkflowId,
    /// Its own.
    pub whole: Figures,
    /// Those of its steps, in the order of the graph; steps that it does not have any more come last.
    pub steps: Vec<OfStep>,
}

/// Most versions that are listed.
const MOST_VERSIONS: i64 = 100;

impl App {
    /// The figures of a workflow.
    pub async fn workflow_stats(&self, project: &Project, id: WorkflowId) -> Result<Stats> {
        let workflow = self.workflow(project, id).await?;
        let number = project.number;
        let mut all = self.read(body!(async |rx| figures::read(rx, number, id).await)).await?;
        let whole = all.remove(&None).unwrap_or_default();
        let mut steps: Vec<OfStep> = Vec::new();
        for step in workflow.edited.graph.steps {
            let figures = all.remove(&Some(step.id)).unwrap_or_default();
            steps.push(OfStep { id: step.id, name: Some(step.name), kind: Some(step.kind), figures });
        }
        let gone = all.into_iter().filter_map(|(id, figures)| Some((id?, figures)));
        steps.extend(gone.map(|(id, figures)| OfStep { id, name: None, kind: None, figures }));
        Ok(Stats { workflow: id, whole, steps })
    }

    /// The newest versions of a workflow.
    pub async fn workflow_versions(&self, project: &Project, id: WorkflowId) -> Result<Vec<Listed>> {
        self.workflow(project, id).await?;
        let number = project.number;
        self.read(body!(async |rx| version::list(rx, number, id, MOST_VERSIONS).await)).await
    }
}
