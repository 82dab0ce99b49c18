//! A last look at addresses and contacts before mails of no campaign are handed over.

use std::collections::{BTreeSet, HashMap};

use futures_util::future::join3;
use mailwright_core::address::EmailAddress;
use mailwright_core::campaign::{Recipient, excluded};
use mailwright_core::email::{EmailSource, EmailStatus, Reason};
use mailwright_core::ids::{EmailId, ProjectNumber, StepId, WorkflowId};
use mailwright_core::suppression::Match;
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::figures::Figure;

use super::claim::Claimed;
use super::contact_now::contacts_of;
use super::count::move_count;
use crate::audience::suppression::{self, Look};
use crate::audience::topic;
use crate::automation::figures;
use crate::database::error::Result;
use crate::database::tx::Tx;
use crate::database::value::Arg;
use crate::insight::deltas::Deltas;

/// A mail that is not sent.
#[derive(Debug, Clone)]
pub(crate) struct Unsent {
    /// The mail.
    pub(crate) id: EmailId,
    /// Why.
    pub(crate) reason: Reason,
    /// What holds it back, where the reason is that its address is suppressed.
    pub(crate) by: Option<Match>,
}

impl Unsent {
    /// A mail that is held back.
    pub(crate) fn suppressed(id: EmailId, by: Match) -> Self {
        Self { id, reason: Reason::Suppressed, by: Some(by) }
    }

    /// A mail that is skipped.
    pub(crate) fn skipped(id: EmailId, reason: Reason) -> Self {
        Self { id, reason, by: None }
    }

    /// Its status.
    pub(crate) fn status(&self) -> EmailStatus {
        if self.by.is_some() { EmailStatus::Suppressed } else { EmailStatus::Skipped }
    }
}

/// Looks again at the addresses of claimed mails, and at the contacts of workflows' mails. Returns the mails that are
/// still to be sent: not those to an address that is suppressed, nor those of workflows to contacts that unsubscribed
/// or left the topic meanwhile, where that matters. What a workflow sends to somebody else than the contact heeds neither
/// subscription nor topic. What was half handed over is returned as it is.
pub async fn recheck(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    claimed: Vec<Claimed>,
    deltas: &mut Deltas,
    now: Timestamp,
) -> Result<Vec<Claimed>> {
    let is_looked_at = |mail: &&Claimed| mail.status == EmailStatus::Pending;
    let addresses: BTreeSet<&EmailAddress> =
        claimed.iter().filter(is_looked_at).map(|mail| &mail.recipient).collect();
    let of_workflows =
        claimed.iter().filter(is_looked_at).filter(|mail| mail.source == EmailSource::Workflow);
    let (look, contacts, outside) = join3(
        Look::at(tx, project, &addresses, now),
        contacts_of(tx, project, of_workflows.clone()),
        topic::mails_outside(tx, project, of_workflows.filter_map(Claimed::topic_heeded)),
    )
    .await;
    let (look, contacts, outside): (_, HashMap<_, _>, _) = (look?, contacts?, outside?);
    let mut unsent: Vec<Unsent> = Vec::new();
    let mut kept = Vec::with_capacity(claimed.len());
    for mail in claimed {
        if mail.status != EmailStatus::Pending {
            kept.push(mail);
            continue;
        }
        let contact = contacts.get(&mail.id).filter(|contact| contact.email == mail.recipient);
        let skipped = contact.and_then(|contact| {
            let (subscribed, in_topic) = (contact.subscribed, !outside.contains(&mail.id));
            excluded(mail.kind, Recipient { subscribed, in_topic, suppressed: false })
        });
        match (look.find(&mail.recipient, mail.kind, false), skipped) {
            (Some(by), _) => unsent.push(Unsent::suppressed(mail.id, by)),
            (None, Some(reason)) => unsent.push(Unsent::skipped(mail.id, reason)),
            (None, None) => kept.push(mail),
        }
    }
    settle(tx, project, &unsent, deltas, now).await?;
    Ok(kept)
}

/// Settles mails of no campaign that wait and are not sent.
pub(crate) async fn settle(
    tx: &Tx<'_>,
    project: ProjectNumber,
    unsent: &[Unsent],
    deltas: &mut Deltas,
    now: Timestamp,
) -> Result<()> {
    if unsent.is_empty() {
        return Ok(());
    }
    // what the project is shown of a mail that was held back needs the values of its variables
    let origins: Vec<(String, Option<WorkflowId>, Option<StepId>)> = tx
        .each_returning(
            "update emails set status = r.to_status, reason = r.reason, suppression = r.suppression, due_at = null, \
             variables = case when r.to_status = 'SUPPRESSED' then emails.variables else {json $6} end, updated_at = $7 \
             from {rows r: email_id id, to_status text, reason text, suppression json} \
             where emails.project_id = $5 and emails.id = r.email_id \
             returning status, workflow_id, step_id",
            &[
                Arg::Ids(unsent.iter().map(|mail| Some(mail.id.into())).collect()),
                Arg::Texts(unsent.iter().map(|mail| Some(mail.status().as_str().into())).collect()),
                Arg::Texts(unsent.iter().map(|mail| Some(mail.reason.as_str().into())).collect()),
                Arg::Jsons(unsent.iter().map(|mail| mail.by.as_ref().map(|by| by.to_text().into())).collect()),
                project.into(),
                Arg::Json("{}".into()),
                now.into(),
            ],
            |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)),
        )
        .await?;
    note(tx, project, unsent).await?;
    for (status, workflow, step) in origins {
        let status = EmailStatus::from_name(&status).unwrap_or(EmailStatus::Skipped);
        move_count(deltas, project, EmailStatus::Pending, status);
        if let (Some(workflow), Some(step)) = (workflow, step) {
            figures::add_mail(deltas.sums(), project, (workflow, step), Figure::Unsent, 1);
        }
    }
    Ok(())
}

/// Lists those of some mails that are held back.
pub(crate) async fn note(tx: &Tx<'_>, project: ProjectNumber, unsent: &[Unsent]) -> Result<()> {
    let held: Vec<EmailId> = unsent.iter().filter(|mail| mail.by.is_some()).map(|mail| mail.id).collect();
    suppression::mail::note(tx, project, &held).await
}
