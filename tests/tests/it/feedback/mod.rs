//! What becomes of mails after they left: bounces and complaints that come by mail, notifications of a provider.

mod bounces;
mod complaints;
mod doctor;
mod postfix;
mod sns;

use mailwright_testkit::net::free_port;
use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, AppBuilder, Engine};
use mailwright_tests::{inline, items, send_ok, text, with};
use serde_json::{Value, json};

/// The domain that bounces return to.
const RETURN_PATH: &str = "bounces.mail.test";

/// The settings of a service that takes mail.
fn taking_mail(engine: Engine, inbound: u16) -> AppBuilder {
    App::builder(engine)
        .env("MAILWRIGHT_INBOUND_LISTEN", format!("127.0.0.1:{inbound}"))
        .env("MAILWRIGHT_INBOUND_HOST", "mx.mail.test")
        .env("MAILWRIGHT_INBOUND_RETURN_PATH", RETURN_PATH)
}

/// A service that takes mail, what it sends to, and its port for mail.
async fn started(engine: Engine) -> (App, ScriptedServer, u16) {
    let server = ScriptedServer::start(|_, _| Answer::Accept).await;
    let inbound = free_port();
    let app = taking_mail(engine, inbound).smtp(server.port).start().await;
    (app, server, inbound)
}

/// Sends a mail to a subscribed contact; its id, once it was handed over.
async fn sent_to(app: &App, to: &str) -> String {
    let request = with(inline(app, &json!(to)), &json!({"subscribed": true}));
    let id = text(&send_ok(app, request).await["emails"][0]["email"]).to_owned();
    app.email_in(&id, &["SENT"]).await;
    id
}

/// The address that the bounces of a mail return to, and the mail itself.
async fn return_path(app: &App, server: &ScriptedServer, to: &str) -> (String, String) {
    let received =
        app.eventually("the mail arrived", async || server.received_for(to).into_iter().next()).await;
    (received.mail_from, String::from_utf8(received.data).expect("7-bit"))
}

/// The events of a project with a name, newest first.
async fn events(app: &App, name: &str) -> Vec<Value> {
    let found = app.get(&format!("/events?eventName={name}")).send().await.assert_status(200).json();
    items(&found["events"]).to_vec()
}

/// Whether a contact is subscribed.
async fn is_subscribed(app: &App, email: &str) -> bool {
    let found = app.get(&format!("/contacts?search={email}")).send().await.assert_status(200).json();
    found["data"][0]["subscribed"] == true
}

/// A report that a mail did not arrive (RFC 3464).
fn dsn(status: &str, diagnostic: &str) -> String {
    format!(
        "From: MAILER-DAEMON@mx.test\nTo: somebody\nSubject: Undelivered Mail Returned to Sender\nMIME-Version: 1.0\n\
         Content-Type: multipart/report; report-type=delivery-status; boundary=x\n\n--x\nContent-Type: text/plain\n\n\
         Sorry.\n--x\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; mx.test\n\n\
         Final-Recipient: rfc822; ada@example.com\nAction: failed\nStatus: {status}\n\
         Diagnostic-Code: smtp; {diagnostic}\n\n--x--\n"
    )
}
