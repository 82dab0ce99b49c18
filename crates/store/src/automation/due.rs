//! What there is to do: executions that are due, and contacts with signals.

use mailwright_core::ids::{ContactId, ProjectNumber};
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::Rx;

/// The projects in which an execution is due, or a signal waits. It goes from one project to the next in the indexes, so
/// that it does not matter how many executions wait.
pub async fn projects(rx: &Rx<'_>, now: Timestamp) -> Result<Vec<ProjectNumber>> {
    let mut projects = rx
        .all(
            "with recursive waiting(project_id) as (select cast(0 as {int}) union all select \
             (select x.project_id from workflow_executions x where x.project_id > w.project_id and x.due_at is not null \
             order by x.project_id, x.bulk, x.due_at limit 1) from waiting w where w.project_id is not null) \
             select w.project_id from waiting w where w.project_id > 0 \
             and ((select x.due_at from workflow_executions x where x.project_id = w.project_id and x.bulk = $2 \
             and x.due_at is not null order by x.due_at limit 1) <= $1 \
             or (select x.due_at from workflow_executions x where x.project_id = w.project_id and x.bulk = $3 \
             and x.due_at is not null order by x.due_at limit 1) <= $1)",
            args![now, false, true],
            |r| r.get::<ProjectNumber>(0),
        )
        .await?;
    let told = rx
        .all(
            "with recursive told(project_id) as (select cast(0 as {int}) union all select \
             (select s.project_id from workflow_signals s where s.project_id > t.project_id \
             order by s.project_id limit 1) from told t where t.project_id is not null) \
             select t.project_id from told t where t.project_id > 0",
            &[],
            |r| r.get::<ProjectNumber>(0),
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
