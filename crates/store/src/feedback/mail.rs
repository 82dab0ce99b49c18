//! The mails that something was learnt of: their rows are locked, changed in memory, and written together.

use mailwright_core::address::EmailAddress;
use mailwright_core::bounce::BounceClass;
use mailwright_core::email::{EmailSource, EmailStatus, Reason, RecipientState};
use mailwright_core::event::Activity;
use mailwright_core::ids::{CampaignId, ContactId, EmailId, ProjectNumber, StepId, TemplateId, WorkflowId};
use mailwright_core::rollup::Metric;
use mailwright_core::standing::Standing;
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::figures::Figure;
use serde_json::Value as Json;

use crate::args;
use crate::automation::figures;
use crate::database::error::Result;
use crate::database::tx::{Row, Rx, Tx};
use crate::database::value::Arg;
use crate::delivery::delivery_stats;
use crate::insight::deltas::Deltas;
use crate::insight::rollup;
use crate::sending::campaign::ledger;
use crate::sending::email::count::move_count;
use crate::sending::held::note as held;
use crate::sending::template_figures;

/// A mail that something is learnt of.
#[derive(Debug, Clone)]
pub struct Mail {
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
    /// What was known of it when its row was locked.
    pub before: Standing,
    /// What is known of it now.
    pub now: Standing,
    /// SHA-256 of its content.
    pub content_hash: Vec<u8>,
    /// The targets that its values made: an array of the number of a link and an address.
    pub own_links: Option<Json>,
    /// What is learnt of why it did not arrive: the class, and the words of the report.
    pub undelivered: Option<(BounceClass, String)>,
    reason: Option<Reason>,
    /// The step that made the mail.
    origin: Option<(WorkflowId, StepId)>,
}

/// Whether something can be learnt of a mail now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It left, or was given up or held in doubt, and may have left.
    Left,
    /// It waits, or is being handed over: the outcome of the hand-over has to be stored first.
    TooEarly,
    /// It never left and never will.
    Never,
}

impl Mail {
    /// Whether it is learnt only now that it left. A report that it waits somewhere does not change where it stands.
    fn leaves(&self) -> bool {
        self.now.has_left() && !self.before.has_left()
    }

    /// Its id, and whom it was for.
    fn named(&self) -> (EmailId, &str) {
        (self.id, self.recipient.as_ref().map_or("", EmailAddress::as_str))
    }

    /// Whether something can be learnt of it now.
    pub fn state(&self) -> State {
        match self.before.status {
            EmailStatus::Pending | EmailStatus::Sending => State::TooEarly,
            EmailStatus::Skipped | EmailStatus::Suppressed | EmailStatus::Received => State::Never,
            EmailStatus::Sent
            | EmailStatus::Delivered
            | EmailStatus::Opened
            | EmailStatus::Clicked
            | EmailStatus::Bounced
            | EmailStatus::Complained
            | EmailStatus::Failed
            | EmailStatus::InDoubt => State::Left,
        }
    }
}

/// Locks mails of a project and reads them, in the order of their ids. Those that it does not have are missing.
pub async fn lock(tx: &Tx<'_>, project: ProjectNumber, ids: &[EmailId]) -> Result<Vec<Mail>> {
    tx.all(
        "select id, contact_id, recipient, subject, from_address, from_name, message_id, source, template_id, \
         campaign_id, reason, workflow_id, step_id, status, sent_at, delivered_at, opened_at, clicked_at, bounced_at, \
         complained_at, opens, clicks, machine_opens, machine_clicks, content_hash, \
         {json_out links}, last_opened_at, last_clicked_at from emails \
         where project_id = $1 and id {in $2} order by id {for_update}",
        &[project.into(), Arg::Ids(ids.iter().map(|id| Some((*id).into())).collect())],
        read,
    )
    .await
}

/// The recipient's and the sender's address of a mail, as far as the project has it.
pub async fn parties(rx: &Rx<'_>, project: ProjectNumber, id: EmailId) -> Result<Vec<String>> {
    let sql = "select recipient, from_address from emails where project_id = $1 and id = $2";
    let found = rx.optional(sql, args![project, id], |row| Ok(vec![row.get(0)?, row.get(1)?])).await?;
    Ok(found.unwrap_or_default())
}

fn read(row: &Row<'_>) -> Result<Mail> {
    let recipient: String = row.get(2)?;
    let origin = row.get::<Option<WorkflowId>>(11)?.zip(row.get::<Option<StepId>>(12)?);
    let before = Standing {
        status: row.named(13, "emails.status", EmailStatus::from_name)?,
        sent_at: row.get(14)?,
        delivered_at: row.get(15)?,
        opened_at: row.get(16)?,
        last_opened_at: row.get(26)?,
        clicked_at: row.get(17)?,
        last_clicked_at: row.get(27)?,
        bounced_at: row.get(18)?,
        complained_at: row.get(19)?,
        opens: row.get(20)?,
        clicks: row.get(21)?,
        machine_opens: row.get(22)?,
        machine_clicks: row.get(23)?,
    };
    Ok(Mail {
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
        undelivered: None,
        reason: row.named_or_null(10, "emails.reason", Reason::from_name)?,
        origin,
        now: before.clone(),
        before,
        content_hash: row.get(24)?,
        own_links: row.get(25)?,
    })
}

/// Writes what is known of mails now, and counts what has changed. `at` is when.
pub async fn save(
    tx: &Tx<'_>,
    project: ProjectNumber,
    mails: &[Mail],
    at: Timestamp,
    deltas: &mut Deltas,
) -> Result<()> {
    let is_changed = |mail: &&Mail| mail.now != mail.before || mail.undelivered.is_some();
    let changed: Vec<&Mail> = mails.iter().filter(is_changed).collect();
    write(tx, project, &changed, at).await?;
    // of a held mail it is known now what became of it, and nobody has to decide
    let known = changed.iter().filter(|mail| mail.before.status == EmailStatus::InDoubt && mail.leaves());
    held::forget(tx, project, &known.map(|mail| mail.id).collect::<Vec<_>>()).await?;
    for mail in changed {
        count(deltas, project, mail, at);
        deltas.followed(project, mail.contact, at);
    }
    Ok(())
}

/// Why a mail did not arrive, unless its contact was removed: the words may name the address.
fn undelivered(mail: &Mail) -> Option<(&'static str, &str)> {
    let (class, text) = mail.undelivered.as_ref().filter(|_| mail.recipient.is_some())?;
    Some((class.as_str(), text))
}

async fn write(tx: &Tx<'_>, project: ProjectNumber, mails: &[&Mail], at: Timestamp) -> Result<()> {
    let times = |time: fn(&Standing) -> Option<Timestamp>| {
        Arg::Ints(mails.iter().map(|mail| time(&mail.now).map(|t| t.0)).collect())
    };
    let counts =
        |count: fn(&Standing) -> i64| Arg::Ints(mails.iter().map(|mail| Some(count(&mail.now))).collect());
    // What was given up is accepted after all. What it would need for another hand-over goes, as after a hand-over.
    let accepted = mails.iter().map(|mail| {
        let is_new = mail.campaign.is_some() && mail.leaves();
        is_new.then(|| RecipientState::Accepted.as_str().into())
    });
    tx.each(
        "update emails set status = r.status, sent_at = r.sent_at, delivered_at = r.delivered_at, \
         opened_at = r.opened_at, clicked_at = r.clicked_at, bounced_at = r.bounced_at, \
         complained_at = r.complained_at, last_opened_at = r.last_opened_at, \
         last_clicked_at = r.last_clicked_at, opens = r.opens, clicks = r.clicks, machine_opens = r.machine_opens, \
         machine_clicks = r.machine_clicks, updated_at = $20, variables = case when r.leaves then {json $21} else emails.variables end, \
         recipient_state = coalesce(r.accepted, emails.recipient_state), \
         reason = case when not r.leaves then emails.reason end, \
         error = coalesce(r.error, case when not r.leaves then emails.error end), \
         bounce_class = coalesce(r.bounce_class, emails.bounce_class) \
         from {rows r: email_id id, status text, sent_at int, delivered_at int, opened_at int, clicked_at int, \
         bounced_at int, complained_at int, opens int, clicks int, machine_opens int, machine_clicks int, \
         accepted text, leaves bool, last_opened_at int, last_clicked_at int, \
         bounce_class text, error text} where emails.project_id = $19 and emails.id = r.email_id",
        &[
            Arg::Ids(mails.iter().map(|mail| Some(mail.id.into())).collect()),
            Arg::Texts(mails.iter().map(|mail| Some(mail.now.status.as_str().into())).collect()),
            times(|standing| standing.sent_at),
            times(|standing| standing.delivered_at),
            times(|standing| standing.opened_at),
            times(|standing| standing.clicked_at),
            times(|standing| standing.bounced_at),
            times(|standing| standing.complained_at),
            counts(|standing| standing.opens),
            counts(|standing| standing.clicks),
            counts(|standing| standing.machine_opens),
            counts(|standing| standing.machine_clicks),
            Arg::Texts(accepted.collect()),
            Arg::Bools(mails.iter().map(|mail| Some(mail.leaves())).collect()),
            times(|standing| standing.last_opened_at),
            times(|standing| standing.last_clicked_at),
            Arg::Texts(mails.iter().map(|mail| undelivered(mail).map(|(class, _)| class.into())).collect()),
            Arg::Texts(mails.iter().map(|mail| undelivered(mail).map(|(_, text)| text.into())).collect()),
            project.into(),
            at.into(),
            Arg::Json("{}".into()),
        ],
    )
    .await?;
    Ok(())
}

/// Counts a mail under its new status, and what is known of it for the first time, or no longer.
fn count(deltas: &mut Deltas, project: ProjectNumber, mail: &Mail, at: Timestamp) {
    let (before, now) = (&mail.before, &mail.now);
    move_count(deltas, project, before.status, now.status);
    if mail.leaves() {
        delivery_stats::count(deltas, project, EmailStatus::Sent, at);
        if let Some(campaign) = mail.campaign {
            let from = (RecipientState::of(before.status), mail.reason);
            ledger::shift(deltas, project, campaign, from, (RecipientState::Accepted, None));
        }
        if let Some(origin) = mail.origin {
            if let Some(unsent) = Figure::of_mail(before.status) {
                figures::add_mail(deltas.sums(), project, origin, unsent, -1);
            }
            figures::add_mail(deltas.sums(), project, origin, Figure::Sent, 1);
        }
    }
    let newly = |before: Option<Timestamp>, now: Option<Timestamp>| {
        i64::from(now.is_some()) - i64::from(before.is_some())
    };
    let sent = newly(before.sent_at, now.sent_at);
    rollup::count_mail(deltas.sums(), project, Metric::Sent, mail.named(), sent);
    let known = [
        (Activity::Delivered, before.delivered_at, now.delivered_at),
        (Activity::Opened, before.opened_at, now.opened_at),
        (Activity::Clicked, before.clicked_at, now.clicked_at),
        (Activity::Bounced, before.bounced_at, now.bounced_at),
        (Activity::Complained, before.complained_at, now.complained_at),
    ];
    for (activity, before, now) in known {
        let delta = newly(before, now);
        if delta != 0 {
            count_learnt(deltas, project, mail, activity, delta, at);
        }
    }
    if let Some(campaign) = mail.campaign {
        let is_new = |before: i64, now: i64| i64::from(now > 0) - i64::from(before > 0);
        let opened = is_new(before.machine_opens, now.machine_opens);
        let clicked = is_new(before.machine_clicks, now.machine_clicks);
        ledger::count_machines(deltas, project, campaign, (opened, clicked));
    }
}

fn count_learnt(
    deltas: &mut Deltas,
    project: ProjectNumber,
    mail: &Mail,
    activity: Activity,
    delta: i64,
    at: Timestamp,
) {
    rollup::count_mail(deltas.sums(), project, activity.into(), mail.named(), delta);
    if let Some(origin) = mail.origin {
        figures::add_mail(deltas.sums(), project, origin, Figure::of_activity(activity), delta);
    }
    if let Some(template) = mail.template {
        template_figures::count(deltas, project, template, activity, delta);
    }
    if delta > 0 {
        delivery_stats::count_learnt(deltas, project, activity, at);
    }
    if let Some(campaign) = mail.campaign {
        ledger::count_learnt(deltas, project, campaign, activity, delta);
    }
}
