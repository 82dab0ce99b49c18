//! What workflows refer to: for those who ask before they remove it.

use std::collections::BTreeSet;

use mailwright_core::ids::{ExecutionId, ProjectNumber, WorkflowId};
use mailwright_core::names;
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::definition::Workflow;

use super::version::{self, KEPT};
use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;

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
    let earlier: Vec<(WorkflowId, i64, Timestamp)> = rx
        .all(
            "select workflow_id, number, replaced_at from workflow_versions where project_id = $1 \
             and replaced_at is not null and ({json_contains graph $2} or goal is not null and {json_contains goal $2})",
            args![project, id],
            |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)),
        )
        .await?;
    for (workflow, number, replaced_at) in earlier {
        // what began just before may have been stored just after
        let before = ExecutionId::first_of(replaced_at.plus(KEPT));
        if !workflows.contains(&workflow) && is_under_way(rx, project, workflow, number, before).await? {
            workflows.insert(workflow);
        }
    }
    Ok(workflows.into_iter().collect())
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
