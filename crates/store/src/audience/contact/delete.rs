//! Deletion of contacts.
//!
//! It blanks the rows of a contact's mails and keeps them. It takes a shared lock on the campaigns that are freezing, so
//! that none of them freezes the contact at the same time.

use mailwright_core::contact::Contact;
use mailwright_core::email::EmailStatus;
use mailwright_core::ids::{ContactId, EmailId, ProjectNumber};
use mailwright_core::time::Timestamp;

use super::record::get_for_update;
use crate::args;
use crate::audience::consent;
use crate::audience::event_removal;
use crate::audience::former_address;
use crate::audience::saved_columns;
use crate::audience::segment;
use crate::audience::suppression;
use crate::automation;
use crate::database::error::Result;
use crate::database::tx::Tx;
use crate::delivery::mailbox;
use crate::feedback::{hit, inbound_removal};
use crate::insight::cohorts;
use crate::insight::counter::Counter;
use crate::insight::deltas::Deltas;
use crate::sending::campaign::{self, ledger};
use crate::sending::email::count;
use crate::sending::held::note as held;

/// How many rows of each other table one call of [`delete`] removes at most.
const DELETE_CHUNK: i64 = 500;

/// The result of a call of [`delete`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deleted {
    /// There is no such contact.
    NotFound,
    /// Some of its history is gone; call again.
    Partly,
    /// The contact is deleted.
    Wholly,
}

/// Removes a contact with its events, mails, captured mails and executions: a chunk of them per call, the contact with the last.
///
/// The mails of campaigns stay in their ledgers, without what is personal.
pub async fn delete(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    id: ContactId,
    now: Timestamp,
) -> Result<Deleted> {
    let Some(contact) = get_for_update(tx, project, id).await? else { return Ok(Deleted::NotFound) };
    campaign::hold_freezing(tx, project).await?;
    let mut deltas = Deltas::default();
    let events = event_removal::of_contact(tx, project, id, DELETE_CHUNK, &mut deltas).await?;
    let emails = tx
        .all(
            "delete from emails where project_id = $1 and id in (select id from emails where project_id = $1 \
             and contact_id = $2 and campaign_id is null limit $3) returning status, id",
            args![project, id, DELETE_CHUNK],
            |r| Ok((r.get::<String>(0)?, r.get::<EmailId>(1)?)),
        )
        .await?;
    let ids: Vec<EmailId> = emails.iter().map(|(_, id)| *id).collect();
    hit::forget_mails(tx, project, &ids).await?;
    for (status, _) in &emails {
        count::forget(&mut deltas, project, status);
    }
    let suppressed = emails.iter().filter(|(status, _)| status == EmailStatus::Suppressed.as_str());
    suppression::mail::forget(tx, project, &suppressed.map(|(_, id)| *id).collect::<Vec<_>>()).await?;
    let in_doubt = emails.iter().filter(|(status, _)| status == EmailStatus::InDoubt.as_str());
    held::forget(tx, project, &in_doubt.map(|(_, id)| *id).collect::<Vec<_>>()).await?;
    let kept = ledger::forget_contact(tx, project, id, DELETE_CHUNK, &mut deltas, now).await?;
    let captured = mailbox::forget_contact(tx, project, id, DELETE_CHUNK, &mut deltas).await?;
    let received = inbound_removal::of_contact(tx, project, id, DELETE_CHUNK, &mut deltas).await?;
    let executions = automation::forget::contact(tx, project, id, DELETE_CHUNK, &mut deltas).await?.most();
    let most = events.max(emails.len()).max(kept).max(captured).max(received).max(executions) as i64;
    if most == DELETE_CHUNK {
        // its events and mails are fewer
        deltas.followed(project, id, now);
        deltas.save(tx).await?;
        return Ok(Deleted::Partly);
    }
    remove(tx, project, &contact, &mut deltas, now).await?;
    deltas.save(tx).await?;
    Ok(Deleted::Wholly)
}

/// Removes a contact that the transaction holds, with what there is a bounded number of: memberships, choices, evidence.
pub(crate) async fn remove(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    contact: &Contact,
    deltas: &mut Deltas,
    now: Timestamp,
) -> Result<()> {
    deltas.followed(project, contact.id, now);
    segment::forget(tx, project, contact.id).await?;
    consent::forget_contact(tx, project, contact.id).await?;
    former_address::forget_contact(tx, project, contact.id).await?;
    tx.execute_one("delete from contacts where project_id = $1 and id = $2", args![project, contact.id])
        .await?;
    saved_columns::forget_contact(tx, project, contact.id).await?;
    cohorts::forget(tx, project, contact.id, deltas.sums()).await?;
    deltas.add(project, Counter::Contacts, "", -1);
    deltas.add(project, Counter::AddressRevisions, "", 1);
    deltas.add(project, Counter::Subscribed, "", -i64::from(contact.subscribed));
    for key in contact.data.keys() {
        deltas.add(project, Counter::Field, key, -1);
    }
    Ok(())
}
