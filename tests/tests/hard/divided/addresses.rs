//! Two processes create the same contacts at the same time.

use mailwright_testkit::{App, Engine, Request, json};
use mailwright_tests::{as_project, text};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::task::JoinSet;

use crate::faults::assert_unavailable;

use super::{Placed, ask, on_two_workers};

/// Callers at the same time, half of them at each process.
const CALLERS: usize = 8;
/// New addresses of each project.
const ADDRESSES: usize = 60;
/// How often a caller asks for an event until it is acknowledged.
const TRIES: usize = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a cluster of Citus: make test-citus"]
async fn nothing_is_lost_when_two_nodes_track_the_same_new_addresses() {
    let one = App::start(Engine::Postgres).await;
    let projects = on_two_workers(&one).await;
    let two = one.second_node().await;

    let mut callers = JoinSet::new();
    for (at, placed) in projects.iter().enumerate() {
        for caller in 0..CALLERS {
            let node = [&one, &two][caller % 2];
            let request = node.request("POST", "/v1/track").bearer(&placed.project.public_key);
            callers.spawn(async move { (at, track(request, caller).await) });
        }
    }
    let mut acknowledged = [BTreeMap::new(), BTreeMap::new()];
    while let Some(ended) = callers.join_next().await {
        let (at, events) = ended.expect("a caller got an answer it should not get");
        acknowledged[at].extend(events);
    }
    for (placed, acknowledged) in projects.iter().zip(&acknowledged) {
        assert_eq!(acknowledged.len(), CALLERS * ADDRESSES, "each event has an id of its own");
        check(&one, placed, acknowledged).await;
    }
}

fn address(number: usize) -> String {
    format!("visitor{number}@example.com")
}

/// Tracks an event for every address, each until it is acknowledged; the ids of the events, and their addresses. All
/// callers go through the addresses in the same order, so that several create the same contact.
async fn track(request: Request, caller: usize) -> BTreeMap<String, String> {
    let mut acknowledged = BTreeMap::new();
    for number in 0..ADDRESSES {
        let to = address(number);
        let body = json!({"email": to, "event": "seen", "data": {"caller": caller}});
        let mut tries = 0;
        let event = loop {
            let answer = request.clone().json(&body).send().await;
            if answer.status == 200 {
                break text(&answer.json()["data"]["event"]).to_owned();
            }
            // such an event is not acknowledged, and may or may not be there
            assert_unavailable(&answer);
            tries += 1;
            assert!(tries < TRIES, "not acknowledged {TRIES} times: {}", answer.text());
            tokio::time::sleep(Duration::from_millis(100)).await;
        };
        acknowledged.insert(event, to);
    }
    acknowledged
}

/// Every acknowledged event belongs to the contact with its address, there is one contact for each address, and the
/// program counts as many.
async fn check(app: &App, placed: &Placed, acknowledged: &BTreeMap<String, String>) {
    let number = placed.number;
    let contacts = ask(app, &format!("select id, email from contacts where project_id = {number}")).await;
    let contacts: BTreeMap<&str, &str> = contacts.iter().map(|row| (&*row[0], &*row[1])).collect();
    let addresses: BTreeSet<&str> = contacts.values().copied().collect();
    assert_eq!((contacts.len(), addresses.len()), (ADDRESSES, ADDRESSES), "contacts: {contacts:?}");

    let events = format!("select id, contact_id from events where project_id = {number} and name = 'seen'");
    let events = ask(app, &events).await;
    let contact_of: BTreeMap<&str, &str> = events.iter().map(|row| (&*row[0], &*row[1])).collect();
    let found = |event: &str| contacts.get(contact_of.get(event)?).copied();
    let lost: Vec<_> = acknowledged.iter().filter(|(event, to)| found(event) != Some(to.as_str())).collect();
    assert!(lost.is_empty(), "{} events without their contacts: {lost:?}", lost.len());

    let page = as_project(app, &placed.project, "GET", "/contacts?limit=1").send().await;
    assert_eq!(page.assert_status(200).json()["total"], ADDRESSES, "the counter");
}
