//! Rules, as clients of the reference use them.

use mailwright_testkit::{App, Engine, Value, both_engines, json};
use mailwright_tests::{UNKNOWN_ID, assert_keys, assert_uuid, column, issue, items, read, text};

use super::{by_hand, preview, rule, suppress};

async fn change(app: &App, rule: &Value, body: Value) -> mailwright_testkit::Response {
    app.put(&format!("/suppressions/{}", text(&rule["id"]))).json(&body).send().await
}

both_engines! {
    async fn a_rule_is_created_changed_and_deleted(engine: Engine) {
        let app = App::start(engine).await;
        let body = json!({"name": "Tests", "kind": "SUFFIX", "pattern": " +Test ", "enabled": true});
        let made = app.post("/suppressions").json(&body).send().await.assert_status(201).json();
        assert_keys(&made, &["id", "name", "kind", "pattern", "enabled", "createdAt", "updatedAt"]);
        assert_uuid(&made["id"]);
        assert_eq!((&made["kind"], &made["pattern"]), (&json!("SUFFIX"), &json!("+test")));
        let held = app.email_in(&app.send_to("ada+test@example.com").await, &["SUPPRESSED"]).await;
        assert_eq!(held["suppression"], json!({
            "source": "rule", "id": made["id"], "name": "Tests", "kind": "SUFFIX", "pattern": "+test", "reason": null,
        }));

        let told = change(&app, &made, json!({"enabled": false})).await.assert_status(200).json();
        assert_eq!(told, json!({"success": true}));
        app.email_in(&app.send_to("ada+test@example.com").await, &["SENT"]).await;
        let whole = json!({"name": "Other", "kind": "DOMAIN", "pattern": "Example.org", "enabled": true});
        change(&app, &made, whole).await.assert_status(200);
        assert_eq!(preview(&app, "ada@example.org").await["match"]["name"], "Other");
        let listed = read(&app, "/suppressions").await;
        assert_eq!((items(&listed["rules"]).len(), &listed["rules"][0]["pattern"]), (1, &json!("example.org")));

        let path = format!("/suppressions/{}", text(&made["id"]));
        app.delete(&path).send().await.assert_status(204);
        app.delete(&path).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        change(&app, &made, json!({"enabled": true})).await.assert_error(404, "RESOURCE_NOT_FOUND");
        change(&app, &json!({"id": UNKNOWN_ID}), json!({})).await.assert_error(404, "RESOURCE_NOT_FOUND");
        let log = read(&app, &format!("/projects/{}/audit", app.project_id())).await;
        let actions = column(&log["data"], "action");
        assert_eq!(actions[..4], [
            "suppression_rule.deleted", "suppression_rule.updated", "suppression_rule.updated", "suppression_rule.created",
        ]);
    }

    async fn the_first_rule_that_fits_is_told(engine: Engine) {
        let app = App::start(engine).await;
        assert_eq!(preview(&app, "ada@example.com").await, json!({"suppressed": false, "match": null}));
        for (kind, pattern) in [
            ("ADDRESS", "ada@example.com"), ("PREFIX", "qa-"), ("SUFFIX", "+test"), ("DOMAIN", "test.example"),
            ("WILDCARD", "*.load?@*.example"),
        ] {
            rule(&app, kind, pattern).await;
        }
        for (address, kind) in [
            ("ADA@example.com", "ADDRESS"),
            ("qa-7+test@test.example", "PREFIX"),
            ("bob+test@test.example", "SUFFIX"),
            ("bob@test.example", "DOMAIN"),
            ("bob.load1@any.example", "WILDCARD"),
        ] {
            let told = preview(&app, address).await;
            assert_eq!((&told["suppressed"], &told["match"]["kind"]), (&json!(true), &json!(kind)), "{address}");
        }
        assert_eq!(preview(&app, "bob@sub.test.example").await["suppressed"], false);
        // a list comes before the rules; a kind of mail may pass
        suppress(&app, json!({"email": "carl@example.com", "reason": "unsubscribe-all"})).await;
        assert_eq!(preview(&app, "carl@example.com").await["match"]["source"], "project");
        let body = json!({"address": "carl@example.com", "type": "TRANSACTIONAL"});
        let told = app.post("/suppressions/preview").json(&body).send().await.assert_status(200).json();
        assert_eq!(told["suppressed"], false);
        by_hand(&app, "ada@example.com").await;
        assert_eq!(preview(&app, "ada@example.com").await["match"]["source"], "project");
    }

    async fn what_is_no_rule_is_refused(engine: Engine) {
        let app = App::start(engine).await;
        let post = async |body: Value| app.post("/suppressions").json(&body).send().await;
        for (body, field, code) in [
            (json!({"kind": "DOMAIN", "pattern": "example.com"}), "name", "invalid_type"),
            (json!({"name": "", "kind": "DOMAIN", "pattern": "example.com"}), "name", "too_small"),
            (json!({"name": "x".repeat(101), "kind": "DOMAIN", "pattern": "example.com"}), "name", "too_big"),
            (json!({"name": "n", "kind": "REGEX", "pattern": "example.com"}), "kind", "invalid_enum_value"),
            (json!({"name": "n", "kind": "DOMAIN", "pattern": "x".repeat(255)}), "pattern", "too_big"),
            (json!({"name": "n", "kind": "DOMAIN", "pattern": "@example.com"}), "pattern", "invalid_string"),
            (json!({"name": "n", "kind": "ADDRESS", "pattern": "example.com"}), "pattern", "invalid_string"),
            (json!({"name": "n", "kind": "PREFIX", "pattern": "a@"}), "pattern", "invalid_string"),
            (json!({"name": "n", "kind": "DOMAIN", "pattern": "a.example", "on": true}), "on", "unrecognized_keys"),
        ] {
            let refused = post(body).await;
            assert_eq!(issue(&refused, field)["code"], code, "{field}");
        }
        let bad = app.post("/suppressions/preview").json(&json!({"address": "ada"})).send().await;
        assert_eq!(issue(&bad, "address")["code"], "invalid_string");
        let made = rule(&app, "DOMAIN", "example.com").await;
        // the pattern is checked against the kind that it has then
        let refused = change(&app, &made, json!({"kind": "ADDRESS"})).await;
        assert_eq!(issue(&refused, "pattern")["code"], "invalid_string");
        assert_eq!(issue(&change(&app, &made, json!({"id": "x"})).await, "id")["code"], "unrecognized_keys");
        for number in 1..100 {
            rule(&app, "ADDRESS", &format!("a{number}@example.com")).await;
        }
        let one_more = post(json!({"name": "n", "kind": "DOMAIN", "pattern": "a.example"})).await;
        one_more.assert_error(409, "CONFLICT");
        assert_eq!(items(&read(&app, "/suppressions").await["rules"]).len(), 100);
    }
}
