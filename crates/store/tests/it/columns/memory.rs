//! What columns do where they, or values in them, are large.

use mailwright_core::ids::ProjectNumber;
use mailwright_core::time::Clock;
use mailwright_store::audience::columns::{AudienceColumns, ColumnLimits};
use mailwright_store::insight::counter::Counter;
use mailwright_store::insight::deltas::Deltas;
use mailwright_store::{Arg, Db, args, body};
use serde_json::{Value, json};

use super::{NOW, PATIENCE, PAUSE, at_once, at_once_by, id, insert_of, soon};
use crate::database::{TestDatabase, both_engines};

const ONE: ProjectNumber = ProjectNumber(7);
const OTHER: ProjectNumber = ProjectNumber(8);
const CONTACTS: u64 = 4_000;

fn limited(db: &Db, bytes: usize) -> AudienceColumns {
    AudienceColumns::new(db.clone(), Clock::system(), ColumnLimits { bytes, contacts: 0 })
}

fn has(field: &str) -> Value {
    json!({"field": format!("data.{field}"), "operator": "exists"})
}

/// Stores contacts with three fields, and addresses that are all different.
async fn insert(db: &Db, project: ProjectNumber) {
    db.write(body!(async |tx| {
        let data = |number: u64| format!(r#"{{"n":{number},"plan":"pro","bio":"b"}}"#);
        insert_of(tx, project, (0..CONTACTS).map(|number| (number, data(number))).collect()).await?;
        let mut deltas = Deltas::default();
        deltas.add(project, Counter::Contacts, "", CONTACTS as i64);
        deltas.save(tx).await
    }))
    .await
    .unwrap();
}

/// Gives some contacts a biography of so many characters.
async fn write_long(db: &Db, contacts: std::ops::Range<u64>, characters: usize) {
    let data = json!({"n": 1, "plan": "free", "bio": "x".repeat(characters)}).to_string();
    db.write(body!(async |tx| {
        let mut deltas = Deltas::default();
        for number in contacts {
            let change = "update contacts set data = {json $3} where project_id = $1 and id = $2";
            tx.execute_one(change, args![ONE, id(number), Arg::Json(data.as_str().into())]).await?;
            deltas.touch(ONE, id(number), NOW);
        }
        deltas.save(tx).await
    }))
    .await
    .unwrap();
}

async fn long_values_harm_their_column_alone(database: TestDatabase) {
    let db = &database.db;
    insert(db, ONE).await;
    let columns = limited(db, 1 << 26);
    let of = |field: &str, value: Value| json!({"field": format!("data.{field}"), "operator": "contains", "value": value});
    for field in ["n", "plan", "bio"] {
        assert_eq!(soon(&columns, ONE, &has(field)).await, CONTACTS as i64);
    }
    // one long value is judged as any other
    write_long(db, 5..6, 5_000).await;
    assert_eq!(at_once(&columns, ONE, &of("bio", json!("xxx"))).await, Some(1));
    assert_eq!(at_once(&columns, ONE, &of("plan", json!("free"))).await, Some(1));
    // where very many are long, the column goes, and the others stay
    write_long(db, 100..500, 1_100).await;
    columns.round().await.unwrap();
    assert_eq!(at_once(&columns, ONE, &of("plan", json!("free"))).await, Some(401));
    for _ in 0..20 {
        assert_eq!(at_once(&columns, ONE, &of("bio", json!("xxx"))).await, None);
        assert_eq!(at_once(&columns, ONE, &of("plan", json!("free"))).await, Some(401));
        tokio::time::sleep(PAUSE).await;
    }
    // also for whoever starts from what is saved
    columns.save().await.unwrap();
    let next = limited(db, 1 << 26);
    assert_eq!(soon(&next, ONE, &of("plan", json!("free"))).await, 401);
    next.save().await.unwrap();
    assert_eq!(at_once(&next, ONE, &of("plan", json!("free"))).await, Some(401));
}

async fn what_does_not_fit_in_leaves_the_rest(database: TestDatabase) {
    let db = &database.db;
    insert(db, ONE).await;
    let limit = 200_000;
    let columns = limited(db, limit);
    assert_eq!(soon(&columns, ONE, &has("n")).await, CONTACTS as i64);
    let address = json!({"field": "email", "operator": "contains", "value": "c7"});
    let both = json!({"logic": "AND", "groups": [{"filters": [has("n"), address]}]});
    let settled = async {
        let mut answered = 0;
        while answered < 20 {
            assert_eq!(at_once_by(&columns, ONE, &both).await, None);
            assert_eq!(at_once(&columns, ONE, &address).await, None);
            let found = at_once(&columns, ONE, &has("n")).await;
            answered = if found == Some(CONTACTS as i64) { answered + 1 } else { 0 };
            assert!(columns.bytes() <= limit, "{}", columns.bytes());
            tokio::time::sleep(PAUSE).await;
        }
    };
    tokio::time::timeout(PATIENCE, settled).await.expect("the other column is there");
}

async fn projects_do_not_take_turns_in_memory(database: TestDatabase) {
    let db = &database.db;
    insert(db, ONE).await;
    insert(db, OTHER).await;
    // both have room with a column, but not with all that the other one wants
    let limit = 400_000;
    let columns = limited(db, limit);
    assert_eq!(soon(&columns, ONE, &has("n")).await, CONTACTS as i64);
    let many: Vec<Value> = (0..30).map(|number| has(&format!("f{number}"))).collect();
    for _ in 0..20 {
        for filter in &many {
            at_once(&columns, OTHER, filter).await;
            assert!(columns.bytes() <= limit, "{}", columns.bytes());
        }
        assert_eq!(at_once(&columns, ONE, &has("n")).await, Some(CONTACTS as i64));
        tokio::time::sleep(PAUSE).await;
    }
}

both_engines! { "columns":
    long_values_harm_their_column_alone,
    what_does_not_fit_in_leaves_the_rest,
    projects_do_not_take_turns_in_memory,
}
