//! The sums before, during and after they are counted and folded.

use mailwright_core::ids::ContactId;

use super::*;
use crate::audience::event::{self, NewEvent};
use crate::database::location::Location;
use crate::database::metrics::StoreMetrics;
use crate::database::migrate::tests::{Database, migrate_before};
use crate::database::migrate::{EVENT_SUMS, migrate};

const PROJECT: ProjectNumber = ProjectNumber(7);
/// When events began to be counted.
const APPLIED: Timestamp = Timestamp(20_000 * DAY + 5_000);

fn at(day: i64, millis: i64) -> Timestamp {
    Timestamp(day * DAY + millis)
}

async fn append(db: &Db, times: Vec<Timestamp>) {
    let written = db.write(body!(async |tx| {
        let contact = ContactId::first_of(Timestamp(1));
        let new = |at: &Timestamp| NewEvent::bare(PROJECT, "seen", contact, *at);
        let events: Vec<_> = times.iter().map(new).collect();
        let mut deltas = Deltas::default();
        event::append(tx, &events, &mut deltas).await?;
        deltas.save(tx).await
    }));
    written.await.unwrap();
}

async fn between(db: &Db, from: Timestamp, until: Timestamp) -> i64 {
    let now = at(20_003, 0);
    let read = db.read(body!(async |rx| counts_between(rx, PROJECT, from, until, now).await));
    read.await.unwrap().iter().map(|(_, count)| count).sum()
}

async fn on_both_engines(name: &str, check: impl AsyncFn(Db)) {
    let folder = tempfile::tempdir().unwrap();
    check(Db::open(&Location::Sqlite(folder.path().join("test.sqlite")), StoreMetrics::default()).unwrap())
        .await;
    let database = Database::create(name);
    check(database.open()).await;
}

/// Events of before the counting have no counters, as in a database that is older than it.
async fn older(db: &Db) {
    append(db, (0..STEP as i64 + 3).map(|n| at(19_990 + n % 10, n)).collect()).await;
    let written = db.write(body!(async |tx| {
        tx.execute("delete from counters where project_id = $1 and kind = 'event_hour'", args![PROJECT])
            .await?;
        tx.execute("insert into event_days (project_id) values ($1)", args![PROJECT]).await
    }));
    written.await.unwrap();
    append(db, vec![at(20_000, 6_000), at(20_001, 0), at(20_001, DAY - 1), at(20_002, 0)]).await;
}

async fn check(db: &Db, all: i64) {
    assert_eq!(between(db, at(0, 0), at(20_004, 0)).await, all);
    assert_eq!(between(db, at(20_001, 0), at(20_002, 0)).await, 2);
    assert_eq!(between(db, at(20_001, 1), at(20_002, 1)).await, 2);
    assert_eq!(between(db, at(20_001, 1), at(20_001, 2)).await, 0);
    assert_eq!(between(db, at(20_000, 0), at(20_001, 1)).await, 2);
    assert_eq!(
        between(db, at(19_999, 0), at(20_000, 0)).await,
        between(db, at(19_999, 0), at(19_999, DAY - 1)).await
    );
    assert_eq!(between(db, at(5, 0), at(4, 0)).await, 0);
}

#[tokio::test]
async fn days_have_the_same_sums_before_during_and_after_the_counting() {
    on_both_engines("days", days_have_the_same_sums).await;
}

async fn days_have_the_same_sums(db: Db) {
    migrate(&db, APPLIED).await.unwrap();
    older(&db).await;
    let mut all = STEP as i64 + 3 + 4;
    check(&db, all).await;
    assert!(count_step(&db, PROJECT).await.unwrap(), "there is more than one step");
    check(&db, all).await;
    // removed while some are counted and some are not
    let removed =
        db.write(body!(async |tx| event::remove(tx, PROJECT, "seen", at(19_991, 0), at(20_003, 0)).await));
    all -= removed.await.unwrap() as i64;
    check(&db, all).await;
    assert!(!count_step(&db, PROJECT).await.unwrap());
    check(&db, all).await;
    assert!(!count_step(&db, PROJECT).await.unwrap(), "it is done once");
    check(&db, all).await;
    fold(&db).await;
    check(&db, all).await;
    // removed after it was folded
    loop {
        let removed =
            db.write(
                body!(async |tx| event::remove(tx, PROJECT, "seen", at(20_003, 0), at(20_003, 0)).await),
            );
        match removed.await.unwrap() {
            0 => break,
            removed => all -= removed as i64,
        }
    }
    assert_eq!((all, between(&db, at(0, 0), at(20_004, 0)).await), (0, 0));
    append(&db, vec![at(20_000, 6_000), at(20_001, 0), at(20_001, DAY - 1), at(20_002, 0)]).await;
    fold(&db).await;
    check(&db, 4).await;
    let zeros = db.read(body!(async |rx| {
        let sql = "select count(*) from event_hour_sums where project_id = $1 and value = 0";
        rx.one(sql, args![PROJECT], |r| r.get::<i64>(0)).await
    }));
    assert_eq!(zeros.await.unwrap(), 0, "what came to nothing is gone");
}

async fn fold(db: &Db) {
    while db.write(body!(async |tx| super::fold(tx, PROJECT, at(20_003, 0)).await)).await.unwrap() {}
    let left = db.read(body!(async |rx| {
        let sql =
            "select count(*) from counters where project_id = $1 and kind in ('event_hour', 'event_day')";
        rx.one(sql, args![PROJECT], |r| r.get::<i64>(0)).await
    }));
    assert_eq!(left.await.unwrap(), 0, "all is folded");
}

#[tokio::test]
async fn parts_of_days_that_were_counted_as_days_are_right() {
    on_both_engines("parts", parts_of_days_are_right).await;
}

/// Some events were counted by day, before the step or by a process of the version before, after it, of a project that was
/// made after it; the others by hour.
async fn parts_of_days_are_right(db: Db) {
    migrate_before(&db, EVENT_SUMS, APPLIED).await;
    let older = db.write(body!(async |tx| {
        let sql = "insert into projects (id, name, language, tracking, created_at, updated_at) \
                   values ($1, 'Older', 'en', 'ENABLED', 0, 0)";
        tx.execute(sql, args![ContactId::first_of(Timestamp(1))]).await
    }));
    older.await.unwrap();
    migrate(&db, APPLIED).await.unwrap();
    let days = 19_900..20_001;
    append(&db, days.clone().flat_map(|day| [at(day, HOUR), at(day, 5 * HOUR + 1)]).collect()).await;
    let by_day = db.write(body!(async |tx| {
        tx.execute("delete from counters where project_id = $1 and kind = 'event_hour'", args![PROJECT])
            .await?;
        let mut deltas = Deltas::default();
        for day in days.clone() {
            deltas.add(PROJECT, Counter::EventDay, &format!("{day:06} seen"), 2);
        }
        deltas.save(tx).await
    }));
    by_day.await.unwrap();
    append(&db, (20_001..20_003).flat_map(|day| [at(day, HOUR), at(day, 5 * HOUR + 1)]).collect()).await;
    for _ in 0..2 {
        let count = async |from, until| between(&db, from, until).await;
        assert_eq!(count(at(19_900, 0), at(20_003, 0)).await, 206);
        assert_eq!(count(at(19_900, HOUR + 1), at(20_003, 0)).await, 205);
        assert_eq!(count(at(19_950, 2 * HOUR), at(19_950, 6 * HOUR)).await, 1);
        assert_eq!(count(at(19_950, 2 * HOUR), at(19_990, 5 * HOUR)).await, 80);
        assert_eq!(count(at(19_990, 2 * HOUR), at(20_002, 5 * HOUR + 2)).await, 25);
        assert_eq!(count(at(20_002, HOUR), at(20_002, 5 * HOUR + 1)).await, 1);
        assert_eq!(count(at(20_002, HOUR), at(20_002, 2 * HOUR)).await, 1);
        assert_eq!(count(at(20_000, HOUR), at(20_000, 2 * HOUR)).await, 1);
        fold(&db).await;
    }
}
