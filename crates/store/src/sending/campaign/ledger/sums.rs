//! The sums of a campaign's ledger.

use std::collections::HashMap;

use mailwright_core::campaign::Ledger;
use mailwright_core::email::{EmailStatus, Reason, RecipientState};
use mailwright_core::event::Activity;
use mailwright_core::ids::{CampaignId, EmailId, ProjectNumber, StepId, TemplateId, WorkflowId};
use mailwright_core::rollup::Metric;
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::figures::Figure as OfWorkflow;

use super::key::{Figure, Key, Sum, beginning};
use crate::args;
use crate::automation::figures;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::insight::counter::{self, Counter};
use crate::insight::deltas::Deltas;
use crate::insight::rollup;
use crate::sending::template_figures;

/// The state of a mail, and the reason for it.
pub(crate) type State = (RecipientState, Option<Reason>);

fn count(deltas: &mut Deltas, project: ProjectNumber, campaign: CampaignId, figure: Figure, delta: i64) {
    add(deltas, project, Key { campaign, sum: Sum::Figure(figure) }, delta);
}

fn count_state(deltas: &mut Deltas, project: ProjectNumber, campaign: CampaignId, state: State, delta: i64) {
    add(deltas, project, Key { campaign, sum: Sum::State(state.0, state.1) }, delta);
}

fn add(deltas: &mut Deltas, project: ProjectNumber, key: Key, delta: i64) {
    deltas.add(project, Counter::Campaign, &key.to_string(), delta);
}

/// Counts a contact that comes into the ledger.
pub(crate) fn enter(deltas: &mut Deltas, project: ProjectNumber, campaign: CampaignId, state: State) {
    count(deltas, project, campaign, Figure::Audience, 1);
    // one that a restore holds in doubt is a recipient, too
    let is_recipient = matches!(state.0, RecipientState::Waiting | RecipientState::InDoubt);
    count(deltas, project, campaign, Figure::Recipients, i64::from(is_recipient));
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
    count(deltas, project, campaign, Figure::Bounced, if status == EmailStatus::Bounced { delta } else { 0 });
}

/// Counts what was learnt of a mail for the first time after it left, or takes it out with a `delta` of -1.
pub(crate) fn count_learnt(
    deltas: &mut Deltas,
    project: ProjectNumber,
    campaign: CampaignId,
    activity: Activity,
    delta: i64,
) {
    let what = match activity {
        Activity::Sent => return,
        Activity::Delivered => Figure::Delivered,
        Activity::Opened => Figure::Opened,
        Activity::Clicked => Figure::Clicked,
        Activity::Bounced => Figure::Bounced,
        Activity::Complained => Figure::Complained,
    };
    count(deltas, project, campaign, what, delta);
}

/// Counts mails that machines opened, and in which they followed links.
pub(crate) fn count_machines(
    deltas: &mut Deltas,
    project: ProjectNumber,
    campaign: CampaignId,
    (opened, clicked): (i64, i64),
) {
    count(deltas, project, campaign, Figure::MachineOpened, opened);
    count(deltas, project, campaign, Figure::MachineClicked, clicked);
}

/// Counts a recipient who opted out by a link of a mail, for its campaign, template and workflow: once for each mail, and
/// not for one that bounced or was complained about: those are lost already.
pub async fn count_unsubscribed(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    mail: EmailId,
    deltas: &mut Deltas,
    now: Timestamp,
) -> Result<()> {
    type Origin = (Option<CampaignId>, Option<TemplateId>, Option<WorkflowId>, Option<StepId>, String);
    let of: Option<Origin> = tx
        .optional(
            "update emails set unsubscribed_at = $3 where project_id = $1 and id = $2 and unsubscribed_at is null \
             and bounced_at is null and complained_at is null \
             returning campaign_id, template_id, workflow_id, step_id, recipient",
            args![project, mail, now],
            |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?)),
        )
        .await?;
    let Some((campaign, template, workflow, step, recipient)) = of else { return Ok(()) };
    rollup::count_mail(deltas.sums(), project, Metric::Unsubscribed, (mail, &recipient), 1);
    if let Some(campaign) = campaign {
        count(deltas, project, campaign, Figure::Unsubscribed, 1);
    }
    if let Some(template) = template {
        template_figures::count_unsubscribed(deltas, project, template);
    }
    if let Some(origin) = workflow.zip(step) {
        figures::add_mail(deltas.sums(), project, origin, OfWorkflow::Unsubscribed, 1);
    }
    Ok(())
}

/// The ledgers of campaigns, in the state of one moment.
pub async fn read(
    rx: &Rx<'_>,
    project: ProjectNumber,
    campaigns: &[CampaignId],
) -> Result<HashMap<CampaignId, Ledger>> {
    let prefixes: Vec<String> = campaigns.iter().map(|id| beginning(*id)).collect();
    let rows = counter::beginning_with(rx, project, Counter::Campaign, &prefixes).await?;
    let mut ledgers: HashMap<CampaignId, Ledger> =
        campaigns.iter().map(|id| (*id, Ledger::default())).collect();
    for (name, value) in rows {
        if let Some(Key { campaign, sum }) = Key::parse(&name) {
            note(ledgers.entry(campaign).or_default(), sum, value);
        }
    }
    Ok(ledgers)
}

fn note(ledger: &mut Ledger, sum: Sum, value: i64) {
    match sum {
        Sum::State(recipient_state, reason) => ledger.totals.push((recipient_state, reason, value)),
        Sum::Figure(figure) => *figure_of(ledger, figure) = value,
    }
}

fn figure_of(ledger: &mut Ledger, figure: Figure) -> &mut i64 {
    match figure {
        Figure::Audience => &mut ledger.audience,
        Figure::Recipients => &mut ledger.recipients,
        Figure::Delivered => &mut ledger.delivered,
        Figure::Opened => &mut ledger.opened,
        Figure::Clicked => &mut ledger.clicked,
        Figure::Bounced => &mut ledger.bounced,
        Figure::Complained => &mut ledger.complained,
        Figure::Unsubscribed => &mut ledger.unsubscribed,
        Figure::MachineOpened => &mut ledger.machine_opened,
        Figure::MachineClicked => &mut ledger.machine_clicked,
    }
}
