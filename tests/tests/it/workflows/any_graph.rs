//! Random graphs and random histories: the engine comes to the log that `core::workflow` alone comes to, which is what a
//! rehearsal runs.
//!
//! Each graph has contacts of its own. What is going to happen to them is rehearsed first; then the clock is moved from
//! minute to minute, and it happens. An event comes at another minute of ten than all waits end, so that the order does
//! not depend on how fast the machine is. WEBHOOK is left out, because nobody can say when it is answered.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::random::Random;
use mailwright_tests::workflow::Flow;
use mailwright_tests::{create_contact, create_template, text, track_ok};
use serde_json::{Value, json};

use super::dates::iso;
use super::simulated_log::{about, assert_same, planned, real, until};

const MINUTE: i64 = 60_000;
/// Graphs of a run, and the contacts of each.
const GRAPHS: usize = 20;
const MANY_GRAPHS: usize = 60;
const CONTACTS: usize = 2;
/// Most steps of a graph, and most events of a contact beside the first.
const STEPS: u64 = 9;
const EVENTS: i64 = 4;
/// The minutes in which events happen. Whoever waits then without end still waits at the end.
const MINUTES: i64 = 60;
/// No chain of waits is longer.
const LATEST: i64 = 400;

/// What is the same for all graphs of a project.
struct Board {
    templates: [Value; 2],
    segment: Value,
}

/// One of several.
fn one<'a, T>(random: &mut Random, of: &'a [T]) -> &'a T {
    &of[usize::try_from(random.below(of.len() as u64)).expect("an index")]
}

/// The name of an event that only the contacts of a graph have.
fn name(graph: usize, event: &str) -> String {
    format!("{event}{graph}")
}

fn any_name(random: &mut Random, graph: usize) -> String {
    let event = *one(random, &["a", "b", "c"]);
    name(graph, event)
}

/// A random step: its type, its configuration, and the ways out of it.
fn step(random: &mut Random, graph: usize, board: &Board, begins: i64) -> (&'static str, Value, Vec<Value>) {
    let tens = |random: &mut Random| 10 * (1 + random.below(3));
    let plain = vec![json!({})];
    match random.below(11) {
        0 | 1 => ("SEND_EMAIL", json!({"templateId": one(random, &board.templates)}), plain),
        2 => ("DELAY", json!({"amount": tens(random), "unit": "minutes"}), plain),
        3 | 4 => {
            let timeout = if random.below(4) == 0 { 0 } else { tens(random) * 60 };
            let outcomes = ["EVENT", "TIMEOUT"].map(|outcome| json!({"waitOutcome": outcome}));
            (
                "WAIT_FOR_EVENT",
                json!({"eventName": any_name(random, graph), "timeout": timeout}),
                outcomes.into(),
            )
        }
        5 => {
            let at = begins + 10 * MINUTE * i64::try_from(random.below(6)).expect("a small number");
            ("WAIT_UNTIL", json!({"mode": "date", "date": iso(at)}), plain)
        }
        6 => {
            let field = *one(random, &["event.n", "data.mark", "data.n", "event.once"]);
            (
                "CONDITION",
                json!({"field": field, "operator": "greaterThan", "value": 2}),
                ways(&["yes", "no"]),
            )
        }
        7 => {
            let event = format!("event.{}", any_name(random, graph));
            let segment = format!("segment.{}", text(&board.segment));
            let filters = json!([
                {"field": event, "operator": *one(random, &["triggered", "notTriggered"])},
                {"field": segment, "operator": *one(random, &["memberOfSegment", "notMemberOfSegment"])},
            ]);
            let condition = json!({"logic": *one(random, &["AND", "OR"]), "groups": [{"filters": filters}]});
            ("CONDITION", json!({"mode": "filter", "condition": condition}), ways(&["yes", "no"]))
        }
        8 => {
            let branches = json!([{"id": "x", "weight": 1}, {"id": "y", "weight": 2}]);
            ("RANDOM_SPLIT", json!({"branches": branches}), ways(&["x", "y"]))
        }
        9 => {
            let changes = *one(random, &["none", "unsubscribe", "subscribe"]);
            let config = json!({"updates": {"mark": random.below(5)}, "subscriptionAction": changes});
            ("UPDATE_CONTACT", config, plain)
        }
        _ => {
            let kind = *one(random, &["ADD_TO_SEGMENT", "REMOVE_FROM_SEGMENT"]);
            (kind, json!({"segmentId": board.segment}), plain)
        }
    }
}

fn ways(branches: &[&str]) -> Vec<Value> {
    branches.iter().map(|branch| json!({"branch": branch})).collect()
}

/// A random graph whose ways all lead ahead, enabled.
async fn graph<'a>(app: &'a App, random: &mut Random, number: usize, board: &Board, begins: i64) -> Flow<'a> {
    let flow = Flow::new(app, &name(number, "begin")).await;
    let mut steps = vec![(flow.trigger.clone(), vec![json!({})])];
    for _ in 0..=random.below(STEPS) {
        let (kind, config, ways) = step(random, number, board, begins);
        steps.push((flow.loose(kind, config).await, ways));
    }
    steps.push((flow.loose("EXIT", json!({"reason": "end"})).await, Vec::new()));
    for (from, (id, ways)) in steps.iter().enumerate() {
        for (number, way) in ways.iter().enumerate() {
            // the first leads to the next step, the others lead a little further
            let ahead =
                1 + if number == 0 { 0 } else { usize::try_from(random.below(3)).expect("a small number") };
            if let Some((to, _)) = steps.get(from + ahead) {
                flow.link(id, to, way.clone()).await;
            }
        }
    }
    match random.below(3) {
        0 => drop(flow.change(json!({"goal": {"eventName": any_name(random, number)}})).await),
        1 => {
            let reached = json!({"field": "data.n", "operator": "greaterThan", "value": 7});
            let goal = json!({"filter": {"logic": "AND", "groups": [{"filters": [reached]}]}});
            drop(flow.change(json!({ "goal": goal })).await);
        }
        _ => {}
    }
    let reentry = random.below(2) == 0;
    flow.change(json!({"allowReentry": reentry, "enabled": true})).await;
    flow
}

/// A random history: each event with its minute. The n-th event comes in the n-th of ten minutes.
fn history(random: &mut Random, graph: usize) -> Vec<(i64, String, Value)> {
    let mut events = vec![(0, name(graph, "begin"), json!({"n": random.below(5)}))];
    for minute in 1..=EVENTS {
        let tens = 10 * i64::try_from(random.below(MINUTES as u64 / 10)).expect("a small number");
        let event = if random.below(5) == 0 { name(graph, "begin") } else { any_name(random, graph) };
        let once = json!({"value": random.below(5), "persistent": false});
        events.push((tens + minute, event, json!({"n": random.below(10), "once": once})));
    }
    events.sort_by_key(|(minute, ..)| *minute);
    events
}

/// Waits until nothing is due any more, and nobody is to be told of anything.
async fn settle(app: &App) {
    app.eventually("nothing is left to do", async || {
        let (rows, now) = (app.rows().await, app.now());
        let is_due = |row: &String| {
            let row: Value = serde_json::from_str(row).expect("JSON");
            row["due_at"].as_i64().is_some_and(|due| due <= now)
        };
        let is_over = rows["workflow_signals"].is_empty() && !rows["workflow_executions"].iter().any(is_due);
        is_over.then_some(())
    })
    .await;
}

/// Whether somebody waits for a time.
async fn waits(app: &App) -> bool {
    app.rows().await["workflow_executions"].iter().any(|row| {
        let row: Value = serde_json::from_str(row).expect("JSON");
        !row["due_at"].is_null()
    })
}

both_engines! {
    async fn the_engine_comes_to_the_log_of_the_rules_alone(engine: Engine) {
        let large = std::env::var_os("MAILWRIGHT_TEST_LARGE").is_some();
        let mut random = Random::from_environment();
        let app = App::start(engine).await;
        let segment = app.post("/segments").json(&json!({"name": "List", "type": "STATIC"})).send().await;
        let mut templates = Vec::new();
        for kind in ["MARKETING", "TRANSACTIONAL"] {
            templates.push(create_template(&app, &json!({"type": kind, "name": kind})).await["id"].clone());
        }
        let board = Board {
            templates: templates.try_into().expect("two"),
            segment: segment.assert_status(201).json()["id"].clone(),
        };
        let begins = (app.now() / MINUTE + 60) * MINUTE;
        let (mut flows, mut people, mut agenda) = (Vec::new(), Vec::new(), BTreeMap::<i64, Vec<Value>>::new());
        for number in 0..if large { MANY_GRAPHS } else { GRAPHS } {
            let flow = graph(&app, &mut random, number, &board, begins).await;
            for n in 0..CONTACTS {
                let email = format!("c{n}-{number}@example.com");
                let contact = create_contact(&app, &email, random.below(5) > 0, json!({"n": 0})).await;
                let history = history(&mut random, number);
                let at = |minute: i64| begins + minute * MINUTE;
                let events: Vec<_> =
                    history.iter().map(|(minute, name, data)| (at(*minute), name.clone(), data.clone())).collect();
                let simulated = planned(&app, &flow, &email, &events).await;
                for (minute, name, data) in history {
                    let event = json!({"email": email, "event": name, "data": data});
                    agenda.entry(minute).or_default().push(event);
                }
                people.push((number, contact, simulated));
            }
            flows.push(flow);
        }
        for minute in 0..LATEST {
            if let Some(events) = agenda.remove(&minute) {
                until(&app, begins + minute * MINUTE).await;
                join_all(events.into_iter().map(|event| track_ok(&app, event))).await;
                settle(&app).await;
            }
            if minute % 10 <= EVENTS {
                until(&app, begins + minute * MINUTE + MINUTE / 2).await;
                settle(&app).await;
            }
            if minute % 10 == EVENTS + 1 && agenda.is_empty() && !waits(&app).await {
                break;
            }
        }
        let mut steps = 0;
        for (number, contact, simulated) in &people {
            let flow = &flows[*number];
            let found = flow.of_contact(&contact["id"], simulated.len()).await;
            for (simulated, execution) in simulated.iter().zip(found.iter().rev()) {
                let real = real(&flow.execution(text(&execution["id"])).await);
                steps += real["stepExecutions"].as_array().expect("steps").len();
                assert_same(&about(simulated), &about(&real), &format!("graph {number}"));
            }
        }
        assert!(steps > people.len() * 2, "only {steps} steps were taken");
    }
}
