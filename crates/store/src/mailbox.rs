//! The captured mailbox: what the capture transport kept instead of sending it.

use mailwright_core::ids::{ContactId, EmailId, ProjectNumber};
use mailwright_core::time::Timestamp;

use crate::args;
use crate::counter::{self, Counter, Deltas};
use crate::error::Result;
use crate::tx::{Row, Rx, Tx};
use crate::value::Arg;

/// A captured mail.
#[derive(Debug, Clone)]
pub struct Captured {
    /// The mail it was.
    pub id: EmailId,
    /// Sender, as the header shows it.
    pub sender: String,
    /// Recipient address.
    pub recipient: String,
    /// Rendered subject.
    pub subject: String,
    /// Bytes of the whole message.
    pub size: i64,
    /// When it was captured.
    pub created_at: Timestamp,
}

fn read(row: &Row<'_>) -> Result<Captured> {
    Ok(Captured {
        id: row.get(0)?,
        sender: row.get(1)?,
        recipient: row.get(2)?,
        subject: row.get(3)?,
        size: row.get(4)?,
        created_at: row.get(5)?,
    })
}

const COLUMNS: &str = "id, sender, recipient, subject, size, created_at";

/// Keeps a mail. Keeping the same mail again changes nothing.
pub async fn keep(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    contact: ContactId,
    mail: &Captured,
    raw: &[u8],
    deltas: &mut Deltas,
) -> Result<()> {
    let kept = tx
        .execute(
            "insert into mailbox (project_id, id, contact_id, sender, recipient, subject, size, created_at, raw) \
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (project_id, id) do nothing",
            args![
                project,
                mail.id,
                contact,
                &mail.sender,
                &mail.recipient,
                &mail.subject,
                mail.size,
                mail.created_at,
                raw
            ],
        )
        .await?;
    count(deltas, project, kept as i64, kept as i64 * mail.size);
    Ok(())
}

fn count(deltas: &mut Deltas, project: ProjectNumber, mails: i64, bytes: i64) {
    deltas.add(project, Counter::Mailbox, "", mails);
    deltas.add(project, Counter::MailboxBytes, "", bytes);
}

/// How much the mailbox of a project holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// Mails.
    pub mails: i64,
    /// Bytes of them.
    pub bytes: i64,
}

/// Most mails that one call of [`trim`] removes.
const TRIM: i64 = 500;

/// Removes the oldest mails of a project that are beyond its quota, given what the transaction added and did not count
/// yet. Of very many the rest goes with the next call.
pub async fn trim(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    quota: Quota,
    added: Quota,
    deltas: &mut Deltas,
) -> Result<()> {
    let held = counter::value(tx, project, Counter::Mailbox, "").await? + added.mails;
    let bytes = counter::value(tx, project, Counter::MailboxBytes, "").await? + added.bytes;
    let (mut mails, mut bytes) = (held - quota.mails, bytes - quota.bytes);
    if mails <= 0 && bytes <= 0 {
        return Ok(());
    }
    let oldest = tx
        .all(
            "select id, size from mailbox where project_id = $1 order by id limit $2 {skip_locked}",
            args![project, TRIM],
            |r| Ok((r.get::<EmailId>(0)?, r.get::<i64>(1)?)),
        )
        .await?;
    let mut gone = Vec::new();
    for (id, size) in oldest {
        if mails <= 0 && bytes <= 0 {
            break;
        }
        (mails, bytes) = (mails - 1, bytes - size);
        gone.push(Some(id.into()));
        count(deltas, project, -1, -size);
    }
    tx.execute("delete from mailbox where project_id = $1 and id {in $2}", &[project.into(), Arg::Ids(gone)])
        .await?;
    Ok(())
}

/// Removes the captured mails of a contact, up to `limit`; how many.
pub(crate) async fn forget_contact(
    tx: &Tx<'_>,
    project: ProjectNumber,
    contact: ContactId,
    limit: i64,
    deltas: &mut Deltas,
) -> Result<usize> {
    let sizes = tx
        .all(
            "delete from mailbox where project_id = $1 and id in \
             (select id from mailbox where project_id = $1 and contact_id = $2 limit $3) returning size",
            args![project, contact, limit],
            |r| r.get::<i64>(0),
        )
        .await?;
    count(deltas, project, -(sizes.len() as i64), -sizes.iter().sum::<i64>());
    Ok(sizes.len())
}

/// The captured mails after `after`, newest first.
pub async fn list(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    after: Option<EmailId>,
    limit: usize,
) -> Result<Vec<Captured>> {
    let before = after.unwrap_or(EmailId::first_of(Timestamp((1 << 48) - 1)));
    rx.all(
        format!("select {COLUMNS} from mailbox where project_id = $1 and id < $2 order by id desc limit $3"),
        args![project, before, limit],
        read,
    )
    .await
}

/// A captured mail with its raw bytes.
pub async fn get(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    id: EmailId,
) -> Result<Option<(Captured, Vec<u8>)>> {
    rx.optional(
        format!("select {COLUMNS}, raw from mailbox where project_id = $1 and id = $2"),
        args![project, id],
        |r| Ok((read(r)?, r.get(6)?)),
    )
    .await
}

/// Removes one captured mail; whether there was one.
pub async fn delete(tx: &mut Tx<'_>, project: ProjectNumber, id: EmailId) -> Result<bool> {
    let gone = tx
        .all(
            "delete from mailbox where project_id = $1 and id = $2 returning size",
            args![project, id],
            |r| r.get::<i64>(0),
        )
        .await?;
    uncount(tx, project, &gone).await?;
    Ok(!gone.is_empty())
}

/// Removes some captured mails; how many.
pub async fn delete_some(tx: &mut Tx<'_>, project: ProjectNumber) -> Result<u64> {
    let gone = tx
        .all(
            "delete from mailbox where project_id = $1 and id in \
             (select id from mailbox where project_id = $1 limit 500) returning size",
            args![project],
            |r| r.get::<i64>(0),
        )
        .await?;
    uncount(tx, project, &gone).await?;
    Ok(gone.len() as u64)
}

async fn uncount(tx: &mut Tx<'_>, project: ProjectNumber, sizes: &[i64]) -> Result<()> {
    let mut deltas = Deltas::default();
    count(&mut deltas, project, -(sizes.len() as i64), -sizes.iter().sum::<i64>());
    deltas.save(tx).await
}
