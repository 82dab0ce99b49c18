//! Mails: outbox, ledger and delivery log in one table, with one row for each recipient.
//!
//! `due_at` drives everything. A waiting mail is due at some time. A claim moves that time into the future, which is
//! the lease. A terminal mail has none. `claim` counts the claims, and only the holder of the newest may change a mail.
//! A claim waits for the locks of other transactions for a moment only.
//!
//! Attempts, doubts and the log grow in SQL ([`conclude`]): a worker adds one attempt and does not write the whole log,
//! so nothing that another owner stored is overwritten. A process that comes back after its lease, and knows that its
//! mail was taken, records that ([`conclude_late`]). A refusal that is not about the mail gives it back without an
//! attempt ([`postpone`]). A mail that is found `SENDING` after its lease has ended had an owner that died: it is in
//! doubt.
//!
//! The values of a mail are blanked when the mail is settled. A campaign's mail that did not go out keeps them, for a
//! retry.
//!
//! The mails of campaigns wait by campaign (see [`crate::sending::campaign::queue`]). The functions here that take a
//! lane are about all others.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::future::BoxFuture;
use mailwright_core::address::EmailAddress;
use mailwright_core::email::{EmailSource, EmailStatus, Lane, Reason, RecipientState};
use mailwright_core::ids::{CampaignId, ContactId, EmailId, ProjectNumber, TemplateId};
use mailwright_core::template::TemplateType;
use mailwright_core::time::Timestamp;
use serde_json::Value as Json;

use crate::args;
use crate::database::error::{Error, Result};
use crate::database::tx::{Row, Rx, Tx};
use crate::database::value::Arg;
use crate::delivery::delivery_stats;
use crate::insight::counter::{Counter, Deltas};
use crate::project;
use crate::sending::campaign::{self, ledger};

/// A mail to put into the outbox, of no campaign.
#[derive(Debug, Clone)]
pub struct NewEmail {
    /// Project.
    pub project: ProjectNumber,
    /// Identifier; its time is `at`.
    pub id: EmailId,
    /// Whom it is for.
    pub contact: ContactId,
    /// Address it goes to.
    pub recipient: EmailAddress,
    /// Name shown with that address.
    pub recipient_name: Option<String>,
    /// Sender address.
    pub from: EmailAddress,
    /// Sender name.
    pub from_name: Option<String>,
    /// Reply address.
    pub reply_to: Option<EmailAddress>,
    /// Subject before rendering.
    pub subject: String,
    /// What it says.
    pub content_hash: [u8; 32],
    /// Values its variables have, as JSON text.
    pub variables: String,
    /// What made it.
    pub source: EmailSource,
    /// Which kind of mail it is.
    pub kind: TemplateType,
    /// Queue.
    pub lane: Lane,
    /// Template it came from.
    pub template: Option<TemplateId>,
    /// `Message-ID` without angle brackets.
    pub message_id: String,
    /// When it was accepted.
    pub at: Timestamp,
}

/// What versions before look at, on nodes that are not upgraded yet, to see how long a mail may be tried: no end.
pub(crate) const NO_DEADLINE: i64 = i64::MAX;

/// Puts mails into the outbox, due at once. They are counted at once, and written when the future is awaited.
pub fn enqueue<'t>(tx: &'t Tx<'_>, emails: &'t [NewEmail], deltas: &mut Deltas) -> BoxFuture<'t, Result<()>> {
    for email in emails {
        deltas.add(email.project, Counter::Email, EmailStatus::Pending.as_str(), 1);
        if let Some(template) = email.template {
            deltas.add(email.project, Counter::Template, &template.to_string(), 1);
        }
    }
    Box::pin(insert(tx, emails))
}

async fn insert(tx: &Tx<'_>, emails: &[NewEmail]) -> Result<()> {
    fn texts<'a>(emails: &'a [NewEmail], text: impl Fn(&'a NewEmail) -> Option<&'a str>) -> Arg<'a> {
        Arg::Texts(emails.iter().map(|e| text(e).map(Into::into)).collect())
    }
    fn ints<'a>(emails: &[NewEmail], int: impl Fn(&NewEmail) -> i64) -> Arg<'a> {
        Arg::Ints(emails.iter().map(|e| Some(int(e))).collect())
    }
    tx.each(
        "insert into emails (project_id, id, contact_id, recipient, recipient_name, from_address, from_name, reply_to, \
         subject, content_hash, variables, source, type, lane, template_id, message_id, created_at, \
         deadline_at, updated_at, due_at, status, claim, attempts, in_doubt, log, opens, clicks) \
         select r.project_id, r.id, r.contact_id, r.recipient, r.recipient_name, r.from_address, r.from_name, r.reply_to, \
         r.subject, r.content_hash, r.variables, r.source, r.type, r.lane, r.template_id, r.message_id, \
         r.created_at, $18, r.created_at, r.created_at, 'PENDING', 0, 0, 0, {json '[]'}, 0, 0 \
         from {rows r: project_id int, id id, contact_id id, recipient text, recipient_name text, from_address text, \
         from_name text, reply_to text, subject text, content_hash bytes, variables json, source text, type text, \
         lane int, template_id id, message_id text, created_at int}",
        &[
            ints(emails, |e| e.project.0),
            Arg::Ids(emails.iter().map(|e| Some(e.id.into())).collect()),
            Arg::Ids(emails.iter().map(|e| Some(e.contact.into())).collect()),
            texts(emails, |e| Some(e.recipient.as_str())),
            texts(emails, |e| e.recipient_name.as_deref()),
            texts(emails, |e| Some(e.from.as_str())),
            texts(emails, |e| e.from_name.as_deref()),
            texts(emails, |e| e.reply_to.as_ref().map(EmailAddress::as_str)),
            texts(emails, |e| Some(&e.subject)),
            Arg::Blobs(emails.iter().map(|e| Some(e.content_hash.as_slice().into())).collect()),
            Arg::Jsons(emails.iter().map(|e| Some(e.variables.as_str().into())).collect()),
            texts(emails, |e| Some(e.source.as_str())),
            texts(emails, |e| Some(e.kind.as_str())),
            ints(emails, |e| e.lane.number()),
            Arg::Ids(emails.iter().map(|e| e.template.map(Into::into)).collect()),
            texts(emails, |e| Some(&e.message_id)),
            ints(emails, |e| e.at.0),
            NO_DEADLINE.into(),
        ],
    )
    .await?;
    Ok(())
}

/// A mail that this process may hand over until its lease ends.
#[derive(Debug, Clone)]
pub struct Claimed {
    /// Project.
    pub project: ProjectNumber,
    /// Identifier.
    pub id: EmailId,
    /// Number of the claim; see the module's text.
    pub claim: i64,
    /// Whom it is for.
    pub contact: ContactId,
    /// Address it goes to.
    pub recipient: EmailAddress,
    /// Name shown with that address.
    pub recipient_name: Option<String>,
    /// Sender address.
    pub from: EmailAddress,
    /// Sender name.
    pub from_name: Option<String>,
    /// Reply address.
    pub reply_to: Option<String>,
    /// What it says.
    pub content_hash: Vec<u8>,
    /// Values its variables have.
    pub variables: serde_json::Map<String, Json>,
    /// Which kind of mail it is.
    pub kind: TemplateType,
    /// What made it.
    pub source: EmailSource,
    /// Template it came from.
    pub template: Option<TemplateId>,
    /// Campaign it came from.
    pub campaign: Option<CampaignId>,
    /// Where it stood. [`EmailStatus::Sending`] means that an earlier hand-over was never concluded.
    pub status: EmailStatus,
    /// Hand-overs tried.
    pub attempts: i64,
    /// Hand-overs whose outcome nobody knows.
    pub in_doubt: i64,
    /// What happened so far: an array.
    pub log: Json,
    /// `Message-ID` without angle brackets.
    pub message_id: String,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// How long it has waited between attempts.
    pub waited: Duration,
    /// When it was first handed over, which is the date in it; `None` before.
    pub first_attempt_at: Option<Timestamp>,
}

/// The projects that may send and have a mail due in a lane. It goes from one project with mail that waits to the next
/// in the index of the queue, so that it does not matter how many projects there are.
pub async fn due_projects(rx: &mut Rx<'_>, lane: Lane, now: Timestamp) -> Result<Vec<ProjectNumber>> {
    let due = rx
        .all(
            "with recursive waiting(project_id) as (select cast(0 as {int}) union all select \
             (select e.project_id from emails e where e.project_id > w.project_id and e.due_at is not null \
             and e.campaign_id is null order by e.project_id, e.lane, e.due_at limit 1) \
             from waiting w where w.project_id is not null) \
             select w.project_id from waiting w where w.project_id > 0 and (select e.due_at from emails e \
             where e.project_id = w.project_id and e.campaign_id is null and e.lane = $1 and e.due_at is not null \
             order by e.due_at limit 1) <= $2",
            args![lane.number(), now],
            |r| r.get(0),
        )
        .await?;
    project::enabled(rx, due).await
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

/// Claims up to `limit` mails of a project that are due, the longest due first, until `lease_until`.
pub async fn claim(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    lane: Lane,
    limit: i64,
    now: Timestamp,
    lease_until: Timestamp,
) -> Result<Taken> {
    let rows = tx.all(
        format!(
            "with picked as (select id from emails where project_id = $1 and campaign_id is null and lane = $2 \
             and due_at <= $3 order by due_at limit $4 {{skip_locked}}) \
             update emails set due_at = $5, claim = claim + 1 \
             where project_id = $1 and id in (select id from picked) returning {CLAIMED}"
        ),
        args![project, lane.number(), now, limit, lease_until],
        read_taken,
    )
    .await?;
    Ok(Taken::of(rows))
}

/// What a claim took: mails, and rows that are no mail that can be read.
#[derive(Debug, Default)]
pub struct Taken {
    /// The mails.
    pub mails: Vec<Claimed>,
    /// The rows that cannot be read.
    pub unreadable: Vec<Unreadable>,
}

impl Taken {
    pub(crate) fn of(rows: Vec<Result<Claimed, Unreadable>>) -> Self {
        let mut taken = Self::default();
        for row in rows {
            match row {
                Ok(mail) => taken.mails.push(mail),
                Err(unreadable) => taken.unreadable.push(unreadable),
            }
        }
        taken
    }

    /// How many rows were taken.
    pub fn len(&self) -> usize {
        self.mails.len() + self.unreadable.len()
    }

    /// Whether nothing was taken.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds what another claim took.
    pub fn append(&mut self, more: Self) {
        self.mails.extend(more.mails);
        self.unreadable.extend(more.unreadable);
    }
}

/// A claimed row that cannot be read as a mail.
#[derive(Debug, Clone)]
pub struct Unreadable {
    /// Project.
    pub project: ProjectNumber,
    /// The claim; `None` where not even that can be read.
    pub claim: Option<ClaimRef>,
    /// The campaign of the mail.
    pub campaign: Option<CampaignId>,
    /// Whether its content may have been written to the next hop.
    pub is_doubtful: bool,
    /// The column that cannot be read.
    pub column: &'static str,
    /// What is wrong with it.
    pub error: Error,
}

impl Unreadable {
    /// The mail's identifier.
    pub fn id(&self) -> Option<EmailId> {
        self.claim.map(|claim| claim.id)
    }
}

/// Reads a claimed row. That it cannot be read is not an error of the claim, which may have taken others.
pub(crate) fn read_taken(row: &Row<'_>) -> Result<Result<Claimed, Unreadable>> {
    let error = match read_claimed(row) {
        Ok(mail) => return Ok(Ok(mail)),
        Err(error) => error,
    };
    let project: ProjectNumber = row.get(0)?;
    let claim = match (row.get(1), row.get(2)) {
        (Ok(id), Ok(claim)) => Some(ClaimRef { project, id, claim }),
        _ => None,
    };
    let place = if let Error::Corrupt { column, .. } = &error { Some(*column) } else { None };
    let column = place.and_then(|place| CLAIMED.split(", ").nth(place)).unwrap_or("unknown");
    let column = column.trim_start_matches("{json_or_raw ").trim_end_matches('}');
    let is_doubtful = row.get::<String>(15).is_ok_and(|status| status == EmailStatus::Sending.as_str());
    let campaign = row.get(14).ok().flatten();
    Ok(Err(Unreadable { project, claim, campaign, is_doubtful, column, error }))
}

/// Ends a claimed mail whose row cannot be read: it failed, or is in doubt where it may have been handed over. One that
/// cannot be tried once more forgets the values of its variables, as in [`conclude`]. Changes nothing when the claim is
/// no longer the newest.
pub async fn settle_unreadable(tx: &mut Tx<'_>, row: &Unreadable, now: Timestamp) -> Result<()> {
    let Some(claim) = row.claim else { return Ok(()) };
    let (status, reason) = if row.is_doubtful {
        (EmailStatus::InDoubt, None)
    } else {
        (EmailStatus::Failed, Some(Reason::Unrenderable))
    };
    let recipient_state = RecipientState::of(status);
    let touched = tx
        .execute(
            "update emails set claim = claim + 1, status = $4, due_at = null, reason = $5, recipient_state = $6, error = $7, \
             in_doubt = in_doubt + $8, updated_at = $9, \
             variables = case when campaign_id is null then {json $10} else variables end \
             where project_id = $1 and id = $2 and claim = $3 and due_at is not null",
            args![
                claim.project,
                claim.id,
                claim.claim,
                status.as_str(),
                reason.map(Reason::as_str),
                row.campaign.map(|_| recipient_state.as_str()),
                format!("The stored mail cannot be read: {}.", row.column),
                i64::from(row.is_doubtful),
                now,
                Arg::Json("{}".into()),
            ],
        )
        .await?;
    if touched == 0 {
        return Ok(());
    }
    let mut deltas = Deltas::default();
    move_count(&mut deltas, claim.project, EmailStatus::Pending, status);
    if let Some(campaign) = row.campaign {
        ledger::shift(
            &mut deltas,
            claim.project,
            campaign,
            (RecipientState::Waiting, None),
            (recipient_state, reason),
        );
    }
    delivery_stats::count(&mut deltas, claim.project, status, now);
    deltas.save(tx).await
}

pub(crate) const CLAIMED: &str = "project_id, id, claim, contact_id, recipient, recipient_name, from_address, from_name, \
     reply_to, content_hash, {json_or_raw variables}, type, source, template_id, campaign_id, status, attempts, in_doubt, \
     {json_or_raw log}, message_id, created_at, waited_ms, first_attempt_at";

fn read_claimed(row: &Row<'_>) -> Result<Claimed> {
    Ok(Claimed {
        project: row.get(0)?,
        id: row.get(1)?,
        claim: row.get(2)?,
        contact: row.get(3)?,
        recipient: row.get(4)?,
        recipient_name: row.get(5)?,
        from: row.get(6)?,
        from_name: row.get(7)?,
        reply_to: row.get(8)?,
        content_hash: row.get(9)?,
        variables: row.get(10)?,
        kind: row.named(11, "emails.type", TemplateType::from_name)?,
        source: row.named(12, "emails.source", EmailSource::from_name)?,
        template: row.get(13)?,
        campaign: row.get(14)?,
        status: row.named(15, "emails.status", EmailStatus::from_name)?,
        attempts: row.get(16)?,
        in_doubt: row.get(17)?,
        log: row.get(18)?,
        message_id: row.get(19)?,
        created_at: row.get(20)?,
        waited: Duration::from_millis(u64::try_from(row.get::<i64>(21)?).unwrap_or(0)),
        first_attempt_at: row.get(22)?,
    })
}

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

fn claim_columns(claims: &[ClaimRef]) -> [Arg<'static>; 3] {
    [
        Arg::Ints(claims.iter().map(|c| Some(c.project.0)).collect()),
        Arg::Ids(claims.iter().map(|c| Some(c.id.into())).collect()),
        Arg::Ints(claims.iter().map(|c| Some(c.claim)).collect()),
    ]
}

/// A mail whose content is going to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// The claim under which it is.
    pub claim: ClaimRef,
    /// The date in it.
    pub first_attempt_at: Timestamp,
}

/// Notes, just before it happens, that the content of mails is going to be written. Returns those that may go on: the
/// others were taken over or removed meanwhile.
pub async fn mark_sending(tx: &Tx<'_>, marks: &[Mark], lease_until: Timestamp) -> Result<Vec<EmailId>> {
    let claims: Vec<_> = marks.iter().map(|mark| mark.claim).collect();
    let [projects, ids, numbers] = claim_columns(&claims);
    let dates = Arg::Ints(marks.iter().map(|mark| Some(mark.first_attempt_at.0)).collect());
    tx.each_returning(
        "update emails set status = 'SENDING', due_at = $5, first_attempt_at = r.dated \
         from {rows r: project_id int, email_id id, claim int, dated int} \
         where emails.project_id = r.project_id and emails.id = r.email_id and emails.claim = r.claim \
         and emails.due_at is not null returning id",
        &[projects, ids, numbers, dates, lease_until.into()],
        |r| r.get(0),
    )
    .await
}

/// Keeps claims until `lease_until`. A mail that is being written at this moment is left alone: waiting for it could
/// make two transactions wait for each other, and its own change sets the lease anyway.
pub async fn extend(tx: &mut Tx<'_>, claims: &[ClaimRef], lease_until: Timestamp) -> Result<()> {
    let [projects, ids, numbers] = claim_columns(claims);
    tx.each(
        "with held as (select e.project_id as project, e.id as email \
         from {rows r: project_id int, email_id id, claim int} join emails e on e.project_id = r.project_id \
         and e.id = r.email_id and e.claim = r.claim where e.due_at is not null {skip_locked}) \
         update emails set due_at = $4 from held where emails.project_id = held.project and emails.id = held.email",
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

/// Gives a claim back whose mail was refused for a reason that is not its own, and says why it waits. It counts as no
/// attempt, also where the content was on its way already.
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

/// What became of a hand-over.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The claim under which it was made.
    pub claim: ClaimRef,
    /// The campaign of the mail.
    pub campaign: Option<CampaignId>,
    /// Where the mail stood when it was claimed.
    pub from: EmailStatus,
    /// Where it stands now.
    pub status: EmailStatus,
    /// When it is tried again; `None` in a terminal state.
    pub due_at: Option<Timestamp>,
    /// How long it waits until then.
    pub waits: Duration,
    /// Whether nobody knows what this hand-over came to.
    pub is_doubt: bool,
    /// What happened, as it stands in the mail's log: the text of a JSON object. It gets its number when it is stored.
    pub attempt: String,
    /// Why it is not sent, where it is not, in words.
    pub error: Option<String>,
    /// Why it is not sent, where it is not and will not be.
    pub reason: Option<Reason>,
    /// Rendered subject; `None` where it was not rendered.
    pub subject: Option<String>,
    /// When the next hop took it.
    pub sent_at: Option<Timestamp>,
    /// When it was refused for good.
    pub bounced_at: Option<Timestamp>,
}

impl Outcome {
    fn recipient_state(&self) -> RecipientState {
        RecipientState::of(self.status)
    }
}

/// Counts a mail under another status.
pub(crate) fn move_count(deltas: &mut Deltas, project: ProjectNumber, from: EmailStatus, to: EmailStatus) {
    // the sums tell waiting from finished; whether a waiting mail is on the wire changes too fast to count
    let counted = |status| if status == EmailStatus::Sending { EmailStatus::Pending } else { status };
    deltas.add(project, Counter::Email, counted(from).as_str(), -1);
    deltas.add(project, Counter::Email, counted(to).as_str(), 1);
}

/// Which outcomes were stored.
#[derive(Debug, Default)]
pub struct Concluded {
    /// The mails that were changed.
    pub changed: HashSet<EmailId>,
    /// Those of them whose contact was removed while they were on the wire.
    pub without_contact: HashSet<EmailId>,
}

/// Stores outcomes. An outcome under a claim that is no longer the newest, or of a mail that was removed or skipped
/// meanwhile, changes nothing. Only the knowledge that a mail was sent is worth more than a newer claim; where the mail
/// waits no more, [`conclude_late`] stores it. There must be one outcome per mail. It ends the claim, so that nothing
/// late can change what it says.
///
/// Attempts, doubts and the log only ever grow from what is stored: another owner may have added to them since the mail
/// was claimed.
///
/// A mail that is not rendered again forgets the values of its variables, which may open an account. One of a campaign
/// that did not go out can be tried once more, and keeps them.
///
/// A mail whose contact was removed meanwhile has no recipient any more, and its recipient and text are not written
/// back.
pub async fn conclude(
    tx: &Tx<'_>,
    outcomes: &[Outcome],
    deltas: &mut Deltas,
    now: Timestamp,
) -> Result<Concluded> {
    let claims: Vec<_> = outcomes.iter().map(|o| o.claim).collect();
    let [projects, ids, numbers] = claim_columns(&claims);
    let stored: Vec<(EmailId, bool)> = tx
        .each_returning(
            "update emails set claim = emails.claim + 1, status = r.status, due_at = r.due_at, \
             attempts = emails.attempts + 1, in_doubt = emails.in_doubt + r.doubts, \
             waited_ms = emails.waited_ms + r.waits, sent_claim = case when r.status = 'SENT' then r.claim end, \
             recipient_state = r.recipient_state, reason = r.reason, sent_at = r.sent_at, bounced_at = r.bounced_at, \
             updated_at = $15, \
             variables = case when r.due_at is null and (r.status = 'SENT' or emails.campaign_id is null) \
             then {json $16} else emails.variables end, \
             log = case when emails.recipient = '' then emails.log else {log_and} r.attempt {numbered} end, \
             error = case when emails.recipient = '' then null else r.error end, \
             subject = case when emails.recipient = '' then '' else coalesce(r.subject, emails.subject) end \
             from {rows r: project_id int, email_id id, claim int, status text, due_at int, waits int, doubts int, \
             attempt json, error text, subject text, sent_at int, bounced_at int, recipient_state text, reason text} \
             where emails.project_id = r.project_id and emails.id = r.email_id and emails.due_at is not null \
             and (emails.claim = r.claim or r.status = 'SENT') returning id, recipient = ''",
            &[
                projects,
                ids,
                numbers,
                Arg::Texts(outcomes.iter().map(|o| Some(o.status.as_str().into())).collect()),
                Arg::Ints(outcomes.iter().map(|o| o.due_at.map(|t| t.0)).collect()),
                Arg::Ints(outcomes.iter().map(|o| Some(millis(o.waits))).collect()),
                Arg::Ints(outcomes.iter().map(|o| Some(o.is_doubt.into())).collect()),
                Arg::Jsons(outcomes.iter().map(|o| Some(o.attempt.as_str().into())).collect()),
                Arg::Texts(outcomes.iter().map(|o| o.error.as_deref().map(Into::into)).collect()),
                Arg::Texts(outcomes.iter().map(|o| o.subject.as_deref().map(Into::into)).collect()),
                Arg::Ints(outcomes.iter().map(|o| o.sent_at.map(|t| t.0)).collect()),
                Arg::Ints(outcomes.iter().map(|o| o.bounced_at.map(|t| t.0)).collect()),
                Arg::Texts(
                    outcomes.iter().map(|o| o.campaign.map(|_| o.recipient_state().as_str().into())).collect(),
                ),
                Arg::Texts(outcomes.iter().map(|o| o.reason.map(|reason| reason.as_str().into())).collect()),
                now.into(),
                Arg::Json("{}".into()),
            ],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )
        .await?;
    let changed: HashSet<EmailId> = stored.iter().map(|(id, _)| *id).collect();
    for outcome in outcomes.iter().filter(|o| changed.contains(&o.claim.id)) {
        move_count(deltas, outcome.claim.project, outcome.from, outcome.status);
        if let Some(campaign) = outcome.campaign {
            let (from, to) = ((RecipientState::Waiting, None), (outcome.recipient_state(), outcome.reason));
            ledger::shift(deltas, outcome.claim.project, campaign, from, to);
            ledger::count_bounces(deltas, outcome.claim.project, campaign, outcome.status, 1);
        }
        delivery_stats::count(deltas, outcome.claim.project, outcome.status, now);
    }
    let without_contact = stored.into_iter().filter(|(_, gone)| *gone).map(|(id, _)| id).collect();
    Ok(Concluded { changed, without_contact })
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// What is stored of a mail that was sent without waiting any more.
struct Ended {
    status: EmailStatus,
    reason: Option<Reason>,
    sent_claim: Option<i64>,
    without_contact: bool,
}

/// Stores that mails were taken although, as [`conclude`] found, they wait no more: a former owner came back after
/// another process had settled the mail, or the new owner handed over a mail that the former one had handed over as
/// well.
///
/// Each is an attempt of its own in the log, and the mail is in doubt from then on, since it may have left twice. A
/// mail that was given up, or held in doubt, is known to be sent now. Mails that become sent are added to `concluded`.
pub async fn conclude_late(
    tx: &mut Tx<'_>,
    outcomes: &[Outcome],
    concluded: &mut Concluded,
    deltas: &mut Deltas,
    now: Timestamp,
) -> Result<()> {
    for outcome in outcomes {
        let (project, id) = (outcome.claim.project, outcome.claim.id);
        if outcome.status != EmailStatus::Sent || concluded.changed.contains(&id) {
            continue;
        }
        let Some(ended) = ended(tx, project, id).await? else { continue };
        if ended.sent_claim == Some(outcome.claim.claim) {
            continue; // written once more, because the answer to the commit was lost
        }
        // what bounced after all stays so: the address refused the other copy
        let is_settled = matches!(
            ended.status,
            EmailStatus::Sent
                | EmailStatus::Delivered
                | EmailStatus::Opened
                | EmailStatus::Clicked
                | EmailStatus::Complained
                | EmailStatus::Bounced
        );
        append_sent(tx, outcome, &ended, is_settled, now).await?;
        if is_settled {
            continue;
        }
        move_count(deltas, project, ended.status, EmailStatus::Sent);
        if let Some(campaign) = outcome.campaign {
            let (from, to) =
                ((RecipientState::of(ended.status), ended.reason), (RecipientState::Accepted, None));
            ledger::shift(deltas, project, campaign, from, to);
        }
        delivery_stats::count(deltas, project, EmailStatus::Sent, now);
        concluded.changed.insert(id);
        if ended.without_contact {
            concluded.without_contact.insert(id);
        }
    }
    Ok(())
}

async fn ended(tx: &mut Tx<'_>, project: ProjectNumber, id: EmailId) -> Result<Option<Ended>> {
    tx.optional(
        "select status, reason, sent_claim, recipient = '' from emails where project_id = $1 and id = $2 {for_update}",
        args![project, id],
        |r| {
            Ok(Ended {
                status: r.named(0, "emails.status", EmailStatus::from_name)?,
                reason: r.named_or_null(1, "emails.reason", Reason::from_name)?,
                sent_claim: r.get(2)?,
                without_contact: r.get(3)?,
            })
        },
    )
    .await
}

async fn append_sent(
    tx: &mut Tx<'_>,
    outcome: &Outcome,
    ended: &Ended,
    is_settled: bool,
    now: Timestamp,
) -> Result<()> {
    let status = if is_settled { ended.status } else { EmailStatus::Sent };
    let reason = if is_settled { ended.reason } else { None };
    let recipient_state = outcome.campaign.map(|_| RecipientState::of(status).as_str());
    tx.execute_one(
        "update emails set claim = claim + 1, status = $3, recipient_state = $4, reason = $5, due_at = null, \
         attempts = emails.attempts + 1, in_doubt = case when in_doubt > 0 then in_doubt else 1 end, sent_claim = $6, \
         sent_at = coalesce(sent_at, $7), updated_at = $8, error = case when $3 = 'SENT' then null else error end, \
         variables = case when $3 = 'SENT' then {json $11} else variables end, \
         log = case when recipient = '' then log else {log_and} {json $9} {numbered} end, \
         subject = case when recipient = '' then '' else coalesce($10, subject) end where project_id = $1 and id = $2",
        args![
            outcome.claim.project,
            outcome.claim.id,
            status.as_str(),
            recipient_state,
            reason.map(Reason::as_str),
            outcome.claim.claim,
            outcome.sent_at,
            now,
            Arg::Json(outcome.attempt.as_str().into()),
            outcome.subject.as_deref(),
            Arg::Json("{}".into()),
        ],
    )
    .await
}

/// How far ahead of now a mail may be due that nobody has taken up yet, in milliseconds: nodes' clocks differ a little.
const AHEAD: i64 = 5_000;
/// Mails that are brought forward together.
const FORWARD: i64 = 500;

/// Whether a project has something that waits further in the future than [`bring_forward`] leaves alone, as far as a
/// short look tells: mails, or a campaign under way.
pub async fn waits_ahead(rx: &mut Rx<'_>, project: ProjectNumber, now: Timestamp) -> Result<bool> {
    let ahead = Timestamp(now.0 + AHEAD);
    for lane in Lane::ALL {
        let found = rx
            .exists(
                "select 1 from emails where project_id = $1 and campaign_id is null and lane = $2 and due_at > $3 limit 1",
                args![project, lane.number(), ahead],
            )
            .await?;
        if found {
            return Ok(true);
        }
    }
    rx.exists(
        "select 1 from campaigns where project_id = $1 and next_at is not null and status in ('SENDING', 'CANCELLED') limit 1",
        args![project],
    )
    .await
}

/// Brings mails forward that were stored by a clock which was ahead: one that nobody has taken up yet is due at once,
/// and no other later than `latest`. Returns whether there may be more.
pub async fn bring_forward(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    now: Timestamp,
    latest: Timestamp,
) -> Result<bool> {
    let ahead = Timestamp(now.0 + AHEAD);
    let mut queues: Vec<(&str, Arg<'_>)> = Vec::new();
    for lane in Lane::ALL {
        queues.push(("campaign_id is null and lane = $6", lane.number().into()));
    }
    for campaign in campaign::under_way(tx, project).await? {
        queues.push(("campaign_id = $6", campaign.into()));
    }
    let mut more = false;
    for (queue, of) in queues {
        let touched = tx
            .execute(
                format!(
                    "update emails set due_at = case when claim = 0 then $2 else $4 end \
                     where project_id = $1 and id in (select id from emails where project_id = $1 and {queue} \
                     and due_at > $3 and (claim = 0 or due_at > $4) order by due_at limit $5 {{skip_locked}})"
                ),
                &[project.into(), now.into(), ahead.into(), latest.into(), FORWARD.into(), of],
            )
            .await?;
        more |= touched as i64 == FORWARD;
    }
    Ok(more)
}

/// A mail as lists show it.
#[derive(Debug, Clone)]
pub struct Email {
    /// Identifier.
    pub id: EmailId,
    /// Whom it is for.
    pub contact: ContactId,
    /// Address it goes to.
    pub recipient: String,
    /// Name shown with that address.
    pub recipient_name: Option<String>,
    /// Subject; rendered once the mail was handed over.
    pub subject: String,
    /// Sender address.
    pub from: String,
    /// Sender name.
    pub from_name: Option<String>,
    /// Reply address.
    pub reply_to: Option<String>,
    /// What made it.
    pub source: EmailSource,
    /// Template it came from.
    pub template: Option<TemplateId>,
    /// Campaign it came from.
    pub campaign: Option<CampaignId>,
    /// `Message-ID` without angle brackets.
    pub message_id: String,
    /// Where it stands.
    pub status: EmailStatus,
    /// Hand-overs tried.
    pub attempts: i64,
    /// Hand-overs whose outcome nobody knows.
    pub in_doubt: i64,
    /// When it is looked at again.
    pub due_at: Option<Timestamp>,
    /// Why it is not sent, in words.
    pub error: Option<String>,
    /// Why it is not sent.
    pub reason: Option<Reason>,
    /// Where it stands in its campaign's ledger.
    pub recipient_state: Option<RecipientState>,
    /// What happened so far: an array.
    pub log: Json,
    /// Opens counted.
    pub opens: i64,
    /// Clicks counted.
    pub clicks: i64,
    /// Sent, delivered, opened, clicked, bounced and complained, in this order.
    pub times: [Option<Timestamp>; 6],
    /// When it was accepted.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

pub(crate) const COLUMNS: &str = "id, contact_id, recipient, recipient_name, subject, from_address, from_name, reply_to, source, \
     template_id, campaign_id, message_id, status, attempts, in_doubt, due_at, error, {json_or_raw log}, opens, clicks, \
     sent_at, delivered_at, opened_at, clicked_at, bounced_at, complained_at, created_at, updated_at, reason, recipient_state";

pub(crate) fn read(row: &Row<'_>) -> Result<Email> {
    Ok(Email {
        id: row.get(0)?,
        contact: row.get(1)?,
        recipient: row.get(2)?,
        recipient_name: row.get(3)?,
        subject: row.get(4)?,
        from: row.get(5)?,
        from_name: row.get(6)?,
        reply_to: row.get(7)?,
        source: row.named(8, "emails.source", EmailSource::from_name)?,
        template: row.get(9)?,
        campaign: row.get(10)?,
        message_id: row.get(11)?,
        status: row.named(12, "emails.status", EmailStatus::from_name)?,
        attempts: row.get(13)?,
        in_doubt: row.get(14)?,
        due_at: row.get(15)?,
        error: row.get(16)?,
        log: row.get(17)?,
        opens: row.get(18)?,
        clicks: row.get(19)?,
        times: [row.get(20)?, row.get(21)?, row.get(22)?, row.get(23)?, row.get(24)?, row.get(25)?],
        created_at: row.get(26)?,
        updated_at: row.get(27)?,
        reason: row.named_or_null(28, "emails.reason", Reason::from_name)?,
        recipient_state: row.named_or_null(29, "emails.recipient_state", RecipientState::from_name)?,
    })
}

/// A row of a list that cannot be read as a mail.
#[derive(Debug)]
pub struct Illegible {
    /// The mail's identifier.
    pub id: EmailId,
    /// What stands in its reason, by which the mails of a campaign are listed.
    pub reason: String,
    /// What is wrong with it.
    pub error: Error,
}

/// Reads a row of a list. One that cannot be read must not keep the others from being shown.
pub(crate) fn read_listed(row: &Row<'_>) -> Result<Result<Email, Illegible>> {
    let error = match read(row) {
        Err(error @ Error::Corrupt { .. }) => error,
        other => return other.map(Ok),
    };
    let reason = row.get::<Option<String>>(28).ok().flatten().unwrap_or_default();
    Ok(Err(Illegible { id: row.get(0)?, reason, error }))
}

/// Whether there is a mail to a contact, however much of it can be read.
pub async fn is_to(rx: &mut Rx<'_>, project: ProjectNumber, id: EmailId, contact: ContactId) -> Result<bool> {
    rx.exists(
        "select 1 from emails where project_id = $1 and id = $2 and contact_id = $3",
        args![project, id, contact],
    )
    .await
}

/// One mail.
pub async fn get(rx: &mut Rx<'_>, project: ProjectNumber, id: EmailId) -> Result<Option<Email>> {
    rx.optional(
        format!("select {COLUMNS} from emails where project_id = $1 and id = $2"),
        args![project, id],
        read,
    )
    .await
}

/// A page of a list.
#[derive(Debug, Clone, Copy)]
pub struct List {
    /// Most rows.
    pub limit: usize,
    /// The last row of the page before.
    pub after: Option<EmailId>,
    /// Only this status.
    pub status: Option<EmailStatus>,
    /// Only this contact.
    pub contact: Option<ContactId>,
}

/// Reads a page of mails, newest first.
pub async fn list(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    list: List,
) -> Result<Vec<Result<Email, Illegible>>> {
    let mut args: Vec<Arg<'_>> = vec![project.into(), list.limit.into()];
    let mut filter = String::new();
    if let Some(after) = list.after {
        args.push(after.into());
        filter += &format!(" and id < ${}", args.len());
    }
    if let Some(contact) = list.contact {
        args.push(contact.into());
        filter += &format!(" and contact_id = ${}", args.len());
    }
    if let Some(status) = list.status {
        // in the text, so that the partial index applies
        filter += &format!(" and status = '{}'", status.as_str());
    }
    rx.all(
        format!("select {COLUMNS} from emails where project_id = $1{filter} order by id desc limit $2"),
        &args,
        read_listed,
    )
    .await
}

/// How many mails a list has in all.
pub async fn total(rx: &mut Rx<'_>, project: ProjectNumber, list: List) -> Result<i64> {
    let Some(contact) = list.contact else {
        let counts = crate::insight::counter::values(rx, project, Counter::Email).await?;
        let of = |name: &str| counts.iter().find(|(n, _)| n == name).map_or(0, |(_, count)| *count);
        return Ok(match list.status {
            None => counts.iter().map(|(_, count)| count).sum(),
            Some(EmailStatus::Pending) => of("PENDING") - sending(rx, project).await?,
            Some(EmailStatus::Sending) => sending(rx, project).await?,
            Some(status) => of(status.as_str()),
        });
    };
    let filter = list.status.map(|s| format!(" and status = '{}'", s.as_str())).unwrap_or_default();
    rx.one(
        format!("select count(*) from emails where project_id = $1 and contact_id = $2{filter}"),
        args![project, contact],
        |r| r.get(0),
    )
    .await
}

async fn sending(rx: &mut Rx<'_>, project: ProjectNumber) -> Result<i64> {
    rx.one("select count(*) from emails where project_id = $1 and status = 'SENDING'", args![project], |r| {
        r.get(0)
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::db::{Db, Location, StoreMetrics};
    use crate::database::migrate::migrate;
    use crate::database::migrate::tests::Database;

    const ONE: ProjectNumber = ProjectNumber(1);
    const NOW: Timestamp = Timestamp(1_741_608_000_000);
    const VALUES: &str = r#"{"code":"secret"}"#;

    /// Stores a mail with values.
    async fn store(
        tx: &Tx<'_>,
        campaign: Option<CampaignId>,
        status: EmailStatus,
        due: bool,
    ) -> Result<ClaimRef> {
        let claim = ClaimRef { project: ONE, id: EmailId::new(NOW, rand::random()), claim: 3 };
        tx.execute_one(
            "insert into emails (project_id, id, contact_id, recipient, from_address, subject, content_hash, \
             variables, source, type, lane, campaign_id, status, due_at, claim, attempts, in_doubt, log, message_id, \
             opens, clicks, deadline_at, created_at, updated_at) values ($1, $2, $2, 'r', 'f', 's', $3, {json $4}, \
             'CAMPAIGN', 'MARKETING', 0, $5, $6, $7, $8, 0, 0, {json '[]'}, 'm', 0, 0, 0, 0, 0)",
            args![
                ONE,
                claim.id,
                &[0; 32][..],
                Arg::Json(VALUES.into()),
                campaign,
                status.as_str(),
                due.then_some(NOW),
                claim.claim,
            ],
        )
        .await?;
        Ok(claim)
    }

    async fn keeps_values(rx: &Rx<'_>, claim: ClaimRef) -> Result<bool> {
        let sql = "select {json_out variables} from emails where project_id = $1 and id = $2";
        let values = rx.one(sql, args![ONE, claim.id], |r| r.get::<Json>(0)).await?;
        Ok(values == serde_json::from_str::<Json>(VALUES).unwrap())
    }

    /// Has the former owner of a campaign's mail, which ended as given, say that it was sent.
    async fn sent_after(tx: &mut Tx<'_>, status: EmailStatus) -> Result<bool> {
        let campaign = CampaignId::new(NOW, rand::random());
        let claim = store(tx, Some(campaign), status, false).await?;
        let outcome = Outcome {
            claim,
            campaign: Some(campaign),
            from: EmailStatus::Sending,
            status: EmailStatus::Sent,
            due_at: None,
            waits: Duration::ZERO,
            is_doubt: false,
            attempt: "{}".into(),
            error: None,
            reason: None,
            subject: None,
            sent_at: Some(NOW),
            bounced_at: None,
        };
        conclude_late(tx, &[outcome], &mut Concluded::default(), &mut Deltas::default(), NOW).await?;
        keeps_values(tx, claim).await
    }

    async fn unreadable(tx: &mut Tx<'_>, campaign: Option<CampaignId>) -> Result<bool> {
        let claim = store(tx, campaign, EmailStatus::Pending, true).await?;
        let error = Error::NotFound;
        let row = Unreadable {
            project: ONE,
            claim: Some(claim),
            campaign,
            is_doubtful: false,
            column: "log",
            error,
        };
        settle_unreadable(tx, &row, NOW).await?;
        keeps_values(tx, claim).await
    }

    #[tokio::test]
    async fn values_stay_only_where_a_mail_can_be_tried_once_more() {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Sqlite(folder.path().join("email.sqlite"));
        let sqlite = Db::open(&location, StoreMetrics::default()).unwrap();
        let database = Database::create("values").await;
        for db in [sqlite, database.open()] {
            migrate(&db, NOW).await.unwrap();
            let kept = db.write(|tx| {
                Box::pin(async move {
                    let mut kept = Vec::new();
                    for status in [EmailStatus::Failed, EmailStatus::InDoubt, EmailStatus::Bounced] {
                        kept.push(sent_after(tx, status).await?);
                    }
                    for campaign in [None, Some(CampaignId::new(NOW, rand::random()))] {
                        kept.push(unreadable(tx, campaign).await?);
                    }
                    Ok::<_, Error>(kept)
                })
            });
            assert_eq!(kept.await.unwrap(), [false, false, true, false, true]);
        }
        database.drop().await;
    }
}
