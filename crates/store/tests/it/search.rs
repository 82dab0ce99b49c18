//! Search by a part of the address in a project that has an index for it, on both engines.

#![expect(clippy::unwrap_used, reason = "what cannot go wrong in a test may panic")]

use mailwright_core::ids::{ContactId, ProjectNumber};
use mailwright_core::time::Timestamp;
use mailwright_store::audience::contact::{self, List, Sort};
use mailwright_store::audience::search::index;
use mailwright_store::insight::counter::Counter;
use mailwright_store::insight::deltas::Deltas;
use mailwright_store::{Arg, Db, Error, args, body};

use crate::database::TestDatabase;

const NOW: Timestamp = Timestamp(1_741_608_000_000);
const PROJECT: ProjectNumber = ProjectNumber(7);
const OTHER: ProjectNumber = ProjectNumber(8);

/// A large project, as far as its counter goes, with an index.
async fn indexed(db: &Db) {
    db.write(body!(async |tx| {
        let mut deltas = Deltas::default();
        deltas.add(PROJECT, Counter::Contacts, "", index::LARGE_PROJECT);
        deltas.save(tx).await
    }))
    .await
    .unwrap();
    while index::build_step(db, PROJECT, NOW).await.unwrap() {}
}

async fn run(db: &Db, sql: &'static str, arguments: &[&str]) {
    let values: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
    let written = db.write(body!(async |tx| {
        let mut args = vec![Arg::from(PROJECT)];
        args.extend(values.iter().map(|text| Arg::from(text.as_str())));
        tx.execute(sql, &args).await
    }));
    assert_eq!(written.await.unwrap(), 1, "{sql} {arguments:?}");
}

async fn add(db: &Db, project: ProjectNumber, name: &str) {
    let email = format!("{name}@example.com");
    db.write(body!(async |tx| {
        tx.execute_one(
            "insert into contacts (project_id, id, email, subscribed, data, revision, created_at, updated_at) \
             values ($1, $2, $3, true, {json $5}, 1, $4, $4)",
            args![project, ContactId::new(NOW, rand::random()), &email, NOW, Arg::Json("{}".into())],
        )
        .await
    }))
    .await
    .unwrap();
}

async fn rename(db: &Db, from: &str, to: &str) {
    let sql = "update contacts set email = $3 where project_id = $1 and email = $2";
    run(db, sql, &[&format!("{from}@example.com"), &format!("{to}@example.com")]).await;
}

async fn remove(db: &Db, name: &str) {
    let sql = "delete from contacts where project_id = $1 and email = $2";
    run(db, sql, &[&format!("{name}@example.com")]).await;
}

/// The names that a search finds, as a page and as a total.
async fn found(db: &Db, search: &str) -> Vec<String> {
    let list = List {
        limit: 100,
        after: None,
        search: Some(search.to_owned()),
        subscribed: None,
        sort: Sort::Email,
        descending: false,
    };
    let (page, total) = db
        .read(body!(async |rx| {
            let page = contact::list(rx, PROJECT, &list).await?;
            Ok((page, contact::total(rx, PROJECT, &list).await?))
        }))
        .await
        .unwrap();
    assert_eq!((total.count, total.scanned), (page.len() as i64, false));
    page.iter().map(|contact| contact.email.local().to_owned()).collect()
}

/// Has everything follow that does: nothing on PostgreSQL.
async fn follow(db: &Db) {
    for project in followed(db).await {
        while index::follow_step(db, project).await.unwrap() {}
    }
}

async fn followed(db: &Db) -> Vec<ProjectNumber> {
    db.read(body!(async |rx| index::followed(rx, ProjectNumber(0)).await)).await.unwrap()
}

async fn what_comes_changes_and_goes_is_found(database: TestDatabase) {
    let db = &database.db;
    for name in ["ada-first", "bob-first"] {
        add(db, PROJECT, name).await;
    }
    add(db, OTHER, "ada-other").await;
    indexed(db).await;
    assert_eq!(found(db, "-first").await, ["ada-first", "bob-first"]);

    add(db, PROJECT, "ada-second").await;
    add(db, OTHER, "bob-other").await;
    add(db, PROJECT, "cleo-second").await;
    assert_eq!(found(db, "ada-").await, ["ada-first", "ada-second"], "it is not in the index yet");
    rename(db, "ada-second", "dora-second").await;
    rename(db, "ada-first", "emil-first").await;
    remove(db, "cleo-second").await;
    for _ in 0..2 {
        assert_eq!(found(db, "ada-").await, [""; 0]);
        assert_eq!(found(db, "-second").await, ["dora-second"]);
        assert_eq!(found(db, "-first").await, ["bob-first", "emil-first"]);
        follow(db).await;
    }

    // the number of its row is used again
    remove(db, "dora-second").await;
    add(db, PROJECT, "finn-third").await;
    for _ in 0..2 {
        assert_eq!(found(db, "-third").await, ["finn-third"]);
        assert_eq!(found(db, "-second").await, [""; 0]);
        follow(db).await;
    }
    remove(db, "bob-first").await;
    assert_eq!(found(db, "-first").await, ["emil-first"]);
    assert_eq!(found(db, "example").await, ["emil-first", "finn-third"]);
}

async fn many_follow_in_steps(database: TestDatabase) {
    let db = &database.db;
    indexed(db).await;
    db.write(body!(async |tx| {
        for number in 0..2_500 {
            let (project, email) = (if number % 5 == 0 { PROJECT } else { OTHER }, format!("user-{number}@example.com"));
            tx.execute_one(
                "insert into contacts (project_id, id, email, subscribed, data, revision, created_at, updated_at) \
                 values ($1, $2, $3, true, {json $5}, 1, $4, $4)",
                args![project, ContactId::new(NOW, rand::random()), &email, NOW, Arg::Json("{}".into())],
            )
            .await?;
        }
        Ok::<_, Error>(())
    }))
    .await
    .unwrap();
    let expected: Vec<String> =
        (0..500).map(|n| 5 * n).filter(|n| n / 100 == 7).map(|n| format!("user-{n}")).collect();
    assert_eq!(expected.len(), 20);
    for _ in 0..4 {
        let users = found(db, "user-7").await;
        assert!(expected.iter().all(|user| users.contains(user)), "{users:?}");
        assert_eq!(users.len(), 22, "with user-70 and user-75: {users:?}");
        for project in followed(db).await {
            index::follow_step(db, project).await.unwrap();
        }
    }
}

async fn an_index_of_an_earlier_version_is_followed(database: TestDatabase) {
    let db = &database.db;
    add(db, PROJECT, "ada-first").await;
    indexed(db).await;
    // what an earlier version made
    let trigger = "create trigger contact_search_7_insert after insert on contacts when new.project_id = 7 \
                   begin insert into contact_search_7 (rowid, email) values (new.seq, new.email); end";
    db.write(body!(async |tx| {
        tx.execute(trigger, &[]).await?;
        tx.execute_one("update search_indexes set follows = false where project_id = $1", args![PROJECT])
            .await
    }))
    .await
    .unwrap();
    assert_eq!(followed(db).await, [PROJECT]);
    add(db, PROJECT, "bob-first").await;
    for _ in 0..2 {
        assert_eq!(found(db, "-first").await, ["ada-first", "bob-first"]);
        follow(db).await;
    }
    add(db, PROJECT, "cleo-first").await;
    for _ in 0..2 {
        assert_eq!(found(db, "-first").await, ["ada-first", "bob-first", "cleo-first"]);
        follow(db).await;
    }
}

#[tokio::test]
async fn sqlite_what_comes_changes_and_goes_is_found() {
    what_comes_changes_and_goes_is_found(TestDatabase::sqlite(NOW).await).await;
}

#[tokio::test]
async fn postgres_what_comes_changes_and_goes_is_found() {
    what_comes_changes_and_goes_is_found(TestDatabase::postgres("search_found", NOW).await).await;
}

#[tokio::test]
async fn sqlite_many_follow_in_steps() {
    many_follow_in_steps(TestDatabase::sqlite(NOW).await).await;
}

#[tokio::test]
async fn postgres_many_follow_in_steps() {
    many_follow_in_steps(TestDatabase::postgres("search_steps", NOW).await).await;
}

#[tokio::test]
async fn sqlite_an_index_of_an_earlier_version_is_followed() {
    an_index_of_an_earlier_version_is_followed(TestDatabase::sqlite(NOW).await).await;
}
