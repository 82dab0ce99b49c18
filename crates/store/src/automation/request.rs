//! Requests of WEBHOOK steps that have no answer yet.
//!
//! They are claimed as mails are: `due_at` is when one is made, or until when the claim lasts, and only the holder of the
//! newest claim may change a row. `is_open` tells that an attempt began of which there is no outcome: if a claim finds a
//! row so, whoever made it died, and the attempt is in doubt.

use mailwright_core::ids::{ContactId, ExecutionId, ProjectNumber, SignalId, WebhookId, WorkflowId};
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::request::Request;
use mailwright_core::workflow::world::Answered;

use super::signal::{self, News, Signal};
use crate::args;
use crate::database::dialect::Sql;
use crate::database::error::{Error, Result};
use crate::database::tx::{Row, Rx, Tx};
use crate::database::value::Arg;
use crate::project;

/// How many requests to a host are looked at for those that were asked for long ago.
const LOOKED_AT: i64 = 500;

/// A request to make.
#[derive(Debug, Clone)]
pub struct NewRequest {
    /// Identifier, which its receiver is told.
    pub id: WebhookId,
    /// The workflow.
    pub workflow: WorkflowId,
    /// The execution that waits for the answer.
    pub execution: ExecutionId,
    /// The contact of the execution.
    pub contact: ContactId,
    /// The place of the step.
    pub place: usize,
    /// The host that it goes to.
    pub host: String,
    /// What is asked.
    pub request: Request,
    /// When it is made.
    pub at: Timestamp,
}

/// Stores requests.
pub async fn add(tx: &Tx<'_>, project: ProjectNumber, requests: &[NewRequest]) -> Result<()> {
    let text = |request: &NewRequest| serde_json::to_string(&request.request).ok().map(Into::into);
    tx.each(
        "insert into workflow_requests (project_id, id, workflow_id, execution_id, contact_id, place, host, request, \
         due_at, claim, attempts, doubts, is_open, created_at) select $9, r.id, r.workflow_id, r.execution_id, \
         r.contact_id, r.place, r.host, r.request, r.at, 0, 0, 0, $10, r.at from {rows r: id id, workflow_id id, \
         execution_id id, contact_id id, place int, host text, request json, at int}",
        &[
            Arg::Ids(requests.iter().map(|request| Some(request.id.into())).collect()),
            Arg::Ids(requests.iter().map(|request| Some(request.workflow.into())).collect()),
            Arg::Ids(requests.iter().map(|request| Some(request.execution.into())).collect()),
            Arg::Ids(requests.iter().map(|request| Some(request.contact.into())).collect()),
            Arg::Ints(requests.iter().map(|request| Some(request.place as i64)).collect()),
            Arg::Texts(requests.iter().map(|request| Some(request.host.as_str().into())).collect()),
            Arg::Jsons(requests.iter().map(text).collect()),
            Arg::Ints(requests.iter().map(|request| Some(request.at.0)).collect()),
            project.into(),
            false.into(),
        ],
    )
    .await?;
    Ok(())
}

/// A request that this process may make until its lease ends.
#[derive(Debug, Clone)]
pub struct Claimed {
    /// Project.
    pub project: ProjectNumber,
    /// Identifier.
    pub id: WebhookId,
    /// Number of the claim.
    pub claim: i64,
    /// The execution.
    pub execution: ExecutionId,
    /// Its contact.
    pub contact: ContactId,
    /// The host that it goes to.
    pub host: String,
    /// What is asked.
    pub request: Request,
    /// How often it was tried.
    pub attempts: i64,
    /// How many attempts ended without an outcome.
    pub doubts: i64,
    /// What the last attempt was answered with.
    pub status: Option<i64>,
    /// When it was asked for.
    pub created_at: Timestamp,
}

fn read(row: &Row<'_>) -> Result<Claimed> {
    let request = serde_json::from_value(row.get(5)?).map_err(|error| Error::Corrupt {
        column: 5,
        expected: "workflow_requests.request",
        detail: error.to_string(),
    })?;
    Ok(Claimed {
        project: row.get(0)?,
        id: row.get(1)?,
        claim: row.get(2)?,
        execution: row.get(3)?,
        contact: row.get(4)?,
        request,
        attempts: row.get(6)?,
        doubts: row.get(7)?,
        created_at: row.get(8)?,
        host: row.get(9)?,
        status: row.get(10)?,
    })
}

/// The projects that have a request to make, and are not disabled.
pub async fn due_projects(rx: &mut Rx<'_>, now: Timestamp) -> Result<Vec<ProjectNumber>> {
    let due = rx
        .projects_with_work(
        Sql::Either {
whole: "with recursive waiting(project_id) as (select cast(0 as {int}) union all select \
         (select q.project_id from workflow_requests q where q.project_id > w.project_id \
         order by q.project_id limit 1) from waiting w where w.project_id is not null) \
         select w.project_id from waiting w where w.project_id > 0 and (select q.due_at from workflow_requests q \
         where q.project_id = w.project_id order by q.due_at limit 1) <= $1",
divided: "select distinct project_id from workflow_requests where due_at <= $1",
},
        args![now],
    )
    .await?;
    project::enabled(rx, due).await
}

/// The hosts behind `after`, in order, that a project has requests to, and whether one of them is due; `limit` at most.
/// It goes from one host to the next in the index, so that it does not matter how many requests wait.
pub async fn hosts(
    rx: &Rx<'_>,
    project: ProjectNumber,
    after: &str,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<(String, bool)>> {
    rx.all(
        "with recursive hosts(host, count) as (select (select q.host from workflow_requests q \
         where q.project_id = $1 and q.host > $2 order by q.host limit 1), cast(1 as {int}) union all select \
         (select q.host from workflow_requests q where q.project_id = $1 and q.host > h.host order by q.host limit 1), \
         h.count + 1 from hosts h where h.host is not null and h.count < $4) \
         select h.host, (select q.due_at from workflow_requests q where q.project_id = $1 and q.host = h.host \
         order by q.due_at limit 1) <= $3 from hosts h where h.host is not null order by h.host",
        args![project, after, now, limit],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )
    .await
}

/// Which requests to claim.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Project.
    pub project: ProjectNumber,
    /// The host that they go to.
    pub host: String,
    /// How many are claimed at most.
    pub limit: i64,
    /// Those that were asked for until then.
    pub asked_until: Timestamp,
    /// The current time.
    pub now: Timestamp,
    /// Until when they are claimed.
    pub lease_until: Timestamp,
}

impl Claim {
    /// Whether the requests are made, and not only given up.
    fn is_attempt(&self) -> bool {
        self.asked_until == Timestamp::LAST
    }

    /// How many due requests are looked at.
    fn looked_at(&self) -> i64 {
        if self.is_attempt() { self.limit } else { LOOKED_AT }
    }
}

/// Whether a claim would find a request.
pub async fn is_claimable(rx: &mut Rx<'_>, claim: &Claim) -> Result<bool> {
    rx.exists(
        "select 1 from (select created_at from workflow_requests where project_id = $1 and host = $2 \
         and due_at <= $3 order by due_at limit $4) looked_at where created_at <= $5",
        args![claim.project, &claim.host, claim.now, claim.looked_at(), claim.asked_until],
    )
    .await
}

/// Claims requests to a host that are due.
pub async fn claim(tx: &Tx<'_>, claim: &Claim) -> Result<Vec<Claimed>> {
    tx.all(
        "with looked_at as (select id, created_at from workflow_requests where project_id = $1 and host = $2 \
         and due_at <= $3 order by due_at limit $4 {skip_locked}), \
         picked as (select id from looked_at where created_at <= $5 limit $6) \
         update workflow_requests set due_at = $7, claim = claim + 1, is_open = $8, \
         doubts = doubts + (case when is_open then 1 else 0 end) \
         where project_id = $1 and id in (select id from picked) returning project_id, id, claim, execution_id, \
         contact_id, {json_out request}, attempts, doubts, created_at, host, status",
        args![
            claim.project,
            &claim.host,
            claim.now,
            claim.looked_at(),
            claim.asked_until,
            claim.limit,
            claim.lease_until,
            claim.is_attempt(),
        ],
        read,
    )
    .await
}

/// Gives a claim back as it is given: the request is made again at `due_at`.
pub async fn again(tx: &Tx<'_>, claimed: &Claimed, due_at: Timestamp, error: &str) -> Result<()> {
    tx.execute(
        "update workflow_requests set due_at = $4, claim = claim + 1, is_open = $5, attempts = $6, doubts = $7, \
         status = $8, error = $9 where project_id = $1 and id = $2 and claim = $3",
        args![
            claimed.project,
            claimed.id,
            claimed.claim,
            due_at,
            false,
            claimed.attempts,
            claimed.doubts,
            claimed.status,
            error
        ],
    )
    .await?;
    Ok(())
}

/// Ends a request: its execution goes on with the answer. Whether the claim was still the newest.
pub async fn conclude(tx: &Tx<'_>, claimed: &Claimed, answered: Answered, now: Timestamp) -> Result<bool> {
    let ended = tx
        .execute(
            "delete from workflow_requests where project_id = $1 and id = $2 and claim = $3",
            args![claimed.project, claimed.id, claimed.claim],
        )
        .await?;
    if ended == 0 {
        return Ok(false);
    }
    let signal = Signal {
        id: SignalId::new(now, rand::random()),
        contact: claimed.contact,
        execution: Some(claimed.execution),
        news: News::Answered(answered),
        at: now,
    };
    signal::add(tx, claimed.project, &[signal]).await?;
    Ok(true)
}

/// How a request stands that has no answer yet.
#[derive(Debug, Clone)]
pub struct UnderWay {
    /// Identifier, which its receiver is told.
    pub id: WebhookId,
    /// How often it was tried.
    pub attempts: i64,
    /// What the last attempt was answered with.
    pub status: Option<i64>,
    /// Why the last attempt was not the last one.
    pub error: Option<String>,
    /// When it is made again; `None` while it is made.
    pub again_at: Option<Timestamp>,
}

/// The request of an execution that has no answer yet.
pub async fn of_execution(
    rx: &Rx<'_>,
    project: ProjectNumber,
    execution: ExecutionId,
) -> Result<Option<UnderWay>> {
    rx.optional(
        "select id, attempts, status, error, due_at, is_open from workflow_requests where project_id = $1 \
         and execution_id = $2 order by id desc limit 1",
        args![project, execution],
        |r| {
            let (due_at, is_open) = (r.get(4)?, r.get::<bool>(5)?);
            Ok(UnderWay {
                id: r.get(0)?,
                attempts: r.get(1)?,
                status: r.get(2)?,
                error: r.get(3)?,
                again_at: (!is_open).then_some(due_at),
            })
        },
    )
    .await
}

/// Removes the requests of executions that are over.
pub async fn forget(tx: &Tx<'_>, project: ProjectNumber, executions: &[ExecutionId]) -> Result<()> {
    tx.execute(
        "delete from workflow_requests where project_id = $1 and execution_id {in $2}",
        &[project.into(), Arg::Ids(executions.iter().map(|id| Some((*id).into())).collect())],
    )
    .await?;
    Ok(())
}
