//! Columns of many contacts are saved in parts, and what is missing of them is read from the contacts, on both engines.

#![expect(clippy::unwrap_used, reason = "what cannot go wrong in a test may panic")]

mod memory;

use std::time::Duration;

use mailwright_core::filter::Filter;
use mailwright_core::ids::{ContactId, ProjectNumber};
use mailwright_core::time::{Clock, Timestamp};
use mailwright_store::audience::columns::{AudienceColumns, ColumnLimits, Page};
use mailwright_store::audience::contact::{self, Deleted};
use mailwright_store::audience::filter::Segments;
use mailwright_store::insight::counter::Counter;
use mailwright_store::insight::deltas::Deltas;
use mailwright_store::{Arg, Db, Result, Tx, args, body};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::database::{TestDatabase, both_engines};

const NOW: Timestamp = Timestamp(1_741_608_000_000);
const PROJECT: ProjectNumber = ProjectNumber(7);
/// As many as three parts have.
const CONTACTS: u64 = 100_000;
/// Contacts of one transaction.
const BATCH: usize = 10_000;
/// How long they are not asked for while they are read.
const PAUSE: Duration = Duration::from_millis(20);
/// For how long columns may be read.
const PATIENCE: Duration = Duration::from_mins(1);

fn id(number: u64) -> ContactId {
    ContactId::from(Uuid::from_u128(u128::from(number + 1) << 64))
}

/// Stores contacts whose field `n` is their number.
async fn insert(tx: &Tx<'_>, numbers: Vec<u64>) -> Result<()> {
    let people = numbers.into_iter().map(|number| (number, format!("{{\"n\":{number}}}")));
    insert_of(tx, PROJECT, people.collect()).await
}

/// Stores contacts with their custom data, by their numbers.
async fn insert_of(tx: &Tx<'_>, project: ProjectNumber, people: Vec<(u64, String)>) -> Result<()> {
    let email = |number: &u64| Some(format!("c{number}@example.com").into());
    tx.each(
        "insert into contacts (project_id, id, email, subscribed, data, revision, created_at, updated_at) \
         select r.project_id, r.id, r.email, true, {json r.data}, 1, cast($5 as {int}), cast($5 as {int}) \
         from {rows r: project_id int, id id, email text, data text}",
        &[
            Arg::Ints(people.iter().map(|_| Some(project.0)).collect()),
            Arg::Ids(people.iter().map(|(number, _)| Some(id(*number).into())).collect()),
            Arg::Texts(people.iter().map(|(number, _)| email(number)).collect()),
            Arg::Texts(people.iter().map(|(_, data)| Some(data.as_str().into())).collect()),
            NOW.into(),
        ],
    )
    .await?;
    Ok(())
}

fn columns(db: &Db) -> AudienceColumns {
    AudienceColumns::new(db.clone(), Clock::system(), ColumnLimits { bytes: 1 << 26, contacts: 0 })
}

/// How many contacts have at least this number.
async fn count(columns: &AudienceColumns, least: u64) -> i64 {
    soon(columns, PROJECT, &json!({"field": "data.n", "operator": "greaterThanOrEqual", "value": least}))
        .await
}

/// How many contacts a filter finds in columns, once they are read.
async fn soon(columns: &AudienceColumns, project: ProjectNumber, filter: &Value) -> i64 {
    let found = async {
        loop {
            if let Some(found) = at_once(columns, project, filter).await {
                break found;
            }
            tokio::time::sleep(PAUSE).await;
        }
    };
    tokio::time::timeout(PATIENCE, found).await.expect("columns are read")
}

/// The same of the columns that there are.
async fn at_once(columns: &AudienceColumns, project: ProjectNumber, filter: &Value) -> Option<i64> {
    at_once_by(columns, project, &json!({"logic": "AND", "groups": [{"filters": [filter]}]})).await
}

/// The same of a whole condition.
async fn at_once_by(columns: &AudienceColumns, project: ProjectNumber, tree: &Value) -> Option<i64> {
    let filters = vec![Filter::parse(tree).unwrap()];
    let found = columns.find(project, filters, &Segments::new(), NOW, Page::default()).await.unwrap();
    found.map(|found| found[0].count)
}

async fn number(db: &Db, query: &'static str) -> i64 {
    db.read(body!(async |rx| rx.one(query, args![PROJECT], |r| r.get(0)).await)).await.unwrap()
}

async fn missing_parts_are_read(database: TestDatabase) {
    let db = &database.db;
    for numbers in (0..CONTACTS).collect::<Vec<_>>().chunks(BATCH) {
        let numbers = numbers.to_vec();
        db.write(body!(async |tx| insert(tx, numbers).await)).await.unwrap();
    }
    let first = columns(db);
    assert_eq!(count(&first, 50_000).await, 50_000);
    first.save().await.unwrap();
    drop(first);
    let whole = "select count(*) from contact_column_parts where project_id = $1 and position is not null";
    let stored = "select count(distinct first_id) from contact_columns where project_id = $1";
    assert_eq!((number(db, whole).await, number(db, stored).await), (3, 3));

    db.write(body!(async |tx| {
        let mut deltas = Deltas::default();
        let change = "update contacts set data = {json $3} where project_id = $1 and id = $2";
        tx.execute_one(change, args![PROJECT, id(60_000), Arg::Json(r#"{"n":1}"#.into())]).await?;
        insert(tx, vec![CONTACTS]).await?;
        deltas.add(PROJECT, Counter::Contacts, "", CONTACTS as i64 + 1);
        deltas.touch(PROJECT, id(60_000), NOW);
        deltas.touch(PROJECT, id(CONTACTS), NOW);
        deltas.save(tx).await
    }))
    .await
    .unwrap();
    let deleted = db.write(body!(async |tx| contact::delete(tx, PROJECT, id(40_000), NOW).await)).await;
    assert_eq!(deleted.unwrap(), Deleted::Wholly);
    assert_eq!((number(db, whole).await, number(db, stored).await), (2, 2));

    let second = columns(db);
    assert_eq!(count(&second, 50_000).await, 50_000);
    assert_eq!(count(&second, 0).await, CONTACTS as i64);
    assert_eq!(count(&second, 40_000).await, 60_000 - 1);
}

both_engines! { "columns":
    missing_parts_are_read,
}
