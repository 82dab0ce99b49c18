//! Several processes on one PostgreSQL keep the same segments: each joining and leaving happens once.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use mailwright_testkit::{App, Engine};
use mailwright_tests::{items, read, text};
use serde_json::{Value, json};

use super::{compute, count, only, plan, tracked};

/// How often each contact had each event about a segment.
async fn moves_of_all(app: &App) -> BTreeMap<(String, String), usize> {
    let body = read(app, "/events?limit=1000").await;
    let mut found = BTreeMap::new();
    for event in items(&body["events"]) {
        let name = text(&event["name"]);
        if name.starts_with("segment.") {
            *found.entry((name.to_owned(), text(&event["contactId"]).to_owned())).or_default() += 1;
        }
    }
    found
}

async fn upsert(node: &App, n: usize, data: &Value) {
    let body = json!({"email": format!("c{n}@example.com"), "data": data});
    let answer = node.post("/contacts").json(&body).send().await;
    assert!([200, 201].contains(&answer.status), "{}", answer.status);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_move_happens_once() {
    const CONTACTS: usize = 150;
    let one = App::start(Engine::Postgres).await;
    let two = one.second_node().await;
    let nodes = [&one, &two];
    let pro = tracked(&one, "Pro", &plan("pro")).await;
    let window =
        json!({"field": "createdAt", "operator": "olderThan", "value": 3.0 / 60.0, "unit": "minutes"});
    let old = tracked(&two, "Old", &only(&window)).await;

    for round in 0..3 {
        let data = json!({"plan": "pro", "round": round});
        join_all((0..CONTACTS).map(|n| upsert(nodes[(n + round) % 2], n, &data))).await;
    }
    join_all([compute(&one, &pro), compute(&two, &pro), compute(&two, &old)]).await;
    one.eventually("all are members of both", async || {
        let counts = (count(&two, &pro).await, count(&one, &old).await);
        (counts == (json!(CONTACTS), json!(CONTACTS))).then_some(())
    })
    .await;
    let found = moves_of_all(&one).await;
    assert_eq!(found.len(), 2 * CONTACTS);
    assert!(found.values().all(|times| *times == 1), "once each: {found:?}");

    let free = json!({"plan": "free"});
    join_all((0..CONTACTS).map(|n| upsert(nodes[n % 2], n, &free))).await;
    one.eventually("all have left", async || (count(&one, &pro).await == 0).then_some(())).await;
    let found = moves_of_all(&two).await;
    assert_eq!(found.len(), 3 * CONTACTS);
    assert!(found.values().all(|times| *times == 1), "once each: {found:?}");
    let computed = compute(&one, &pro).await;
    assert_eq!((&computed["added"], &computed["total"]), (&json!(0), &json!(0)), "{computed}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_dies_leaves_the_rest_to_the_others() {
    const CONTACTS: usize = 120;
    let mut one = App::start(Engine::Postgres).await;
    let two = one.second_node().await;
    let pro = tracked(&one, "Pro", &plan("pro")).await;
    for batch in 0..4 {
        let data = json!({"plan": "pro"});
        join_all((0..CONTACTS / 4).map(|n| upsert(&one, batch * CONTACTS / 4 + n, &data))).await;
        if batch == 2 {
            break;
        }
    }
    one.kill();
    let created = 3 * CONTACTS / 4;
    two.eventually("all are members", async || (count(&two, &pro).await == created).then_some(())).await;
    let found = moves_of_all(&two).await;
    assert_eq!(found.len(), created);
    assert!(found.values().all(|times| *times == 1), "once each: {found:?}");
}
