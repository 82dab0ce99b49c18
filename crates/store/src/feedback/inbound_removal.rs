//! Removing mail that came in, when who wrote it is removed.

use mailwright_core::address::EmailAddress;
use mailwright_core::email::EmailStatus;
use mailwright_core::event::EMAIL_RECEIVED;
use mailwright_core::ids::{ContactId, EmailId, ProjectNumber};
use mailwright_core::rollup::Metric;
use mailwright_core::time::Timestamp;

use crate::args;
use crate::audience::event_removal;
use crate::database::error::Result;
use crate::database::tx::Tx;
use crate::database::value::Arg;
use crate::insight::deltas::Deltas;
use crate::insight::rollup;
use crate::sending::email::count;

/// Removes the mails that a contact wrote, some at a time, and the messages that no other mail has; how many.
pub(crate) async fn of_contact(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    contact: ContactId,
    limit: i64,
    deltas: &mut Deltas,
) -> Result<usize> {
    let gone: Vec<(EmailId, Vec<u8>)> = tx
        .all(
            "delete from inbound_mails where project_id = $1 and id in (select id from inbound_mails \
             where project_id = $1 and contact_id = $2 limit $3) returning id, raw_hash",
            args![project, contact, limit],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )
        .await?;
    never_came(project, &gone, deltas);
    forget_messages(tx, project, &gone, deltas).await?;
    Ok(gone.len())
}

/// Removes the oldest mails from before a time, some at a time, with the messages that no other mail has; how many.
/// That they came stays counted.
pub(crate) async fn older(
    tx: &Tx<'_>,
    project: ProjectNumber,
    before: Timestamp,
    limit: i64,
    deltas: &mut Deltas,
) -> Result<usize> {
    let gone: Vec<(EmailId, Vec<u8>)> = tx
        .all(
            "delete from inbound_mails where project_id = $1 and id in (select id from inbound_mails \
             where project_id = $1 and id < $2 order by id limit $3 {skip_locked}) returning id, raw_hash",
            args![project, EmailId::first_of(before), limit],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )
        .await?;
    forget_messages(tx, project, &gone, deltas).await?;
    Ok(gone.len())
}

/// Removes the mails that were written from an address, also by who was no contact, some at a time, with the messages
/// that no other mail has and the events that tell of them. Returns how many mails that were.
pub(crate) async fn of_address(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    address: &EmailAddress,
    limit: i64,
    deltas: &mut Deltas,
) -> Result<usize> {
    let gone: Vec<(EmailId, Vec<u8>)> = tx
        .all(
            "delete from inbound_mails where project_id = $1 and id in (select id from inbound_mails \
             where project_id = $1 and lower(from_address) = $2 limit $3) returning id, raw_hash",
            args![project, address, limit],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )
        .await?;
    never_came(project, &gone, deltas);
    forget_messages(tx, project, &gone, deltas).await?;
    for (id, _) in &gone {
        let (from, until) = (id.instant(), Timestamp(id.instant().0 + 1));
        event_removal::of_mail(tx, project, (EMAIL_RECEIVED, *id), (from, until), deltas).await?;
    }
    Ok(gone.len())
}

/// Takes mails out of the figures.
fn never_came(project: ProjectNumber, gone: &[(EmailId, Vec<u8>)], deltas: &mut Deltas) {
    for (id, _) in gone {
        rollup::count(deltas.sums(), project, Metric::Received, id.instant(), -1);
    }
}

/// Counts that mails are gone from the list, and removes the messages that no other mail has.
async fn forget_messages(
    tx: &Tx<'_>,
    project: ProjectNumber,
    gone: &[(EmailId, Vec<u8>)],
    deltas: &mut Deltas,
) -> Result<()> {
    count::add(deltas, project, EmailStatus::Received, -(gone.len() as i64));
    let hashes = || Arg::Blobs(gone.iter().map(|(_, hash)| Some(hash.as_slice().into())).collect());
    for table in ["inbound_raw", "inbound_contents"] {
        tx.execute(
            format!(
                "delete from {table} where project_id = $1 and hash {{in $2}} and not exists (select 1 from inbound_mails m \
                 where m.project_id = $1 and m.raw_hash = {table}.hash)"
            ),
            &[project.into(), hashes()],
        )
        .await?;
    }
    Ok(())
}
