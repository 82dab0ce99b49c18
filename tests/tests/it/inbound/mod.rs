//! Mail that comes in for sender domains: by SMTP and by notifications of a provider, and reports about these domains.

mod answers;
mod crowd;
mod dmarc;
mod domains;
mod files;
mod policies;
mod senders;
mod taken;

use mailwright_testkit::dns::FakeDns;
use mailwright_testkit::mail_in::MailIn;
use mailwright_testkit::net::free_port;
use mailwright_testkit::{App, AppBuilder, Engine};
use mailwright_tests::items;
use serde_json::Value;

/// A domain whose mail is proved to be its own, when it comes from this machine.
const PROVEN: &str = "proven.test";

/// The settings of a service that captures what it sends, and takes mail for its domains.
fn capturing(engine: Engine, dns: &FakeDns, inbound: u16) -> AppBuilder {
    dns.set_txt(PROVEN, ["v=spf1 ip4:127.0.0.1 -all"]);
    dns.set_txt(&format!("_dmarc.{PROVEN}"), ["v=DMARC1; p=reject"]);
    App::builder(engine)
        .env("MAILWRIGHT_INBOUND_LISTEN", format!("127.0.0.1:{inbound}"))
        .env("MAILWRIGHT_INBOUND_HOST", "mx.mail.test")
        .env("MAILWRIGHT_DNS_SERVER", dns.addr.to_string())
}

/// Such a service, and a session with it.
async fn started(engine: Engine, dns: &FakeDns) -> (App, MailIn) {
    let inbound = free_port();
    let app = capturing(engine, dns, inbound).start().await;
    let session = MailIn::connect(inbound).await;
    (app, session)
}

/// Delivers a message; the reply to it, or to the recipient that is refused. An empty sender is the null sender.
async fn bring(session: &mut MailIn, from: &str, to: &[&str], message: &str) -> String {
    let reply = session.command(&format!("MAIL FROM:<{from}>")).await;
    assert!(reply.starts_with("250"), "{reply}");
    for to in to {
        let reply = session.command(&format!("RCPT TO:<{to}>")).await;
        if !reply.starts_with("250") {
            session.command("RSET").await;
            return reply;
        }
    }
    let reply = session.command("DATA").await;
    assert!(reply.starts_with("354"), "{reply}");
    let lines = message.replace("\r\n", "\n").replace("\n.", "\n..").replace('\n', "\r\n");
    session.raw(lines.as_bytes()).await;
    session.command(if message.ends_with('\n') { "." } else { "\r\n." }).await
}

/// The same for a message that is taken.
async fn bring_ok(session: &mut MailIn, from: &str, to: &[&str], message: &str) {
    let reply = bring(session, from, to, message).await;
    assert!(reply.starts_with("250"), "{reply}");
}

/// A plain message.
fn message(from: &str, subject: &str) -> String {
    format!("From: {from}\nTo: somebody\nSubject: {subject}\nMessage-ID: <{subject}@mail.test>\n\nHello\n")
}

/// The mails that came in, newest first.
async fn received(app: &App) -> Vec<Value> {
    let found = app.get("/emails?status=RECEIVED").send().await.assert_status(200).json();
    assert_eq!(found["total"], items(&found["data"]).len(), "{found}");
    items(&found["data"]).to_vec()
}

/// The events of mails that came in, newest first.
async fn told(app: &App) -> Vec<Value> {
    let found = app.get("/events?eventName=email.received").send().await.assert_status(200).json();
    items(&found["events"]).to_vec()
}
