//! MJML and the documents of editors, beside the HTML.

use mailwright_testkit::{App, Engine, Value, both_engines, json, one_engine};
use mailwright_tests::{create_contact, issue, issues, items, mail_to, read, text};

use super::{BOTH, Kind, mjml};

fn document() -> Value {
    json!({"version": 2, "blocks": [{"type": "text", "nested": {"text": "Hello {{name}}\u{0}", "n": 1.5}}]})
}

both_engines! {
    async fn the_body_is_made_from_mjml(engine: Engine) {
        let app = App::start(engine).await;
        for kind in BOTH {
            let source = mjml("{% if n < 5 and x %}Hi {{name ?? \"you & <me>\"}}{% endif %}");
            let made = kind.create(&app, &json!({"mjml": source, "document": document()})).await;
            assert_eq!((&made["mjml"], &made["document"]), (&json!(source), &document()), "{kind:?}");
            assert_eq!((&made["version"], &made["savedBy"]["type"]), (&json!(1), &json!("key")));
            let body = text(&made["body"]);
            assert!(body.contains("<html") && body.contains("{% if n < 5 and x %}Hi {{name ?? \"you & <me>\"}}"), "{body}");
            assert!(!body.contains("mj-text") && !body.contains("googleapis"), "{body}");
            assert_eq!(read(&app, &kind.path(&made, "")).await, made);

            // lists have the HTML alone
            let listed = items(&read(&app, kind.list()).await["data"])[0].clone();
            assert_eq!(listed["body"], made["body"]);
            assert!(listed.get("mjml").is_none() && listed.get("document").is_none(), "{listed}");

            let copy = app.post(&kind.path(&made, "/duplicate")).send().await.assert_status(201).json();
            for same in ["mjml", "document", "body"] {
                assert_eq!(copy[same], made[same], "{same}");
            }
            assert_eq!(copy["version"], 1);

            // MJML without a document takes away the document, which would not say the same
            let changed = kind.change(&app, &made, &json!({"mjml": mjml("Bye")})).await;
            assert_eq!((&changed["document"], &changed["mjml"]), (&Value::Null, &json!(mjml("Bye"))));
            assert!(text(&changed["body"]).contains(">Bye<"));
            assert_eq!(read(&app, &kind.path(&copy, "")).await, copy, "it is a thing of its own");
        }
    }

    async fn a_client_that_sets_the_body_alone_takes_the_source_away(engine: Engine) {
        let app = App::start(engine).await;
        for kind in BOTH {
            let made = kind.create(&app, &json!({"mjml": mjml("Hi"), "document": document()})).await;
            let renamed = kind.change(&app, &made, &json!({"name": "Renamed", "description": "x"})).await;
            assert_eq!((&renamed["mjml"], &renamed["document"], &renamed["version"]), (&made["mjml"], &document(), &json!(1)));

            let changed = kind.change(&app, &made, &json!({"body": "<p>By hand</p>"})).await;
            assert_eq!((&changed["mjml"], &changed["document"]), (&Value::Null, &Value::Null));
            assert_eq!((&changed["body"], &changed["version"]), (&json!("<p>By hand</p>"), &json!(2)));
            assert_eq!(read(&app, &kind.path(&made, "")).await, changed);

            let before = read(&app, &kind.path(&made, "/versions/1")).await;
            for same in ["mjml", "document", "body", "subject", "from"] {
                assert_eq!(before[same], made[same], "{same}");
            }
            // what such a client reads and writes back unchanged is a body alone
            let whole = json!({"body": changed["body"], "mjml": null, "document": null});
            assert_eq!(kind.change(&app, &made, &whole).await["version"], 2);
        }
    }

    async fn mails_are_made_of_the_html_of_mjml(engine: Engine) {
        let app = App::start(engine).await;
        create_contact(&app, "ann@example.com", true, json!({"name": "Ann", "n": 3})).await;
        let source = "<mjml><mj-body>{% if n < 5 %}<mj-section><mj-column><mj-text>Few, {{name}}</mj-text></mj-column>\
                      </mj-section>{% else %}<mj-section><mj-column><mj-text>Many</mj-text></mj-column></mj-section>\
                      {% endif %}</mj-body></mjml>";
        let template = Kind::Template.create(&app, &json!({"mjml": source, "type": "TRANSACTIONAL"})).await;
        app.send(json!({"to": "ann@example.com", "template": template["id"]})).await.assert_status(200);
        let mail = mail_to(&app, "ann@example.com").await;
        let html = text(&mail["html"]);
        assert!(html.contains(">Few, Ann<") && !html.contains("Many") && !html.contains("{%"), "{html}");
    }
}

one_engine! {
    async fn what_contradicts_itself_is_refused_by_all_its_fields(engine: Engine) {
        let app = App::start(engine).await;
        for kind in BOTH {
            let made = kind.create(&app, &json!({"mjml": mjml("Hi"), "document": document()})).await;
            let good = mjml("Hi");
            for (says, fields) in [
                (json!({"body": "<p>", "mjml": good}), vec!["body", "mjml"]),
                (json!({"body": "<p>", "mjml": good, "document": {}}), vec!["body", "mjml"]),
                (json!({"body": "<p>", "document": {}}), vec!["document"]),
                (json!({"mjml": "<mjml>\n<p/></mjml>"}), vec!["mjml"]),
                (json!({"mjml": "<mjml><mj-body><mj-include path='/etc/passwd'/></mj-body></mjml>"}), vec!["mjml"]),
                (json!({"mjml": good, "document": []}), vec!["document"]),
                (json!({"mjml": good, "document": "{}"}), vec!["document"]),
                (json!({"mjml": 5, "document": 5}), vec!["mjml", "document"]),
            ] {
                for answer in [
                    kind.try_create(&app, &says).await,
                    kind.update(&app, &made).json(&says).send().await,
                ] {
                    answer.assert_error(422, "VALIDATION_ERROR");
                    let mut found: Vec<_> = issues(&answer).into_iter().map(|(field, _)| field).collect();
                    found.sort_unstable();
                    let mut wanted = fields.clone();
                    wanted.sort_unstable();
                    assert_eq!(found, wanted, "{kind:?} {says}");
                }
            }
            let lone = kind.update(&app, &made).json(&json!({"document": {}})).send().await;
            issue(&lone, "document");
            let nothing = kind.try_create(&app, &json!({})).await;
            assert_eq!(issue(&nothing, "body")["received"], "undefined");
            let placed = kind.try_create(&app, &json!({"mjml": "<mjml>\n<p/></mjml>"})).await;
            let told = issue(&placed, "mjml");
            assert_eq!(told["code"], "invalid_mjml");
            assert!(text(&told["message"]).starts_with("line 2, column 1: "), "{told}");
            let language = kind.try_create(&app, &json!({"subject": "{{a | upcas}}", "mjml": mjml("\n{% if a %}")})).await;
            let error = language.assert_error(400, "VALIDATION_ERROR");
            let fields: Vec<_> = items(&error["errors"]).iter().map(|issue| text(&issue["field"])).collect();
            assert_eq!(fields, ["subject", "mjml"], "{error}");
            assert!(text(&error["errors"][1]["message"]).contains("line 2, column 1"), "{error}");
            assert_eq!(read(&app, &kind.path(&made, "")).await, made);
        }
    }

    async fn what_is_too_large_or_too_deep_is_refused(engine: Engine) {
        let app = App::start(engine).await;
        let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!({ "a": inner }));
        let long = |length: usize| json!({"text": "x".repeat(length - r#"{"text":""}"#.len())});
        let good = mjml("Hi");
        for kind in BOTH {
            for (says, field) in [
                (json!({"mjml": good, "document": nested(65)}), "document"),
                (json!({"mjml": good, "document": long(1_000_001)}), "document"),
                (json!({"mjml": "x".repeat(1_000_001)}), "mjml"),
                (json!({"mjml": mjml(&"<b>".repeat(100_000))}), "mjml"),
                (json!({"mjml": mjml(&"<br>".repeat(30_000))}), "mjml"),
            ] {
                let refused = kind.try_create(&app, &says).await;
                refused.assert_error(422, "VALIDATION_ERROR");
                issue(&refused, field);
            }
            for document in [nested(64), long(1_000_000)] {
                let made = kind.create(&app, &json!({"mjml": good, "document": document})).await;
                assert!(made["document"] == document, "it is kept as it is");
            }
        }
    }
}
