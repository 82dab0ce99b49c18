//! What is said on a connection: the service's name, the size that a mail may have, and how long an answer may take.

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, Value, json};
use mailwright_tests::text;
use std::time::Duration;

use crate::delivery::codes;

/// One mail that is refused as too large, as it ends.
async fn too_large(server: ScriptedServer, bytes: usize) -> Value {
    let app = App::builder(Engine::Sqlite).smtp(server.port).start().await;
    let body = json!({
        "to": "ada@example.com", "subject": "Hi", "body": "x".repeat(bytes), "from": app.from(),
    });
    let answer = app.send(body).await.assert_status(200).json();
    let email =
        app.email_in(text(&answer["data"]["emails"][0]["email"]), &["FAILED", "BOUNCED", "SENT"]).await;
    assert_eq!((&email["status"], &email["reason"]), (&json!("FAILED"), &json!("too_large")), "{email}");
    assert_eq!(crate::delivery::events(&app, &email, "email.bounce").await.len(), 0);
    email
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mail_larger_than_announced_is_not_tried_and_both_sizes_are_named() {
    let server = ScriptedServer::builder().size(20_000).start(|_, _| Answer::Accept).await;
    let email = too_large(server, 30_000).await;
    let error = text(&email["error"]);
    assert!(error.contains("20000 at most"), "{error}");
    assert_eq!(codes(&email), [None], "it was not offered");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_size_that_is_refused_has_one_reason_wherever_it_is_refused() {
    for refusal in [
        Answer::RefuseMail(552, "5.3.4 message size exceeds fixed limit"),
        Answer::RefuseMail(552, "too big"),
        Answer::RefuseData(552, "5.3.4 message size exceeds fixed limit"),
    ] {
        let server = ScriptedServer::start(move |_, _| refusal).await;
        let email = too_large(server, 100).await;
        assert!(text(&email["error"]).contains("552"), "{email}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_service_introduces_itself_by_its_name() {
    let server = ScriptedServer::start(|_, _| Answer::Accept).await;
    let app = App::builder(Engine::Sqlite)
        .smtp(server.port)
        .env("MAILWRIGHT_BASE_URL", "http://mail.example.com:8080")
        .start()
        .await;
    let id = app.send_to("ada@example.com").await;
    app.email_in(&id, &["SENT"]).await;
    assert_eq!(server.helo_names().first().map(String::as_str), Some("mail.example.com"));
    let doctor = app.run(&["doctor"]).await;
    assert!(doctor.contains("ok     EHLO name: mail.example.com"), "{doctor}");
    assert!(doctor.contains("LOOK   base URL: http://mail.example.com:8080 is not https"), "{doctor}");
    assert!(app.log().contains("the links in mails are not https"), "and so does the log");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_answer_to_the_end_of_a_mail_has_a_patience_of_its_own() {
    let server = ScriptedServer::start(|_, _| Answer::Delay(Duration::from_millis(1500))).await;
    let app = App::builder(Engine::Sqlite)
        .smtp(server.port)
        .env("MAILWRIGHT_DELIVERY_REPLY_TIMEOUT_MS", "400")
        .start()
        .await;
    let id = app.send_to("ada@example.com").await;
    let email = app.email_in(&id, &["SENT"]).await;
    assert_eq!((&email["attemptCount"], &email["inDoubt"]), (&json!(1), &json!(false)), "{email}");
    assert_eq!(server.received().len(), 1);
}
