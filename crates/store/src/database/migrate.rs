//! The schema's history, and how a database is brought up to date.
//!
//! On PostgreSQL a migration runs on a connection of its own ([`Apart`]), without a time limit. One process migrates;
//! the others wait for it. A migration waits for the lock of a table only for a moment and then tries again later,
//! because every statement behind it waits as well. Processes of the previous version go on writing meanwhile.
//!
//! A step holds the locks of its tables, so it must not take long on a large table: no column with a value that is
//! computed for each row, no check of all rows, and no index. An index on a large table is built outside the
//! transaction with `create index concurrently`, as `search.rs` does. Rows that exist already are filled in by the
//! maintenance in steps, as `event_day.rs` does; until then, queries about them scan the rows that are left.
//!
//! A new stored value of an enumeration needs a migration as well, even an empty one. A process that is older than the
//! schema takes no mail, so it cannot mistake the new value for damage.
//!
//! Two steps are from before the first release, when nobody had large tables, and do not follow these rules: `bounds`
//! adds up all captured mails, and `age of contents` builds an index over all contents, to which nobody adds meanwhile.
//! Both run in transactions that do not keep others from reading.

use std::time::{Duration, Instant};

use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::db::Db;
use crate::database::error::{Error, Result};
use crate::database::postgres::Apart;
use crate::database::tx::{Rx, Tx};

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

/// One step of the schema. Never edited after a release.
struct Migration {
    number: i64,
    name: &'static str,
    sql: &'static str,
}

/// The step from which on events are counted by day.
pub(crate) const EVENT_DAYS: &str = "event days";

const MIGRATIONS: &[Migration] = &[
    Migration { number: 1, name: "foundation", sql: include_str!("../../migrations/0001_foundation.sql") },
    Migration { number: 2, name: "segments", sql: include_str!("../../migrations/0002_segments.sql") },
    Migration { number: 3, name: "jobs", sql: include_str!("../../migrations/0003_jobs.sql") },
    Migration { number: 4, name: "campaigns", sql: include_str!("../../migrations/0004_campaigns.sql") },
    Migration { number: 5, name: "accounts", sql: include_str!("../../migrations/0005_accounts.sql") },
    Migration { number: 6, name: "sign-in", sql: include_str!("../../migrations/0006_sign_in.sql") },
    Migration {
        number: 7,
        name: "account care",
        sql: include_str!("../../migrations/0007_account_care.sql"),
    },
    Migration {
        number: 8,
        name: "invitations of keys",
        sql: include_str!("../../migrations/0008_invitations_of_keys.sql"),
    },
    Migration { number: 9, name: "deletions", sql: include_str!("../../migrations/0009_deletions.sql") },
    Migration {
        number: 10,
        name: "instance rate",
        sql: include_str!("../../migrations/0010_instance_rate.sql"),
    },
    Migration { number: 11, name: "next hops", sql: include_str!("../../migrations/0011_next_hops.sql") },
    Migration { number: 12, name: "attempts", sql: include_str!("../../migrations/0012_attempts.sql") },
    Migration { number: 13, name: EVENT_DAYS, sql: include_str!("../../migrations/0013_event_days.sql") },
    Migration { number: 14, name: "public rate", sql: include_str!("../../migrations/0014_public_rate.sql") },
    Migration { number: 15, name: "bounds", sql: include_str!("../../migrations/0015_bounds.sql") },
    Migration { number: 16, name: "trust", sql: include_str!("../../migrations/0016_trust.sql") },
    Migration {
        number: 17,
        name: "text of mails",
        sql: include_str!("../../migrations/0017_text_of_mails.sql"),
    },
    Migration { number: 18, name: "consent", sql: include_str!("../../migrations/0018_consent.sql") },
    Migration {
        number: 19,
        name: "age of contents",
        sql: include_str!("../../migrations/0019_age_of_contents.sql"),
    },
    Migration {
        number: 20,
        name: "check of the secret",
        sql: include_str!("../../migrations/0020_secret_check.sql"),
    },
    Migration { number: 21, name: "plain names", sql: include_str!("../../migrations/0021_plain_names.sql") },
];

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
    let newest = db.read(move |rx| {
        Box::pin(async move {
            let sql = if is_postgres {
                "select count(*) from information_schema.columns where table_schema = current_schema() \
                 and table_name = 'schema_migrations' and column_name in ('number', 'applied_at')"
            } else {
                "select count(*) from pragma_table_info('schema_migrations') where name in ('number', 'applied_at')"
            };
            let ours = rx.one(sql, &[], |r| r.get::<i64>(0)).await? == 2;
            if ours { newest(rx).await.map(Some) } else { Ok(None) }
        })
    });
    let last = MIGRATIONS.last().map_or(0, |migration| migration.number);
    Ok(match newest.await? {
        None => Standing::Empty,
        Some(newest) if newest > last => Standing::Ahead,
        Some(newest) if newest < last => Standing::Behind,
        Some(_) => Standing::Current,
    })
}

/// Applies what is missing, each step in a transaction of its own, under a lock. Returns how many steps were applied.
/// Fails with [`Error::Unusable`] where the database is none to work with.
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
        applied += usize::from(db.write(move |tx| Box::pin(apply(tx, step, now))).await?);
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
    Ok(applied)
}

/// Waits until no other process migrates. It asks again and again, since the building of an index waits for everybody
/// who is in the middle of a statement.
async fn wait_for_turn(session: &Apart) -> Result<()> {
    let mut word = Word::new();
    loop {
        let free = session.transact(|tx| {
            Box::pin(async move {
                tx.one("select pg_try_advisory_lock($1)", args![LOCK], |r| r.get::<bool>(0)).await
            })
        });
        if free.await? {
            return Ok(());
        }
        word.say(|| tracing::info!("another process brings the database up to date, waiting for it"));
        tokio::time::sleep(LOOK).await;
    }
}

/// Applies a step as soon as the tables are free for a moment.
async fn apply_patiently(session: &Apart, step: Step, now: Timestamp) -> Result<bool> {
    let mut word = Word::new();
    loop {
        match session.transact(move |tx| Box::pin(apply(tx, step, now))).await {
            Err(Error::Contention(error)) => {
                let name = step.migration.name;
                word.say(|| {
                    tracing::warn!(%error, step = name, "a step of the schema waits for others to leave its tables");
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
    let newest = db.read(|rx| Box::pin(newest(rx))).await?;
    Ok(MIGRATIONS.last().is_some_and(|m| m.number == newest))
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

#[cfg(test)]
pub(crate) mod tests {
    use mailwright_core::event::is_reserved;
    use tokio_postgres::NoTls;

    use super::*;
    use crate::database::db::{Location, StoreMetrics};

    const NOW: Timestamp = Timestamp(1);

    const TABLE: &[Migration] =
        &[Migration { number: 1, name: "table", sql: "create table filled (n {int})" }];
    const COLUMN: &[Migration] = &[
        Migration { number: 1, name: "table", sql: "create table filled (n {int})" },
        Migration { number: 2, name: "column", sql: "alter table filled add column more {int}" },
    ];
    const ENDLESS: &[Migration] = &[
        Migration { number: 1, name: "table", sql: "create table filled (n {int})" },
        Migration { number: 2, name: "endless", sql: "select pg_sleep(600)" },
    ];

    /// A database of a test on PostgreSQL.
    pub(crate) struct Database {
        server: String,
        name: String,
    }

    impl Database {
        pub(crate) async fn create(test: &str) -> Self {
            let server = std::env::var("MAILWRIGHT_TEST_POSTGRES").ok().filter(|url| !url.is_empty());
            let server = server.expect(
                "this test needs PostgreSQL: set MAILWRIGHT_TEST_POSTGRES to a server on which databases may be \
                 created, or run the tests through scripts/with-postgres",
            );
            let server = server.trim_end_matches('/').to_owned();
            let name = format!("mailwright_migrate_{test}_{}", std::process::id());
            execute(&format!("{server}/postgres"), &format!("create database {name}")).await.unwrap();
            Self { server, name }
        }

        fn url(&self) -> String {
            format!("{}/{}", self.server, self.name)
        }

        pub(crate) fn open(&self) -> Db {
            self.open_with("")
        }

        /// The same with settings of its sessions, as a URL gives them.
        pub(crate) fn open_with(&self, settings: &str) -> Db {
            let url = format!("{}{settings}", self.url());
            let location =
                Location::Postgres { url, connections: 4, lock_wait: std::time::Duration::from_millis(250) };
            Db::open(&location, StoreMetrics::default()).unwrap()
        }

        /// Waits until a session of ours waits for what another one holds.
        pub(crate) async fn until_one_waits(&self) {
            until(&connect(&self.url()).await, WAITS).await;
        }

        pub(crate) async fn drop(self) {
            let drop = format!("drop database {} with (force)", self.name);
            execute(&format!("{}/postgres", self.server), &drop).await.unwrap();
        }
    }

    async fn connect(url: &str) -> tokio_postgres::Client {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }

    async fn execute(url: &str, sql: &str) -> std::result::Result<(), tokio_postgres::Error> {
        connect(url).await.batch_execute(sql).await
    }

    /// How many sessions of ours run a statement or wait for a lock.
    async fn active(client: &tokio_postgres::Client) -> i64 {
        let sql = "select count(*) from pg_stat_activity where datname = current_database() and state = 'active' \
                   and application_name = 'mailwright'";
        client.query_one(sql, &[]).await.unwrap().get(0)
    }

    /// Waits until a condition on the database holds.
    async fn until(client: &tokio_postgres::Client, sql: &str) {
        let began = Instant::now();
        while !client.query_one(sql, &[]).await.unwrap().get::<_, bool>(0) {
            assert!(began.elapsed() < Duration::from_secs(30), "never: {sql}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    const WAITS: &str = "select exists (select 1 from pg_stat_activity where datname = current_database() \
                         and application_name = 'mailwright' and wait_event_type = 'Lock')";

    #[tokio::test]
    async fn a_step_may_take_long_but_not_wait_long() {
        let database = Database::create("time").await;
        let session = database.open().apart(LOCK_TIMEOUT).await.unwrap().unwrap();
        let limits = session.transact(|tx| {
            Box::pin(async move {
                let sql = "select current_setting('statement_timeout'), current_setting('lock_timeout')";
                tx.one(sql, &[], |r| Ok((r.get::<String>(0)?, r.get::<String>(1)?))).await
            })
        });
        assert_eq!(limits.await.unwrap(), ("0".to_owned(), "2s".to_owned()));
        drop(session);
        database.drop().await;
    }

    #[tokio::test]
    async fn names_of_events_from_before_they_were_bounded_are_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Sqlite(folder.path().join("names.sqlite"));
        let sqlite = Db::open(&location, StoreMetrics::default()).unwrap();
        let database = Database::create("names").await;
        for db in [sqlite, database.open()] {
            let before = MIGRATIONS.iter().position(|migration| migration.name == "bounds").unwrap();
            migrate_by(&db, &MIGRATIONS[..before], NOW).await.unwrap();
            let counted = db.write(|tx| {
                Box::pin(async move {
                    for name in NAMES {
                        for (shard, value) in [(0, 3), (1, -2)] {
                            count_event(tx, name, shard, value).await?;
                        }
                    }
                    // all of them were deleted
                    count_event(tx, "gone", 0, 2).await?;
                    count_event(tx, "gone", 1, -2).await
                })
            });
            counted.await.unwrap();
            migrate(&db, NOW).await.unwrap();
            let names = db.read(|rx| {
                let sql = "select name from event_names where project_id = 1 order by name";
                Box::pin(async move { rx.all(sql, &[], |r| r.get::<String>(0)).await })
            });
            let mut expected: Vec<_> = NAMES.into_iter().filter(|name| !is_reserved(name)).collect();
            expected.sort_unstable();
            assert_eq!(names.await.unwrap(), expected);
        }
        database.drop().await;
    }

    const NAMES: [&str; 14] = [
        "signup",
        "email.sent",
        "emails.sent",
        "Email.sent",
        "contact.subscribed",
        "contact.unsubscribed",
        "contact.created",
        "segment.vip.entry",
        "segment..exit",
        "Segment.vip.entry",
        "segment.vip.Exit",
        "segment.vip",
        "segment.",
        "exit",
    ];

    async fn count_event(tx: &Tx<'_>, name: &str, shard: i64, value: i64) -> Result<()> {
        let sql =
            "insert into counters (project_id, kind, name, shard, value) values (1, 'event', $1, $2, $3)";
        tx.execute_one(sql, args![name, shard, value]).await
    }

    #[tokio::test]
    async fn a_migration_that_waits_for_a_table_lets_others_write_to_it() {
        let database = Database::create("waits").await;
        let db = database.open();
        assert_eq!(migrate_by(&db, TABLE, NOW).await.unwrap(), 1);
        // somebody reads the table in a long transaction
        let reader = connect(&database.url()).await;
        reader.batch_execute("begin; select * from filled").await.unwrap();
        let migrating = tokio::spawn({
            let db = db.clone();
            async move { migrate_by(&db, COLUMN, NOW).await }
        });
        let writer = connect(&database.url()).await;
        until(&writer, WAITS).await;
        // behind the migration, which steps aside
        writer.batch_execute("set lock_timeout = '20s'; insert into filled (n) values (1)").await.unwrap();
        assert!(!migrating.is_finished());
        reader.batch_execute("commit").await.unwrap();
        assert_eq!(migrating.await.unwrap().unwrap(), 1);
        assert_eq!(migrate_by(&db, COLUMN, NOW).await.unwrap(), 0);
        assert_eq!(active(&writer).await, 0, "nothing goes on in the server");
        database.drop().await;
    }

    #[tokio::test]
    async fn one_process_migrates_and_one_that_gives_up_leaves_nothing_behind() {
        let database = Database::create("gives_up").await;
        let (db, watcher) = (database.open(), connect(&database.url()).await);
        migrate_by(&db, TABLE, NOW).await.unwrap();
        let endless = tokio::spawn({
            let db = db.clone();
            async move { migrate_by(&db, ENDLESS, NOW).await }
        });
        let sleeps = "select exists (select 1 from pg_stat_activity where datname = current_database() \
                      and wait_event = 'PgSleep')";
        until(&watcher, sleeps).await;
        // alone
        let other = tokio::spawn({
            let db = db.clone();
            async move { migrate_by(&db, COLUMN, NOW).await }
        });
        tokio::time::sleep(2 * LOOK).await;
        assert!(!other.is_finished(), "the other one waits");
        endless.abort();
        assert_eq!(other.await.unwrap().unwrap(), 1);
        until(&watcher, &sleeps.replace("select exists", "select not exists")).await;
        database.drop().await;
    }
}
