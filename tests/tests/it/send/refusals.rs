//! What POST /v1/send refuses after the body itself was found to be well-formed.

use mailwright_testkit::dns::FakeDns;
use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::{UNKNOWN_ID, as_project, contact_by_email, create_template, inline, issue, mail_to};
use mailwright_tests::{read, send_ok, text, with, without};
use serde_json::{Value, json};

async fn assert_nothing_happened(app: &App, address: &str) {
    assert_eq!(read(app, "/emails").await["total"], 0, "nothing is queued");
    assert_eq!(contact_by_email(app, address).await, None, "no contact is made");
}

both_engines! {
    async fn a_template_must_be_the_projects_and_a_sender_must_be_named(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let body = json!({"name": "Theirs", "subject": "s", "body": "b", "from": other.from});
        let request = as_project(&app, &other, "POST", "/templates").json(&body);
        let foreign = request.send().await.assert_status(201).json();

        for id in [UNKNOWN_ID, text(&foreign["id"])] {
            let send = json!({"to": "ann@example.com", "template": id, "from": app.from()});
            let error = app.send(send).await.assert_error(404, "TEMPLATE_NOT_FOUND");
            assert_eq!(error["details"], json!({"resource": "Template", "id": id}));
            assert!(error["suggestion"].is_string(), "{error}");
        }
        assert_nothing_happened(&app, "ann@example.com").await;

        let response = app.send(without(inline(&app, &json!("ann@example.com")), "from")).await;
        assert_eq!(issue(&response, "from")["code"], "required");
        let error = response.assert_error(422, "VALIDATION_ERROR");
        assert_eq!(error["errors"].as_array().map(Vec::len), Some(1), "{error}");
        assert_eq!(error["details"]["errors"], error["errors"]);
        assert_nothing_happened(&app, "ann@example.com").await;
    }

    async fn the_sender_domain_must_be_one_of_the_project_exactly(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let domain = app.domain();
        for from in [
            json!("hello@unregistered.example"),
            json!(format!("hello@sub.{domain}")),
            json!(format!("hello@{domain}.example")),
            json!(other.from),
            json!({"email": other.from, "name": "Neighbour"}),
        ] {
            let send = with(inline(&app, &json!("ann@example.com")), &json!({"from": from}));
            app.send(send).await.assert_error(403, "INTERNAL_SERVER_ERROR");
        }
        // A sender in the request counts even where the template has a good one.
        let template = create_template(&app, &json!({})).await;
        let send =
            json!({"to": "ann@example.com", "template": template["id"], "from": "x@unregistered.example"});
        app.send(send).await.assert_error(403, "INTERNAL_SERVER_ERROR");
        assert_nothing_happened(&app, "ann@example.com").await;

        let shouted = format!("Hello@{}", domain.to_uppercase());
        send_ok(&app, with(inline(&app, &json!("ann@example.com")), &json!({"from": shouted}))).await;
        mail_to(&app, "ann@example.com").await;
    }

    async fn a_domain_that_is_not_verified_yet_cannot_send(engine: Engine) {
        let dns = FakeDns::start().await;
        let app = App::builder(engine)
            .env("MAILWRIGHT_TRANSPORT", "smtp://127.0.0.1:9?tls=none")
            .env("MAILWRIGHT_DNS_SERVER", dns.addr.to_string())
            .start()
            .await;
        let domain = app.post("/domains").json(&json!({"domain": "pending.example"})).send().await;
        assert_eq!(domain.assert_status(201).json()["verified"], false);
        let send = with(inline(&app, &json!("ann@example.com")), &json!({"from": "hi@pending.example"}));
        let unverified = app.send(send.clone()).await.assert_error(403, "INTERNAL_SERVER_ERROR");
        let unknown = app.send(with(send, &json!({"from": "hi@unknown.example"}))).await;
        let unknown = unknown.assert_error(403, "INTERNAL_SERVER_ERROR");
        assert_ne!(unverified["message"], unknown["message"], "the message says what is wrong");
        assert_nothing_happened(&app, "ann@example.com").await;
        send_ok(&app, inline(&app, &json!("ann@example.com"))).await;
    }

    async fn a_locale_that_is_no_text_is_refused(engine: Engine) {
        let app = App::start(engine).await;
        let send = |locale: Value| {
            with(inline(&app, &json!("ann@example.com")), &json!({"data": {"locale": locale}}))
        };
        for locale in [json!(5), json!(true), json!(["fr"]), json!({"a": 1})] {
            app.send(send(locale)).await.assert_status(400);
        }
        assert_nothing_happened(&app, "ann@example.com").await;
        for locale in [json!("fr"), json!("no-such-language"), json!(""), json!(null)] {
            send_ok(&app, send(locale)).await;
        }
    }
}
