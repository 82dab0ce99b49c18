//! A rehearsal comes to the log of what really happens: before the events happen, and afterwards with what was recorded.

use std::time::Duration;

use mailwright_testkit::{App, Engine, OWNER, both_engines};
use mailwright_tests::browser::Browser;
use mailwright_tests::workflow::{Flow, taken};
use mailwright_tests::{create_contact, create_template, items, mail_to, text, track_ok};
use serde_json::{Map, Value, json};

use super::dates::{iso, millis};
use super::simulation::rehearsed;

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
/// What is told of an execution, and what of its steps, beside their names.
const MEMBERS: [&str; 7] =
    ["contactId", "sourceEventId", "status", "exitReason", "converted", "startedAt", "completedAt"];
const OF_STEP: [&str; 7] =
    ["stepId", "status", "executeAfter", "output", "error", "startedAt", "completedAt"];

/// An event that is going to happen: when, its name, and its data.
type Planned<N = &'static str> = (i64, N, Value);

/// Some members of an object.
fn some(object: &Value, names: &[&str]) -> Map<String, Value> {
    names.iter().map(|name| ((*name).to_owned(), object[*name].clone())).collect()
}

/// What really happened in an execution, in the form of a rehearsal.
pub(super) fn real(execution: &Value) -> Value {
    let step = |step: &Value| {
        let mut told = some(step, &OF_STEP);
        told.insert("name".to_owned(), step["step"]["name"].clone());
        told.insert("type".to_owned(), step["step"]["type"].clone());
        Value::Object(told)
    };
    let mut told = some(execution, &MEMBERS);
    let steps = items(&execution["stepExecutions"]).iter().map(step).collect();
    told.insert("stepExecutions".to_owned(), steps);
    Value::Object(told)
}

/// A log without the ids of mails and events that steps tell of: a rehearsal makes none.
fn without_ids(execution: &Value) -> Value {
    let mut told = execution.clone();
    for step in told["stepExecutions"].as_array_mut().expect("steps") {
        if let Some(output) = step["output"].as_object_mut() {
            output.retain(|name, _| {
                !["emailId", "emailStatus", "emailReason", "emailError", "event"].contains(&name.as_str())
            });
        }
    }
    told
}

/// A log of what happens within minutes of what was planned: without the id of the event that began it, and with times
/// as tens of minutes from then on.
pub(super) fn about(execution: &Value) -> Value {
    let since = millis(text(&execution["startedAt"])).expect("a time");
    let mut told = rounded(execution, since);
    told["sourceEventId"] = Value::Null;
    told
}

fn rounded(value: &Value, since: i64) -> Value {
    match value {
        Value::String(text) => match millis(text) {
            Some(at) => json!((at - since + 5 * MINUTE).div_euclid(10 * MINUTE)),
            None => value.clone(),
        },
        Value::Array(list) => list.iter().map(|one| rounded(one, since)).collect(),
        Value::Object(of) => of.iter().map(|(name, one)| (name.clone(), rounded(one, since))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Two logs are the same, step by step.
pub(super) fn assert_same(simulated: &Value, real: &Value, what: &str) {
    let (simulated, real) = (&without_ids(simulated), &without_ids(real));
    let steps = |log: &Value| items(&log["stepExecutions"]).to_vec();
    for (simulated, real) in steps(simulated).iter().zip(&steps(real)) {
        assert_eq!(simulated, real, "{what}: what was rehearsed, and what really happened");
    }
    assert_eq!(simulated, real, "{what}: what was rehearsed, and what really happened");
}

/// Rehearses a workflow with events that are going to happen, which are told of in another order; what becomes of the
/// contact.
pub(super) async fn planned<N: AsRef<str>>(
    app: &App,
    flow: &Flow<'_>,
    email: &str,
    events: &[Planned<N>],
) -> Vec<Value> {
    let event = |(at, event, data): &Planned<N>| json!({"email": email, "event": event.as_ref(), "at": iso(*at), "data": data});
    let events: Vec<Value> = events.iter().rev().map(event).collect();
    let told = rehearsed(app, flow, &json!({"events": events})).await;
    items(&told["trace"]).to_vec()
}

/// Rehearses a workflow with what was recorded of a contact.
async fn recorded(app: &App, flow: &Flow<'_>, contact: &Value) -> Vec<Value> {
    let told = rehearsed(app, flow, &json!({"contact": contact["id"]})).await;
    items(&told["trace"]).to_vec()
}

/// Lets time pass until shortly after a moment.
pub(super) async fn until(app: &App, at: i64) {
    if let Ok(left) = u64::try_from(at + 50 - app.now()) {
        app.advance(Duration::from_millis(left)).await;
    }
}

/// Lets an event happen when it is due.
async fn happen(app: &App, email: &str, (at, event, data): &Planned) {
    until(app, *at).await;
    track_ok(app, json!({"email": email, "event": event, "data": data})).await;
}

/// An execution once it waits at its n-th step, or is over.
async fn standing(app: &App, flow: &Flow<'_>, id: &str, n: usize) -> Value {
    app.eventually(&format!("execution {id} waits at step {n}, or is over"), async || {
        let found = flow.execution(id).await;
        let is_there = found["status"] == "WAITING" && items(&found["stepExecutions"]).len() == n;
        (is_there || !found["completedAt"].is_null()).then_some(found)
    })
    .await
}

/// Lets time pass until the wait of an execution ends at the latest.
async fn wait_out(app: &App, execution: &Value) {
    let wait = items(&execution["stepExecutions"]).last().expect("a step");
    until(app, millis(text(&wait["executeAfter"])).expect("a time")).await;
}

/// A workflow with steps of all types whose outcome does not depend on others: with mails, waits that end in each way,
/// conditions of each kind, and changes of the contact and of its segments.
async fn of_all_types<'a>(app: &'a App, window: &Value) -> Flow<'a> {
    let template = create_template(app, &json!({"type": "MARKETING"})).await;
    let segment = json!({"name": "List", "type": "STATIC"});
    let segment = app.post("/segments").json(&segment).send().await.assert_status(201).json()["id"].clone();
    let mail = ("SEND_EMAIL", json!({"templateId": template["id"]}), json!({}));
    let await_event = |name: &str, seconds: Option<u32>, way: Value| {
        ("WAIT_FOR_EVENT", json!({"eventName": name, "timeout": seconds}), way)
    };
    let filters = json!([
        {"field": format!("segment.{}", text(&segment)), "operator": "memberOfSegment"},
        {"field": "event.begun", "operator": "triggered"},
        {"field": "event.paid", "operator": "notTriggered"},
        {"field": "event.n", "operator": "equals", "value": 1},
        {"field": "data.stage", "operator": "equals", "value": "first"},
    ]);
    let filter = json!({"mode": "filter", "condition": {"logic": "AND", "groups": [{"filters": filters}]}});
    let size = |id: &str, operator: &str| json!({"id": id, "name": id, "operator": operator, "value": 10});
    let sizes = [size("small", "lessThan"), size("large", "greaterThanOrEqual")];
    let yes = json!({"branch": "yes"});
    let before = [
        mail.clone(),
        ("UPDATE_CONTACT", json!({"updates": {"stage": "first"}}), json!({})),
        ("ADD_TO_SEGMENT", json!({"segmentId": segment}), json!({})),
        ("CONDITION", filter, yes.clone()),
        ("DELAY", json!({"amount": 1, "unit": "hours"}), json!({})),
        await_event("paid", Some(7_200), json!({"waitOutcome": "EVENT"})),
        ("CONDITION", json!({"field": "event.once", "operator": "equals", "value": 7}), yes),
        (
            "CONDITION",
            json!({"mode": "multi", "field": "event.amount", "branches": sizes}),
            json!({"branch": "large"}),
        ),
    ];
    let after = [
        ("WAIT_UNTIL", json!({"mode": "field", "field": "event.renewal"}), json!({})),
        ("WAIT_UNTIL", window.clone(), json!({})),
        ("REMOVE_FROM_SEGMENT", json!({"segmentId": segment}), json!({})),
        await_event("shipped", Some(3_600), json!({"waitOutcome": "TIMEOUT"})),
        ("WAIT_UNTIL", json!({"mode": "field", "field": "data.missing"}), json!({})),
        ("UPDATE_CONTACT", json!({"subscriptionAction": "unsubscribe"}), json!({})),
        // the step before lets it happen
        await_event("contact.unsubscribed", Some(3_600), json!({"waitOutcome": "EVENT"})),
        mail,
        await_event("closed", None, json!({})),
        ("EXIT", json!({"reason": "done"}), json!({})),
    ];
    let flow = Flow::new(app, "begun").await;
    let mut last = (flow.trigger.clone(), json!({}));
    for (kind, config, way) in before {
        last = (append(&flow, last, kind, config).await, way);
    }
    let halves: Vec<Value> = ["a", "b"].map(|id| json!({"id": id, "weight": 1})).into();
    let split = append(&flow, last, "RANDOM_SPLIT", json!({"branches": halves})).await;
    let mut ends = Vec::new();
    for half in ["a", "b"] {
        let end = (split.clone(), json!({"branch": half}));
        ends.push(append(&flow, end, "UPDATE_CONTACT", json!({"updates": {"half": half}})).await);
    }
    let mut last = (ends.remove(0), json!({}));
    for (kind, config, way) in after {
        last = (append(&flow, last, kind, config).await, way);
        if let Some(other) = ends.pop() {
            flow.link(&other, &last.0, json!({})).await;
        }
    }
    flow.change(json!({"goal": {"eventName": "won"}})).await;
    flow.enable().await;
    flow
}

/// Adds a step that one way out of another leads to. Returns its id.
async fn append(flow: &Flow<'_>, (last, way): (String, Value), kind: &str, config: Value) -> String {
    let step = flow.loose(kind, config).await;
    flow.link(&last, &step, way).await;
    step
}

/// What steps of all types come to for whoever gets to the end.
const WAY: [&str; 20] = [
    "TRIGGER COMPLETED",
    "SEND_EMAIL COMPLETED",
    "UPDATE_CONTACT COMPLETED",
    "ADD_TO_SEGMENT COMPLETED",
    "CONDITION COMPLETED",
    "DELAY COMPLETED",
    "WAIT_FOR_EVENT COMPLETED",
    "CONDITION COMPLETED",
    "CONDITION COMPLETED",
    "RANDOM_SPLIT COMPLETED",
    "UPDATE_CONTACT COMPLETED",
    "WAIT_UNTIL COMPLETED",
    "WAIT_UNTIL COMPLETED",
    "REMOVE_FROM_SEGMENT COMPLETED",
    "WAIT_FOR_EVENT COMPLETED",
    "WAIT_UNTIL SKIPPED",
    "UPDATE_CONTACT COMPLETED",
    "WAIT_FOR_EVENT COMPLETED",
    "SEND_EMAIL SKIPPED",
    "WAIT_FOR_EVENT COMPLETED",
];

both_engines! {
    async fn steps_of_all_types_come_to_the_same_log(engine: Engine) {
        let app = App::start(engine).await;
        let began = (app.now() + HOUR) / 1000 * 1000;
        let of_day = |at: i64| iso(at)[11..16].to_owned();
        let (opens, closes) = (of_day(began + 4 * HOUR), of_day(began + 7 * HOUR));
        let flow = of_all_types(&app, &json!({"mode": "window", "from": opens, "to": closes})).await;
        let once = json!({"value": 7, "persistent": false});
        let mut people = Vec::new();
        // one gets to the end, the other one to the goal
        for (email, last) in [("ann@example.com", "closed"), ("gus@example.com", "won")] {
            let contact = create_contact(&app, email, true, json!({"plan": "free", "n": 0})).await;
            let events: [Planned; 3] = [
                (began, "begun", json!({"n": 1, "once": once, "renewal": iso(began + 3 * HOUR)})),
                (began + 90 * MINUTE, "paid", json!({"amount": 50})),
                (began + 6 * HOUR, last, json!({"final": true})),
            ];
            let simulated = planned(&app, &flow, email, &events).await;
            people.push((email, contact, events, simulated));
        }
        let mut executions = Vec::new();
        for (email, contact, events, _) in &people {
            happen(&app, email, &events[0]).await;
            let found = flow.of_contact(&contact["id"], 1).await;
            executions.push(standing(&app, &flow, text(&found[0]["id"]), 6).await);
            mail_to(&app, email).await;
        }
        // an event, or the end of a wait, and which step they lead to
        for (next, n) in [(None, 7), (Some(1), 12), (None, 13), (None, 15), (None, 20), (Some(2), 21)] {
            for (execution, (email, _, events, _)) in executions.iter_mut().zip(&people) {
                match next {
                    Some(event) => happen(&app, email, &events[event]).await,
                    None => wait_out(&app, execution).await,
                }
                let id = text(&execution["id"]).to_owned();
                *execution = standing(&app, &flow, &id, n).await;
            }
        }
        assert_eq!(taken(&executions[0])[..20], WAY);
        assert_eq!(taken(&executions[0])[20..], ["EXIT COMPLETED"]);
        assert_eq!(taken(&executions[1])[..19], WAY[..19]);
        assert_eq!(taken(&executions[1])[19..], ["WAIT_FOR_EVENT SKIPPED"]);
        for (execution, (_, contact, _, simulated)) in executions.iter().zip(&people) {
            let real = real(execution);
            let [simulated] = &simulated[..] else { panic!("one execution: {simulated:?}") };
            assert_same(&about(simulated), &about(&real), "before");

            // a rehearsal with what was recorded begins with the contact as it is
            let written = ["n", "renewal", "amount", "final", "stage", "half"].map(|key| (key.to_owned(), Value::Null));
            let mut data: Map<String, Value> = written.into_iter().collect();
            data.insert("n".to_owned(), json!(0));
            let path = format!("/contacts/{}", text(&contact["id"]));
            let changes = json!({"subscribed": true, "data": data});
            let found = app.patch(&path).json(&changes).send().await.assert_status(200).json();
            assert_eq!(found["data"], contact["data"], "as at the beginning");
            let simulated = recorded(&app, &flow, contact).await;
            let [simulated] = &simulated[..] else { panic!("one execution: {simulated:?}") };
            assert_same(simulated, &real, "afterwards");
        }
    }

    async fn each_of_several_executions_comes_to_the_same_log(engine: Engine) {
        let app = App::start(engine).await;
        let flow = Flow::new(&app, "begun").await;
        flow.then("DELAY", json!({"amount": 1, "unit": "hours"})).await;
        flow.then("EXIT", json!({})).await;
        // what an event carries reaches it
        let score = json!({"field": "data.score", "operator": "greaterThan", "value": 5});
        let goal = json!({"filter": {"logic": "AND", "groups": [{"filters": [score]}]}});
        flow.change(json!({"allowReentry": true, "goal": goal})).await;
        flow.enable().await;
        let (email, began) = ("ann@example.com", (app.now() + HOUR) / 1000 * 1000);
        let contact = create_contact(&app, email, true, json!({})).await;
        let event = |minutes: i64, name: &'static str, data: Value| (began + minutes * MINUTE, name, data);
        let events: [Planned; 4] = [
            event(0, "begun", json!({})), event(30, "begun", json!({})), event(120, "begun", json!({})),
            event(150, "scored", json!({"score": 9})),
        ];
        let simulated = planned(&app, &flow, email, &events).await;
        happen(&app, email, &events[0]).await;
        let first = flow.of_contact(&contact["id"], 1).await;
        let first = standing(&app, &flow, text(&first[0]["id"]), 2).await;
        happen(&app, email, &events[1]).await;
        wait_out(&app, &first).await;
        let first = flow.once(text(&first["id"]), "EXITED").await;
        happen(&app, email, &events[2]).await;
        let second = flow.of_contact(&contact["id"], 2).await;
        let second = standing(&app, &flow, text(&second[0]["id"]), 2).await;
        happen(&app, email, &events[3]).await;
        let second = flow.once(text(&second["id"]), "EXITED").await;
        assert_eq!((&first["exitReason"], &second["exitReason"]), (&json!("exit_step"), &json!("goal")));
        let [one, two] = &simulated[..] else { panic!("two executions: {simulated:?}") };
        assert_same(&about(one), &about(&real(&first)), "the first");
        assert_same(&about(two), &about(&real(&second)), "the second");
    }

    async fn mails_that_were_sent_before_count_for_the_cap(engine: Engine) {
        let app = App::start(engine).await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let project = owner.request(&app, "PATCH", &format!("/users/@me/projects/{}", app.project_id()));
        let cap = json!({"marketingCap": {"emails": 1, "hours": 24}});
        project.json(&cap).send().await.assert_status(200);
        let template = create_template(&app, &json!({"type": "MARKETING"})).await;
        let mail = |over: &str| json!({"templateId": template["id"], "overCap": over});
        let earlier = Flow::new(&app, "earlier").await;
        earlier.then("SEND_EMAIL", mail("SKIP")).await;
        earlier.enable().await;
        for (n, over) in ["SKIP", "WAIT"].into_iter().enumerate() {
            let flow = Flow::new(&app, "begun").await;
            flow.then("SEND_EMAIL", mail(over)).await;
            flow.enable().await;
            let email = format!("c{n}@example.com");
            let contact = create_contact(&app, &email, true, json!({})).await;
            let sent = earlier.start(&contact["id"], json!({})).await;
            assert_eq!(taken(&earlier.once(&sent, "COMPLETED").await)[1], "SEND_EMAIL COMPLETED");
            mail_to(&app, &email).await;

            let event: Planned = (app.now() / 1000 * 1000 + HOUR, "begun", json!({}));
            let simulated = planned(&app, &flow, &email, std::slice::from_ref(&event)).await;
            happen(&app, &email, &event).await;
            let begun = flow.of_contact(&contact["id"], 1).await;
            let mut execution = standing(&app, &flow, text(&begun[0]["id"]), 2).await;
            if execution["status"] == "WAITING" {
                wait_out(&app, &execution).await;
                execution = flow.once(text(&begun[0]["id"]), "COMPLETED").await;
            }
            let real = real(&execution);
            let expected = if over == "SKIP" { "SEND_EMAIL SKIPPED" } else { "SEND_EMAIL COMPLETED" };
            assert_eq!(taken(&execution)[1], expected);
            assert_same(&about(&simulated[0]), &about(&real), over);
            if over == "SKIP" {
                // the workflow itself sent nothing that could count
                assert_same(&recorded(&app, &flow, &contact).await[0], &real, "afterwards");
            }
            flow.change(json!({"enabled": false})).await;
        }
    }
}
