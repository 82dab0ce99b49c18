//! Which workflows refer to a template, a segment, a field or an event.

use mailwright_core::ids::{StepId, TemplateId, WorkflowId};
use mailwright_core::project::Project;
use mailwright_store::automation::reference::{self, Kind};
use mailwright_store::automation::workflow;
use mailwright_store::body;

use crate::App;
use crate::error::Result;

/// A workflow by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedWorkflow {
    /// Identifier.
    pub id: WorkflowId,
    /// Name.
    pub name: String,
}

/// A step that sends a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendingStep {
    /// The step.
    pub id: StepId,
    /// Its name.
    pub name: String,
    /// Its workflow.
    pub workflow: NamedWorkflow,
}

/// Most workflows whose steps are looked through for one answer.
const MAX_READ: usize = 100;

impl App {
    /// The workflows that look at a field, or write it: `email`, `data.plan`.
    pub async fn workflows_with_field(&self, project: &Project, field: &str) -> Result<Vec<NamedWorkflow>> {
        self.workflows_with(project, Kind::Field, field.to_owned()).await
    }

    /// The workflows that events of a name start, or that look at them or wait for them.
    pub async fn workflows_with_event(&self, project: &Project, name: &str) -> Result<Vec<NamedWorkflow>> {
        self.workflows_with(project, Kind::Event, name.to_owned()).await
    }

    async fn workflows_with(
        &self,
        project: &Project,
        kind: Kind,
        name: String,
    ) -> Result<Vec<NamedWorkflow>> {
        let number = project.number;
        let found = self
            .read(body!(async |rx| {
                let ids = reference::to(rx, number, kind, &name).await?;
                workflow::some(rx, number, &ids).await
            }))
            .await?;
        Ok(found.into_iter().map(|found| NamedWorkflow { id: found.id, name: found.name }).collect())
    }

    /// The steps that send a template, as their workflows are edited; those of the first hundred workflows.
    pub async fn steps_with_template(&self, project: &Project, id: TemplateId) -> Result<Vec<SendingStep>> {
        let number = project.number;
        let workflows = self
            .read(body!(async |rx| {
                let ids = reference::to(rx, number, Kind::Template, &id.to_string()).await?;
                let mut found = Vec::new();
                for id in ids.into_iter().take(MAX_READ) {
                    found.extend(workflow::get(rx, number, id).await?);
                }
                Ok(found)
            }))
            .await?;
        let mut steps = Vec::new();
        for workflow in workflows {
            for step in workflow.edited.graph.steps {
                let in_config = step.config["templateId"].as_str().and_then(|text| text.parse().ok());
                if step.template.or(in_config) == Some(id) {
                    let of = NamedWorkflow { id: workflow.id, name: workflow.name.clone() };
                    steps.push(SendingStep { id: step.id, name: step.name, workflow: of });
                }
            }
        }
        Ok(steps)
    }
}
