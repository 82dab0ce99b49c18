//! The figures of workflows: they follow contacts through every step, whatever ends their ways, and can be recounted.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use mailwright_testkit::receiver::{Receiver, Reply};
use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, Response, both_engines};
use mailwright_tests::workflow::Flow;
use mailwright_tests::{UNKNOWN_ID, as_project, assert_only_keys, column, create_contact, create_template};
use mailwright_tests::{items, read, text, track_ok, with};
use serde_json::{Value, json};

/// A little more than contacts wait here.
const OVER_AN_HOUR: Duration = Duration::from_secs(3_601);
/// The figures of a workflow.
const WHOLE: [&str; 7] = ["entered", "waiting", "completed", "exited", "failed", "cancelled", "converted"];
/// The figures of a step.
const STEP: [&str; 5] = ["entered", "waiting", "completed", "skipped", "failed"];
/// Some figures of mails.
const MAILS: [&str; 4] = ["created", "sent", "bounced", "unsent"];
/// The figures of mails that only their recipients, and the hosts of these, can bring about.
const LATER: [&str; 4] = ["delivered", "opened", "clicked", "complained"];

async fn stats(app: &App, flow: &Flow<'_>) -> Value {
    read(app, &flow.path("/stats")).await
}

/// Some figures, none of which is ever less than 0.
fn figures<const N: usize>(of: &Value, names: [&str; N]) -> [i64; N] {
    let found = names.map(|name| of[name].as_i64().unwrap_or_else(|| panic!("no {name} in {of}")));
    assert!(found.iter().all(|figure| *figure >= 0), "less than nobody: {of}");
    found
}

/// The figures of a step.
fn of_step(stats: &Value, id: &str) -> [i64; 5] {
    let step = items(&stats["steps"]).iter().find(|step| step["stepId"] == *id);
    figures(step.unwrap_or_else(|| panic!("no step {id} in {stats}")), STEP)
}

/// What the figures must be by the executions themselves, of which none was deleted, and none goes on meanwhile.
async fn assert_recounted(app: &App, flow: &Flow<'_>) {
    let (stats, executions) = (stats(app, flow).await, flow.executions().await);
    let having = |is: &dyn Fn(&Value) -> bool| executions.iter().filter(|one| is(one)).count() as i64;
    let ended = |status: &str| having(&|one| one["status"] == status);
    let expected = [
        executions.len() as i64,
        ended("RUNNING") + ended("WAITING"),
        ended("COMPLETED"),
        ended("EXITED"),
        ended("FAILED"),
        ended("CANCELLED"),
        having(&|one| one["converted"] == true),
    ];
    assert_eq!(figures(&stats, WHOLE), expected, "{stats}");
    let mut steps: BTreeMap<String, [i64; 5]> = BTreeMap::new();
    for execution in &executions {
        let told = flow.execution(text(&execution["id"])).await;
        for step in items(&told["stepExecutions"]) {
            let counted = steps.entry(text(&step["stepId"]).to_owned()).or_default();
            counted[0] += 1;
            counted[match text(&step["status"]) {
                "COMPLETED" => 2,
                "SKIPPED" => 3,
                "FAILED" => 4,
                _ => 1,
            }] += 1;
        }
    }
    for step in items(&stats["steps"]) {
        let counted = steps.remove(text(&step["stepId"])).unwrap_or_default();
        assert_eq!(figures(step, STEP), counted, "{step}");
    }
    assert!(steps.is_empty(), "steps that are not counted: {steps:?}");
    for (index, name) in MAILS.into_iter().enumerate() {
        let of_steps = items(&stats["steps"]).iter().map(|step| figures(&step["emails"], MAILS)[index]);
        assert_eq!(figures(&stats["emails"], MAILS)[index], of_steps.sum::<i64>(), "{name} of all steps");
    }
}

/// The figures once every mail that was made has its outcome, and there are so many.
async fn with_mails(app: &App, flow: &Flow<'_>, count: i64) -> Value {
    app.eventually(&format!("{count} mails have an outcome"), async || {
        let found = stats(app, flow).await;
        let [created, sent, bounced, unsent] = figures(&found["emails"], MAILS);
        (created == count && sent + bounced + unsent == count).then_some(found)
    })
    .await
}

/// An enabled workflow with a marketing mail, an hour's wait for `paid`, a condition, and then an EXIT for those with
/// the plan `pro`, and a WEBHOOK that fails for others. The goal is `bought`. And its five steps.
async fn funnel<'a>(app: &'a App, event: &str) -> (Flow<'a>, [String; 5]) {
    let template = create_template(app, &json!({"type": "MARKETING"})).await;
    let flow = Flow::new(app, event).await;
    let mail = flow.then("SEND_EMAIL", json!({"templateId": template["id"]})).await;
    let wait = flow.then("WAIT_FOR_EVENT", json!({"eventName": "paid", "timeout": 3600})).await;
    let is_pro = json!({"field": "data.plan", "operator": "equals", "value": "pro"});
    let condition = flow.then("CONDITION", is_pro).await;
    let exit = flow.loose("EXIT", json!({})).await;
    // an address that is never called
    let hook = flow.loose("WEBHOOK", json!({"url": "http://10.0.0.1/"})).await;
    flow.link(&condition, &exit, json!({"branch": "yes"})).await;
    flow.link(&condition, &hook, json!({"branch": "no"})).await;
    flow.change(json!({"goal": {"eventName": "bought"}})).await;
    flow.enable().await;
    (flow, [mail, wait, condition, exit, hook])
}

/// Begins an execution for a new contact, which waits then. Returns the contact and the id.
async fn begun(app: &App, flow: &Flow<'_>, name: &str, subscribed: bool, data: Value) -> (Value, String) {
    let contact = create_contact(app, &format!("{name}@example.com"), subscribed, data).await;
    let id = flow.start(&contact["id"], json!({})).await;
    flow.once(&id, "WAITING").await;
    (contact, id)
}

async fn track(app: &App, name: &str, event: &str) -> Value {
    track_ok(app, json!({"email": format!("{name}@example.com"), "event": event})).await
}

async fn delete(app: &App, contact: &Value) {
    app.delete(&format!("/contacts/{}", text(&contact["id"]))).send().await.assert_status(204);
}

async fn cancel(app: &App, flow: &Flow<'_>, id: &str) -> Response {
    app.delete(&flow.path(&format!("/executions/{id}"))).send().await
}

/// Has an event lead a contact to the EXIT, and at once the same event, the goal, a deletion or a cancellation.
async fn end(app: &App, flow: &Flow<'_>, name: &str, (contact, id): &(Value, String), how: usize) {
    let other = async {
        match how {
            0 => drop(track(app, name, "paid").await),
            1 => drop(track(app, name, "bought").await),
            2 => delete(app, contact).await,
            _ => drop(cancel(app, flow, id).await),
        }
    };
    tokio::join!(track(app, name, "paid"), other);
}

both_engines! {
    async fn figures_follow_contacts_through_every_step(engine: Engine) {
        let app = App::start(engine).await;
        let (flow, [mail, wait, condition, exit, hook]) = funnel(&app, "signup").await;
        let nobody = stats(&app, &flow).await;
        assert_eq!(figures(&nobody, WHOLE), [0; 7]);
        let kinds = ["TRIGGER", "SEND_EMAIL", "WAIT_FOR_EVENT", "CONDITION", "EXIT", "WEBHOOK"];
        assert_eq!(column(&nobody["steps"], "type"), kinds);
        let people = [("ann", "pro"), ("bob", "free"), ("cid", "pro"), ("dee", "pro"), ("eve", "pro"), ("fay", "pro")];
        let mut ids = Vec::new();
        for (name, plan) in people {
            ids.push(begun(&app, &flow, name, name != "fay", json!({"plan": plan})).await.1);
        }
        let all = with_mails(&app, &flow, 5).await;
        assert_eq!(figures(&all, WHOLE), [6, 6, 0, 0, 0, 0, 0]);
        assert_eq!((of_step(&all, &mail), of_step(&all, &wait)), ([6, 0, 5, 1, 0], [6, 6, 0, 0, 0]));
        for (name, event, index, status) in
            [("ann", "paid", 0, "EXITED"), ("bob", "paid", 1, "FAILED"), ("cid", "bought", 2, "EXITED")]
        {
            track(&app, name, event).await;
            flow.once(&ids[index], status).await;
        }
        cancel(&app, &flow, &ids[3]).await.assert_status(200);
        let found = stats(&app, &flow).await;
        assert_eq!(figures(&found, WHOLE), [6, 2, 0, 2, 1, 1, 1]);
        for (step, expected) in [
            (&flow.trigger, [6, 0, 6, 0, 0]),
            (&mail, [6, 0, 5, 1, 0]),
            (&wait, [6, 2, 2, 2, 0]),
            (&condition, [2, 0, 2, 0, 0]),
            (&exit, [1, 0, 1, 0, 0]),
            (&hook, [1, 0, 0, 0, 1]),
        ] {
            assert_eq!(of_step(&found, step), expected, "{step} in {found}");
        }
        assert_eq!(figures(&found["emails"], MAILS), [5, 5, 0, 0]);
        assert_eq!(figures(&found["emails"], LATER), [0; 4], "nobody reported any of it");
        assert_recounted(&app, &flow).await;
        app.advance(OVER_AN_HOUR).await;
        for id in &ids[4..] {
            flow.once(id, "EXITED").await;
        }
        assert_eq!(figures(&stats(&app, &flow).await, WHOLE), [6, 0, 0, 4, 1, 1, 1]);
        assert_recounted(&app, &flow).await;
    }

    async fn a_goal_is_counted_apart_from_other_ends(engine: Engine) {
        let app = App::start(engine).await;
        let filter = json!({"field": "data.plan", "operator": "equals", "value": "pro"});
        let filter = json!({"filter": {"logic": "AND", "groups": [{"filters": [filter]}]}});
        for (event, goal) in [("first", json!({"eventName": "bought"})), ("second", filter)] {
            let flow = Flow::new(&app, event).await;
            let delay = flow.then("DELAY", json!({"amount": 1, "unit": "hours"})).await;
            let exit = flow.then("EXIT", json!({})).await;
            flow.change(json!({"goal": goal})).await;
            flow.enable().await;
            for letter in ["a", "b", "c"] {
                begun(&app, &flow, &format!("{letter}-{event}"), true, json!({})).await;
            }
            for (letter, event_of_it, plan) in [("a", "bought", "pro"), ("b", "seen", "free")] {
                let body = json!({"email": format!("{letter}-{event}@example.com"), "event": event_of_it});
                track_ok(&app, with(body, &json!({"data": {"plan": plan}}))).await;
            }
            app.eventually("one reached the goal", async || {
                (figures(&stats(&app, &flow).await, WHOLE) == [3, 2, 0, 1, 0, 0, 1]).then_some(())
            }).await;
            assert_eq!(of_step(&stats(&app, &flow).await, &delay), [3, 2, 0, 1, 0]);
            app.advance(OVER_AN_HOUR).await;
            app.eventually("the others came to the end", async || {
                (figures(&stats(&app, &flow).await, WHOLE) == [3, 0, 0, 3, 0, 0, 1]).then_some(())
            }).await;
            let found = stats(&app, &flow).await;
            assert_eq!((of_step(&found, &delay), of_step(&found, &exit)), ([3, 0, 2, 1, 0], [2, 0, 2, 0, 0]));
            // one who is where the workflow wants it before the first step
            if event == "second" {
                let contact = create_contact(&app, "pro@example.com", true, json!({"plan": "pro"})).await;
                let id = flow.start(&contact["id"], json!({})).await;
                assert_eq!(flow.once(&id, "EXITED").await["converted"], true);
                assert_eq!(figures(&stats(&app, &flow).await, WHOLE), [4, 0, 0, 4, 0, 0, 2]);
            }
            assert_recounted(&app, &flow).await;
        }
    }

    async fn mails_are_counted_by_what_became_of_them(engine: Engine) {
        let server = ScriptedServer::start(|to, _| match to {
            "gone@example.com" => Answer::RefuseRcpt(550, "5.1.1 unknown"),
            "picky@example.com" => Answer::RefuseData(554, "5.6.0 not this"),
            _ => Answer::Accept,
        })
        .await;
        let app = App::builder(engine).smtp(server.port).start().await;
        let template = create_template(&app, &json!({})).await;
        let flow = Flow::new(&app, "signup").await;
        let mail = json!({"templateId": template["id"]});
        let first = flow.then("SEND_EMAIL", mail.clone()).await;
        flow.then("DELAY", json!({"amount": 1, "unit": "hours"})).await;
        let second = flow.then("SEND_EMAIL", mail).await;
        flow.enable().await;
        let mut begun_by = Vec::new();
        for name in ["there", "gone", "picky"] {
            begun_by.push(begun(&app, &flow, name, true, json!({})).await);
        }
        let found = with_mails(&app, &flow, 3).await;
        assert_eq!(figures(&found["emails"], MAILS), [3, 1, 1, 1]);
        app.advance(OVER_AN_HOUR).await;
        for (_, id) in &begun_by {
            flow.once(id, "COMPLETED").await;
        }
        let found = with_mails(&app, &flow, 5).await;
        assert_eq!(figures(&found["emails"], MAILS), [5, 2, 1, 2]);
        let of = |id: &str| {
            let step = items(&found["steps"]).iter().find(|step| step["stepId"] == *id).expect("a step");
            (figures(step, STEP), figures(&step["emails"], MAILS))
        };
        assert_eq!(of(&first), ([3, 0, 3, 0, 0], [3, 1, 1, 1]));
        assert_eq!(of(&second), ([3, 0, 2, 1, 0], [2, 1, 0, 1]), "an address that bounced gets no other mail");
        assert_recounted(&app, &flow).await;
        for (contact, _) in &begun_by {
            delete(&app, contact).await;
        }
        assert_eq!(stats(&app, &flow).await, found, "what happened stays counted");
    }

    async fn who_is_deleted_or_cancelled_waits_no_more(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_ALLOW_PRIVATE_NETWORKS", "true").start().await;
        let receiver = Receiver::start(|_, _| Reply::Status(503, "busy".to_owned())).await;
        let flow = Flow::new(&app, "signup").await;
        let branch = |id: &str| json!({"id": id, "name": id, "operator": "equals", "value": id});
        let branches = json!([branch("delay"), branch("wait"), branch("hook")]);
        let choice = flow.then("CONDITION", json!({"mode": "multi", "field": "data.at", "branches": branches})).await;
        let mut steps = Vec::new();
        for (at, kind, config) in [
            ("delay", "DELAY", json!({"amount": 1, "unit": "hours"})),
            ("wait", "WAIT_FOR_EVENT", json!({"eventName": "paid"})),
            ("hook", "WEBHOOK", json!({"url": receiver.url("/")})),
        ] {
            let step = flow.loose(kind, config).await;
            flow.link(&choice, &step, json!({"branch": at})).await;
            steps.push(step);
        }
        flow.enable().await;
        let mut contacts = Vec::new();
        for (n, at) in ["delay", "wait", "hook", "delay", "wait", "hook", "none"].into_iter().enumerate() {
            let contact = create_contact(&app, &format!("c{n}@example.com"), true, json!({"at": at})).await;
            flow.start(&contact["id"], json!({})).await;
            contacts.push(contact);
        }
        app.eventually("both requests are made", async || (receiver.calls().len() >= 2).then_some(())).await;
        app.eventually("all are where they stay", async || {
            (figures(&stats(&app, &flow).await, WHOLE) == [7, 6, 1, 0, 0, 0, 0]).then_some(())
        }).await;
        for (left, contact) in [5, 4, 3].into_iter().zip(&contacts) {
            delete(&app, contact).await;
            assert_eq!(figures(&stats(&app, &flow).await, WHOLE), [7, left, 1, 0, 0, 6 - left, 0]);
        }
        let found = stats(&app, &flow).await;
        assert!(steps.iter().all(|step| of_step(&found, step) == [2, 1, 0, 1, 0]), "{found}");
        let cancelled = app.post(&flow.path("/executions/cancel-all")).send().await.assert_status(200);
        assert_eq!(cancelled.json()["cancelled"], 3);
        let found = stats(&app, &flow).await;
        assert_eq!(figures(&found, WHOLE), [7, 0, 1, 0, 0, 6, 0]);
        assert!(steps.iter().all(|step| of_step(&found, step) == [2, 0, 0, 2, 0]), "{found}");
        for contact in &contacts[3..] {
            delete(&app, contact).await;
        }
        app.advance(OVER_AN_HOUR).await;
        assert_eq!(stats(&app, &flow).await, found, "what happened stays counted");
        assert_eq!(read(&app, &flow.path("/executions")).await["total"], 0);
    }

    async fn many_ends_at_the_same_moment_are_all_counted(engine: Engine) {
        let app = App::start(engine).await;
        let (flow, steps) = funnel(&app, "signup").await;
        let names: Vec<String> = (0..40).map(|n| format!("c{n}")).collect();
        let all = names.iter().map(|name| begun(&app, &flow, name, false, json!({"plan": "pro"})));
        let all = join_all(all).await;
        let ways = names.iter().zip(&all).enumerate();
        join_all(ways.map(|(n, (name, begun))| end(&app, &flow, name, begun, n % 4))).await;
        let found = app.eventually("nobody is on the way", async || {
            let found = stats(&app, &flow).await;
            (found["waiting"] == 0).then_some(found)
        }).await;
        let [entered, _, completed, exited, failed, cancelled, converted] = figures(&found, WHOLE);
        let executions = flow.executions().await;
        let having = |key: &str, value: Value| executions.iter().filter(|one| one[key] == value).count() as i64;
        assert_eq!((entered, completed, failed, executions.len()), (40, 0, 0, 30), "{found}");
        assert_eq!(converted, having("converted", json!(true)));
        // those that were deleted came to the EXIT before, or were on the way
        let exited_before = exited - having("status", json!("EXITED"));
        let on_the_way = cancelled - having("status", json!("CANCELLED"));
        assert!(exited_before >= 0 && on_the_way >= 0 && exited_before + on_the_way == 10, "{found}");
        for step in &steps {
            assert_eq!(of_step(&found, step)[1], 0, "nobody waits at {step}: {found}");
        }
    }

    async fn figures_hold_through_a_crash(engine: Engine) {
        let mut app = App::start(engine).await;
        let names: Vec<String> = (0..30).map(|n| format!("c{n}")).collect();
        let workflow = {
            let (flow, _) = funnel(&app, "signup").await;
            join_all(names.iter().map(|name| track(&app, name, "signup"))).await;
            json!({"id": flow.id})
        };
        app.kill();
        app.restart().await;
        let before = {
            let flow = Flow::of(&app, &workflow).await;
            with_mails(&app, &flow, 30).await;
            join_all(names[..10].iter().map(|name| track(&app, name, "bought"))).await;
            app.eventually("ten reached the goal", async || {
                (figures(&stats(&app, &flow).await, WHOLE) == [30, 20, 0, 10, 0, 0, 10]).then_some(())
            }).await;
            assert_recounted(&app, &flow).await;
            stats(&app, &flow).await
        };
        let emails = app.list_all("/emails").await;
        let sent = emails.iter().filter(|email| email["status"] == "SENT").count() as i64;
        assert_eq!((emails.len(), figures(&before["emails"], MAILS)), (30, [30, sent, 0, 30 - sent]));
        app.kill();
        app.restart().await;
        let flow = Flow::of(&app, &workflow).await;
        assert_eq!(stats(&app, &flow).await, before);
    }

    async fn steps_that_are_gone_stay_counted(engine: Engine) {
        let app = App::start(engine).await;
        let (flow, [mail, wait, ..]) = funnel(&app, "signup").await;
        let (_, ann) = begun(&app, &flow, "ann", true, json!({"plan": "pro"})).await;
        with_mails(&app, &flow, 1).await;
        app.delete(&flow.path(&format!("/steps/{mail}?splice=true"))).send().await.assert_status(204);
        app.post(&flow.path("/publish")).send().await.assert_status(200);
        let (_, bob) = begun(&app, &flow, "bob", true, json!({"plan": "pro"})).await;
        app.post(&flow.path("/migrate")).json(&json!({"dryRun": false})).send().await.assert_status(202);
        app.eventually("she is moved", async || (flow.execution(&ann).await["version"] == 2).then_some(())).await;
        let found = stats(&app, &flow).await;
        assert_eq!((of_step(&found, &mail), of_step(&found, &wait)), ([1, 0, 1, 0, 0], [2, 2, 0, 0, 0]));
        assert_eq!(figures(&found["emails"], MAILS), [1, 1, 0, 0]);
        for (name, id) in [("ann", &ann), ("bob", &bob)] {
            track(&app, name, "paid").await;
            flow.once(id, "EXITED").await;
        }
        assert_recounted(&app, &flow).await;

        // a copy begins with nobody, and only the project sees either
        let copy = app.post(&flow.path("/duplicate")).send().await.assert_status(201).json();
        let copied = Flow::of(&app, &copy).await;
        assert_eq!(figures(&stats(&app, &copied).await, WHOLE), [0; 7]);
        assert_only_keys(&stats(&app, &copied).await, &[&["workflowId", "emails", "steps"][..], &WHOLE].concat());
        let neighbour = app.bootstrap("Neighbour", "neighbour.example").await;
        let theirs = as_project(&app, &neighbour, "GET", &flow.path("/stats"));
        theirs.send().await.assert_error(404, "WORKFLOW_NOT_FOUND");
        app.get(&format!("/workflows/{UNKNOWN_ID}/stats")).send().await.assert_error(404, "WORKFLOW_NOT_FOUND");
    }
}
