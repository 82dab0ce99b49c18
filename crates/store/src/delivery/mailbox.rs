//! The captured mailbox: mails that the capture transport kept instead of sending them.

use mailwright_core::ids::{ContactId, EmailId, ProjectNumber};
use mailwright_core::time::Timestamp;

use crate::args;
use crate::audience::names;
use crate::database::error::Result;
use crate::database::tx::{Row, Rx, Tx};
use crate::database::value::Arg;
use crate::insight::counter::{self, Counter};
use crate::insight::deltas::Deltas;

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

/// Counts that captured mails of these sizes are gone.
pub(crate) fn count_gone(deltas: &mut Deltas, project: ProjectNumber, sizes: &[i64]) {
    count(deltas, project, -(sizes.len() as i64), -sizes.iter().sum::<i64>());
}

/// How much the mailbox of a project holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// Mails.
    pub mails: i64,
    /// Bytes of them.
    pub bytes: i64,
}

/// Most mails that one call of [`trim`] removes, about.
const TRIM: usize = 500;
/// Most mails that are looked at together for that. SQLite reads a whole mail to find its size.
const PAGE: usize = 8;

/// Removes the oldest mails of a project that are beyond its quota, given what the transaction added and did not count
/// yet. Of very many the rest goes with the next call, and so does what another transaction was removing at the same
/// time.
pub async fn trim(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    quota: Quota,
    added: Quota,
    deltas: &mut Deltas,
) -> Result<()> {
    let mails = counter::value(tx, project, Counter::Mailbox, "").await? + added.mails;
    let bytes = counter::value(tx, project, Counter::MailboxBytes, "").await? + added.bytes;
    let (mut mails, mut bytes) = (mails - quota.mails, bytes - quota.bytes);
    let mut uncounted = added.bytes;
    for _ in 0..TRIM.div_ceil(PAGE) {
        if mails <= 0 && bytes <= 0 {
            return Ok(());
        }
        let oldest = oldest(tx, project).await?;
        if oldest.is_empty() {
            return recount(tx, project, uncounted, deltas).await;
        }
        let mut chosen = Vec::new();
        for (id, size) in oldest {
            if mails <= 0 && bytes <= 0 {
                break;
            }
            (mails, bytes) = (mails - 1, bytes - size);
            chosen.push(Some(id.into()));
        }
        let wanted = chosen.len();
        let gone = tx
            .all(
                "delete from mailbox where project_id = $1 and id {in $2} returning size",
                &[project.into(), Arg::Ids(chosen)],
                |r| r.get::<i64>(0),
            )
            .await?;
        uncounted -= gone.iter().sum::<i64>();
        count_gone(deltas, project, &gone);
        if gone.len() < wanted {
            // another transaction removed them, of which the counters did not tell yet
            return Ok(());
        }
    }
    Ok(())
}

async fn oldest(rx: &Rx<'_>, project: ProjectNumber) -> Result<Vec<(EmailId, i64)>> {
    rx.all(
        "select id, size from mailbox where project_id = $1 order by id limit $2",
        args![project, PAGE],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )
    .await
}

/// Counts the bytes of a mailbox that holds little anew, given how many of them the transaction did not count yet.
/// Mails that a process of an earlier version, which counts only mails, adds or removes meanwhile are not in the sum.
async fn recount(tx: &Tx<'_>, project: ProjectNumber, uncounted: i64, deltas: &mut Deltas) -> Result<()> {
    // two that put the same right would do it twice
    names::lock(tx, project).await?;
    let missing: i64 = tx
        .one(
            "select cast(coalesce((select sum(size) from mailbox where project_id = $1), 0) \
             - coalesce((select sum(value) from counters where project_id = $1 and kind = $2 and name = ''), 0) as {int})",
            args![project, Counter::MailboxBytes.as_str()],
            |r| r.get(0),
        )
        .await?;
    deltas.add(project, Counter::MailboxBytes, "", missing - uncounted);
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
    count_gone(deltas, project, &sizes);
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
    let mut deltas = Deltas::default();
    count_gone(&mut deltas, project, &gone);
    deltas.save(tx).await?;
    Ok(!gone.is_empty())
}

/// Removes some captured mails; how many. Where there are none, it sees to it that none are counted.
pub async fn delete_some(tx: &mut Tx<'_>, project: ProjectNumber) -> Result<u64> {
    let gone = tx
        .all(
            "delete from mailbox where project_id = $1 and id in \
             (select id from mailbox where project_id = $1 limit 500) returning size",
            args![project],
            |r| r.get::<i64>(0),
        )
        .await?;
    let mut deltas = Deltas::default();
    count_gone(&mut deltas, project, &gone);
    if gone.is_empty() {
        recount(tx, project, 0, &mut deltas).await?;
    }
    deltas.save(tx).await?;
    Ok(gone.len() as u64)
}

#[cfg(test)]
mod tests {
    use mailwright_core::ids::ContactId;
    use tokio::sync::oneshot;

    use super::*;
    use crate::body;
    use crate::database::db::Db;
    use crate::database::location::Location;
    use crate::database::metrics::StoreMetrics;
    use crate::database::migrate::migrate;
    use crate::database::migrate::tests::Database;

    const ONE: ProjectNumber = ProjectNumber(1);

    async fn sqlite(folder: &tempfile::TempDir) -> Db {
        let location = Location::Sqlite(folder.path().join("mailbox.sqlite"));
        let db = Db::open(&location, StoreMetrics::default()).unwrap();
        migrate(&db, Timestamp(0)).await.unwrap();
        db
    }

    /// Keeps a mail of each size, named by a time, and trims the mailbox.
    async fn keep_all(db: &Db, sizes: Vec<(i64, i64)>, quota: Quota) {
        let kept = db.write(body!(async |tx| {
            let mut deltas = Deltas::default();
            let mut added = Quota { mails: 0, bytes: 0 };
            for (at, size) in sizes {
                let at = Timestamp(at);
                let mail = Captured {
                    id: EmailId::new(at, rand::random()),
                    sender: "s".into(),
                    recipient: "r".into(),
                    subject: "s".into(),
                    size,
                    created_at: at,
                };
                keep(tx, ONE, ContactId::new(at, rand::random()), &mail, b"raw", &mut deltas).await?;
                added = Quota { mails: added.mails + 1, bytes: added.bytes + size };
            }
            trim(tx, ONE, quota, added, &mut deltas).await?;
            deltas.save(tx).await
        }));
        kept.await.unwrap();
    }

    /// What the mailbox holds, by the times of its mails, after it was compared with the counters.
    async fn held(db: &Db) -> Vec<i64> {
        let found = db.read(body!(async |rx| {
            let sql = "select created_at, size from mailbox where project_id = $1 order by id";
            let rows = rx.all(sql, args![ONE], |r| Ok((r.get::<i64>(0)?, r.get::<i64>(1)?))).await?;
            let mails = counter::value(rx, ONE, Counter::Mailbox, "").await?;
            Ok((rows, mails, counter::value(rx, ONE, Counter::MailboxBytes, "").await?))
        }));
        let (rows, mails, bytes) = found.await.unwrap();
        let sum: i64 = rows.iter().map(|(_, size)| size).sum();
        assert_eq!((mails, bytes), (rows.len() as i64, sum), "counted");
        rows.into_iter().map(|(at, _)| at).collect()
    }

    /// Has the counter say more, or less, than there is.
    async fn miscount(db: &Db, bytes: i64) {
        let added = db.write(body!(async |tx| {
            let mut deltas = Deltas::default();
            deltas.add(ONE, Counter::MailboxBytes, "", bytes);
            deltas.save(tx).await
        }));
        added.await.unwrap();
    }

    const FREE: Quota = Quota { mails: 1_000, bytes: 1_000 };

    #[tokio::test]
    async fn as_many_of_the_oldest_go_as_are_beyond_the_quota() {
        let folder = tempfile::tempdir().unwrap();
        let db = sqlite(&folder).await;
        keep_all(&db, (0..30).map(|at| (at, 10)).collect(), FREE).await;
        keep_all(&db, vec![(30, 10)], Quota { mails: 25, ..FREE }).await;
        assert_eq!(held(&db).await, (6..31).collect::<Vec<_>>());
        keep_all(&db, vec![(31, 45)], Quota { bytes: 100, ..FREE }).await;
        assert_eq!(held(&db).await, [26, 27, 28, 29, 30, 31]);
    }

    #[tokio::test]
    async fn a_sum_that_is_wrong_is_put_right_where_the_mailbox_is_empty() {
        let folder = tempfile::tempdir().unwrap();
        let db = sqlite(&folder).await;
        keep_all(&db, vec![(0, 10)], FREE).await;
        miscount(&db, 5_000).await;
        keep_all(&db, vec![(1, 10), (2, 10)], FREE).await;
        assert!(held(&db).await.is_empty());
        keep_all(&db, vec![(3, 10)], FREE).await;
        assert_eq!(held(&db).await, [3]);
        miscount(&db, -5_000).await;
        for _ in 0..2 {
            let deleted = db.write(body!(async |tx| delete_some(tx, ONE).await));
            deleted.await.unwrap();
        }
        assert!(held(&db).await.is_empty());
    }

    #[tokio::test]
    async fn two_that_trim_at_once_leave_what_is_newer() {
        let database = Database::create("mailbox");
        let db = database.open();
        migrate(&db, Timestamp(0)).await.unwrap();
        keep_all(&db, (0..3).map(|at| (at, 10)).collect(), FREE).await;
        let (removed, has_removed) = oneshot::channel();
        let (let_go, until) = oneshot::channel::<()>();
        let first = db.clone();
        let trim_first = tokio::spawn(async move {
            let work = first.write_in_background(body!(async |tx| {
                let mut deltas = Deltas::default();
                let nothing = Quota { mails: 0, bytes: 0 };
                trim(tx, ONE, Quota { mails: 2, ..FREE }, nothing, &mut deltas).await?;
                deltas.save(tx).await?;
                let _ = removed.send(());
                let _ = until.await;
                Ok::<_, crate::Error>(())
            }));
            work.await
        });
        has_removed.await.unwrap();
        let second = tokio::spawn({
            let db = db.clone();
            async move { keep_all(&db, Vec::new(), Quota { mails: 2, ..FREE }).await }
        });
        database.until_one_waits().await;
        let_go.send(()).unwrap();
        trim_first.await.unwrap().unwrap();
        second.await.unwrap();
        assert_eq!(held(&db).await, [1, 2]);
    }
}
