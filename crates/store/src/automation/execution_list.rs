//! Lists of executions.

use mailwright_core::address::EmailAddress;
use mailwright_core::ids::{ContactId, EventId, ExecutionId, ProjectNumber, WorkflowId};
use mailwright_core::workflow::kind::ExecutionStatus;

use super::execution::{COLUMNS, Stored, read};
use crate::args;
use crate::database::error::{Error, Result};
use crate::database::tx::{Row, Rx};
use crate::database::value::Arg;

/// An execution as lists show it.
#[derive(Debug, Clone)]
pub struct Listed {
    /// The execution.
    pub stored: Stored,
    /// The address of its contact.
    pub email: Option<EmailAddress>,
}

/// The place of the address behind the columns of an execution.
const EMAIL: usize = 17;

fn read_listed(row: &Row<'_>) -> Result<Listed> {
    Ok(Listed { stored: read(row)?, email: row.get(EMAIL)? })
}

/// A page of a workflow's executions, the newest first.
///
/// The index has them by status: the newest of each status are looked up in it, and the newest of all are among them.
pub async fn page(
    rx: &Rx<'_>,
    project: ProjectNumber,
    workflow: WorkflowId,
    status: Option<ExecutionStatus>,
    (offset, limit): (i64, i64),
) -> Result<Vec<Listed>> {
    let statuses = status.map_or(ExecutionStatus::ALL.to_vec(), |status| vec![status]);
    let newest = statuses.iter().map(|status| {
        format!(
            "select id from (select id from workflow_executions where project_id = $1 and workflow_id = $2 \
             and status = '{status}' order by id desc limit $3) as of_{status}"
        )
    });
    let newest = newest.collect::<Vec<_>>().join(" union all ");
    rx.all(
        format!(
            "select {COLUMNS}, c.email from workflow_executions x \
             left join contacts c on c.project_id = x.project_id and c.id = x.contact_id \
             where x.project_id = $1 and x.id in ({newest}) order by x.id desc limit $4 offset $5"
        ),
        args![project, workflow, offset + limit, limit, offset],
        read_listed,
    )
    .await
}

/// How many executions of a workflow have a status.
pub async fn count(
    rx: &Rx<'_>,
    project: ProjectNumber,
    workflow: WorkflowId,
    status: ExecutionStatus,
) -> Result<i64> {
    let found = rx
        .all(
            "select count(*) from workflow_executions where project_id = $1 and workflow_id = $2 and status = $3",
            args![project, workflow, status.as_str()],
            |r| r.get(0),
        )
        .await?;
    Ok(found.first().copied().unwrap_or(0))
}

/// The executions of a workflow that are not over, behind one in the order of their ids, as a list for `in`. It takes the
/// next of each status from the index; `more` is a further condition, and the limit is `$4`.
fn active_ids(more: &str) -> String {
    let of = |status: ExecutionStatus| {
        format!(
            "select id from (select id from workflow_executions where project_id = $1 and workflow_id = $2 \
             and status = '{status}' and id > $3 {more} order by id limit $4) as of_{status}"
        )
    };
    format!("{} union all {}", of(ExecutionStatus::Running), of(ExecutionStatus::Waiting))
}

/// The executions of a workflow that are not over, with their contacts, behind one in the order of their ids.
pub async fn active(
    rx: &Rx<'_>,
    project: ProjectNumber,
    workflow: WorkflowId,
    after: ExecutionId,
    limit: i64,
) -> Result<Vec<(ExecutionId, ContactId)>> {
    rx.all(
        format!(
            "select x.id, x.contact_id from workflow_executions x where x.project_id = $1 and x.id in ({}) \
             order by x.id limit $4",
            active_ids("")
        ),
        args![project, workflow, after, limit],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )
    .await
}

/// Whether a workflow has executions that are not over.
pub async fn has_active(rx: &Rx<'_>, project: ProjectNumber, workflow: WorkflowId) -> Result<bool> {
    rx.exists(
        "select 1 from workflow_executions where project_id = $1 and workflow_id = $2 \
         and status in ('RUNNING', 'WAITING') limit 1",
        args![project, workflow],
    )
    .await
}

/// The executions of a contact in a workflow, the newest first, with the events that began them.
pub async fn sources(
    rx: &Rx<'_>,
    project: ProjectNumber,
    workflow: WorkflowId,
    contact: ContactId,
    limit: i64,
) -> Result<Vec<(ExecutionId, Option<EventId>)>> {
    rx.all(
        "select id, source_event_id from workflow_executions where project_id = $1 and contact_id = $2 \
         and workflow_id = $3 order by id desc limit $4",
        args![project, contact, workflow, limit],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )
    .await
}

/// The executions of a contact in all workflows before `before`, the newest first.
pub async fn of_contact(
    rx: &Rx<'_>,
    project: ProjectNumber,
    contact: ContactId,
    before: Option<ExecutionId>,
    limit: usize,
) -> Result<Vec<Stored>> {
    let (mut args, mut bound): (Vec<Arg<'_>>, _) = (vec![project.into(), contact.into(), limit.into()], "");
    if let Some(before) = before {
        args.push(before.into());
        bound = "and x.id < $4";
    }
    rx.all(
        format!(
            "select {COLUMNS} from workflow_executions x where x.project_id = $1 and x.contact_id = $2 {bound} \
             order by x.id desc limit $3"
        ),
        &args,
        read,
    )
    .await
}

/// How many executions a contact has in all workflows.
pub async fn count_of_contact(rx: &Rx<'_>, project: ProjectNumber, contact: ContactId) -> Result<i64> {
    let found = rx
        .all(
            "select count(*) from workflow_executions where project_id = $1 and contact_id = $2",
            args![project, contact],
            |r| r.get(0),
        )
        .await?;
    Ok(found.first().copied().unwrap_or(0))
}

/// Some executions that run other versions.
#[derive(Debug, Clone, Default)]
pub struct OnOthers {
    /// Those that can be read.
    pub stored: Vec<Stored>,
    /// How many there are, those included that cannot be read.
    pub count: i64,
    /// The last of them.
    pub last: Option<ExecutionId>,
}

/// The next executions of a workflow that are not over and run another version than `version`, in the order of their
/// ids.
pub async fn on_other_versions(
    rx: &Rx<'_>,
    project: ProjectNumber,
    workflow: WorkflowId,
    version: i64,
    after: ExecutionId,
    limit: i64,
) -> Result<OnOthers> {
    let found = rx
        .all(
            format!(
                "select {COLUMNS} from workflow_executions x where x.project_id = $1 and x.id in ({}) \
                 order by x.id limit $4",
                active_ids("and version <> $5")
            ),
            args![project, workflow, after, limit, version],
            |row| match read(row) {
                Ok(stored) => Ok((stored.execution.id, Some(stored))),
                Err(Error::Corrupt { .. }) => Ok((row.get(3)?, None)),
                Err(error) => Err(error),
            },
        )
        .await?;
    let (count, last) = (found.len() as i64, found.last().map(|(id, _)| *id));
    Ok(OnOthers { stored: found.into_iter().filter_map(|(_, stored)| stored).collect(), count, last })
}
