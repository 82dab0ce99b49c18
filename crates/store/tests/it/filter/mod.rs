//! The two evaluators of filters agree, on both engines: for random filters over random contacts, the compiled SQL finds
//! those for whom [`Filter::matches`] is true.

#![expect(clippy::unwrap_used, reason = "what cannot go wrong in a test may panic")]

mod bounds;
mod columns;
mod lists;
mod strategies;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use mailwright_core::contact::Contact;
use mailwright_core::filter::{Activity, Facts, Filter, Resolved};
use mailwright_core::ids::{ContactId, EmailId, EventId, ProjectNumber, SegmentId};
use mailwright_core::time::Timestamp;
use mailwright_store::audience::filter::{self, EventCounts, FactsOf, Segments};
use mailwright_store::body;
use mailwright_store::{Arg, Db, Result, json_text};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::Value;
use tokio::runtime::Runtime;
use uuid::Uuid;

use crate::database::TestDatabase;
use strategies::{EVENTS, dense, eventful, person, tree};

/// 2025-03-10T12:00:00Z, a time at which days are half over.
const NOW: Timestamp = Timestamp(1_741_608_000_000);
const MINUTE: i64 = 60_000;
const DAY: i64 = 24 * 60 * MINUTE;

/// A database of the engine under test, and what runs its futures.
struct Database {
    // dropped before the runtime
    database: TestDatabase,
    runtime: Runtime,
}

impl Deref for Database {
    type Target = TestDatabase;

    fn deref(&self) -> &TestDatabase {
        &self.database
    }
}

impl Database {
    fn sqlite() -> Self {
        let runtime = Runtime::new().unwrap();
        Self { database: runtime.block_on(TestDatabase::sqlite(NOW)), runtime }
    }

    fn postgres(test: &str) -> Self {
        let runtime = Runtime::new().unwrap();
        Self { database: runtime.block_on(TestDatabase::postgres(&format!("filter_{test}"), NOW)), runtime }
    }
}

/// A contact with everything a filter can look at.
#[derive(Debug, Clone)]
struct Person {
    contact: Contact,
    events: Vec<(String, Timestamp)>,
    /// Mails, with the times of their activities in the order of [`Activity::ALL`].
    mails: Vec<Vec<Option<Timestamp>>>,
    /// Stored memberships, and whether they have ended.
    memberships: BTreeMap<SegmentId, bool>,
}

impl Facts for Person {
    fn contact(&self) -> &Contact {
        &self.contact
    }

    fn last_event(&self, name: &str) -> Option<Timestamp> {
        self.events.iter().filter(|(event, _)| event == name).map(|(_, at)| *at).max()
    }

    fn last_activity(&self, activity: Activity) -> Option<Timestamp> {
        let column = Activity::ALL.iter().position(|kind| *kind == activity).unwrap();
        self.mails.iter().filter_map(|times| times[column]).max()
    }

    fn is_member(&self, segment: SegmentId) -> bool {
        self.memberships.get(&segment) == Some(&false)
    }
}

/// The segments that filters name: a static one, a tracked one, one that is a filter, one that nobody knows.
fn segment(index: u128) -> SegmentId {
    SegmentId::from(Uuid::from_u128(index))
}

const STORED: [u128; 2] = [1, 2];
const DYNAMIC: u128 = 3;
const UNKNOWN: u128 = 4;

fn parse(json: &Value) -> Filter {
    Filter::parse(json).unwrap_or_else(|issues| panic!("{json}: {issues:?}"))
}

// Writing the contacts of a case.

async fn insert(db: &Db, project: ProjectNumber, people: Vec<Person>) -> Result<()> {
    db.write(body!(async |tx| {
        for person in &people {
            let Contact { id, email, subscribed, data, created_at, updated_at } = &person.contact;
            tx.execute(
                "insert into contacts (project_id, id, email, subscribed, data, revision, created_at, updated_at) \
                 values ($1, $2, $3, $4, {json $5}, 1, $6, $7)",
                &[
                    project.into(),
                    (*id).into(),
                    email.into(),
                    (*subscribed).into(),
                    Arg::Json(json_text(data).into()),
                    (*created_at).into(),
                    (*updated_at).into(),
                ],
            )
            .await?;
            for (name, at) in &person.events {
                tx.execute(
                    "insert into events (project_id, id, name, contact_id, created_at) values ($1, $2, $3, $4, $5)",
                    &[project.into(), EventId::new(*at, rand::random()).into(), name.into(), (*id).into(), (*at).into()],
                )
                .await?;
            }
            for times in &person.mails {
                let mut args: Vec<Arg<'_>> = vec![project.into(), EmailId::new(NOW, rand::random()).into(), (*id).into()];
                args.extend(times.iter().map(|time| Arg::from(*time)));
                args.extend([Arg::Json("[]".into()), Arg::Bytes(b"".as_slice().into())]);
                tx.execute(
                    "insert into emails (project_id, id, contact_id, recipient, from_address, subject, content_hash, \
                     variables, source, type, lane, status, claim, attempts, in_doubt, log, message_id, opens, clicks, \
                     deadline_at, sent_at, delivered_at, opened_at, clicked_at, bounced_at, complained_at, \
                     created_at, updated_at) values ($1, $2, $3, '', '', '', $11, {json $10}, '', '', 0, '', 0, 0, 0, \
                     {json $10}, '', 0, 0, 0, $4, $5, $6, $7, $8, $9, 0, 0)",
                    &args,
                )
                .await?;
            }
            for (segment, exited) in &person.memberships {
                tx.execute(
                    "insert into segment_members (project_id, segment_id, contact_id, entered_at, exited_at) \
                     values ($1, $2, $3, 1, $4)",
                    &[project.into(), (*segment).into(), (*id).into(), exited.then_some(2i64).into()],
                )
                .await?;
            }
        }
        // an event of nobody must not disturb
        tx.execute(
            "insert into events (project_id, id, name, created_at) values ($1, $2, 'signup', $3)",
            &[project.into(), EventId::new(NOW, rand::random()).into(), NOW.into()],
        )
        .await?;
        Ok(())
    }))
    .await
}

/// Numbers of events of each name that a filter is compiled for in different ways.
const COUNTED: [i64; 3] = [1, 10_000, 1 << 40];

/// What the condition, compiled for so many events of each name, says of every contact.
async fn judged(
    db: &Db,
    project: ProjectNumber,
    tree: &Filter,
    segments: &Segments,
    counted: i64,
) -> BTreeMap<ContactId, Option<i64>> {
    let counts: EventCounts = EVENTS.iter().map(|name| ((*name).to_owned(), counted)).collect();
    let mut args: Vec<Arg<'static>> = vec![project.into()];
    let condition = filter::condition(tree, segments, &counts, NOW, db.is_shared(), &mut args).unwrap();
    let sql = format!(
        "select c.id, cast(case when {condition} then 1 when not {condition} then 0 end as {{int}}) \
         from contacts c where c.project_id = $1"
    );
    let rows = db.read(body!(async |rx| rx
        .all(sql, &args, |r| Ok((r.get::<ContactId>(0)?, r.get::<Option<i64>>(1)?)))
        .await));
    rows.await.unwrap_or_else(|error| panic!("{error}: {condition}")).into_iter().collect()
}

/// One random case.
#[derive(Debug, Clone)]
struct Case {
    people: Vec<Person>,
    dynamic: Value,
    trees: Vec<Value>,
}

fn case() -> impl Strategy<Value = Case> {
    let random = (vec(person(), 1..10), vec(tree(UNKNOWN), 1..8));
    (prop_oneof![random, dense(), eventful()], tree(2)).prop_map(|((people, trees), dynamic)| Case {
        people,
        dynamic,
        trees,
    })
}

impl Case {
    fn segments(&self) -> Segments {
        let mut segments = Segments::new();
        for index in STORED {
            segments.members(segment(index));
        }
        segments.tree(segment(DYNAMIC), Arc::new(parse(&self.dynamic)));
        segments
    }
}

async fn agree(db: &Db, project: ProjectNumber, case: &Case) -> Result<(), TestCaseError> {
    insert(db, project, case.people.clone()).await.unwrap();
    let segments = case.segments();
    let mut found = Vec::new();
    for json in &case.trees {
        let tree = parse(json);
        let known = loaded(db, project, case, segments.references(&tree)).await;
        let mut wanted = BTreeMap::new();
        for person in &case.people {
            let expected = tree.matches(&Resolved::new(person, segments.trees(), NOW), NOW);
            let facts = &known[&person.contact.id];
            let from_facts = tree.matches(&Resolved::new(facts, segments.trees(), NOW), NOW);
            prop_assert_eq!(expected, from_facts, "loaded facts differ: {} for {:?}", json, person);
            wanted.insert(person.contact.id, Some(i64::from(expected)));
        }
        for counted in COUNTED {
            let judged = judged(db, project, &tree, &segments, counted).await;
            prop_assert_eq!(&judged, &wanted, "{} ({} events) with {}", json, counted, case.dynamic);
        }
        let members: BTreeSet<_> = wanted.into_iter().filter(|(_, member)| *member == Some(1)).collect();
        let members: Vec<_> = members.into_iter().map(|(id, _)| id).rev().collect();
        listed(db, project, &tree, &segments, members.clone()).await?;
        columns::agree(db, project, &tree, &segments, &members).await?;
        lists::agree(db, project, &tree, &segments, case, (&members, members.len() + found.len())).await?;
        found.push((tree, members));
    }
    claim_many_events(db, project).await.unwrap();
    for (turn, (tree, members)) in found.into_iter().enumerate() {
        listed(db, project, &tree, &segments, members.clone()).await?;
        lists::agree(db, project, &tree, &segments, case, (&members, 7 * members.len() + turn)).await?;
    }
    Ok(())
}

/// Makes the project look as if it had so many events of each name that other queries are better.
async fn claim_many_events(db: &Db, project: ProjectNumber) -> Result<()> {
    db.write(body!(async |tx| {
        for name in EVENTS {
            tx.execute(
                "insert into counters (project_id, kind, name, shard, value) values ($1, 'event', $2, 0, $3)",
                &[project.into(), name.into(), (1i64 << 40).into()],
            )
            .await?;
        }
        Ok(())
    }))
    .await
}

async fn loaded(
    db: &Db,
    project: ProjectNumber,
    case: &Case,
    references: mailwright_core::filter::References,
) -> BTreeMap<ContactId, FactsOf> {
    let mut ids: Vec<_> = case.people.iter().map(|person| person.contact.id).collect();
    ids.push(ContactId::new(NOW, rand::random()));
    let facts = db.read(body!(async |rx| filter::facts(rx, project, &ids, &references).await));
    facts.await.unwrap().into_iter().map(|facts| (facts.contact().id, facts)).collect()
}

/// The count and the pages of a filter, given who must be found, newest first.
async fn listed(
    db: &Db,
    project: ProjectNumber,
    tree: &Filter,
    segments: &Segments,
    members: Vec<ContactId>,
) -> Result<(), TestCaseError> {
    let (tree, segments) = (tree.clone(), segments.clone());
    let after = members.first().copied();
    let (count, first, second, tail) = db
        .read(body!(async |rx| {
            let ids = |contacts: Vec<Contact>| contacts.into_iter().map(|c| c.id).collect::<Vec<_>>();
            let count = filter::count(rx, project, &tree, &segments, NOW).await?;
            let first = filter::page(rx, project, &tree, &segments, NOW, None, 100).await?;
            let second = filter::page(rx, project, &tree, &segments, NOW, after, 2).await?;
            let tail = filter::page_at(rx, project, &tree, &segments, NOW, 2, 3).await?;
            Ok((count, ids(first), ids(second), ids(tail)))
        }))
        .await
        .unwrap();
    prop_assert_eq!(count, members.len() as i64);
    prop_assert_eq!(&second[..], &members[members.len().min(1)..members.len().min(3)]);
    prop_assert_eq!(&tail[..], &members[members.len().min(2)..members.len().min(5)]);
    prop_assert_eq!(first, members);
    Ok(())
}

fn check(database: &Database) {
    static PROJECT: AtomicI64 = AtomicI64::new(1);
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(96);
    let config = Config { cases, max_shrink_iters: 100, failure_persistence: None, ..Config::default() };
    let outcome = TestRunner::new(config).run(&case(), |case| {
        let project = ProjectNumber(PROJECT.fetch_add(1, Ordering::Relaxed));
        database.runtime.block_on(agree(&database.db, project, &case))
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn evaluators_agree_on_sqlite() {
    check(&Database::sqlite());
}

#[test]
fn evaluators_agree_on_postgres() {
    check(&Database::postgres("agree"));
}
