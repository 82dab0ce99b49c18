//! Background jobs: rows with a due time, a lease, and the place where the work stands. The input of a job is in
//! `job_inputs`, apart from the row that every step writes; the items that it could not do are in `job_failures`.
//!
//! A project's jobs run one after the other in the order in which they were queued, so of two imports the later one has
//! the last word. `due_at` drives everything, as it does for mails: a waiting job is due at some time; a claim moves
//! that time into the future, which is the lease; a finished job has none. `claim` counts the claims, and only the
//! holder of the newest may change a job. A step writes its changes and the progress in one transaction, so the process
//! that continues after a crash repeats nothing and skips nothing. A step under an old claim fails as a whole.

use mailwright_core::ids::{JobId, ProjectNumber};
use mailwright_core::job::{JobKind, JobState};
use mailwright_core::time::Timestamp;
use serde_json::Value as Json;

use crate::args;
use crate::database::dialect::Sql;
use crate::database::error::{Error, Result};
use crate::database::tx::{Row, Rx, Tx};
use crate::database::value::Arg;
use crate::project;

/// How many finished jobs of a project are kept.
pub const KEPT: i64 = 100;

/// A job to queue.
#[derive(Debug, Clone)]
pub struct NewJob {
    /// Project.
    pub project: ProjectNumber,
    /// Identifier; its time is `at`.
    pub id: JobId,
    /// The kind of work.
    pub kind: JobKind,
    /// Input of the job.
    pub input: Vec<u8>,
    /// Progress before the first step.
    pub progress: Json,
    /// When it is queued.
    pub at: Timestamp,
}

/// Queues a job, due at once.
pub async fn enqueue(tx: &mut Tx<'_>, job: &NewJob) -> Result<()> {
    tx.execute_one(
        "insert into jobs (project_id, id, kind, state, progress, percent, due_at, claim, attempts, created_at, updated_at) \
         values ($1, $2, $3, $4, {json $5}, 0, $6, 0, 0, $6, $6)",
        args![job.project, job.id, job.kind.as_str(), JobState::Waiting.as_str(), &job.progress, job.at],
    )
    .await?;
    tx.execute_one(
        "insert into job_inputs (project_id, job_id, content) values ($1, $2, $3)",
        args![job.project, job.id, &job.input[..]],
    )
    .await
}

/// How many jobs of a project are not finished.
pub async fn unfinished(rx: &mut Rx<'_>, project: ProjectNumber) -> Result<i64> {
    rx.one("select count(*) from jobs where project_id = $1 and due_at is not null", args![project], |r| {
        r.get(0)
    })
    .await
}

/// The progress of a project's jobs of a kind that are not finished.
pub async fn unfinished_of(rx: &Rx<'_>, project: ProjectNumber, kind: JobKind) -> Result<Vec<Json>> {
    rx.all(
        "select {json_out progress} from jobs where project_id = $1 and kind = $2 and due_at is not null",
        args![project, kind.as_str()],
        |r| r.get(0),
    )
    .await
}

/// The projects whose next job is due.
pub async fn due_projects(rx: &mut Rx<'_>, now: Timestamp) -> Result<Vec<ProjectNumber>> {
    let due = rx
        .projects_with_work(
            Sql::Either {
                whole: "select p.number from projects p where p.disabled_at is null and (select j.due_at from jobs j \
                        where j.project_id = p.number and j.due_at is not null order by j.id limit 1) <= $1",
                divided: "select distinct project_id from jobs where due_at <= $1",
            },
            args![now],
        )
        .await?;
    project::enabled(rx, due).await
}

/// A job that this process may work on until its lease ends.
#[derive(Debug, Clone)]
pub struct Claimed {
    /// The job, and the number of the claim.
    pub claim: ClaimRef,
    /// The kind of work.
    pub kind: JobKind,
    /// Progress of the work.
    pub progress: Json,
    /// How often it was claimed, this time included, since the last step that was done.
    pub attempts: i64,
}

/// Identifies a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClaimRef {
    /// Project.
    pub project: ProjectNumber,
    /// Job.
    pub id: JobId,
    /// Number of the claim.
    pub number: i64,
}

/// Claims the next job of a project until `lease_until`, if it is due.
pub async fn claim(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    now: Timestamp,
    lease_until: Timestamp,
) -> Result<Option<Claimed>> {
    let next = tx
        .optional(
            "select id, due_at from jobs where project_id = $1 and due_at is not null order by id limit 1",
            args![project],
            |r| Ok((r.get::<JobId>(0)?, r.get::<Timestamp>(1)?)),
        )
        .await?;
    let Some((id, due_at)) = next else { return Ok(None) };
    if due_at > now {
        return Ok(None);
    }
    // of several processes that come here at once, the others find the job not due any more
    tx.optional(
        "update jobs set due_at = $4, claim = claim + 1, attempts = attempts + 1, state = $5, updated_at = $3 \
         where project_id = $1 and id = $2 and due_at <= $3 \
         returning project_id, id, claim, kind, {json_out progress}, attempts",
        args![project, id, now, lease_until, JobState::Active.as_str()],
        |r| {
            Ok(Claimed {
                claim: ClaimRef { project: r.get(0)?, id: r.get(1)?, number: r.get(2)? },
                kind: kind(r, 3)?,
                progress: r.get(4)?,
                attempts: r.get(5)?,
            })
        },
    )
    .await
}

fn kind(row: &Row<'_>, column: usize) -> Result<JobKind> {
    let text: String = row.get(column)?;
    let detail = || Error::Corrupt { column, expected: "jobs.kind", detail: format!("it is {text:?}") };
    JobKind::from_name(&text).ok_or_else(detail)
}

fn state(row: &Row<'_>, column: usize) -> Result<JobState> {
    let text: String = row.get(column)?;
    let detail = || Error::Corrupt { column, expected: "jobs.state", detail: format!("it is {text:?}") };
    JobState::from_name(&text).ok_or_else(detail)
}

/// The input of a job; `None` if it is finished, since the input is deleted then.
pub async fn input(rx: &mut Rx<'_>, project: ProjectNumber, id: JobId) -> Result<Option<Vec<u8>>> {
    rx.optional(
        "select content from job_inputs where project_id = $1 and job_id = $2",
        args![project, id],
        |r| r.get(0),
    )
    .await
}

/// The state of a job after a step.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Progress of the work.
    pub progress: Json,
    /// How much of it is done, 0 to 100.
    pub percent: i64,
}

/// Notes a step, in the transaction that did it, and extends the lease. A claim that is no longer the newest fails with
/// [`Error::Contention`], so that nothing of the step remains.
pub async fn advance(
    tx: &mut Tx<'_>,
    claim: ClaimRef,
    progress: &Progress,
    now: Timestamp,
    lease_until: Timestamp,
) -> Result<()> {
    let changed = tx
        .execute(
            "update jobs set progress = {json $4}, percent = $5, attempts = 0, due_at = $6, updated_at = $7 \
             where project_id = $1 and id = $2 and claim = $3 and due_at is not null",
            args![
                claim.project,
                claim.id,
                claim.number,
                &progress.progress,
                progress.percent,
                lease_until,
                now
            ],
        )
        .await?;
    held(changed)
}

/// Extends the lease of a claim. One that is no longer the newest fails with [`Error::Contention`].
pub async fn extend(tx: &mut Tx<'_>, claim: ClaimRef, lease_until: Timestamp) -> Result<()> {
    let changed = tx
        .execute(
            "update jobs set due_at = $4 where project_id = $1 and id = $2 and claim = $3 and due_at is not null",
            args![claim.project, claim.id, claim.number, lease_until],
        )
        .await?;
    held(changed)
}

fn held(changed: u64) -> Result<()> {
    if changed == 1 { Ok(()) } else { Err(Error::Contention("the job was taken over".into())) }
}

/// Notes what a job could not do. `first` is the position of the first of them among all failures of the job.
pub async fn add_failures(tx: &mut Tx<'_>, claim: ClaimRef, first: u64, details: &[String]) -> Result<()> {
    tx.each(
        "insert into job_failures (project_id, job_id, position, detail) \
         select r.project_id, r.job_id, r.place, r.detail \
         from {rows r: project_id int, job_id id, place int, detail json}",
        &[
            Arg::Ints(details.iter().map(|_| Some(claim.project.0)).collect()),
            Arg::Ids(details.iter().map(|_| Some(claim.id.into())).collect()),
            Arg::Ints((0..details.len()).map(|place| Some(first as i64 + place as i64)).collect()),
            Arg::Jsons(details.iter().map(|detail| Some(detail.as_str().into())).collect()),
        ],
    )
    .await?;
    Ok(())
}

/// Ends a job well, after its last step and in the same transaction. Its input goes, and so do the oldest finished
/// jobs of the project.
pub async fn complete(tx: &mut Tx<'_>, claim: ClaimRef, progress: &Progress, now: Timestamp) -> Result<()> {
    let changed = tx
        .execute(
            "update jobs set progress = {json $4}, percent = 100, due_at = null, state = $5, updated_at = $6 \
             where project_id = $1 and id = $2 and claim = $3 and due_at is not null",
            args![
                claim.project,
                claim.id,
                claim.number,
                &progress.progress,
                JobState::Completed.as_str(),
                now
            ],
        )
        .await?;
    held(changed)?;
    clear(tx, claim).await
}

/// Gives a job up for a reason that its owner is shown.
pub async fn fail(tx: &mut Tx<'_>, claim: ClaimRef, reason: &str, now: Timestamp) -> Result<()> {
    let changed = tx
        .execute(
            "update jobs set due_at = null, state = $4, failed_reason = $5, updated_at = $6 \
             where project_id = $1 and id = $2 and claim = $3 and due_at is not null",
            args![claim.project, claim.id, claim.number, JobState::Failed.as_str(), reason, now],
        )
        .await?;
    held(changed)?;
    clear(tx, claim).await
}

/// Removes what a finished job does not need any more, and the oldest finished jobs.
async fn clear(tx: &mut Tx<'_>, claim: ClaimRef) -> Result<()> {
    let project = claim.project;
    tx.execute("delete from job_inputs where project_id = $1 and job_id = $2", args![project, claim.id])
        .await?;
    let old = tx
        .all(
            "delete from jobs where project_id = $1 and id in (select id from jobs where project_id = $1 \
             and due_at is null order by id desc limit 500 offset $2) returning id",
            args![project, KEPT],
            |r| r.get::<JobId>(0),
        )
        .await?;
    if old.is_empty() {
        return Ok(());
    }
    let old = Arg::Ids(old.into_iter().map(|id| Some(id.into())).collect());
    for sql in [
        "delete from job_failures where project_id = $1 and job_id {in $2}",
        "delete from job_flips where project_id = $1 and job_id {in $2}",
    ] {
        tx.execute(sql, &[project.into(), old.clone()]).await?;
    }
    Ok(())
}

/// How a job is given back before it is finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Release {
    /// [`JobState::Waiting`] or [`JobState::Delayed`].
    pub state: JobState,
    /// When it is due again.
    pub due_at: Timestamp,
    /// Whether the claim counts as an attempt.
    pub counts: bool,
}

/// Gives a job back. A claim that is no longer the newest changes nothing.
pub async fn release(tx: &mut Tx<'_>, claim: ClaimRef, release: Release, now: Timestamp) -> Result<()> {
    tx.execute(
        "update jobs set due_at = $4, state = $5, attempts = case when $6 then attempts else 0 end, \
         claim = claim + 1, updated_at = $7 \
         where project_id = $1 and id = $2 and claim = $3 and due_at is not null",
        args![
            claim.project,
            claim.id,
            claim.number,
            release.due_at,
            release.state.as_str(),
            release.counts,
            now
        ],
    )
    .await?;
    Ok(())
}

/// A job as its owner sees it.
#[derive(Debug, Clone)]
pub struct Job {
    /// Identifier.
    pub id: JobId,
    /// The kind of work.
    pub kind: JobKind,
    /// State of the job.
    pub state: JobState,
    /// Progress of the work.
    pub progress: Json,
    /// How much of it is done, 0 to 100.
    pub percent: i64,
    /// Why it was given up.
    pub failed_reason: Option<String>,
    /// When it was queued.
    pub created_at: Timestamp,
    /// When it ended; `None` until then.
    pub finished_at: Option<Timestamp>,
}

pub(super) const COLUMNS: &str = "id, kind, state, {json_out progress}, percent, failed_reason, created_at, \
    case when due_at is null then updated_at end";

pub(super) fn read(row: &Row<'_>) -> Result<Job> {
    Ok(Job {
        id: row.get(0)?,
        kind: kind(row, 1)?,
        state: state(row, 2)?,
        progress: row.get(3)?,
        percent: row.get(4)?,
        failed_reason: row.get(5)?,
        created_at: row.get(6)?,
        finished_at: row.get(7)?,
    })
}

/// One job.
pub async fn get(rx: &mut Rx<'_>, project: ProjectNumber, id: JobId) -> Result<Option<Job>> {
    rx.optional(
        format!("select {COLUMNS} from jobs where project_id = $1 and id = $2"),
        args![project, id],
        read,
    )
    .await
}

/// The items that a job could not do, in the order of the job, at most `limit` items.
pub async fn failures(rx: &mut Rx<'_>, project: ProjectNumber, id: JobId, limit: u64) -> Result<Vec<Json>> {
    rx.all(
        "select {json_out detail} from job_failures where project_id = $1 and job_id = $2 order by position limit $3",
        args![project, id, limit],
        |r| r.get(0),
    )
    .await
}
