//! What must be true once every execution is over.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use futures_util::StreamExt as _;
use mailwright_testkit::receiver::Receiver;
use mailwright_testkit::{App, Value, json};
use mailwright_tests::{items, read, text};

use super::course::{Behaviour, Course};
use super::{count, kills, pays};

/// The number of an execution's contact.
fn number(execution: &Value) -> usize {
    let number = execution["context"]["number"]["value"].as_u64().expect("the event's number");
    usize::try_from(number).expect("a small number")
}

/// Every execution with its steps.
async fn executions(app: &App, course: &Course) -> Vec<Value> {
    let mut ids = Vec::new();
    for page in 1.. {
        let found = read(app, &course.path(&format!("/executions?pageSize=100&page={page}"))).await;
        let found = items(&found["data"]);
        if found.is_empty() {
            break;
        }
        ids.extend(found.iter().map(|execution| text(&execution["id"]).to_owned()));
    }
    let shown =
        ids.into_iter().map(|id| async move { read(app, &course.path(&format!("/executions/{id}"))).await });
    futures_util::stream::iter(shown).buffer_unordered(8).collect().await
}

#[expect(clippy::print_stdout, reason = "stats worth seeing")]
pub(super) async fn check(app: &App, course: &Course, receiver: &Receiver) {
    let workflow = read(app, &course.path("")).await;
    let links: BTreeSet<(&str, &str)> = items(&workflow["transitions"])
        .iter()
        .map(|link| (text(&link["fromStepId"]), text(&link["toStepId"])))
        .collect();
    let executions = executions(app, course).await;
    assert_eq!(executions.len(), count(), "an execution for each contact");
    let ids: BTreeSet<&str> = executions.iter().map(|execution| text(&execution["contactId"])).collect();
    assert_eq!(ids.len(), count(), "one execution for each contact");

    let mails = mails(app).await;
    let calls = ids_of_calls(receiver);
    let mut figures = BTreeMap::new();
    let mut statuses = BTreeMap::<String, usize>::new();
    for execution in &executions {
        check_execution(execution, &links);
        check_effects(execution, course, &mails, &calls);
        for step in items(&execution["stepExecutions"]) {
            *figures.entry(text(&step["stepId"]).to_owned()).or_insert(0_u64) += 1;
        }
        let status = if execution["converted"] == true { "converted" } else { text(&execution["status"]) };
        *statuses.entry(status.to_owned()).or_default() += 1;
    }
    check_waits(app, &executions).await;
    check_stats(app, course, &figures, &statuses).await;
    check_contacts(app, course, &executions).await;
    println!(
        "{} executions, {} kills: {statuses:?}, {} requests to {} targets",
        executions.len(),
        kills(),
        receiver.calls().len(),
        calls.len()
    );
}

/// How many mails there are of each contact and template.
async fn mails(app: &App) -> HashMap<(String, String), usize> {
    let mut mails = HashMap::new();
    for mail in app.list_all("/emails").await {
        assert_eq!(mail["sourceType"], "WORKFLOW", "{mail}");
        let key = (text(&mail["contactId"]).to_owned(), text(&mail["templateId"]).to_owned());
        *mails.entry(key).or_default() += 1;
    }
    mails
}

/// The ids of the requests to each target.
fn ids_of_calls(receiver: &Receiver) -> HashMap<String, BTreeSet<String>> {
    let mut ids = HashMap::<String, BTreeSet<String>>::new();
    for call in receiver.calls() {
        let id = call.header("webhook-id").expect("every request has an id").to_owned();
        ids.entry(call.target).or_default().insert(id);
    }
    ids
}

/// The execution went along the links, and did each step once.
fn check_execution(execution: &Value, links: &BTreeSet<(&str, &str)>) {
    let steps = items(&execution["stepExecutions"]);
    let taken: Vec<&str> = steps.iter().map(|step| text(&step["stepId"])).collect();
    let distinct: BTreeSet<&str> = taken.iter().copied().collect();
    assert_eq!(distinct.len(), taken.len(), "a step was done twice: {execution}");
    for pair in taken.windows(2) {
        assert!(links.contains(&(pair[0], pair[1])), "no link leads here: {execution}");
    }
    let converted = execution["converted"] == true;
    let kinds: Vec<&str> = steps.iter().map(|step| text(&step["step"]["type"])).collect();
    if converted {
        assert_eq!(execution["status"], "EXITED", "{execution}");
    } else {
        assert_eq!(
            (&execution["status"], &execution["exitReason"]),
            (&json!("EXITED"), &json!("done")),
            "{execution}"
        );
        assert_eq!((kinds.first(), kinds.last()), (Some(&"TRIGGER"), Some(&"EXIT")), "{execution}");
    }
    let last = steps.len().saturating_sub(1);
    for (index, step) in steps.iter().enumerate() {
        // whoever reaches the goal leaves the step at which it stands undone
        let is_left = converted && index == last && step["status"] == "SKIPPED";
        assert!(step["status"] == "COMPLETED" || is_left, "{execution}");
    }
}

fn check_effects(
    execution: &Value,
    course: &Course,
    mails: &HashMap<(String, String), usize>,
    calls: &HashMap<String, BTreeSet<String>>,
) {
    let target = format!("/{}", number(execution));
    let steps = items(&execution["stepExecutions"]);
    let done = |kind: &str| {
        steps.iter().filter(|step| step["step"]["type"] == kind && step["status"] == "COMPLETED").count()
    };
    let stored: usize = course
        .templates
        .iter()
        .map(|template| {
            let key = (text(&execution["contactId"]).to_owned(), template.clone());
            let stored = mails.get(&key).copied().unwrap_or_default();
            assert!(stored <= 1, "{stored} mails of one step: {execution}");
            stored
        })
        .sum();
    assert_eq!(stored, done("SEND_EMAIL"), "{execution}");

    let ids = calls.get(&target).map_or(0, BTreeSet::len);
    assert!(ids <= 1, "one request has several ids: {execution}");
    if let Some(step) = steps.iter().find(|step| step["step"]["type"] == "WEBHOOK")
        && step["status"] == "COMPLETED"
    {
        assert_eq!(ids, 1, "a request that never came: {execution}");
        assert_eq!(step["output"]["success"], Behaviour::of(&target).succeeds(), "{execution}");
    }
}

/// No wait ran into its timeout although the event happened while it lasted, and none ended by an event that did not.
async fn check_waits(app: &App, executions: &[Value]) {
    for execution in executions {
        if !pays(number(execution)) {
            continue;
        }
        let events = read(app, &format!("/events/contact/{}", text(&execution["contactId"]))).await;
        let paid = items(&events["events"]).iter().filter(|event| event["name"] == "paid");
        let times: Vec<&str> = paid.map(|event| text(&event["createdAt"])).collect();
        for step in items(&execution["stepExecutions"]) {
            if step["step"]["type"] != "WAIT_FOR_EVENT" || step["status"] != "COMPLETED" {
                continue;
            }
            let (began, until) = (text(&step["startedAt"]), text(&step["executeAfter"]));
            let during = times.iter().any(|at| *at > began && *at < until);
            match text(&step["output"]["waitOutcome"]) {
                "EVENT" => assert!(!times.is_empty(), "{execution}"),
                "TIMEOUT" => assert!(!during, "paid at {times:?}: {execution}"),
                other => panic!("{other}: {execution}"),
            }
        }
    }
}

/// The figures are what the executions come to.
async fn check_stats(
    app: &App,
    course: &Course,
    figures: &BTreeMap<String, u64>,
    statuses: &BTreeMap<String, usize>,
) {
    let stats = read(app, &course.path("/stats")).await;
    assert_eq!(stats["entered"], count(), "{stats}");
    assert_eq!(stats["waiting"], 0, "{stats}");
    assert_eq!(stats["converted"], statuses.get("converted").copied().unwrap_or_default(), "{stats}");
    for step in items(&stats["steps"]) {
        let entered = figures.get(text(&step["stepId"])).copied().unwrap_or_default();
        assert_eq!((&step["entered"], &step["waiting"]), (&json!(entered), &json!(0)), "{stats}");
    }
}

/// Whoever went through is no member of the segment any more, and was changed by the first step.
async fn check_contacts(app: &App, course: &Course, executions: &[Value]) {
    let path = format!("/segments/{}/contacts?pageSize=100", course.segment);
    let mut members = BTreeSet::new();
    for page in 1.. {
        let found = read(app, &format!("{path}&page={page}")).await;
        let found = items(&found["data"]);
        if found.is_empty() {
            break;
        }
        members.extend(found.iter().map(|contact| text(&contact["id"]).to_owned()));
    }
    let contacts = app.list_all("/contacts").await;
    let seen: HashMap<&str, &Value> =
        contacts.iter().map(|contact| (text(&contact["id"]), &contact["data"]["seen"])).collect();
    for execution in executions.iter().filter(|execution| execution["converted"] != true) {
        let contact = text(&execution["contactId"]);
        assert!(!members.contains(contact), "{execution}");
        assert_eq!(seen[contact], true, "{execution}");
    }
}
