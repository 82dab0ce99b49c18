//! Carrying campaigns out: what is to be done next, starting, freezing the audience, and the end.
//!
//! A step changes the campaign's own row first. That row is the lock, the lease and the cursor. So a step that is
//! interrupted, or tried by two processes at once, is done once.

use mailwright_core::address::EmailAddress;
use mailwright_core::campaign::{Audience, Campaign, CampaignStatus, Ledger};
use mailwright_core::contact::Contact;
use mailwright_core::email::{EmailStatus, Lane, Reason, RecipientState};
use mailwright_core::ids::{CampaignId, ContactId, EmailId, ProjectNumber};
use mailwright_core::template::TemplateType;
use mailwright_core::time::Timestamp;
use serde_json::Value as Json;

use super::ledger::{self, Retry};
use super::read_audience;
use crate::args;
use crate::audience::contact;
use crate::database::error::{Error, Result};
use crate::database::tx::{Row, Rx, Tx};
use crate::database::value::Arg;
use crate::insight::counter::{Counter, Deltas};
use crate::sending::email::NO_DEADLINE;

/// A campaign that there is something to do for.
#[derive(Debug, Clone)]
pub struct Run {
    /// Project.
    pub project: ProjectNumber,
    /// Which one.
    pub id: CampaignId,
    /// Where it stands.
    pub status: CampaignStatus,
    /// Kind of mail.
    pub kind: TemplateType,
    /// Subject, with variables.
    pub subject: String,
    /// Sender address.
    pub from: EmailAddress,
    /// Sender display name.
    pub from_name: Option<String>,
    /// Reply address.
    pub reply_to: Option<EmailAddress>,
    /// The audience.
    pub audience: Audience,
    /// When it started: contacts made later are not part of it.
    pub sent_at: Option<Timestamp>,
    /// What its mails say.
    pub content_hash: Vec<u8>,
    /// The last contact that was frozen.
    pub frozen_to: Option<ContactId>,
    /// When the whole audience was frozen.
    pub frozen_at: Option<Timestamp>,
    /// A retry that is under way.
    pub retry: Option<Retry>,
    /// Since when there is something to do for it.
    pub next_at: Timestamp,
}

/// The projects that have a campaign to be looked at, the longest due first. It goes from one project with a campaign
/// that is not over to the next, so that it does not matter how many projects there are.
pub async fn due_projects(rx: &mut Rx<'_>, now: Timestamp) -> Result<Vec<ProjectNumber>> {
    rx.all(
        "with recursive under_way(project_id) as (select cast(0 as {int}) union all select \
         (select c.project_id from campaigns c where c.project_id > u.project_id and c.next_at is not null \
         order by c.project_id, c.next_at limit 1) from under_way u where u.project_id is not null) \
         select d.project_id from (select u.project_id, (select c.next_at from campaigns c \
         where c.project_id = u.project_id and c.next_at is not null order by c.next_at limit 1) as next_at \
         from under_way u where u.project_id > 0) d where d.next_at <= $1 order by d.next_at, d.project_id",
        args![now],
        |r| r.get(0),
    )
    .await
}

/// Most campaigns of a project that are looked at together.
const TOGETHER: i64 = 100;

/// The campaigns of a project that there is something to do for.
#[derive(Debug, Default)]
pub struct Due {
    /// The campaigns that can be read.
    pub runs: Vec<Run>,
    /// The campaigns that cannot be read, and why.
    pub unreadable: Vec<(CampaignId, Error)>,
    /// Whether there may be more.
    pub more: bool,
}

/// The campaigns of a project that are to be looked at by the process `holder`, the longest due first.
pub async fn due(rx: &mut Rx<'_>, project: ProjectNumber, holder: i64, now: Timestamp) -> Result<Due> {
    let rows = rx
        .all(
            "select id, status, type, subject, from_address, from_name, reply_to, audience_type, segment_id, \
             {json_out condition}, sent_at, content_hash, frozen_to, frozen_at, {json_out retry}, project_id, next_at \
             from campaigns where project_id = $1 and next_at <= $2 and (lease_until <= $2 or lease_holder = $3) \
             order by next_at limit $4",
            args![project, now, holder, TOGETHER],
            |r| {
                let id: CampaignId = r.get(0)?;
                Ok(read_run(r).map_err(|error| (id, error)))
            },
        )
        .await?;
    let mut due = Due { more: rows.len() as i64 == TOGETHER, ..Due::default() };
    for row in rows {
        match row {
            Ok(run) => due.runs.push(run),
            Err(unreadable) => due.unreadable.push(unreadable),
        }
    }
    Ok(due)
}

fn read_run(r: &Row<'_>) -> Result<Run> {
    let retry: Option<Json> = r.get(14)?;
    Ok(Run {
        project: r.get(15)?,
        id: r.get(0)?,
        status: r.named(1, "campaigns.status", CampaignStatus::from_name)?,
        kind: r.named(2, "campaigns.type", TemplateType::from_name)?,
        subject: r.get(3)?,
        from: r.get(4)?,
        from_name: r.get(5)?,
        reply_to: r.get(6)?,
        audience: read_audience(r, 7)?,
        sent_at: r.get(10)?,
        content_hash: r.get::<Option<Vec<u8>>>(11)?.unwrap_or_default(),
        frozen_to: r.get(12)?,
        frozen_at: r.get(13)?,
        retry: match retry {
            None => None,
            Some(stored) => Some(Retry::from_json(&stored).ok_or(Error::Corrupt {
                column: 14,
                expected: "a retry",
                detail: "campaigns.retry cannot be read".into(),
            })?),
        },
        next_at: r.get(16)?,
    })
}

/// Whose step it is, and until when the others leave the campaign alone.
#[derive(Debug, Clone, Copy)]
pub struct Lease {
    /// The process.
    pub holder: i64,
    /// Now.
    pub now: Timestamp,
    /// The end.
    pub until: Timestamp,
}

/// Takes or extends the lease of a campaign that has a status; false when another process has it, or when the campaign
/// has another status by now. Until the transaction ends nobody else changes the campaign.
pub async fn lease(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    id: CampaignId,
    status: CampaignStatus,
    lease: Lease,
) -> Result<bool> {
    let touched = tx
        .execute(
            "update campaigns set lease_until = $5, lease_holder = $4, next_at = $3 where project_id = $1 and id = $2 \
             and status = $6 and next_at is not null and (lease_until <= $3 or lease_holder = $4)",
            args![project, id, lease.now, lease.holder, lease.until, status.as_str()],
        )
        .await?;
    Ok(touched == 1)
}

/// Notes what the mails of a campaign that starts say. [`super::save_state`] does the rest.
pub async fn start(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    id: CampaignId,
    content_hash: &[u8],
) -> Result<()> {
    tx.execute_one(
        "update campaigns set content_hash = $3, frozen_to = null, frozen_at = null where project_id = $1 and id = $2",
        args![project, id, content_hash],
    )
    .await
}

/// Moves on to the contact up to which the audience is frozen with this transaction, all of it when `last`. Returns
/// false when the campaign is not where the step began: another process was quicker, or it was cancelled. What a
/// campaign that is not paused said of its audience is no longer true then.
pub async fn advance(
    tx: &mut Tx<'_>,
    run: &Run,
    to: Option<ContactId>,
    last: bool,
    lease: Lease,
) -> Result<bool> {
    let frozen_at = last.then_some(lease.now);
    let touched = tx
        .execute(
            "update campaigns set frozen_to = coalesce($4, frozen_to), frozen_at = $5, lease_until = $7, lease_holder = $8, \
             next_at = $6, note = case when paused_at is null then null else note end \
             where project_id = $1 and id = $2 and status = 'SENDING' and frozen_at is null \
             and frozen_to is not distinct from $3 and (lease_until <= $6 or lease_holder = $8)",
            args![run.project, run.id, run.frozen_to, to, frozen_at, lease.now, lease.until, lease.holder],
        )
        .await?;
    Ok(touched == 1)
}

/// A contact of the audience as it is when it is frozen.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The contact.
    pub contact: Contact,
    /// Whether its address is suppressed.
    pub suppressed: bool,
}

/// The contacts with the given ids, as far as they still exist, in the order of their ids.
pub async fn candidates(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    ids: &[ContactId],
) -> Result<Vec<Candidate>> {
    let set = Arg::Ids(ids.iter().map(|id| Some((*id).into())).collect());
    rx.all(
        format!(
            "select {}, s.email is not null from contacts c \
             left join suppressions s on s.project_id = c.project_id and s.email = c.email \
             where c.project_id = $1 and c.id {{in $2}} order by c.id",
            contact::COLUMNS
        ),
        &[project.into(), set],
        |r| Ok(Candidate { contact: contact::read(r)?, suppressed: r.get(6)? }),
    )
    .await
}

/// Most bytes of contacts' data that a step of freezing takes.
const STEP_BYTES: i64 = 4 * 1024 * 1024;

/// How many of the first of some contacts, in the order of their ids, a step takes: all of them, unless their data is
/// more than it should hold in memory and write at once.
pub async fn fitting(rx: &mut Rx<'_>, project: ProjectNumber, ids: &[ContactId]) -> Result<usize> {
    let set = Arg::Ids(ids.iter().map(|id| Some((*id).into())).collect());
    let sizes = rx
        .all(
            "select id, {json_bytes data} from contacts where project_id = $1 and id {in $2} order by id",
            &[project.into(), set],
            |r| Ok((r.get::<ContactId>(0)?, r.get::<i64>(1)?)),
        )
        .await?;
    let mut bytes = 0;
    let beyond = sizes.iter().skip_while(|(_, size)| {
        bytes += size;
        bytes <= STEP_BYTES
    });
    let Some((first, _)) = beyond.into_iter().next() else { return Ok(ids.len()) };
    Ok(ids.iter().position(|id| id == first).unwrap_or(ids.len()).max(1))
}

/// The mail of one contact of the audience.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Identifier; its time is that of the step.
    pub id: EmailId,
    /// The contact that it is for.
    pub contact: ContactId,
    /// Address it goes to.
    pub recipient: EmailAddress,
    /// Values its variables have, as JSON text.
    pub variables: String,
    /// Why it is not sent, if it is not.
    pub skipped: Option<Reason>,
    /// `Message-ID` without angle brackets.
    pub message_id: String,
}

impl Entry {
    fn state(&self) -> (EmailStatus, RecipientState, Option<Reason>) {
        match self.skipped {
            Some(reason) => (EmailStatus::Skipped, RecipientState::Skipped, Some(reason)),
            None => (EmailStatus::Pending, RecipientState::Waiting, None),
        }
    }
}

/// Puts mails into the ledger of a campaign, those that are to be sent due at once. Contacts that are in it already
/// stay as they are.
pub async fn freeze(
    tx: &mut Tx<'_>,
    run: &Run,
    entries: &[Entry],
    deltas: &mut Deltas,
    now: Timestamp,
) -> Result<()> {
    fn texts<'a>(entries: &'a [Entry], text: impl Fn(&'a Entry) -> Option<&'a str>) -> Arg<'a> {
        Arg::Texts(entries.iter().map(|e| text(e).map(Into::into)).collect())
    }
    let source = Campaign::source(run.kind);
    let entered: std::collections::HashSet<EmailId> = tx
        .each_returning(
            "insert into emails (project_id, id, contact_id, recipient, variables, message_id, status, recipient_state, reason, \
             due_at, campaign_id, from_address, from_name, reply_to, subject, content_hash, source, type, lane, \
             created_at, updated_at, deadline_at, claim, attempts, in_doubt, log, opens, clicks) \
             select r.project_id, r.id, r.contact_id, r.recipient, r.variables, r.message_id, r.status, r.recipient_state, \
             r.reason, r.due_at, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $20, $21, 0, 0, 0, {json '[]'}, 0, 0 \
             from {rows r: project_id int, id id, contact_id id, recipient text, variables json, message_id text, \
             status text, recipient_state text, reason text, due_at int} where true \
             on conflict (project_id, campaign_id, contact_id) where campaign_id is not null do nothing returning id",
            &[
                Arg::Ints(vec![Some(run.project.0); entries.len()]),
                Arg::Ids(entries.iter().map(|e| Some(e.id.into())).collect()),
                Arg::Ids(entries.iter().map(|e| Some(e.contact.into())).collect()),
                texts(entries, |e| Some(e.recipient.as_str())),
                Arg::Jsons(entries.iter().map(|e| Some(e.variables.as_str().into())).collect()),
                texts(entries, |e| Some(&e.message_id)),
                texts(entries, |e| Some(e.state().0.as_str())),
                texts(entries, |e| Some(e.state().1.as_str())),
                texts(entries, |e| e.skipped.map(Reason::as_str)),
                Arg::Ints(entries.iter().map(|e| e.skipped.is_none().then_some(now.0)).collect()),
                run.id.into(),
                (&run.from).into(),
                run.from_name.as_deref().into(),
                run.reply_to.as_ref().unwrap_or(&run.from).into(),
                run.subject.as_str().into(),
                run.content_hash.as_slice().into(),
                source.as_str().into(),
                run.kind.as_str().into(),
                Lane::Campaign.number().into(),
                now.into(),
                NO_DEADLINE.into(),
            ],
            |r| r.get(0),
        )
        .await?
        .into_iter()
        .collect();
    for entry in entries.iter().filter(|entry| entered.contains(&entry.id)) {
        let (status, recipient_state, reason) = entry.state();
        deltas.add(run.project, Counter::Email, status.as_str(), 1);
        ledger::enter(deltas, run.project, run.id, (recipient_state, reason));
    }
    Ok(())
}

/// Stores how many mails a campaign makes, once all its audience is frozen.
pub async fn set_recipients(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    id: CampaignId,
    recipients: i64,
) -> Result<()> {
    tx.execute_one(
        "update campaigns set recipients = $3 where project_id = $1 and id = $2",
        args![project, id, recipients],
    )
    .await
}

/// How many mails forget their former address in one step.
const FORGET: i64 = 500;

/// Forgets the former addresses that the mails of a campaign were sent to. Returns whether there may be more.
pub async fn forget_former(tx: &mut Tx<'_>, project: ProjectNumber, id: CampaignId) -> Result<bool> {
    let touched = tx
        .execute(
            "update emails set former = null where project_id = $1 and id in \
             (select id from emails where project_id = $1 and campaign_id = $2 and former is not null limit $3)",
            args![project, id, FORGET],
        )
        .await?;
    Ok(touched as i64 == FORGET)
}

/// Stores the end of a campaign with the equation of its ledger.
pub async fn finish(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    campaign: &Campaign,
    balance: &Json,
) -> Result<()> {
    tx.execute_one(
        "update campaigns set balance = {json $3} where project_id = $1 and id = $2",
        args![project, campaign.id, balance],
    )
    .await?;
    super::save_state(tx, project, campaign).await
}

/// The equation that a campaign ended with.
pub async fn balance(rx: &mut Rx<'_>, project: ProjectNumber, id: CampaignId) -> Result<Option<Json>> {
    let found = rx
        .optional(
            "select {json_out balance} from campaigns where project_id = $1 and id = $2",
            args![project, id],
            |r| r.get::<Option<Json>>(0),
        )
        .await?;
    Ok(found.flatten())
}

/// Puts off looking at a campaign.
pub async fn put_off(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    id: CampaignId,
    until: Timestamp,
) -> Result<()> {
    tx.execute(
        "update campaigns set next_at = $3 where project_id = $1 and id = $2 and next_at is not null",
        args![project, id, until],
    )
    .await?;
    Ok(())
}

/// Puts off looking at campaigns of a project that only wait for their mails. One that something was done with since it
/// was read is left alone.
pub async fn wait(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    waiting: &[(CampaignId, CampaignStatus, Timestamp)],
    until: Timestamp,
) -> Result<()> {
    tx.each(
        "update campaigns set next_at = $5 from {rows r: project_id int, campaign_id id, status text, seen int} \
         where campaigns.project_id = r.project_id and campaigns.id = r.campaign_id and campaigns.next_at = r.seen \
         and campaigns.status = r.status and campaigns.retry is null",
        &[
            Arg::Ints(vec![Some(project.0); waiting.len()]),
            Arg::Ids(waiting.iter().map(|(id, ..)| Some((*id).into())).collect()),
            Arg::Texts(waiting.iter().map(|(_, status, _)| Some(status.as_str().into())).collect()),
            Arg::Ints(waiting.iter().map(|(.., seen)| Some(seen.0)).collect()),
            until.into(),
        ],
    )
    .await?;
    Ok(())
}

/// Those of some campaigns that end as soon as none of their mails waits.
pub async fn ending(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    campaigns: &[CampaignId],
) -> Result<Vec<CampaignId>> {
    let set = Arg::Ids(campaigns.iter().map(|id| Some((*id).into())).collect());
    rx.all(
        "select id from campaigns where project_id = $1 and id {in $2} and finished_at is null and retry is null \
         and (status = 'CANCELLED' or (status = 'SENDING' and frozen_at is not null))",
        &[project.into(), set],
        |r| r.get(0),
    )
    .await
}

/// The equation of a ledger as it is stored and shown.
pub fn equation(ledger: &Ledger) -> Json {
    let by_reason = |recipient_state| {
        let reasons = ledger.totals.iter().filter(|(s, ..)| *s == recipient_state);
        let named = reasons.map(|(_, reason, count)| {
            (reason.map_or("other", Reason::as_str).to_owned(), Json::from(*count))
        });
        Json::Object(named.collect())
    };
    serde_json::json!({
        "audience": ledger.audience,
        "waiting": ledger.count(RecipientState::Waiting),
        "accepted": ledger.count(RecipientState::Accepted),
        "skipped": by_reason(RecipientState::Skipped),
        "failed": by_reason(RecipientState::Failed),
        "inDoubt": ledger.count(RecipientState::InDoubt),
        "balanced": ledger.is_balanced(),
    })
}
