//! Migrations that wait for others, and databases of tests on PostgreSQL.

use mailwright_core::event::is_reserved;
use mailwright_core::ids::DomainId;
use mailwright_testkit::EmptyDatabase;
use tokio_postgres::NoTls;

use super::*;
use crate::database::dialect::FLAVOUR;
use crate::database::location::Location;
use crate::database::metrics::StoreMetrics;

const NOW: Timestamp = Timestamp(1);

const TABLE: &[Migration] = &[Migration { number: 1, name: "table", sql: "create table filled (n {int})" }];
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
    empty: EmptyDatabase,
}

impl Database {
    pub(crate) fn create(test: &str) -> Self {
        Self { empty: EmptyDatabase::create(&format!("migrate_{test}")) }
    }

    fn url(&self) -> String {
        self.empty.url()
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
        until_waiting(&connect(&self.url()).await).await;
    }
}

async fn connect(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
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

/// Waits until a session waits for what another one holds, on this server or another one of a cluster.
async fn until_waiting(client: &tokio_postgres::Client) {
    let is_divided: bool = client.query_one(FLAVOUR, &[]).await.unwrap().get(0);
    until(client, if is_divided { WAITS_IN_CLUSTER } else { WAITS }).await;
}

const WAITS_IN_CLUSTER: &str = "select exists (select 1 from run_command_on_all_nodes('select count(*) from \
                                pg_stat_activity where datname = current_database() and wait_event_type = ''Lock''') \
                                where success and cast(result as int) > 0)";
const WAITS: &str = "select exists (select 1 from pg_stat_activity where datname = current_database() \
                     and application_name = 'mailwright' and wait_event_type = 'Lock')";

#[tokio::test]
async fn a_step_may_take_long_but_not_wait_long() {
    let database = Database::create("time");
    let session = database.open().apart(LOCK_TIMEOUT).await.unwrap().unwrap();
    let limits = session.transact(body!(async |tx| {
        let sql = "select current_setting('statement_timeout'), current_setting('lock_timeout')";
        tx.one(sql, &[], |r| Ok((r.get::<String>(0)?, r.get::<String>(1)?))).await
    }));
    assert_eq!(limits.await.unwrap(), ("0".to_owned(), "2s".to_owned()));
    drop(session);
}

#[tokio::test]
async fn names_of_events_from_before_they_were_bounded_are_taken_over() {
    let folder = tempfile::tempdir().unwrap();
    let location = Location::Sqlite(folder.path().join("names.sqlite"));
    let sqlite = Db::open(&location, StoreMetrics::default()).unwrap();
    let database = Database::create("names");
    for db in [sqlite, database.open()] {
        migrate_before(&db, "bounds", NOW).await;
        let counted = db.write(body!(async |tx| {
            for name in NAMES {
                for (shard, value) in [(0, 3), (1, -2)] {
                    count_event(tx, name, shard, value).await?;
                }
            }
            // all of them were deleted
            count_event(tx, "gone", 0, 2).await?;
            count_event(tx, "gone", 1, -2).await
        }));
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
}

#[tokio::test]
async fn reports_of_dmarc_from_before_are_kept_and_prove_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let location = Location::Sqlite(folder.path().join("reports.sqlite"));
    let sqlite = Db::open(&location, StoreMetrics::default()).unwrap();
    let database = Database::create("reports");
    let domain = DomainId::from_bytes([7; 16]);
    for db in [sqlite, database.open()] {
        migrate_before(&db, "senders of reports of DMARC", NOW).await;
        let added = db.write(body!(async |tx| {
            let report = "insert into dmarc_reports (project_id, domain_id, reporter, report_id, day, begin_at, end_at, \
                          policy, records, messages, created_at) \
                          values (1, $1, 'google.com', 'g1', 2, 3, 4, 'none', 1, 5, 6)";
            tx.execute_one(report, args![domain]).await?;
            let sums = "insert into dmarc_sums (project_id, domain_id, day, source, header_from, disposition, dkim, spf, \
                        ours, messages) values (1, $1, 2, '192.0.2.1', 'a.test', 'none', $2, $3, $3, 5)";
            tx.execute_one(sums, args![domain, true, false]).await
        }));
        added.await.unwrap();
        migrate(&db, NOW).await.unwrap();
        let found = db.read(|rx| {
            let sql = "select r.sender, s.sender, r.messages + s.messages from dmarc_reports r join dmarc_sums s \
                       on s.project_id = r.project_id and s.domain_id = r.domain_id and s.day = r.day \
                       where r.project_id = 1";
            Box::pin(async move {
                rx.all(sql, &[], |r| Ok((r.get::<String>(0)?, r.get::<String>(1)?, r.get::<i64>(2)?))).await
            })
        });
        assert_eq!(found.await.unwrap(), [(String::new(), String::new(), 10)]);
    }
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

/// Makes the schema as it was before a step.
pub(crate) async fn migrate_before(db: &Db, name: &str, now: Timestamp) {
    let before = MIGRATIONS.iter().position(|migration| migration.name == name).unwrap();
    migrate_by(db, &MIGRATIONS[..before], now).await.unwrap();
}

async fn count_event(tx: &Tx<'_>, name: &str, shard: i64, value: i64) -> Result<()> {
    let sql = "insert into counters (project_id, kind, name, shard, value) values (1, 'event', $1, $2, $3)";
    tx.execute_one(sql, args![name, shard, value]).await
}

#[tokio::test]
async fn a_migration_that_waits_for_a_table_lets_others_write_to_it() {
    let database = Database::create("waits");
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
    until_waiting(&writer).await;
    // behind the migration, which steps aside
    writer.batch_execute("set lock_timeout = '20s'; insert into filled (n) values (1)").await.unwrap();
    assert!(!migrating.is_finished());
    reader.batch_execute("commit").await.unwrap();
    assert_eq!(migrating.await.unwrap().unwrap(), 1);
    assert_eq!(migrate_by(&db, COLUMN, NOW).await.unwrap(), 0);
    assert_eq!(active(&writer).await, 0, "nothing goes on in the server");
}

#[tokio::test]
async fn one_process_migrates_and_one_that_gives_up_leaves_nothing_behind() {
    let database = Database::create("gives_up");
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
}
