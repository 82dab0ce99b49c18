//! Filters that are judged in memory find who is there now, whatever changes the contacts, and from which process.

use std::collections::BTreeMap;
use std::time::Duration;

use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::{items, text, track_ok};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use super::only;

/// What is expected of a contact.
#[derive(Debug, Clone, Default)]
struct Person {
    id: String,
    subscribed: bool,
    plan: Option<&'static str>,
    score: Option<i64>,
    has_ordered: bool,
}

type People = BTreeMap<String, Person>;

/// A condition, and whether it holds for somebody.
type Rule = (Value, fn(&str, &Person) -> bool);

fn rules() -> Vec<Rule> {
    let test = |field: &str, operator: &str, value: Value| json!({"field": field, "operator": operator, "value": value});
    let both = |one: Value, other: Value| json!({"logic": "AND", "groups": [{"filters": [one, other]}]});
    let either = |one: Value, other: Value| json!({"logic": "OR", "groups": [{"filters": [one]}, {"filters": [other]}]});
    let pro = || test("data.plan", "equals", json!("pro"));
    let high = || test("data.score", "greaterThan", json!(50));
    let ordered = || json!({"field": "event.order.placed", "operator": "triggered"});
    vec![
        (only(&pro()), |_, person| person.plan == Some("pro")),
        (both(pro(), high()), |_, person| person.plan == Some("pro") && person.score > Some(50)),
        (either(ordered(), high()), |_, person| person.has_ordered || person.score > Some(50)),
        (only(&json!({"field": "data.plan", "operator": "notExists"})), |_, person| person.plan.is_none()),
        (
            both(test("subscribed", "equals", json!(true)), test("email", "contains", json!("7"))),
            |email, person| person.subscribed && email.contains('7'),
        ),
    ]
}

/// Changes somebody in one of the ways in which somebody can be changed.
async fn change(app: &App, people: &mut People, random: &mut StdRng) {
    let email = format!("c{}@example.com", random.random_range(0..60));
    let (plan, score) = (["pro", "free"][random.random_range(0..2)], random.random_range(0..100));
    let Some(person) = people.get_mut(&email) else {
        let body = json!({"email": email, "data": {"plan": plan, "score": score}, "subscribed": true});
        let made = app.post("/contacts").json(&body).send().await.assert_status(201).json();
        let id = text(&made["id"]).to_owned();
        let person =
            Person { id, subscribed: true, plan: Some(plan), score: Some(score), has_ordered: false };
        people.insert(email, person);
        return;
    };
    let path = format!("/contacts/{}", person.id);
    match random.random_range(0..6) {
        0 => {
            track_ok(app, json!({"email": email, "event": "order.placed", "data": {"score": score}})).await;
            (person.has_ordered, person.score) = (true, Some(score));
        }
        1 => {
            app.patch(&path).json(&json!({"data": {"plan": null}})).send().await.assert_status(200);
            person.plan = None;
        }
        2 => {
            app.patch(&path).json(&json!({"subscribed": !person.subscribed})).send().await.assert_status(200);
            person.subscribed = !person.subscribed;
        }
        3 => {
            app.delete(&path).send().await.assert_status(204);
            people.remove(&email);
        }
        _ => {
            app.patch(&path)
                .json(&json!({"data": {"plan": plan, "score": score}}))
                .send()
                .await
                .assert_status(200);
            (person.plan, person.score) = (Some(plan), Some(score));
        }
    }
}

/// How many filters a process judged in memory.
async fn in_memory(app: &App) -> u64 {
    let metrics = app.request("GET", "/metrics").send().await.assert_status(200).text();
    let line =
        metrics.lines().find(|line| line.starts_with("mailwright_audience_filters_total{by=\"memory\"}"));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or(0)
}

async fn preview(app: &App, condition: &Value) -> Value {
    let body = json!({"condition": condition, "sample": 20});
    app.post("/segments/preview").json(&body).send().await.assert_status(200).json()
}

/// Waits until the columns of all rules are read.
async fn read(app: &App) {
    for (condition, _) in rules() {
        app.eventually("the columns are read", async || {
            let before = in_memory(app).await;
            preview(app, &condition).await;
            (in_memory(app).await > before).then_some(())
        })
        .await;
    }
}

async fn agree(app: &App, people: &People) {
    for (condition, holds) in rules() {
        let mut found: Vec<_> = people.iter().filter(|(email, person)| holds(email, person)).collect();
        let answer = preview(app, &condition).await;
        assert_eq!(answer["count"], found.len(), "{condition}");
        // the newest first
        found.sort_by(|(_, one), (_, other)| other.id.cmp(&one.id));
        let wanted: Vec<_> = found.iter().take(20).map(|(_, person)| person.id.as_str()).collect();
        let shown: Vec<_> = items(&answer["sample"]).iter().map(|contact| text(&contact["id"])).collect();
        assert_eq!(shown, wanted, "{condition}");
    }
}

both_engines! {
    async fn what_is_found_in_memory_is_what_is_there(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_SEGMENTS_MEMORY_FROM_CONTACTS", "1").start().await;
        let other = match engine {
            Engine::Sqlite => None,
            Engine::Postgres => Some(app.second_node().await),
        };
        let nodes: Vec<&App> = [&app].into_iter().chain(&other).collect();
        let (mut people, mut random) = (People::new(), StdRng::seed_from_u64(7));
        for _ in 0..40 {
            change(&app, &mut people, &mut random).await;
        }
        for node in &nodes {
            read(node).await;
        }
        for round in 0..30 {
            for _ in 0..4 {
                change(nodes[round % nodes.len()], &mut people, &mut random).await;
            }
            for node in &nodes {
                let before = in_memory(node).await;
                agree(node, &people).await;
                assert_eq!(in_memory(node).await - before, rules().len() as u64, "all in memory");
            }
        }
    }

    async fn a_stranger_with_a_long_value_slows_nothing_down(engine: Engine) {
        let mut app = App::builder(engine).env("MAILWRIGHT_SEGMENTS_MEMORY_FROM_CONTACTS", "1").start().await;
        let (mut people, mut random) = (People::new(), StdRng::seed_from_u64(9));
        for _ in 0..40 {
            change(&app, &mut people, &mut random).await;
        }
        read(&app).await;
        saved(&app).await;
        let long = json!({"plan": "q".repeat(5_000)});
        track_ok(&app, json!({"email": "stranger@example.com", "event": "hit", "data": long})).await;
        let count = async |app: &App, text: &str| {
            let condition = json!({"field": "data.plan", "operator": "contains", "value": text});
            preview(app, &only(&condition)).await["count"].as_u64()
        };
        let pros = people.values().filter(|person| person.plan == Some("pro")).count() as u64;
        for is_restarted in [false, true] {
            if is_restarted {
                app.kill();
                app.restart().await;
            }
            let before = in_memory(&app).await;
            assert_eq!((count(&app, "qqqq").await, count(&app, "pro").await), (Some(1), Some(pros)));
            assert_eq!(in_memory(&app).await, before + 2);
        }
    }

    async fn saved_columns_answer_the_first_counts_after_a_start(engine: Engine) {
        let mut app = App::builder(engine).env("MAILWRIGHT_SEGMENTS_MEMORY_FROM_CONTACTS", "1").start().await;
        let (mut people, mut random) = (People::new(), StdRng::seed_from_u64(8));
        for _ in 0..40 {
            change(&app, &mut people, &mut random).await;
        }
        read(&app).await;
        saved(&app).await;
        for is_saved_anew in [false, true] {
            app.kill();
            app.restart().await;
            for (email, person) in people.iter_mut().take(10) {
                let score = random.random_range(0..100);
                track_ok(&app, json!({"email": email, "event": "order.placed", "data": {"score": score}})).await;
                (person.has_ordered, person.score) = (true, Some(score));
            }
            agree(&app, &people).await;
            assert_eq!(in_memory(&app).await, rules().len() as u64, "all in memory");
            if is_saved_anew {
                break;
            }
            // nothing of somebody who is removed stays
            let (email, person) = people.pop_first().expect("people");
            assert!(app.rows().await["contact_columns"].iter().any(|row| holds(row, &email)), "{email}");
            app.delete(&format!("/contacts/{}", person.id)).send().await.assert_status(204);
            assert!(!app.rows().await["contact_columns"].iter().any(|row| holds(row, &email)), "{email}");
            // and what was not stored then is stored again
            app.advance(Duration::from_mins(2)).await;
            saved(&app).await;
            assert!(!app.rows().await["contact_columns"].iter().any(|row| holds(row, &email)), "{email}");
        }
    }

    async fn who_is_in_a_segment_is_known_in_memory(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_SEGMENTS_MEMORY_FROM_CONTACTS", "1").start().await;
        let emails: Vec<String> = (0..20).map(|number| format!("c{number}@example.com")).collect();
        for email in &emails {
            let body = json!({"email": email, "data": {"plan": "pro"}, "subscribed": true});
            app.post("/contacts").json(&body).send().await.assert_status(201);
        }
        let list = app.post("/segments").json(&json!({"name": "List", "type": "STATIC"})).send().await;
        let list = text(&list.assert_status(201).json()["id"]).to_owned();
        let tracked = json!({
            "name": "Tracked", "trackMembership": true,
            "condition": only(&json!({"field": "data.plan", "operator": "equals", "value": "free"}))
        });
        let tracked = app.post("/segments").json(&tracked).send().await;
        let tracked = text(&tracked.assert_status(201).json()["id"]).to_owned();
        let member = |id: &str| only(&json!({"field": format!("segment.{id}"), "operator": "memberOfSegment"}));
        let count = async |id: &str| preview(&app, &member(id)).await["count"].as_u64().expect("a count");
        for id in [&list, &tracked] {
            app.eventually("the columns are read", async || {
                let before = in_memory(&app).await;
                count(id).await;
                (in_memory(&app).await > before).then_some(())
            })
            .await;
        }
        let path = format!("/segments/{list}/members");
        app.post(&path).json(&json!({"emails": emails[..7]})).send().await.assert_status(200);
        assert_eq!(count(&list).await, 7);
        app.delete(&path).json(&json!({"emails": emails[..3]})).send().await.assert_status(200);
        assert_eq!(count(&list).await, 4);
        for email in &emails[..5] {
            track_ok(&app, json!({"email": email, "event": "changed", "data": {"plan": "free"}})).await;
        }
        app.eventually("they join", async || (count(&tracked).await == 5).then_some(())).await;
        track_ok(&app, json!({"email": emails[0], "event": "changed", "data": {"plan": "pro"}})).await;
        app.eventually("one leaves", async || (count(&tracked).await == 4).then_some(())).await;
        // everybody is judged in memory as well, by another condition
        let changed = only(&json!({"field": "data.plan", "operator": "equals", "value": "pro"}));
        let path = format!("/segments/{tracked}");
        app.patch(&path).json(&json!({"condition": changed})).send().await.assert_status(200);
        assert_eq!(compute(&app, &path).await, 16);
        let changed = only(&json!({"field": "data.plan", "operator": "equals", "value": "free"}));
        app.patch(&path).json(&json!({"condition": changed})).send().await.assert_status(200);
        assert_eq!(compute(&app, &path).await, 4);
        let judged = in_memory(&app).await;
        assert_eq!((count(&list).await, count(&tracked).await), (4, 4));
        assert_eq!(in_memory(&app).await, judged + 2);
    }
}

/// Judges everybody by a segment, in memory; how many members there are.
async fn compute(app: &App, path: &str) -> Value {
    let before = in_memory(app).await;
    let computed = app.post(&format!("{path}/compute")).json(&json!({})).send().await.assert_status(200);
    assert!(in_memory(app).await > before);
    computed.json()["total"].clone()
}

/// Waits until the columns of all rules are saved.
async fn saved(app: &App) {
    app.eventually("the columns are saved", async || {
        let rows = app.rows().await;
        let is_whole = !rows["contact_column_parts"].is_empty()
            && !rows["contact_column_parts"].iter().any(|row| row.contains(r#""position":null"#));
        let names = ["data.plan", "data.score", "email", "event.order.placed", "subscribed"];
        let has = |name: &str| rows["contact_columns"].iter().any(|row| row.contains(&format!("\"{name}\"")));
        (is_whole && names.into_iter().all(has)).then_some(())
    })
    .await;
}

/// Whether a row has a text among its bytes, as [`App::rows`] shows them.
fn holds(row: &str, text: &str) -> bool {
    let of_sqlite = format!("{:02x?}", text.as_bytes());
    let of_sqlite = of_sqlite.trim_matches(['[', ']']);
    row.contains(of_sqlite) || row.contains(&of_sqlite.replace(", ", ""))
}
