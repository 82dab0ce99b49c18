//! Mailboxes that are full.

use mailwright_core::address::EmailAddress;
use mailwright_core::ids::{EmailId, ProjectNumber};
use mailwright_core::suppression::{MailboxFull, SUPPRESSED_FOR, SuppressionReason};
use mailwright_core::time::Timestamp;

use super::address::{self, New, Same};
use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Row, Rx, Tx};

/// Notes that a mailbox was full when a mail came, and suppresses its address once [`MailboxFull::is_given_up`]. Returns
/// whether the address was suppressed now: with the reason `hard-bounce` and the mail, for 90 days. The contact stays
/// subscribed, and no event is recorded.
///
/// Each bounce is told once. A mail that was delivered, opened or clicked since the first of the bounces makes the count
/// begin anew; it is looked for here, so that nothing has to be done when mail arrives.
pub async fn soft_bounce(
    tx: &Tx<'_>,
    project: ProjectNumber,
    email: &EmailAddress,
    mail: Option<EmailId>,
    at: Timestamp,
) -> Result<bool> {
    let known = tx
        .optional(
            "select first_at, last_at, bounces, days from soft_bounces where project_id = $1 and email = $2 {for_update}",
            args![project, email],
            read,
        )
        .await?;
    let counted = match known {
        Some(known) if !has_arrived(tx, project, email, known.first_at).await? => known.and(at),
        _ => MailboxFull::new(at),
    };
    if counted.is_given_up() {
        forget(tx, project, email).await?;
        let expires_at = Some(at.plus(SUPPRESSED_FOR));
        let new = New { email: email.clone(), reason: SuppressionReason::HardBounce, mail, expires_at };
        return Ok(address::add(tx, project, &[new], Same::Kept, at).await? > 0);
    }
    tx.execute_one(
        "insert into soft_bounces (project_id, email, first_at, last_at, bounces, days) values ($1, $2, $3, $4, $5, $6) \
         on conflict (project_id, email) do update set first_at = excluded.first_at, last_at = excluded.last_at, \
         bounces = excluded.bounces, days = excluded.days",
        args![project, email, counted.first_at, counted.last_at, counted.bounces, counted.days],
    )
    .await?;
    Ok(false)
}

fn read(row: &Row<'_>) -> Result<MailboxFull> {
    Ok(MailboxFull { first_at: row.get(0)?, last_at: row.get(1)?, bounces: row.get(2)?, days: row.get(3)? })
}

/// Mails that are looked through for a sign that mail arrives.
const LOOKED_THROUGH: i64 = 200;

/// Whether one of the newest mails to an address was delivered, opened or clicked since an instant.
async fn has_arrived(
    rx: &Rx<'_>,
    project: ProjectNumber,
    email: &EmailAddress,
    since: Timestamp,
) -> Result<bool> {
    rx.exists(
        "select 1 from (select e.recipient, e.delivered_at, e.last_opened_at, e.last_clicked_at from contacts c \
         join emails e on e.project_id = $1 and e.contact_id = c.id where c.project_id = $1 and c.email = $2 \
         order by e.id desc limit $4) as newest where newest.recipient = $2 \
         and (newest.delivered_at > $3 or newest.last_opened_at > $3 or newest.last_clicked_at > $3) limit 1",
        args![project, email, since, LOOKED_THROUGH],
    )
    .await
}

async fn forget(tx: &Tx<'_>, project: ProjectNumber, email: &EmailAddress) -> Result<()> {
    tx.execute("delete from soft_bounces where project_id = $1 and email = $2", args![project, email])
        .await?;
    Ok(())
}

/// Removes up to `limit` counts that are of no use any more; how many.
pub async fn forget_old(tx: &Tx<'_>, project: ProjectNumber, now: Timestamp, limit: i64) -> Result<u64> {
    tx.execute(
        "delete from soft_bounces where project_id = $1 and email in (select email from soft_bounces \
         where project_id = $1 and last_at < $2 limit $3)",
        args![project, MailboxFull::forgotten_before(now), limit],
    )
    .await
}
