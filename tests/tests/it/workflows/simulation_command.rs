//! `mailwright simulate`: it prints what the API answers, and reads files of events.

use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::workflow::Flow;
use mailwright_tests::{UNKNOWN_ID, create_contact, create_template, items, read, text, track_ok, with};
use serde_json::{Value, json};

use super::simulation::{event, history, of_step, quiet, rehearsed, steps};

/// Writes a file into a folder of the test's own.
fn file(folder: &tempfile::TempDir, name: &str, lines: &[String]) -> String {
    let path = folder.path().join(name);
    std::fs::write(&path, lines.join("\n")).expect("a file");
    path.to_str().expect("UTF-8").to_owned()
}

/// What is said to the program.
fn arguments<'a>(project: &'a str, flow: &'a Flow<'_>, more: &[&'a str]) -> Vec<&'a str> {
    [&["simulate", "--project", project, "--workflow", flow.id.as_str()][..], more].concat()
}

/// What the program prints.
async fn printed(app: &App, project: &str, flow: &Flow<'_>, more: &[&str]) -> Value {
    let said = app.run(&arguments(project, flow, more)).await;
    serde_json::from_str(&said).unwrap_or_else(|error| panic!("no JSON ({error}): {said}"))
}

/// What the program says when it fails, which prints nothing else.
async fn refused(app: &App, project: &str, flow: &Flow<'_>, more: &[&str]) -> String {
    let output = app.try_run(&arguments(project, flow, more)).await;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && output.stdout.is_empty(), "{more:?}: {output:?}");
    assert!(!said.contains("panicked"), "{said}");
    said
}

/// A workflow whose way depends on what is paid.
async fn paying(app: &App) -> Flow<'_> {
    let template = create_template(app, &json!({"type": "MARKETING"})).await;
    let large = json!({"field": "event.amount", "operator": "greaterThan", "value": 10});
    let (flow, ids) =
        steps(app, "begun", &[("WAIT_FOR_EVENT", json!({"eventName": "paid"})), ("CONDITION", large)]).await;
    let mail = flow.loose("SEND_EMAIL", json!({"templateId": template["id"]})).await;
    flow.link(&ids[1], &mail, json!({"branch": "yes"})).await;
    let exit = flow.loose("EXIT", json!({"reason": "small"})).await;
    flow.link(&ids[1], &exit, json!({"branch": "no"})).await;
    flow
}

/// Records events of contacts, one after the other.
async fn record(app: &App, events: &[(&str, &str, Value)]) {
    for (name, event, data) in events {
        let body = json!({"email": format!("{name}@example.com"), "event": event, "data": data});
        track_ok(app, body).await;
    }
}

both_engines! {
    async fn the_command_prints_what_the_api_answers(engine: Engine) {
        let app = App::start(engine).await;
        let flow = paying(&app).await;
        flow.enable().await;
        record(&app, &[
            ("ann", "begun", json!({})), ("ann", "paid", json!({"amount": 20})),
            ("bob", "begun", json!({})), ("bob", "paid", json!({"amount": 2})),
            ("cid", "begun", json!({})), ("dee", "paid", json!({"amount": 2})),
        ]).await;
        flow.loose("EXIT", json!({})).await;
        let before = quiet(&app).await;
        let all = printed(&app, "Acme", &flow, &[]).await;
        assert_eq!(all["summary"]["statuses"], json!({"COMPLETED": 1, "EXITED": 1, "WAITING": 1}));
        assert_eq!(of_step(&all["summary"], "CONDITION")["branches"], json!({"yes": 1, "no": 1}));
        let ann = printed(&app, app.project_id(), &flow, &["--contact", "ann@example.com", "--days", "3"]).await;
        assert_eq!(items(&items(&ann["trace"])[0]["stepExecutions"]).len(), 4, "{ann}");
        let compared = printed(&app, "Acme", &flow, &["--version", "1", "--compare-with", "1"]).await;
        assert_eq!(compared["compared"], all["summary"]);
        assert_eq!(quiet(&app).await, before, "nothing is written");

        assert_eq!(history(&app, &flow, &json!({})).await, all);
        let id = text(&ann["trace"][0]["contactId"]);
        assert_eq!(rehearsed(&app, &flow, &json!({"contact": id})).await, ann);
        assert_eq!(printed(&app, "Acme", &flow, &["--contact", id]).await, ann);
        assert_eq!(history(&app, &flow, &json!({"version": 1, "compareWith": 1})).await, compared);
    }

    async fn a_file_of_events_is_rehearsed_as_a_list_of_them(engine: Engine) {
        let app = App::start(engine).await;
        let folder = tempfile::tempdir().expect("a folder");
        let flow = paying(&app).await;
        create_contact(&app, "bob@example.com", false, json!({})).await;
        let mut events: Vec<Value> = [("ann", 20), ("bob", 30), ("cid", 5)].into_iter().flat_map(|(name, amount)| [
            event(name, "begun", "2030-01-01T00:00:00Z", json!({})),
            event(name, "paid", "2030-01-02T00:00:00Z", json!({"amount": amount})),
        ]).collect();
        events.push(event("ann", "begun", "2030-01-05T00:00:00Z", json!({})));
        events.push(with(event("dee", "begun", "2030-01-05", json!({})), &json!({"data": null})));
        let mut lines: Vec<String> = events.iter().map(Value::to_string).collect();
        lines.insert(3, "  ".to_owned());
        let path = file(&folder, "events.jsonl", &lines);
        for (until, waiting) in [(None, 1), (Some("2030-01-01T12:00:00Z"), 3)] {
            let (mut body, mut more) = (json!({"events": events}), vec!["--events", path.as_str()]);
            if let Some(until) = until {
                body["until"] = json!(until);
                more.extend(["--until", until]);
            }
            let told = printed(&app, "Acme", &flow, &more).await;
            assert_eq!(told, rehearsed(&app, &flow, &body).await);
            assert_eq!(told["summary"]["statuses"]["WAITING"], waiting, "{told}");
            let mails = if until.is_none() { json!({"2030-01-02": 1}) } else { Value::Null };
            let sent = items(&told["summary"]["steps"]).iter().find(|step| step["type"] == "SEND_EMAIL");
            assert_eq!(sent.map(|step| step["mails"].clone()).unwrap_or_default(), mails);
        }
        // one contact alone is told of in full
        let path = file(&folder, "ann.jsonl", &lines[..2]);
        let ann = printed(&app, "Acme", &flow, &["--events", &path]).await;
        assert_eq!(ann["trace"][0]["status"], "COMPLETED");
    }

    async fn a_file_of_what_was_recorded_comes_to_the_same(engine: Engine) {
        let app = App::start(engine).await;
        let folder = tempfile::tempdir().expect("a folder");
        let flow = paying(&app).await;
        record(&app, &[
            ("ann", "begun", json!({"plan": "pro"})), ("ann", "paid", json!({"amount": 20})),
            ("bob", "begun", json!({})), ("bob", "paid", json!({"amount": 2})),
            // nothing that the workflow looks at
            ("ann", "seen", json!({})), ("cid", "seen", json!({"page": 1})),
        ]).await;
        let recorded = read(&app, "/events?limit=100").await;
        let line = |event: &Value| {
            let (email, at) = (&event["contact"]["email"], &event["createdAt"]);
            json!({"email": email, "event": event["name"], "at": at, "data": event["data"]}).to_string()
        };
        let lines: Vec<String> = items(&recorded["events"]).iter().rev().map(line).collect();
        assert!(lines.len() >= 6, "{lines:?}");
        let path = file(&folder, "recorded.jsonl", &lines);
        let told = printed(&app, "Acme", &flow, &["--events", &path]).await;
        assert_eq!(told["summary"], history(&app, &flow, &json!({})).await["summary"]);
    }

    async fn a_line_that_is_no_event_is_named(engine: Engine) {
        let app = App::start(engine).await;
        let folder = tempfile::tempdir().expect("a folder");
        let flow = paying(&app).await;
        let good = event("ann", "begun", "2030-01-01", json!({}));
        let without = |key: &str| mailwright_tests::without(good.clone(), key).to_string();
        let but = |changes: Value| with(good.clone(), &changes).to_string();
        for (bad, word) in [
            ("nope".to_owned(), "JSON"),
            ("[]".to_owned(), "JSON"),
            (r#"{"email": "ann@example.com""#.to_owned(), "JSON"),
            (without("email"), "email"),
            (without("event"), "event"),
            (without("at"), "at"),
            (but(json!({"email": "nobody"})), "email"),
            (but(json!({"event": ""})), "event"),
            (but(json!({"event": "e".repeat(256)})), "event"),
            (but(json!({"at": "soon"})), "at"),
            (but(json!({"at": 5})), "JSON"),
            (but(json!({"data": [1]})), "JSON"),
            (but(json!({"data": {"a\u{0}": 1}})), "data"),
            (but(json!({"event": "e".repeat(1_100_000)})), "long"),
        ] {
            let path = file(&folder, "bad.jsonl", &[good.to_string(), String::new(), bad, good.to_string()]);
            let said = refused(&app, "Acme", &flow, &["--events", &path]).await;
            assert!(said.contains("line 3") && said.contains(word), "{word}: {said}");
            assert!(!said.contains("line 1 "), "only one line is meant: {said}");
        }
    }

    async fn what_cannot_be_rehearsed_is_said(engine: Engine) {
        let app = App::start(engine).await;
        let folder = tempfile::tempdir().expect("a folder");
        let flow = paying(&app).await;
        let good = file(&folder, "good.jsonl", &[event("ann", "begun", "2030-01-01", json!({})).to_string()]);
        let empty = file(&folder, "empty.jsonl", &[String::new(), String::new()]);
        let absent = format!("{good}.absent");
        for (more, word) in [
            (vec!["--events", absent.as_str()], "good.jsonl.absent"),
            (vec!["--events", empty.as_str()], "no events"),
            (vec!["--events", good.as_str(), "--until", "soon"], "--until"),
            (vec!["--events", good.as_str(), "--contact", "ann@example.com"], "--contact"),
            (vec!["--events", good.as_str(), "--days", "3"], "--days"),
            (vec!["--until", "2030-01-01"], "--events"),
            (vec!["--days", "0"], "--days"),
            (vec!["--days", "366"], "--days"),
            (vec!["--contact", "nobody@example.com"], "nobody@example.com"),
            (vec!["--version", "7"], "7"),
            (vec!["--compare-with", "8"], "8"),
        ] {
            let said = refused(&app, "Acme", &flow, &more).await;
            assert!(said.contains(word), "{more:?}: {said}");
        }
        assert!(refused(&app, "Nobody", &flow, &[]).await.contains("Nobody"));
        let other = app.bootstrap("Other", "other.test").await;
        assert!(refused(&app, "Other", &flow, &[]).await.contains(&flow.id), "that of another project");
        assert!(refused(&app, &other.id, &flow, &["--events", &good]).await.contains(&flow.id));
        let output = app.try_run(&["simulate", "--project", "Acme", "--workflow", UNKNOWN_ID]).await;
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&output.stderr).contains(UNKNOWN_ID));
    }
}
