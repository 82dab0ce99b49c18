//! The mails that wait to be handed over.

use std::time::Duration;

use mailwright_core::email::Lane;
use mailwright_core::ids::ProjectNumber;
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::dialect::Sql;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::project;

/// Mail that is due within this time is left as it is when a site is resumed: it leaves soon, or is claimed by now.
pub const SOON: Duration = Duration::from_mins(5);

/// The projects that may send and have a mail due in a lane. It goes from one project with mail that waits to the next
/// in the index of the queue, so that it does not matter how many projects there are.
pub async fn due_projects(rx: &mut Rx<'_>, lane: Lane, now: Timestamp) -> Result<Vec<ProjectNumber>> {
    let due = rx
        .projects_with_work(
            Sql::Either {
whole: "with recursive waiting(project_id) as (select cast(0 as {int}) union all select \
             (select e.project_id from emails e where e.project_id > w.project_id and e.due_at is not null \
             and e.campaign_id is null order by e.project_id, e.lane, e.due_at limit 1) \
             from waiting w where w.project_id is not null) \
             select w.project_id from waiting w where w.project_id > 0 and (select e.due_at from emails e \
             where e.project_id = w.project_id and e.campaign_id is null and e.lane = $1 and e.due_at is not null \
             order by e.due_at limit 1) <= $2",
divided: "select distinct project_id from emails where campaign_id is null and lane = $1 and due_at <= $2",
},
            args![lane.number(), now],
        )
        .await?;
    project::enabled(rx, due).await
}

/// Makes mails due that wait for later, `most` at most: of a project, for a domain where one is named, and accepted before a
/// time. Returns how many there were. A claim of such a mail is worth nothing any more, as when its lease ended. One that
/// is being written by now keeps its lease, or another process would send it as well: PostgreSQL waits for whoever marks
/// it, and then looks at the outer condition again, not at the inner one.
pub async fn make_due(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    domain: Option<&str>,
    before: Timestamp,
    most: i64,
    now: Timestamp,
) -> Result<u64> {
    let pattern = format!("%@{}", domain.map_or_else(|| "%".to_owned(), escaped));
    tx.execute(
        "update emails set due_at = $5, paused_by = null where project_id = $1 and status = 'PENDING' and id in \
         (select id from emails where project_id = $1 and due_at > $5 and status = 'PENDING' and created_at < $3 \
         and recipient like $2 escape '\\' limit $4)",
        args![project, pattern, before, most, now],
    )
    .await
}

/// Makes mails of a project due that wait for more than `longer_than`, `most` at most, whose `error` begins with `why`: what it says holds
/// no longer. Returns how many there were. The time that they were to wait on does not count.
pub async fn make_due_that_say(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    why: &str,
    longer_than: Duration,
    most: i64,
    now: Timestamp,
) -> Result<u64> {
    let pattern = format!("{}%", escaped(why));
    tx.execute(
        "update emails set due_at = $5, waited_ms = case when waited_ms > due_at - $5 then waited_ms - (due_at - $5) \
         else 0 end where project_id = $1 and status = 'PENDING' and due_at > $3 and id in \
         (select id from emails where project_id = $1 and due_at > $3 and status = 'PENDING' and error like $2 \
         escape '\\' limit $4)",
        args![project, pattern, now.plus(longer_than), most, now],
    )
    .await
}

/// A text as `like` takes it, with the escape character `\`.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_")
}

/// How many mails of a lane are due, counted up to `most`.
pub async fn due(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    lane: Lane,
    now: Timestamp,
    most: i64,
) -> Result<i64> {
    rx.one(
        "select count(*) from (select 1 from emails where project_id = $1 and campaign_id is null and lane = $2 \
         and due_at <= $3 limit $4) as due",
        args![project, lane.number(), now, most],
        |r| r.get(0),
    )
    .await
}

/// Most mails that [`backlog`] counts.
pub(crate) const BACKLOG: i64 = 100_000;

/// How many mails wait in a lane of a project, counted up to 100,000, and since when the first of them does.
pub async fn backlog(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    lane: Lane,
    now: Timestamp,
) -> Result<(i64, Option<Timestamp>)> {
    rx.one(
        "select count(*), min(due_at) from (select due_at from emails where project_id = $1 and campaign_id is null \
         and lane = $2 and due_at <= $3 order by due_at limit $4) as waiting",
        args![project, lane.number(), now, BACKLOG],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )
    .await
}
