//! What the service says about a mail that somebody writes, and tests of templates.

use mailwright_testkit::{App, Engine, Value, both_engines, json, one_engine};
use mailwright_tests::{
    UNKNOWN_ID, assert_only_keys, column, create_contact, issue, items, mail_to, read, text, with,
};

use super::{Kind, mjml};

async fn check(app: &App, body: &Value) -> Value {
    app.post("/templates/check").json(body).send().await.assert_status(200).json()
}

both_engines! {
    async fn what_is_wrong_is_told_with_its_place(engine: Engine) {
        let app = App::start(engine).await;
        create_contact(&app, "ann@example.com", true, json!({"plan": "pro"})).await;
        let body = "<p>{{plan}} {{plam}} {{email}}</p>\n<img src='a.png'> <a href='http://example.com/'>x</a>{% if plan %}";
        let found = check(&app, &json!({"subject": "{{a | upcas}}", "body": body, "type": "HEADLESS"})).await;
        assert_only_keys(&found, &["problems", "variables", "size", "hasUnsubscribe"]);
        let told: Vec<_> = items(&found["problems"])
            .iter()
            .map(|it| (text(&it["severity"]), text(&it["code"]), text(&it["field"]), it["line"].as_i64()))
            .collect();
        assert_eq!(told, [
            ("error", "invalid_template", "subject", Some(1)),
            ("error", "invalid_template", "body", Some(2)),
            ("warning", "unknown_variable", "subject", None),
            ("warning", "unknown_variable", "body", None),
            ("warning", "no_unsubscribe_link", "body", None),
            ("warning", "no_alt", "body", Some(2)),
            ("warning", "insecure_link", "body", Some(2)),
        ]);
        assert_eq!(found["variables"], json!([
            {"name": "a", "known": false}, {"name": "email", "known": true}, {"name": "plam", "known": false},
            {"name": "plan", "known": true},
        ]));
        assert_eq!((&found["size"], &found["hasUnsubscribe"]), (&json!({"bytes": body.len(), "clipped": false}), &json!(false)));

        let good = json!({"subject": "Hi", "mjml": mjml("<a href='{{unsubscribeUrl}}'>out</a>"), "type": "HEADLESS"});
        let found = check(&app, &good).await;
        assert_eq!((&found["problems"], &found["hasUnsubscribe"]), (&json!([]), &json!(true)));
        let found = check(&app, &with(good.clone(), &json!({"topicId": UNKNOWN_ID}))).await;
        assert_eq!(column(&found["problems"], "code"), ["unknown_topic"]);
        let found = check(&app, &with(good, &json!({"mjml": "<mjml>\n<p/></mjml>"}))).await;
        let problem = &found["problems"][0];
        assert_eq!((&problem["code"], &problem["field"], &problem["line"]), (&json!("invalid_mjml"), &json!("mjml"), &json!(2)));
        let large = check(&app, &json!({"subject": "Hi", "body": "x".repeat(103 * 1024)})).await;
        assert_eq!((column(&large["problems"], "code"), &large["size"]["clipped"]), (vec!["clipped"], &json!(true)));
        assert_eq!(large["hasUnsubscribe"], true, "by the footer of marketing mail");
        assert_eq!(read(&app, "/templates").await["total"], 0, "nothing is stored");
    }

    async fn a_test_of_a_template_goes_to_any_address_and_counts_nowhere(engine: Engine) {
        let app = App::start(engine).await;
        create_contact(&app, "ann@example.com", false, json!({"name": "Ann"})).await;
        let template = Kind::Template.create(&app, &json!({"mjml": mjml("Hi {{name ?? \"you\"}}")})).await;
        let path = Kind::Template.path(&template, "/test");
        for (to, says) in [("ann@example.com", "Hi Ann"), ("boss@else.example", "Hi you")] {
            let answer = app.post(&path).json(&json!({"email": to})).send().await.assert_status(200).json();
            assert_only_keys(&answer, &["success", "message", "email"]);
            let mail = mail_to(&app, to).await;
            assert!(text(&mail["subject"]).starts_with("[TEST] Hi"), "{mail}");
            assert!(text(&mail["html"]).contains(says), "{mail}");
            app.email_in(text(&answer["email"]), &["SENT"]).await;
        }
        assert_eq!(read(&app, &Kind::Template.path(&template, "/usage")).await["emailsSent"], 0);
        assert_eq!(read(&app, &Kind::Template.path(&template, "/stats")).await["emails"], 0);
        for wrong in [json!({}), json!({"email": "nope"})] {
            issue(&app.post(&path).json(&wrong).send().await, "email");
        }
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let theirs = Kind::Template.of_another(&app, &other).await;
        let refused = app.post(&Kind::Template.path(&theirs, "/test")).json(&json!({"email": "ann@example.com"}));
        refused.send().await.assert_error(404, "TEMPLATE_NOT_FOUND");
    }
}

one_engine! {
    async fn a_check_takes_what_a_preview_takes(engine: Engine) {
        let app = App::start(engine).await;
        for (request, field) in [
            (json!({"body": "x", "mjml": mjml("x")}), "body"),
            (json!({"mjml": 5}), "mjml"),
            (json!({"type": "LETTER"}), "type"),
            (json!({"topicId": "news"}), "topicId"),
        ] {
            issue(&app.post("/templates/check").json(&request).send().await, field);
        }
        assert_eq!(check(&app, &json!({})).await["variables"], json!([]));
    }
}
