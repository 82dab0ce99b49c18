//! What is learnt of a mail after it left: that it was delivered, opened, clicked, refused by a later host, or called
//! spam.
//!
//! The status of a mail only moves up (reference 4.1): `SENT`, `DELIVERED`, `OPENED`, `CLICKED`, `BOUNCED`,
//! `COMPLAINED`. Times and counts are kept in any case. What is learnt of a mail that was given up, or held in doubt,
//! shows that it left after all.

use mailwright_core::address::EmailAddress;
use mailwright_core::email::{EmailSource, EmailStatus, Reason, RecipientState};
use mailwright_core::event::Activity;
use mailwright_core::ids::{CampaignId, ContactId, EmailId, ProjectNumber, StepId, TemplateId, WorkflowId};
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::figures::Figure;

use crate::args;
use crate::automation::figures;
use crate::database::error::Result;
use crate::database::tx::{Row, Tx};
use crate::database::value::Arg;
use crate::delivery::delivery_stats;
use crate::insight::deltas::Deltas;
use crate::sending::campaign::ledger;
use crate::sending::email::count::move_count;

/// A mail that something was learnt of, as it stands now.
#[derive(Debug, Clone)]
pub struct Learnt {
    /// Identifier.
    pub id: EmailId,
    /// Contact that it was for.
    pub contact: ContactId,
    /// Address that it went to; `None` when the contact was removed.
    pub recipient: Option<EmailAddress>,
    /// Rendered subject.
    pub subject: String,
    /// Sender address.
    pub from: EmailAddress,
    /// Sender name.
    pub from_name: Option<String>,
    /// `Message-ID` without angle brackets.
    pub message_id: String,
    /// What made it.
    pub source: EmailSource,
    /// Template it came from.
    pub template: Option<TemplateId>,
    /// Campaign it came from.
    pub campaign: Option<CampaignId>,
    /// State of the job.
    pub status: EmailStatus,
    /// How often it was opened.
    pub opens: i64,
    /// How often a link in it was followed.
    pub clicks: i64,
    /// Whether this was learnt of it for the first time.
    pub is_first: bool,
}

/// What became of the news.
#[derive(Debug, Clone)]
pub enum Received {
    /// They are stored.
    Stored(Box<Learnt>),
    /// The mail waits, or is being handed over: the outcome of the hand-over has to be stored first.
    TooEarly,
    /// The project has no such mail, or it was never handed over.
    Unknown,
}

/// Stores what was learnt of a mail, with the counters that follow from it. [`Activity::Sent`] is not news: the ledger of
/// hand-overs stores it.
pub async fn store(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    id: EmailId,
    activity: Activity,
    at: Timestamp,
    deltas: &mut Deltas,
) -> Result<Received> {
    let Some((mut mail, before)) = locked(tx, project, id, activity).await? else {
        return Ok(Received::Unknown);
    };
    match before.status {
        EmailStatus::Pending | EmailStatus::Sending => return Ok(Received::TooEarly),
        EmailStatus::Skipped => return Ok(Received::Unknown),
        _ => {}
    }
    mail.status = moved(before.status, activity);
    mail.opens += i64::from(activity == Activity::Opened);
    mail.clicks += i64::from(activity == Activity::Clicked);
    write(tx, project, &mail, &before, activity, at).await?;
    count(deltas, project, &mail, &before, activity, at);
    Ok(Received::Stored(Box::new(mail)))
}

/// Where the mail stood.
struct Before {
    status: EmailStatus,
    reason: Option<Reason>,
    /// The step that made the mail.
    origin: Option<(WorkflowId, StepId)>,
}

/// The column with the time at which something was first learnt.
fn column(activity: Activity) -> &'static str {
    match activity {
        Activity::Sent => "sent_at",
        Activity::Delivered => "delivered_at",
        Activity::Opened => "opened_at",
        Activity::Clicked => "clicked_at",
        Activity::Bounced => "bounced_at",
        Activity::Complained => "complained_at",
    }
}

async fn locked(
    tx: &Tx<'_>,
    project: ProjectNumber,
    id: EmailId,
    activity: Activity,
) -> Result<Option<(Learnt, Before)>> {
    let sql = format!(
        "select id, contact_id, recipient, subject, from_address, from_name, message_id, source, template_id, \
         campaign_id, status, opens, clicks, {} is null, reason, workflow_id, step_id from emails \
         where project_id = $1 and id = $2 {{for_update}}",
        column(activity)
    );
    tx.optional(sql, args![project, id], read).await
}

fn read(row: &Row<'_>) -> Result<(Learnt, Before)> {
    let recipient: String = row.get(2)?;
    let status = row.named(10, "emails.status", EmailStatus::from_name)?;
    let mail = Learnt {
        id: row.get(0)?,
        contact: row.get(1)?,
        recipient: EmailAddress::parse(&recipient),
        subject: row.get(3)?,
        from: row.get(4)?,
        from_name: row.get(5)?,
        message_id: row.get(6)?,
        source: row.named(7, "emails.source", EmailSource::from_name)?,
        template: row.get(8)?,
        campaign: row.get(9)?,
        status,
        opens: row.get(11)?,
        clicks: row.get(12)?,
        is_first: row.get(13)?,
    };
    let reason = row.named_or_null(14, "emails.reason", Reason::from_name)?;
    let origin = row.get::<Option<WorkflowId>>(15)?.zip(row.get::<Option<StepId>>(16)?);
    Ok((mail, Before { status, reason, origin }))
}

/// Where a mail stands once something was learnt of it.
fn moved(status: EmailStatus, activity: Activity) -> EmailStatus {
    let learnt = match activity {
        Activity::Sent => EmailStatus::Sent,
        Activity::Delivered => EmailStatus::Delivered,
        Activity::Opened => EmailStatus::Opened,
        Activity::Clicked => EmailStatus::Clicked,
        Activity::Bounced => EmailStatus::Bounced,
        Activity::Complained => EmailStatus::Complained,
    };
    if height(learnt) > height(status) { learnt } else { status }
}

/// Whether it was known that the mail left, or was refused when it was handed over.
fn has_left(status: EmailStatus) -> bool {
    height(status) > 0
}

/// The place of a status in the order that a mail climbs; zero for a mail of which nobody knows that it left.
fn height(status: EmailStatus) -> u8 {
    match status {
        EmailStatus::Pending
        | EmailStatus::Sending
        | EmailStatus::Failed
        | EmailStatus::Skipped
        | EmailStatus::InDoubt => 0,
        EmailStatus::Sent => 1,
        EmailStatus::Delivered => 2,
        EmailStatus::Opened => 3,
        EmailStatus::Clicked => 4,
        EmailStatus::Bounced => 5,
        EmailStatus::Complained => 6,
    }
}

async fn write(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    mail: &Learnt,
    before: &Before,
    activity: Activity,
    at: Timestamp,
) -> Result<()> {
    let column = column(activity);
    // What was given up is accepted after all. What it would need for another hand-over goes, as after a hand-over.
    let accepted =
        (mail.campaign.is_some() && !has_left(before.status)).then(|| RecipientState::Accepted.as_str());
    let sql = format!(
        "update emails set status = $3, opens = $4, clicks = $5, {column} = coalesce({column}, $6), \
         sent_at = coalesce(sent_at, $6), updated_at = $6, variables = {{json $7}}, \
         recipient_state = coalesce($8, recipient_state), reason = case when $9 then reason end, \
         error = case when $9 then error end where project_id = $1 and id = $2"
    );
    let args = args![
        project,
        mail.id,
        mail.status.as_str(),
        mail.opens,
        mail.clicks,
        at,
        Arg::Json("{}".into()),
        accepted,
        has_left(before.status)
    ];
    tx.execute_one(sql, args).await
}

/// Counts the mail under its new status, and what was learnt of it for the first time.
fn count(
    deltas: &mut Deltas,
    project: ProjectNumber,
    mail: &Learnt,
    before: &Before,
    activity: Activity,
    at: Timestamp,
) {
    move_count(deltas, project, before.status, mail.status);
    if !has_left(before.status) {
        delivery_stats::count(deltas, project, EmailStatus::Sent, at);
        if let Some(campaign) = mail.campaign {
            let from = (RecipientState::of(before.status), before.reason);
            ledger::shift(deltas, project, campaign, from, (RecipientState::Accepted, None));
        }
    }
    if let (Some(origin), false) = (before.origin, has_left(before.status)) {
        if let Some(unsent) = Figure::of_mail(before.status) {
            figures::add_mail(deltas.sums(), project, origin, unsent, -1);
        }
        figures::add_mail(deltas.sums(), project, origin, Figure::Sent, 1);
    }
    if !mail.is_first {
        return;
    }
    if let Some(origin) = before.origin {
        figures::add_mail(deltas.sums(), project, origin, Figure::of_activity(activity), 1);
    }
    delivery_stats::count_learnt(deltas, project, activity, at);
    if let Some(campaign) = mail.campaign {
        ledger::count_learnt(deltas, project, campaign, activity);
    }
}
