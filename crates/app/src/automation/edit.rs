//! Changing the steps and transitions of a workflow.

use mailwright_core::ids::{StepId, TransitionId, WorkflowId};
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::definition::Workflow;
use mailwright_core::workflow::edit::{NewStep, NewTransition, Refusal, StepChange};
use mailwright_core::workflow::graph::{Graph, Step, Transition};
use mailwright_store::body;

use super::known::check_step;
use super::manage::{locked, settle};
use crate::App;
use crate::error::{Error, Resource, Result};

/// What an edit is refused for.
fn refused(refusal: Refusal, id: impl ToString) -> Error {
    match refusal {
        Refusal::Invalid(issues) => Error::Invalid(issues),
        Refusal::Structure(message) => Error::BadRequest(message),
        Refusal::NoStep => Error::not_found(Resource::Step, id),
        Refusal::NoTransition => Error::not_found(Resource::Transition, id),
    }
}

impl App {
    /// Adds a step. It is linked from the newest step that leads nowhere, if `connects`.
    pub async fn add_step(
        &self,
        project: &Project,
        workflow: WorkflowId,
        new: NewStep,
        connects: bool,
    ) -> Result<Step> {
        let id = new.id;
        let link = connects.then(|| self.new_transition());
        let edit =
            move |graph: &mut Graph, now| graph.add_step(new.clone(), link, now).map_err(|r| refused(r, id));
        let changed = self.edit(project, workflow, Some(id), edit).await?;
        step_of(changed, id)
    }

    /// Puts a step between two others.
    pub async fn insert_step(
        &self,
        project: &Project,
        workflow: WorkflowId,
        on: TransitionId,
        new: NewStep,
    ) -> Result<Step> {
        let (id, onward) = (new.id, self.new_transition());
        let edit = move |graph: &mut Graph, now| {
            graph.insert_step(on, new.clone(), onward, now).map_err(|r| refused(r, on))
        };
        let changed = self.edit(project, workflow, Some(id), edit).await?;
        step_of(changed, id)
    }

    /// Changes a step.
    pub async fn change_step(
        &self,
        project: &Project,
        workflow: WorkflowId,
        id: StepId,
        change: StepChange,
    ) -> Result<Step> {
        let edit = move |graph: &mut Graph, now| {
            graph.change_step(id, change.clone(), now).map_err(|r| refused(r, id))
        };
        let changed = self.edit(project, workflow, Some(id), edit).await?;
        step_of(changed, id)
    }

    /// Removes a step and all that can be reached from it, or splices it out.
    pub async fn remove_step(
        &self,
        project: &Project,
        workflow: WorkflowId,
        id: StepId,
        spliced: bool,
    ) -> Result<()> {
        let edit =
            move |graph: &mut Graph, now| graph.remove_step(id, spliced, now).map_err(|r| refused(r, id));
        self.edit(project, workflow, None, edit).await.map(drop)
    }

    /// Adds a transition.
    pub async fn add_transition(
        &self,
        project: &Project,
        workflow: WorkflowId,
        new: NewTransition,
    ) -> Result<Transition> {
        let id = new.id;
        let edit = move |graph: &mut Graph, now| {
            let missing = [new.from, new.to].into_iter().find(|step| graph.step(*step).is_none());
            graph.add_transition(new.clone(), now).map_err(|r| refused(r, missing.unwrap_or(new.from)))
        };
        let changed = self.edit(project, workflow, None, edit).await?;
        let transition = changed.edited.graph.transition(id).cloned();
        transition.ok_or_else(|| Error::Internal(format!("the transition {id} was not added")))
    }

    /// Removes a transition.
    pub async fn remove_transition(
        &self,
        project: &Project,
        workflow: WorkflowId,
        id: TransitionId,
    ) -> Result<()> {
        let edit = move |graph: &mut Graph, _| graph.remove_transition(id).map_err(|r| refused(r, id));
        self.edit(project, workflow, None, edit).await.map(drop)
    }

    /// A new step's identifier.
    pub fn new_step(&self) -> StepId {
        StepId::new(self.0.clock.now(), rand::random())
    }

    /// A new transition's identifier.
    pub fn new_transition(&self) -> TransitionId {
        TransitionId::new(self.0.clock.now(), rand::random())
    }

    /// Changes the graph of a workflow. What the step `touched` refers to has to be there afterwards.
    async fn edit<T>(
        &self,
        project: &Project,
        id: WorkflowId,
        touched: Option<StepId>,
        edit: impl Fn(&mut Graph, Timestamp) -> Result<T> + Clone + Send + Sync + 'static,
    ) -> Result<Workflow> {
        let (number, now) = (project.number, self.0.clock.now());
        self.write(body!(async |tx| {
            let mut workflow = locked(tx, number, id).await?;
            let before = workflow.clone();
            edit(&mut workflow.edited.graph, now)?;
            if let Some(step) = touched.and_then(|id| workflow.edited.graph.step(id)) {
                check_step(tx, number, step).await?;
            }
            workflow.updated_at = now;
            settle(tx, number, &before, &mut workflow, now).await?;
            Ok(workflow)
        }))
        .await
    }
}

fn step_of(workflow: Workflow, id: StepId) -> Result<Step> {
    let step = workflow.edited.graph.steps.into_iter().find(|step| step.id == id);
    step.ok_or_else(|| Error::Internal(format!("the step {id} was not stored")))
}
