//! Mails of a campaign that are not sent: those of a cancelled campaign, and those to contacts that were deleted.

use mailwright_core::billing::Category;
use mailwright_core::campaign::Campaign;
use mailwright_core::email::{EmailStatus, Reason, RecipientState};
use mailwright_core::ids::{CampaignId, ContactId, EmailId, ProjectNumber};
use mailwright_core::template::TemplateType;
use mailwright_core::time::Timestamp;
use serde_json::json;

use super::sums::shift;
use crate::args;
use crate::database::error::Result;
use crate::database::tx::Tx;
use crate::database::value::Arg;
use crate::feedback::hit;
use crate::insight::deltas::Deltas;
use crate::project::billing::usage;
use crate::sending::email::count::move_count;
use crate::sending::email::{self, Unsent};

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
    let skipped: Vec<_> = ids.into_iter().map(|id| Unsent::skipped(id, Reason::Cancelled)).collect();
    let mut deltas = Deltas::default();
    skip(tx, project, campaign, &skipped, &mut deltas, now).await?;
    // what does not leave is not paid for
    let sql = "select type from campaigns where project_id = $1 and id = $2";
    let kind = tx
        .optional(sql, args![project, campaign], |r| r.named(0, "campaigns.type", TemplateType::from_name))
        .await?;
    if let Some(kind) = kind {
        let category = Category::of(Campaign::source(kind), kind);
        for mail in &skipped {
            usage::count(deltas.sums(), project, category, mail.id.instant(), (-1, 0));
        }
    }
    deltas.save(tx).await?;
    Ok(skipped.len())
}

/// Skips mails that wait, and that the transaction has locked. A process that holds a claim on one of them has lost it.
pub(crate) async fn skip(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    campaign: CampaignId,
    mails: &[Unsent],
    deltas: &mut Deltas,
    now: Timestamp,
) -> Result<()> {
    tx.each(
        "update emails set status = r.status, recipient_state = 'SKIPPED', reason = r.reason, suppression = r.suppression, \
         due_at = null, error = null, claim = emails.claim + 1, updated_at = $6 \
         from {rows r: email_id id, status text, reason text, suppression json} \
         where emails.project_id = $5 and emails.id = r.email_id",
        &[
            Arg::Ids(mails.iter().map(|mail| Some(mail.id.into())).collect()),
            Arg::Texts(mails.iter().map(|mail| Some(mail.status().as_str().into())).collect()),
            Arg::Texts(mails.iter().map(|mail| Some(mail.reason.as_str().into())).collect()),
            Arg::Jsons(mails.iter().map(|mail| mail.by.as_ref().map(|by| by.to_text().into())).collect()),
            project.into(),
            now.into(),
        ],
    )
    .await?;
    email::note(tx, project, mails).await?;
    for mail in mails {
        move_count(deltas, project, EmailStatus::Pending, mail.status());
        let (from, to) = ((RecipientState::Waiting, None), (RecipientState::Skipped, Some(mail.reason)));
        shift(deltas, project, campaign, from, to);
    }
    Ok(())
}

/// Removes address and content from mails whose contact was deleted.
pub(crate) async fn blank(tx: &mut Tx<'_>, project: ProjectNumber, mails: &[EmailId]) -> Result<()> {
    if mails.is_empty() {
        return Ok(());
    }
    tx.execute(
        "update emails set recipient = '', recipient_name = null, reply_to = null, subject = '', variables = {json $3}, log = {json $4}, \
         error = null, former = null, links = null, suppression = null where project_id = $1 and id {in $2}",
        &[
            project.into(),
            Arg::Ids(mails.iter().map(|id| Some((*id).into())).collect()),
            json!({}).into(),
            json!([]).into(),
        ],
    )
    .await?;
    hit::forget_mails(tx, project, mails).await
}

/// Prepares up to `limit` mails of campaigns to a contact that is deleted: they stay in their ledgers without address
/// and content, and those that wait are skipped. A mail that is being handed over keeps its state until its outcome.
/// Returns the number of mails.
pub(crate) async fn forget_contact(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    contact: ContactId,
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
        skip(tx, project, *campaign, &[Unsent::skipped(*id, Reason::Deleted)], deltas, now).await?;
    }
    let ids: Vec<_> = found.iter().map(|(id, ..)| *id).collect();
    blank(tx, project, &ids).await?;
    Ok(found.len())
}
