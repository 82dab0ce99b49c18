//! A last look at contacts before the mail of a workflow is handed over.

use mailwright_core::campaign::{Recipient, excluded};
use mailwright_core::email::{EmailStatus, Reason};
use mailwright_core::ids::{EmailId, ProjectNumber, StepId, WorkflowId};
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::figures::Figure;

use super::claim::Claimed;
use super::contact_now::contacts_of;
use super::count::move_count;
use crate::audience::topic;
use crate::automation::figures;
use crate::database::error::Result;
use crate::database::tx::Tx;
use crate::database::value::Arg;
use crate::insight::deltas::Deltas;

/// Looks at the contacts of claimed mails again. Returns the mails that are still to be sent; those of contacts that
/// unsubscribed or left the topic meanwhile, where that matters, or whose address is suppressed, are skipped. What goes to somebody else
/// than the contact is sent, and so is what was half handed over.
pub async fn recheck(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    claimed: Vec<Claimed>,
    deltas: &mut Deltas,
    now: Timestamp,
) -> Result<Vec<Claimed>> {
    let is_looked_at = |mail: &Claimed| mail.status == EmailStatus::Pending;
    let contacts = contacts_of(tx, project, claimed.iter().filter(|mail| is_looked_at(mail))).await?;
    let of_topics = claimed.iter().filter(|mail| is_looked_at(mail));
    let of_topics = of_topics.map(|mail| (mail.id, mail.contact, mail.topic));
    let outside = topic::mails_outside(tx, project, of_topics).await?;
    let mut skipped: Vec<(EmailId, Reason)> = Vec::new();
    let mut kept = Vec::with_capacity(claimed.len());
    for mail in claimed {
        let contact = contacts.get(&mail.id).filter(|contact| contact.email == mail.recipient);
        let reason = contact.filter(|_| is_looked_at(&mail)).and_then(|contact| {
            let (subscribed, suppressed) = (contact.subscribed, contact.suppressed);
            let in_topic = !outside.contains(&mail.id);
            excluded(mail.kind, Recipient { subscribed, in_topic, suppressed })
        });
        match reason {
            Some(reason) => skipped.push((mail.id, reason)),
            None => kept.push(mail),
        }
    }
    skip(tx, project, &skipped, deltas, now).await?;
    Ok(kept)
}

async fn skip(
    tx: &Tx<'_>,
    project: ProjectNumber,
    skipped: &[(EmailId, Reason)],
    deltas: &mut Deltas,
    now: Timestamp,
) -> Result<()> {
    if skipped.is_empty() {
        return Ok(());
    }
    let origins: Vec<(Option<WorkflowId>, Option<StepId>)> = tx
        .each_returning(
            "update emails set status = 'SKIPPED', reason = r.reason, due_at = null, variables = {json $4}, \
             updated_at = $5 from {rows r: email_id id, reason text} \
             where emails.project_id = $3 and emails.id = r.email_id returning workflow_id, step_id",
            &[
                Arg::Ids(skipped.iter().map(|(id, _)| Some((*id).into())).collect()),
                Arg::Texts(skipped.iter().map(|(_, reason)| Some(reason.as_str().into())).collect()),
                project.into(),
                Arg::Json("{}".into()),
                now.into(),
            ],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )
        .await?;
    for origin in origins {
        move_count(deltas, project, EmailStatus::Pending, EmailStatus::Skipped);
        if let (Some(workflow), Some(step)) = origin {
            figures::add_mail(deltas.sums(), project, (workflow, step), Figure::Unsent, 1);
        }
    }
    Ok(())
}
