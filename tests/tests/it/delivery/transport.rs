//! TLS, logins and extensions on the way to the relay.

use mailwright_testkit::smtp::{Answer, ScriptedServer, ServerBuilder};
use mailwright_testkit::tls::Certificate;
use mailwright_testkit::{App, Engine, Value};
use mailwright_tests::text;
use std::path::Path;

use crate::delivery::{OPEN, attempts};

async fn accepting(builder: ServerBuilder) -> ScriptedServer {
    builder.start(|_, _| Answer::Accept).await
}

/// A server whose mail goes to this transport; it trusts the certificates in the file.
async fn app_to(transport: String, trusted: Option<&Path>) -> App {
    let builder = App::builder(Engine::Sqlite).env("MAILWRIGHT_TRANSPORT", transport);
    let builder = match trusted {
        Some(path) => builder.env("SSL_CERT_FILE", path.display().to_string()),
        None => builder,
    };
    builder.start().await
}

async fn assert_delivered(app: &App, server: &ScriptedServer) -> Value {
    let id = app.send_to("ada@example.com").await;
    let email = app.email_in(&id, &["SENT"]).await;
    assert_eq!(server.received().len(), 1);
    assert_eq!(server.violations(), Vec::<String>::new());
    email
}

/// Waits for a few visits and checks that none of them brought the mail.
async fn assert_not_delivered(app: &App, server: &ScriptedServer) {
    let id = app.send_to("ada@example.com").await;
    app.eventually("the host was visited", async || (server.connections() >= 3).then_some(())).await;
    let email = app.email(&id).await;
    assert!(OPEN.contains(&text(&email["status"])), "it waits until the operator has acted: {email}");
    assert_eq!(server.attempts().len(), 0, "no recipient was named");
    assert_eq!(email["inDoubt"], false);
}

fn encrypted(email: &Value) -> bool {
    let attempts = attempts(email);
    let tls = &attempts.last().expect("an attempt")["tls"];
    !tls.is_null() && *tls != false
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn starttls_is_used_when_required() {
    let certificate = Certificate::generate();
    let server = accepting(ScriptedServer::builder().starttls(&certificate)).await;
    let transport = format!("smtp://127.0.0.1:{}?tls=required", server.port);
    let app = app_to(transport, Some(certificate.path())).await;
    let email = assert_delivered(&app, &server).await;
    assert!(server.received()[0].tls);
    assert!(encrypted(&email), "the attempt says so: {email}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_leaves_in_the_clear_when_tls_is_required() {
    let server = accepting(ScriptedServer::builder()).await;
    let app = app_to(format!("smtp://127.0.0.1:{}?tls=required", server.port), None).await;
    assert_not_delivered(&app, &server).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_leaves_to_an_unknown_certificate_when_tls_is_required() {
    let server = accepting(ScriptedServer::builder().starttls(&Certificate::generate())).await;
    let app = app_to(format!("smtp://127.0.0.1:{}?tls=required", server.port), None).await;
    assert_not_delivered(&app, &server).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn starttls_is_used_when_it_is_offered() {
    let server = accepting(ScriptedServer::builder().starttls(&Certificate::generate())).await;
    let app = app_to(format!("smtp://127.0.0.1:{}?tls=opportunistic", server.port), None).await;
    let email = assert_delivered(&app, &server).await;
    assert!(server.received()[0].tls, "unauthenticated encryption is better than none");
    assert!(encrypted(&email), "{email}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opportunistic_tls_does_without() {
    let server = accepting(ScriptedServer::builder()).await;
    let app = app_to(format!("smtp://127.0.0.1:{}?tls=opportunistic", server.port), None).await;
    let email = assert_delivered(&app, &server).await;
    assert!(!encrypted(&email), "{email}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tls_can_be_spoken_from_the_first_byte() {
    let certificate = Certificate::generate();
    let builder = ScriptedServer::builder().implicit_tls(&certificate).auth("relay", "secret");
    let server = accepting(builder).await;
    let transport = format!("smtps://relay:secret@127.0.0.1:{}", server.port);
    let app = app_to(transport, Some(certificate.path())).await;
    let email = assert_delivered(&app, &server).await;
    let received = &server.received()[0];
    assert_eq!((received.tls, received.user.as_deref()), (true, Some("relay")));
    assert!(encrypted(&email), "{email}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_is_sent_under_tls() {
    let certificate = Certificate::generate();
    let builder = ScriptedServer::builder().starttls(&certificate).auth("re@lay", "p:a/s%s");
    let server = accepting(builder).await;
    let transport = format!("smtp://re%40lay:p%3Aa%2Fs%25s@127.0.0.1:{}?tls=required", server.port);
    let app = app_to(transport, Some(certificate.path())).await;
    assert_delivered(&app, &server).await;
    let received = &server.received()[0];
    assert_eq!((received.tls, received.user.as_deref()), (true, Some("re@lay")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_is_sent_in_the_clear_when_told_so() {
    let server = accepting(ScriptedServer::builder().auth("relay", "secret")).await;
    let transport = format!("smtp://relay:secret@127.0.0.1:{}?tls=none", server.port);
    let app = app_to(transport, None).await;
    assert_delivered(&app, &server).await;
    assert_eq!(server.received()[0].user.as_deref(), Some("relay"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_password_holds_mail_until_it_is_corrected() {
    let server = accepting(ScriptedServer::builder().auth("relay", "secret")).await;
    let transport = format!("smtp://relay:wrong@127.0.0.1:{}?tls=none", server.port);
    let builder = App::builder(Engine::Sqlite).env("MAILWRIGHT_TRANSPORT", transport);
    let mut app = builder.env("MAILWRIGHT_DELIVERY_REFUSED_BASE_MS", "200").start().await;
    assert_not_delivered(&app, &server).await;
    assert!(app.stop().await.success());
    let transport = format!("smtp://relay:secret@127.0.0.1:{}?tls=none", server.port);
    app.restart_with(&[("MAILWRIGHT_TRANSPORT", &transport)]).await;
    app.eventually("the mail leaves by itself", async || (server.received().len() == 1).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_are_not_pipelined_unless_offered() {
    let server = accepting(ScriptedServer::builder().pipelining(false)).await;
    let app = app_to(format!("smtp://127.0.0.1:{}?tls=none", server.port), None).await;
    assert_delivered(&app, &server).await;
}
