//! Removing what is older than its period, a few rows at a time. What was counted stays counted: sums and figures tell of
//! what happened, not of the rows that are left. Only the sums that lists are paged by lose what is gone from the list.
//!
//! The log of requests, opens and clicks, the contents of mails, and mail as it came in have functions of their own, in
//! their areas.

mod clock;
mod growth;
mod mails;
mod periods;

use mailwright_core::email::EmailStatus;
use mailwright_core::ids::{AuditId, ContactId, EmailId, EventId, ExecutionId, ProjectNumber};
use mailwright_core::retention::Kind;
use mailwright_core::time::Timestamp;

pub use self::clock::believe;
pub use self::growth::{Size, Weight, note_size, sizes, weights};
pub use self::periods::own;
use crate::args;
use crate::audience::event_counts;
use crate::automation::forget;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;
use crate::delivery::mailbox;
use crate::insight::deltas::Deltas;

/// Captured mails that one step removes at most: each may be large.
const CAPTURED: i64 = 20;

/// What is gone through, and how far that has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Events.
    Events,
    /// Captured mail.
    Captured,
    /// The audit log.
    Audit,
    /// Executions of workflows, behind one.
    Executions(Option<ExecutionId>),
    /// Mails that the service sent, behind one.
    Mails(Option<EmailId>),
    /// Mails that came in.
    Received,
}

impl Task {
    /// The kind whose period counts.
    pub fn kind(self) -> Kind {
        match self {
            Self::Events => Kind::Events,
            Self::Captured => Kind::CapturedMail,
            Self::Audit => Kind::AuditLog,
            Self::Executions(_) => Kind::Executions,
            Self::Mails(_) | Self::Received => Kind::Mails,
        }
    }
}

/// What one step did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Rows that were removed, not counting those that went with them.
    pub removed: u64,
    /// With what it goes on; `None` at the end.
    pub next: Option<Task>,
}

/// Looks at up to `rows` rows from before a time, and removes those that may go.
pub async fn step(
    tx: &Tx<'_>,
    project: ProjectNumber,
    (task, before): (Task, Timestamp),
    rows: i64,
    now: Timestamp,
) -> Result<Step> {
    let (removed, all) = match task {
        Task::Events => (events(tx, project, before, rows, now).await?, rows),
        Task::Captured => (captured(tx, project, before).await?, CAPTURED),
        Task::Audit => (audit(tx, project, before, rows).await?, rows),
        Task::Received => (mails::received(tx, project, before, rows).await?, rows),
        Task::Executions(after) => {
            let (removed, next) = executions(tx, project, (after, before), rows).await?;
            return Ok(Step { removed, next: next.map(|next| Task::Executions(Some(next))) });
        }
        Task::Mails(after) => {
            let (removed, next) = mails::settled(tx, project, (after, before), rows, now).await?;
            return Ok(Step { removed, next: next.map(|next| Task::Mails(Some(next))) });
        }
    };
    Ok(Step { removed, next: (removed as i64 == all).then_some(task) })
}

/// The first moments of a project's things of each kind, before which some of them may be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cuts {
    /// Events.
    pub events: Option<Timestamp>,
    /// Captured mail.
    pub captured: Option<Timestamp>,
    /// The audit log.
    pub audit: Option<Timestamp>,
    /// Executions that are over.
    pub executions: Option<Timestamp>,
    /// Mails that are settled, and mails that came in.
    pub mails: Option<Timestamp>,
}

/// What a project has that was made before its cuts. Whether it is to be removed is found out by going through it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "one answer for each table")]
pub struct Old {
    /// Events.
    pub events: bool,
    /// Captured mail.
    pub captured: bool,
    /// Entries of the audit log.
    pub audit: bool,
    /// Executions.
    pub executions: bool,
    /// Mails.
    pub mails: bool,
    /// Mails that came in.
    pub received: bool,
}

/// Looks what a project has of each kind.
pub async fn old(rx: &Rx<'_>, project: ProjectNumber, cuts: Cuts) -> Result<Old> {
    let earliest = Timestamp(0);
    let event = EventId::first_of(cuts.events.unwrap_or(earliest));
    let captured = EmailId::first_of(cuts.captured.unwrap_or(earliest));
    let audit = AuditId::first_of(cuts.audit.unwrap_or(earliest));
    let execution = ExecutionId::first_of(cuts.executions.unwrap_or(earliest));
    let mail = EmailId::first_of(cuts.mails.unwrap_or(earliest));
    rx.one(
        "select exists (select 1 from events where project_id = $1 and id < $2), \
         exists (select 1 from mailbox where project_id = $1 and id < $3), \
         exists (select 1 from audit where project_id = $1 and id < $4), \
         exists (select 1 from workflow_executions where project_id = $1 and id < $5), \
         exists (select 1 from emails where project_id = $1 and id < $6), \
         exists (select 1 from inbound_mails where project_id = $1 and id < $6)",
        args![project, event, captured, audit, execution, mail],
        |r| {
            Ok(Old {
                events: r.get(0)?,
                captured: r.get(1)?,
                audit: r.get(2)?,
                executions: r.get(3)?,
                mails: r.get(4)?,
                received: r.get(5)?,
            })
        },
    )
    .await
}

/// Removes the oldest events from before a time, at most `limit`; how many. Segments that track their members look at
/// the contacts again. Sums by name, by hour and by quarter of an hour stay. A project whose events are still being
/// counted keeps them.
async fn events(
    tx: &Tx<'_>,
    project: ProjectNumber,
    before: Timestamp,
    limit: i64,
    now: Timestamp,
) -> Result<u64> {
    if !event_counts::are_counted(tx, project).await? {
        return Ok(0);
    }
    let gone: Vec<Option<ContactId>> = tx
        .all(
            "delete from events where project_id = $1 and id in (select id from events where project_id = $1 \
             and id < $2 order by id limit $3 {skip_locked}) returning contact_id",
            args![project, EventId::first_of(before), limit],
            |r| r.get(0),
        )
        .await?;
    let mut deltas = Deltas::default();
    for contact in gone.iter().flatten() {
        deltas.touch(project, *contact, now);
    }
    deltas.save(tx).await?;
    Ok(gone.len() as u64)
}

/// Removes the oldest captured mails from before a time, some of them; how many.
async fn captured(tx: &Tx<'_>, project: ProjectNumber, before: Timestamp) -> Result<u64> {
    let sizes: Vec<i64> = tx
        .all(
            "delete from mailbox where project_id = $1 and id in (select id from mailbox where project_id = $1 \
             and id < $2 order by id limit $3 {skip_locked}) returning size",
            args![project, EmailId::first_of(before), CAPTURED],
            |r| r.get(0),
        )
        .await?;
    let mut deltas = Deltas::default();
    mailbox::count_gone(&mut deltas, project, &sizes);
    deltas.save(tx).await?;
    Ok(sizes.len() as u64)
}

/// Removes the oldest entries of the audit log from before a time, at most `limit`; how many.
async fn audit(tx: &Tx<'_>, project: ProjectNumber, before: Timestamp, limit: i64) -> Result<u64> {
    tx.execute(
        "delete from audit where project_id = $1 and id in (select id from audit where project_id = $1 \
         and id < $2 order by id limit $3 {skip_locked})",
        args![project, AuditId::first_of(before), limit],
    )
    .await
}

/// Goes through `limit` executions that began before a time, and removes those that ended before it. Executions of a
/// workflow that lets everybody in only once stay: they are what keeps a contact from beginning again, and there is at
/// most one for each contact. Figures stay.
async fn executions(
    tx: &Tx<'_>,
    project: ProjectNumber,
    (after, before): (Option<ExecutionId>, Timestamp),
    limit: i64,
) -> Result<(u64, Option<ExecutionId>)> {
    let looked_at: Vec<(ExecutionId, bool)> = tx
        .all(
            "select x.id, coalesce(x.completed_at < $4 and w.allow_reentry, false) from workflow_executions x \
             left join workflows w on w.project_id = $1 and w.id = x.workflow_id \
             where x.project_id = $1 and x.id > $2 and x.id < $3 order by x.id limit $5",
            args![
                project,
                after.unwrap_or(ExecutionId::from_bytes([0; 16])),
                ExecutionId::first_of(before),
                before,
                limit
            ],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )
        .await?;
    let gone: Vec<ExecutionId> = looked_at.iter().filter(|(_, is_old)| *is_old).map(|(id, _)| *id).collect();
    let mut deltas = Deltas::default();
    forget::remove(tx, project, &gone, &mut deltas).await?;
    deltas.save(tx).await?;
    Ok((gone.len() as u64, next(&looked_at, limit)))
}

/// Behind which one the next step goes on, given what this one looked at.
fn next<Id: Copy, T>(looked_at: &[(Id, T)], limit: i64) -> Option<Id> {
    looked_at.last().filter(|_| looked_at.len() as i64 >= limit).map(|(id, _)| *id)
}

/// Statuses in which nothing happens to a mail any more by itself, as SQL has them. Whether a mail in doubt was sent
/// is a question that a person may still answer.
fn settled_statuses() -> Arg<'static> {
    let is_settled = |status: &EmailStatus| match status {
        EmailStatus::Sent
        | EmailStatus::Delivered
        | EmailStatus::Opened
        | EmailStatus::Clicked
        | EmailStatus::Bounced
        | EmailStatus::Complained
        | EmailStatus::Failed
        | EmailStatus::Skipped
        | EmailStatus::Suppressed => true,
        EmailStatus::Pending | EmailStatus::Sending | EmailStatus::Received | EmailStatus::InDoubt => false,
    };
    Arg::Texts(EmailStatus::ALL.iter().filter(|s| is_settled(s)).map(|s| Some(s.as_str().into())).collect())
}
