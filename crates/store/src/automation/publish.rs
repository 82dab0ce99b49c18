//! Putting what is edited of a workflow into force.

use mailwright_core::ids::{ProjectNumber, WorkflowId};
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::definition::Workflow;

use super::row::{graph_json, optional};
use super::version::{self, KEPT, counter_name};
use super::{listener, reference};
use crate::args;
use crate::database::error::Result;
use crate::database::tx::Tx;
use crate::insight::counter::{self, Counter};

/// Puts what is edited of a workflow into force, as a version of its own. Executions of earlier versions go on with
/// theirs. The caller stores the workflow.
pub async fn put_into_force(
    tx: &Tx<'_>,
    project: ProjectNumber,
    workflow: &mut Workflow,
    now: Timestamp,
) -> Result<()> {
    let numbers = tx
        .all(
            "update workflows set versions = versions + 1, version = versions + 1 where project_id = $1 and id = $2 \
             returning versions",
            args![project, workflow.id],
            |r| r.get::<i64>(0),
        )
        .await?;
    let number = numbers.first().copied().unwrap_or(1);
    version::forget(workflow.id, number);
    tx.execute(
        "update workflow_versions set replaced_at = $3 where project_id = $1 and workflow_id = $2 and replaced_at is null",
        args![project, workflow.id, now],
    )
    .await?;
    let edited = &workflow.edited;
    tx.execute_one(
        "insert into workflow_versions (project_id, workflow_id, number, trigger_type, trigger_config, goal, graph, \
         kept, created_at) values ($1, $2, $3, $4, {json $5}, {json $6}, {json $7}, $8, $9)",
        args![
            project,
            workflow.id,
            number,
            edited.trigger_type.as_str(),
            optional(edited.trigger_config.as_ref()),
            optional(edited.goal.as_ref()),
            graph_json(&edited.graph)?,
            false,
            now,
        ],
    )
    .await?;
    (workflow.version, workflow.is_draft) = (Some(number), false);
    listener::of_version(tx, project, workflow.id, &edited.version(number)).await?;
    reference::set(tx, project, workflow).await?;
    prune(tx, project, workflow.id, now).await
}

/// Removes versions that were replaced some time ago and that no execution refers to.
async fn prune(tx: &Tx<'_>, project: ProjectNumber, workflow: WorkflowId, now: Timestamp) -> Result<()> {
    let old = tx
        .all(
            "select number from workflow_versions where project_id = $1 and workflow_id = $2 and replaced_at < $3 \
             and not kept",
            args![project, workflow, now.minus(KEPT)],
            |r| r.get::<i64>(0),
        )
        .await?;
    let counts = counter::beginning(tx, project, Counter::WorkflowVersion, &format!("{workflow}:")).await?;
    for number in old {
        let name = counter_name(workflow, number);
        if counts.iter().all(|(found, count)| *found != name || *count <= 0) {
            remove(tx, project, workflow, number).await?;
        }
    }
    Ok(())
}

async fn remove(tx: &Tx<'_>, project: ProjectNumber, workflow: WorkflowId, number: i64) -> Result<()> {
    // executions may be moved away from it at this moment
    let removed = tx
        .execute(
            "delete from workflow_versions where project_id = $1 and workflow_id = $2 and number = $3 and not kept",
            args![project, workflow, number],
        )
        .await?;
    if removed > 0 {
        tx.execute(
            "delete from workflow_listeners where project_id = $1 and workflow_id = $2 and number = $3",
            args![project, workflow, number],
        )
        .await?;
    }
    Ok(())
}

/// Keeps a version, because executions are moved away from it that tell of it.
pub async fn keep(tx: &Tx<'_>, project: ProjectNumber, workflow: WorkflowId, number: i64) -> Result<()> {
    tx.execute(
        "update workflow_versions set kept = $4 where project_id = $1 and workflow_id = $2 and number = $3",
        args![project, workflow, number, true],
    )
    .await?;
    Ok(())
}
