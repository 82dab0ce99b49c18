//! Storing the outcomes of hand-overs.
//!
//! Attempts, doubts and the log grow in SQL ([`conclude`]): a worker adds one attempt and does not write the whole log,
//! so nothing that another owner stored is overwritten. A process that comes back after its lease, and knows that its
//! mail was taken, records that ([`conclude_late`](super::late::conclude_late)).
//!
//! The values of a mail are blanked when the mail is settled. A campaign's mail that did not go out keeps them, for a
//! retry.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use mailwright_core::attempt::Attempt;
use mailwright_core::email::{EmailStatus, Reason, RecipientState};
use mailwright_core::event::Activity;
use mailwright_core::ids::{CampaignId, EmailId, StepId, TemplateId, WorkflowId};
use mailwright_core::rollup::Metric;
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::figures::Figure;

use super::count::move_count;
use super::lease::{ClaimRef, claim_columns, millis};
use crate::automation::figures;
use crate::database::error::Result;
use crate::database::tx::Tx;
use crate::database::value::Arg;
use crate::delivery::delivery_stats;
use crate::insight::deltas::Deltas;
use crate::insight::rollup;
use crate::sending::campaign::ledger::sums;
use crate::sending::template_figures;

/// The outcome of a hand-over, to be stored.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The claim under which it was made.
    pub claim: ClaimRef,
    /// The campaign of the mail.
    pub campaign: Option<CampaignId>,
    /// Status of the mail when it was claimed.
    pub from: EmailStatus,
    /// Status of the mail now.
    pub status: EmailStatus,
    /// When it is tried again; `None` in a terminal state.
    pub due_at: Option<Timestamp>,
    /// How long it waits until then.
    pub waits: Duration,
    /// Whether nobody knows what this hand-over came to.
    pub is_doubt: bool,
    /// The attempt for the mail's log, which gets its number when it is stored.
    pub attempt: Attempt,
    /// Why the mail was not sent, in words; `None` if it was.
    pub error: Option<String>,
    /// Why the mail will not be sent; `None` if it was sent or waits.
    pub reason: Option<Reason>,
    /// Rendered subject; `None` if the mail was not rendered.
    pub subject: Option<String>,
    /// When the next hop took it.
    pub sent_at: Option<Timestamp>,
    /// When it was refused for good.
    pub bounced_at: Option<Timestamp>,
    /// Whether the mail left the machine, so that it was sent even if the claim was lost meanwhile.
    pub has_left: bool,
}

impl Outcome {
    fn recipient_state(&self) -> RecipientState {
        RecipientState::of(self.status)
    }
}

/// Which outcomes were stored.
#[derive(Debug, Default)]
pub struct Concluded {
    /// The mails that were changed.
    pub changed: HashSet<EmailId>,
    /// The stored ones whose contact was removed during the hand-over.
    pub without_contact: HashSet<EmailId>,
}

/// A mail whose outcome was stored.
struct Stored {
    id: EmailId,
    /// The recipient; empty when the contact was removed.
    recipient: String,
    /// The step that made it.
    step: Option<(WorkflowId, StepId)>,
    template: Option<TemplateId>,
}

/// Stores outcomes. An outcome under a claim that is no longer the newest, or of a mail that was removed or skipped
/// meanwhile, changes nothing. There is one exception: that a mail left is stored even under an older claim, by
/// [`conclude_late`](super::conclude_late) if the mail no longer waits. There must be one outcome per mail. It ends the
/// claim, so that no late write can change the outcome.
///
/// Attempts, doubts and the log only ever grow from what is stored: another owner may have added to them since the mail
/// was claimed.
///
/// The values of a mail's variables, which may open an account, are removed if the mail is not rendered again. A mail
/// of a campaign that did not go out can be tried once more, and keeps them.
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
    let stored: Vec<Stored> = tx
        .each_returning(
            "update emails set claim = emails.claim + 1, status = r.status, due_at = r.due_at, \
             attempts = emails.attempts + 1, in_doubt = emails.in_doubt + r.doubts, \
             waited_ms = emails.waited_ms + r.waits, sent_claim = case when r.status = 'SENT' then r.claim end, \
             recipient_state = r.recipient_state, reason = r.reason, \
             bounce_class = coalesce(r.bounce_class, emails.bounce_class), sent_at = r.sent_at, bounced_at = r.bounced_at, \
             updated_at = $17, \
             variables = case when r.due_at is null and (r.status = 'SENT' or emails.campaign_id is null) \
             then {json $18} else emails.variables end, \
             log = case when emails.recipient = '' then emails.log else {log_and} r.attempt {numbered} end, \
             error = case when emails.recipient = '' then null else r.error end, \
             subject = case when emails.recipient = '' then '' else coalesce(r.subject, emails.subject) end \
             from {rows r: project_id int, email_id id, claim int, status text, due_at int, waits int, doubts int, \
             attempt json, error text, subject text, sent_at int, bounced_at int, recipient_state text, reason text, has_left bool, \
             bounce_class text} \
             where emails.project_id = r.project_id and emails.id = r.email_id and emails.due_at is not null \
             and (emails.claim = r.claim or r.has_left) returning id, recipient, workflow_id, step_id, \
             template_id",
            &[
                projects,
                ids,
                numbers,
                Arg::Texts(outcomes.iter().map(|o| Some(o.status.as_str().into())).collect()),
                Arg::Ints(outcomes.iter().map(|o| o.due_at.map(|t| t.0)).collect()),
                Arg::Ints(outcomes.iter().map(|o| Some(millis(o.waits))).collect()),
                Arg::Ints(outcomes.iter().map(|o| Some(o.is_doubt.into())).collect()),
                Arg::Jsons(outcomes.iter().map(|o| Some(o.attempt.to_text().into())).collect()),
                Arg::Texts(outcomes.iter().map(|o| o.error.as_deref().map(Into::into)).collect()),
                Arg::Texts(outcomes.iter().map(|o| o.subject.as_deref().map(Into::into)).collect()),
                Arg::Ints(outcomes.iter().map(|o| o.sent_at.map(|t| t.0)).collect()),
                Arg::Ints(outcomes.iter().map(|o| o.bounced_at.map(|t| t.0)).collect()),
                Arg::Texts(
                    outcomes.iter().map(|o| o.campaign.map(|_| o.recipient_state().as_str().into())).collect(),
                ),
                Arg::Texts(outcomes.iter().map(|o| o.reason.map(|reason| reason.as_str().into())).collect()),
                Arg::Bools(outcomes.iter().map(|o| Some(o.has_left)).collect()),
                Arg::Texts(outcomes.iter().map(|o| o.attempt.class.map(|class| class.as_str().into())).collect()),
                now.into(),
                Arg::Json("{}".into()),
            ],
            |r| {
                let step = r.get::<Option<WorkflowId>>(2)?.zip(r.get::<Option<StepId>>(3)?);
                Ok(Stored { id: r.get(0)?, recipient: r.get(1)?, step, template: r.get(4)? })
            },
        )
        .await?;
    let by_id: HashMap<EmailId, &Stored> = stored.iter().map(|mail| (mail.id, mail)).collect();
    for outcome in outcomes {
        let Some(mail) = by_id.get(&outcome.claim.id) else { continue };
        move_count(deltas, outcome.claim.project, outcome.from, outcome.status);
        if let Some(campaign) = outcome.campaign {
            let (from, to) = ((RecipientState::Waiting, None), (outcome.recipient_state(), outcome.reason));
            sums::shift(deltas, outcome.claim.project, campaign, from, to);
            sums::count_bounces(deltas, outcome.claim.project, campaign, outcome.status, 1);
        }
        if let (Some(template), EmailStatus::Bounced) = (mail.template, outcome.status) {
            template_figures::count(deltas, outcome.claim.project, template, Activity::Bounced, 1);
        }
        if let (Some(step), Some(figure)) = (mail.step, Figure::of_mail(outcome.status)) {
            figures::add_mail(deltas.sums(), outcome.claim.project, step, figure, 1);
        }
        delivery_stats::count(deltas, outcome.claim.project, outcome.status, now);
        for (metric, at) in [(Metric::Sent, outcome.sent_at), (Metric::Bounced, outcome.bounced_at)] {
            let delta = i64::from(at.is_some());
            let of = (outcome.claim.id, mail.recipient.as_str());
            rollup::count_mail(deltas.sums(), outcome.claim.project, metric, of, delta);
        }
    }
    let changed = by_id.into_keys().collect();
    let without_contact =
        stored.iter().filter(|mail| mail.recipient.is_empty()).map(|mail| mail.id).collect();
    Ok(Concluded { changed, without_contact })
}
