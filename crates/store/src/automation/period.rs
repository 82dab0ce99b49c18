//! When workflows were enabled, and with which event.

use mailwright_core::ids::{ProjectNumber, WorkflowId};
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};

/// The most periods of a workflow that are kept.
const MOST: i64 = 100;

/// A time in which a workflow was enabled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Period {
    /// When it began.
    pub began_at: Timestamp,
    /// When it ended; `None` if it lasts.
    pub ended_at: Option<Timestamp>,
    /// The event that began executions; `None` if none did.
    pub event: Option<String>,
}

/// The periods of a workflow, the oldest first.
pub async fn of_workflow(rx: &Rx<'_>, project: ProjectNumber, workflow: WorkflowId) -> Result<Vec<Period>> {
    rx.all(
        "select began_at, ended_at, event from workflow_periods where project_id = $1 and workflow_id = $2 \
         order by began_at limit $3",
        args![project, workflow, MOST],
        |r| Ok(Period { began_at: r.get(0)?, ended_at: r.get(1)?, event: r.get(2)? }),
    )
    .await
}

/// Ends the period that lasts, and begins another one if the workflow is enabled.
pub async fn change(
    tx: &Tx<'_>,
    project: ProjectNumber,
    workflow: WorkflowId,
    next: Option<Option<&str>>,
    now: Timestamp,
) -> Result<()> {
    tx.execute(
        "update workflow_periods set ended_at = $3 where project_id = $1 and workflow_id = $2 and ended_at is null",
        args![project, workflow, now],
    )
    .await?;
    let Some(event) = next else { return Ok(()) };
    tx.execute(
        "insert into workflow_periods (project_id, workflow_id, began_at, ended_at, event) \
         values ($1, $2, $3, null, $4) on conflict (project_id, workflow_id, began_at) \
         do update set ended_at = null, event = excluded.event",
        args![project, workflow, now, event],
    )
    .await?;
    tx.execute(
        "delete from workflow_periods where project_id = $1 and workflow_id = $2 and began_at in \
         (select began_at from workflow_periods where project_id = $1 and workflow_id = $2 order by began_at desc \
         limit $4 offset $3)",
        args![project, workflow, MOST, MOST],
    )
    .await?;
    Ok(())
}
