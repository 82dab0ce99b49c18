//! The records of workflows: list, create, read, patch, delete, duplicate, bulk, and other projects' workflows.

use mailwright_testkit::{App, Engine, Project, Request, Response, both_engines, one_engine};
use mailwright_tests::workflow::Flow;
use mailwright_tests::{
    UNKNOWN_ID, as_project, assert_keys, assert_legacy, assert_only_keys, assert_timestamp, assert_uuid,
};
use mailwright_tests::{
    column, create_contact, create_template, issue, items, members, read, text, with, without,
};
use serde_json::{Value, json};

/// What every workflow shows.
const MEMBERS: &str = "id projectId name description enabled triggerType triggerConfig allowReentry goal version \
                       isDraft createdAt updatedAt";

/// What every workflow shows, and more.
fn keys(more: &[&'static str]) -> Vec<&'static str> {
    MEMBERS.split(' ').chain(more.iter().copied()).collect()
}

async fn post(app: &App, body: &Value) -> Response {
    app.post("/workflows").json(body).send().await
}

async fn bulk(app: &App, body: Value) -> Response {
    app.post("/workflows/bulk-update").json(&body).send().await
}

/// The names on one page of the list.
async fn names(app: &App, query: &str) -> Vec<String> {
    let page = read(app, &format!("/workflows?{query}")).await;
    column(&page["data"], "name").into_iter().map(str::to_owned).collect()
}

/// The name of a step; `TRIGGER` for the first one.
fn name_of<'a>(workflow: &'a Value, id: &Value) -> &'a str {
    match items(&workflow["steps"]).iter().find(|step| step["id"] == *id) {
        Some(step) if step["type"] == "TRIGGER" => "TRIGGER",
        Some(step) => text(&step["name"]),
        None => panic!("no step {id} in {workflow}"),
    }
}

/// The transitions of a workflow by the names of the steps, such as `A --> B` or `A -yes-> B`; sorted.
pub(super) fn links(workflow: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for link in items(&workflow["transitions"]) {
        let (from, to) = (name_of(workflow, &link["fromStepId"]), name_of(workflow, &link["toStepId"]));
        let way = link["branch"].as_str().or(link["waitOutcome"].as_str()).unwrap_or_default();
        found.push(format!("{from} -{way}-> {to}"));
    }
    found.sort();
    found
}

/// A condition of one filter.
pub(super) fn only(field: &str, operator: &str, value: &Value) -> Value {
    let filter = json!({"field": field, "operator": operator, "value": value});
    json!({"logic": "AND", "groups": [{"filters": [filter]}]})
}

/// A new static segment.
pub(super) async fn list(app: &App) -> Value {
    let body = json!({"name": "List", "type": "STATIC"});
    app.post("/segments").json(&body).send().await.assert_status(201).json()
}

/// Another project with a workflow.
async fn neighbour(app: &App) -> (Project, Value) {
    let other = app.bootstrap("Neighbour", "neighbour.example").await;
    let body = json!({"name": "Theirs", "eventName": "signup"});
    let theirs = as_project(app, &other, "POST", "/workflows").json(&body).send().await;
    (other, theirs.assert_status(201).json())
}

/// Every request about one workflow or something below it, with a body that any of them would take.
fn requests(app: &App, workflow: &str, step: &str) -> Vec<Request> {
    let body = json!({
        "type": "EXIT", "name": "Mine", "position": {"x": 0, "y": 0}, "config": {},
        "fromStepId": step, "toStepId": UNKNOWN_ID, "contactId": UNKNOWN_ID,
    });
    let all = format!(
        "GET /|PATCH /|DELETE /|POST /duplicate|POST /publish|POST /steps|PATCH /steps/{step}|DELETE /steps/{step}|\
         POST /transitions|POST /transitions/{UNKNOWN_ID}/insert-step|DELETE /transitions/{UNKNOWN_ID}|\
         GET /executions|POST /executions|GET /executions/{UNKNOWN_ID}|DELETE /executions/{UNKNOWN_ID}|\
         POST /executions/cancel-all"
    );
    let request = |line: &str| {
        let (method, below) = line.split_once(' ').expect("a method and a path");
        let path = format!("/workflows/{workflow}{below}");
        let request = app.request(method, path.trim_end_matches('/')).bearer(app.secret_key());
        if ["GET", "DELETE"].contains(&method) { request } else { request.json(&body) }
    };
    all.split('|').map(request).collect()
}

both_engines! {
    async fn a_workflow_begins_disabled_with_its_trigger(engine: Engine) {
        let app = App::start(engine).await;
        let body = json!({"name": "Welcome", "eventName": "signup"});
        let plain = post(&app, &body).await.assert_status(201).json();
        assert_only_keys(&plain, &keys(&[]));
        assert_uuid(&plain["id"]);
        assert_timestamp(&plain["createdAt"]);
        assert_timestamp(&plain["updatedAt"]);
        let expected = json!({
            "projectId": app.project_id(), "name": "Welcome", "description": null, "enabled": false,
            "triggerType": "EVENT", "triggerConfig": {"eventName": "signup"}, "allowReentry": false, "goal": null,
            "version": null, "isDraft": false,
        });
        for (key, value) in members(&expected) {
            assert_eq!(plain[key], *value, "{key}");
        }

        let more = json!({"description": "Note", "allowReentry": true, "enabled": true, "eventName": "order placed"});
        let full = post(&app, &with(body, &more)).await.assert_status(201).json();
        assert_eq!((&full["description"], &full["allowReentry"]), (&json!("Note"), &json!(true)));
        assert_eq!((&full["enabled"], &full["version"]), (&json!(false), &Value::Null), "whatever is asked");
        let flow = Flow::of(&app, &full).await;
        let whole = read(&app, &flow.path("")).await;
        assert_eq!((items(&whole["steps"]).len(), &whole["transitions"]), (1, &json!([])));
        let trigger = &whole["steps"][0];
        assert_eq!((&trigger["type"], &trigger["name"]), (&json!("TRIGGER"), &json!("Trigger: order placed")));
        assert_eq!(trigger["config"]["eventName"], "order placed");
        let at = |axis: &str| trigger["position"][axis].as_f64().map(|value| value as i64);
        assert_eq!((at("x"), at("y")), (Some(100), Some(100)));
    }

    async fn reading_one_shows_its_whole_graph(engine: Engine) {
        let app = App::start(engine).await;
        let template = create_template(&app, &json!({"name": "Hello"})).await;
        let flow = Flow::new(&app, "signup").await;
        let sends = json!({"templateId": template["id"]});
        flow.try_add("SEND_EMAIL", &json!({}), &sends).await.assert_status(201);
        flow.then("EXIT", json!({"reason": "done"})).await;
        let whole = read(&app, &flow.path("")).await;
        assert_only_keys(&whole, &keys(&["steps", "transitions"]));
        assert_eq!(column(&whole["steps"], "type"), ["TRIGGER", "SEND_EMAIL", "EXIT"]);
        assert_eq!(links(&whole), ["SEND_EMAIL --> EXIT", "TRIGGER --> SEND_EMAIL"]);
        let brief = json!({"id": template["id"], "name": "Hello"});
        for (step, template) in items(&whole["steps"]).iter().zip([&Value::Null, &brief, &Value::Null]) {
            assert_keys(step, &["id", "workflowId", "type", "name", "position", "config", "templateId"]);
            assert_timestamp(&step["createdAt"]);
            assert_timestamp(&step["updatedAt"]);
            assert_eq!(step["workflowId"], whole["id"]);
            assert_eq!(step["template"], *template);
            assert_eq!(step["templateId"], template.get("id").cloned().unwrap_or_default());
            for (list, end) in [("outgoingTransitions", "fromStepId"), ("incomingTransitions", "toStepId")] {
                let there = items(&whole["transitions"]).iter().filter(|link| link[end] == step["id"]);
                let there: Vec<&str> = there.map(|link| text(&link["id"])).collect();
                assert_eq!(column(&step[list], "id"), there, "{list} of {step}");
            }
        }
        let keys = ["id", "fromStepId", "toStepId", "condition", "branch", "waitOutcome", "priority", "createdAt"];
        assert_keys(&whole["transitions"][0], &keys);
    }

    async fn patching_changes_what_is_sent(engine: Engine) {
        let app = App::start(engine).await;
        let flow = Flow::new(&app, "signup").await;
        let before = without(without(read(&app, &flow.path("")).await, "steps"), "transitions");
        let changes = json!({
            "name": "Renamed", "description": "Note", "allowReentry": true, "goal": {"eventName": "paid"},
        });
        let after = flow.change(changes.clone()).await;
        assert_eq!(after, with(with(before.clone(), &changes), &json!({"updatedAt": after["updatedAt"]})));
        assert!(text(&after["updatedAt"]) >= text(&before["updatedAt"]));
        let cleared = flow.change(json!({"description": null, "goal": null})).await;
        assert_eq!((&cleared["description"], &cleared["goal"]), (&Value::Null, &Value::Null));
        assert_eq!((&cleared["name"], &cleared["allowReentry"]), (&json!("Renamed"), &json!(true)), "not sent");
        let filter = only("data.plan", "equals", &json!("pro"));
        let aimed = flow.change(json!({"goal": {"filter": filter}})).await;
        assert_eq!(aimed["goal"]["filter"], filter);
        assert_eq!(read(&app, &flow.path("")).await["goal"], aimed["goal"]);
    }

    async fn the_list_has_pages_searches_filters_and_sorts(engine: Engine) {
        let app = App::start(engine).await;
        let empty = read(&app, "/workflows").await;
        assert_only_keys(&empty, &["data", "total", "page", "pageSize", "totalPages"]);
        assert_eq!((&empty["data"], &empty["total"], &empty["pageSize"]), (&json!([]), &json!(0), &json!(20)));
        for (name, description, steps) in
            [("Beta", "100% of it", 2), ("Alpha", "Plain", 0), ("Gamma", "snake_case", 1), ("Delta", "snakeXcase", 3)]
        {
            let body = json!({"name": name, "description": description, "eventName": "signup"});
            let flow = Flow::of(&app, &post(&app, &body).await.assert_status(201).json()).await;
            for _ in 0..steps {
                flow.then("DELAY", json!({"amount": 1, "unit": "days"})).await;
            }
            if name == "Delta" {
                flow.enable().await;
                let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
                flow.start(&ann["id"], json!({})).await;
            }
        }
        let newest = ["Delta", "Gamma", "Alpha", "Beta"];
        for (query, expected) in [
            ("", &newest[..]),
            ("page=2&pageSize=3", &newest[3..]),
            ("page=9", &[]),
            ("sort=createdAt&dir=asc", &["Beta", "Alpha", "Gamma", "Delta"]),
            ("sort=name&dir=asc", &["Alpha", "Beta", "Delta", "Gamma"]),
            ("sort=name&dir=desc", &["Gamma", "Delta", "Beta", "Alpha"]),
            ("sort=steps&dir=asc", &["Alpha", "Gamma", "Beta", "Delta"]),
            ("sort=steps&dir=desc", &["Delta", "Beta", "Gamma", "Alpha"]),
            ("status=active", &["Delta"]),
            ("status=disabled&sort=name&dir=asc", &["Alpha", "Beta", "Gamma"]),
            ("search=LPH", &["Alpha"]),
            ("search=plain", &["Alpha"]),
            ("search=%25", &["Beta"]),
            ("search=e_c", &["Gamma"]),
            ("search=snake&status=active", &["Delta"]),
            ("search=nowhere", &[]),
        ] {
            assert_eq!(names(&app, query).await, expected, "{query}");
        }
        let page = read(&app, "/workflows?pageSize=3").await;
        assert_eq!((&page["total"], &page["totalPages"], &page["pageSize"]), (&json!(4), &json!(2), &json!(3)));
        assert_only_keys(&page["data"][0], &keys(&["_count"]));
        assert_eq!(page["data"][0]["_count"], json!({"steps": 4, "executions": 1}), "with the TRIGGER");
        assert_eq!(page["data"][2]["_count"], json!({"steps": 1, "executions": 0}));
        assert_eq!(read(&app, "/workflows?pageSize=101").await["pageSize"], 100);

        let alpha = read(&app, "/workflows?search=Alpha").await["data"][0].clone();
        let alpha = Flow::of(&app, &alpha).await;
        app.eventually("a change later than all before", async || {
            alpha.change(json!({"description": "Changed"})).await;
            (names(&app, "sort=updatedAt&dir=desc").await[0] == "Alpha").then_some(())
        })
        .await;
        assert_eq!(names(&app, "sort=updatedAt&dir=asc").await[3], "Alpha");
    }

    async fn a_workflow_under_way_is_not_deleted(engine: Engine) {
        let app = App::start(engine).await;
        let flow = Flow::new(&app, "signup").await;
        flow.then("DELAY", json!({"amount": 1, "unit": "days"})).await;
        flow.enable().await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        let execution = flow.start(&ann["id"], json!({})).await;
        flow.once(&execution, "WAITING").await;
        let idle = Flow::new(&app, "idle").await;
        for is_enabled in [true, false] {
            flow.change(json!({"enabled": is_enabled})).await;
            app.delete(&flow.path("")).send().await.assert_error(409, "CONFLICT");
            let both = json!({"ids": [idle.id, flow.id], "delete": true});
            bulk(&app, both).await.assert_error(409, "CONFLICT");
            assert_eq!(read(&app, "/workflows").await["total"], 2, "nothing is deleted");
        }
        assert_eq!(flow.execution(&execution).await["status"], "WAITING");
        let cancelled = app.post(&flow.path("/executions/cancel-all")).send().await.assert_status(200).json();
        assert_eq!(cancelled, json!({"cancelled": 1}));
        let deleted = app.delete(&flow.path("")).send().await.assert_status(204);
        assert!(deleted.body.is_empty());
        for below in ["", "/executions", &format!("/executions/{execution}")] {
            app.get(&flow.path(below)).send().await.assert_error(404, "WORKFLOW_NOT_FOUND");
        }
        app.delete(&flow.path("")).send().await.assert_error(404, "WORKFLOW_NOT_FOUND");
        assert_eq!(names(&app, "").await, ["idle"]);
    }

    async fn many_workflows_are_deleted_together_or_not_at_all(engine: Engine) {
        let app = App::start(engine).await;
        let (a, b, c) = (Flow::new(&app, "a").await, Flow::new(&app, "b").await, Flow::new(&app, "c").await);
        let (_, theirs) = neighbour(&app).await;
        for wrong in [UNKNOWN_ID, text(&theirs["id"])] {
            let body = json!({"ids": [a.id, wrong, b.id], "delete": true});
            bulk(&app, body).await.assert_error(404, "WORKFLOW_NOT_FOUND");
        }
        assert_eq!(bulk(&app, json!({"ids": [a.id]})).await.assert_status(200).json(), json!({"updated": 0}));
        assert_eq!(names(&app, "").await, ["c", "b", "a"], "nothing is deleted");
        let deleted = bulk(&app, json!({"ids": [a.id, b.id, a.id], "delete": true})).await.assert_status(200).json();
        assert_eq!(deleted, json!({"deleted": 2}), "each is counted once");
        assert_eq!(names(&app, "").await, ["c"]);
        app.get(&a.path("")).send().await.assert_error(404, "WORKFLOW_NOT_FOUND");
        let whole = read(&app, &c.path("")).await;
        assert_eq!(items(&whole["steps"]).len(), 1, "the others keep their steps");
    }

    async fn a_duplicate_is_a_workflow_of_its_own(engine: Engine) {
        let app = App::start(engine).await;
        let flow = Flow::new(&app, "signup").await;
        flow.change(json!({"description": "Note", "allowReentry": true, "goal": {"eventName": "paid"}})).await;
        let config = json!({"field": "data.plan", "operator": "equals", "value": "pro"});
        let condition = flow.then("CONDITION", config).await;
        let exit = flow.loose("EXIT", json!({"reason": "done"})).await;
        flow.link(&condition, &exit, json!({"branch": "no"})).await;
        flow.enable().await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        let execution = flow.start(&ann["id"], json!({})).await;
        flow.once(&execution, "EXITED").await;
        let before = read(&app, &flow.path("")).await;
        let copy = app.post(&flow.path("/duplicate")).send().await.assert_status(201).json();
        assert_eq!((&copy["name"], &copy["enabled"]), (&json!("signup (Copy)"), &json!(false)));
        assert_eq!((&copy["version"], &copy["isDraft"]), (&Value::Null, &json!(false)));
        for key in ["projectId", "description", "triggerType", "triggerConfig", "allowReentry", "goal"] {
            assert_eq!(copy[key], before[key], "{key}");
        }
        let copy = Flow::of(&app, &copy).await;
        let whole = read(&app, &copy.path("")).await;
        assert_eq!(links(&whole), ["CONDITION -no-> EXIT", "TRIGGER --> CONDITION"]);
        for (step, original) in items(&whole["steps"]).iter().zip(items(&before["steps"])) {
            for key in ["type", "name", "config", "position"] {
                assert_eq!(step[key], original[key], "{key}");
            }
            assert_ne!(step["id"], original["id"]);
            assert_eq!(step["workflowId"], copy.id);
        }
        assert!(copy.executions().await.is_empty());
        app.delete(&copy.path("")).send().await.assert_status(204);
        assert_eq!(read(&app, &flow.path("")).await, before, "the original stays as it was");
    }

    async fn workflows_that_are_not_there_are_not_found(engine: Engine) {
        let app = App::start(engine).await;
        let (other, theirs) = neighbour(&app).await;
        let path = format!("/workflows/{}", text(&theirs["id"]));
        let before = as_project(&app, &other, "GET", &path).send().await.assert_status(200).json();
        let step = text(&before["steps"][0]["id"]);
        for id in [UNKNOWN_ID, text(&theirs["id"]), "nonsense"] {
            for request in requests(&app, id, step) {
                request.send().await.assert_error(404, "WORKFLOW_NOT_FOUND");
            }
        }
        assert_eq!(read(&app, "/workflows").await["total"], 0);
        let after = as_project(&app, &other, "GET", &path).send().await.assert_status(200).json();
        assert_eq!(after, before);
    }
}

one_engine! {
    async fn wrong_workflows_are_refused(engine: Engine) {
        let app = App::start(engine).await;
        let body = json!({"name": "Welcome", "eventName": "signup"});
        for key in ["name", "eventName"] {
            assert_legacy(&post(&app, &without(body.clone(), key)).await, 400);
        }
        let blank = with(body.clone(), &json!({"eventName": " \t"}));
        post(&app, &blank).await.assert_error(400, "BAD_REQUEST");
        for (change, field) in [
            (json!({"name": "n".repeat(101)}), "name"),
            (json!({"name": 5}), "name"),
            (json!({"eventName": 5}), "eventName"),
            (json!({"description": "n".repeat(501)}), "description"),
            (json!({"allowReentry": "yes"}), "allowReentry"),
        ] {
            issue(&post(&app, &with(body.clone(), &change)).await, field);
        }
        let many: Vec<String> = (0..1001).map(|n| format!("01890000-0000-7000-8000-{n:012}")).collect();
        for wrong in [json!({}), json!({"ids": []}), json!({"ids": many})] {
            issue(&bulk(&app, with(wrong, &json!({"delete": true}))).await, "ids");
        }
        assert_eq!(read(&app, "/workflows").await["total"], 0);

        let longest = json!({"name": "n".repeat(100), "description": "n".repeat(500)});
        let longest = Flow::of(&app, &post(&app, &with(body, &longest)).await.assert_status(201).json()).await;
        app.post(&longest.path("/duplicate")).send().await.assert_status(201);
    }

    async fn wrong_changes_are_refused(engine: Engine) {
        let app = App::start(engine).await;
        let segment = list(&app).await["id"].clone();
        let flow = Flow::new(&app, "signup").await;
        let before = read(&app, &flow.path("")).await;
        let schedule = |config: Value| json!({"triggerType": "SCHEDULE", "triggerConfig": config});
        for (change, field) in [
            (json!({"name": ""}), "name"),
            (json!({"name": "n".repeat(101)}), "name"),
            (json!({"description": "n".repeat(501)}), "description"),
            (json!({"enabled": "yes"}), "enabled"),
            (json!({"allowReentry": 1}), "allowReentry"),
            (json!({"triggerType": "HOURLY"}), "triggerType"),
            (json!({"triggerConfig": {}}), "triggerConfig.eventName"),
            (json!({"triggerConfig": {"eventName": ""}}), "triggerConfig.eventName"),
            (json!({"triggerConfig": {"eventName": 5}}), "triggerConfig.eventName"),
            (schedule(json!({"start": "2030-01-31T09:00"})), "triggerConfig.segmentId"),
            (schedule(json!({"segmentId": segment})), "triggerConfig.start"),
            (schedule(json!({"segmentId": segment, "start": "soon"})), "triggerConfig.start"),
            (json!({"goal": {}}), "goal"),
            (json!({"goal": 5}), "goal"),
        ] {
            issue(&app.patch(&flow.path("")).json(&change).send().await, field);
        }
        assert_eq!(read(&app, &flow.path("")).await, before);
    }
}
