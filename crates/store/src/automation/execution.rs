//! Executions: the ways of contacts through workflows.

use std::collections::BTreeMap;
use std::time::Duration;

use mailwright_core::activity::{Place, Source};
use mailwright_core::custom_data::Data;
use mailwright_core::ids::{ContactId, ExecutionId, ProjectNumber, WorkflowId};
use mailwright_core::lost::Lost;
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::execution::Execution;
use mailwright_core::workflow::figures::Figure;
use mailwright_core::workflow::kind::ExecutionStatus;
use serde_json::Value as Json;

use super::log::{self, Apart};
use super::{figures, request};
use crate::args;
use crate::database::error::{Error, Result};
use crate::database::tx::{Row, Rx, Tx};
use crate::database::value::{Arg, json_text};
use crate::insight::counter::Sums;

/// An execution as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    /// The workflow.
    pub workflow: WorkflowId,
    /// The version that it runs.
    pub version: i64,
    /// Whether it was enrolled with many others.
    pub is_bulk: bool,
    /// The mark of one that may have taken steps in a stretch that a restore lost.
    pub lost: Option<Lost>,
    /// The execution.
    pub execution: Execution,
}

pub(super) const COLUMNS: &str = "x.workflow_id, x.version, x.bulk, x.id, x.contact_id, x.status, x.place, x.due_at, \
     x.converted, x.source_event_id, {json_out x.context}, x.log, x.exit_reason, x.started_at, x.completed_at, \
     x.lost_until, x.behind";

/// The place of `completed_at` among the columns.
pub(super) const COMPLETED_AT: usize = 14;

pub(super) fn read(row: &Row<'_>) -> Result<Stored> {
    let (workflow, id, contact): (WorkflowId, ExecutionId, ContactId) =
        (row.get(0)?, row.get(3)?, row.get(4)?);
    let started_at = row.get(13)?;
    let text: String = row.get(11)?;
    let corrupt = || Error::Corrupt {
        column: 11,
        expected: "workflow_executions.log",
        detail: format!("the log of execution {id} cannot be read"),
    };
    Ok(Stored {
        workflow,
        version: row.get(1)?,
        is_bulk: row.get(2)?,
        lost: read_lost(row)?,
        execution: Execution {
            id,
            contact,
            seed: Execution::seed(workflow, contact),
            status: row.named(5, "workflow_executions.status", ExecutionStatus::from_name)?,
            current: row.get::<Option<i64>>(6)?.and_then(|place| usize::try_from(place).ok()),
            due_at: row.get(7)?,
            is_converted: row.get(8)?,
            source: row.get(9)?,
            context: row.get::<Option<Data>>(10)?.unwrap_or_default(),
            log: log::read(&text, started_at).ok_or_else(corrupt)?,
            exit_reason: row.get(12)?,
            started_at,
            completed_at: row.get(COMPLETED_AT)?,
        },
    })
}

fn read_lost(row: &Row<'_>) -> Result<Option<Lost>> {
    let (until, behind) =
        (row.get::<Option<Timestamp>>(COMPLETED_AT + 1)?, row.get::<Option<i64>>(COMPLETED_AT + 2)?);
    let behind = Duration::from_millis(u64::try_from(behind.unwrap_or_default()).unwrap_or_default());
    Ok(until.map(|until| Lost { until, behind }))
}

/// The columns of a mark.
pub(super) fn lost_columns<'s>(all: impl Iterator<Item = &'s Stored> + Clone) -> [Arg<'static>; 2] {
    let until = all.clone().map(|stored| stored.lost.map(|lost| lost.until.0)).collect();
    let behind = all.map(|stored| stored.lost.map(|lost| lost.behind.as_millis() as i64)).collect();
    [Arg::Ints(until), Arg::Ints(behind)]
}

/// The executions of some contacts that are not over, in no order. One that cannot be read comes with its id alone.
pub async fn active_of(
    tx: &Tx<'_>,
    project: ProjectNumber,
    contacts: &[ContactId],
) -> Result<Vec<Result<Stored, ExecutionId>>> {
    let contacts = Arg::Ids(contacts.iter().map(|id| Some((*id).into())).collect());
    tx.all(active(""), &[project.into(), contacts], |row| match read(row) {
        Ok(stored) => Ok(Ok(stored)),
        Err(Error::Corrupt { .. }) => Ok(Err(row.get(3)?)),
        Err(error) => Err(error),
    })
    .await
}

/// The same in one workflow, without those that cannot be read.
pub async fn active_in(
    tx: &Tx<'_>,
    project: ProjectNumber,
    workflow: WorkflowId,
    contacts: &[ContactId],
) -> Result<Vec<Stored>> {
    let contacts = Arg::Ids(contacts.iter().map(|id| Some((*id).into())).collect());
    let found =
        tx.all(active("and x.workflow_id = $3"), &[project.into(), contacts, workflow.into()], |row| {
            match read(row) {
                Ok(stored) => Ok(Some(stored)),
                Err(Error::Corrupt { .. }) => Ok(None),
                Err(error) => Err(error),
            }
        })
        .await?;
    Ok(found.into_iter().flatten().collect())
}

/// Without an order: for that of the ids SQLite goes through all executions of the project.
fn active(which: &str) -> String {
    format!(
        "select {COLUMNS} from workflow_executions x where x.project_id = $1 and x.contact_id {{in $2}} {which} \
         and x.completed_at is null {{for_update}}"
    )
}

/// Stores executions that changed. Those that have ended, did so now.
pub async fn save(tx: &Tx<'_>, project: ProjectNumber, changed: &[Stored], sums: &mut Sums) -> Result<()> {
    for Stored { execution, .. } in changed {
        if let Some(at) = execution.completed_at {
            sums.note(project, Place { at, id: execution.id.into(), source: Source::Completed });
        }
    }
    let mut outputs: Vec<Apart> = Vec::new();
    let mut logs = Vec::with_capacity(changed.len());
    for Stored { execution, .. } in changed {
        let (text, apart) = log::write(execution.id, execution.started_at, &execution.log);
        logs.push(Some(text.into()));
        outputs.extend(apart);
    }
    let [until, behind] = lost_columns(changed.iter());
    let ints = |value: &dyn Fn(&Execution) -> Option<i64>| {
        Arg::Ints(changed.iter().map(|stored| value(&stored.execution)).collect())
    };
    tx.each(
        "update workflow_executions set status = r.status, place = r.place, due_at = r.due_at, \
         converted = r.converted, context = r.context, log = r.log, exit_reason = r.exit_reason, \
         completed_at = r.completed_at, version = r.version, lost_until = r.lost_until, behind = r.behind \
         from {rows r: project_id int, execution_id id, status text, place int, due_at int, converted bool, \
         context json, log text, exit_reason text, completed_at int, version int, lost_until int, behind int} \
         where workflow_executions.project_id = r.project_id and workflow_executions.id = r.execution_id",
        &[
            Arg::Ints(vec![Some(project.0); changed.len()]),
            Arg::Ids(changed.iter().map(|stored| Some(stored.execution.id.into())).collect()),
            Arg::Texts(changed.iter().map(|stored| Some(stored.execution.status.as_str().into())).collect()),
            ints(&|execution| execution.current.map(|place| place as i64)),
            ints(&|execution| execution.due_at.map(|at| at.0)),
            Arg::Bools(changed.iter().map(|stored| Some(stored.execution.is_converted)).collect()),
            contexts(changed.iter().map(|stored| &stored.execution)),
            Arg::Texts(logs),
            Arg::Texts(changed.iter().map(|s| s.execution.exit_reason.as_deref().map(Into::into)).collect()),
            ints(&|execution| execution.completed_at.map(|at| at.0)),
            Arg::Ints(changed.iter().map(|stored| Some(stored.version)).collect()),
            until,
            behind,
        ],
    )
    .await?;
    save_outputs(tx, project, &outputs).await
}

/// Ends an execution whose row cannot be read. Its log stays as it is, so that the figures of its step do.
pub async fn give_up_unreadable(
    tx: &Tx<'_>,
    project: ProjectNumber,
    id: ExecutionId,
    sums: &mut Sums,
    now: Timestamp,
) -> Result<()> {
    let of = tx
        .all(
            "update workflow_executions set status = $3, completed_at = $4, due_at = null, exit_reason = $5 \
             where project_id = $1 and id = $2 returning workflow_id",
            args![project, id, ExecutionStatus::Failed.as_str(), now, "The execution cannot be read."],
            |r| r.get::<WorkflowId>(0),
        )
        .await?;
    request::forget(tx, project, &[id]).await?;
    for workflow in of {
        sums.note(project, Place { at: now, id: id.into(), source: Source::Completed });
        figures::add(sums, project, workflow, &[(None, Figure::Waiting, -1), (None, Figure::Failed, 1)]);
    }
    Ok(())
}

/// A context that is empty is not stored.
pub(super) fn contexts<'e>(executions: impl Iterator<Item = &'e Execution>) -> Arg<'static> {
    let text = |data: &Data| (!data.is_empty()).then(|| json_text(data).into());
    Arg::Jsons(executions.map(|execution| text(&execution.context)).collect())
}

async fn save_outputs(tx: &Tx<'_>, project: ProjectNumber, outputs: &[Apart]) -> Result<()> {
    tx.each(
        "insert into workflow_outputs (project_id, execution_id, entry, output) \
         select r.project_id, r.execution_id, r.entry, r.output \
         from {rows r: project_id int, execution_id id, entry int, output json} where true \
         on conflict (project_id, execution_id, entry) do update set output = excluded.output",
        &[
            Arg::Ints(vec![Some(project.0); outputs.len()]),
            Arg::Ids(outputs.iter().map(|apart| Some(apart.execution.into())).collect()),
            Arg::Ints(outputs.iter().map(|apart| Some(apart.entry as i64)).collect()),
            Arg::Jsons(outputs.iter().map(|apart| Some(apart.output.to_string().into())).collect()),
        ],
    )
    .await?;
    Ok(())
}

/// One execution.
pub async fn get(
    rx: &Rx<'_>,
    project: ProjectNumber,
    workflow: WorkflowId,
    id: ExecutionId,
) -> Result<Option<Stored>> {
    one(rx, project, workflow, id, "").await
}

/// One execution, which nobody else changes before the transaction ends. The caller holds the contact's row.
pub async fn get_for_update(
    tx: &Tx<'_>,
    project: ProjectNumber,
    workflow: WorkflowId,
    id: ExecutionId,
) -> Result<Option<Stored>> {
    one(tx, project, workflow, id, "{for_update}").await
}

async fn one(
    rx: &Rx<'_>,
    project: ProjectNumber,
    workflow: WorkflowId,
    id: ExecutionId,
    lock: &str,
) -> Result<Option<Stored>> {
    let sql = format!(
        "select {COLUMNS} from workflow_executions x where x.project_id = $1 and x.workflow_id = $2 and x.id = $3 {lock}"
    );
    Ok(rx.all(sql, args![project, workflow, id], read).await?.pop())
}

/// The outputs of an execution that are stored apart from its log, by their places in the log.
pub async fn outputs(rx: &Rx<'_>, project: ProjectNumber, id: ExecutionId) -> Result<BTreeMap<usize, Json>> {
    let rows = rx
        .all(
            "select entry, {json_out output} from workflow_outputs where project_id = $1 and execution_id = $2",
            args![project, id],
            |r| Ok((r.get::<i64>(0)?, r.get::<Json>(1)?)),
        )
        .await?;
    Ok(rows.into_iter().filter_map(|(entry, output)| Some((usize::try_from(entry).ok()?, output))).collect())
}
