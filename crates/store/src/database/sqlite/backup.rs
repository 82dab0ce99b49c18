//! A copy of the embedded database while another process writes it.
//!
//! A transaction that reads keeps the state of one moment, whatever is committed meanwhile. The pages of that state are
//! copied some at a time; a writer is not held up. As long as the transaction lasts, the write-ahead log cannot start
//! from its beginning again, so it grows by what is written meanwhile.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use mailwright_core::time::Timestamp;
use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use super::connection::{connect, refuse_foreign};
use crate::database::error::{Error, Result};

/// Pages of one step: 4 MB.
const PAGES: i32 = 1024;
/// The pause after a step, so that the disk has time for the service: at most 800 MB are copied in a second.
const PAUSE: Duration = Duration::from_millis(5);
/// How often a step is tried again that found the database locked.
const TRIES: u32 = 2_000;

/// What the copy of a database holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copied {
    /// The newest step of its schema.
    pub last_step: i64,
    /// Its epoch.
    pub epoch: i64,
}

/// Copies a database to a file that is not there yet, as it is at this moment, and waits until the copy is on disk. The
/// mark of the backup that was made at `made_at` says in the copy that it is one, so that it is not served by mistake.
pub fn copy(from: &Path, to: &Path, made_at: Timestamp) -> Result<Copied> {
    let source = connect(from)?;
    refuse_foreign(from, &source)?;
    source.execute_batch("begin; select count(*) from sqlite_master")?;
    let mut copy = Connection::open(to)?;
    copy.execute_batch("pragma synchronous = off")?;
    copy_pages(&source, &mut copy)?;
    source.execute_batch("commit")?;
    // the copy is one file, without a log beside it
    copy.execute_batch("pragma journal_mode = delete")?;
    copy.execute("update backup_marks set is_copy = 1 where made_at = ?1", [made_at.0])?;
    let copied = describe(&copy)?;
    copy.close().map_err(|(_, error)| Error::from(error))?;
    File::open(to).and_then(|file| file.sync_all()).map_err(|error| unwritten(to, &error))?;
    Ok(copied)
}

/// What a copy holds.
pub(super) fn describe(copy: &Connection) -> Result<Copied> {
    let number = |sql: &str| copy.query_row(sql, [], |row| row.get::<_, i64>(0));
    Ok(Copied {
        last_step: number("select coalesce(max(number), 0) from schema_migrations")?,
        epoch: number("select coalesce(max(number), 0) from epochs")?,
    })
}

/// Copies the pages that a connection reads, some at a time.
pub(super) fn copy_pages(source: &Connection, copy: &mut Connection) -> Result<()> {
    let backup = Backup::new(source, copy)?;
    let mut tries = 0;
    loop {
        match backup.step(PAGES)? {
            StepResult::Done => return Ok(()),
            StepResult::More => tries = 0,
            _ if tries < TRIES => tries += 1,
            _ => return Err(Error::Unavailable("the database stays locked, so it cannot be copied".into())),
        }
        std::thread::sleep(PAUSE);
    }
}

fn unwritten(path: &Path, error: &std::io::Error) -> Error {
    Error::Unavailable(format!("{}: {error}", path.display()))
}

/// The newest step of the schema of a copy, whose pages are looked at, each once. Fails with [`Error::Unusable`] where
/// something is wrong with them.
pub fn examine(path: &Path) -> Result<i64> {
    let copy = connect(path)?;
    refuse_foreign(path, &copy)?;
    let found: String = copy.query_row("pragma quick_check(1)", [], |row| row.get(0))?;
    if found != "ok" {
        return Err(Error::Unusable(format!("{}: {found}", path.display())));
    }
    Ok(copy.query_row("select coalesce(max(number), 0) from schema_migrations", [], |row| row.get(0))?)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Instant;

    use super::*;
    use crate::database::db::Db;
    use crate::database::location::Location;
    use crate::database::metrics::StoreMetrics;
    use crate::database::migrate;
    use crate::{args, body};

    /// Rows of two tables are written together. A copy that is made meanwhile has both or none of each, and says what
    /// it is.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_copy_is_of_one_moment_although_another_writes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mailwright.sqlite");
        let db = Db::open(&Location::Sqlite(path.clone()), StoreMetrics::default()).unwrap();
        migrate::migrate(&db, Timestamp(1)).await.unwrap();
        db.write(body!(async |tx| {
            tx.execute("create table one (n integer, filler blob)", &[]).await?;
            tx.execute("create table other (n integer)", &[]).await?;
            tx.execute("insert into backup_marks values (7, 'test', 0)", &[]).await
        }))
        .await
        .unwrap();
        let done = std::sync::Arc::new(AtomicBool::new(false));
        let writing = tokio::spawn({
            let (db, done) = (db.clone(), std::sync::Arc::clone(&done));
            async move {
                let mut written = 0_i64;
                while !done.load(Ordering::Relaxed) {
                    written += 1;
                    db.write(body!(async |tx| {
                        tx.execute("insert into one values ($1, randomblob(20000))", args![written]).await?;
                        tx.execute("insert into other values ($1)", args![written]).await
                    }))
                    .await
                    .unwrap();
                }
                written
            }
        });
        let began = Instant::now();
        for number in 0..5 {
            let to = folder.path().join(format!("copy{number}.sqlite"));
            let from = path.clone();
            let file = to.clone();
            let copied = tokio::task::spawn_blocking(move || copy(&from, &file, Timestamp(7))).await;
            let copied = copied.unwrap().unwrap();
            assert_eq!(copied, Copied { last_step: migrate::last_step(), epoch: 0 });
            assert_eq!(examine(&to).unwrap(), migrate::last_step());
            let copy = Connection::open(&to).unwrap();
            let count = |sql: &str| copy.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
            assert_eq!(
                count("select coalesce(max(n), 0) from one"),
                count("select coalesce(max(n), 0) from other")
            );
            assert_eq!(count("select count(*) from one"), count("select coalesce(max(n), 0) from one"));
            assert_eq!(count("select count(*) from backup_marks where is_copy"), 1);
            assert!(!folder.path().join(format!("copy{number}.sqlite-wal")).exists());
        }
        assert!(began.elapsed() < Duration::from_mins(1));
        done.store(true, Ordering::Relaxed);
        assert!(writing.await.unwrap() > 0);
    }

    #[test]
    fn what_is_no_database_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("copy.sqlite");
        std::fs::write(&path, vec![7; 8192]).unwrap();
        assert!(matches!(examine(&path), Err(Error::Unusable(_))));
    }
}
