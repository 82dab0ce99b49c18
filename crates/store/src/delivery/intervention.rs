//! What operators, and projects for their own mail, want done with mail that waits
//! ([`mailwright_core::intervention`]). Mail that is paused names its intervention, so that it is found when that ends.

use std::collections::BTreeSet;
use std::sync::Arc;

use mailwright_core::ids::{InterventionId, ProjectNumber};
use mailwright_core::intervention::{Intervention, InterventionKind, OPERATOR, Scope};
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::{Error, Result};
use crate::database::tx::{Row, Rx, Tx};
use crate::database::value::Arg;
use crate::sending::email::ClaimRef;

const COLUMNS: &str =
    "id, kind, project, domain, site, transport, reason, created_by, created_name, created_at, ended_at";

fn read(row: &Row<'_>) -> Result<Intervention> {
    let kind: String = row.get(1)?;
    Ok(Intervention {
        id: row.get(0)?,
        kind: InterventionKind::from_name(&kind).ok_or_else(|| Error::Corrupt {
            column: 1,
            expected: "the kind of an intervention",
            detail: format!("interventions.kind is {kind}"),
        })?,
        scope: Scope { project: row.get(2)?, domain: row.get(3)?, site: row.get(4)? },
        transport: row.get(5)?,
        reason: row.get(6)?,
        created_by: row.get(7)?,
        created_name: row.get(8)?,
        created_at: row.get(9)?,
        ended_at: row.get(10)?,
    })
}

/// What changes when an intervention is made, ended or forgotten, or when its project is reset: how many there are, and
/// a sum of their times and projects. The last time alone would hide an end that a clock noted which is behind another.
pub async fn mark(rx: &mut Rx<'_>) -> Result<(i64, i64)> {
    rx.one(
        "select count(*), cast(coalesce(sum(coalesce(ended_at, created_at) + coalesce(project, 0)), 0) as {int}) \
         from interventions",
        &[],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )
    .await
}

/// How many are in force of the operator, and of projects.
pub async fn counts(rx: &mut Rx<'_>) -> Result<(i64, i64)> {
    rx.one(
        "select coalesce(sum(case when created_by = $1 then 1 else 0 end), 0), \
         coalesce(sum(case when created_by = $1 then 0 else 1 end), 0) from interventions where ended_at is null",
        args![OPERATOR],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )
    .await
}

/// All of them, `most` at most: those that are in force before those that have ended, and of either the oldest first.
pub async fn all(rx: &mut Rx<'_>, most: i64) -> Result<Vec<Intervention>> {
    let sql = format!(
        "select {COLUMNS} from interventions order by case when ended_at is null then 0 else 1 end, id limit $1"
    );
    rx.all(sql, args![most], read).await
}

/// Those of a project that are in force, `most` at most, the oldest first.
pub async fn of_project(rx: &mut Rx<'_>, project: ProjectNumber, most: i64) -> Result<Vec<Intervention>> {
    let sql = format!(
        "select {COLUMNS} from interventions where project = $1 and ended_at is null order by id limit $2"
    );
    rx.all(sql, args![project, most], read).await
}

/// How many of a project have ended and are not forgotten yet.
pub async fn ended_of_project(rx: &mut Rx<'_>, project: ProjectNumber) -> Result<i64> {
    rx.one(
        "select count(*) from interventions where project = $1 and ended_at is not null",
        args![project],
        |r| r.get(0),
    )
    .await
}

/// One of them.
pub async fn get(rx: &mut Rx<'_>, id: InterventionId) -> Result<Option<Intervention>> {
    rx.optional(format!("select {COLUMNS} from interventions where id = $1"), args![id], read).await
}

/// One in force that does the same with the same mail, and is of the operator where the other is.
pub async fn same(rx: &mut Rx<'_>, other: &Intervention) -> Result<Option<Intervention>> {
    let Scope { project, domain, site } = &other.scope;
    let found = rx
        .all(
            format!(
                "select {COLUMNS} from interventions where ended_at is null and kind = $1 and coalesce(project, 0) = $2 \
                 and coalesce(domain, '') = $3 and coalesce(site, '') = $4 and coalesce(transport, '') = $5 order by id"
            ),
            args![
                other.kind.as_str(),
                project.map_or(0, |project| project.0),
                domain.as_deref().unwrap_or_default(),
                site.as_deref().unwrap_or_default(),
                other.transport.as_deref().unwrap_or_default(),
            ],
            read,
        )
        .await?;
    Ok(found.into_iter().find(|one| one.is_of_operator() == other.is_of_operator()))
}

/// Stores one.
pub async fn add(tx: &mut Tx<'_>, new: &Intervention) -> Result<()> {
    tx.execute_one(
        "insert into interventions (id, kind, project, domain, site, transport, reason, created_by, created_name, \
         created_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        args![
            new.id,
            new.kind.as_str(),
            new.scope.project,
            new.scope.domain.as_deref(),
            new.scope.site.as_deref(),
            new.transport.as_deref(),
            new.reason.as_deref(),
            new.created_by.as_str(),
            new.created_name.as_deref(),
            new.created_at,
        ],
    )
    .await
}

/// Notes that one is not wanted any more. False where it had ended.
pub async fn end(tx: &mut Tx<'_>, id: InterventionId, now: Timestamp) -> Result<bool> {
    let ended = tx
        .execute("update interventions set ended_at = $2 where id = $1 and ended_at is null", args![id, now])
        .await?;
    Ok(ended > 0)
}

/// Forgets one whose mail was let go.
pub async fn forget(tx: &mut Tx<'_>, id: InterventionId) -> Result<()> {
    tx.execute("delete from intervention_projects where intervention_id = $1", args![id]).await?;
    tx.execute("delete from interventions where id = $1", args![id]).await?;
    Ok(())
}

/// Takes those of a project along to the number that a reset gives it: what the operator wants holds on.
pub(crate) async fn go_on(tx: &mut Tx<'_>, old: ProjectNumber, new: ProjectNumber) -> Result<()> {
    tx.execute("update interventions set project = $2 where project = $1", args![old, new]).await?;
    Ok(())
}

/// Removes those of a project that is deleted.
pub(crate) async fn remove_all(tx: &mut Tx<'_>, project: ProjectNumber) -> Result<()> {
    tx.execute(
        "delete from intervention_projects where intervention_id in \
         (select id from interventions where project = $1)",
        args![project],
    )
    .await?;
    tx.execute("delete from interventions where project = $1", args![project]).await?;
    Ok(())
}

/// Some of those whose project is gone, `most` at most: a deletion takes its own along, but neither those that a
/// request was making meanwhile, nor those of projects that an earlier version deleted.
pub async fn of_deleted(rx: &mut Rx<'_>, most: i64) -> Result<Vec<InterventionId>> {
    rx.all(
        "select i.id from interventions i where i.project is not null and not exists \
         (select 1 from projects p where p.number = i.project and (p.retired_at is null or p.successor is not null)) \
         order by i.id limit $1",
        args![most],
        |r| r.get(0),
    )
    .await
}

/// Removes some.
pub async fn remove(tx: &mut Tx<'_>, ids: &[InterventionId]) -> Result<()> {
    let ids = [Arg::Ids(ids.iter().map(|id| Some((*id).into())).collect())];
    tx.execute("delete from intervention_projects where intervention_id {in $1}", &ids).await?;
    tx.execute("delete from interventions where id {in $1}", &ids).await?;
    Ok(())
}

/// A mail that is paused.
#[derive(Debug, Clone)]
pub struct Paused {
    /// The claim under which it was.
    pub claim: ClaimRef,
    /// What pauses it.
    pub by: InterventionId,
    /// When it is looked at again, where that has not ended before.
    pub until: Timestamp,
    /// Why it waits.
    pub why: Arc<str>,
}

/// Gives claims back without an attempt, each until a time of its own or until its intervention ends, and stores why the
/// mails wait. That they wait counts for nothing. However many interventions pause them, this is two statements.
pub async fn pause(tx: &mut Tx<'_>, mails: &[Paused], now: Timestamp) -> Result<()> {
    let of = mails.iter().map(|mail| (mail.by, mail.claim.project)).collect::<BTreeSet<_>>();
    tx.each(
        "insert into intervention_projects (intervention_id, project) select r.intervention, r.project \
         from {rows r: intervention id, project int} where true on conflict (intervention_id, project) do nothing",
        &[
            Arg::Ids(of.iter().map(|(by, _)| Some((*by).into())).collect()),
            Arg::Ints(of.iter().map(|(_, project)| Some(project.0)).collect()),
        ],
    )
    .await?;
    tx.each(
        "update emails set due_at = r.due, claim = emails.claim + 1, paused_by = r.intervention, updated_at = $7, \
         error = case when emails.recipient = '' then null else r.why end \
         from {rows r: project_id int, email_id id, claim int, due int, intervention id, why text} \
         where emails.project_id = r.project_id and emails.id = r.email_id and emails.claim = r.claim \
         and emails.due_at is not null",
        &[
            Arg::Ints(mails.iter().map(|mail| Some(mail.claim.project.0)).collect()),
            Arg::Ids(mails.iter().map(|mail| Some(mail.claim.id.into())).collect()),
            Arg::Ints(mails.iter().map(|mail| Some(mail.claim.claim)).collect()),
            Arg::Ints(mails.iter().map(|mail| Some(mail.until.0)).collect()),
            Arg::Ids(mails.iter().map(|mail| Some(mail.by.into())).collect()),
            Arg::Texts(mails.iter().map(|mail| Some((&*mail.why).into())).collect()),
            now.into(),
        ],
    )
    .await?;
    Ok(())
}

/// The projects with mail that waits for an intervention, after one of them.
pub async fn projects(
    rx: &mut Rx<'_>,
    id: InterventionId,
    after: ProjectNumber,
    most: i64,
) -> Result<Vec<ProjectNumber>> {
    rx.all(
        "select project from intervention_projects where intervention_id = $1 and project > $2 order by project limit $3",
        args![id, after, most],
        |r| r.get(0),
    )
    .await
}

/// Makes mails of a project due that wait for an intervention, `most` at most. Returns how many there were, and whether
/// none waits any more: those that another transaction holds stay. What is being handed over keeps its lease.
pub async fn let_go(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    id: InterventionId,
    most: i64,
    now: Timestamp,
) -> Result<(u64, bool)> {
    let count = tx
        .execute(
            "with picked as (select id from emails where project_id = $1 and paused_by = $2 and due_at is not null \
             order by id limit $3 {skip_locked}) \
             update emails set paused_by = null, \
             due_at = case when due_at > $4 and status = 'PENDING' then $4 else due_at end \
             where project_id = $1 and id in (select id from picked)",
            args![project, id, most, now],
        )
        .await?;
    let is_all = count < most as u64 && waiting(tx, project, id, 1).await? == 0;
    Ok((count, is_all))
}

/// How many mails of a project wait for an intervention, counted up to `most`.
pub async fn waiting(rx: &mut Rx<'_>, project: ProjectNumber, id: InterventionId, most: i64) -> Result<i64> {
    rx.one(
        "select count(*) from (select 1 from emails where project_id = $1 and paused_by = $2 and due_at is not null \
         limit $3) counted",
        args![project, id, most],
        |r| r.get(0),
    )
    .await
}

#[cfg(test)]
#[path = "intervention_tests.rs"]
mod tests;
