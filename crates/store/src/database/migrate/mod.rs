//! The schema's history, and how a database is brought up to date.
//!
//! On PostgreSQL a migration runs on a connection of its own ([`Apart`]), without a time limit. One process migrates;
//! the others wait for it. A migration waits for the lock of a table only for a moment and then tries again later,
//! because every statement behind it waits as well. Processes of the previous version go on writing meanwhile.
//!
//! A step holds the locks of its tables, so it must not take long on a large table: no column with a value that is
//! computed for each row, no check of all rows, and no index. An index on a large table is built outside the
//! transaction with `create index concurrently`, as `search.rs` does. Rows that exist already are filled in by the
//! maintenance in steps, as `event_counts.rs` does; until then, queries about them scan the rows that are left.
//!
//! A new stored value of an enumeration needs a migration as well, even an empty one. A process that is older than the
//! schema takes no mail, so it cannot mistake the new value for damage.
//!
//! Three steps are from before the first release, when nobody had large tables, and do not follow these rules: `bounds`
//! adds up all captured mails, `age of contents` builds an index over all contents, to which nobody adds meanwhile, and
//! `senders of reports of DMARC` copies two tables, because a key cannot be changed. The first two run in transactions
//! that do not keep others from reading; reports that come while the last one runs are answered later, and sent again.

mod divide;
mod list;
#[cfg(test)]
pub(crate) mod tests;

use std::time::{Duration, Instant};

use mailwright_core::time::Timestamp;

use crate::args;
use crate::body;
use crate::database::db::Db;
use crate::database::error::{Error, Result};
use crate::database::postgres::Apart;
use crate::database::tx::{Rx, Tx};

pub(crate) use list::{EVENT_DAYS, EVENT_SUMS};
use list::{MIGRATIONS, Migration};

/// How long a migration waits for a lock: as long do writes that come behind it.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);
/// Time until it tries again: the others have their turn.
const RETRY: Duration = Duration::from_secs(1);
/// How often it is looked whether another process has done its migration.
const LOOK: Duration = Duration::from_millis(200);
/// How often it is said that something is waited for.
const WORD: Duration = Duration::from_secs(10);
/// Names the lock that the process holds that migrates.
const LOCK: i64 = 7_310_579;

/// How a database stands to the schema that this program was built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It has no schema yet.
    Empty,
    /// It has the schema of an older program.
    Behind,
    /// It has the schema of this program.
    Current,
    /// It has the schema of a newer program, which this one cannot work with.
    Ahead,
}

/// How a database stands to this program. It is not changed.
pub async fn standing(db: &Db) -> Result<Standing> {
    let is_postgres = db.is_postgres();
    let newest = db.read(body!(async |rx| {
        let sql = if is_postgres {
            "select count(*) from information_schema.columns where table_schema = current_schema() \
             and table_name = 'schema_migrations' and column_name in ('number', 'applied_at')"
        } else {
            "select count(*) from pragma_table_info('schema_migrations') where name in ('number', 'applied_at')"
        };
        let ours = rx.one(sql, &[], |r| r.get::<i64>(0)).await? == 2;
        if ours { newest(rx).await.map(Some) } else { Ok(None) }
    }));
    let last = last_step();
    Ok(match newest.await? {
        None => Standing::Empty,
        Some(newest) if newest > last => Standing::Ahead,
        Some(newest) if newest < last => Standing::Behind,
        Some(_) => Standing::Current,
    })
}

/// Applies what is missing, each step in a transaction of its own, under a lock. Returns how many steps were applied.
/// Fails with [`Error::Unusable`] if the program cannot work with the database.
pub async fn migrate(db: &Db, now: Timestamp) -> Result<usize> {
    db.examine().await?;
    migrate_by(db, MIGRATIONS, now).await
}

async fn migrate_by(db: &Db, migrations: &'static [Migration], now: Timestamp) -> Result<usize> {
    if let Some(session) = db.apart(LOCK_TIMEOUT).await? {
        return migrate_postgres(&session, migrations, now).await;
    }
    let mut applied = 0;
    for step in steps(migrations) {
        applied += usize::from(db.write(body!(async |tx| apply(tx, step, now).await)).await?);
    }
    Ok(applied)
}

async fn migrate_postgres(
    session: &Apart,
    migrations: &'static [Migration],
    now: Timestamp,
) -> Result<usize> {
    wait_for_turn(session).await?;
    let mut applied = 0;
    for step in steps(migrations) {
        applied += usize::from(apply_patiently(session, step, now).await?);
    }
    divide::divide(session).await?;
    Ok(applied)
}

/// Waits until no other process migrates. It asks for the lock again and again instead of waiting in one statement,
/// since `create index concurrently` waits for all statements that are running.
async fn wait_for_turn(session: &Apart) -> Result<()> {
    let mut word = Word::new();
    loop {
        let free = session.transact(body!(async |tx| tx
            .one("select pg_try_advisory_lock($1)", args![LOCK], |r| r.get::<bool>(0))
            .await));
        if free.await? {
            return Ok(());
        }
        word.say(|| tracing::info!("another process is migrating the database, waiting for it"));
        tokio::time::sleep(LOOK).await;
    }
}

/// Applies a step as soon as the tables are free for a moment.
async fn apply_patiently(session: &Apart, step: Step, now: Timestamp) -> Result<bool> {
    let mut word = Word::new();
    loop {
        match session.transact(body!(async |tx| apply(tx, step, now).await)).await {
            Err(Error::Contention(error)) => {
                let name = step.migration.name;
                word.say(|| {
                    tracing::warn!(%error, step = name, "a migration step waits for locks of other \
                                                         transactions on its tables");
                });
                tokio::time::sleep(RETRY).await;
            }
            outcome => return outcome,
        }
    }
}

/// Says something now and then.
struct Word(Option<Instant>);

impl Word {
    fn new() -> Self {
        Self(None)
    }

    fn say(&mut self, say: impl FnOnce()) {
        if self.0.is_none_or(|at| at.elapsed() >= WORD) {
            self.0 = Some(Instant::now());
            say();
        }
    }
}

/// A migration, and the number of the last one.
#[derive(Clone, Copy)]
struct Step {
    migration: &'static Migration,
    last: i64,
}

fn steps(migrations: &'static [Migration]) -> impl Iterator<Item = Step> {
    let last = migrations.last().map_or(0, |migration| migration.number);
    migrations.iter().map(move |migration| Step { migration, last })
}

/// Whether the schema is the one this program was built for.
pub async fn is_current(db: &Db) -> Result<bool> {
    let newest = db.read(body!(async |rx| newest(rx).await)).await?;
    Ok(MIGRATIONS.last().is_some_and(|m| m.number == newest))
}

/// The newest step that a database was brought to.
pub async fn newest_step(rx: &mut Rx<'_>) -> Result<i64> {
    newest(rx).await
}

/// The newest step that this program knows.
pub fn last_step() -> i64 {
    MIGRATIONS.last().map_or(0, |migration| migration.number)
}

/// Whether a newer program has migrated the database, so that rows may say what this one does not understand.
pub async fn is_superseded(rx: &mut Rx<'_>) -> Result<bool> {
    let newest = newest(rx).await?;
    Ok(MIGRATIONS.last().is_none_or(|m| m.number < newest))
}

async fn newest(rx: &mut Rx<'_>) -> Result<i64> {
    rx.one("select coalesce(max(number), 0) from schema_migrations", &[], |r| r.get(0)).await
}

async fn apply(tx: &mut Tx<'_>, Step { migration, last }: Step, now: Timestamp) -> Result<bool> {
    tx.script(
        "create table if not exists schema_migrations (number {int} primary key, name {text} not null, applied_at {int} not null) {strict}",
    )
    .await?;
    let newest =
        tx.one("select coalesce(max(number), 0) from schema_migrations", &[], |r| r.get::<i64>(0)).await?;
    if newest > last {
        return Err(Error::Migration(format!(
            "the database is at step {newest}, which a newer Mailwright wrote; run that version, or restore a backup"
        )));
    }
    if newest >= migration.number {
        return Ok(false);
    }
    tx.script(migration.sql).await.map_err(|error| match error {
        temporary if temporary.is_temporary() => temporary,
        error => Error::Migration(format!("step {}: {error}", migration.name)),
    })?;
    tx.execute_one(
        "insert into schema_migrations (number, name, applied_at) values ($1, $2, $3)",
        args![migration.number, migration.name, now],
    )
    .await?;
    Ok(true)
}
