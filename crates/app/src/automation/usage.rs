//! Which workflows refer to a template, a segment, a field or an event.

use std::collections::BTreeMap;

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
        let found = self.read_slow(
            number,
            body!(async |rx| {
                let ids = reference::in_use(rx, number, kind, &name).await?;
                workflow::some(rx, number, &ids).await
            }),
        );
        let found = found.await?;
        Ok(found.into_iter().map(|found| NamedWorkflow { id: found.id, name: found.name }).collect())
    }

    /// The steps that send a template, as their workflows are edited, as they are in force, and as executions under way
    /// run them; those of some hundred workflows.
    pub async fn steps_with_template(&self, project: &Project, id: TemplateId) -> Result<Vec<SendingStep>> {
        let number = project.number;
        let found = self.read_slow(
            number,
            body!(async |rx| {
                let found = reference::definitions_with(rx, number, Kind::Template, &id.to_string()).await?;
                let ids: Vec<WorkflowId> = found.iter().map(|(workflow, _)| *workflow).collect();
                Ok((found, workflow::some(rx, number, &ids).await?))
            }),
        );
        let (definitions, workflows) = found.await?;
        let names: BTreeMap<WorkflowId, String> =
            workflows.into_iter().map(|workflow| (workflow.id, workflow.name)).collect();
        let mut steps: BTreeMap<StepId, SendingStep> = BTreeMap::new();
        for (workflow, definition) in definitions {
            let Some(name) = names.get(&workflow) else { continue };
            for step in definition.graph.steps {
                let in_config = step.config["templateId"].as_str().and_then(|text| text.parse().ok());
                if step.template.or(in_config) == Some(id) {
                    let of = NamedWorkflow { id: workflow, name: name.clone() };
                    steps.insert(step.id, SendingStep { id: step.id, name: step.name, workflow: of });
                }
            }
        }
        Ok(steps.into_values().collect())
    }
}
