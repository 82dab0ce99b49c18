//! What begins only when somebody says so: workflows that are started by hand, and segments that are enrolled by a job.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::workflow::{Flow, output};
use mailwright_tests::{UNKNOWN_ID, as_project, assert_envelope, assert_keys, assert_only_keys, assert_uuid};
use mailwright_tests::{column, create_contact, issue, read, text, track_ok};
use serde_json::{Value, json};

use super::calendar::{Year, add, enabled, enrol, exit, list, manual, names, queue};
use super::calendar::{result, schedule, segment, wait};

/// More contacts than a step of the job looks at.
const MANY: usize = 520;

/// So many addresses.
fn addresses(count: usize) -> Value {
    (0..count).map(|n| format!("c{n}@example.com")).collect()
}

/// So many contacts have an execution, none of them two.
async fn assert_each_once(app: &App, flow: &Flow<'_>, count: usize) {
    let mut found = Vec::new();
    for page in 1..=count / 100 + 1 {
        let shown = read(app, &flow.path(&format!("/executions?pageSize=100&page={page}"))).await;
        assert_eq!(shown["total"], count);
        found.extend(column(&shown["data"], "contactId").into_iter().map(str::to_owned));
    }
    let distinct: BTreeSet<&String> = found.iter().collect();
    assert_eq!((found.len(), distinct.len()), (count, count));
}

both_engines! {
    async fn nothing_but_a_call_begins_a_manual_workflow(engine: Engine) {
        let app = App::start(engine).await;
        let witness = enabled(&app, &json!({"triggerConfig": {"eventName": "signup"}}), exit()).await;
        for (n, change) in [manual(), json!({"triggerType": "MANUAL"})].into_iter().enumerate() {
            let flow = enabled(&app, &json!({"triggerConfig": {"eventName": "signup"}}), exit()).await;
            assert_eq!(flow.change(change).await["triggerType"], "MANUAL");
            let email = format!("c{n}@example.com");
            for event in ["manual", "MANUAL", "signup"] {
                track_ok(&app, json!({"email": email, "event": event})).await;
            }
            let contact = create_contact(&app, &format!("other{n}@example.com"), true, json!({})).await;
            let tracked = track_ok(&app, json!({"email": email, "event": "signup"})).await["contact"].clone();
            app.eventually("an event begins the other workflow", async || {
                let begun = witness.executions().await;
                begun.iter().any(|execution| execution["contactId"] == tracked).then_some(())
            }).await;
            assert!(flow.executions().await.is_empty());
            let id = flow.start(&contact["id"], json!({"why": "by hand"})).await;
            let ended = flow.once(&id, "EXITED").await;
            assert_eq!((&ended["contactId"], &ended["context"]), (&contact["id"], &json!({"why": "by hand"})));
            assert_eq!(ended["sourceEventId"], Value::Null);
            assert_eq!(output(&ended, "TRIGGER")["eventName"], "manual");
            assert_eq!(flow.executions().await.len(), 1);

            // an event may start it from now on
            flow.change(json!({"triggerType": "EVENT", "triggerConfig": {"eventName": "came"}})).await;
            let came = track_ok(&app, json!({"email": email, "event": "came"})).await;
            flow.of_contact(&came["contact"], 1).await;
        }
    }

    async fn a_segment_is_enrolled_by_a_job(engine: Engine) {
        let app = App::start(engine).await;
        create_contact(&app, "first@example.com", true, json!({})).await;
        let listed = list(&app, &addresses(MANY)).await;
        create_contact(&app, "last@example.com", true, json!({})).await;
        let flow = enabled(&app, &manual(), exit()).await;
        flow.change(json!({"allowReentry": false})).await;
        let queued = queue(&app, &flow, &listed).await;
        assert_only_keys(&queued, &["message", "jobId"]);
        assert_uuid(&queued["jobId"]);
        assert_eq!(result(&app, &flow, &queued).await, json!({"enrolled": MANY, "refused": 0}));
        let status = read(&app, &flow.path(&format!("/enrol/{}", text(&queued["jobId"])))).await;
        assert_keys(&status, &["id", "state", "progress", "result"]);
        assert_each_once(&app, &flow, MANY).await;
        let newest = flow.executions().await.remove(0);
        let ended = flow.once(text(&newest["id"]), "EXITED").await;
        assert_eq!((&ended["context"], &ended["sourceEventId"]), (&json!({"season": "spring"}), &Value::Null));

        add(&app, &listed, &json!(["late@example.com"])).await;
        let other = enabled(&app, &manual(), exit()).await;
        let all = json!({"enrolled": MANY + 1, "refused": 0});
        assert_eq!(enrol(&app, &other, &listed).await, all, "another workflow, later");
        assert_each_once(&app, &flow, MANY).await;
        assert_eq!(enrol(&app, &flow, &listed).await, json!({"enrolled": 1, "refused": MANY}));
        assert_each_once(&app, &flow, MANY + 1).await;
    }

    async fn members_of_a_dynamic_segment_are_enrolled_as_they_are_then(engine: Engine) {
        let app = App::start(engine).await;
        let pro = json!({"field": "data.plan", "operator": "equals", "value": "pro"});
        let pro = json!({"name": "Pro", "condition": {"logic": "AND", "groups": [{"filters": [pro]}]}});
        let pro = segment(&app, &pro).await;
        for (name, subscribed, plan) in [("ann", true, "pro"), ("bob", false, "pro"), ("cid", true, "free")] {
            create_contact(&app, &format!("{name}@example.com"), subscribed, json!({"plan": plan})).await;
        }
        let flow = enabled(&app, &manual(), wait()).await;
        assert_eq!(enrol(&app, &flow, &pro).await, json!({"enrolled": 2, "refused": 0}));
        assert_eq!(names(&flow).await, "ann bob", "a subscription is what marketing mail needs, not a workflow");
        track_ok(&app, json!({"email": "cid@example.com", "event": "seen", "data": {"plan": "pro"}})).await;
        track_ok(&app, json!({"email": "ann@example.com", "event": "seen", "data": {"plan": "free"}})).await;
        create_contact(&app, "dee@example.com", true, json!({"plan": "pro"})).await;
        assert_eq!(enrol(&app, &flow, &pro).await, json!({"enrolled": 2, "refused": 1}), "bob is on his way");
        assert_eq!(names(&flow).await, "ann bob cid dee");
        for contact in ["ann", "cid"] {
            let left = flow.executions().await;
            let email = format!("{contact}@example.com");
            let id = left.iter().find(|execution| execution["contact"]["email"] == email.as_str());
            let id = text(&id.expect("an execution")["id"]).to_owned();
            flow.once(&id, "WAITING").await;
            track_ok(&app, json!({"email": email, "event": "paid"})).await;
            flow.once(&id, "COMPLETED").await;
        }
        assert_eq!(enrol(&app, &flow, &pro).await, json!({"enrolled": 1, "refused": 2}), "cid may go again");
        assert_eq!(names(&flow).await, "ann bob cid cid dee");
    }

    async fn an_enrolment_survives_a_crash_and_enrols_nobody_twice(engine: Engine) {
        let mut app = App::start(engine).await;
        let (workflow, queued) = {
            let listed = list(&app, &addresses(MANY)).await;
            let flow = enabled(&app, &manual(), exit()).await;
            (json!({"id": flow.id}), queue(&app, &flow, &listed).await)
        };
        app.kill();
        app.restart().await;
        let flow = Flow::of(&app, &workflow).await;
        assert_eq!(result(&app, &flow, &queued).await, json!({"enrolled": MANY, "refused": 0}));
        assert_each_once(&app, &flow, MANY).await;
    }

    async fn two_processes_and_many_requests_enrol_each_contact_once(engine: Engine) {
        const MEMBERS: usize = 40;
        const REQUESTS: usize = 8;
        let app = App::start(engine).await;
        let two = if engine == Engine::Postgres { Some(app.second_node().await) } else { None };
        let nodes = [&app, two.as_ref().unwrap_or(&app)];
        let year = Year::begin(&app).await;
        let listed = list(&app, &addresses(MEMBERS)).await;
        let mornings = enabled(&app, &year.mornings(&listed), exit()).await;
        for (moment, times) in [("01-05T09:00", 1), ("01-06T09:00", 2)] {
            year.after(moment).await;
            assert_eq!(year.runs(&mornings).await, times * MEMBERS, "{moment}");
        }
        let lasting = enabled(&app, &manual(), wait()).await;
        let queued = join_all((0..REQUESTS).map(|n| queue(nodes[n % 2], &lasting, &listed))).await;
        let (mut begun, mut refused) = (0, 0);
        for (n, job) in queued.iter().enumerate() {
            let found = result(nodes[(n + 1) % 2], &lasting, job).await;
            begun += found["enrolled"].as_u64().expect("a number");
            refused += found["refused"].as_u64().expect("a number");
        }
        assert_eq!((begun as usize, refused as usize), (MEMBERS, (REQUESTS - 1) * MEMBERS));
        assert_each_once(&app, &lasting, MEMBERS).await;
    }

    async fn what_cannot_be_enrolled_is_refused(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let listed = list(&app, &json!(["ann@example.com"])).await;
        let body = json!({"segmentId": listed["id"]});
        let flow = Flow::new(&app, "never").await;
        flow.then("EXIT", json!({})).await;
        let path = flow.path("/enrol");
        let post = async |path: &str, body: &Value| app.post(path).json(body).send().await;
        post(&path, &body).await.assert_error(400, "BAD_REQUEST");
        flow.enable().await;
        assert_envelope(&post(&format!("/workflows/{UNKNOWN_ID}/enrol"), &body).await, 404);
        assert_envelope(&post(&path, &json!({"segmentId": UNKNOWN_ID})).await, 404);
        assert_envelope(&as_project(&app, &other, "POST", &path).json(&body).send().await, 404);
        let foreign = json!({"name": "Theirs", "type": "STATIC"});
        let foreign = as_project(&app, &other, "POST", "/segments").json(&foreign).send().await;
        let foreign = foreign.assert_status(201).json();
        assert_envelope(&post(&path, &json!({"segmentId": foreign["id"]})).await, 404);
        for wrong in [json!({}), json!({"segmentId": "all"}), json!({"segmentId": 5})] {
            issue(&post(&path, &wrong).await, "segmentId");
        }
        for context in [json!("x"), json!([1]), json!({"x": "x".repeat(65 * 1024)})] {
            let answer = post(&path, &json!({"segmentId": listed["id"], "context": context})).await;
            issue(&answer, "context");
        }
        assert!(flow.executions().await.is_empty());

        let queued = queue(&app, &flow, &listed).await;
        assert_eq!(result(&app, &flow, &queued).await, json!({"enrolled": 1, "refused": 0}));
        let job = text(&queued["jobId"]);
        for unknown in [UNKNOWN_ID, "job"] {
            assert_envelope(&app.get(&format!("{path}/{unknown}")).send().await, 404);
        }
        let theirs = as_project(&app, &other, "GET", &format!("{path}/{job}")).send().await;
        assert_envelope(&theirs, 404);
        // the job is one of the first workflow
        let second = Flow::new(&app, "never").await;
        assert_envelope(&app.get(&second.path(&format!("/enrol/{job}"))).send().await, 404);
    }

    async fn a_segment_that_a_schedule_uses_is_not_deleted(engine: Engine) {
        let app = App::start(engine).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        let [old, new] = [list(&app, &json!([])).await, list(&app, &json!([])).await];
        let delete = async |segment: &Value| {
            let path = format!("/segments/{}", text(&segment["id"]));
            app.delete(&path).send().await
        };
        let at = json!({"start": "2099-01-05T09:00"});
        let flow = Flow::new(&app, "never").await;
        let (kind, config) = wait();
        flow.then(kind, config).await;
        flow.change(schedule(&old, &at)).await;
        delete(&old).await.assert_error(409, "CONFLICT");
        flow.enable().await;
        delete(&old).await.assert_error(409, "CONFLICT");
        // while somebody goes through it, one is in force and the other one in the draft
        let execution = flow.start(&ann["id"], json!({})).await;
        flow.once(&execution, "WAITING").await;
        assert_eq!(flow.change(schedule(&new, &at)).await["isDraft"], true);
        for used in [&old, &new] {
            delete(used).await.assert_error(409, "CONFLICT");
        }
        app.post(&flow.path("/publish")).send().await.assert_status(200);
        delete(&old).await.assert_status(204);
        delete(&new).await.assert_error(409, "CONFLICT");
        app.post(&flow.path("/executions/cancel-all")).send().await.assert_status(200);
        app.delete(&flow.path("")).send().await.assert_status(204);
        delete(&new).await.assert_status(204);
    }
}
