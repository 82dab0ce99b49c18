//! The template endpoints.

use mailwright_testkit::{App, Engine, Response, both_engines, one_engine};
use mailwright_tests::{
    UNKNOWN_ID, as_project, assert_keys, assert_legacy, assert_only_keys, assert_timestamp,
};
use mailwright_tests::{
    assert_uuid, column, create_template, encoded, issue, items, read, send_ok, sent_email,
};
use mailwright_tests::{shown, text, with, without};
use serde_json::{Value, json};

fn body(app: &App) -> Value {
    json!({"name": "Welcome", "subject": "Hi {{name}}", "body": "<p>Hello</p>", "from": app.from()})
}

async fn post(app: &App, body: &Value) -> Response {
    app.post("/templates").json(body).send().await
}

fn path(template: &Value) -> String {
    format!("/templates/{}", text(&template["id"]))
}

/// The names on one page of the list.
async fn names(app: &App, query: &str) -> Vec<String> {
    let page = read(app, &format!("/templates?{query}")).await;
    column(&page["data"], "name").into_iter().map(str::to_owned).collect()
}

both_engines! {
    async fn a_template_is_created_with_defaults(engine: Engine) {
        let app = App::start(engine).await;
        let plain = post(&app, &body(&app)).await.assert_status(201).json();
        assert_keys(
            &plain,
            &[
                "id",
                "name",
                "description",
                "subject",
                "body",
                "from",
                "fromName",
                "replyTo",
                "type",
                "projectId",
                "createdAt",
                "updatedAt",
            ],
        );
        assert_uuid(&plain["id"]);
        assert_timestamp(&plain["createdAt"]);
        assert_timestamp(&plain["updatedAt"]);
        assert_eq!(plain["type"], "MARKETING", "the default");
        assert_eq!(plain["projectId"], app.project_id());
        assert_eq!(plain["from"], app.from());
        for unset in ["description", "fromName", "replyTo"] {
            assert_eq!(plain[unset], Value::Null, "{unset}");
        }
        let full = with(
            body(&app),
            &json!({"description": "Note", "fromName": "Team", "replyTo": "r@example.com", "type": "HEADLESS"}),
        );
        let created = post(&app, &full).await.assert_status(201).json();
        for (key, value) in full.as_object().expect("an object") {
            assert_eq!(created[key], *value, "{key}");
        }
        assert_eq!(read(&app, &path(&created)).await, created);
    }

    async fn the_sender_must_be_of_a_verified_domain(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let template = create_template(&app, &json!({})).await;
        for from in ["hello@unregistered.example", &format!("hello@sub.{}", app.domain()), &other.from] {
            let change = json!({"from": from});
            post(&app, &with(body(&app), &change)).await.assert_error(403, "INTERNAL_SERVER_ERROR");
            let patched = app.patch(&path(&template)).json(&change).send().await;
            patched.assert_error(403, "INTERNAL_SERVER_ERROR");
        }
        assert_eq!(read(&app, &path(&template)).await, template);
        assert_eq!(read(&app, "/templates").await["total"], 1);
    }

    async fn patching_changes_what_is_sent(engine: Engine) {
        let app = App::start(engine).await;
        let template = create_template(&app, &json!({"fromName": "Team", "replyTo": "r@example.com"})).await;
        let change = json!({"name": "Renamed", "subject": "New", "type": "HEADLESS", "description": "Note"});
        let patched = app.patch(&path(&template)).json(&change).send().await.assert_status(200).json();
        let saved = json!({"updatedAt": patched["updatedAt"], "savedAt": patched["updatedAt"], "version": 2});
        let expected = with(with(template.clone(), &change), &saved);
        assert_eq!(patched, expected);
        assert!(text(&patched["updatedAt"]) >= text(&template["updatedAt"]));

        let clear = json!({"fromName": null, "replyTo": null});
        let cleared = app.patch(&path(&template)).json(&clear).send().await.assert_status(200).json();
        assert_eq!((&cleared["fromName"], &cleared["replyTo"]), (&Value::Null, &Value::Null));
        assert_eq!(cleared["name"], "Renamed");
        assert_eq!(read(&app, &path(&template)).await, cleared);

        let response = app.patch(&path(&template)).json(&json!({"type": "NONE"})).send().await;
        assert_eq!(issue(&response, "type")["code"], "invalid_enum_value");
    }

    async fn templates_that_are_not_there_are_not_found(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let theirs = with(body(&app), &json!({"from": other.from}));
        let foreign =
            as_project(&app, &other, "POST", "/templates").json(&theirs).send().await.assert_status(201);
        let foreign = foreign.json();
        for id in [UNKNOWN_ID, text(&foreign["id"]), "nonsense"] {
            let path = format!("/templates/{id}");
            for request in [
                app.get(&path),
                app.patch(&path).json(&json!({"name": "Mine"})),
                app.delete(&path),
                app.post(&format!("{path}/duplicate")),
                app.get(&format!("{path}/usage")),
            ] {
                let response = request.send().await;
                assert_eq!(response.status, 404, "{id}: {}", shown(&response));
                response.assert_error(404, "TEMPLATE_NOT_FOUND");
            }
        }
        let kept = as_project(&app, &other, "GET", &path(&foreign)).send().await.assert_status(200).json();
        assert_eq!(kept, foreign);
    }

    async fn a_duplicate_is_a_template_of_its_own(engine: Engine) {
        let app = App::start(engine).await;
        let template =
            create_template(&app, &json!({"description": "Note", "replyTo": "r@example.com"})).await;
        let duplicate =
            app.post(&format!("{}/duplicate", path(&template))).send().await.assert_status(201).json();
        assert_ne!(duplicate["id"], template["id"]);
        assert_eq!(duplicate["name"], "Welcome (Copy)");
        for key in ["description", "subject", "body", "from", "fromName", "replyTo", "type", "projectId"] {
            assert_eq!(duplicate[key], template[key], "{key}");
        }
        assert_eq!(read(&app, &path(&duplicate)).await, duplicate);
    }

    async fn deleting_a_template_keeps_the_emails_sent_with_it(engine: Engine) {
        let app = App::start(engine).await;
        let template = create_template(&app, &json!({})).await;
        let usage = read(&app, &format!("{}/usage", path(&template))).await;
        assert_only_keys(&usage, &["campaigns", "workflowSteps", "emailsSent"]);
        assert_eq!(usage, json!({"campaigns": [], "workflowSteps": [], "emailsSent": 0}));

        let sent = send_ok(&app, json!({"to": "ann@example.com", "template": template["id"]})).await;
        let email = sent_email(&app, &sent["emails"][0]["email"]).await;
        assert_eq!(read(&app, &format!("{}/usage", path(&template))).await["emailsSent"], 1);

        let deleted = app.delete(&path(&template)).send().await.assert_status(204);
        assert!(deleted.body.is_empty());
        app.get(&path(&template)).send().await.assert_error(404, "TEMPLATE_NOT_FOUND");
        app.delete(&path(&template)).send().await.assert_error(404, "TEMPLATE_NOT_FOUND");
        let kept = read(&app, &format!("/emails/{}", text(&email["id"]))).await;
        assert_eq!(kept["subject"], email["subject"]);
        let again = json!({"to": "ann@example.com", "template": template["id"]});
        app.send(again).await.assert_error(404, "TEMPLATE_NOT_FOUND");
    }

    async fn the_list_has_pages(engine: Engine) {
        let app = App::start(engine).await;
        let empty = read(&app, "/templates").await;
        assert_eq!(empty["data"], json!([]));
        assert_eq!((&empty["total"], &empty["page"], &empty["pageSize"]), (&json!(0), &json!(1), &json!(20)));
        for number in 0..23 {
            create_template(&app, &json!({"name": format!("T{number:02}")})).await;
        }
        let first = read(&app, "/templates").await;
        assert_only_keys(&first, &["data", "total", "page", "pageSize", "totalPages"]);
        assert_eq!(items(&first["data"]).len(), 20);
        assert_eq!((&first["total"], &first["totalPages"]), (&json!(23), &json!(2)));
        assert_eq!(names(&app, "page=2&pageSize=10&sort=name&dir=asc").await[0], "T10");
        let last = read(&app, "/templates?page=3&pageSize=10&sort=name&dir=asc").await;
        assert_eq!(column(&last["data"], "name"), ["T20", "T21", "T22"]);
        assert_eq!(
            (&last["page"], &last["pageSize"], &last["totalPages"]),
            (&json!(3), &json!(10), &json!(3))
        );
        assert_eq!(read(&app, "/templates?page=9").await["data"], json!([]));

        for query in ["page=0", "page=-1", "page=x", "pageSize=0", "pageSize=x"] {
            let page = read(&app, &format!("/templates?{query}")).await;
            assert_eq!((&page["page"], &page["pageSize"]), (&json!(1), &json!(20)), "{query}");
        }
        let tiny = read(&app, "/templates?pageSize=-3").await;
        assert!(tiny["pageSize"].as_u64().is_some_and(|size| size >= 1), "{tiny}");
    }

    async fn the_list_is_filtered_searched_and_sorted(engine: Engine) {
        let app = App::start(engine).await;
        for (name, description, subject, kind) in [
            ("Beta", "About 100% of it", "Hello", "TRANSACTIONAL"),
            ("Alpha", "Plain", "WELCOME home", "MARKETING"),
            ("Gamma", "snake_case", "Bye", "HEADLESS"),
            ("Delta", "snakeXcase", "Bye", "MARKETING"),
        ] {
            let fields = json!({"name": name, "description": description, "subject": subject, "type": kind});
            create_template(&app, &fields).await;
        }
        let sorted = |query: &str| format!("sort=name&dir=asc&{query}");
        for (search, expected) in [
            ("alph", vec!["Alpha"]),
            ("welcome", vec!["Alpha"]),
            ("PLAIN", vec!["Alpha"]),
            ("bye", vec!["Delta", "Gamma"]),
            ("100%", vec!["Beta"]),
            ("%", vec!["Beta"]),
            ("e_c", vec!["Gamma"]),
            ("nowhere", vec![]),
        ] {
            assert_eq!(
                names(&app, &sorted(&format!("search={}", encoded(search)))).await,
                expected,
                "{search}"
            );
        }
        assert_eq!(names(&app, &sorted("type=MARKETING")).await, ["Alpha", "Delta"]);
        assert_eq!(names(&app, &sorted("type=MARKETING&search=bye")).await, ["Delta"]);
        assert_eq!(read(&app, "/templates?type=HEADLESS").await["total"], 1);

        assert_eq!(names(&app, "sort=name&dir=asc").await, ["Alpha", "Beta", "Delta", "Gamma"]);
        assert_eq!(names(&app, "sort=name&dir=desc").await, ["Gamma", "Delta", "Beta", "Alpha"]);
        let default = names(&app, "").await;
        assert_eq!(names(&app, "sort=createdAt&dir=desc").await, default);
        for query in ["sort=nonsense", "sort=subject", "dir=sideways"] {
            assert_eq!(names(&app, query).await, default, "{query}");
        }
        let beta = read(&app, "/templates?search=Beta").await["data"][0].clone();
        app.eventually("a change later than all before", async || {
            let change = json!({"description": "Changed"});
            app.patch(&path(&beta)).json(&change).send().await.assert_status(200);
            (names(&app, "sort=updatedAt&dir=desc").await[0] == "Beta").then_some(())
        })
        .await;
        assert_eq!(names(&app, "sort=updatedAt&dir=asc").await[3], "Beta");
    }
}

one_engine! {
    async fn an_error_in_the_language_is_a_400_with_its_place(engine: Engine) {
        let app = App::start(engine).await;
        let template = create_template(&app, &json!({})).await;
        let path = format!("/templates/{}", text(&template["id"]));
        let wrong = json!({"subject": "{{name | upcas}}", "body": "<p>\n{% if name %}Hi"});
        let complete = with(json!({"name": "Wrong", "from": app.from()}), &wrong);
        for response in [
            app.post("/templates").json(&complete).send().await,
            app.patch(&path).json(&wrong).send().await,
        ] {
            let error = response.assert_error(400, "VALIDATION_ERROR");
            assert_eq!(column(&error["errors"], "field"), ["subject", "body"], "{error}");
            for issue in items(&error["errors"]) {
                assert_eq!(issue["code"], "invalid_template");
                let message = text(&issue["message"]);
                assert!(message.contains("line ") && message.contains("column "), "{message}");
            }
        }
        assert_eq!(read(&app, &path).await, template);
    }

    async fn a_missing_sender_is_the_legacy_400_and_a_wrong_field_422(engine: Engine) {
        let app = App::start(engine).await;
        for key in ["name", "subject", "body"] {
            issue(&post(&app, &without(body(&app), key)).await, key);
            issue(&post(&app, &with(body(&app), &json!({key: ""}))).await, key);
        }
        assert_legacy(&post(&app, &without(body(&app), "from")).await, 400);
        assert_legacy(&post(&app, &with(body(&app), &json!({"from": ""}))).await, 400);
        assert_legacy(&post(&app, &json!({})).await, 400);
        assert_eq!(read(&app, "/templates").await["total"], 0);

        for (change, field, code) in [
            (json!({"from": "nope"}), "from", "invalid_string"),
            (json!({"replyTo": "nope"}), "replyTo", "invalid_string"),
            (json!({"type": "PROMOTIONAL"}), "type", "invalid_enum_value"),
            (json!({"name": 5}), "name", "invalid_type"),
            (json!({"description": 5}), "description", "invalid_type"),
        ] {
            let response = post(&app, &with(body(&app), &change)).await;
            assert_eq!(issue(&response, field)["code"], code, "{change}: {}", shown(&response));
        }
    }
}
