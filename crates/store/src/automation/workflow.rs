//! The rows of workflows.

use mailwright_core::ids::{ProjectNumber, WorkflowId};
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::definition::{Definition, Workflow};
use mailwright_core::workflow::kind::TriggerType;
use serde_json::Value as Json;

use super::row::{GRAPH, graph, graph_json, optional};
use super::version;
use crate::args;
use crate::database::dialect::Sql;
use crate::database::error::Result;
use crate::database::tx::{Row, Rx, Tx};
use crate::database::value::Arg;
use crate::insight::counter::{self, Counter};

/// A workflow as lists show it.
#[derive(Debug, Clone)]
pub struct Listed {
    /// Identifier.
    pub id: WorkflowId,
    /// Name.
    pub name: String,
    /// Internal note.
    pub description: Option<String>,
    /// Whether contacts are enrolled.
    pub enabled: bool,
    /// Whether a contact may go through it again.
    pub allow_reentry: bool,
    /// What starts executions.
    pub trigger_type: TriggerType,
    /// How.
    pub trigger_config: Option<Json>,
    /// What ends executions early.
    pub goal: Option<Json>,
    /// The number of the version in force.
    pub version: Option<i64>,
    /// Whether what is edited differs from it.
    pub is_draft: bool,
    /// How many steps it has, its trigger included.
    pub steps: i64,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

const LISTED: &str = "w.id, w.name, w.description, w.enabled, w.allow_reentry, w.trigger_type, \
     {json_out w.trigger_config}, {json_out w.goal}, w.version, w.is_draft, w.steps, w.created_at, w.updated_at";

/// The workflows of all projects whose schedule is due. It goes from one project to the next in the index.
pub async fn due_schedules(rx: &Rx<'_>, now: Timestamp) -> Result<Vec<(ProjectNumber, WorkflowId)>> {
    const AT_ONCE: i64 = 100;
    let projects = rx
        .projects_with_work(
            Sql::Either {
whole: "with recursive planned(project_id) as (select cast(0 as {int}) union all select \
             (select w.project_id from workflows w where w.project_id > p.project_id and w.next_at is not null \
             order by w.project_id, w.next_at limit 1) from planned p where p.project_id is not null) \
             select p.project_id from planned p where p.project_id > 0 and (select w.next_at from workflows w \
             where w.project_id = p.project_id and w.next_at is not null order by w.next_at limit 1) <= $1",
divided: "select distinct project_id from workflows where next_at <= $1",
},
            args![now],
        )
        .await?;
    let mut due = Vec::new();
    for project in projects {
        let found = rx
            .all(
                "select id from workflows where project_id = $1 and next_at <= $2 order by next_at limit $3",
                args![project, now, AT_ONCE],
                |r| r.get::<WorkflowId>(0),
            )
            .await?;
        due.extend(found.into_iter().map(|id| (project, id)));
    }
    Ok(due)
}

/// When a schedule starts a workflow next, if that has come.
pub async fn due_since(
    rx: &Rx<'_>,
    project: ProjectNumber,
    id: WorkflowId,
    now: Timestamp,
) -> Result<Option<Timestamp>> {
    rx.optional(
        "select next_at from workflows where project_id = $1 and id = $2 and next_at <= $3",
        args![project, id, now],
        |r| r.get(0),
    )
    .await
}

/// The workflows of a project that a schedule starts after an instant.
pub async fn scheduled(rx: &Rx<'_>, project: ProjectNumber, after: Timestamp) -> Result<Vec<WorkflowId>> {
    rx.all(
        "select id from workflows where project_id = $1 and next_at > $2 order by id",
        args![project, after],
        |r| r.get(0),
    )
    .await
}

fn read_listed(row: &Row<'_>) -> Result<Listed> {
    Ok(Listed {
        id: row.get(0)?,
        name: row.get(1)?,
        description: row.get(2)?,
        enabled: row.get(3)?,
        allow_reentry: row.get(4)?,
        trigger_type: row.named(5, "workflows.trigger_type", TriggerType::from_name)?,
        trigger_config: row.get(6)?,
        goal: row.get(7)?,
        version: row.get(8)?,
        is_draft: row.get(9)?,
        steps: row.get(10)?,
        created_at: row.get(11)?,
        updated_at: row.get(12)?,
    })
}

fn read(row: &Row<'_>) -> Result<Workflow> {
    let listed = read_listed(row)?;
    Ok(Workflow {
        id: listed.id,
        name: listed.name,
        description: listed.description,
        enabled: listed.enabled,
        allow_reentry: listed.allow_reentry,
        edited: Definition {
            trigger_type: listed.trigger_type,
            trigger_config: listed.trigger_config,
            goal: listed.goal,
            graph: graph(row, GRAPH)?,
        },
        version: listed.version,
        is_draft: listed.is_draft,
        created_at: listed.created_at,
        updated_at: listed.updated_at,
    })
}

/// The text that a search looks at.
fn search_text(workflow: &Workflow) -> String {
    let description = workflow.description.as_deref().unwrap_or_default();
    format!("{}\n{description}", workflow.name).to_lowercase()
}

/// One workflow.
pub async fn get(rx: &Rx<'_>, project: ProjectNumber, id: WorkflowId) -> Result<Option<Workflow>> {
    one(rx, project, id, "").await
}

/// One workflow, which nobody else changes before the transaction ends.
pub async fn get_for_update(tx: &Tx<'_>, project: ProjectNumber, id: WorkflowId) -> Result<Option<Workflow>> {
    one(tx, project, id, "{for_update}").await
}

async fn one(rx: &Rx<'_>, project: ProjectNumber, id: WorkflowId, lock: &str) -> Result<Option<Workflow>> {
    let sql = format!(
        "select {LISTED}, {{json_out w.graph}} from workflows w where w.project_id = $1 and w.id = $2 {lock}"
    );
    Ok(rx.all(sql, args![project, id], read).await?.pop())
}

/// Some workflows, without their graphs.
pub async fn some(rx: &Rx<'_>, project: ProjectNumber, ids: &[WorkflowId]) -> Result<Vec<Listed>> {
    rx.all(
        format!("select {LISTED} from workflows w where w.project_id = $1 and w.id {{in $2}} order by w.name, w.id"),
        &[project.into(), Arg::Ids(ids.iter().map(|id| Some((*id).into())).collect())],
        read_listed,
    )
    .await
}

/// How many workflows a project has.
pub async fn count(rx: &Rx<'_>, project: ProjectNumber) -> Result<i64> {
    let found =
        rx.all("select count(*) from workflows where project_id = $1", args![project], |r| r.get(0)).await?;
    Ok(found.first().copied().unwrap_or(0))
}

/// Whether a project has a workflow that is enabled.
pub async fn has_enabled(rx: &Rx<'_>, project: ProjectNumber) -> Result<bool> {
    rx.exists("select 1 from workflows where project_id = $1 and enabled limit 1", args![project]).await
}

/// Stores a new workflow.
pub async fn create(tx: &Tx<'_>, project: ProjectNumber, workflow: &Workflow) -> Result<()> {
    let edited = &workflow.edited;
    tx.execute_one(
        "insert into workflows (project_id, id, name, description, enabled, allow_reentry, trigger_type, \
         trigger_config, goal, graph, steps, version, versions, is_draft, search, created_at, updated_at) \
         values ($1, $2, $3, $4, $5, $6, $7, {json $8}, {json $9}, {json $10}, $11, null, 0, $12, $13, $14, $15)",
        args![
            project,
            workflow.id,
            &workflow.name,
            workflow.description.as_deref(),
            workflow.enabled,
            workflow.allow_reentry,
            edited.trigger_type.as_str(),
            optional(edited.trigger_config.as_ref()),
            optional(edited.goal.as_ref()),
            graph_json(&edited.graph)?,
            edited.graph.steps.len(),
            workflow.is_draft,
            search_text(workflow),
            workflow.created_at,
            workflow.updated_at,
        ],
    )
    .await
}

/// Stores a changed workflow. The version in force is changed by [`crate::automation::publish::put_into_force`].
pub async fn update(tx: &Tx<'_>, project: ProjectNumber, workflow: &Workflow) -> Result<()> {
    let edited = &workflow.edited;
    tx.execute_one(
        "update workflows set name = $3, description = $4, enabled = $5, allow_reentry = $6, trigger_type = $7, \
         trigger_config = {json $8}, goal = {json $9}, graph = {json $10}, steps = $11, is_draft = $12, search = $13, \
         updated_at = $14 where project_id = $1 and id = $2",
        args![
            project,
            workflow.id,
            &workflow.name,
            workflow.description.as_deref(),
            workflow.enabled,
            workflow.allow_reentry,
            edited.trigger_type.as_str(),
            optional(edited.trigger_config.as_ref()),
            optional(edited.goal.as_ref()),
            graph_json(&edited.graph)?,
            edited.graph.steps.len(),
            workflow.is_draft,
            search_text(workflow),
            workflow.updated_at,
        ],
    )
    .await
}

/// Notes when a schedule starts a workflow next.
pub async fn set_next(
    tx: &Tx<'_>,
    project: ProjectNumber,
    id: WorkflowId,
    next: Option<Timestamp>,
) -> Result<()> {
    tx.execute(
        "update workflows set next_at = $3 where project_id = $1 and id = $2",
        args![project, id, next],
    )
    .await?;
    Ok(())
}

/// Removes a workflow with its versions; whether there was one. Its executions are removed in steps, by
/// [`crate::automation::forget::removed_workflow`].
pub async fn delete(tx: &Tx<'_>, project: ProjectNumber, id: WorkflowId) -> Result<bool> {
    let found =
        tx.execute("delete from workflows where project_id = $1 and id = $2", args![project, id]).await?;
    if found == 0 {
        return Ok(false);
    }
    for table in ["workflow_listeners", "workflow_periods", "workflow_references"] {
        let sql = format!("delete from {table} where project_id = $1 and workflow_id = $2");
        tx.execute(sql, args![project, id]).await?;
    }
    version::retire_all(tx, project, id).await?;
    Ok(true)
}

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// By name.
    Name,
    /// By creation.
    CreatedAt,
    /// By last change.
    UpdatedAt,
    /// By number of steps.
    Steps,
}

/// A page of a list.
#[derive(Debug, Clone)]
pub struct List {
    /// Rows to skip.
    pub offset: i64,
    /// Most rows.
    pub limit: i64,
    /// Only workflows that are enabled, or that are not.
    pub enabled: Option<bool>,
    /// Substring of name or description, lower-cased, taken literally.
    pub search: Option<String>,
    /// Order.
    pub sort: Sort,
    /// Whether the order is reversed.
    pub descending: bool,
}

/// Reads a page of workflows and how many there are in all.
pub async fn list(rx: &Rx<'_>, project: ProjectNumber, list: &List) -> Result<(Vec<Listed>, i64)> {
    let mut args: Vec<Arg<'_>> = vec![project.into()];
    let mut filter = String::new();
    if let Some(enabled) = list.enabled {
        args.push(enabled.into());
        filter += &format!(" and w.enabled = ${}", args.len());
    }
    if let Some(search) = &list.search {
        args.push(search.into());
        filter += &format!(" and {{contains w.search ${}}}", args.len());
    }
    let total = rx
        .all(format!("select count(*) from workflows w where w.project_id = $1{filter}"), &args, |r| r.get(0))
        .await?;
    let column = match list.sort {
        Sort::Name => "name",
        Sort::CreatedAt => "created_at",
        Sort::UpdatedAt => "updated_at",
        Sort::Steps => "steps",
    };
    let direction = if list.descending { "desc" } else { "asc" };
    args.extend([list.limit.into(), list.offset.into()]);
    let (limit, offset) = (args.len() - 1, args.len());
    let page = rx
        .all(
            format!(
                "select {LISTED} from workflows w where w.project_id = $1{filter} \
                 order by w.{column} {direction}, w.id {direction} limit ${limit} offset ${offset}"
            ),
            &args,
            read_listed,
        )
        .await?;
    Ok((page, total.first().copied().unwrap_or(0)))
}

/// How many executions of a workflow are stored.
pub async fn executions(
    rx: &Rx<'_>,
    project: ProjectNumber,
    ids: &[WorkflowId],
) -> Result<Vec<(WorkflowId, i64)>> {
    let mut counts = Vec::with_capacity(ids.len());
    for id in ids {
        let counted = counter::beginning(rx, project, Counter::WorkflowVersion, &format!("{id}:")).await?;
        counts.push((*id, counted.into_iter().map(|(_, count)| count).sum()));
    }
    Ok(counts)
}
