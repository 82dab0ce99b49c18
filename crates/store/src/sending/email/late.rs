//! Storing that mails were taken although they no longer wait.

use mailwright_core::email::{EmailStatus, Reason, RecipientState};
use mailwright_core::ids::{ContactId, EmailId, ProjectNumber, StepId, WorkflowId};
use mailwright_core::rollup::Metric;
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::figures::Figure;

use super::conclude::{Concluded, Outcome};
use super::count::move_count;
use crate::args;
use crate::automation::figures;
use crate::database::error::Result;
use crate::database::tx::Tx;
use crate::database::value::Arg;
use crate::delivery::delivery_stats;
use crate::insight::deltas::Deltas;
use crate::insight::rollup;
use crate::sending::campaign::ledger::sums;
use crate::sending::held::note as held;

/// The stored state of a mail that no longer waited when it turned out to be sent.
struct Ended {
    status: EmailStatus,
    reason: Option<Reason>,
    sent_claim: Option<i64>,
    /// Empty when the contact was removed.
    recipient: String,
    origin: Option<(WorkflowId, StepId)>,
    is_sent: bool,
    contact: ContactId,
}

/// Stores that mails were taken although [`conclude`](fn@super::conclude) found that they no longer wait: a former
/// owner came back after another process had settled the mail, or both owners handed it over.
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
        if !outcome.has_left || concluded.changed.contains(&id) {
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
        deltas.followed(project, ended.contact, now);
        if !ended.is_sent && outcome.sent_at.is_some() {
            rollup::count_mail(deltas.sums(), project, Metric::Sent, (id, &ended.recipient), 1);
        }
        if is_settled {
            continue;
        }
        if ended.status == EmailStatus::InDoubt {
            held::forget(tx, project, &[id]).await?;
        }
        move_count(deltas, project, ended.status, EmailStatus::Sent);
        if let Some(campaign) = outcome.campaign {
            let (from, to) =
                ((RecipientState::of(ended.status), ended.reason), (RecipientState::Accepted, None));
            sums::shift(deltas, project, campaign, from, to);
        }
        if let Some(origin) = ended.origin {
            if let Some(figure) = Figure::of_mail(ended.status) {
                figures::add_mail(deltas.sums(), project, origin, figure, -1);
            }
            figures::add_mail(deltas.sums(), project, origin, Figure::Sent, 1);
        }
        delivery_stats::count(deltas, project, EmailStatus::Sent, now);
        concluded.changed.insert(id);
        if ended.recipient.is_empty() {
            concluded.without_contact.insert(id);
        }
    }
    Ok(())
}

async fn ended(tx: &mut Tx<'_>, project: ProjectNumber, id: EmailId) -> Result<Option<Ended>> {
    tx.optional(
        "select status, reason, sent_claim, recipient, workflow_id, step_id, sent_at is not null, contact_id from emails where project_id = $1 and id = $2 {for_update}",
        args![project, id],
        |r| {
            Ok(Ended {
                status: r.named(0, "emails.status", EmailStatus::from_name)?,
                reason: r.named_or_null(1, "emails.reason", Reason::from_name)?,
                sent_claim: r.get(2)?,
                recipient: r.get(3)?,
                origin: r.get::<Option<WorkflowId>>(4)?.zip(r.get::<Option<StepId>>(5)?),
                is_sent: r.get(6)?,
                contact: r.get(7)?,
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
            Arg::Json(outcome.attempt.to_text().into()),
            outcome.subject.as_deref(),
            Arg::Json("{}".into()),
        ],
    )
    .await
}
