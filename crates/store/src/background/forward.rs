//! Bringing forward what was stored while the clock was ahead, and would wait until the clock is there again. Mails and
//! campaigns have functions of their own.

use mailwright_core::ids::ProjectNumber;
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};

/// The latest that the next look at something is ever put off to. What waits for longer was stored by a wrong clock.
#[derive(Debug, Clone, Copy)]
pub struct Latest {
    /// Jobs.
    pub jobs: Timestamp,
    /// The look-ups of sender domains.
    pub domains: Timestamp,
    /// The counts of segments.
    pub segments: Timestamp,
    /// Requests of workflows.
    pub requests: Timestamp,
}

/// Whether something of a project waits for longer.
pub async fn waits(rx: &mut Rx<'_>, project: ProjectNumber, latest: Latest) -> Result<bool> {
    rx.exists(
        "select 1 where exists (select 1 from jobs where project_id = $1 and due_at > $2) \
         or exists (select 1 from domains where project_id = $1 and check_at > $3) \
         or exists (select 1 from segments where project_id = $1 and due_at > $4) \
         or exists (select 1 from workflow_requests where project_id = $1 and due_at > $5)",
        args![project, latest.jobs, latest.domains, latest.segments, latest.requests],
    )
    .await
}

/// Makes it due now.
pub async fn bring_forward(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    now: Timestamp,
    latest: Latest,
) -> Result<()> {
    tx.execute(
        "update jobs set due_at = $2 where project_id = $1 and due_at > $3",
        args![project, now, latest.jobs],
    )
    .await?;
    tx.execute(
        "update domains set check_at = $2 where project_id = $1 and check_at > $3",
        args![project, now, latest.domains],
    )
    .await?;
    tx.execute(
        "update segments set due_at = $2 where project_id = $1 and due_at > $3",
        args![project, now, latest.segments],
    )
    .await?;
    tx.execute(
        "update workflow_requests set due_at = $2 where project_id = $1 and due_at > $3",
        args![project, now, latest.requests],
    )
    .await?;
    Ok(())
}
