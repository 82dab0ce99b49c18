//! Removing executions: those of a contact that is removed, and those of a workflow that was.

use mailwright_core::ids::{ContactId, EventId, ExecutionId, ProjectNumber, WorkflowId};
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::figures::{Figure, changes};
use mailwright_core::workflow::lifecycle::cancel;

use super::execution::{COLUMNS, COMPLETED_AT, Stored, read};
use super::{figures, request, version};
use crate::args;
use crate::database::error::{Error, Result};
use crate::database::tx::Tx;
use crate::database::value::Arg;
use crate::insight::counter::{self, Counter};
use crate::insight::deltas::Deltas;

/// How many records of each kind went with a contact.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Removed {
    pub(crate) executions: usize,
    pub(crate) signals: usize,
    pub(crate) refusals: usize,
}

impl Removed {
    /// The greatest of the numbers.
    pub(crate) fn most(self) -> usize {
        self.executions.max(self.signals).max(self.refusals)
    }
}

/// Removes executions, signals and refusals of a contact, at most so many of each. The caller holds the contact's row, or
/// the contact is gone.
pub(crate) async fn contact(
    tx: &Tx<'_>,
    project: ProjectNumber,
    id: ContactId,
    chunk: i64,
    deltas: &mut Deltas,
) -> Result<Removed> {
    let executions: Vec<ExecutionId> = tx
        .all(
            "select id from workflow_executions where project_id = $1 and contact_id = $2 limit $3",
            args![project, id, chunk],
            |r| r.get(0),
        )
        .await?;
    remove(tx, project, &executions, deltas).await?;
    let signals = tx
        .execute(
            "delete from workflow_signals where project_id = $1 and id in (select id from workflow_signals \
             where project_id = $1 and contact_id = $2 limit $3)",
            args![project, id, chunk],
        )
        .await?;
    let refusals = tx
        .all(
            "delete from workflow_refusals where project_id = $1 and event_id in (select event_id \
             from workflow_refusals where project_id = $1 and contact_id = $2 limit $3) returning event_id",
            args![project, id, chunk],
            |r| r.get::<EventId>(0),
        )
        .await?;
    Ok(Removed { executions: executions.len(), signals: signals as usize, refusals: refusals.len() })
}

/// Removes signals and executions of those of some contacts that do not exist, at most so many executions: an answer may
/// come after its contact is gone.
pub async fn missing_contacts(
    tx: &Tx<'_>,
    project: ProjectNumber,
    contacts: &[ContactId],
    deltas: &mut Deltas,
) -> Result<()> {
    const AT_ONCE: i64 = 500;
    let set = || Arg::Ids(contacts.iter().map(|id| Some((*id).into())).collect());
    let is_missing = "not exists (select 1 from contacts c where c.project_id = $1 and c.id = m.contact_id)";
    tx.execute(
        format!("delete from workflow_signals as m where project_id = $1 and contact_id {{in $2}} and {is_missing}"),
        &[project.into(), set()],
    )
    .await?;
    let executions: Vec<ExecutionId> = tx
        .all(
            format!(
                "select m.id from workflow_executions m where m.project_id = $1 and m.contact_id {{in $2}} \
                 and {is_missing} limit $3"
            ),
            &[project.into(), set(), AT_ONCE.into()],
            |r| r.get(0),
        )
        .await?;
    remove(tx, project, &executions, deltas).await
}

/// An execution that is removed.
enum Gone {
    Read(Box<Stored>),
    Unreadable {
        /// Whether it is not over.
        is_active: bool,
    },
}

/// Removes executions with all that belongs to them. What happened stays counted.
pub(crate) async fn remove(
    tx: &Tx<'_>,
    project: ProjectNumber,
    ids: &[ExecutionId],
    deltas: &mut Deltas,
) -> Result<()> {
    if ids.is_empty() {
        return Ok(());
    }
    let set = || Arg::Ids(ids.iter().map(|id| Some((*id).into())).collect());
    let gone = tx
        .all(
            format!("select {COLUMNS} from workflow_executions x where x.project_id = $1 and x.id {{in $2}}"),
            &[project.into(), set()],
            |row| match read(row) {
                Ok(stored) => Ok((stored.workflow, stored.version, Gone::Read(Box::new(stored)))),
                Err(Error::Corrupt { .. }) => {
                    let is_active = row.get::<Option<Timestamp>>(COMPLETED_AT)?.is_none();
                    Ok((row.get(0)?, row.get(1)?, Gone::Unreadable { is_active }))
                }
                Err(error) => Err(error),
            },
        )
        .await?;
    for (workflow, number, gone) in &gone {
        forget_figures(tx, project, (*workflow, *number), gone, deltas).await?;
    }
    request::forget(tx, project, ids).await?;
    tx.execute(
        "delete from workflow_outputs where project_id = $1 and execution_id {in $2}",
        &[project.into(), set()],
    )
    .await?;
    tx.execute(
        "delete from workflow_executions where project_id = $1 and id {in $2}",
        &[project.into(), set()],
    )
    .await?;
    Ok(())
}

/// Counts an execution that is under way as cancelled. What happened stays counted.
async fn forget_figures(
    tx: &Tx<'_>,
    project: ProjectNumber,
    (workflow, number): (WorkflowId, i64),
    gone: &Gone,
    deltas: &mut Deltas,
) -> Result<()> {
    version::count(deltas.sums(), project, workflow, number, -1);
    let before = match gone {
        Gone::Read(stored) => &stored.execution,
        Gone::Unreadable { is_active } => {
            if *is_active {
                let ended = [(None, Figure::Waiting, -1), (None, Figure::Cancelled, 1)];
                figures::add(deltas.sums(), project, workflow, &ended);
            }
            return Ok(());
        }
    };
    if before.status.is_active()
        && let Some(compiled) = version::compiled(tx, project, workflow, number).await?
    {
        let mut ended = before.clone();
        cancel(&mut ended, "removed", before.started_at);
        figures::add(deltas.sums(), project, workflow, &changes(&compiled.version, before, &ended));
    }
    Ok(())
}

/// Removes what is left of a removed workflow, some of it at a time; whether there may be more. Nothing else refers to a
/// workflow that is gone.
pub async fn removed_workflow(tx: &Tx<'_>, project: ProjectNumber) -> Result<bool> {
    const AT_ONCE: i64 = 500;
    let found = tx
        .all(
            "select workflow_id from workflow_versions where project_id = $1 and replaced_at = 0 limit 1",
            args![project],
            |r| r.get::<WorkflowId>(0),
        )
        .await?;
    let Some(workflow) = found.first().copied() else { return Ok(false) };
    let executions: Vec<ExecutionId> = tx
        .all(
            "select id from workflow_executions where project_id = $1 and workflow_id = $2 limit $3",
            args![project, workflow, AT_ONCE],
            |r| r.get(0),
        )
        .await?;
    if !executions.is_empty() {
        let mut unused = Deltas::default();
        remove(tx, project, &executions, &mut unused).await?;
        return Ok(true);
    }
    for counter in [Counter::Workflow, Counter::WorkflowVersion] {
        let prefix = format!("{workflow}:");
        counter::forget_all(tx, project, counter, &prefix).await?;
    }
    for table in ["workflow_versions", "workflow_listeners"] {
        let sql = format!("delete from {table} where project_id = $1 and workflow_id = $2");
        tx.execute(sql, args![project, workflow]).await?;
    }
    Ok(true)
}
