//! The two evaluators of filters agree, on both engines: for random filters over random contacts, the compiled SQL finds
//! those for whom [`Tree::matches`] is true.

#![expect(clippy::unwrap_used, reason = "what cannot go wrong in a test may panic")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use mailwright_core::address::EmailAddress;
use mailwright_core::contact::Contact;
use mailwright_core::custom_data::Data;
use mailwright_core::filter::{Activity, Facts, Resolved, Tree};
use mailwright_core::ids::{ContactId, EmailId, EventId, ProjectNumber, SegmentId};
use mailwright_core::time::Timestamp;
use mailwright_store::filter::{self, EventCounts, FactsOf, Segments};
use mailwright_store::{Arg, Db, Location, Result, StoreMetrics, json_text, migrate};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use uuid::Uuid;

/// 2025-03-10T12:00:00Z, a time at which days are half over.
const NOW: Timestamp = Timestamp(1_741_608_000_000);
const MINUTE: i64 = 60_000;
const DAY: i64 = 24 * 60 * MINUTE;

/// A database of the engine under test, dropped with this value.
struct Database {
    db: Db,
    runtime: Runtime,
    _folder: tempfile::TempDir,
    /// The server and the database's name, on PostgreSQL.
    server: Option<(String, String)>,
}

impl Database {
    fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Sqlite(folder.path().join("filter.db"));
        Self::open(folder, &location, None)
    }

    fn postgres(test: &str) -> Self {
        let server = std::env::var("MAILWRIGHT_TEST_POSTGRES").ok().filter(|url| !url.is_empty());
        let server = server.expect(
            "this test needs PostgreSQL: set MAILWRIGHT_TEST_POSTGRES to a server on which databases may be created, \
             or run the tests through scripts/with-postgres",
        );
        let server = server.trim_end_matches('/').to_owned();
        let name = format!("mailwright_filter_{test}_{}", std::process::id());
        let location = Location::Postgres { url: format!("{server}/{name}"), connections: 4 };
        administer(&server, format!("drop database if exists {name} with (force)"));
        administer(&server, format!("create database {name}"));
        Self::open(tempfile::tempdir().unwrap(), &location, Some((server, name)))
    }

    fn open(folder: tempfile::TempDir, location: &Location, server: Option<(String, String)>) -> Self {
        let runtime = Runtime::new().unwrap();
        let db = {
            let _inside = runtime.enter();
            Db::open(location, StoreMetrics::default()).unwrap()
        };
        runtime.block_on(migrate::migrate(&db, NOW)).unwrap();
        Self { db, runtime, _folder: folder, server }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if let Some((server, name)) = &self.server {
            administer(server, format!("drop database if exists {name} with (force)"));
        }
    }
}

/// Runs a statement on the server, outside of any runtime.
fn administer(server: &str, statement: String) {
    let url = format!("{server}/postgres");
    Runtime::new().unwrap().block_on(async move {
        let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls)
            .await
            .unwrap_or_else(|error| panic!("MAILWRIGHT_TEST_POSTGRES is out of reach: {error}"));
        tokio::spawn(connection);
        client.batch_execute(&statement).await.unwrap_or_else(|error| panic!("{statement}: {error:?}"));
    });
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

// What contacts and filters are made of.

const KEYS: [&str; 18] = [
    "a",
    "b",
    "c",
    "a.b",
    "a.b.c",
    "0",
    "x y",
    "it's",
    "q\"uote",
    "back\\slash",
    "%",
    "_",
    "$",
    "[0]",
    "*",
    "ключ",
    "😀",
    "#-1",
];
const EVENTS: [&str; 6] = ["signup", "a.b", "email.open", "it's %_", "ключ", "never"];
const TEXTS: [&str; 29] = [
    "",
    "pro",
    "Pro",
    "pr",
    "%",
    "_",
    "50%",
    "p_o",
    "a'b",
    "\"",
    "\\",
    "é",
    "e\u{301}",
    "😀",
    "ß",
    "true",
    "null",
    "5",
    "5.0",
    "1",
    "-1",
    "60",
    "{\"a\":1}",
    "[1]",
    "2025-02-30",
    "2025-03-1",
    "2025-03-09 12:00:00",
    "2025-03-09T12:00:00+02:00",
    "2025-03-09x",
];
const NUMBERS: [f64; 14] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    5.0,
    60.0,
    60.000_000_000_000_01,
    1e300,
    -1e300,
    5e-324,
    1e-7,
    9_007_199_254_740_992.0,
    18_446_744_073_709_551_615.0,
];

fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        2 => prop::sample::select(NUMBERS.to_vec()).prop_map(Value::from),
        2 => (prop::sample::select(NUMBERS.to_vec()), any::<bool>())
            .prop_map(|(number, up)| Value::from(if up { number.next_up() } else { number.next_down() })),
        3 => (-2i64..3).prop_map(Value::from),
        2 => prop::sample::select(vec![
            9_007_199_254_740_991, 9_007_199_254_740_992, 9_007_199_254_740_993, 9_007_199_254_740_995, i64::MAX, i64::MIN, 60,
        ])
        .prop_map(Value::from),
        1 => Just(Value::from(u64::MAX)),
        1 => prop::num::f64::NORMAL.prop_map(Value::from),
    ]
}

/// Times at and beside the borders of days and windows.
fn time() -> impl Strategy<Value = Timestamp> {
    let distance = prop::sample::select(vec![
        0,
        MINUTE,
        60 * MINUTE,
        DAY / 2,
        DAY,
        3 * DAY / 2,
        2 * DAY,
        7 * DAY,
        -DAY / 2,
        -DAY,
        -30 * DAY,
        400 * DAY,
    ]);
    (distance, -1i64..2).prop_map(|(distance, beside)| Timestamp(NOW.0 - distance + beside))
}

/// The forms in which a date is written.
fn date() -> impl Strategy<Value = String> {
    (time(), 0usize..5).prop_map(|(time, form)| {
        let full = time.to_string();
        match form {
            0 => full[..10].to_owned(),
            1 => full[..19].to_owned(),
            2 => format!("{}Z", &full[..19]),
            3 => full[..23].to_owned(),
            _ => full,
        }
    })
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(TEXTS.to_vec()).prop_map(str::to_owned),
        3 => date(),
        1 => "[^\0]{0,6}",
    ]
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        1 => Just(Value::Null),
        2 => any::<bool>().prop_map(Value::from),
        4 => number(),
        6 => text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            btree_map(key(), inner, 0..3).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn key() -> impl Strategy<Value = String> + Clone {
    prop_oneof![
        3 => prop::sample::select(vec!["a", "b", "c"]).prop_map(str::to_owned),
        2 => prop::sample::select(KEYS.to_vec()).prop_map(str::to_owned),
    ]
}

/// Nothing happens to a contact before it is created, but that clocks differ. Moves the creation to before all else, or
/// all else to after the creation; `early` is how much earlier it then still may seem.
fn put_in_order(person: &mut Person, move_creation: bool, early: i64) {
    let contact = &mut person.contact;
    let events = person.events.iter_mut().map(|(_, at)| at);
    let activities = person.mails.iter_mut().flatten().flatten();
    let first = Timestamp(contact.created_at.0 - early);
    for at in events.chain(activities) {
        if move_creation {
            contact.created_at = contact.created_at.min(Timestamp(at.0 + early));
        } else {
            *at = first.max(*at);
        }
    }
    contact.id = ContactId::new(contact.created_at);
}

fn person() -> impl Strategy<Value = Person> {
    let order = (any::<bool>(), prop::sample::select(vec![0, 1, 60 * MINUTE - 1, 60 * MINUTE]));
    (unordered_person(), order).prop_map(|(mut person, (move_creation, early))| {
        put_in_order(&mut person, move_creation, early);
        person
    })
}

fn unordered_person() -> impl Strategy<Value = Person> {
    let contact =
        (prop::sample::select(vec!["ada", "bob+%", "c_d", "o'neil"]), any::<bool>(), time(), time());
    let mail = vec(prop::option::of(time()), Activity::ALL.len());
    let stored = prop::sample::select(STORED.map(segment).to_vec());
    (
        contact,
        btree_map(key(), json_value(), 0..5),
        vec((prop::sample::select(EVENTS[..5].to_vec()), time()), 0..4),
        vec(mail, 0..3),
        btree_map(stored, any::<bool>(), 0..3),
    )
        .prop_map(|((local, subscribed, created_at, updated_at), data, events, mails, memberships)| {
            let id = ContactId::new(created_at);
            let email = format!("{local}.{:06x}@example.com", id.as_uuid().as_u128() & 0xff_ffff);
            let email = EmailAddress::from_stored(&email);
            let data: Data = data.into_iter().collect();
            Person {
                contact: Contact { id, email, subscribed, data, created_at, updated_at },
                events: events.into_iter().map(|(name, at)| (name.to_owned(), at)).collect(),
                mails,
                memberships,
            }
        })
}

/// Many who differ in one value alone, for conditions on that: here the borders between types and numbers are dense.
fn dense() -> impl Strategy<Value = (Vec<Person>, Vec<Value>)> {
    let value = prop_oneof![4 => number(), 3 => text().prop_map(Value::from), 2 => json_value()];
    let data = value.prop_flat_map(|value| {
        let nested = json!({ "y": value });
        prop::sample::select(vec![
            json!({ "x": value }),
            json!({ "x": value, "x.y": value }),
            json!({ "x": nested }),
            json!({ "x": nested, "x.y": null }),
            json!({ "x": nested, "x.y": 1 }),
        ])
    });
    let person = (person(), data).prop_map(|(mut person, data)| {
        person.contact.data = data.as_object().cloned().unwrap_or_default();
        person
    });
    let path = prop::sample::select(vec!["x".to_owned(), "x.y".to_owned()]);
    let tree =
        on_data(path).prop_map(|filter| json!({ "logic": "AND", "groups": [{ "filters": [filter] }] }));
    (vec(person, 1..40), vec(tree, 1..12))
}

fn path() -> impl Strategy<Value = String> + Clone {
    prop_oneof![
        4 => key(),
        2 => (key(), key()).prop_map(|(a, b)| format!("{a}.{b}")),
        1 => (key(), key(), key()).prop_map(|(a, b, c)| format!("{a}.{b}.{c}")),
        1 => prop::sample::select(vec!["a.0", "a..b", ".a", "a.", "missing"]).prop_map(str::to_owned),
    ]
}

fn length() -> impl Strategy<Value = (Value, &'static str)> {
    let count =
        prop::sample::select(vec![json!(0), json!(1), json!(1.5), json!(7), json!(1e9), json!(1e300)]);
    (count, prop::sample::select(vec!["days", "hours", "minutes"]))
}

fn filter(field: String, operator: &str, value: Value) -> Value {
    json!({ "field": field, "operator": operator, "value": value })
}

const COMPARISONS: [&str; 4] = ["greaterThan", "lessThan", "greaterThanOrEqual", "lessThanOrEqual"];

fn on_data(path: impl Strategy<Value = String> + Clone) -> impl Strategy<Value = Value> {
    let equality = prop::sample::select(vec!["equals", "notEquals"]);
    let operand = prop_oneof![any::<bool>().prop_map(Value::from), number(), text().prop_map(Value::from)];
    let order = prop::sample::select(COMPARISONS.to_vec());
    let ordered = prop_oneof![number(), text().prop_map(Value::from)];
    let part = prop::sample::select(vec!["contains", "notContains"]);
    let existence = prop::sample::select(vec!["exists", "notExists"]);
    let window = prop::sample::select(vec!["within", "olderThan"]);
    let field = || path.clone().prop_map(|path| format!("data.{path}"));
    prop_oneof![
        4 => (field(), equality, operand).prop_map(|(f, o, v)| filter(f, o, v)),
        4 => (field(), order, ordered).prop_map(|(f, o, v)| filter(f, o, v)),
        2 => (field(), part, text()).prop_map(|(f, o, v)| filter(f, o, v.into())),
        1 => (field(), existence).prop_map(|(f, o)| filter(f, o, Value::Null)),
        2 => (field(), window, length()).prop_map(|(field, operator, (value, unit))| {
            json!({ "field": field, "operator": operator, "value": value, "unit": unit })
        }),
    ]
}

fn on_contact() -> impl Strategy<Value = Value> {
    let address =
        prop::sample::select(vec!["ada", "ADA", "%", "_", "'", "", "example", "ada.000000@example.com"]);
    let test = prop::sample::select(vec!["equals", "notEquals", "contains", "notContains"]);
    let equality = prop::sample::select(vec!["equals", "notEquals"]);
    let field = || prop::sample::select(vec!["createdAt", "updatedAt"]).prop_map(str::to_owned);
    let order = prop::sample::select([COMPARISONS.to_vec(), vec!["equals", "notEquals"]].concat());
    let instant = prop_oneof![
        date().prop_map(Value::from),
        time().prop_map(|time| time.0.into()),
        time().prop_map(|time| (time.0 as f64 + 0.5).into()),
    ];
    prop_oneof![
        (test, address).prop_map(|(o, v)| filter("email".into(), o, v.into())),
        (equality, any::<bool>()).prop_map(|(o, v)| filter("subscribed".into(), o, v.into())),
        (field(), order, instant).prop_map(|(f, o, v)| filter(f, o, v)),
        (field(), prop::sample::select(vec!["within", "olderThan"]), length()).prop_map(
            |(field, operator, (value, unit))| {
                json!({ "field": field, "operator": operator, "value": value, "unit": unit })
            }
        ),
    ]
}

fn on_history() -> impl Strategy<Value = Value> {
    let field = prop_oneof![
        prop::sample::select(EVENTS.to_vec()).prop_map(|name| format!("event.{name}")),
        prop::sample::select(Activity::ALL.to_vec()).prop_map(|kind| format!("email.{}", kind.as_str())),
    ];
    let test = prop::sample::select(vec![
        "triggered",
        "notTriggered",
        "triggeredWithin",
        "triggeredOlderThan",
        "notTriggeredWithin",
    ]);
    (field, test, length()).prop_map(
        |(field, operator, (value, unit))| json!({ "field": field, "operator": operator, "value": value, "unit": unit }),
    )
}

fn on_segment(most: u128) -> impl Strategy<Value = Value> {
    (1..=most, prop::sample::select(vec!["memberOfSegment", "notMemberOfSegment"]))
        .prop_map(|(index, operator)| filter(format!("segment.{}", segment(index)), operator, Value::Null))
}

/// A tree that names segments up to `most`.
fn tree(most: u128) -> impl Strategy<Value = Value> {
    let one = prop_oneof![5 => on_data(path()), 2 => on_contact(), 2 => on_history(), 1 => on_segment(most)];
    tree_of(one.boxed())
}

/// People and what is asked of their events.
fn eventful() -> impl Strategy<Value = (Vec<Person>, Vec<Value>)> {
    let of_an_event = |filter: &Value| filter["field"].as_str().is_some_and(|f| f.starts_with("event."));
    let event = on_history().prop_filter("it is on a mail", of_an_event).boxed();
    let mixed = prop_oneof![4 => event.clone(), 1 => on_contact()].boxed();
    (vec(person(), 1..20), vec(prop_oneof![3 => tree_of(event), 1 => tree_of(mixed)], 1..12))
}

/// A tree of such conditions.
fn tree_of(one: BoxedStrategy<Value>) -> impl Strategy<Value = Value> {
    let filters = move |least| vec(one.clone(), least..3);
    let logic = || prop::sample::select(vec!["AND", "OR"]);
    let some = filters(1);
    let group = move || some.clone().prop_map(|filters| json!({ "filters": filters }));
    let flat =
        (logic(), vec(group(), 1..3)).prop_map(|(logic, groups)| json!({ "logic": logic, "groups": groups }));
    flat.prop_recursive(3, 8, 2, move |inner| {
        let nesting = (filters(0), inner)
            .prop_map(|(filters, conditions)| json!({ "filters": filters, "conditions": conditions }));
        (logic(), vec(prop_oneof![group(), nesting], 1..3))
            .prop_map(|(logic, groups)| json!({ "logic": logic, "groups": groups }))
    })
}

fn parse(json: &Value) -> Tree {
    Tree::parse(json).unwrap_or_else(|issues| panic!("{json}: {issues:?}"))
}

// Writing the contacts of a case.

async fn insert(db: &Db, project: ProjectNumber, people: Vec<Person>) -> Result<()> {
    db.write(move |tx| {
        Box::pin(async move {
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
                        &[project.into(), EventId::new(*at).into(), name.into(), (*id).into(), (*at).into()],
                    )
                    .await?;
                }
                for times in &person.mails {
                    let mut args: Vec<Arg<'_>> = vec![project.into(), EmailId::new(NOW).into(), (*id).into()];
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
                &[project.into(), EventId::new(NOW).into(), NOW.into()],
            )
            .await?;
            Ok(())
        })
    })
    .await
}

/// Numbers of events of each name that a filter is compiled for in different ways.
const COUNTED: [i64; 3] = [1, 10_000, 1 << 40];

/// What the condition, compiled for so many events of each name, says of every contact.
async fn judged(
    db: &Db,
    project: ProjectNumber,
    tree: &Tree,
    segments: &Segments,
    counted: i64,
) -> BTreeMap<ContactId, Option<i64>> {
    let counts: EventCounts = EVENTS.iter().map(|name| ((*name).to_owned(), counted)).collect();
    let mut args: Vec<Arg<'static>> = vec![project.into()];
    let condition = filter::condition(tree, segments, &counts, NOW, db.is_postgres(), &mut args).unwrap();
    let sql = format!(
        "select c.id, cast(case when {condition} then 1 when not {condition} then 0 end as {{int}}) \
         from contacts c where c.project_id = $1"
    );
    let rows = db.read(move |rx| {
        Box::pin(async move {
            rx.all(sql, &args, |r| Ok((r.get::<ContactId>(0)?, r.get::<Option<i64>>(1)?))).await
        })
    });
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
        found.push((tree, members));
    }
    claim_many_events(db, project).await.unwrap();
    for (tree, members) in found {
        listed(db, project, &tree, &segments, members).await?;
    }
    Ok(())
}

/// Makes the project look as if it had so many events of each name that other queries are better.
async fn claim_many_events(db: &Db, project: ProjectNumber) -> Result<()> {
    db.write(move |tx| {
        Box::pin(async move {
            for name in EVENTS {
                tx.execute(
                    "insert into counters (project_id, kind, name, shard, value) values ($1, 'event', $2, 0, $3)",
                    &[project.into(), name.into(), (1i64 << 40).into()],
                )
                .await?;
            }
            Ok(())
        })
    })
    .await
}

async fn loaded(
    db: &Db,
    project: ProjectNumber,
    case: &Case,
    references: mailwright_core::filter::References,
) -> BTreeMap<ContactId, FactsOf> {
    let mut ids: Vec<_> = case.people.iter().map(|person| person.contact.id).collect();
    ids.push(ContactId::new(NOW));
    let facts =
        db.read(move |rx| Box::pin(async move { filter::facts(rx, project, &ids, &references).await }));
    facts.await.unwrap().into_iter().map(|facts| (facts.contact().id, facts)).collect()
}

/// The count and the pages of a filter, given who must be found, newest first.
async fn listed(
    db: &Db,
    project: ProjectNumber,
    tree: &Tree,
    segments: &Segments,
    members: Vec<ContactId>,
) -> Result<(), TestCaseError> {
    let (tree, segments) = (tree.clone(), segments.clone());
    let after = members.first().copied();
    let (count, first, second, tail) = db
        .read(move |rx| {
            Box::pin(async move {
                let ids = |contacts: Vec<Contact>| contacts.into_iter().map(|c| c.id).collect::<Vec<_>>();
                let count = filter::count(rx, project, &tree, &segments, NOW).await?;
                let first = filter::page(rx, project, &tree, &segments, NOW, None, 100).await?;
                let second = filter::page(rx, project, &tree, &segments, NOW, after, 2).await?;
                let tail = filter::page_at(rx, project, &tree, &segments, NOW, 2, 3).await?;
                Ok((count, ids(first), ids(second), ids(tail)))
            })
        })
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

/// A segment that refers to itself through others has no members that could be found.
fn refuses_circles(database: &Database) {
    let of = |index: u128| {
        json!({ "logic": "AND", "groups": [{ "filters": [
        { "field": format!("segment.{}", segment(index)), "operator": "memberOfSegment" },
    ] }] })
    };
    let mut segments = Segments::new();
    segments.tree(segment(1), Arc::new(parse(&of(2))));
    segments.tree(segment(2), Arc::new(parse(&of(1))));
    let tree = parse(&of(1));
    let counted = database.runtime.block_on(database.db.read(move |rx| {
        Box::pin(async move { filter::count(rx, ProjectNumber(1), &tree, &segments, NOW).await })
    }));
    assert!(counted.unwrap_err().to_string().contains("refers to itself"));
}

/// The longest filter that is valid, ten levels deep, can be run; so can one whose segments make it ten times as long.
fn runs_the_longest(database: &Database) {
    let condition = json!({ "field": "data.a.b", "operator": "notEquals", "value": "2025-03-01" });
    let deep = |levels: usize, filters: usize| {
        (1..levels).fold(
            json!({ "logic": "OR", "groups": [{ "filters": vec![condition.clone(); filters] }] }),
            |inner, _| json!({ "logic": "AND", "groups": [{ "filters": [condition], "conditions": inner }] }),
        )
    };
    let longest = parse(&deep(10, 191));
    let mut segments = Segments::new();
    for index in 10..19 {
        segments.tree(segment(index), Arc::new(longest.clone()));
    }
    let members: Vec<_> = (10..19)
        .map(|index| json!({ "field": format!("segment.{}", segment(index)), "operator": "notMemberOfSegment" }))
        .collect();
    let tree =
        parse(&json!({ "logic": "AND", "groups": [{ "filters": members, "conditions": deep(9, 180) }] }));
    let counted = database.runtime.block_on(database.db.read(move |rx| {
        Box::pin(async move {
            let longest = filter::count(rx, ProjectNumber(1), &longest, &Segments::new(), NOW).await?;
            Ok((longest, filter::count(rx, ProjectNumber(1), &tree, &segments, NOW).await?))
        })
    }));
    assert_eq!(counted.unwrap(), (0, 0));
}

#[test]
fn bounds_hold_on_sqlite() {
    let database = Database::sqlite();
    refuses_circles(&database);
    runs_the_longest(&database);
}

#[test]
fn bounds_hold_on_postgres() {
    let database = Database::postgres("bounds");
    refuses_circles(&database);
    runs_the_longest(&database);
}

/// More events than one query reads are counted by the contacts that have them.
#[test]
fn counts_whoever_has_many_events() {
    const COUNT: i64 = 120_000;
    let database = Database::sqlite();
    let counted: Result<Vec<i64>> = database.runtime.block_on(async {
        let write = database.db.write(|tx| {
            Box::pin(async move {
                // each a millisecond before the last one; some contacts have two, the second one long before
                tx.execute(
                    "with recursive n(n) as (select 0 union all select n + 1 from n where n + 1 < $1) \
                     insert into events (project_id, id, name, contact_id, created_at) \
                     select 1, unhex(printf('%012x70008000000000000000', $2 - n)), 'visit', unhex(printf('%032x', n % 100000)), 0 \
                     from n",
                    &[COUNT.into(), NOW.0.into()],
                )
                .await
            })
        });
        write.await?;
        let filter = |operator| json!({ "field": "event.visit", "operator": operator, "value": 1, "unit": "minutes" });
        let mut counted = Vec::new();
        for operator in ["triggered", "triggeredWithin", "triggeredOlderThan"] {
            let tree = parse(&json!({ "logic": "AND", "groups": [{ "filters": [filter(operator)] }] }));
            let read = database.db.read(move |rx| {
                Box::pin(async move { filter::count(rx, ProjectNumber(1), &tree, &Segments::new(), NOW).await })
            });
            counted.push(read.await?);
        }
        Ok(counted)
    });
    assert_eq!(counted.unwrap(), [100_000, 60_001, 39_999]);
}
