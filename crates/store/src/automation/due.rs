//! What there is to do: executions that are due, and contacts with signals.

use mailwright_core::ids::{ContactId, ProjectNumber, SignalId};
use mailwright_core::time::Timestamp;

use super::signal;
use crate::args;
use crate::database::dialect::Sql;
use crate::database::error::Result;
use crate::database::tx::Rx;
use crate::database::value::Arg;

/// The projects in which an execution is due, or a signal waits. It goes from one project to the next in the indexes, so
/// that it does not matter how many executions wait.
pub async fn projects(rx: &Rx<'_>, now: Timestamp) -> Result<Vec<ProjectNumber>> {
    let mut projects = rx
        .projects_with_work(
            Sql::Either {
whole: "with recursive waiting(project_id) as (select cast(0 as {int}) union all select \
             (select x.project_id from workflow_executions x where x.project_id > w.project_id and x.due_at is not null \
             order by x.project_id, x.bulk, x.due_at limit 1) from waiting w where w.project_id is not null) \
             select w.project_id from waiting w where w.project_id > 0 \
             and ((select x.due_at from workflow_executions x where x.project_id = w.project_id and x.bulk = $2 \
             and x.due_at is not null order by x.due_at limit 1) <= $1 \
             or (select x.due_at from workflow_executions x where x.project_id = w.project_id and x.bulk = $3 \
             and x.due_at is not null order by x.due_at limit 1) <= $1)",
divided: "select distinct project_id from workflow_executions where due_at <= $1 and bulk in ($2, $3)",
},
            args![now, false, true],
        )
        .await?;
    let told = rx
        .projects_with_work(
            Sql::Either {
                whole: "with recursive told(project_id) as (select cast(0 as {int}) union all select \
             (select s.project_id from workflow_signals s where s.project_id > t.project_id \
             order by s.project_id limit 1) from told t where t.project_id is not null) \
             select t.project_id from told t where t.project_id > 0",
                divided: "select distinct project_id from workflow_signals",
            },
            &[],
        )
        .await?;
    projects.extend(told);
    projects.sort_unstable();
    projects.dedup();
    Ok(projects)
}

/// The contacts whose executions are due, the longest due first: of those that were enrolled with many others, or of the
/// rest.
pub async fn contacts(
    rx: &Rx<'_>,
    project: ProjectNumber,
    bulk: bool,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<ContactId>> {
    rx.all(
        "select contact_id from workflow_executions where project_id = $1 and bulk = $2 and due_at <= $3 \
         order by due_at limit $4",
        args![project, bulk, now, limit],
        |r| r.get(0),
    )
    .await
}

/// How much there is of a contact for the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// The contact.
    pub contact: ContactId,
    /// Bytes of JSON of its data, its executions and the signals up to `told_to`.
    pub bytes: u64,
    /// The last signal that is told now, if there is one.
    pub told_to: Option<SignalId>,
    /// When the last one that is told now happened, if there are more: what is due after it has to wait for them.
    pub told_until: Option<Timestamp>,
}

/// How much there is of some contacts, in the order of their ids. It is known before anything of it is read.
pub async fn loads(rx: &Rx<'_>, project: ProjectNumber, contacts: &[ContactId]) -> Result<Vec<Load>> {
    rx.all(
        "select c.id, cast({json_bytes c.data} + coalesce((select sum(coalesce({json_bytes x.context}, 0) + length(x.log)) \
         from workflow_executions x where x.project_id = $1 and x.contact_id = c.id and x.completed_at is null), 0) \
         + coalesce((select sum(coalesce({json_bytes s.data}, 0) + coalesce({json_bytes s.answer}, 0)) \
         from (select t.data, t.answer from workflow_signals t where t.project_id = $1 and t.contact_id = c.id \
         order by t.id limit $3) as s), 0) as {int}), \
         (select s.id from (select t.id from workflow_signals t where t.project_id = $1 and t.contact_id = c.id \
         order by t.id limit $3) as s order by s.id desc limit 1), \
         (select max(s.created_at) from (select t.created_at from workflow_signals t where t.project_id = $1 \
         and t.contact_id = c.id order by t.id limit $3) as s where exists (select 1 from workflow_signals t \
         where t.project_id = $1 and t.contact_id = c.id order by t.id limit 1 offset $3)) \
         from contacts c where c.project_id = $1 and c.id {in $2} order by c.id",
        &[
            project.into(),
            Arg::Ids(contacts.iter().map(|id| Some((*id).into())).collect()),
            signal::AT_ONCE.into(),
        ],
        |r| {
            let bytes = u64::try_from(r.get::<i64>(1)?).unwrap_or_default();
            Ok(Load { contact: r.get(0)?, bytes, told_to: r.get(2)?, told_until: r.get(3)? })
        },
    )
    .await
}
