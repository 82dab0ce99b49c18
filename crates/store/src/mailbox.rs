//! The captured mailbox: what the capture transport kept instead of sending it.

use mailwright_core::ids::{ContactId, EmailId, ProjectNumber};
use mailwright_core::time::Timestamp;

use crate::args;
use crate::counter::{Counter, Deltas};
use crate::error::Result;
use crate::tx::{Row, Rx, Tx};

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
    deltas.add(project, Counter::Mailbox, "", kept as i64);
    Ok(())
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
    let gone =
        tx.execute("delete from mailbox where project_id = $1 and id = $2", args![project, id]).await?;
    uncount(tx, project, gone).await?;
    Ok(gone > 0)
}

/// Removes some captured mails; how many.
pub async fn delete_some(tx: &mut Tx<'_>, project: ProjectNumber) -> Result<u64> {
    let gone = tx
        .execute(
            "delete from mailbox where project_id = $1 and id in (select id from mailbox where project_id = $1 limit 500)",
            args![project],
        )
        .await?;
    uncount(tx, project, gone).await?;
    Ok(gone)
}

async fn uncount(tx: &mut Tx<'_>, project: ProjectNumber, gone: u64) -> Result<()> {
    let mut deltas = Deltas::default();
    deltas.add(project, Counter::Mailbox, "", -(gone as i64));
    deltas.save(tx).await
}
