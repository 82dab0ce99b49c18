//! What the holder of a claim does with its mails before there is an outcome: it marks them as being written, keeps them,
//! or gives them back.

use std::sync::Arc;
use std::time::Duration;

use mailwright_core::ids::{EmailId, ProjectNumber};
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::Tx;
use crate::database::value::Arg;

/// Identifies a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClaimRef {
    /// Project.
    pub project: ProjectNumber,
    /// Mail.
    pub id: EmailId,
    /// Number of the claim.
    pub claim: i64,
}

pub(super) fn claim_columns(claims: &[ClaimRef]) -> [Arg<'static>; 3] {
    [
        Arg::Ints(claims.iter().map(|c| Some(c.project.0)).collect()),
        Arg::Ids(claims.iter().map(|c| Some(c.id.into())).collect()),
        Arg::Ints(claims.iter().map(|c| Some(c.claim)).collect()),
    ]
}

/// A mail whose content is going to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// The claim under which it is.
    pub claim: ClaimRef,
    /// The date in it.
    pub first_attempt_at: Timestamp,
    /// The targets of links that its values made, as JSON text, so that they lead there from the moment it is read.
    pub links: Option<Arc<str>>,
    /// The transport that it is written to.
    pub transport: Arc<str>,
}

/// Notes, just before it happens, that the content of mails is going to be written. Returns those that may go on: the
/// others were taken over or removed meanwhile.
pub async fn mark_sending(tx: &Tx<'_>, marks: &[Mark], lease_until: Timestamp) -> Result<Vec<EmailId>> {
    let claims: Vec<_> = marks.iter().map(|mark| mark.claim).collect();
    let [projects, ids, numbers] = claim_columns(&claims);
    let dates = Arg::Ints(marks.iter().map(|mark| Some(mark.first_attempt_at.0)).collect());
    let links = Arg::Jsons(marks.iter().map(|mark| mark.links.as_deref().map(Into::into)).collect());
    let transports = Arg::Texts(marks.iter().map(|mark| Some((*mark.transport).into())).collect());
    tx.each_returning(
        "update emails set status = 'SENDING', due_at = $7, first_attempt_at = r.dated, \
         links = coalesce(r.links, emails.links), transport = r.transport \
         from {rows r: project_id int, email_id id, claim int, dated int, links json, transport text} \
         where emails.project_id = r.project_id and emails.id = r.email_id and emails.claim = r.claim \
         and emails.due_at is not null returning id",
        &[projects, ids, numbers, dates, links, transports, lease_until.into()],
        |r| r.get(0),
    )
    .await
}

/// Keeps the targets of links that a mail's values made, for a mail that is kept instead of sent.
pub async fn keep_links(tx: &Tx<'_>, project: ProjectNumber, id: EmailId, links: &str) -> Result<()> {
    tx.execute(
        "update emails set links = {json $3} where project_id = $1 and id = $2",
        &[project.into(), id.into(), Arg::Json(links.into())],
    )
    .await?;
    Ok(())
}

/// Keeps claims until `lease_until`. A mail that is being written at this moment is left alone: waiting for it could
/// make two transactions wait for each other, and its own change sets the lease anyway.
pub async fn extend(tx: &mut Tx<'_>, claims: &[ClaimRef], lease_until: Timestamp) -> Result<()> {
    let [projects, ids, numbers] = claim_columns(claims);
    tx.each(
        "update emails set due_at = $4 from {rows r: project_id int, email_id id, claim int} \
         where emails.project_id = r.project_id and emails.id = r.email_id and emails.claim = r.claim \
         and emails.due_at is not null and emails.id in \
         (select e.id from emails e where e.project_id = r.project_id and e.id = r.email_id {skip_locked})",
        &[projects, ids, numbers, lease_until.into()],
    )
    .await?;
    Ok(())
}

/// Gives claims back: the mails are due at `due_at` as if they had not been claimed.
pub async fn release(tx: &mut Tx<'_>, claims: &[ClaimRef], due_at: Timestamp) -> Result<()> {
    let [projects, ids, numbers] = claim_columns(claims);
    tx.each(
        "update emails set due_at = $4, claim = emails.claim + 1 \
         from {rows r: project_id int, email_id id, claim int} \
         where emails.project_id = r.project_id and emails.id = r.email_id and emails.claim = r.claim \
         and emails.due_at is not null",
        &[projects, ids, numbers, due_at.into()],
    )
    .await?;
    Ok(())
}

/// Gives claims back without an attempt, and stores why the mails wait.
pub async fn hold(tx: &mut Tx<'_>, claims: &[ClaimRef], due_at: Timestamp, error: &str) -> Result<()> {
    let [projects, ids, numbers] = claim_columns(claims);
    tx.each(
        "update emails set due_at = $4, claim = emails.claim + 1, \
         error = case when emails.recipient = '' then null else $5 end \
         from {rows r: project_id int, email_id id, claim int} \
         where emails.project_id = r.project_id and emails.id = r.email_id and emails.claim = r.claim \
         and emails.due_at is not null",
        &[projects, ids, numbers, due_at.into(), error.into()],
    )
    .await?;
    Ok(())
}

/// A mail that is given back without an attempt, because where it goes to takes none for now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parked {
    /// The claim under which it was.
    pub claim: ClaimRef,
    /// When it is looked at again.
    pub due_at: Timestamp,
    /// How much longer it has waited then.
    pub waits: Duration,
    /// Why it waits.
    pub why: Arc<str>,
}

/// Gives claims back without an attempt, each until a time of its own, and stores why the mails wait.
pub async fn park(tx: &mut Tx<'_>, parked: &[Parked]) -> Result<()> {
    let claims: Vec<_> = parked.iter().map(|parked| parked.claim).collect();
    let [projects, ids, numbers] = claim_columns(&claims);
    let due = Arg::Ints(parked.iter().map(|parked| Some(parked.due_at.0)).collect());
    let waits = Arg::Ints(parked.iter().map(|parked| Some(millis(parked.waits))).collect());
    let why = Arg::Texts(parked.iter().map(|parked| Some((&*parked.why).into())).collect());
    tx.each(
        "update emails set due_at = r.due, claim = emails.claim + 1, waited_ms = emails.waited_ms + r.waits, \
         error = case when emails.recipient = '' then null else r.why end \
         from {rows r: project_id int, email_id id, claim int, due int, waits int, why text} \
         where emails.project_id = r.project_id and emails.id = r.email_id and emails.claim = r.claim \
         and emails.due_at is not null",
        &[projects, ids, numbers, due, waits, why],
    )
    .await?;
    Ok(())
}

/// Gives back the claim of a mail that was refused for a reason outside the mail, and stores why it waits. This is no
/// attempt, even if the content was already being sent.
pub async fn postpone(
    tx: &mut Tx<'_>,
    claim: ClaimRef,
    waits: Duration,
    error: &str,
    now: Timestamp,
) -> Result<()> {
    tx.execute(
        "update emails set status = 'PENDING', due_at = $4, claim = claim + 1, updated_at = $6, \
         waited_ms = waited_ms + $7, \
         error = case when recipient = '' then null else $5 end \
         where project_id = $1 and id = $2 and claim = $3 and due_at is not null",
        args![claim.project, claim.id, claim.claim, now.plus(waits), error, now, millis(waits)],
    )
    .await?;
    Ok(())
}

pub(super) fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
