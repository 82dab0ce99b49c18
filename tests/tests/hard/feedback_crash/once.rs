//! What could be counted twice, at the moments at which it could be.

use std::time::Duration;

use mailwright_testkit::mail_in::MailIn;
use mailwright_testkit::net::free_port;
use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, both_engines, json};
use mailwright_tests::{create_contact, inline, items, read, send_ok, text, until_waiting, with};
use serde_json::Value;

use super::course::RETURN_PATH;

async fn start(engine: Engine, server: &ScriptedServer) -> (App, u16) {
    let inbound = free_port();
    let app = App::builder(engine)
        .smtp(server.port)
        .env("MAILWRIGHT_INBOUND_LISTEN", format!("127.0.0.1:{inbound}"))
        .env("MAILWRIGHT_INBOUND_HOST", "mx.mail.test")
        .env("MAILWRIGHT_INBOUND_RETURN_PATH", RETURN_PATH)
        .env("MAILWRIGHT_DELIVERY_FINAL_REPLY_TIMEOUT_MS", "60000")
        .start()
        .await;
    (app, inbound)
}

fn dsn(number: usize, status: &str, diagnostic: &str) -> String {
    format!(
        "From: MAILER-DAEMON@mx.test\nMessage-ID: <dsn-{number}@mx.test>\nSubject: Undelivered\nMIME-Version: 1.0\n\
         Content-Type: multipart/report; report-type=delivery-status; boundary=x\n\n--x\nContent-Type: text/plain\n\n\
         Sorry.\n--x\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; mx.test\n\n\
         Final-Recipient: rfc822; ada@example.com\nAction: failed\nStatus: {status}\n\
         Diagnostic-Code: smtp; {diagnostic}\n\n--x--\n"
    )
}

async fn events(app: &App, name: &str) -> Vec<Value> {
    items(&read(app, &format!("/events?eventName={name}")).await["events"]).to_vec()
}

/// The address that the bounces of the only mail return to, once its content is there.
async fn return_path(app: &App, server: &ScriptedServer) -> String {
    app.eventually("the content came", async || server.received().pop()).await.mail_from
}

/// Both look at what is due before either has told it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_tell_early_news_once() {
    let server = ScriptedServer::start(|_, _| Answer::HoldAfterDot).await;
    let (one, inbound) = start(Engine::Postgres, &server).await;
    let other = free_port().to_string();
    let _two = one.second_node_with(&[("MAILWRIGHT_INBOUND_LISTEN", &format!("127.0.0.1:{other}"))]).await;
    let request = with(inline(&one, &json!("ada@example.com")), &json!({"subscribed": true}));
    let id = text(&send_ok(&one, request).await["emails"][0]["email"]).to_owned();
    let to = return_path(&one, &server).await;
    let report = dsn(1, "5.1.1", "550 5.1.1 User unknown");
    let reply = MailIn::connect(inbound).await.deliver(&to, &report).await;
    assert!(reply.starts_with("250"), "{reply}");
    assert_eq!(one.email(&id).await["status"], "SENDING", "the report was early");
    server.release();
    one.email_in(&id, &["SENT"]).await;
    let held = one.hold("select 1 from emails for update").await;
    let both_wait = async {
        until_waiting(&one, 2).await;
        drop(held);
    };
    tokio::join!(one.advance(Duration::from_secs(10)), both_wait);
    let bounced = one.email_in(&id, &["BOUNCED"]).await;
    // whoever waited has had its turn
    one.advance(Duration::from_secs(10)).await;
    let told = events(&one, "email.bounce").await;
    assert_eq!(told.len(), 1, "{bounced} {told:?}");
}

both_engines! {
    /// Nobody knows whether the mail left; a report that it waits somewhere tells that it did.
    async fn reports_about_a_mail_in_doubt_are_counted_once(engine: Engine) {
        let server = ScriptedServer::start(|_, _| Answer::DropAfterDot).await;
        let (app, inbound) = start(engine, &server).await;
        create_contact(&app, "ada@example.com", true, json!({})).await;
        let body = json!({
            "name": "Doubt", "subject": "Hello", "body": "<p>Hello</p>", "from": app.from(), "audienceType": "ALL",
        });
        let created = app.post("/campaigns").json(&body).send().await.assert_status(201).json();
        let path = format!("/campaigns/{}", text(&created["data"]["id"]));
        app.post(&format!("{path}/send")).json(&json!({})).send().await.assert_status(200);
        let to = return_path(&app, &server).await;
        let sent = || async { (read(&app, &path).await["status"] == "SENT").then_some(()) };
        app.eventually("the campaign is over", async || sent().await).await;
        assert_eq!(app.list_all("/emails").await[0]["status"], "IN_DOUBT");
        let mut session = MailIn::connect(inbound).await;
        for number in 0..3 {
            let reply = session.deliver(&to, &dsn(number, "5.2.2", "552 5.2.2 The mailbox is full")).await;
            assert!(reply.starts_with("250"), "{reply}");
            let ledger = read(&app, &format!("{path}/ledger")).await;
            let counts = items(&ledger["totals"]).iter().map(|total| (&total["state"], &total["count"]));
            let counts: Vec<_> = counts.collect();
            let [(state, count)] = counts[..] else { panic!("one mail in {} states: {ledger}", counts.len()) };
            let status = app.list_all("/emails").await[0]["status"].clone();
            let expected = if status == "IN_DOUBT" { "IN_DOUBT" } else { "ACCEPTED" };
            assert_eq!((state, count), (&json!(expected), &json!(1)), "the mail is {status}: {ledger}");
            let shown = app.list_all(&format!("{path}/ledger?state={expected}")).await;
            assert_eq!(shown.len(), 1, "the mail is {status}: {shown:?}");
        }
        assert_eq!(events(&app, "email.bounce").await.len(), 3);
    }
}
