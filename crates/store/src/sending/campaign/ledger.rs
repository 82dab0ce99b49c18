//! The ledger of a campaign: the state of the mail of each contact of its audience.
//!
//! The rows of `emails` are the ledger. `recipient_state` is WAITING, ACCEPTED, SKIPPED, FAILED or `IN_DOUBT`, and
//! `reason` says why. The sums of both are counters, changed in the transaction that changes a row, so no page and no
//! check counts rows. Their names are `<campaign>:<recipient_state>`, with `:<reason>` if there is one, and
//! `<campaign>:<figure>` for other sums.

use std::collections::HashMap;

use mailwright_core::campaign::Ledger;
use mailwright_core::email::{EmailStatus, Reason, RecipientState};
use mailwright_core::ids::{CampaignId, EmailId, ProjectNumber};
use mailwright_core::time::Timestamp;
use serde_json::{Value as Json, json};
use uuid::Uuid;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;
use crate::insight::counter::{Counter, Deltas, end_of};
use crate::sending::email::{self, Email, Illegible};

/// Where a mail stands, and why.
pub(crate) type State = (RecipientState, Option<Reason>);

const AUDIENCE: &str = "AUDIENCE";
const RECIPIENTS: &str = "RECIPIENTS";
const BOUNCED: &str = "BOUNCED";
const UNSUBSCRIBED: &str = "UNSUBSCRIBED";

fn count(deltas: &mut Deltas, project: ProjectNumber, campaign: CampaignId, what: &str, delta: i64) {
    deltas.add(project, Counter::Campaign, &format!("{campaign}:{what}"), delta);
}

fn count_state(deltas: &mut Deltas, project: ProjectNumber, campaign: CampaignId, state: State, delta: i64) {
    let (recipient_state, reason) = state;
    match reason {
        Some(reason) => {
            let what = format!("{}:{}", recipient_state.as_str(), reason.as_str());
            count(deltas, project, campaign, &what, delta);
        }
        None => count(deltas, project, campaign, recipient_state.as_str(), delta),
    }
}

/// Counts a contact that comes into the ledger.
pub(crate) fn enter(deltas: &mut Deltas, project: ProjectNumber, campaign: CampaignId, state: State) {
    count(deltas, project, campaign, AUDIENCE, 1);
    count(deltas, project, campaign, RECIPIENTS, i64::from(state.0 == RecipientState::Waiting));
    count_state(deltas, project, campaign, state, 1);
}

/// Counts a mail that stands elsewhere now.
pub(crate) fn shift(
    deltas: &mut Deltas,
    project: ProjectNumber,
    campaign: CampaignId,
    from: State,
    to: State,
) {
    count_state(deltas, project, campaign, from, -1);
    count_state(deltas, project, campaign, to, 1);
}

/// Counts a mail among the bounces, or takes it out with a `delta` of -1, where its status is that.
pub(crate) fn count_bounces(
    deltas: &mut Deltas,
    project: ProjectNumber,
    campaign: CampaignId,
    status: EmailStatus,
    delta: i64,
) {
    count(deltas, project, campaign, BOUNCED, if status == EmailStatus::Bounced { delta } else { 0 });
}

/// The ledgers of campaigns, in the state of one moment.
pub async fn read(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    campaigns: &[CampaignId],
) -> Result<HashMap<CampaignId, Ledger>> {
    let prefixes: Vec<String> = campaigns.iter().map(|id| format!("{id}:")).collect();
    let rows = rx
        .each_returning(
            "select r.campaign_id, c.name, cast(sum(c.value) as {int}) \
             from {rows r: campaign_id id, first text, beyond text} \
             join counters c on c.project_id = $4 and c.kind = 'campaign' and c.name >= r.first and c.name < r.beyond \
             group by r.campaign_id, c.name having sum(c.value) <> 0 order by c.name",
            &[
                Arg::Ids(campaigns.iter().map(|id| Some((*id).into())).collect()),
                Arg::Texts(prefixes.iter().map(|prefix| Some(prefix.as_str().into())).collect()),
                Arg::Texts(prefixes.iter().map(|prefix| Some(end_of(prefix).into())).collect()),
                project.into(),
            ],
            |r| Ok((r.get::<CampaignId>(0)?, r.get::<String>(1)?, r.get::<i64>(2)?)),
        )
        .await?;
    let mut ledgers: HashMap<CampaignId, Ledger> =
        campaigns.iter().map(|id| (*id, Ledger::default())).collect();
    for (campaign, name, value) in rows {
        let what = name.split_once(':').map_or("", |(_, what)| what);
        note(ledgers.entry(campaign).or_default(), what, value);
    }
    Ok(ledgers)
}

fn note(ledger: &mut Ledger, what: &str, value: i64) {
    let (head, reason) = what.split_once(':').unwrap_or((what, ""));
    if let Some(recipient_state) = RecipientState::from_name(head) {
        ledger.totals.push((recipient_state, Reason::from_name(reason), value));
        return;
    }
    match what {
        AUDIENCE => ledger.audience = value,
        RECIPIENTS => ledger.recipients = value,
        BOUNCED => ledger.bounced = value,
        "DELIVERED" => ledger.delivered = value,
        "OPENED" => ledger.opened = value,
        "CLICKED" => ledger.clicked = value,
        "COMPLAINED" => ledger.complained = value,
        UNSUBSCRIBED => ledger.unsubscribed = value,
        _ => {}
    }
}

/// A place in a list of the ledger: it goes by reason, then by mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The reason of the last row; empty where it has none.
    pub reason: String,
    /// The mail of the last row.
    pub id: EmailId,
}

/// A page of the ledger.
#[derive(Debug, Clone)]
pub struct Page {
    /// Only the mails that stand so.
    pub recipient_state: RecipientState,
    /// Only those for this reason.
    pub reason: Option<Reason>,
    /// The last row of the page before.
    pub after: Option<Place>,
    /// Most rows.
    pub limit: usize,
}

impl Page {
    /// Whether rows that stand so have a reason.
    fn has_reasons(recipient_state: RecipientState) -> bool {
        match recipient_state {
            RecipientState::Skipped | RecipientState::Failed => true,
            RecipientState::Waiting | RecipientState::Accepted | RecipientState::InDoubt => false,
        }
    }
}

/// Conditions and order that walk the index of the ledger from a place on; the values come on top of the arguments. The
/// order names the reason even where there is only one, or none: without it PostgreSQL reads all rows that stand so and
/// sorts them.
fn walk(page: &Page, args: &mut Vec<Arg<'_>>) -> String {
    args.push(page.recipient_state.as_str().into());
    let mut text = format!(" and recipient_state = ${}", args.len());
    let one_reason = if Page::has_reasons(page.recipient_state) {
        page.reason.map(|reason| {
            args.push(reason.as_str().into());
            format!(" and reason = ${}", args.len())
        })
    } else {
        Some(" and reason is null".to_owned())
    };
    match (one_reason, &page.after) {
        (Some(one), None) => text += &format!("{one} order by reason, id"),
        (Some(one), Some(place)) => {
            args.push(place.id.into());
            text += &format!("{one} and id > ${} order by reason, id", args.len());
        }
        (None, None) => text += " order by reason, id",
        (None, Some(place)) => {
            args.extend([Arg::from(place.reason.clone()), place.id.into()]);
            text +=
                &format!(" and (reason, id) > (${}, ${}) order by reason, id", args.len() - 1, args.len());
        }
    }
    text
}

/// Reads a page of the ledger.
pub async fn page(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    campaign: CampaignId,
    page: &Page,
) -> Result<Vec<Result<Email, Illegible>>> {
    let mut args: Vec<Arg<'_>> = vec![project.into(), campaign.into(), page.limit.into()];
    let walk = walk(page, &mut args);
    rx.all(
        format!(
            "select {} from emails where project_id = $1 and campaign_id = $2{walk} limit $3",
            email::COLUMNS
        ),
        &args,
        email::read_listed,
    )
    .await
}

/// A retry that was asked for: which mails, and how far it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    /// The mails that stand so.
    pub recipient_state: RecipientState,
    /// Only those for this reason.
    pub reason: Option<Reason>,
    /// When it was asked for: a mail that fails again later is not tried once more.
    pub asked_at: Timestamp,
    /// The last mail looked at.
    pub after: Option<Place>,
}

impl Retry {
    /// As it is stored.
    fn to_json(&self) -> Json {
        json!({
            "state": self.recipient_state.as_str(),
            "reason": self.reason.map(Reason::as_str),
            "askedAt": self.asked_at.0,
            "after": self.after.as_ref().map(|place| json!([place.reason, place.id])),
        })
    }

    /// Reads what [`Retry::to_json`] made.
    pub(crate) fn from_json(stored: &Json) -> Option<Self> {
        let after = &stored["after"];
        Some(Self {
            recipient_state: RecipientState::from_name(stored["state"].as_str()?)?,
            reason: stored["reason"].as_str().and_then(Reason::from_name),
            asked_at: Timestamp(stored["askedAt"].as_i64()?),
            after: match after[1].as_str() {
                Some(id) => Some(Place {
                    reason: after[0].as_str().unwrap_or_default().to_owned(),
                    id: id.parse::<EmailId>().ok()?,
                }),
                None => None,
            },
        })
    }
}

/// Notes that a retry is to be carried out, or how far it came; `None` that it is done.
pub async fn save_retry(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    campaign: CampaignId,
    retry: Option<&Retry>,
) -> Result<()> {
    tx.execute_one(
        "update campaigns set retry = {json $3} where project_id = $1 and id = $2",
        args![project, campaign, retry.map(Retry::to_json)],
    )
    .await
}

/// Whether a retry is under way.
pub async fn is_retrying(rx: &mut Rx<'_>, project: ProjectNumber, campaign: CampaignId) -> Result<bool> {
    rx.exists(
        "select 1 from campaigns where project_id = $1 and id = $2 and retry is not null",
        args![project, campaign],
    )
    .await
}

/// Puts up to `limit` mails of a retry back into the queue. Returns the place it came to; `None` when it is through.
pub async fn requeue(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    campaign: CampaignId,
    retry: &Retry,
    limit: usize,
    now: Timestamp,
) -> Result<Option<Place>> {
    let page = Page {
        recipient_state: retry.recipient_state,
        reason: retry.reason,
        after: retry.after.clone(),
        limit,
    };
    let mut args: Vec<Arg<'_>> = vec![project.into(), campaign.into(), limit.into(), retry.asked_at.into()];
    let walk = walk(&page, &mut args);
    let found = tx
        .all(
            format!(
                "select id, status, reason, updated_at <= $4 from emails \
                 where project_id = $1 and campaign_id = $2{walk} limit $3 {{for_update}}"
            ),
            &args,
            |r| {
                Ok((
                    r.get::<EmailId>(0)?,
                    r.named(1, "emails.status", EmailStatus::from_name)?,
                    r.named_or_null(2, "emails.reason", Reason::from_name)?,
                    r.get::<bool>(3)?,
                ))
            },
        )
        .await?;
    let mut deltas = Deltas::default();
    let mut ids: Vec<Option<Uuid>> = Vec::new();
    for (id, status, reason, _) in found.iter().filter(|(.., old)| *old) {
        ids.push(Some((*id).into()));
        email::move_count(&mut deltas, project, *status, EmailStatus::Pending);
        let to = (RecipientState::Waiting, None);
        shift(&mut deltas, project, campaign, (retry.recipient_state, *reason), to);
        count_bounces(&mut deltas, project, campaign, *status, -1);
    }
    tx.execute(
        "update emails set status = 'PENDING', recipient_state = 'WAITING', reason = null, error = null, due_at = $3, \
         waited_ms = 0, bounced_at = null, claim = claim + 1, updated_at = $3 where project_id = $1 and id {in $2}",
        &[project.into(), Arg::Ids(ids), now.into()],
    )
    .await?;
    deltas.save(tx).await?;
    let last = found.last().filter(|_| found.len() == limit);
    Ok(last.map(|(id, _, reason, _)| Place {
        reason: reason.map_or(String::new(), |r| r.as_str().to_owned()),
        id: *id,
    }))
}

/// Skips up to `limit` mails of a cancelled campaign that wait and are not on the wire; how many.
pub async fn cancel(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    campaign: CampaignId,
    limit: usize,
    now: Timestamp,
) -> Result<usize> {
    let ids = tx
        .all(
            "select id from emails where project_id = $1 and campaign_id = $2 and recipient_state = 'WAITING' \
             and reason is null and status <> 'SENDING' order by reason, id limit $3 {for_update}",
            args![project, campaign, limit],
            |r| r.get::<EmailId>(0),
        )
        .await?;
    let skipped: Vec<_> = ids.into_iter().map(|id| (id, Reason::Cancelled)).collect();
    let mut deltas = Deltas::default();
    skip(tx, project, campaign, &skipped, &mut deltas, now).await?;
    deltas.save(tx).await?;
    Ok(skipped.len())
}

/// Skips mails that wait, and that the transaction has locked. A process that holds a claim on one of them has lost it.
pub(crate) async fn skip(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    campaign: CampaignId,
    mails: &[(EmailId, Reason)],
    deltas: &mut Deltas,
    now: Timestamp,
) -> Result<()> {
    tx.each(
        "update emails set status = 'SKIPPED', recipient_state = 'SKIPPED', reason = r.reason, due_at = null, error = null, \
         claim = emails.claim + 1, updated_at = $4 \
         from {rows r: project_id int, email_id id, reason text} \
         where emails.project_id = r.project_id and emails.id = r.email_id",
        &[
            Arg::Ints(vec![Some(project.0); mails.len()]),
            Arg::Ids(mails.iter().map(|(id, _)| Some((*id).into())).collect()),
            Arg::Texts(mails.iter().map(|(_, reason)| Some(reason.as_str().into())).collect()),
            now.into(),
        ],
    )
    .await?;
    for (_, reason) in mails {
        email::move_count(deltas, project, EmailStatus::Pending, EmailStatus::Skipped);
        let (from, to) = ((RecipientState::Waiting, None), (RecipientState::Skipped, Some(*reason)));
        shift(deltas, project, campaign, from, to);
    }
    Ok(())
}

/// Takes what is personal out of mails whose contact is gone.
pub(crate) async fn blank(tx: &mut Tx<'_>, project: ProjectNumber, mails: &[EmailId]) -> Result<()> {
    if mails.is_empty() {
        return Ok(());
    }
    tx.execute(
        "update emails set recipient = '', recipient_name = null, subject = '', variables = {json $3}, log = {json $4}, \
         error = null, former = null where project_id = $1 and id {in $2}",
        &[
            project.into(),
            Arg::Ids(mails.iter().map(|id| Some((*id).into())).collect()),
            json!({}).into(),
            json!([]).into(),
        ],
    )
    .await?;
    Ok(())
}

/// Keeps up to `limit` mails of a contact that goes in their ledgers, without what is personal, and skips those that
/// wait. One that is on the wire stays so until it ends. Returns how many there were.
pub(crate) async fn forget_contact(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    contact: mailwright_core::ids::ContactId,
    limit: i64,
    deltas: &mut Deltas,
    now: Timestamp,
) -> Result<usize> {
    let found = tx
        .all(
            "select id, campaign_id, status from emails where project_id = $1 and contact_id = $2 \
             and campaign_id is not null and recipient <> '' order by id limit $3 {for_update}",
            args![project, contact, limit],
            |r| {
                // a state that cannot be read must not keep a contact from being removed
                let waits = r.get::<String>(2)? == EmailStatus::Pending.as_str();
                Ok((r.get::<EmailId>(0)?, r.get::<CampaignId>(1)?, waits))
            },
        )
        .await?;
    for (id, campaign, _) in found.iter().filter(|(.., waits)| *waits) {
        skip(tx, project, *campaign, &[(*id, Reason::Deleted)], deltas, now).await?;
    }
    let ids: Vec<_> = found.iter().map(|(id, ..)| *id).collect();
    blank(tx, project, &ids).await?;
    Ok(found.len())
}

/// Counts a recipient who unsubscribed by a link of a mail, once for each mail, and not for one that bounced or was
/// complained about: those are lost already.
pub async fn count_unsubscribed(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    mail: EmailId,
    deltas: &mut Deltas,
    now: Timestamp,
) -> Result<()> {
    let of = tx
        .optional(
            "update emails set unsubscribed_at = $3 where project_id = $1 and id = $2 and campaign_id is not null \
             and unsubscribed_at is null and bounced_at is null and complained_at is null returning campaign_id",
            args![project, mail, now],
            |r| r.get::<CampaignId>(0),
        )
        .await?;
    if let Some(campaign) = of {
        count(deltas, project, campaign, UNSUBSCRIBED, 1);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_goes_in_the_order_of_its_index() {
        let place = Place { reason: "bounced".into(), id: EmailId::new(Timestamp(5), rand::random()) };
        for recipient_state in [
            RecipientState::Waiting,
            RecipientState::Accepted,
            RecipientState::Skipped,
            RecipientState::Failed,
        ] {
            for (reason, after) in [(None, None), (Some(Reason::Bounced), None), (None, Some(place.clone()))]
            {
                let page = Page { recipient_state, reason, after, limit: 20 };
                let text = walk(&page, &mut Vec::new());
                assert!(text.ends_with(" order by reason, id"), "{page:?}: {text}");
            }
        }
    }

    #[test]
    fn a_retry_is_read_back_as_it_was_stored() {
        let place = Place { reason: "bounced".into(), id: EmailId::new(Timestamp(5), rand::random()) };
        for (reason, after) in [(None, None), (Some(Reason::Bounced), Some(place))] {
            let retry =
                Retry { recipient_state: RecipientState::Failed, reason, asked_at: Timestamp(7), after };
            assert_eq!(Retry::from_json(&retry.to_json()), Some(retry));
        }
        assert_eq!(Retry::from_json(&json!({})), None);
    }
}
