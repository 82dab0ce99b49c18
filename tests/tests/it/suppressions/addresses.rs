//! The addresses of a project: listing, adding, removing.

use std::time::Duration;

use mailwright_testkit::{App, Engine, Value, both_engines, json};
use mailwright_tests::{assert_keys, assert_timestamp, column, issue, items, read, text};

use crate::workflows::dates::iso;

use super::{by_hand, suppress, unsuppress};

const SHAPE: &[&str] = &["email", "reason", "emailId", "createdAt", "expiresAt"];

async fn listed(app: &App, query: &str) -> Vec<String> {
    let page = read(app, &format!("/suppressions/addresses?{query}")).await;
    column(&page["data"], "email").into_iter().map(str::to_owned).collect()
}

/// The actions of the audit log, newest first.
async fn actions(app: &App) -> Vec<(String, Value)> {
    let path = format!("/projects/{}/audit", app.project_id());
    let log = read(app, &path).await;
    items(&log["data"]).iter().map(|e| (text(&e["action"]).to_owned(), e["target"].clone())).collect()
}

both_engines! {
    async fn an_address_is_added_listed_and_removed(engine: Engine) {
        let app = App::start(engine).await;
        let added = suppress(&app, json!({"email": " Ada@Example.com "})).await.assert_status(201).json();
        assert_keys(&added, SHAPE);
        assert_timestamp(&added["createdAt"]);
        assert_eq!((&added["email"], &added["reason"]), (&json!("ada@example.com"), &json!("manual")));
        assert_eq!((&added["emailId"], &added["expiresAt"]), (&Value::Null, &Value::Null));
        by_hand(&app, "bob@example.com").await;

        let page = read(&app, "/suppressions/addresses?limit=1").await;
        assert_eq!((&page["hasMore"], &page["total"]), (&json!(true), &json!(2)));
        assert_eq!(page["data"], json!([added]));
        let rest = format!("limit=1&cursor={}", text(&page["cursor"]));
        assert_eq!(listed(&app, &rest).await, ["bob@example.com"]);
        assert_eq!(listed(&app, "search=BOB").await, ["bob@example.com"]);
        assert_eq!(listed(&app, "reason=complaint").await, [""; 0]);
        assert_eq!(listed(&app, "reason=manual").await.len(), 2);
        app.get("/suppressions/addresses?reason=spam").send().await.assert_error(400, "BAD_REQUEST");
        app.get("/suppressions/addresses?cursor=x").send().await.assert_error(400, "BAD_REQUEST");

        unsuppress(&app, "ADA@example.com").await.assert_status(204);
        unsuppress(&app, "ada@example.com").await.assert_error(404, "RESOURCE_NOT_FOUND");
        unsuppress(&app, "ada").await.assert_error(404, "RESOURCE_NOT_FOUND");
        assert_eq!(listed(&app, "").await, ["bob@example.com"]);
        let log = actions(&app).await;
        assert_eq!(log[0], ("suppression.removed".to_owned(), json!("ada@example.com")));
        assert_eq!(log[1].0, "suppression.added");
    }

    async fn what_holds_back_more_stays(engine: Engine) {
        let app = App::start(engine).await;
        let add = async |reason: &str, expires_at: Value| {
            let body = json!({"email": "ada@example.com", "reason": reason, "expiresAt": expires_at});
            let response = suppress(&app, body).await;
            let entry = response.json();
            (response.status, text(&entry["reason"]).to_owned(), entry["expiresAt"].clone())
        };
        let (soon, late) = ("2035-01-01T00:00:00.000Z", "2036-01-01T00:00:00.000Z");
        for (reason, expires_at, status, holds, until) in [
            ("unsubscribe-all", json!(soon), 201, "unsubscribe-all", json!(soon)),
            ("unsubscribe-all", json!(late), 201, "unsubscribe-all", json!(late)),
            ("hard-bounce", json!(soon), 201, "hard-bounce", json!(soon)),
            ("hard-bounce", Value::Null, 201, "hard-bounce", Value::Null),
            // would end sooner
            ("manual", json!(soon), 200, "hard-bounce", Value::Null),
            ("unsubscribe-all", Value::Null, 200, "hard-bounce", Value::Null),
            ("import", Value::Null, 201, "import", Value::Null),
            ("complaint", Value::Null, 200, "import", Value::Null),
            ("manual", Value::Null, 201, "manual", Value::Null),
            // whoever put it there says when it ends
            ("manual", json!(soon), 201, "manual", json!(soon)),
            ("complaint", Value::Null, 201, "complaint", Value::Null),
        ] {
            let told = add(reason, expires_at).await;
            assert_eq!(told, (status, holds.to_owned(), until), "{reason}");
        }
    }

    async fn an_entry_ends_by_itself(engine: Engine) {
        let app = App::start(engine).await;
        let at = iso(app.now() + 60 * 60 * 1000);
        suppress(&app, json!({"email": "ada@example.com", "expiresAt": at})).await.assert_status(201);
        app.email_in(&app.send_to("ada@example.com").await, &["SUPPRESSED"]).await;
        app.advance(Duration::from_hours(2)).await;
        assert_eq!(listed(&app, "").await, [""; 0]);
        app.email_in(&app.send_to("ada@example.com").await, &["SENT"]).await;
        unsuppress(&app, "ada@example.com").await;
        let past = suppress(&app, json!({"email": "ada@example.com", "expiresAt": "2020-01-01"})).await;
        assert_eq!(issue(&past, "expiresAt")["code"], "invalid_date");
    }

    async fn a_list_that_is_full_takes_no_more(engine: Engine) {
        let app = App::start(engine).await;
        by_hand(&app, "ada@example.com").await;
        let numbers = app.numbers(1..=999_998);
        app.tamper(&format!(
            "insert into suppressions (project_id, email, reason, created_at) \
             select r.project_id, 'full' || i || '@example.com', 'manual', 7 \
             from {numbers}, (select * from suppressions limit 1) r"
        ))
        .await;
        let two = json!({"emails": ["new@example.com", "newer@example.com"]});
        let refused = app.post("/suppressions/addresses/bulk").json(&two).send().await;
        assert!(text(&refused.assert_error(409, "CONFLICT")["message"]).contains("1000000"));
        by_hand(&app, "new@example.com").await;
        suppress(&app, json!({"email": "newer@example.com"})).await.assert_error(409, "CONFLICT");
        assert_eq!(read(&app, "/suppressions/addresses").await["total"], 10_000);
        app.email_in(&app.send_to("full999998@example.com").await, &["SUPPRESSED"]).await;
    }

    async fn many_are_added_at_once(engine: Engine) {
        let app = App::start(engine).await;
        by_hand(&app, "a1@example.com").await;
        let emails: Vec<String> = (0..1_000).map(|number| format!("a{number}@example.com")).collect();
        let bulk = async |body: Value| app.post("/suppressions/addresses/bulk").json(&body).send().await;
        let told = bulk(json!({"emails": emails, "reason": "complaint"})).await.assert_status(200).json();
        assert_eq!(told, json!({"totalRequested": 1000, "addedCount": 999, "unchangedCount": 1}));
        let told = bulk(json!({"emails": ["B@example.com", "b@example.com"]})).await.assert_status(200).json();
        assert_eq!(told, json!({"totalRequested": 1, "addedCount": 1, "unchangedCount": 0}));
        assert_eq!(read(&app, "/suppressions/addresses").await["total"], 1_001);
        assert_eq!(actions(&app).await[0].0, "suppressions.added");

        let many: Vec<String> = (0..1_001).map(|number| format!("c{number}@example.com")).collect();
        for (body, field, code) in [
            (json!({"emails": many}), "emails", "too_big"),
            (json!({"emails": []}), "emails", "too_small"),
            (json!({"emails": ["c@example.com", "c"]}), "emails.1", "invalid_string"),
            (json!({"emails": ["c@example.com"], "reason": "spam"}), "reason", "invalid_enum_value"),
            (json!({"emails": ["c@example.com"], "expiresAt": "soon"}), "expiresAt", "invalid_string"),
            (json!({"emails": ["c@example.com"], "note": "x"}), "note", "unrecognized_keys"),
        ] {
            let refused = bulk(body).await;
            assert_eq!(issue(&refused, field)["code"], code, "{field}");
        }
        assert_eq!(listed(&app, "search=c").await.iter().filter(|email| email.starts_with('c')).count(), 0);
    }
}
