//! Removing mails that are settled, and mails that came in.

use mailwright_core::email::EmailStatus;
use mailwright_core::ids::{ContactId, EmailId, ProjectNumber};
use mailwright_core::time::Timestamp;

use super::{next, settled_statuses};
use crate::args;
use crate::audience::suppression;
use crate::database::error::Result;
use crate::database::tx::Tx;
use crate::database::value::Arg;
use crate::feedback::{hit, inbound_removal};
use crate::insight::deltas::Deltas;
use crate::sending::email::count;

/// Goes through `limit` mails that were accepted before a time, and removes those that are settled and have not changed
/// since then, with their opens and clicks. Mails of a campaign that is not over stay: they are what keeps it from
/// writing to anybody twice. The ledger of a campaign stays.
pub(super) async fn settled(
    tx: &Tx<'_>,
    project: ProjectNumber,
    (after, before): (Option<EmailId>, Timestamp),
    limit: i64,
    now: Timestamp,
) -> Result<(u64, Option<EmailId>)> {
    let looked_at: Vec<(EmailId, ())> = tx
        .all(
            "select id from emails where project_id = $1 and id > $2 and id < $3 order by id limit $4",
            args![project, after.unwrap_or(EmailId::from_bytes([0; 16])), EmailId::first_of(before), limit],
            |r| Ok((r.get(0)?, ())),
        )
        .await?;
    let ids = Arg::Ids(looked_at.iter().map(|(id, ())| Some((*id).into())).collect());
    let gone: Vec<(EmailId, String, ContactId)> = tx
        .all(
            "delete from emails where project_id = $1 and id in (select e.id from emails e where e.project_id = $1 \
             and e.id {in $2} and e.due_at is null and e.status {in $3} and e.updated_at < $4 \
             and not exists (select 1 from campaigns c where c.project_id = $1 and c.id = e.campaign_id \
             and c.status in ('DRAFT', 'SCHEDULED', 'SENDING')) {skip_locked}) returning id, status, contact_id",
            &[project.into(), ids, settled_statuses(), before.into()],
            |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)),
        )
        .await?;
    let of = |wanted: EmailStatus| {
        let gone = gone.iter().filter(move |(_, status, _)| status == wanted.as_str());
        gone.map(|(id, ..)| *id).collect::<Vec<_>>()
    };
    let mut deltas = Deltas::default();
    for (_, status, contact) in &gone {
        count::forget(&mut deltas, project, status);
        deltas.touch(project, *contact, now);
    }
    if !gone.is_empty() {
        let ids: Vec<EmailId> = gone.iter().map(|(id, ..)| *id).collect();
        hit::forget_mails(tx, project, &ids).await?;
        suppression::mail::forget(tx, project, &of(EmailStatus::Suppressed)).await?;
    }
    deltas.save(tx).await?;
    Ok((gone.len() as u64, next(&looked_at, limit)))
}

/// Removes the oldest mails that came in before a time, at most `limit`, with the messages that no other mail has; how
/// many.
pub(super) async fn received(
    tx: &Tx<'_>,
    project: ProjectNumber,
    before: Timestamp,
    limit: i64,
) -> Result<u64> {
    let mut deltas = Deltas::default();
    let gone = inbound_removal::older(tx, project, before, limit, &mut deltas).await?;
    deltas.save(tx).await?;
    Ok(gone as u64)
}
