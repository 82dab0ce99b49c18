//! Executions: the ways of contacts through workflows.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mailwright_core::custom_data::Data;
use mailwright_core::ids::{ContactId, ExecutionId, ProjectNumber, WorkflowId};
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::execution::Execution;
use mailwright_core::workflow::figures::{BEGUN, Figure};
use mailwright_core::workflow::kind::{ExecutionStatus, Refused};
use mailwright_core::workflow::limits::{MAX_ACTIVE_PER_CONTACT, MAX_STARTS_PER_HOUR};
use serde_json::Value as Json;

use super::log::{self, Apart};
use super::{figures, version};
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
    /// The execution.
    pub execution: Execution,
}

pub(super) const COLUMNS: &str = "x.workflow_id, x.version, x.bulk, x.id, x.contact_id, x.status, x.place, x.due_at, \
     x.converted, x.source_event_id, {json_out x.context}, x.log, x.exit_reason, x.started_at, x.completed_at";

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
            completed_at: row.get(14)?,
        },
    })
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

/// Stores executions that changed.
pub async fn save(tx: &Tx<'_>, project: ProjectNumber, changed: &[Stored]) -> Result<()> {
    let mut outputs: Vec<Apart> = Vec::new();
    let mut logs = Vec::with_capacity(changed.len());
    for Stored { execution, .. } in changed {
        let (text, apart) = log::write(execution.id, execution.started_at, &execution.log);
        logs.push(Some(text.into()));
        outputs.extend(apart);
    }
    let ints = |value: &dyn Fn(&Execution) -> Option<i64>| {
        Arg::Ints(changed.iter().map(|stored| value(&stored.execution)).collect())
    };
    tx.each(
        "update workflow_executions set status = r.status, place = r.place, due_at = r.due_at, \
         converted = r.converted, context = r.context, log = r.log, exit_reason = r.exit_reason, \
         completed_at = r.completed_at, version = r.version \
         from {rows r: project_id int, execution_id id, status text, place int, due_at int, converted bool, \
         context json, log text, exit_reason text, completed_at int, version int} \
         where workflow_executions.project_id = r.project_id and workflow_executions.id = r.execution_id",
        &[
            Arg::Ints(vec![Some(project.0); changed.len()]),
            Arg::Ids(changed.iter().map(|stored| Some(stored.execution.id.into())).collect()),
            Arg::Texts(changed.iter().map(|stored| Some(stored.execution.status.as_str().into())).collect()),
            ints(&|execution| execution.current.map(|place| place as i64)),
            ints(&|execution| execution.due_at.map(|at| at.0)),
            Arg::Bools(changed.iter().map(|stored| stored.execution.is_converted).collect()),
            contexts(changed.iter().map(|stored| &stored.execution)),
            Arg::Texts(logs),
            Arg::Texts(changed.iter().map(|s| s.execution.exit_reason.as_deref().map(Into::into)).collect()),
            ints(&|execution| execution.completed_at.map(|at| at.0)),
            Arg::Ints(changed.iter().map(|stored| Some(stored.version)).collect()),
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
    for workflow in of {
        figures::add(sums, project, workflow, &[(None, Figure::Waiting, -1), (None, Figure::Failed, 1)]);
    }
    Ok(())
}

/// A context that is empty is not stored.
fn contexts<'e>(executions: impl Iterator<Item = &'e Execution>) -> Arg<'static> {
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

/// An execution to begin.
#[derive(Debug, Clone)]
pub struct Beginning {
    /// The execution, which has done nothing yet.
    pub stored: Stored,
    /// Whether the contact may go through the workflow again.
    pub allow_reentry: bool,
}

/// Begins executions, as far as each contact may. Returns why the others did not, by their ids.
pub async fn begin(
    tx: &Tx<'_>,
    project: ProjectNumber,
    new: &[Beginning],
    sums: &mut Sums,
) -> Result<BTreeMap<ExecutionId, Refused>> {
    let began = insert(tx, project, new).await?;
    let again: Vec<&Beginning> =
        new.iter().filter(|one| began.contains(&one.stored.execution.id) && !one.allow_reentry).collect();
    let (again, refused) = (
        take_back(tx, project, &again).await?,
        why(tx, project, new.iter().filter(|one| !began.contains(&one.stored.execution.id))).await?,
    );
    let mut refused: BTreeMap<ExecutionId, Refused> = refused.into_iter().collect();
    refused.extend(again.into_iter().map(|id| (id, Refused::Reentry)));
    for Beginning { stored, .. } in new.iter().filter(|one| !refused.contains_key(&one.stored.execution.id)) {
        version::count(sums, project, stored.workflow, stored.version, 1);
        figures::add(sums, project, stored.workflow, &BEGUN);
    }
    Ok(refused)
}

async fn insert(tx: &Tx<'_>, project: ProjectNumber, new: &[Beginning]) -> Result<BTreeSet<ExecutionId>> {
    let all = || new.iter().map(|one| &one.stored.execution);
    let began = tx
        .each_returning(
            "insert into workflow_executions (project_id, id, workflow_id, contact_id, source_event_id, version, place, \
             due_at, started_at, bulk, converted, status, log, context) \
             select $11, r.id, r.workflow_id, r.contact_id, r.source_event_id, r.version, 0, r.started_at, \
             r.started_at, r.bulk, $12, $13, '[]', r.context from {rows r: id id, workflow_id id, contact_id id, \
             source_event_id id, version int, started_at int, bulk bool, reentry bool, context json, hour_ago id} \
             where (r.reentry or not exists (select 1 from workflow_executions x where x.project_id = $11 \
             and x.contact_id = r.contact_id and x.workflow_id = r.workflow_id)) \
             and (select count(*) from workflow_executions x where x.project_id = $11 and x.contact_id = r.contact_id \
             and x.completed_at is null) < $14 \
             and (select count(*) from (select 1 from workflow_executions x where x.project_id = $11 \
             and x.contact_id = r.contact_id and x.workflow_id = r.workflow_id and x.id >= r.hour_ago limit $15) as \
             recent) < $15 \
             on conflict (project_id, contact_id, workflow_id) where completed_at is null do nothing returning id",
            &[
                Arg::Ids(all().map(|execution| Some(execution.id.into())).collect()),
                Arg::Ids(new.iter().map(|one| Some(one.stored.workflow.into())).collect()),
                Arg::Ids(all().map(|execution| Some(execution.contact.into())).collect()),
                Arg::Ids(all().map(|execution| execution.source.map(Into::into)).collect()),
                Arg::Ints(new.iter().map(|one| Some(one.stored.version)).collect()),
                Arg::Ints(all().map(|execution| Some(execution.started_at.0)).collect()),
                Arg::Bools(new.iter().map(|one| one.stored.is_bulk).collect()),
                Arg::Bools(new.iter().map(|one| one.allow_reentry).collect()),
                contexts(all()),
                Arg::Ids(all().map(|execution| Some(hour_ago(execution.started_at).into())).collect()),
                project.into(),
                false.into(),
                ExecutionStatus::Running.as_str().into(),
                MAX_ACTIVE_PER_CONTACT.into(),
                MAX_STARTS_PER_HOUR.into(),
            ],
            |r| r.get::<ExecutionId>(0),
        )
        .await?;
    Ok(began.into_iter().collect())
}

/// Before all ids of the hour before an instant.
fn hour_ago(now: Timestamp) -> ExecutionId {
    ExecutionId::first_of(now.minus(Duration::from_hours(1)))
}

/// Takes executions back whose contacts went through the workflow before. Another transaction may have committed such
/// an execution after the insert had looked, and a third one may have ended it since; this look is later.
async fn take_back(tx: &Tx<'_>, project: ProjectNumber, began: &[&Beginning]) -> Result<Vec<ExecutionId>> {
    let again = tx
        .each_returning(
            "select r.id from {rows r: id id, workflow_id id, contact_id id} where exists (\
             select 1 from workflow_executions x where x.project_id = $4 and x.contact_id = r.contact_id \
             and x.workflow_id = r.workflow_id and x.id <> r.id)",
            &[
                Arg::Ids(began.iter().map(|one| Some(one.stored.execution.id.into())).collect()),
                Arg::Ids(began.iter().map(|one| Some(one.stored.workflow.into())).collect()),
                Arg::Ids(began.iter().map(|one| Some(one.stored.execution.contact.into())).collect()),
                project.into(),
            ],
            |r| r.get::<ExecutionId>(0),
        )
        .await?;
    if !again.is_empty() {
        tx.execute(
            "delete from workflow_executions where project_id = $1 and id {in $2}",
            &[project.into(), Arg::Ids(again.iter().map(|id| Some((*id).into())).collect())],
        )
        .await?;
    }
    Ok(again)
}

/// Why executions did not begin.
async fn why(
    tx: &Tx<'_>,
    project: ProjectNumber,
    refused: impl Iterator<Item = &Beginning>,
) -> Result<Vec<(ExecutionId, Refused)>> {
    let refused: Vec<&Beginning> = refused.collect();
    tx.each_returning(
        "select r.id, r.reentry, exists (select 1 from workflow_executions x where x.project_id = $5 \
         and x.contact_id = r.contact_id and x.workflow_id = r.workflow_id and x.completed_at is null), \
         exists (select 1 from workflow_executions x where x.project_id = $5 and x.contact_id = r.contact_id \
         and x.workflow_id = r.workflow_id) from {rows r: id id, workflow_id id, contact_id id, reentry bool}",
        &[
            Arg::Ids(refused.iter().map(|one| Some(one.stored.execution.id.into())).collect()),
            Arg::Ids(refused.iter().map(|one| Some(one.stored.workflow.into())).collect()),
            Arg::Ids(refused.iter().map(|one| Some(one.stored.execution.contact.into())).collect()),
            Arg::Bools(refused.iter().map(|one| one.allow_reentry).collect()),
            project.into(),
        ],
        |r| {
            let (may_again, is_active, went): (bool, bool, bool) = (r.get(1)?, r.get(2)?, r.get(3)?);
            let why = match (is_active, went && !may_again) {
                (true, _) => Refused::Active,
                (false, true) => Refused::Reentry,
                (false, false) => Refused::TooMany,
            };
            Ok((r.get(0)?, why))
        },
    )
    .await
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
