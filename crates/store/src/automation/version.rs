//! The versions of workflows: what was in force, and when.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use mailwright_core::custom_data;
use mailwright_core::ids::{ProjectNumber, WorkflowId};
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::definition::{Definition, Workflow};
use mailwright_core::workflow::goal::Goal;
use mailwright_core::workflow::kind::TriggerType;
use mailwright_core::workflow::trigger::Trigger;
use mailwright_core::workflow::version::Version;
use quick_cache::sync::Cache;

use super::row::graph;
use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Row, Rx, Tx};
use crate::insight::counter::{self, Counter, Sums};

/// How long a version stays that was replaced and that nobody went through: an event may be about to begin an execution of
/// it.
pub const KEPT: Duration = Duration::from_hours(1);

/// A version of a workflow.
#[derive(Debug, Clone)]
pub struct Stored {
    /// Its number, from 1.
    pub number: i64,
    /// What it consists of.
    pub definition: Definition,
    /// When it came into force.
    pub created_at: Timestamp,
    /// When another one took its place.
    pub replaced_at: Option<Timestamp>,
}

/// The name of the counter of a version's executions.
pub(super) fn counter_name(workflow: WorkflowId, number: i64) -> String {
    format!("{workflow}:{number}")
}

/// Counts executions of a version that are stored.
pub fn count(sums: &mut Sums, project: ProjectNumber, workflow: WorkflowId, number: i64, by: i64) {
    sums.add(project, Counter::WorkflowVersion, &counter_name(workflow, number), by);
}

const COLUMNS: &str = "v.number, v.trigger_type, {json_out v.trigger_config}, {json_out v.goal}, {json_out v.graph}, \
     v.created_at, v.replaced_at";

fn read(row: &Row<'_>) -> Result<Stored> {
    Ok(Stored {
        number: row.get(0)?,
        definition: Definition {
            trigger_type: row.named(1, "workflow_versions.trigger_type", TriggerType::from_name)?,
            trigger_config: row.get(2)?,
            goal: row.get(3)?,
            graph: graph(row, 4)?,
        },
        created_at: row.get(5)?,
        replaced_at: row.get(6)?,
    })
}

/// One version.
pub async fn get(
    rx: &Rx<'_>,
    project: ProjectNumber,
    workflow: WorkflowId,
    number: i64,
) -> Result<Option<Stored>> {
    let sql = format!(
        "select {COLUMNS} from workflow_versions v where v.project_id = $1 and v.workflow_id = $2 and v.number = $3"
    );
    Ok(rx.all(sql, args![project, workflow, number], read).await?.pop())
}

/// A version, ready to be run.
#[derive(Debug)]
pub struct Compiled {
    /// What it consists of.
    pub definition: Definition,
    /// The version.
    pub version: Version,
    /// What starts executions, if the configuration is valid.
    pub trigger: Option<Trigger>,
    /// Whether the goal is a filter, so that it is looked at whenever the contact changes.
    pub has_filter_goal: bool,
    size: u64,
}

#[derive(Debug, Clone)]
struct BySize;

impl quick_cache::Weighter<(WorkflowId, i64), Arc<Compiled>> for BySize {
    fn weight(&self, _: &(WorkflowId, i64), compiled: &Arc<Compiled>) -> u64 {
        compiled.size
    }
}

/// Most bytes of versions that are remembered, as JSON.
const REMEMBERED: u64 = 32 * 1024 * 1024;

/// The versions of this process. A version never changes, and its workflow's id is unique among all databases.
static COMPILED: LazyLock<Cache<(WorkflowId, i64), Arc<Compiled>, BySize>> =
    LazyLock::new(|| Cache::with_weighter(1000, REMEMBERED, BySize));

/// A version, ready to be run. What is remembered outlasts the transaction.
pub async fn compiled(
    rx: &Rx<'_>,
    project: ProjectNumber,
    workflow: WorkflowId,
    number: i64,
) -> Result<Option<Arc<Compiled>>> {
    if let Some(known) = COMPILED.get(&(workflow, number)) {
        return Ok(Some(known));
    }
    let Some(stored) = get(rx, project, workflow, number).await? else { return Ok(None) };
    let compiled = Arc::new(Compiled::new(stored));
    COMPILED.insert((workflow, number), Arc::clone(&compiled));
    Ok(Some(compiled))
}

/// Forgets a version that is about to be stored: one of this number may have been remembered whose transaction failed.
pub(super) fn forget(workflow: WorkflowId, number: i64) {
    COMPILED.remove(&(workflow, number));
}

/// Some versions of a workflow by their numbers, those that there are.
pub async fn compiled_all(
    rx: &Rx<'_>,
    project: ProjectNumber,
    workflow: WorkflowId,
    numbers: impl Iterator<Item = i64>,
) -> Result<BTreeMap<i64, Arc<Compiled>>> {
    let mut found = BTreeMap::new();
    for number in numbers {
        if let Some(version) = compiled(rx, project, workflow, number).await? {
            found.insert(number, version);
        }
    }
    Ok(found)
}

impl Compiled {
    fn new(stored: Stored) -> Self {
        let Stored { number, definition, .. } = stored;
        let version = definition.version(number);
        let has_filter_goal = matches!(version.goal(), Some(Goal::Filter(_)));
        let configs = definition.graph.steps.iter().map(|step| custom_data::value_size(&step.config) + 200);
        let size = configs.sum::<usize>() as u64 + 1000;
        Self { trigger: definition.trigger().ok(), version, definition, has_filter_goal, size }
    }
}

/// A version as lists show it.
#[derive(Debug, Clone)]
pub struct Listed {
    /// Its number.
    pub number: i64,
    /// How many executions of it are stored.
    pub executions: i64,
    /// When it came into force.
    pub created_at: Timestamp,
    /// When another one took its place.
    pub replaced_at: Option<Timestamp>,
}

/// The newest versions of a workflow.
pub async fn list(
    rx: &Rx<'_>,
    project: ProjectNumber,
    workflow: WorkflowId,
    limit: i64,
) -> Result<Vec<Listed>> {
    let mut listed = rx
        .all(
            "select number, created_at, replaced_at from workflow_versions where project_id = $1 and workflow_id = $2 \
             order by number desc limit $3",
            args![project, workflow, limit],
            |r| {
                Ok(Listed { number: r.get(0)?, executions: 0, created_at: r.get(1)?, replaced_at: r.get(2)? })
            },
        )
        .await?;
    let counts = counter::beginning(rx, project, Counter::WorkflowVersion, &format!("{workflow}:")).await?;
    for one in &mut listed {
        let name = counter_name(workflow, one.number);
        one.executions = counts.iter().find(|(found, _)| *found == name).map_or(0, |(_, count)| *count);
    }
    Ok(listed)
}

/// What is in force of a workflow.
pub async fn in_force(
    rx: &Rx<'_>,
    project: ProjectNumber,
    workflow: &Workflow,
) -> Result<Option<Definition>> {
    match workflow.version {
        None => Ok(None),
        Some(_) if !workflow.is_draft => Ok(Some(workflow.edited.clone())),
        Some(number) => Ok(get(rx, project, workflow.id, number).await?.map(|stored| stored.definition)),
    }
}

/// Notes that no version of a workflow is in force any more.
pub(super) async fn retire_all(tx: &Tx<'_>, project: ProjectNumber, workflow: WorkflowId) -> Result<()> {
    tx.execute(
        "update workflow_versions set replaced_at = 0 where project_id = $1 and workflow_id = $2",
        args![project, workflow],
    )
    .await?;
    Ok(())
}
