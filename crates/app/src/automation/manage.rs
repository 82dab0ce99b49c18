//! Making, changing and removing workflows.
//!
//! While nobody goes through a workflow, a change is in force at once. Once somebody does, changes of an enabled workflow
//! are kept as a draft until they are published, and whoever goes through it stays on the version that it began with.

use std::collections::BTreeSet;

use mailwright_core::audit::{Action, Actor};
use mailwright_core::ids::{ProjectNumber, StepId, TransitionId, WorkflowId};
use mailwright_core::issue::Issue;
use mailwright_core::patch::Patch;
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::definition::{Definition, Workflow};
use mailwright_core::workflow::goal::Goal;
use mailwright_core::workflow::graph::{Graph, Step, Transition};
use mailwright_core::workflow::kind::TriggerType;
use mailwright_core::workflow::limits::MAX_WORKFLOWS;
use mailwright_core::workflow::trigger::Trigger;
use mailwright_store::automation::workflow::{self as store, List, Listed};
use mailwright_store::automation::{execution_list, publish, reference};
use mailwright_store::project::audit::{self, Entry};
use mailwright_store::{Door, Tx, body};
use serde_json::Value;

use super::known::{check_filter, check_segment};
use super::starting;
use crate::App;
use crate::error::{Error, Resource, Result};

/// A workflow to create. An event starts it.
#[derive(Debug, Clone)]
pub struct NewWorkflow {
    /// Name.
    pub name: String,
    /// Internal note.
    pub description: Option<String>,
    /// The name of the event.
    pub event: String,
    /// Whether a contact may go through it again.
    pub allow_reentry: bool,
}

/// Changes to a workflow.
#[derive(Debug, Clone, Default)]
pub struct WorkflowPatch {
    /// A new name.
    pub name: Option<String>,
    /// A new note.
    pub description: Patch<String>,
    /// What starts executions from now on.
    pub trigger_type: Option<TriggerType>,
    /// How.
    pub trigger_config: Patch<Value>,
    /// What ends executions early from now on.
    pub goal: Patch<Value>,
    /// Whether contacts are enrolled from now on.
    pub enabled: Option<bool>,
    /// Whether a contact may go through it again.
    pub allow_reentry: Option<bool>,
}

/// A workflow as lists show it, with how many executions are stored.
#[derive(Debug)]
pub struct Counted {
    /// The workflow.
    pub workflow: Listed,
    /// Its executions.
    pub executions: i64,
}

impl App {
    /// A page of workflows and how many there are in all.
    pub async fn workflows(&self, project: &Project, list: List) -> Result<(Vec<Counted>, i64)> {
        let number = project.number;
        let door = if list.search.is_some() { Door::Slow(number) } else { Door::Fast };
        self.read_by(
            door,
            body!(async |rx| {
                let (page, total) = store::list(rx, number, &list).await?;
                let ids: Vec<WorkflowId> = page.iter().map(|found| found.id).collect();
                let counts = store::executions(rx, number, &ids).await?;
                let counted = page.into_iter().zip(counts);
                let counted =
                    counted.map(|(workflow, (_, executions))| Counted { workflow, executions }).collect();
                Ok((counted, total))
            }),
        )
        .await
    }

    /// One workflow.
    pub async fn workflow(&self, project: &Project, id: WorkflowId) -> Result<Workflow> {
        let number = project.number;
        let found = self.read(body!(async |rx| store::get(rx, number, id).await)).await?;
        found.ok_or_else(|| Error::not_found(Resource::Workflow, id))
    }

    /// Whether all of some workflows exist.
    pub async fn check_workflows(&self, project: &Project, ids: BTreeSet<WorkflowId>) -> Result<()> {
        let number = project.number;
        let wanted: Vec<WorkflowId> = ids.iter().copied().collect();
        let found = self.read(body!(async |rx| store::some(rx, number, &wanted).await)).await?;
        let found: BTreeSet<WorkflowId> = found.into_iter().map(|workflow| workflow.id).collect();
        match ids.difference(&found).next() {
            Some(missing) => Err(Error::not_found(Resource::Workflow, missing)),
            None => Ok(()),
        }
    }

    /// Creates a workflow, which is not enabled.
    pub async fn create_workflow(&self, project: &Project, new: NewWorkflow) -> Result<Workflow> {
        let now = self.0.clock.now();
        let event = new.event.trim();
        if event.is_empty() {
            return Err(Error::BadRequest("Name the event that starts the workflow in eventName.".into()));
        }
        let workflow = Workflow {
            id: WorkflowId::new(now, rand::random()),
            name: new.name,
            description: new.description,
            enabled: false,
            allow_reentry: new.allow_reentry,
            edited: Definition::new(event, StepId::new(now, rand::random()), now),
            version: None,
            is_draft: false,
            created_at: now,
            updated_at: now,
        };
        workflow
            .edited
            .trigger()
            .map_err(|issues| Error::Invalid(issues.into_iter().map(of_event).collect()))?;
        self.add_workflow(project.number, workflow).await
    }

    /// Copies a workflow. The copy is not enabled, and nobody went through it.
    pub async fn duplicate_workflow(&self, project: &Project, id: WorkflowId) -> Result<Workflow> {
        let original = self.workflow(project, id).await?;
        let now = self.0.clock.now();
        let graph = copy(&original.edited.graph, now);
        let copy = Workflow {
            id: WorkflowId::new(now, rand::random()),
            name: name_of_copy(&original.name),
            enabled: false,
            edited: Definition { graph, ..original.edited },
            version: None,
            is_draft: false,
            created_at: now,
            updated_at: now,
            ..original
        };
        self.add_workflow(project.number, copy).await
    }

    async fn add_workflow(&self, number: ProjectNumber, workflow: Workflow) -> Result<Workflow> {
        self.write(body!(async |tx| {
            if store::count(tx, number).await? >= MAX_WORKFLOWS as i64 {
                return Err(Error::Conflict(format!(
                    "The project has {MAX_WORKFLOWS} workflows, which is the limit. Delete one that is not needed any more."
                )));
            }
            store::create(tx, number, &workflow).await?;
            reference::set(tx, number, &workflow).await?;
            Ok(workflow)
        }))
        .await
    }

    /// Changes a workflow.
    pub async fn update_workflow(
        &self,
        project: &Project,
        actor: &Actor,
        id: WorkflowId,
        patch: WorkflowPatch,
    ) -> Result<Workflow> {
        let (number, now, actor) = (project.number, self.0.clock.now(), actor.clone());
        let workflow = self.write(body!(async |tx| {
            let mut workflow = locked(tx, number, id).await?;
            let before = workflow.clone();
            apply(&mut workflow, patch, now)?;
            check(tx, number, &before, &workflow).await?;
            settle(tx, number, &before, &mut workflow, now).await?;
            if workflow.enabled != before.enabled {
                let action =
                    if workflow.enabled { Action::WorkflowEnabled } else { Action::WorkflowDisabled };
                audit::record(tx, number, &actor, &Entry::new(action, id.to_string()), now).await?;
            }
            Ok(workflow)
        }));
        let workflow = workflow.await?;
        self.wake_workflows();
        Ok(workflow)
    }

    /// Puts what is edited into force. Who goes through an earlier version stays on it.
    pub async fn publish_workflow(
        &self,
        project: &Project,
        actor: &Actor,
        id: WorkflowId,
    ) -> Result<Workflow> {
        let (number, now, actor) = (project.number, self.0.clock.now(), actor.clone());
        self.write(body!(async |tx| {
            let before = locked(tx, number, id).await?;
            let mut workflow = before.clone();
            if !workflow.enabled {
                return Err(Error::BadRequest(
                    "Only an enabled workflow is published. What is edited comes into force when it is enabled."
                        .into(),
                ));
            }
            if workflow.is_draft {
                workflow.updated_at = now;
                publish::put_into_force(tx, number, &mut workflow, now).await?;
                store::update(tx, number, &workflow).await?;
                starting::change(tx, number, &before, &workflow, now).await?;
                let entry = Entry::new(Action::WorkflowPublished, id.to_string());
                audit::record(tx, number, &actor, &entry, now).await?;
            }
            Ok(workflow)
        }))
        .await
    }

    /// Removes a workflow, with the executions of those who went through it.
    pub async fn delete_workflow(&self, project: &Project, actor: &Actor, id: WorkflowId) -> Result<()> {
        self.delete_workflows(project, actor, vec![id]).await
    }

    /// Removes workflows: all of them or none.
    pub async fn delete_workflows(
        &self,
        project: &Project,
        actor: &Actor,
        ids: Vec<WorkflowId>,
    ) -> Result<()> {
        let (number, now, actor) = (project.number, self.0.clock.now(), actor.clone());
        self.write(body!(async |tx| {
            for id in ids {
                locked(tx, number, id).await?;
                // an event that begins an execution at this moment has it removed with the others
                if execution_list::has_active(tx, number, id).await? {
                    return Err(Error::Conflict(format!(
                        "Contacts go through the workflow {id}. Cancel their executions first (POST /workflows/{id}/executions/cancel-all), or wait for their end."
                    )));
                }
                store::delete(tx, number, id).await?;
                let entry = Entry::new(Action::WorkflowDeleted, id.to_string());
                audit::record(tx, number, &actor, &entry, now).await?;
            }
            Ok(())
        }))
        .await
    }
}

/// The longest name of a workflow, in characters.
const MAX_NAME: usize = 100;

fn name_of_copy(name: &str) -> String {
    const SUFFIX: &str = " (Copy)";
    let kept: String = name.chars().take(MAX_NAME - SUFFIX.len()).collect();
    format!("{kept}{SUFFIX}")
}

/// A graph with steps and transitions of its own.
fn copy(graph: &Graph, now: Timestamp) -> Graph {
    let ids: Vec<(StepId, StepId)> =
        graph.steps.iter().map(|step| (step.id, StepId::new(now, rand::random()))).collect();
    let new = |id: StepId| ids.iter().find(|(old, _)| *old == id).map_or(id, |(_, new)| *new);
    let (created_at, updated_at) = (now, now);
    let steps =
        graph.steps.iter().map(|step| Step { id: new(step.id), created_at, updated_at, ..step.clone() });
    let transitions = graph.transitions.iter().map(|transition| Transition {
        id: TransitionId::new(now, rand::random()),
        from: new(transition.from),
        to: new(transition.to),
        created_at,
        updated_at,
        ..transition.clone()
    });
    Graph { steps: steps.collect(), transitions: transitions.collect() }
}

/// What is wrong with the event of a new workflow, where its request names it.
fn of_event(issue: Issue) -> Issue {
    Issue { field: "eventName".into(), ..issue }
}

/// A workflow that must be there, for a change that nobody else makes meanwhile.
pub(super) async fn locked(tx: &Tx<'_>, project: ProjectNumber, id: WorkflowId) -> Result<Workflow> {
    let found = store::get_for_update(tx, project, id).await?;
    found.ok_or_else(|| Error::not_found(Resource::Workflow, id))
}

fn apply(workflow: &mut Workflow, patch: WorkflowPatch, now: Timestamp) -> Result<()> {
    workflow.name = patch.name.unwrap_or_else(|| workflow.name.clone());
    patch.description.apply(&mut workflow.description);
    workflow.allow_reentry = patch.allow_reentry.unwrap_or(workflow.allow_reentry);
    workflow.enabled = patch.enabled.unwrap_or(workflow.enabled);
    if patch.trigger_type.is_some() || patch.trigger_config != Patch::Absent {
        let kind = patch.trigger_type.unwrap_or(workflow.edited.trigger_type);
        let mut config = workflow.edited.trigger_config.clone();
        if kind == TriggerType::Manual && kind != workflow.edited.trigger_type {
            config = None;
        }
        patch.trigger_config.apply(&mut config);
        Trigger::parse(kind, config.as_ref().unwrap_or(&Value::Null)).map_err(Error::Invalid)?;
        workflow.edited.set_trigger(kind, config, now);
    }
    match patch.goal {
        Patch::Absent => {}
        Patch::Null => workflow.edited.goal = None,
        Patch::Value(goal) => {
            Goal::parse(&goal).map_err(Error::Invalid)?;
            workflow.edited.goal = Some(goal);
        }
    }
    workflow.updated_at = now;
    Ok(())
}

/// Whether what a changed trigger or goal refers to is there.
async fn check(tx: &Tx<'_>, project: ProjectNumber, before: &Workflow, after: &Workflow) -> Result<()> {
    let (old, new) = (&before.edited, &after.edited);
    if old.trigger_config != new.trigger_config {
        if let Ok(Trigger::Schedule { segment, .. }) = new.trigger() {
            check_segment(tx, project, segment).await?;
        }
        let filter = new.trigger_config.as_ref().map(|config| &config["filter"]);
        check_filter(tx, project, filter, "triggerConfig.filter").await?;
    }
    if old.goal != new.goal {
        let filter = new.goal.as_ref().map(|goal| &goal["filter"]);
        check_filter(tx, project, filter, "goal.filter").await?;
    }
    Ok(())
}

/// Stores a changed workflow. What is edited comes into force at once unless somebody goes through the workflow.
pub(super) async fn settle(
    tx: &Tx<'_>,
    project: ProjectNumber,
    before: &Workflow,
    workflow: &mut Workflow,
    now: Timestamp,
) -> Result<()> {
    // names and places on the canvas do nothing
    let acts_otherwise = !before.edited.acts_like(&workflow.edited);
    if acts_otherwise {
        workflow.is_draft |= workflow.version.is_some();
        reference::set(tx, project, workflow).await?;
    }
    let begins = workflow.enabled && !before.enabled;
    if workflow.enabled && (workflow.version.is_none() || workflow.is_draft) {
        let is_free =
            begins || acts_otherwise && !execution_list::has_active(tx, project, workflow.id).await?;
        if is_free {
            publish::put_into_force(tx, project, workflow, now).await?;
        }
    }
    store::update(tx, project, workflow).await?;
    if workflow.enabled != before.enabled || workflow.version != before.version {
        starting::change(tx, project, before, workflow, now).await?;
    }
    Ok(())
}
