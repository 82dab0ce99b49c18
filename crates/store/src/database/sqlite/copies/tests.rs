//! Copies of a database that is written, checkpointed and opened again at random, against what it held.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mailwright_core::time::{Clock, Timestamp};
use proptest::prelude::*;
use rusqlite::Connection;

use super::*;
use crate::database::db::Db;
use crate::database::location::Location;
use crate::database::metrics::StoreMetrics;
use crate::{args, body};

const NEVER: Duration = Duration::from_hours(1);

fn follow(folder: &Path, spool_bytes: u64) -> Follow {
    Follow { folder: folder.join("copies"), spool_bytes, every: NEVER }
}

/// Everything in a database.
fn held(path: &Path) -> Vec<String> {
    let db = Connection::open(path).unwrap();
    let ok: String = db.query_row("pragma integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(ok, "ok");
    let mut rows = db.prepare("select n, hex(filler) from t order by n").unwrap();
    let rows =
        rows.query_map([], |row| Ok(format!("{} {}", row.get::<_, i64>(0)?, row.get::<_, String>(1)?)));
    rows.unwrap().map(Result::unwrap).collect()
}

async fn execute(db: &Db, sql: String) {
    db.write(body!(async |tx| tx.execute(sql, args![]).await)).await.unwrap();
}

async fn open(folder: &Path) -> Db {
    let db = Db::open(&Location::Sqlite(folder.join("test.sqlite")), StoreMetrics::default()).unwrap();
    for sql in [
        "create table if not exists t (n integer primary key, filler blob)",
        "create table if not exists backup_marks (made_at integer primary key, program text, is_copy boolean)",
        "create table if not exists schema_migrations (number integer, applied_at integer)",
        "create table if not exists epochs (number integer)",
    ] {
        execute(&db, sql.into()).await;
    }
    db
}

/// What is at a destination: a snapshot, and objects by their numbers.
#[derive(Default)]
struct Kept {
    snapshots: Vec<(u64, Vec<u8>)>,
    objects: BTreeMap<u64, Vec<u8>>,
}

impl Kept {
    fn take(&mut self, copies: &Copies) -> Option<Head> {
        let mut last = None;
        while let Some(spooled) = copies.first() {
            let before = self.objects.insert(spooled.head.sequence, std::fs::read(&spooled.path).unwrap());
            assert!(before.is_none(), "each number once");
            last = Some(spooled.head);
            copies.done();
        }
        last
    }

    /// The database as of an object.
    fn rebuilt(&self, snapshot: usize, until: u64) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rebuilt.sqlite");
        let mut rebuild = Rebuild::new(&path).unwrap();
        let (after, bytes) = &self.snapshots[snapshot];
        for part in bytes.chunks(1 << 20) {
            rebuild.snapshot(part).unwrap();
        }
        for sequence in after + 1..=until {
            rebuild.apply(&self.objects[&sequence]).unwrap();
        }
        rebuild.finish(Timestamp(1), "test").unwrap();
        held(&path)
    }
}

#[derive(Debug, Clone)]
enum Step {
    Write(u32),
    Change(u32),
    Remove(u32),
    Large,
    RolledBack,
    Look,
    Copied,
    MakeWay,
    Other,
    OtherCheckpoint,
    Snapshot,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1..20_000_u32).prop_map(Step::Write),
        3 => (1..9_000_u32).prop_map(Step::Change),
        2 => (1..10_u32).prop_map(Step::Remove),
        1 => Just(Step::Large),
        1 => Just(Step::RolledBack),
        4 => Just(Step::Look),
        2 => Just(Step::Copied),
        3 => Just(Step::MakeWay),
        1 => Just(Step::Other),
        1 => Just(Step::OtherCheckpoint),
        1 => Just(Step::Snapshot),
    ]
}

/// A database with copies that are being made.
struct World {
    folder: tempfile::TempDir,
    db: Db,
    copies: Copies,
    kept: Kept,
    /// What the database held at the end of each object that ends a segment.
    known: BTreeMap<u64, Vec<String>>,
    last: Option<Head>,
    restarts: usize,
}

impl World {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let db = open(folder.path()).await;
        let copies = Copies::new(&db, &follow(folder.path(), 1 << 30), &Clock::system()).unwrap().unwrap();
        copies.begin("g".into(), None).await.unwrap().unwrap();
        let mut world = Self {
            folder,
            db,
            copies,
            kept: Kept::default(),
            known: BTreeMap::new(),
            last: None,
            restarts: 0,
        };
        world.snapshot().await;
        world
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("test.sqlite")
    }

    async fn look(&mut self) {
        assert!(self.copies.look().await.unwrap(), "{:?}", self.copies.standing());
        if let Some(head) = self.kept.take(&self.copies) {
            assert!(head.is_last);
            self.known.insert(head.sequence, held(&self.path()));
            self.last = Some(head);
        }
    }

    async fn snapshot(&mut self) {
        self.look().await;
        let made = self.copies.snapshot().await.unwrap().unwrap();
        assert!(self.kept.take(&self.copies).is_none());
        self.kept.snapshots.push((made.mark.sequence, std::fs::read(&made.file).unwrap()));
        self.known.insert(made.mark.sequence, held(&self.path()));
    }

    async fn step(&mut self, step: Step) {
        match step {
            Step::Write(size) => {
                execute(&self.db, format!("insert into t (filler) values (randomblob({size}))")).await;
            }
            Step::Change(size) => {
                execute(&self.db, format!("update t set filler = randomblob({size}) where n % 3 = 0")).await;
            }
            Step::Remove(of) => execute(&self.db, format!("delete from t where n % {of} = 0")).await,
            // more than one object
            Step::Large => {
                execute(&self.db, "insert into t (filler) values (randomblob(5000000))".into()).await;
            }
            Step::RolledBack => {
                let failed: crate::Result<()> = self
                    .db
                    .write(body!(async |tx| {
                        tx.execute("insert into t (filler) values (randomblob(300000))", &[]).await?;
                        Err(crate::Error::Busy)
                    }))
                    .await;
                assert!(failed.is_err());
            }
            Step::Look => self.look().await,
            Step::Copied => drop(other(&self.path(), "pragma wal_checkpoint(passive)")),
            Step::MakeWay => {
                // what the thread that writes does when the log is long
                let following = Arc::clone(self.db.embedded().unwrap().log.following().unwrap());
                let path = self.path();
                let before = held(&path);
                let made = self.db.embedded().unwrap().in_turn(|| ()).await;
                made.unwrap();
                let restarted = tokio::task::spawn_blocking(move || {
                    let writer = Connection::open(&path).unwrap();
                    following.make_way(&writer)
                        && !writer
                            .query_row("pragma wal_checkpoint(restart)", [], |row| row.get::<_, bool>(0))
                            .unwrap()
                });
                self.restarts += usize::from(restarted.await.unwrap());
                if let Some(head) = self.kept.take(&self.copies) {
                    self.known.insert(head.sequence, before);
                    self.last = Some(head);
                }
            }
            Step::Other => drop(other(&self.path(), "insert into t (filler) values (randomblob(9000))")),
            Step::OtherCheckpoint => drop(other(&self.path(), "pragma wal_checkpoint(restart)")),
            Step::Snapshot => self.snapshot().await,
        }
    }
}

/// What another command of the program does.
fn other(path: &Path, sql: &str) -> rusqlite::Result<()> {
    let other = Connection::open(path)?;
    other.busy_timeout(Duration::ZERO)?;
    other.execute_batch("pragma wal_autocheckpoint = 0")?;
    other.execute_batch(sql)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_is_rebuilt_is_what_was_held(steps in prop::collection::vec(step(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        runtime.block_on(async {
            let mut world = World::new().await;
            for step in steps {
                world.step(step).await;
                prop_assert_eq!(world.copies.standing().trouble, None);
            }
            world.look().await;
            for (sequence, state) in &world.known {
                for (number, (after, _)) in world.kept.snapshots.iter().enumerate() {
                    if after <= sequence {
                        prop_assert_eq!(&world.kept.rebuilt(number, *sequence), state);
                    }
                }
            }
            Ok(())
        })?;
    }
}

/// The service starts the log anew by itself while it is written, and nothing is left out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_is_started_anew_again_and_again_is_read_without_a_gap() {
    let mut world = World::new().await;
    for _ in 0..30 {
        world.step(Step::Write(30_000)).await;
        world.step(Step::MakeWay).await;
        world.step(Step::Write(100)).await;
        world.look().await;
    }
    assert!(world.restarts > 20, "{}", world.restarts);
    assert_eq!(world.copies.standing().trouble, None);
    let log = std::fs::metadata(world.folder.path().join("test.sqlite-wal")).unwrap().len();
    assert!(log < 1_000_000, "the log is started anew: {log}");
    let last = *world.known.keys().next_back().unwrap();
    assert_eq!(world.kept.rebuilt(0, last), held(&world.path()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_destination_that_is_away_costs_the_line_and_not_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(folder.path()).await;
    let copies = Copies::new(&db, &follow(folder.path(), 1 << 20), &Clock::system()).unwrap().unwrap();
    copies.begin("g".into(), None).await.unwrap().unwrap();
    while copies.standing().trouble.is_none() {
        execute(&db, "insert into t (filler) values (randomblob(100000))".into()).await;
        copies.look().await.unwrap();
    }
    let standing = copies.standing();
    assert_eq!((standing.trouble, standing.generation), (Some(Trouble::Full), None));
    assert!(standing.waiting_bytes <= 1 << 20);
    assert!(copies.snapshot().await.unwrap().is_none(), "there is no line that it could stand in");
    // nothing keeps the log
    let writer = Connection::open(folder.path().join("test.sqlite")).unwrap();
    let busy: bool = writer.query_row("pragma wal_checkpoint(restart)", [], |row| row.get(0)).unwrap();
    assert!(!busy);
    copies.begin("h".into(), None).await.unwrap().unwrap();
    assert_eq!(copies.standing().waiting_bytes, 0, "what waited of the old line is forgotten");
    execute(&db, "insert into t (filler) values (randomblob(10))".into()).await;
    copies.look().await.unwrap();
    assert_eq!(copies.first().unwrap().head.generation, "h");
}

/// What is gone on with after a crash is proven by the log; what cannot be is refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_is_gone_on_with_where_the_log_proves_it() {
    let mut world = World::new().await;
    world.step(Step::Write(100)).await;
    world.look().await;
    let head = world.last.clone().unwrap();
    let resumed = (head.place.unwrap(), head.sequence);
    // not shipped when the process died
    world.step(Step::Write(200)).await;
    assert!(world.copies.look().await.unwrap());
    world.copies.begin("g".into(), Some(resumed)).await.unwrap().unwrap();
    world.step(Step::Write(300)).await;
    world.look().await;
    let last = world.last.clone().unwrap();
    assert!(last.sequence > head.sequence);
    assert_eq!(world.kept.rebuilt(0, last.sequence), held(&world.path()));

    let elsewhere = Place { checksum: [1, 2], ..resumed.0 };
    let refused = world.copies.begin("g".into(), Some((elsewhere, 1))).await.unwrap();
    assert_eq!(refused, Err(Trouble::Gap));
    // the log is started anew while nobody keeps it
    other(&world.path(), "pragma wal_checkpoint(truncate)").unwrap();
    world.step(Step::Write(100)).await;
    let refused =
        world.copies.begin("g".into(), last.place.map(|place| (place, last.sequence))).await.unwrap();
    assert_eq!(refused, Err(Trouble::Gap));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_stays_for_the_next_start_if_that_is_wanted() {
    for is_kept in [false, true] {
        let World { folder, db, copies, .. } = World::new().await;
        execute(&db, "insert into t (filler) values (randomblob(10))".into()).await;
        copies.look().await.unwrap();
        if is_kept {
            copies.keep_log();
        }
        drop(copies);
        db.close().await;
        let log = folder.path().join("test.sqlite-wal");
        assert_eq!(std::fs::metadata(log).is_ok_and(|log| log.len() > 0), is_kept);
    }
}
