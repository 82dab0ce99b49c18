//! Executions that begin, as far as their contacts may.
//!
//! What a contact did in a workflow is looked up in a way that leaves PostgreSQL no other index than that of the contact:
//! without statistics, as in the first minute of a table, it would go through all executions of the project, or of the
//! workflow.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mailwright_core::activity::{Place, Source};
use mailwright_core::ids::{ContactId, ExecutionId, ProjectNumber};
use mailwright_core::rollup::Metric;
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::figures::BEGUN;
use mailwright_core::workflow::kind::{ExecutionStatus, Refused};
use mailwright_core::workflow::limits::{MAX_ACTIVE_PER_CONTACT, MAX_STARTS_PER_HOUR};

use super::execution::{Stored, contexts, lost_columns};
use super::{figures, version};
use crate::database::error::Result;
use crate::database::tx::Tx;
use crate::database::value::Arg;
use crate::insight::counter::Sums;
use crate::insight::rollup;

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
    let mut began = insert(tx, project, new).await?;
    for id in take_back_excess(tx, project, new, &began).await? {
        began.remove(&id);
    }
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
        let (at, id) = (stored.execution.id.instant(), stored.execution.id.into());
        rollup::count(sums, project, Metric::Started, at, 1);
        sums.note(project, Place { at, id, source: Source::Started });
    }
    Ok(refused)
}

async fn insert(tx: &Tx<'_>, project: ProjectNumber, new: &[Beginning]) -> Result<BTreeSet<ExecutionId>> {
    let all = || new.iter().map(|one| &one.stored.execution);
    let [until, behind] = lost_columns(new.iter().map(|one| &one.stored));
    let began = tx
        .each_returning(
            "insert into workflow_executions (project_id, id, workflow_id, contact_id, source_event_id, version, place, \
             due_at, started_at, bulk, converted, status, log, context, lost_until, behind) \
             select $13, r.id, r.workflow_id, r.contact_id, r.source_event_id, r.version, 0, r.started_at, \
             r.started_at, r.bulk, $14, $15, '[]', r.context, r.lost_until, r.behind from {rows r: id id, workflow_id id, contact_id id, \
             source_event_id id, version int, started_at int, bulk bool, reentry bool, context json, hour_ago id, lost_until int, behind int} \
             where (r.reentry or (select x.id from workflow_executions x where x.project_id = $13 \
             and x.contact_id = r.contact_id and x.workflow_id is not distinct from r.workflow_id \
             order by x.workflow_id limit 1) is null) \
             and (select count(*) from workflow_executions x where x.project_id = $13 and x.contact_id = r.contact_id \
             and x.completed_at is null) < $16 \
             and coalesce((select x.id from workflow_executions x where x.project_id = $13 \
             and x.contact_id = r.contact_id and x.workflow_id is not distinct from r.workflow_id \
             order by x.workflow_id desc, x.id desc limit 1 offset $17) < r.hour_ago, $18) \
             on conflict (project_id, contact_id, workflow_id) where completed_at is null do nothing returning id",
            &[
                Arg::Ids(all().map(|execution| Some(execution.id.into())).collect()),
                Arg::Ids(new.iter().map(|one| Some(one.stored.workflow.into())).collect()),
                Arg::Ids(all().map(|execution| Some(execution.contact.into())).collect()),
                Arg::Ids(all().map(|execution| execution.source.map(Into::into)).collect()),
                Arg::Ints(new.iter().map(|one| Some(one.stored.version)).collect()),
                Arg::Ints(all().map(|execution| Some(execution.started_at.0)).collect()),
                Arg::Bools(new.iter().map(|one| Some(one.stored.is_bulk)).collect()),
                Arg::Bools(new.iter().map(|one| Some(one.allow_reentry)).collect()),
                contexts(all()),
                Arg::Ids(all().map(|execution| Some(hour_ago(execution.started_at).into())).collect()),
                until,
                behind,
                project.into(),
                false.into(),
                ExecutionStatus::Running.as_str().into(),
                MAX_ACTIVE_PER_CONTACT.into(),
                (MAX_STARTS_PER_HOUR - 1).into(),
                true.into(),
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

/// Takes executions back that are too many for their contacts: PostgreSQL counts the others before the first of an insert.
async fn take_back_excess(
    tx: &Tx<'_>,
    project: ProjectNumber,
    new: &[Beginning],
    began: &BTreeSet<ExecutionId>,
) -> Result<Vec<ExecutionId>> {
    let mut of_contact: BTreeMap<ContactId, Vec<ExecutionId>> = BTreeMap::new();
    for execution in new.iter().map(|one| &one.stored.execution).filter(|one| began.contains(&one.id)) {
        of_contact.entry(execution.contact).or_default().push(execution.id);
    }
    of_contact.retain(|_, executions| executions.len() > 1);
    if of_contact.is_empty() {
        return Ok(Vec::new());
    }
    let counts: Vec<(ContactId, i64)> = tx
        .all(
            "select contact_id, count(*) from workflow_executions where project_id = $1 and contact_id {in $2} \
             and completed_at is null group by contact_id",
            &[project.into(), Arg::Ids(of_contact.keys().map(|id| Some((*id).into())).collect())],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )
        .await?;
    let mut excess = Vec::new();
    for (contact, count) in counts {
        let many = usize::try_from(count - MAX_ACTIVE_PER_CONTACT as i64).unwrap_or_default();
        excess.extend(of_contact.get(&contact).into_iter().flatten().rev().take(many));
    }
    remove(tx, project, &excess).await?;
    Ok(excess)
}

async fn remove(tx: &Tx<'_>, project: ProjectNumber, executions: &[ExecutionId]) -> Result<()> {
    if executions.is_empty() {
        return Ok(());
    }
    tx.execute(
        "delete from workflow_executions where project_id = $1 and id {in $2}",
        &[project.into(), Arg::Ids(executions.iter().map(|id| Some((*id).into())).collect())],
    )
    .await?;
    Ok(())
}

/// Takes executions back whose contacts went through the workflow before. Another transaction may have committed such
/// an execution after the insert had looked, and a third one may have ended it since; this look is later.
async fn take_back(tx: &Tx<'_>, project: ProjectNumber, began: &[&Beginning]) -> Result<Vec<ExecutionId>> {
    let again = tx
        .each_returning(
            "select r.id from {rows r: id id, workflow_id id, contact_id id} where (\
             select x.id from workflow_executions x where x.project_id = $4 and x.contact_id = r.contact_id \
             and x.workflow_id is not distinct from r.workflow_id and x.id <> r.id order by x.workflow_id limit 1) \
             is not null",
            &[
                Arg::Ids(began.iter().map(|one| Some(one.stored.execution.id.into())).collect()),
                Arg::Ids(began.iter().map(|one| Some(one.stored.workflow.into())).collect()),
                Arg::Ids(began.iter().map(|one| Some(one.stored.execution.contact.into())).collect()),
                project.into(),
            ],
            |r| r.get::<ExecutionId>(0),
        )
        .await?;
    remove(tx, project, &again).await?;
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
        "select r.id, r.reentry, (select x.id from workflow_executions x where x.project_id = $5 \
         and x.contact_id = r.contact_id and x.workflow_id is not distinct from r.workflow_id \
         and x.completed_at is null limit 1) is not null, (select x.id from workflow_executions x where x.project_id = $5 \
         and x.contact_id = r.contact_id and x.workflow_id is not distinct from r.workflow_id order by x.workflow_id \
         limit 1) is not null from {rows r: id id, workflow_id id, contact_id id, reentry bool}",
        &[
            Arg::Ids(refused.iter().map(|one| Some(one.stored.execution.id.into())).collect()),
            Arg::Ids(refused.iter().map(|one| Some(one.stored.workflow.into())).collect()),
            Arg::Ids(refused.iter().map(|one| Some(one.stored.execution.contact.into())).collect()),
            Arg::Bools(refused.iter().map(|one| Some(one.allow_reentry)).collect()),
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
