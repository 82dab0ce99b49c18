//! Moving those who go through a workflow to the version in force, on request.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use mailwright_core::audit::{Action, Actor};
use mailwright_core::ids::{ContactId, ExecutionId, JobId, ProjectNumber, StepId, WorkflowId};
use mailwright_core::job::JobKind;
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::definition::Workflow;
use mailwright_core::workflow::execution::Execution;
use mailwright_core::workflow::graph::Step as GraphStep;
use mailwright_core::workflow::migrate::{Stuck, moved, taken};
use mailwright_store::audience::contact;
use mailwright_store::automation::execution::{self, Stored};
use mailwright_store::automation::version::{self, Compiled};
use mailwright_store::automation::{execution_list, publish, workflow};
use mailwright_store::background::job::{ClaimRef, Progress};
use mailwright_store::insight::deltas::Deltas;
use mailwright_store::project::audit::Entry;
use mailwright_store::{Rx, Tx, body};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::jobs::OfWorkflow;
use crate::App;
use crate::background::job::{Batch, JobHandler, Part, Status, StepResult, from_value, to_value};
use crate::error::{Error, Result};

/// How many executions are moved in one transaction.
const TOGETHER: i64 = 200;
/// How many executions are looked at with one read.
const READ_TOGETHER: i64 = 2000;
/// Most executions that are named of those that stay.
const MOST_NAMED: usize = 100;

/// What moving executions would do.
#[derive(Debug)]
pub struct Plan {
    /// The version in force.
    pub to: i64,
    /// How many would go on at each step, by its name.
    pub moves: BTreeMap<StepId, (String, i64)>,
    /// How many stay, by why.
    pub stays: BTreeMap<&'static str, i64>,
    /// The first of those that stay.
    pub staying: Vec<Staying>,
}

/// An execution that stays on its version.
#[derive(Debug, Clone)]
pub struct Staying {
    /// The execution.
    pub execution: ExecutionId,
    /// Its contact.
    pub contact: ContactId,
    /// The step that it stands at.
    pub step: Option<StepId>,
    /// Why.
    pub why: Stuck,
}

/// How far moving came.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Moved {
    workflow: Option<WorkflowId>,
    /// Executions that were to be moved at the beginning.
    total: i64,
    after: Option<ExecutionId>,
    /// Executions that were moved.
    pub moved: i64,
    /// Executions that stayed.
    pub stayed: i64,
}

/// What moves where.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Input {
    workflow: WorkflowId,
    total: i64,
}

impl App {
    /// What moving a workflow's executions to the version in force would do.
    pub async fn plan_migration(&self, project: &Project, id: WorkflowId) -> Result<Plan> {
        let (of, to) = self.in_force(project, id).await?;
        let mut plan = Plan { to, moves: BTreeMap::new(), stays: BTreeMap::new(), staying: Vec::new() };
        let (number, mut after) = (project.number, first());
        loop {
            let page = self.read_slow(
                number,
                body!(async |rx| {
                    let page =
                        execution_list::on_other_versions(rx, number, id, to, after, READ_TOGETHER).await?;
                    let versions = Versions::load(rx, number, id, to, &page.stored).await?;
                    Ok((page, versions))
                }),
            );
            let (page, versions) = page.await?;
            let Some(last) = page.last else { return Ok(plan) };
            after = last;
            for stored in &page.stored {
                plan.add(stored, &versions, &of);
            }
        }
    }

    /// Moves a workflow's executions to the version in force, in the background.
    pub async fn migrate_workflow(&self, project: &Project, actor: &Actor, id: WorkflowId) -> Result<JobId> {
        let plan = self.plan_migration(project, id).await?;
        let total = plan.moves.values().map(|(_, count)| count).chain(plan.stays.values()).sum();
        let entry = Entry::new(Action::ExecutionsMigrated, id.to_string());
        let input = to_value(&Input { workflow: id, total }).to_string().into_bytes();
        let begun = to_value(&Moved { workflow: Some(id), total, ..Moved::default() });
        self.queue_job(project, JobKind::MigrateExecutions, input, begun, Some((actor.clone(), entry))).await
    }

    /// How moving executions is getting on; `None` when the workflow has no such job.
    pub async fn migration(
        &self,
        project: &Project,
        workflow: WorkflowId,
        id: JobId,
    ) -> Result<Option<Status<Moved>>> {
        self.job_of(project, workflow, id, &[JobKind::MigrateExecutions]).await
    }

    /// A workflow and the number of its version in force.
    async fn in_force(&self, project: &Project, id: WorkflowId) -> Result<(Workflow, i64)> {
        let workflow = self.workflow(project, id).await?;
        let version = workflow.version.ok_or_else(|| {
            Error::BadRequest("The workflow was never enabled, so nobody goes through it.".into())
        })?;
        Ok((workflow, version))
    }
}

impl OfWorkflow for Moved {
    fn workflow(&self) -> Option<WorkflowId> {
        self.workflow
    }
}

fn first() -> ExecutionId {
    ExecutionId::from_bytes([0; 16])
}

impl Plan {
    fn add(&mut self, stored: &Stored, versions: &Versions, of: &Workflow) {
        let execution = &stored.execution;
        let step = execution.current.and_then(|place| versions.step(stored.version, place));
        match versions.moved(stored) {
            Ok(_) => {
                let Some(step) = step else { return };
                let (_, count) = self.moves.entry(step.id).or_insert_with(|| (of.edited.named(step).name, 0));
                *count += 1;
            }
            Err(why) => {
                *self.stays.entry(why.as_str()).or_default() += 1;
                if self.staying.len() < MOST_NAMED {
                    let (execution, contact) = (execution.id, execution.contact);
                    self.staying.push(Staying { execution, contact, step: step.map(|step| step.id), why });
                }
            }
        }
    }
}

/// The versions that some executions run or ran, and the one in force.
struct Versions {
    to: Option<Arc<Compiled>>,
    known: BTreeMap<i64, Arc<Compiled>>,
}

impl Versions {
    async fn load(
        rx: &Rx<'_>,
        project: ProjectNumber,
        workflow: WorkflowId,
        to: i64,
        executions: &[Stored],
    ) -> mailwright_store::Result<Self> {
        let run = executions.iter().map(|stored| stored.version);
        let ran =
            executions.iter().flat_map(|stored| stored.execution.log.iter().filter_map(|record| record.of));
        let wanted: BTreeSet<i64> = run.chain(ran).collect();
        let known = version::compiled_all(rx, project, workflow, wanted.into_iter()).await?;
        Ok(Self { to: version::compiled(rx, project, workflow, to).await?, known })
    }

    fn step(&self, version: i64, place: usize) -> Option<&GraphStep> {
        self.known.get(&version)?.definition.graph.steps.get(place)
    }

    fn moved(&self, stored: &Stored) -> Result<Execution, Stuck> {
        let (Some(from), Some(to)) = (self.known.get(&stored.version), &self.to) else {
            return Err(Stuck::NoStep);
        };
        let mut all = taken(&stored.execution, &from.version);
        let earlier = stored.execution.log.iter().filter_map(|record| self.step(record.of?, record.step));
        all.extend(earlier.map(|step| step.id));
        moved(&stored.execution, &from.version, &to.version, &all)
    }
}

/// Executions that are being moved.
#[derive(Debug)]
pub(crate) struct Migration {
    project: ProjectNumber,
    input: Input,
}

impl Migration {
    /// Reads its input.
    pub(crate) fn open(project: ProjectNumber, input: &[u8]) -> Result<Self, String> {
        let json: Value = serde_json::from_slice(input).map_err(|error| error.to_string())?;
        Ok(Self { project, input: from_value(&json)? })
    }
}

impl JobHandler for Migration {
    fn next(&self, progress: &Value) -> Result<Part, String> {
        let before = from_value(progress)?;
        Ok(Part::Batch(Arc::new(Step { project: self.project, workflow: self.input.workflow, before })))
    }
}

/// The next executions.
#[derive(Debug)]
struct Step {
    project: ProjectNumber,
    workflow: WorkflowId,
    before: Moved,
}

impl Batch for Step {
    fn run<'t>(
        &'t self,
        tx: &'t mut Tx<'_>,
        _: ClaimRef,
        _: Timestamp,
    ) -> BoxFuture<'t, mailwright_store::Result<StepResult>> {
        Box::pin(async move {
            let found = workflow::get(tx, self.project, self.workflow).await?;
            let Some(to) = found.and_then(|workflow| workflow.version) else {
                return Ok(step_result(&self.before, true));
            };
            let after = self.before.after.unwrap_or_else(first);
            let (project, workflow) = (self.project, self.workflow);
            let page = execution_list::on_other_versions(tx, project, workflow, to, after, TOGETHER).await?;
            let mut now = self.before;
            now.after = page.last.or(now.after);
            let moved = self.move_all(tx, to, &page.stored).await?;
            now.moved += moved;
            now.stayed += page.count - moved;
            Ok(step_result(&now, page.count < TOGETHER))
        })
    }
}

fn step_result(after: &Moved, is_last: bool) -> StepResult {
    let done = (after.moved + after.stayed) * 100 / after.total.max(1);
    let percent = if is_last { 100 } else { done.clamp(0, 99) };
    StepResult { progress: Progress { progress: to_value(after), percent }, is_last }
}

impl Step {
    /// Moves executions; how many could be moved.
    async fn move_all(&self, tx: &mut Tx<'_>, to: i64, page: &[Stored]) -> mailwright_store::Result<i64> {
        let wanted: BTreeSet<ExecutionId> = page.iter().map(|stored| stored.execution.id).collect();
        let contacts: BTreeSet<ContactId> = page.iter().map(|stored| stored.execution.contact).collect();
        let contacts: Vec<ContactId> = contacts.into_iter().collect();
        contact::hold_all(tx, self.project, &contacts).await?;
        // as they are now that nobody else changes them
        let mut held = execution::active_in(tx, self.project, self.workflow, &contacts).await?;
        held.retain(|stored| wanted.contains(&stored.execution.id) && stored.version != to);
        let versions = Versions::load(tx, self.project, self.workflow, to, &held).await?;
        let mut deltas = Deltas::default();
        let (mut changed, mut left) = (Vec::new(), BTreeSet::new());
        for stored in held {
            let Ok(execution) = versions.moved(&stored) else { continue };
            left.insert(stored.version);
            version::count(deltas.sums(), self.project, self.workflow, stored.version, -1);
            version::count(deltas.sums(), self.project, self.workflow, to, 1);
            changed.push(Stored { execution, version: to, ..stored });
        }
        for number in left {
            publish::keep(tx, self.project, self.workflow, number).await?;
        }
        execution::save(tx, self.project, &changed, deltas.sums()).await?;
        deltas.save(tx).await?;
        Ok(changed.len() as i64)
    }
}
