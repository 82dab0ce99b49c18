//! What is going to happen in a project: campaigns that are scheduled, executions that wait, jobs.

use mailwright_core::campaign::AudienceType;
use mailwright_core::ids::{CampaignId, JobId, ProjectNumber, WorkflowId};
use mailwright_core::job::{JobKind, JobState};
use mailwright_core::rollup::Quarter;
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::Rx;

/// Most executions that are counted, those that are due first.
pub const MOST_EXECUTIONS: i64 = 200_000;

/// A campaign that is scheduled.
#[derive(Debug, Clone)]
pub struct Scheduled {
    /// Identifier.
    pub id: CampaignId,
    /// For when.
    pub at: Timestamp,
    /// Its name.
    pub name: String,
    /// Its subject.
    pub subject: String,
    /// How many recipients it had when it was scheduled.
    pub recipients: i64,
    /// Whom it is for.
    pub audience: AudienceType,
    /// The name of its segment.
    pub segment_name: Option<String>,
}

/// The campaigns that are scheduled for a time before another, the earliest first.
pub async fn campaigns(
    rx: &Rx<'_>,
    project: ProjectNumber,
    until: Timestamp,
    limit: i64,
) -> Result<Vec<Scheduled>> {
    rx.all(
        "select g.id, g.scheduled_for, g.name, g.subject, g.recipients, g.audience_type, s.name from campaigns g \
         left join segments s on s.project_id = g.project_id and s.id = g.segment_id \
         where g.project_id = $1 and g.next_at is not null and g.status = 'SCHEDULED' and g.scheduled_for < $2 \
         order by g.scheduled_for, g.id limit $3",
        args![project, until, limit],
        |r| {
            Ok(Scheduled {
                id: r.get(0)?,
                at: r.get(1)?,
                name: r.get(2)?,
                subject: r.get(3)?,
                recipients: r.get(4)?,
                audience: r.named(5, "campaigns.audience_type", AudienceType::from_name)?,
                segment_name: r.get(6)?,
            })
        },
    )
    .await
}

/// Executions of a workflow that go on in a quarter of an hour.
#[derive(Debug, Clone)]
pub struct Waiting {
    /// The workflow.
    pub workflow: WorkflowId,
    /// Its name.
    pub name: Option<String>,
    /// The quarter.
    pub quarter: Quarter,
    /// The first of them.
    pub first: Timestamp,
    /// How many.
    pub executions: i64,
}

/// The executions that go on before a time, by workflow and quarter of an hour, and whether there are more than
/// [`MOST_EXECUTIONS`], of which the earliest are counted.
pub async fn executions(
    rx: &Rx<'_>,
    project: ProjectNumber,
    until: Timestamp,
) -> Result<(Vec<Waiting>, bool)> {
    let earliest = |bulk: &str| {
        format!(
            "select workflow_id, due_at from (select workflow_id, due_at from workflow_executions \
             where project_id = $1 and bulk = {bulk} and due_at is not null and due_at < $2 order by due_at limit $3) \
             as of_{bulk}"
        )
    };
    let sql = format!(
        "select d.workflow_id, w.name, d.quarter, d.first, d.executions from (select workflow_id, due_at / 900000 as \
         quarter, min(due_at) as first, count(*) as executions from ({} union all {}) as due \
         group by workflow_id, due_at / 900000) as d \
         left join workflows w on w.project_id = $1 and w.id = d.workflow_id order by d.first, d.workflow_id",
        earliest("false"),
        earliest("true"),
    );
    let found = rx
        .all(sql, args![project, until, MOST_EXECUTIONS], |r| {
            Ok(Waiting {
                workflow: r.get(0)?,
                name: r.get(1)?,
                quarter: Quarter(r.get(2)?),
                first: r.get(3)?,
                executions: r.get(4)?,
            })
        })
        .await?;
    let counted: i64 = found.iter().map(|waiting| waiting.executions).sum();
    Ok((found, counted >= MOST_EXECUTIONS))
}

/// A job that is not done.
#[derive(Debug, Clone)]
pub struct Pending {
    /// Identifier.
    pub id: JobId,
    /// The kind of work.
    pub kind: JobKind,
    /// State of the job.
    pub state: JobState,
    /// How much of it is done, 0 to 100.
    pub percent: i64,
    /// When it was asked for.
    pub created_at: Timestamp,
}

/// The jobs that are not done, in the order in which they are done.
pub async fn jobs(rx: &Rx<'_>, project: ProjectNumber, limit: i64) -> Result<Vec<Pending>> {
    rx.all(
        "select id, kind, state, percent, created_at from jobs where project_id = $1 and due_at is not null \
         order by id limit $2",
        args![project, limit],
        |r| {
            Ok(Pending {
                id: r.get(0)?,
                kind: r.named(1, "jobs.kind", JobKind::from_name)?,
                state: r.named(2, "jobs.state", JobState::from_name)?,
                percent: r.get(3)?,
                created_at: r.get(4)?,
            })
        },
    )
    .await
}
