//! What workflows refer to: for those who ask before they remove it.

use std::collections::BTreeSet;

use mailwright_core::ids::{ExecutionId, ProjectNumber, WorkflowId};
use mailwright_core::names;
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::definition::{Definition, Uses, Workflow};
use mailwright_core::workflow::kind::TriggerType;
use serde_json::Value as Json;

use super::version::{self, KEPT};
use super::workflow;
use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;

/// Most definitions of each kind, current and earlier, that are looked through for one answer.
const MAX_READ: usize = 100;

names! {
    /// The kinds of things that a workflow refers to.
    pub enum Kind {
        /// A template, by its id.
        Template = "template",
        /// A segment, by its id.
        Segment = "segment",
        /// A field of contacts, as `/contacts/fields` names it.
        Field = "field",
        /// Events of a name.
        Event = "event",
    }
}

/// Stores what a workflow refers to, as it is edited and in force.
pub async fn set(tx: &Tx<'_>, project: ProjectNumber, workflow: &Workflow) -> Result<()> {
    let mut uses = workflow.edited.uses();
    if workflow.is_draft
        && let Some(definition) = version::in_force(tx, project, workflow).await?
    {
        let more = definition.uses();
        uses.templates.extend(more.templates);
        uses.segments.extend(more.segments);
        uses.fields.extend(more.fields);
        uses.events.extend(more.events);
    }
    let mut rows: Vec<(Kind, String)> = Vec::new();
    rows.extend(uses.templates.iter().map(|id| (Kind::Template, id.to_string())));
    rows.extend(uses.segments.iter().map(|id| (Kind::Segment, id.to_string())));
    rows.extend(uses.fields.into_iter().map(|name| (Kind::Field, name)));
    rows.extend(uses.events.into_iter().map(|name| (Kind::Event, name)));
    tx.execute(
        "delete from workflow_references where project_id = $1 and workflow_id = $2",
        args![project, workflow.id],
    )
    .await?;
    tx.each(
        "insert into workflow_references (project_id, kind, name, workflow_id) select $3, r.kind, r.name, $4 \
         from {rows r: kind text, name text}",
        &[
            Arg::Texts(rows.iter().map(|(kind, _)| Some(kind.as_str().into())).collect()),
            Arg::Texts(rows.iter().map(|(_, name)| Some(name.as_str().into())).collect()),
            project.into(),
            workflow.id.into(),
        ],
    )
    .await?;
    Ok(())
}

/// The workflows that prevent the removal of a template or a segment: those that refer to it, and those with executions
/// under way on an earlier version that does.
pub async fn that_need(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    kind: Kind,
    id: &str,
) -> Result<Vec<WorkflowId>> {
    let mut workflows: BTreeSet<WorkflowId> = to(rx, project, kind, id).await?.into_iter().collect();
    workflows.extend(earlier(rx, project, id).await?.into_iter().map(|(workflow, _)| workflow));
    Ok(workflows.into_iter().collect())
}

/// The earlier versions that executions under way run, and that hold a text in their steps or their goal.
async fn earlier(rx: &mut Rx<'_>, project: ProjectNumber, text: &str) -> Result<Vec<(WorkflowId, i64)>> {
    let holding: Vec<(WorkflowId, i64, Timestamp)> = rx
        .all(
            "select workflow_id, number, replaced_at from workflow_versions where project_id = $1 \
             and replaced_at is not null and ({json_contains graph $2} or goal is not null and {json_contains goal $2})",
            args![project, text],
            |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)),
        )
        .await?;
    let mut found = Vec::new();
    for (workflow, number, replaced_at) in holding {
        // what began just before may have been stored just after
        let before = ExecutionId::first_of(replaced_at.plus(KEPT));
        if is_under_way(rx, project, workflow, number, before).await? {
            found.push((workflow, number));
        }
    }
    Ok(found)
}

/// What refers to something: workflows as they are edited, as they are in force, and as executions under way run them.
pub async fn definitions_with(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    kind: Kind,
    name: &str,
) -> Result<Vec<(WorkflowId, Definition)>> {
    let mut found = Vec::new();
    for id in to(rx, project, kind, name).await?.into_iter().take(MAX_READ) {
        let Some(workflow) = workflow::get(rx, project, id).await? else { continue };
        if workflow.is_draft {
            found.extend(version::in_force(rx, project, &workflow).await?.map(|definition| (id, definition)));
        }
        found.push((id, workflow.edited));
    }
    for (id, number) in earlier(rx, project, &needle(name)).await?.into_iter().take(MAX_READ) {
        let stored = version::get(rx, project, id, number).await?;
        // what started them starts nobody any more
        found.extend(stored.map(|stored| {
            let (trigger_type, trigger_config) = (TriggerType::Manual, None);
            (id, Definition { trigger_type, trigger_config, ..stored.definition })
        }));
    }
    found.retain(|(_, definition)| names(&definition.uses(), kind, name));
    Ok(found)
}

/// The workflows among these.
pub async fn in_use(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    kind: Kind,
    name: &str,
) -> Result<Vec<WorkflowId>> {
    let mut workflows: BTreeSet<WorkflowId> = to(rx, project, kind, name).await?.into_iter().collect();
    let definitions = definitions_with(rx, project, kind, name).await?;
    workflows.extend(definitions.into_iter().map(|(workflow, _)| workflow));
    Ok(workflows.into_iter().collect())
}

/// What the JSON of a definition that names something holds in any case: of a field, its name without the prefix.
fn needle(name: &str) -> String {
    let json = Json::from(name.strip_prefix("data.").unwrap_or(name)).to_string();
    json.trim_matches('"').to_owned()
}

fn names(uses: &Uses, kind: Kind, name: &str) -> bool {
    match kind {
        Kind::Template => name.parse().is_ok_and(|id| uses.templates.contains(&id)),
        Kind::Segment => name.parse().is_ok_and(|id| uses.segments.contains(&id)),
        Kind::Field => uses.fields.contains(name),
        Kind::Event => uses.events.contains(name),
    }
}

async fn is_under_way(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    workflow: WorkflowId,
    number: i64,
    before: ExecutionId,
) -> Result<bool> {
    rx.exists(
        "select 1 from workflow_executions where project_id = $1 and workflow_id = $2 \
         and status in ('RUNNING', 'WAITING') and version = $3 and id < $4",
        args![project, workflow, number, before],
    )
    .await
}

/// The workflows that refer to something, as they are edited or in force.
pub async fn to(rx: &Rx<'_>, project: ProjectNumber, kind: Kind, name: &str) -> Result<Vec<WorkflowId>> {
    rx.all(
        "select workflow_id from workflow_references where project_id = $1 and kind = $2 and name = $3 \
         order by workflow_id",
        args![project, kind.as_str(), name],
        |r| r.get(0),
    )
    .await
}
