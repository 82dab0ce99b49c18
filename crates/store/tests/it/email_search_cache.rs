//! Counting what a search finds by addresses in memory.

#![expect(clippy::unwrap_used, reason = "what cannot go wrong in a test may panic")]

use std::time::Duration;

use mailwright_store::audience::email_search_cache::EmailSearchCaches;
use mailwright_store::insight::counter::Counter;
use mailwright_store::insight::deltas::Deltas;
use mailwright_store::{Db, body};

use crate::database::{TestDatabase, both_engines};
use crate::search::{NOW, PROJECT, insert};

/// Room for many addresses.
const ROOM: usize = 1 << 24;

/// Adds contacts, and counts so many addresses that changed.
async fn add(db: &Db, names: &[&str], revisions: i64) {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    db.write(body!(async |tx| {
        for name in &names {
            insert(tx, PROJECT, name).await?;
        }
        let mut deltas = Deltas::default();
        deltas.add(PROJECT, Counter::Contacts, "", names.len() as i64);
        deltas.add(PROJECT, Counter::AddressRevisions, "", revisions);
        deltas.save(tx).await
    }))
    .await
    .unwrap();
}

/// Asks until there is a count.
async fn counted(caches: &EmailSearchCaches, text: &str) -> i64 {
    let asked = async {
        loop {
            match caches.count(PROJECT, text).await.unwrap() {
                Some(count) => break count,
                None => tokio::task::yield_now().await,
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), asked).await.unwrap()
}

async fn a_project_is_counted_in_memory_until_an_address_changes(database: TestDatabase) {
    let db = &database.db;
    add(db, &["ada", "bob", "adam"], 0).await;
    let caches = EmailSearchCaches::new(db.clone(), ROOM);
    assert_eq!((caches.count(PROJECT, "ada").await.unwrap(), caches.bytes()), (None, 0));
    caches.write_soon(PROJECT);
    assert_eq!(counted(&caches, "ada").await, 2);
    assert!(caches.bytes() > 0 && caches.bytes() < ROOM);
    add(db, &["adana"], 0).await;
    assert_eq!(caches.count(PROJECT, "ada").await.unwrap(), Some(3), "what came since is read");
    assert_eq!(caches.count(PROJECT, "nobody").await.unwrap(), Some(0));
    add(db, &[], 1).await;
    assert_eq!((caches.count(PROJECT, "ada").await.unwrap(), caches.bytes()), (None, 0));
}

async fn what_does_not_fit_in_is_left_to_the_database(database: TestDatabase) {
    let db = &database.db;
    add(db, &["ada", "bob"], 0).await;
    let none = EmailSearchCaches::new(db.clone(), 0);
    none.write_soon(PROJECT);
    let some = EmailSearchCaches::new(db.clone(), ROOM);
    some.write_soon(PROJECT);
    assert_eq!(counted(&some, "ada").await, 1);
    for _ in 0..100 {
        assert_eq!(none.count(PROJECT, "ada").await.unwrap(), None);
    }
    assert_eq!(none.bytes(), 0);
}

both_engines! { "email_search_cache":
    a_project_is_counted_in_memory_until_an_address_changes,
    what_does_not_fit_in_is_left_to_the_database,
}
