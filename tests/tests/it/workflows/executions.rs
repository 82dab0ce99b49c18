//! Executions as the API shows them: the list, one of them, cancelling one or all, and what is not there.

use std::time::Duration;

use futures_util::future::join_all;
use mailwright_testkit::{App, Engine, Response, both_engines};
use mailwright_tests::workflow::{Flow, output, taken};
use mailwright_tests::{UNKNOWN_ID, as_project, assert_envelope, assert_keys, assert_only_keys};
use mailwright_tests::{assert_timestamp, assert_uuid, contact, create_contact, items, read, text, track_ok};
use serde_json::{Value, json};

/// An enabled workflow that waits for `paid`, and then ends.
async fn waiting<'a>(app: &'a App, event: &str) -> Flow<'a> {
    let flow = Flow::new(app, event).await;
    flow.then("WAIT_FOR_EVENT", json!({"eventName": "paid"})).await;
    flow.then("EXIT", json!({})).await;
    flow.enable().await;
    flow
}

/// Begins an execution for each of these new contacts, one after another. Returns the contacts and the ids.
async fn begin(app: &App, flow: &Flow<'_>, emails: &[&str]) -> Vec<(Value, String)> {
    let mut begun = Vec::new();
    for email in emails {
        let contact = create_contact(app, email, true, json!({})).await;
        let id = flow.start(&contact["id"], json!({})).await;
        flow.once(&id, "WAITING").await;
        begun.push((contact, id));
    }
    begun
}

async fn pay(app: &App, email: &str) {
    track_ok(app, json!({"email": email, "event": "paid"})).await;
}

fn one(flow: &Flow<'_>, id: &str) -> String {
    flow.path(&format!("/executions/{id}"))
}

async fn cancel(app: &App, flow: &Flow<'_>, id: &str) -> Response {
    app.delete(&one(flow, id)).send().await
}

async fn cancel_all(app: &App, flow: &Flow<'_>) -> Value {
    app.post(&flow.path("/executions/cancel-all")).send().await.assert_status(200).json()
}

/// The addresses of the contacts on one page of the list.
async fn emails(app: &App, flow: &Flow<'_>, query: &str) -> Vec<String> {
    let page = read(app, &flow.path(&format!("/executions?{query}"))).await;
    items(&page["data"]).iter().map(|execution| text(&execution["contact"]["email"]).to_owned()).collect()
}

both_engines! {
    async fn the_list_has_pages_and_a_filter(engine: Engine) {
        let app = App::start(engine).await;
        let flow = waiting(&app, "begun").await;
        let empty = read(&app, &flow.path("/executions")).await;
        for (key, value) in [("data", json!([])), ("total", json!(0)), ("page", json!(1)), ("pageSize", json!(20))] {
            assert_eq!(empty[key], value, "{key}");
        }
        let all = ["a@example.com", "b@example.com", "c@example.com", "d@example.com", "e@example.com"];
        let begun = begin(&app, &flow, &all).await;
        let page = read(&app, &flow.path("/executions")).await;
        assert_only_keys(&page, &["data", "total", "page", "pageSize", "totalPages"]);
        assert_eq!((&page["total"], &page["totalPages"]), (&json!(5), &json!(1)));
        let mut newest_first = all;
        newest_first.reverse();
        assert_eq!(emails(&app, &flow, "").await, newest_first);
        for (number, expected) in newest_first.chunks(2).enumerate() {
            let query = format!("page={}&pageSize=2", number + 1);
            assert_eq!(emails(&app, &flow, &query).await, expected, "{query}");
        }
        let last = read(&app, &flow.path("/executions?page=3&pageSize=2")).await;
        for (key, value) in [("page", 3), ("pageSize", 2), ("total", 5), ("totalPages", 3)] {
            assert_eq!(last[key], value, "{key}");
        }
        assert_eq!(read(&app, &flow.path("/executions?pageSize=1000")).await["pageSize"], 100);
        assert_eq!(emails(&app, &flow, "page=9").await, Vec::<String>::new());

        cancel(&app, &flow, &begun[1].1).await.assert_status(200);
        pay(&app, "d@example.com").await;
        flow.once(&begun[3].1, "EXITED").await;
        for (status, expected) in [
            ("WAITING", vec!["e@example.com", "c@example.com", "a@example.com"]),
            ("CANCELLED", vec!["b@example.com"]),
            ("EXITED", vec!["d@example.com"]),
            ("RUNNING", vec![]),
            ("COMPLETED", vec![]),
            ("FAILED", vec![]),
        ] {
            assert_eq!(emails(&app, &flow, &format!("status={status}")).await, expected, "{status}");
            let page = read(&app, &flow.path(&format!("/executions?status={status}&pageSize=1"))).await;
            assert_eq!(page["total"], expected.len(), "{status}");
        }
        for status in ["ACTIVE", "SENT"] {
            let refused = app.get(&flow.path(&format!("/executions?status={status}"))).send().await;
            refused.assert_error(400, "BAD_REQUEST");
        }
        let other = waiting(&app, "begun").await;
        assert_eq!(read(&app, &other.path("/executions")).await["total"], 0, "of another workflow");
    }

    async fn an_element_of_the_list_names_contact_and_step(engine: Engine) {
        let app = App::start(engine).await;
        let flow = Flow::new(&app, "begun").await;
        let step = flow.then("WAIT_FOR_EVENT", json!({"eventName": "paid"})).await;
        flow.enable().await;
        let begun = begin(&app, &flow, &["ann@example.com"]).await;
        let (ann, id) = &begun[0];
        let listed = flow.executions().await.remove(0);
        assert_keys(&listed, &[
            "id", "workflowId", "contactId", "status", "currentStepId", "exitReason", "context", "sourceEventId",
            "version", "converted", "startedAt", "completedAt", "createdAt", "updatedAt", "contact", "currentStep",
        ]);
        assert_uuid(&listed["id"]);
        assert_eq!((&listed["id"], &listed["workflowId"]), (&json!(id), &json!(flow.id)));
        assert_eq!(listed["contact"], json!({"id": ann["id"], "email": "ann@example.com"}));
        let expected = json!({"id": step, "name": "WAIT_FOR_EVENT", "type": "WAIT_FOR_EVENT"});
        assert_eq!((&listed["currentStep"], &listed["currentStepId"]), (&expected, &expected["id"]));
        assert_eq!((&listed["completedAt"], &listed["converted"]), (&Value::Null, &json!(false)));
        for key in ["startedAt", "createdAt", "updatedAt"] {
            assert_timestamp(&listed[key]);
        }
        pay(&app, "ann@example.com").await;
        flow.once(id, "COMPLETED").await;
        let listed = flow.executions().await.remove(0);
        assert_eq!((&listed["currentStep"], &listed["currentStepId"]), (&Value::Null, &Value::Null));
        assert_timestamp(&listed["completedAt"]);
    }

    async fn an_execution_is_read_with_all_its_steps(engine: Engine) {
        let app = App::start(engine).await;
        let flow = waiting(&app, "begun").await;
        let tracked = track_ok(&app, json!({"email": "ann@example.com", "event": "begun", "data": {"n": 1}})).await;
        let found = flow.only("WAITING").await;
        assert_eq!((&found["sourceEventId"], &found["contactId"]), (&tracked["event"], &tracked["contact"]));
        assert_eq!(found["workflow"]["name"], "begun");
        assert_eq!(found["workflow"]["id"], flow.id);
        assert_eq!(found["contact"], json!({"id": tracked["contact"], "email": "ann@example.com"}));
        assert_eq!(found["currentStep"]["type"], "WAIT_FOR_EVENT");
        assert_eq!(found["currentStep"]["config"]["eventName"], "paid");
        assert_eq!(taken(&found), ["TRIGGER COMPLETED", "WAIT_FOR_EVENT WAITING"]);
        pay(&app, "ann@example.com").await;
        let ended = flow.only("EXITED").await;
        assert_eq!(taken(&ended), ["TRIGGER COMPLETED", "WAIT_FOR_EVENT COMPLETED", "EXIT COMPLETED"]);
        for step in items(&ended["stepExecutions"]) {
            assert_keys(step, &["id", "stepId", "status", "output", "error", "startedAt", "completedAt", "step"]);
            assert_only_keys(&step["step"], &["id", "name", "type"]);
            assert_uuid(&step["id"]);
            assert_eq!((&step["stepId"], &step["error"]), (&step["step"]["id"], &Value::Null), "{step}");
            assert_timestamp(&step["startedAt"]);
            assert_timestamp(&step["completedAt"]);
            assert!(text(&step["startedAt"]) <= text(&step["completedAt"]), "{step}");
        }
        let ids = items(&ended["stepExecutions"]).iter().map(|step| &step["id"]).collect::<Vec<_>>();
        assert_eq!(items(&found["stepExecutions"]).iter().map(|step| &step["id"]).collect::<Vec<_>>(), ids[..2]);
        assert_timestamp(&output(&ended, "TRIGGER")["timestamp"]);
    }

    async fn what_is_under_way_can_be_cancelled_and_nothing_else(engine: Engine) {
        let app = App::start(engine).await;
        let flow = waiting(&app, "begun").await;
        let begun = begin(&app, &flow, &["ann@example.com", "bob@example.com"]).await;
        let cancelled = cancel(&app, &flow, &begun[0].1).await.assert_status(200).json();
        assert_eq!((&cancelled["id"], &cancelled["status"]), (&json!(begun[0].1), &json!("CANCELLED")));
        assert_eq!(cancelled["exitReason"], "cancelled");
        assert_timestamp(&cancelled["completedAt"]);
        let stored = flow.execution(&begun[0].1).await;
        for key in ["status", "exitReason", "completedAt", "updatedAt"] {
            assert_eq!(stored[key], cancelled[key], "{key}");
        }
        assert_eq!(flow.execution(&begun[1].1).await["status"], "WAITING", "the other goes on");

        let mut over = vec![(&flow, begun[0].1.clone())];
        pay(&app, "bob@example.com").await;
        flow.once(&begun[1].1, "EXITED").await;
        over.push((&flow, begun[1].1.clone()));
        let failing = Flow::new(&app, "begun").await;
        failing.then("SEND_EMAIL", json!({})).await;
        let completing = Flow::new(&app, "begun").await;
        completing.then("UPDATE_CONTACT", json!({"updates": {"n": 1}})).await;
        for (flow, status) in [(&failing, "FAILED"), (&completing, "COMPLETED")] {
            flow.enable().await;
            let id = flow.start(&begun[0].0["id"], json!({})).await;
            flow.once(&id, status).await;
            over.push((flow, id));
        }
        for (flow, id) in over {
            let before = flow.execution(&id).await;
            cancel(&app, flow, &id).await.assert_error(409, "CONFLICT");
            assert_eq!(flow.execution(&id).await, before);
        }
    }

    async fn one_of_several_cancellations_at_once_is_the_one(engine: Engine) {
        let app = App::start(engine).await;
        let flow = waiting(&app, "begun").await;
        let begun = begin(&app, &flow, &["ann@example.com"]).await;
        let answers = join_all((0..6).map(|_| cancel(&app, &flow, &begun[0].1))).await;
        assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
        for answer in answers.iter().filter(|answer| answer.status != 200) {
            answer.assert_error(409, "CONFLICT");
        }
        // and an event at the same moment either ends it first or not at all
        let begun = begin(&app, &flow, &["bob@example.com", "cid@example.com", "dee@example.com"]).await;
        for (contact, id) in &begun {
            let (answer, ()) = tokio::join!(cancel(&app, &flow, id), pay(&app, text(&contact["email"])));
            let status = if answer.status == 200 { "CANCELLED" } else { "EXITED" };
            let ended = flow.once(id, status).await;
            let exited = taken(&ended).iter().any(|step| step.starts_with("EXIT"));
            assert!(!(exited && status == "CANCELLED"), "{ended}");
        }
    }

    async fn all_that_are_under_way_can_be_cancelled_at_once(engine: Engine) {
        let app = App::start(engine).await;
        let flow = waiting(&app, "begun").await;
        let other = waiting(&app, "begun").await;
        assert_eq!(cancel_all(&app, &flow).await, json!({"cancelled": 0}));
        let all = ["a@example.com", "b@example.com", "c@example.com", "d@example.com"];
        let begun = begin(&app, &flow, &all).await;
        let spared = begin(&app, &other, &["e@example.com"]).await;
        pay(&app, "a@example.com").await;
        flow.once(&begun[0].1, "EXITED").await;
        cancel(&app, &flow, &begun[1].1).await.assert_status(200);
        assert_eq!(cancel_all(&app, &flow).await, json!({"cancelled": 2}));
        for (n, status) in ["EXITED", "CANCELLED", "CANCELLED", "CANCELLED"].into_iter().enumerate() {
            let found = flow.execution(&begun[n].1).await;
            assert_eq!(found["status"], status);
            assert_eq!(found["exitReason"], if status == "EXITED" { "exit_step" } else { "cancelled" });
            assert_timestamp(&found["completedAt"]);
        }
        assert_eq!(cancel_all(&app, &flow).await, json!({"cancelled": 0}));
        assert_eq!(other.execution(&spared[0].1).await["status"], "WAITING");
        for email in all {
            pay(&app, email).await;
        }
        pay(&app, "e@example.com").await;
        other.once(&spared[0].1, "EXITED").await;
        assert_eq!(read(&app, &flow.path("/executions?status=CANCELLED")).await["total"], 3);
    }

    async fn executions_that_are_not_there_are_not_found(engine: Engine) {
        let app = App::start(engine).await;
        let flow = waiting(&app, "begun").await;
        let other = waiting(&app, "begun").await;
        let begun = begin(&app, &flow, &["ann@example.com"]).await;
        let id = begun[0].1.as_str();
        for path in [one(&flow, UNKNOWN_ID), one(&flow, "nonsense"), one(&other, id)] {
            for request in [app.get(&path), app.delete(&path)] {
                request.send().await.assert_error(404, "RESOURCE_NOT_FOUND");
            }
        }
        // neither a workflow that there is not, nor one of another project
        let neighbour = app.bootstrap("Neighbour", "neighbour.example").await;
        let (body, single) = (json!({"contactId": begun[0].0["id"]}), format!("/{id}"));
        let single = single.as_str();
        for (method, below) in
            [("GET", ""), ("POST", ""), ("POST", "/cancel-all"), ("GET", single), ("DELETE", single)]
        {
            let unknown = format!("/workflows/{UNKNOWN_ID}/executions{below}");
            let theirs = flow.path(&format!("/executions{below}"));
            for request in [
                app.request(method, &unknown).bearer(app.secret_key()),
                as_project(&app, &neighbour, method, &theirs),
            ] {
                let request = if method == "POST" { request.json(&body) } else { request };
                assert_envelope(&request.send().await, 404);
            }
        }
        assert_eq!(flow.execution(id).await["status"], "WAITING");
    }

    async fn a_contact_takes_its_executions_with_it(engine: Engine) {
        let app = App::start(engine).await;
        let flow = waiting(&app, "begun").await;
        let delay = Flow::new(&app, "begun").await;
        delay.then("DELAY", json!({"amount": 1, "unit": "hours"})).await;
        delay.enable().await;
        let begun = begin(&app, &flow, &["ann@example.com", "bob@example.com"]).await;
        let (ann, id) = &begun[0];
        let delayed = delay.start(&ann["id"], json!({})).await;
        delay.once(&delayed, "WAITING").await;
        app.delete(&format!("/contacts/{}", text(&ann["id"]))).send().await.assert_status(204);
        app.get(&one(&flow, id)).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        app.get(&one(&delay, &delayed)).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        assert_eq!(emails(&app, &flow, "").await, ["bob@example.com"]);
        app.advance(Duration::from_hours(2)).await;
        // the same address is a new contact, which nothing waits for
        pay(&app, "ann@example.com").await;
        pay(&app, "bob@example.com").await;
        flow.once(&begun[1].1, "EXITED").await;
        assert_eq!(delay.executions().await, Vec::<Value>::new());
        assert_eq!(emails(&app, &flow, "").await, ["bob@example.com"]);
        app.delete(&delay.path("")).send().await.assert_status(204);
    }

    async fn a_workflow_that_is_under_way_is_not_deleted(engine: Engine) {
        let app = App::start(engine).await;
        let flow = waiting(&app, "begun").await;
        begin(&app, &flow, &["ann@example.com"]).await;
        flow.change(json!({"enabled": false})).await;
        let refused = app.delete(&flow.path("")).send().await;
        assert_envelope(&refused, 409);
        assert_eq!(cancel_all(&app, &flow).await, json!({"cancelled": 1}));
        app.delete(&flow.path("")).send().await.assert_status(204);
        assert_envelope(&app.get(&flow.path("/executions")).send().await, 404);
    }

    async fn an_execution_keeps_to_the_version_that_it_began_with(engine: Engine) {
        let app = App::start(engine).await;
        let flow = Flow::new(&app, "begun").await;
        flow.then("DELAY", json!({"amount": 1, "unit": "hours"})).await;
        let update = flow.then("UPDATE_CONTACT", json!({"updates": {"way": "old"}})).await;
        flow.enable().await;
        let old = begin(&app, &flow, &["ann@example.com"]).await;
        flow.change(json!({"enabled": false})).await;
        let path = flow.path(&format!("/steps/{update}"));
        let changed = json!({"config": {"updates": {"way": "new"}}});
        app.patch(&path).json(&changed).send().await.assert_status(200);
        flow.enable().await;
        let new = begin(&app, &flow, &["bob@example.com"]).await;
        app.advance(Duration::from_secs(3_601)).await;
        let mut versions = Vec::new();
        for ((who, id), way) in [(&old[0], "old"), (&new[0], "new")] {
            let ended = flow.once(id, "COMPLETED").await;
            versions.push(ended["version"].as_i64().unwrap_or_else(|| panic!("a number: {}", ended["version"])));
            assert_eq!(contact(&app, &who["id"]).await["data"], json!({"way": way}));
        }
        assert!(versions[0] < versions[1], "{versions:?}");
        let listed = read(&app, &flow.path("/executions")).await;
        assert_eq!(listed["data"][1]["contact"]["email"], "ann@example.com");
        assert_eq!(listed["data"][1]["version"], versions[0]);
    }
}
