//! Moving those who go through a workflow to the version in force: what a dry run says, who goes on where, who stays.

use std::time::Duration;

use futures_util::future::join_all;
use mailwright_testkit::receiver::{Receiver, Reply};
use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::workflow::{Flow, output, taken};
use mailwright_tests::{UNKNOWN_ID, as_project, assert_only_keys, assert_uuid, contact, create_contact};
use mailwright_tests::{column, items, read, text, track_ok};
use serde_json::{Value, json};

/// A little more than an hour.
const OVER_AN_HOUR: Duration = Duration::from_secs(3_601);

/// The configuration of a step that writes `mark`.
fn marks(mark: &str) -> Value {
    json!({"updates": {"mark": mark}})
}

/// An enabled workflow that has contacts wait for `paid`, a day at most, and then marks them `first`; and its steps.
async fn waiting<'a>(app: &'a App, event: &str) -> (Flow<'a>, [String; 2]) {
    let flow = Flow::new(app, event).await;
    let wait = flow.then("WAIT_FOR_EVENT", json!({"eventName": "paid", "timeout": 86_400})).await;
    let mark = flow.then("UPDATE_CONTACT", marks("first")).await;
    flow.enable().await;
    (flow, [wait, mark])
}

/// Begins an execution for a new contact, which waits then. Returns its id.
async fn begun(app: &App, flow: &Flow<'_>, name: &str) -> String {
    let contact = create_contact(app, &format!("{name}@example.com"), true, json!({})).await;
    let id = flow.start(&contact["id"], json!({})).await;
    flow.once(&id, "WAITING").await;
    id
}

/// The same for many contacts at once. Returns their names.
async fn many_begun(app: &App, flow: &Flow<'_>, count: usize) -> Vec<String> {
    let names: Vec<String> = (0..count).map(|n| format!("c{n}")).collect();
    join_all(names.iter().map(|name| begun(app, flow, name))).await;
    names
}

async fn pay(app: &App, name: &str) {
    track_ok(app, json!({"email": format!("{name}@example.com"), "event": "paid"})).await;
}

/// Waits until an execution stands at a step.
async fn until_at(app: &App, flow: &Flow<'_>, execution: &str, step: &str) {
    app.eventually("it stands at the step", async || {
        let found = flow.execution(execution).await;
        (found["status"] == "WAITING" && found["currentStepId"] == *step).then_some(())
    })
    .await;
}

async fn change_step(app: &App, flow: &Flow<'_>, step: &str, change: Value) {
    app.patch(&flow.path(&format!("/steps/{step}"))).json(&change).send().await.assert_status(200);
}

/// The path of the way from one step to another.
async fn link(app: &App, flow: &Flow<'_>, from: &str, to: &str) -> String {
    let whole = read(app, &flow.path("")).await;
    let is_it = |link: &&Value| link["fromStepId"] == *from && link["toStepId"] == *to;
    let link = items(&whole["transitions"]).iter().find(is_it).expect("a transition");
    flow.path(&format!("/transitions/{}", text(&link["id"])))
}

/// Puts what is edited into force.
async fn publish(app: &App, flow: &Flow<'_>) {
    app.post(&flow.path("/publish")).send().await.assert_status(200);
}

/// Puts a version into force that writes something else.
async fn rewrite(app: &App, flow: &Flow<'_>, mark: &str, to: &str) {
    change_step(app, flow, mark, json!({"config": marks(to)})).await;
    publish(app, flow).await;
}

/// What moving would do.
async fn dry_run(app: &App, flow: &Flow<'_>) -> Value {
    let plan = app.post(&flow.path("/migrate")).json(&json!({})).send().await.assert_status(200).json();
    assert_eq!((&plan["dryRun"], &plan["jobId"]), (&json!(true), &Value::Null), "{plan}");
    plan
}

/// What a plan counts, by step or by reason.
fn counts<'a>(plan: &'a Value, list: &str, key: &str) -> Vec<(&'a str, i64)> {
    items(&plan[list]).iter().map(|one| (text(&one[key]), one["count"].as_i64().unwrap_or(-1))).collect()
}

/// How many a plan moves, and how many stay.
fn sums(plan: &Value) -> [i64; 2] {
    let lists = [counts(plan, "moves", "stepId"), counts(plan, "stays", "reason")];
    lists.map(|list| list.iter().map(|(_, count)| count).sum())
}

/// Begins to move whom it can. Returns the job and the plan.
async fn begin_migration(app: &App, flow: &Flow<'_>) -> (String, Value) {
    let body = json!({"dryRun": false});
    let plan = app.post(&flow.path("/migrate")).json(&body).send().await.assert_status(202).json();
    assert_eq!(plan["dryRun"], false, "{plan}");
    assert_uuid(&plan["jobId"]);
    (text(&plan["jobId"]).to_owned(), plan)
}

/// How many a migration moved, and how many stayed, once it is over.
async fn result(app: &App, flow: &Flow<'_>, job: &str) -> [i64; 2] {
    let path = flow.path(&format!("/migrate/{job}"));
    let ended = app
        .eventually("the migration is over", async || {
            let found = read(app, &path).await;
            assert_ne!(found["state"], "failed", "{found}");
            assert_eq!(found["result"].is_null(), found["state"] != "completed", "{found}");
            (found["state"] == "completed").then_some(found)
        })
        .await;
    assert_eq!((&ended["id"], &ended["progress"]), (&json!(job), &json!(100)));
    ["moved", "stayed"].map(|key| ended["result"][key].as_i64().unwrap_or(-1))
}

/// Moves whom it can, as many as the dry run says. Returns how many moved and how many stayed.
async fn migrate(app: &App, flow: &Flow<'_>) -> [i64; 2] {
    let expected = dry_run(app, flow).await;
    let (job, plan) = begin_migration(app, flow).await;
    assert_eq!((&plan["toVersion"], &plan["staying"]), (&expected["toVersion"], &expected["staying"]));
    assert_eq!((&plan["moves"], &plan["stays"]), (&expected["moves"], &expected["stays"]));
    let found = result(app, flow, &job).await;
    assert_eq!(found, sums(&expected), "{expected}");
    found
}

/// The versions and their executions, the newest first.
async fn versions(app: &App, flow: &Flow<'_>) -> Vec<[i64; 2]> {
    let listed = read(app, &flow.path("/versions")).await;
    let numbers = |one: &Value| ["number", "executions"].map(|key| one[key].as_i64().unwrap_or(-1));
    items(&listed).iter().map(numbers).collect()
}

/// The version of a completed execution, and what it wrote.
async fn outcome(app: &App, flow: &Flow<'_>, execution: &str) -> (Option<i64>, Value) {
    let ended = flow.once(execution, "COMPLETED").await;
    let found = contact(app, &ended["contactId"]).await;
    (ended["version"].as_i64(), found["data"]["mark"].clone())
}

both_engines! {
    async fn a_dry_run_changes_nothing_and_says_who_goes_on_and_who_stays(engine: Engine) {
        let app = App::start(engine).await;
        let flow = Flow::new(&app, "signup").await;
        let delay = flow.then("DELAY", json!({"amount": 1, "unit": "hours"})).await;
        let wait = flow.then("WAIT_FOR_EVENT", json!({"eventName": "paid"})).await;
        let mark = flow.then("UPDATE_CONTACT", marks("first")).await;
        flow.enable().await;
        let ann = begun(&app, &flow, "ann").await;
        app.advance(OVER_AN_HOUR).await;
        until_at(&app, &flow, &ann, &wait).await;
        let ids = [ann, begun(&app, &flow, "bob").await, begun(&app, &flow, "cid").await];
        // the version that comes has no DELAY
        app.delete(&flow.path(&format!("/steps/{delay}?splice=true"))).send().await.assert_status(204);
        let nobody = dry_run(&app, &flow).await;
        assert_only_keys(&nobody, &["dryRun", "toVersion", "moves", "stays", "staying", "jobId"]);
        assert_eq!((&nobody["toVersion"], sums(&nobody)), (&json!(1), [0, 0]), "a draft is no version");
        rewrite(&app, &flow, &mark, "second").await;
        let before = flow.executions().await;
        let plan = dry_run(&app, &flow).await;
        assert_eq!((&plan["toVersion"], sums(&plan)), (&json!(2), [1, 2]));
        assert_eq!(counts(&plan, "moves", "stepId"), [(wait.as_str(), 1)]);
        assert_eq!(counts(&plan, "stays", "reason"), [("no_step", 2)]);
        assert_eq!(column(&plan["staying"], "executionId"), ids[1..]);
        let (id, contact) = (&ids[1], &before[1]["contactId"]);
        let bob = json!({"executionId": id, "contactId": contact, "stepId": delay, "reason": "no_step"});
        assert_eq!(plan["staying"][0], bob);
        let bare = app.post(&flow.path("/migrate")).send().await;
        assert_eq!(bare.assert_status(200).json(), plan, "nothing is done unless it is asked for");
        assert_eq!(flow.executions().await, before);
        assert_eq!(versions(&app, &flow).await, [[2, 0], [1, 3]]);

        assert_eq!(migrate(&app, &flow).await, [1, 2]);
        assert_eq!(migrate(&app, &flow).await, [0, 2], "once more moves nobody");
        assert_eq!(versions(&app, &flow).await, [[2, 1], [1, 2]]);
        app.advance(OVER_AN_HOUR).await;
        let outcomes = [("ann", 2, "second"), ("bob", 1, "first"), ("cid", 1, "first")];
        for (id, (name, version, mark)) in ids.iter().zip(outcomes) {
            until_at(&app, &flow, id, &wait).await;
            pay(&app, name).await;
            assert_eq!(outcome(&app, &flow, id).await, (Some(version), json!(mark)));
        }
        assert_eq!((migrate(&app, &flow).await, versions(&app, &flow).await), ([0, 0], vec![[2, 1], [1, 2]]));
    }

    async fn a_plan_names_steps_as_they_are_called_now(engine: Engine) {
        let app = App::start(engine).await;
        let (flow, [wait, _]) = waiting(&app, "signup").await;
        begun(&app, &flow, "ann").await;
        change_step(&app, &flow, &wait, json!({"name": "Payment", "config": {"eventName": "paid"}})).await;
        publish(&app, &flow).await;
        let moves = json!([{"stepId": wait, "stepName": "Payment", "count": 1}]);
        assert_eq!(dry_run(&app, &flow).await["moves"], moves);
    }

    async fn who_is_moved_waits_as_long_and_goes_on_as_the_new_version_says(engine: Engine) {
        let app = App::start(engine).await;
        let flow = Flow::new(&app, "signup").await;
        let delay = flow.then("DELAY", json!({"amount": 1, "unit": "hours"})).await;
        let mark = flow.then("UPDATE_CONTACT", marks("first")).await;
        flow.enable().await;
        let ann = begun(&app, &flow, "ann").await;
        app.advance(Duration::from_mins(30)).await;
        let bob = begun(&app, &flow, "bob").await;
        change_step(&app, &flow, &delay, json!({"config": {"amount": 3, "unit": "hours"}})).await;
        flow.then("UPDATE_CONTACT", json!({"updates": {"more": true}})).await;
        rewrite(&app, &flow, &mark, "second").await;
        let before = [flow.execution(&ann).await, flow.execution(&bob).await];
        assert_eq!(migrate(&app, &flow).await, [2, 0]);
        for (id, before) in [&ann, &bob].into_iter().zip(&before) {
            let moved = flow.execution(id).await;
            assert_eq!((&moved["version"], &moved["status"]), (&json!(2), &json!("WAITING")));
            assert_eq!((&moved["currentStepId"], taken(&moved)), (&json!(delay), taken(before)));
            let until = [&moved, before].map(|one| &one["stepExecutions"][1]["scheduledFor"]);
            assert_eq!(until[0], until[1], "the time that it had");
        }
        let cid = begun(&app, &flow, "cid").await;
        app.advance(Duration::from_mins(31)).await;
        assert_eq!(outcome(&app, &flow, &ann).await, (Some(2), json!("second")));
        let steps = ["TRIGGER COMPLETED", "DELAY COMPLETED", "UPDATE_CONTACT COMPLETED", "UPDATE_CONTACT COMPLETED"];
        assert_eq!(taken(&flow.execution(&ann).await), steps);
        assert_eq!(flow.execution(&bob).await["status"], "WAITING");
        app.advance(Duration::from_mins(30)).await;
        assert_eq!(outcome(&app, &flow, &bob).await, (Some(2), json!("second")));
        assert_eq!(flow.execution(&cid).await["status"], "WAITING", "who began later waits for three hours");
    }

    async fn an_event_still_ends_the_wait_of_who_was_moved(engine: Engine) {
        let app = App::start(engine).await;
        let (flow, [wait, mark]) = waiting(&app, "signup").await;
        let ids = [begun(&app, &flow, "ann").await, begun(&app, &flow, "bob").await, begun(&app, &flow, "cid").await];
        change_step(&app, &flow, &wait, json!({"config": {"eventName": "paid", "timeout": 864_000}})).await;
        flow.change(json!({"goal": {"eventName": "bought"}})).await;
        rewrite(&app, &flow, &mark, "second").await;
        assert_eq!(migrate(&app, &flow).await, [3, 0]);
        pay(&app, "ann").await;
        assert_eq!(outcome(&app, &flow, &ids[0]).await, (Some(2), json!("second")));
        assert_eq!(output(&flow.execution(&ids[0]).await, "WAIT_FOR_EVENT")["waitOutcome"], "EVENT");
        track_ok(&app, json!({"email": "cid@example.com", "event": "bought"})).await;
        assert_eq!(flow.once(&ids[2], "EXITED").await["converted"], true, "by the goal of the new version");
        app.advance(Duration::from_hours(25)).await;
        assert_eq!(outcome(&app, &flow, &ids[1]).await, (Some(2), json!("second")));
        assert_eq!(output(&flow.execution(&ids[1]).await, "WAIT_FOR_EVENT")["waitOutcome"], "TIMEOUT");
    }

    async fn nobody_is_moved_to_where_a_step_would_be_taken_again(engine: Engine) {
        let app = App::start(engine).await;
        let flow = Flow::new(&app, "signup").await;
        let mark = flow.then("UPDATE_CONTACT", marks("first")).await;
        let wait = flow.then("WAIT_FOR_EVENT", json!({"eventName": "paid"})).await;
        flow.enable().await;
        let ann = begun(&app, &flow, "ann").await;
        for (from, to) in [(&flow.trigger, &mark), (&mark, &wait)] {
            app.delete(&link(&app, &flow, from, to).await).send().await.assert_status(204);
        }
        flow.link(&flow.trigger, &wait, json!({})).await;
        publish(&app, &flow).await;
        let bob = begun(&app, &flow, "bob").await;
        assert_eq!(migrate(&app, &flow).await, [1, 0]);
        // what was done before the move counts as well
        flow.link(&wait, &mark, json!({})).await;
        publish(&app, &flow).await;
        let plan = dry_run(&app, &flow).await;
        assert_eq!(counts(&plan, "stays", "reason"), [("would_repeat", 1)]);
        assert_eq!(plan["staying"][0]["executionId"], ann);
        assert_eq!(migrate(&app, &flow).await, [1, 1]);
        for name in ["ann", "bob"] {
            pay(&app, name).await;
        }
        let ended = flow.once(&ann, "COMPLETED").await;
        assert_eq!(ended["version"], 2);
        assert_eq!(taken(&ended), ["TRIGGER COMPLETED", "UPDATE_CONTACT COMPLETED", "WAIT_FOR_EVENT COMPLETED"]);
        assert_eq!(outcome(&app, &flow, &bob).await, (Some(3), json!("first")));
    }

    async fn who_waits_for_an_answer_stays_until_it_came(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_ALLOW_PRIVATE_NETWORKS", "true").start().await;
        let receiver = Receiver::start(|_, count| match count {
            0 => Reply::With(503, "retry-after", "300".to_owned(), String::new()),
            _ => Reply::Status(200, "{}".to_owned()),
        }).await;
        let flow = Flow::new(&app, "signup").await;
        flow.then("WEBHOOK", json!({"url": receiver.url("/")})).await;
        flow.then("WAIT_FOR_EVENT", json!({"eventName": "paid"})).await;
        let mark = flow.then("UPDATE_CONTACT", marks("first")).await;
        flow.enable().await;
        let contact = create_contact(&app, "ann@example.com", true, json!({})).await;
        let ann = flow.start(&contact["id"], json!({})).await;
        app.eventually("the request is made", async || (!receiver.calls().is_empty()).then_some(())).await;
        begun(&app, &flow, "bob").await;
        rewrite(&app, &flow, &mark, "second").await;
        assert_eq!(counts(&dry_run(&app, &flow).await, "stays", "reason"), [("request", 1)]);
        assert_eq!(migrate(&app, &flow).await, [1, 1]);
        app.eventually("the request is made again and answered", async || {
            app.advance(Duration::from_mins(6)).await;
            (flow.execution(&ann).await["status"] == "WAITING").then_some(())
        }).await;
        assert_eq!(flow.execution(&ann).await["version"], 1);
        assert_eq!(migrate(&app, &flow).await, [1, 0], "nothing keeps it any more");
        pay(&app, "ann").await;
        assert_eq!(outcome(&app, &flow, &ann).await, (Some(2), json!("second")));
    }

    async fn what_ended_meanwhile_is_left_as_it_is(engine: Engine) {
        let app = App::start(engine).await;
        let (flow, [wait, mark]) = waiting(&app, "signup").await;
        let ids = [begun(&app, &flow, "ann").await, begun(&app, &flow, "bob").await, begun(&app, &flow, "cid").await];
        rewrite(&app, &flow, &mark, "second").await;
        assert_eq!(counts(&dry_run(&app, &flow).await, "moves", "stepId"), [(wait.as_str(), 3)]);
        pay(&app, "ann").await;
        let paid = flow.once(&ids[0], "COMPLETED").await;
        app.delete(&flow.path(&format!("/executions/{}", ids[1]))).send().await.assert_status(200);
        let cancelled = flow.execution(&ids[1]).await;
        assert_eq!(migrate(&app, &flow).await, [1, 0]);
        for before in [&paid, &cancelled] {
            assert_eq!(flow.execution(text(&before["id"])).await, *before);
        }
        assert_eq!(versions(&app, &flow).await, [[2, 1], [1, 2]]);
        assert_eq!(outcome(&app, &flow, &ids[0]).await, (Some(1), json!("first")));
    }

    async fn moves_and_events_at_the_same_moment_lose_nobody(engine: Engine) {
        let app = App::start(engine).await;
        let (flow, [wait, mark]) = waiting(&app, "signup").await;
        let names = many_begun(&app, &flow, 40).await;
        rewrite(&app, &flow, &mark, "second").await;
        let events = join_all(names[..20].iter().map(|name| pay(&app, name)));
        let ((job, _), _) = tokio::join!(begin_migration(&app, &flow), events);
        let [moved, _] = result(&app, &flow, &job).await;
        let mut on_second = 0;
        for execution in &flow.executions().await {
            let (id, email) = (text(&execution["id"]), &execution["contact"]["email"]);
            let is_paid = names[..20].iter().any(|name| *email == format!("{name}@example.com"));
            let found = flow.once(id, if is_paid { "COMPLETED" } else { "WAITING" }).await;
            assert_eq!(taken(&found).len(), if is_paid { 3 } else { 2 }, "every step once: {found}");
            if is_paid && found["version"] == 1 {
                assert_eq!(outcome(&app, &flow, id).await, (Some(1), json!("first")));
                continue;
            }
            assert_eq!(found["version"], 2);
            assert!(!is_paid || outcome(&app, &flow, id).await.1 == "second", "{found}");
            on_second += 1;
        }
        assert_eq!(on_second, moved);
        assert_eq!(versions(&app, &flow).await, [[2, moved], [1, 40 - moved]]);
        let stats = read(&app, &flow.path("/stats")).await;
        let step = items(&stats["steps"]).iter().find(|step| step["stepId"] == wait).expect("the wait");
        for of in [&stats, step] {
            let figures = ["entered", "waiting", "completed"].map(|name| of[name].as_i64());
            assert_eq!(figures, [Some(40), Some(20), Some(20)], "{of}");
        }
    }

    async fn a_crash_does_not_end_a_migration(engine: Engine) {
        let mut app = App::start(engine).await;
        let (workflow, mark, job) = {
            let (flow, [_, mark]) = waiting(&app, "signup").await;
            many_begun(&app, &flow, 30).await;
            rewrite(&app, &flow, &mark, "second").await;
            let (job, _) = begin_migration(&app, &flow).await;
            (json!({"id": flow.id}), mark, job)
        };
        app.kill();
        app.restart().await;
        let flow = Flow::of(&app, &workflow).await;
        assert_eq!(result(&app, &flow, &job).await, [30, 0]);
        assert_eq!(versions(&app, &flow).await, [[2, 30], [1, 0]]);
        // what was done in a version is still told when the version would have gone
        for name in ["third", "fourth"] {
            app.advance(2 * OVER_AN_HOUR).await;
            rewrite(&app, &flow, &mark, name).await;
        }
        let one = flow.execution(text(&flow.executions().await[0]["id"])).await;
        assert_eq!(taken(&one), ["TRIGGER COMPLETED", "WAIT_FOR_EVENT WAITING"]);
    }

    async fn a_migration_is_of_its_workflow_alone(engine: Engine) {
        let app = App::start(engine).await;
        let (flow, _) = waiting(&app, "signup").await;
        let (other, _) = waiting(&app, "signup").await;
        let neighbour = app.bootstrap("Neighbour", "neighbour.example").await;
        let (job, _) = begin_migration(&app, &flow).await;
        assert_eq!(result(&app, &flow, &job).await, [0, 0]);
        let job = format!("/migrate/{job}");
        for (method, below) in [("POST", "/migrate"), ("GET", "/versions"), ("GET", job.as_str())] {
            let theirs = as_project(&app, &neighbour, method, &flow.path(below)).send().await;
            theirs.assert_error(404, "WORKFLOW_NOT_FOUND");
        }
        for path in [flow.path(&format!("/migrate/{UNKNOWN_ID}")), other.path(&job)] {
            app.get(&path).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        }
    }
}
