//! `POST /workflows/:id/simulate`: with events that are given, with those of a contact, and with the whole history.
//! Versions are in `simulated_versions`; that a rehearsal comes to the log of what really happens is in `simulated_log`.

use std::time::Duration;

use futures_util::future::join_all;
use mailwright_testkit::receiver::Receiver;
use mailwright_testkit::{App, Engine, Rows, both_engines};
use mailwright_tests::workflow::Flow;
use mailwright_tests::{
    assert_keys, assert_only_keys, contact_by_email, create_contact, create_template, items,
};
use mailwright_tests::{mail_to, read, sized, text, track_ok, without};
use serde_json::{Value, json};

/// An event to rehearse with.
pub(super) fn event(name: &str, event: &str, at: &str, data: Value) -> Value {
    json!({"email": format!("{name}@example.com"), "event": event, "at": at, "data": data})
}

/// Rehearses a workflow; the answer.
pub(super) async fn rehearsed(app: &App, flow: &Flow<'_>, body: &Value) -> Value {
    let answer = app.post(&flow.path("/simulate")).json(body).send().await.assert_status(200).json();
    assert_only_keys(&answer, &["summary", "compared", "differing", "trace"]);
    answer
}

/// Rehearses a workflow with the whole history; the result.
pub(super) async fn history(app: &App, flow: &Flow<'_>, body: &Value) -> Value {
    let queued = app.post(&flow.path("/simulate")).json(body).send().await.assert_status(202).json();
    assert_only_keys(&queued, &["message", "jobId"]);
    let path = flow.path(&format!("/simulate/{}", text(&queued["jobId"])));
    app.eventually("the rehearsal is over", async || {
        let found = read(app, &path).await;
        assert_keys(&found, &["id", "state", "progress", "result"]);
        assert_ne!(found["state"], "failed", "{found}");
        let is_over = found["state"] == "completed";
        assert_eq!(is_over, !found["result"].is_null(), "{found}");
        assert!(!is_over || found["progress"] == 100, "{found}");
        is_over.then(|| found["result"].clone())
    })
    .await
}

/// What the database holds, once nothing in the background changes it. When keys are used is noted now and then, and so are
/// how time passes, how large the database is, and when a domain is looked up again.
pub(super) async fn quiet(app: &App) -> Rows {
    let (mut last, mut same) = (Rows::new(), 0);
    app.eventually("the database stays as it is", async || {
        let mut rows = app.rows().await;
        for table in ["api_keys", "retention_clock", "database_sizes"] {
            rows.remove(table);
        }
        for row in rows.get_mut("domains").into_iter().flatten() {
            let domain: Value = serde_json::from_str(row).expect("a row");
            *row = without(domain, "check_at").to_string();
        }
        // segments are brought up to date after a rest, and executions and mails may wait for their turn
        let is_done = rows.get("contact_changes").is_none_or(Vec::is_empty)
            && !is_due(&rows, "workflow_executions", app.now())
            && !is_due(&rows, "emails", app.now());
        same = if rows == last && is_done { same + 1 } else { 0 };
        last = rows.clone();
        (same == 5).then_some(rows)
    })
    .await
}

fn is_due(rows: &Rows, table: &str, now: i64) -> bool {
    let due_at = |row: &String| serde_json::from_str::<Value>(row).expect("a row")["due_at"].as_i64();
    rows.get(table).into_iter().flatten().filter_map(due_at).any(|due_at| due_at <= now)
}

/// What a summary says of the step of a type, without its id.
pub(super) fn of_step(summary: &Value, kind: &str) -> Value {
    let step = items(&summary["steps"]).iter().find(|step| step["type"] == kind);
    without(step.unwrap_or_else(|| panic!("no {kind} in {summary}")).clone(), "stepId")
}

/// A workflow that begins with an event and has these steps, not enabled yet.
pub(super) async fn steps<'a>(app: &'a App, event: &str, steps: &[(&str, Value)]) -> (Flow<'a>, Vec<String>) {
    let flow = Flow::new(app, event).await;
    let mut ids = Vec::new();
    for (kind, config) in steps {
        ids.push(flow.then(kind, config.clone()).await);
    }
    (flow, ids)
}

/// Who begins on the first of January, by the names of contacts.
fn begin(names: &[&str]) -> Value {
    names.iter().map(|name| event(name, "begun", "2030-01-01", json!({}))).collect()
}

both_engines! {
    async fn one_contact_is_told_of_step_by_step(engine: Engine) {
        let app = App::start(engine).await;
        let (flow, ids) = steps(&app, "begun", &[
            ("DELAY", json!({"amount": 1, "unit": "hours"})),
            ("WAIT_FOR_EVENT", json!({"eventName": "paid", "timeout": 3600})),
            ("EXIT", json!({"reason": "done"})),
        ]).await;
        // in any order, with dates as JavaScript reads them
        let mut body = json!({"events": [
            event("new", "paid", "2030-01-01T01:30", json!({"amount": 5})),
            event("new", "begun", "2030-01-01T02:00:00+02:00", json!({"plan": "pro"})),
        ]});
        let told = rehearsed(&app, &flow, &body).await;
        assert_eq!((&told["compared"], &told["differing"]), (&Value::Null, &json!(0)));
        let [execution] = items(&told["trace"]) else { panic!("one execution: {told}") };
        assert_eq!(without(without(without(execution.clone(), "contactId"), "sourceEventId"), "stepExecutions"), json!({
            "status": "EXITED", "exitReason": "done", "converted": false,
            "startedAt": "2030-01-01T00:00:00.000Z", "completedAt": "2030-01-01T01:30:00.000Z",
        }));
        let at = |minute: &str| json!(format!("2030-01-01T{minute}:00.000Z"));
        for (step, (id, kind, began, until, ended)) in items(&execution["stepExecutions"]).iter().zip([
            (&flow.trigger, "TRIGGER", "00:00", Value::Null, "00:00"),
            (&ids[0], "DELAY", "00:00", at("01:00"), "01:00"),
            (&ids[1], "WAIT_FOR_EVENT", "01:00", at("02:00"), "01:30"),
            (&ids[2], "EXIT", "01:30", Value::Null, "01:30"),
        ]) {
            let name = if kind == "TRIGGER" { "Trigger: begun" } else { kind };
            assert_eq!(without(step.clone(), "output"), json!({
                "stepId": id, "name": name, "type": kind, "status": "COMPLETED", "error": null,
                "startedAt": at(began), "executeAfter": until, "completedAt": at(ended),
            }));
        }
        assert_eq!(items(&execution["stepExecutions"]).len(), 4);
        assert_eq!(contact_by_email(&app, "new@example.com").await, None, "nobody was made");

        // it ends before the contact pays
        body["until"] = json!("2030-01-01T01:15:00Z");
        let told = rehearsed(&app, &flow, &body).await;
        let execution = &told["trace"][0];
        assert_eq!((&execution["status"], &execution["completedAt"]), (&json!("WAITING"), &Value::Null));
        let wait = &execution["stepExecutions"][2];
        assert_eq!((&wait["status"], &wait["executeAfter"]), (&json!("WAITING"), &at("02:00")));
        assert_eq!(told["summary"]["statuses"], json!({"WAITING": 1}));
        assert_eq!(of_step(&told["summary"], "WAIT_FOR_EVENT")["waiting"], 1);
    }

    async fn several_contacts_are_added_up(engine: Engine) {
        let app = App::start(engine).await;
        create_contact(&app, "una@example.com", false, json!({})).await;
        let template = create_template(&app, &json!({"type": "MARKETING"})).await;
        let (flow, ids) = steps(&app, "begun", &[
            ("WAIT_FOR_EVENT", json!({"eventName": "paid", "timeout": 86_400})),
        ]).await;
        let mail = flow.loose("SEND_EMAIL", json!({"templateId": template["id"]})).await;
        flow.link(&ids[0], &mail, json!({"waitOutcome": "EVENT"})).await;
        let exit = flow.loose("EXIT", json!({"reason": "late"})).await;
        flow.link(&ids[0], &exit, json!({"waitOutcome": "TIMEOUT"})).await;
        let large = json!({"field": "event.total", "operator": "greaterThan", "value": 10});
        let filter = json!({"logic": "AND", "groups": [{"filters": [large]}]});
        flow.change(json!({"triggerConfig": {"eventName": "begun", "filter": filter}})).await;
        let begun = |name: &str, at: &str, total: u8| event(name, "begun", at, json!({"total": total}));
        let paid = |name: &str, at: &str| event(name, "paid", at, json!({}));
        let told = rehearsed(&app, &flow, &json!({"until": "2030-01-04T12:00:00Z", "events": [
            begun("ann", "2030-01-01T00:00:00Z", 20), paid("ann", "2030-01-01T10:00:00Z"),
            // waits when the second one comes, and may not begin again when the third one does
            begun("bob", "2030-01-01T00:00:00Z", 20), begun("bob", "2030-01-01T12:00:00Z", 20),
            begun("bob", "2030-01-03T12:00:00Z", 20),
            begun("cid", "2030-01-01T00:00:00Z", 5),
            // in time by a hair's breadth, and not subscribed
            begun("una", "2030-01-01T00:00:00Z", 50), paid("una", "2030-01-02T00:00:00Z"),
            begun("eve", "2030-01-01T23:00:00Z", 50), paid("eve", "2030-01-02T00:00:00Z"),
            begun("fay", "2030-01-04T00:00:00Z", 50),
            event("gus", "begun", "2030-01-01", json!({"total": 50, "text": "x".repeat(65_536)})),
        ]})).await;
        assert_eq!((&told["compared"], &told["trace"]), (&Value::Null, &Value::Null));
        let summary = &told["summary"];
        assert_eq!(without(summary.clone(), "steps"), json!({
            "contacts": 7, "events": 12, "entered": 5, "converted": 0, "mails": 2,
            "refused": {"active": 1, "reentry": 1, "filter": 1, "too_large": 1},
            "statuses": {"COMPLETED": 3, "EXITED": 1, "WAITING": 1},
        }));
        let step = |name: &str, kind: &str, entered: u8| json!({
            "name": name, "type": kind, "entered": entered, "waiting": 0, "completed": entered, "failed": 0,
            "skipped": {}, "branches": {}, "averageWaitMs": 0, "longestWaitMs": 0, "mails": {},
        });
        assert_eq!(of_step(summary, "TRIGGER"), step("Trigger: begun", "TRIGGER", 5));
        let mut wait = step("WAIT_FOR_EVENT", "WAIT_FOR_EVENT", 5);
        (wait["waiting"], wait["completed"]) = (json!(1), json!(4));
        wait["branches"] = json!({"EVENT": 3, "TIMEOUT": 1});
        // 10, 24, 24 and 1 hours
        (wait["averageWaitMs"], wait["longestWaitMs"]) = (json!(59 * 3_600_000 / 4), json!(86_400_000));
        assert_eq!(of_step(summary, "WAIT_FOR_EVENT"), wait);
        let mut mail = step("SEND_EMAIL", "SEND_EMAIL", 3);
        (mail["completed"], mail["skipped"]) = (json!(2), json!({"unsubscribed": 1}));
        mail["mails"] = json!({"2030-01-01": 1, "2030-01-02": 1});
        assert_eq!(of_step(summary, "SEND_EMAIL"), mail);
        assert_eq!(of_step(summary, "EXIT"), step("EXIT", "EXIT", 1));
    }

    async fn who_reaches_the_goal_is_counted(engine: Engine) {
        let app = App::start(engine).await;
        let (flow, _) = steps(&app, "begun", &[("DELAY", json!({"amount": 2, "unit": "hours"}))]).await;
        flow.change(json!({"goal": {"eventName": "won"}})).await;
        let mut events = begin(&["ann", "bob"]);
        let won = event("bob", "won", "2030-01-01T01:00:00Z", json!({}));
        events.as_array_mut().expect("events").push(won);
        let summary = rehearsed(&app, &flow, &json!({"events": events})).await["summary"].clone();
        assert_eq!((&summary["converted"], &summary["statuses"]), (&json!(1), &json!({"COMPLETED": 1, "EXITED": 1})));
        let delay = of_step(&summary, "DELAY");
        assert_eq!((&delay["completed"], &delay["skipped"]), (&json!(1), &json!({"goal": 1})), "{delay}");
    }

    async fn the_events_of_a_contact_are_looked_at_for_some_days(engine: Engine) {
        let app = App::start(engine).await;
        let (flow, _) = steps(&app, "begun", &[
            ("WAIT_FOR_EVENT", json!({"eventName": "paid"})), ("EXIT", json!({})),
        ]).await;
        let track = |name: &str, event: &str| {
            track_ok(&app, json!({"email": format!("{name}@example.com"), "event": event}))
        };
        let ann = track("ann", "begun").await["contact"].clone();
        track("ann", "paid").await;
        app.advance(Duration::from_hours(10 * 24)).await;
        track("bob", "begun").await;
        track("cid", "other").await;

        let by_id = rehearsed(&app, &flow, &json!({"contact": ann})).await;
        assert_eq!(rehearsed(&app, &flow, &json!({"contact": "ann@example.com", "days": 30})).await, by_id);
        let [execution] = items(&by_id["trace"]) else { panic!("one execution: {by_id}") };
        assert_eq!((&execution["contactId"], &execution["status"]), (&ann, &json!("EXITED")));
        let recent = rehearsed(&app, &flow, &json!({"contact": ann, "days": 9})).await;
        assert_eq!((&recent["summary"]["entered"], &recent["trace"]), (&json!(0), &json!([])));

        for (body, contacts, events, statuses) in [
            (json!({}), 2, 3, json!({"EXITED": 1, "WAITING": 1})),
            (json!({"days": 11}), 2, 3, json!({"EXITED": 1, "WAITING": 1})),
            (json!({"days": 9}), 1, 1, json!({"WAITING": 1})),
        ] {
            let found = history(&app, &flow, &body).await;
            assert_only_keys(&found, &["summary", "compared", "differing", "trace"]);
            assert_eq!((&found["compared"], &found["trace"]), (&Value::Null, &Value::Null), "{body}");
            let summary = &found["summary"];
            assert_eq!((&summary["contacts"], &summary["events"]), (&json!(contacts), &json!(events)), "{body}");
            assert_eq!(summary["statuses"], statuses, "{body}");
        }
        assert!(flow.executions().await.is_empty());
    }

    async fn a_long_history_is_rehearsed_part_by_part(engine: Engine) {
        let app = App::start(engine).await;
        let half = |id: &str| json!({"id": id, "weight": 1});
        let (flow, ids) = steps(&app, "begun", &[("RANDOM_SPLIT", json!({"branches": [half("a"), half("b")]}))]).await;
        let exit = flow.loose("EXIT", json!({})).await;
        flow.link(&ids[0], &exit, json!({"branch": "a"})).await;
        // more than are read at a time
        let count = sized(620_u64, 5_000);
        for first in (0..count).step_by(62) {
            let names = first..count.min(first + 62);
            join_all(names.map(|n| track_ok(&app, json!({"email": format!("c{n}@example.com"), "event": "begun"})))).await;
        }
        let summary = history(&app, &flow, &json!({})).await["summary"].clone();
        for key in ["contacts", "events", "entered"] {
            assert_eq!(summary[key], count, "{key}");
        }
        let branches = of_step(&summary, "RANDOM_SPLIT")["branches"].clone();
        let taken = ["a", "b"].map(|branch| branches[branch].as_u64().unwrap_or_default());
        assert_eq!(taken[0] + taken[1], count);
        assert!(taken.iter().all(|taken| *taken > count / 3), "{branches}");
        assert_eq!(summary["statuses"], json!({"EXITED": taken[0], "COMPLETED": taken[1]}));
        assert_eq!(history(&app, &flow, &json!({})).await["summary"], summary, "chance decides the same way");
    }

    async fn nothing_is_sent_and_nothing_is_written(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_ALLOW_PRIVATE_NETWORKS", "true").start().await;
        let receiver = Receiver::obliging().await;
        let template = create_template(&app, &json!({})).await;
        let list = json!({"name": "List", "type": "STATIC"});
        let list = app.post("/segments").json(&list).send().await.assert_status(201).json();
        let (flow, _) = steps(&app, "begun", &[
            ("SEND_EMAIL", json!({"templateId": template["id"]})),
            ("UPDATE_CONTACT", json!({"updates": {"mark": 1}})),
            ("ADD_TO_SEGMENT", json!({"segmentId": list["id"]})),
            ("DELAY", json!({"amount": 1, "unit": "hours"})),
            ("WEBHOOK", json!({"url": receiver.url("/")})),
            ("REMOVE_FROM_SEGMENT", json!({"segmentId": list["id"]})),
            ("UPDATE_CONTACT", json!({"updates": {"mark": 2}, "subscriptionAction": "unsubscribe"})),
            ("EXIT", json!({})),
        ]).await;
        flow.enable().await;
        create_contact(&app, "bob@example.com", true, json!({"mark": 0})).await;
        track_ok(&app, json!({"email": "ann@example.com", "event": "begun", "data": {"plan": "pro"}})).await;
        flow.only("WAITING").await;
        mail_to(&app, "ann@example.com").await;
        let stats = read(&app, &flow.path("/stats")).await;
        let before = quiet(&app).await;

        let data = |plan: &str| json!({"plan": plan, "fresh": true});
        let events: Vec<Value> = ["ann", "bob", "new"].map(|name| event(name, "begun", "2030-01-01", data(name))).into();
        let all = rehearsed(&app, &flow, &json!({"events": events})).await;
        assert_eq!((&all["summary"]["statuses"], &all["summary"]["mails"]), (&json!({"EXITED": 3}), &json!(3)));
        assert_eq!(of_step(&all["summary"], "WEBHOOK")["completed"], 3);
        let one = rehearsed(&app, &flow, &json!({"contact": "ann@example.com"})).await;
        assert_eq!((&one["summary"]["entered"], &one["summary"]["mails"]), (&json!(1), &json!(1)));
        assert_eq!(quiet(&app).await, before);

        history(&app, &flow, &json!({})).await;
        let mut after = quiet(&app).await;
        let mut expected = before;
        for rows in [&mut after, &mut expected] {
            rows.retain(|table, _| !table.starts_with("job"));
        }
        assert_eq!(after, expected, "beside the job itself");
        assert_eq!(read(&app, &flow.path("/stats")).await, stats);
        assert_eq!((receiver.calls().len(), app.list_all("/mailbox").await.len()), (0, 1));
    }

    async fn workflows_that_begin_themselves_come_to_an_end(engine: Engine) {
        let app = App::start(engine).await;
        let (flow, _) = steps(&app, "contact.subscribed", &[
            ("UPDATE_CONTACT", json!({"subscriptionAction": "unsubscribe"})),
            ("UPDATE_CONTACT", json!({"subscriptionAction": "subscribe"})),
        ]).await;
        flow.change(json!({"allowReentry": true})).await;
        let body = json!({"events": [event("ann", "contact.subscribed", "2030-01-01", json!({}))]});
        // a rehearsal without end takes more and more memory
        let request = app.post(&flow.path("/simulate")).json(&body).timeout(Duration::from_secs(5));
        let told = request.try_send().await.expect("an answer").assert_status(200).json();
        // as many as there would be, within an hour
        assert_eq!(told["summary"]["entered"], 100);
        assert_eq!(told["summary"]["refused"], json!({"too_many": 1}));
    }
}
