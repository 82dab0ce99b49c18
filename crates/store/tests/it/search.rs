//! Search by a part of the address in a project that has an index for it, on both engines.

#![expect(clippy::unwrap_used, reason = "what cannot go wrong in a test may panic")]

use mailwright_core::ids::{ContactId, ProjectNumber};
use mailwright_core::time::Timestamp;
use mailwright_store::audience::contact::{self, List, Sort};
use mailwright_store::audience::search::index;
use mailwright_store::insight::counter::Counter;
use mailwright_store::insight::deltas::Deltas;
use mailwright_store::{Arg, Db, Error, Result, Tx, args, body};

use crate::database::TestDatabase;

pub(crate) const NOW: Timestamp = Timestamp(1_741_608_000_000);
pub(crate) const PROJECT: ProjectNumber = ProjectNumber(7);
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

async fn add(db: &Db, project: ProjectNumber, name: &str) {
    let name = name.to_owned();
    db.write(body!(async |tx| insert(tx, project, &name).await)).await.unwrap();
}

pub(crate) async fn insert(tx: &Tx<'_>, project: ProjectNumber, name: &str) -> Result<()> {
    tx.execute_one(
        "insert into contacts (project_id, id, email, subscribed, data, revision, created_at, updated_at) \
         values ($1, $2, $3, true, {json $5}, 1, $4, $4)",
        args![project, ContactId::new(NOW, rand::random()), &email(name), NOW, Arg::Json("{}".into())],
    )
    .await
}

fn email(name: &str) -> String {
    format!("{name}@example.com")
}

async fn rename(db: &Db, from: &str, to: &str) {
    let sql = "update contacts set email = $3 where project_id = $1 and email = $2";
    let (from, to) = (email(from), email(to));
    db.write(body!(async |tx| tx.execute_one(sql, args![PROJECT, &from, &to]).await)).await.unwrap();
}

async fn remove(db: &Db, project: ProjectNumber, name: &str) {
    let sql = "delete from contacts where project_id = $1 and email = $2";
    let email = email(name);
    db.write(body!(async |tx| tx.execute_one(sql, args![project, &email]).await)).await.unwrap();
}

/// The names that a search finds, as a page and as a total, by the index.
async fn found(db: &Db, search: &str) -> Vec<String> {
    let (names, scanned) = searched(db, search).await;
    assert!(!scanned);
    names
}

/// The names that a search finds, as a page and as a total, and whether contacts were gone through for that.
async fn searched(db: &Db, search: &str) -> (Vec<String>, bool) {
    let list = List {
        limit: 100,
        after: None,
        search: Some(search.to_owned()),
        holding: None,
        subscribed: None,
        sort: Sort::Email,
        descending: false,
    };
    let (pages, total) = db
        .read(body!(async |rx| {
            let total = contact::total(rx, PROJECT, &list).await?;
            let mut pages = Vec::new();
            // whichever way it takes
            for holding in [None, Some(total.count), Some(1_000_000)] {
                pages.push(contact::list(rx, PROJECT, &List { holding, ..list.clone() }).await?);
            }
            Ok((pages, total))
        }))
        .await
        .unwrap();
    let page = &pages[0];
    assert!(pages.iter().all(|other| other == page));
    assert_eq!(total.count, page.len() as i64);
    (page.iter().map(|contact| contact.email.local().to_owned()).collect(), total.scanned)
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
    remove(db, PROJECT, "cleo-second").await;
    for _ in 0..2 {
        assert_eq!(found(db, "ada-").await, [""; 0]);
        assert_eq!(found(db, "-second").await, ["dora-second"]);
        assert_eq!(found(db, "-first").await, ["bob-first", "emil-first"]);
        follow(db).await;
    }

    remove(db, PROJECT, "bob-first").await;
    assert_eq!(found(db, "-first").await, ["emil-first"]);
    assert_eq!(found(db, "example").await, ["dora-second", "emil-first"]);
}

/// SQLite gives a new row the number after the last one that is there.
async fn a_number_of_a_row_that_is_used_again_is_found(database: TestDatabase) {
    let db = &database.db;
    indexed(db).await;
    let owners = [PROJECT, OTHER];
    for (round, (one, other)) in owners.iter().flat_map(|one| owners.map(|other| (*one, other))).enumerate() {
        add(db, PROJECT, &format!("stays-{round}")).await;
        add(db, one, "ada").await;
        add(db, other, "bob").await;
        add(db, PROJECT, "cleo").await;
        follow(db).await;
        remove(db, PROJECT, "cleo").await;
        // not from the last one on
        remove(db, one, "ada").await;
        remove(db, other, "bob").await;
        add(db, PROJECT, &format!("comes-{round}")).await;
        follow(db).await;
        let expected: Vec<String> = (0..=round).map(|round| format!("comes-{round}")).collect();
        assert_eq!(found(db, "comes-").await, expected);
        assert_eq!(found(db, "stays-").await.len(), round + 1);
        assert_eq!(found(db, "ada").await, [""; 0]);
    }
}

async fn many_follow_in_steps(database: TestDatabase) {
    let db = &database.db;
    indexed(db).await;
    db.write(body!(async |tx| {
        for number in 0..2_500 {
            let project = if number % 5 == 0 { PROJECT } else { OTHER };
            insert(tx, project, &format!("user-{number}")).await?;
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

async fn an_index_of_an_earlier_version_is_made_anew(database: TestDatabase) {
    let db = &database.db;
    for number in 0..2_500 {
        add(db, PROJECT, &format!("user-{number:04}")).await;
    }
    indexed(db).await;
    // what an earlier version made
    let statements = [
        "drop table contact_search_7",
        "create virtual table contact_search_7 using fts5 (email, tokenize = 'trigram')",
        "insert into contact_search_7 (rowid, email) select seq, email from contacts",
        "create trigger contact_search_7_insert after insert on contacts when new.project_id = 7 \
         begin insert into contact_search_7 (rowid, email) values (new.seq, new.email); end",
        "update search_indexes set follows = false where project_id = 7",
    ];
    db.write(body!(async |tx| {
        for statement in statements {
            tx.execute(statement, &[]).await?;
        }
        Ok::<_, Error>(())
    }))
    .await
    .unwrap();
    assert_eq!(followed(db).await, []);
    let mut steps = 0;
    // what comes, changes and goes while the old one is removed and the new one is made
    while index::build_step(db, PROJECT, NOW).await.unwrap() {
        if steps == 8 {
            continue;
        }
        add(db, PROJECT, &format!("ada-{steps}")).await;
        rename(db, &format!("user-{:04}", 2 * steps), &format!("bob-{steps}")).await;
        remove(db, PROJECT, &format!("user-{:04}", 2 * steps + 1)).await;
        steps += 1;
        for changed in ["ada-", "bob-"] {
            assert_eq!(searched(db, changed).await.0.len(), steps);
        }
        assert_eq!(searched(db, "user-000").await.0.len(), 10_usize.saturating_sub(2 * steps));
    }
    assert_eq!(steps, 8);
    assert_eq!(followed(db).await, [PROJECT]);
    for _ in 0..2 {
        assert_eq!(found(db, "ada-").await.len(), steps);
        assert_eq!(found(db, "bob-").await.len(), steps);
        let expected: Vec<String> = (0..4).map(|n| format!("user-200{n}")).collect();
        assert_eq!(found(db, "user-200").await[..4], expected);
        assert_eq!(found(db, "user-0000").await, [""; 0]);
        follow(db).await;
    }
}

/// Trigrams say which addresses may contain a text, and not where.
async fn trigrams_in_another_order_are_not_found(database: TestDatabase) {
    let db = &database.db;
    indexed(db).await;
    for name in ["abcd.bcde", "bcde.abcd", "abcde"] {
        add(db, PROJECT, name).await;
    }
    for _ in 0..2 {
        assert_eq!(found(db, "abcde").await, ["abcde"]);
        assert_eq!(found(db, "abcd.b").await, ["abcd.bcde"]);
        assert_eq!(found(db, "e@example.com").await, ["abcd.bcde", "abcde"]);
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
async fn sqlite_a_number_of_a_row_that_is_used_again_is_found() {
    a_number_of_a_row_that_is_used_again_is_found(TestDatabase::sqlite(NOW).await).await;
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
async fn sqlite_an_index_of_an_earlier_version_is_made_anew() {
    an_index_of_an_earlier_version_is_made_anew(TestDatabase::sqlite(NOW).await).await;
}

#[tokio::test]
async fn sqlite_trigrams_in_another_order_are_not_found() {
    trigrams_in_another_order_are_not_found(TestDatabase::sqlite(NOW).await).await;
}

#[tokio::test]
async fn postgres_trigrams_in_another_order_are_not_found() {
    trigrams_in_another_order_are_not_found(TestDatabase::postgres("search_order", NOW).await).await;
}
