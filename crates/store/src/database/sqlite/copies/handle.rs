//! What ships copies asks of the database.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use mailwright_core::time::Clock;
use tokio::sync::oneshot;

use super::follower::Trouble;
use super::following::{Follow, Following, Mark, Standing};
use super::frames::Place;
use super::snapshot;
use super::spool::Spooled;
use crate::database::db::Db;
use crate::database::error::{Error, Result};
use crate::database::sqlite::Sqlite;
use crate::database::sqlite::connection::connect;
use crate::database::sqlite::thread::spawn;

/// The copies of an embedded database that is being served. Clones are the same.
#[derive(Clone)]
pub struct Copies {
    db: Db,
    following: Arc<Following>,
}

impl std::fmt::Debug for Copies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Copies").field(&self.following.standing()).finish()
    }
}

/// A snapshot in a file.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Where it stands.
    pub mark: Mark,
    /// The newest step of its schema.
    pub last_step: i64,
    /// Its epoch.
    pub epoch: i64,
    /// The file, which the caller removes.
    pub file: PathBuf,
}

impl Copies {
    /// Prepares to make copies of a database. Only the process that serves it may; `None` on PostgreSQL.
    pub fn new(db: &Db, follow: &Follow, clock: &Clock) -> Result<Option<Self>> {
        let Some(embedded) = db.embedded() else { return Ok(None) };
        let following = embedded.follow(follow, clock)?;
        Ok(Some(Self { db: db.clone(), following }))
    }

    fn embedded(&self) -> Result<&Sqlite> {
        self.db.embedded().ok_or_else(|| Error::Statement("PostgreSQL is no file".into()))
    }

    /// Begins a line of copies, or goes on with one whose last object at the destination ends at a place in the log. What
    /// waits of an earlier one is forgotten.
    pub async fn begin(
        &self,
        generation: String,
        resumed: Option<(Place, u64)>,
    ) -> Result<Result<(), Trouble>> {
        let following = Arc::clone(&self.following);
        on_thread(move || following.prepare(&generation, resumed)).await?;
        let following = Arc::clone(&self.following);
        self.embedded()?.in_turn(move || following.anchor()).await
    }

    /// Ends the line, because it cannot be gone on with.
    pub fn end(&self, why: &str) {
        self.following.end(Trouble::Io(why.to_owned()));
    }

    /// How it stands.
    pub fn standing(&self) -> Standing {
        self.following.standing()
    }

    /// The first object that waits for the destination.
    pub fn first(&self) -> Option<Spooled> {
        self.following.first()
    }

    /// Forgets the first object: it is at the destination.
    pub fn done(&self) {
        self.following.done();
    }

    /// Reads what is new in the log now, instead of with the next look at it.
    pub async fn look(&self) -> Result<bool> {
        let following = Arc::clone(&self.following);
        on_thread(move || following.advance()).await
    }

    /// Copies the whole database into a file. `None` if there is no line that it could stand in.
    pub async fn snapshot(&self) -> Result<Option<Snapshot>> {
        let file = self.following.folder().join("snapshot.sqlite");
        let (following, database, made) =
            (Arc::clone(&self.following), self.embedded()?.path().to_owned(), file.clone());
        let source = on_thread(move || {
            let _ = fs::remove_file(&made);
            snapshot::assert_room(&database, &made)?;
            // so that the thread that writes finds little left to read
            following.advance();
            connect(&database)
        });
        let source = source.await??;
        let following = Arc::clone(&self.following);
        let marked = self.embedded()?.in_turn(move || following.mark(&source).map(|mark| (mark, source)));
        let (Some(mark), source) = marked.await?? else { return Ok(None) };
        let to = file.clone();
        let copied = on_thread(move || snapshot::copy(&source, &to)).await?;
        if copied.is_err() {
            let _ = fs::remove_file(&file);
        }
        let copied = copied?;
        Ok(Some(Snapshot { mark, last_step: copied.last_step, epoch: copied.epoch, file }))
    }

    /// Leaves the log where it is when the database is closed, as a kill would, so that the next start can go on with the
    /// line.
    pub fn keep_log(&self) {
        self.following.keep_log();
    }
}

/// Runs what reads or writes much on a thread of its own.
async fn on_thread<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let (answer, answered) = oneshot::channel();
    spawn("sqlite-copies", move || drop(answer.send(run())))?;
    answered.await.map_err(|_| Error::Unavailable("a thread of the copies panicked".into()))
}
