//! Mails to the person: those that wait are not sent, and all of them lose address and content.

use mailwright_core::email::{EmailStatus, Reason, RecipientState};
use mailwright_core::erasure::Counted;
use mailwright_core::ids::{CampaignId, EmailId, ProjectNumber, StepId, WorkflowId};
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::figures::Figure;

use super::records::Counts;
use super::stage::{Part, Running};
use crate::args;
use crate::audience::{event_removal, former_address};
use crate::automation::figures;
use crate::database::error::Result;
use crate::database::tx::Tx;
use crate::database::value::Arg;
use crate::delivery::{delivery_stats, mailbox};
use crate::insight::deltas::Deltas;
use crate::sending::campaign::ledger;
use crate::sending::email::count::move_count;
use crate::sending::email::{Unsent, settle};
use crate::sending::sole_content;

/// Mails that one step looks at for whether they wait.
const LOOKED_AT: i64 = 1_000;
/// Mails that one step blanks.
const BLANKED: i64 = 500;

/// A mail that is not settled.
struct Open {
    id: EmailId,
    status: String,
    campaign: Option<CampaignId>,
    step: Option<(WorkflowId, StepId)>,
}

/// Settles the next mails to the contact that wait.
pub(super) async fn stop(
    tx: &mut Tx<'_>,
    running: &Running,
    counts: &mut Counts,
    deltas: &mut Deltas,
    now: Timestamp,
) -> Result<Part> {
    let Some(contact) = running.contact else { return Ok(Part::Done) };
    let found = tx
        .all(
            "select id, due_at is not null from emails where project_id = $1 and contact_id = $2 and id > $3 \
             order by id limit $4",
            args![running.project, contact, place(running), LOOKED_AT],
            |r| Ok((r.get::<EmailId>(0)?, r.get::<bool>(1)?)),
        )
        .await?;
    let waiting: Vec<_> = found.iter().filter(|(_, waits)| *waits).map(|(id, _)| *id).collect();
    counts.add(Counted::Stopped, end(tx, running.project, &waiting, deltas, now).await?);
    Ok(after(&found.iter().map(|(id, _)| *id).collect::<Vec<_>>(), LOOKED_AT))
}

/// Settles and blanks the next mails that go to the address and belong to somebody else, or to nobody.
pub(super) async fn elsewhere(
    tx: &mut Tx<'_>,
    running: &Running,
    counts: &mut Counts,
    deltas: &mut Deltas,
    now: Timestamp,
) -> Result<Part> {
    let project = running.project;
    for address in running.addresses() {
        let ids: Vec<EmailId> = tx
            .all(
                "select id from emails where project_id = $1 and recipient = $2 \
                 and campaign_id is null and source <> 'TRANSACTIONAL' and contact_id is distinct from $3 limit $4",
                args![project, address, running.contact, BLANKED],
                |r| r.get(0),
            )
            .await?;
        if !ids.is_empty() {
            erase(tx, project, &ids, (counts, deltas), now).await?;
            return Ok(Part::Goes(String::new()));
        }
    }
    of_former_holder(tx, running, (counts, deltas), now).await
}

/// Settles and blanks the next mails to the address that went to a contact which has another one now.
async fn of_former_holder(
    tx: &mut Tx<'_>,
    running: &Running,
    (counts, deltas): (&mut Counts, &mut Deltas),
    now: Timestamp,
) -> Result<Part> {
    let project = running.project;
    let Some(holder) = former_address::holders(tx, project, &running.email).await?.first().copied() else {
        return Ok(Part::Done);
    };
    let found: Vec<(EmailId, Vec<u8>)> = tx
        .all(
            "select id, content_hash from emails where project_id = $1 and contact_id = $2 and recipient = $3 limit $4",
            args![project, holder, &running.email, BLANKED],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )
        .await?;
    let (ids, mut hashes): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    if ids.is_empty() {
        former_address::forget(tx, project, holder, &running.email).await?;
        return Ok(Part::Goes(String::new()));
    }
    erase(tx, project, &ids, (counts, deltas), now).await?;
    let events = event_removal::of_mails(tx, project, holder, &ids, deltas).await?;
    counts.add(Counted::Events, events as u64);
    hashes.sort_unstable();
    hashes.dedup();
    let gone = sole_content::forget(tx, project, holder, &hashes).await?;
    counts.add(Counted::Contents, gone.contents);
    counts.add(Counted::Attachments, gone.attachments);
    Ok(Part::Goes(String::new()))
}

/// Settles mails that wait, and blanks them, with what was captured of them.
async fn erase(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    ids: &[EmailId],
    (counts, deltas): (&mut Counts, &mut Deltas),
    now: Timestamp,
) -> Result<()> {
    counts.add(Counted::Stopped, end(tx, project, ids, deltas, now).await?);
    counts.add(Counted::Captured, captured(tx, project, ids, deltas).await?);
    forget(tx, project, ids, counts).await
}

/// Blanks the next mails to the contact, with what they alone have.
pub(super) async fn blank(tx: &mut Tx<'_>, running: &Running, counts: &mut Counts) -> Result<Part> {
    let Some(contact) = running.contact else { return Ok(Part::Done) };
    let project = running.project;
    let found: Vec<(EmailId, Vec<u8>)> = tx
        .all(
            "select id, content_hash from emails where project_id = $1 and contact_id = $2 and id > $3 \
             order by id limit $4",
            args![project, contact, place(running), BLANKED],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )
        .await?;
    let (ids, mut hashes): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    forget(tx, project, &ids, counts).await?;
    hashes.sort_unstable();
    hashes.dedup();
    let gone = sole_content::forget(tx, project, contact, &hashes).await?;
    counts.add(Counted::Contents, gone.contents);
    counts.add(Counted::Attachments, gone.attachments);
    Ok(after(&ids, BLANKED))
}

/// The last mail that was looked at.
fn place(running: &Running) -> EmailId {
    running.place.parse().unwrap_or(EmailId::from_bytes([0; 16]))
}

/// Where a stage goes on that looked at these mails.
fn after(ids: &[EmailId], most: i64) -> Part {
    match ids.last() {
        Some(last) if ids.len() as i64 >= most => Part::Goes(last.to_string()),
        _ => Part::Done,
    }
}

/// Blanks mails, and removes their hits and what is known of what was told of them.
async fn forget(tx: &mut Tx<'_>, project: ProjectNumber, ids: &[EmailId], counts: &mut Counts) -> Result<()> {
    if ids.is_empty() {
        return Ok(());
    }
    let set = || Arg::Ids(ids.iter().map(|id| Some((*id).into())).collect());
    let hits = tx
        .one(
            "select count(*) from hits where project_id = $1 and email_id {in $2}",
            &[project.into(), set()],
            |r| r.get::<i64>(0),
        )
        .await?;
    ledger::blank(tx, project, ids).await?;
    // what was told of a mail that is being handed over is kept until then, with the words in which it was told
    tx.execute(
        "delete from news_receipts where project_id = $1 and email_id {in $2}",
        &[project.into(), set()],
    )
    .await?;
    counts.add(Counted::Hits, hits as u64);
    counts.add(Counted::Emails, ids.len() as u64);
    Ok(())
}

/// Ends those of some mails that wait: they are skipped, or in doubt if a worker has them on the wire. If it turns out
/// that such a mail was taken, that is stored. How many they were.
async fn end(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    ids: &[EmailId],
    deltas: &mut Deltas,
    now: Timestamp,
) -> Result<u64> {
    if ids.is_empty() {
        return Ok(0);
    }
    let open = tx
        .all(
            "select id, status, campaign_id, workflow_id, step_id from emails where project_id = $1 \
             and id {in $2} and due_at is not null order by id {for_update}",
            &[project.into(), Arg::Ids(ids.iter().map(|id| Some((*id).into())).collect())],
            |r| {
                let step = r.get::<Option<WorkflowId>>(3)?.zip(r.get::<Option<StepId>>(4)?);
                Ok(Open { id: r.get(0)?, status: r.get(1)?, campaign: r.get(2)?, step })
            },
        )
        .await?;
    let mut waiting = Vec::new();
    for mail in &open {
        if mail.status == EmailStatus::Sending.as_str() {
            doubt(tx, project, mail, deltas, now).await?;
        } else if let Some(campaign) = mail.campaign {
            let skipped = [Unsent::skipped(mail.id, Reason::Deleted)];
            ledger::skip(tx, project, campaign, &skipped, deltas, now).await?;
        } else {
            waiting.push(Unsent::skipped(mail.id, Reason::Deleted));
        }
    }
    settle(tx, project, &waiting, deltas, now).await?;
    Ok(open.len() as u64)
}

/// Ends a mail whose content may have been written: nobody writes it again.
async fn doubt(
    tx: &Tx<'_>,
    project: ProjectNumber,
    mail: &Open,
    deltas: &mut Deltas,
    now: Timestamp,
) -> Result<()> {
    let status = EmailStatus::InDoubt;
    let state = RecipientState::of(status);
    tx.execute_one(
        "update emails set claim = claim + 1, status = $3, due_at = null, reason = null, recipient_state = $4, \
         in_doubt = in_doubt + 1, updated_at = $5 where project_id = $1 and id = $2",
        args![project, mail.id, status.as_str(), mail.campaign.map(|_| state.as_str()), now],
    )
    .await?;
    move_count(deltas, project, EmailStatus::Pending, status);
    if let Some(campaign) = mail.campaign {
        ledger::shift(deltas, project, campaign, (RecipientState::Waiting, None), (state, None));
    }
    if let (Some(step), Some(figure)) = (mail.step, Figure::of_mail(status)) {
        figures::add_mail(deltas.sums(), project, step, figure, 1);
    }
    delivery_stats::count(deltas, project, status, now);
    Ok(())
}

/// Removes the captured mails that some mails became; how many.
async fn captured(
    tx: &Tx<'_>,
    project: ProjectNumber,
    mails: &[EmailId],
    deltas: &mut Deltas,
) -> Result<u64> {
    let sizes = tx
        .all(
            "delete from mailbox where project_id = $1 and id {in $2} returning size",
            &[project.into(), Arg::Ids(mails.iter().map(|id| Some((*id).into())).collect())],
            |r| r.get::<i64>(0),
        )
        .await?;
    mailbox::count_gone(deltas, project, &sizes);
    Ok(sizes.len() as u64)
}
