//! Which domains mail is taken for: those that are verified, and whose MX record points here.

use mailwright_testkit::dns::FakeDns;
use mailwright_testkit::mail_in::MailIn;
use mailwright_testkit::net::free_port;
use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::{items, read, text};
use serde_json::json;

use super::{bring, capturing, message, received, started};

async fn reply_for(session: &mut MailIn, to: &str) -> String {
    let reply = bring(session, "ada@example.com", &[to], &message("ada@example.com", to)).await;
    reply[..3].to_owned()
}

async fn verify(app: &App, id: &str) {
    read(app, &format!("/domains/{id}/verify")).await;
}

both_engines! {
    async fn mail_is_taken_while_the_record_points_here(engine: Engine) {
        let dns = FakeDns::start().await;
        let inbound = free_port();
        let app = capturing(engine, &dns, inbound).smtp(9).start().await;
        let mut session = MailIn::connect(inbound).await;
        let domain = app.post("/domains").json(&json!({"domain": "in.example"})).send().await.assert_status(201).json();
        let id = text(&domain["id"]).to_owned();
        let key = items(&domain["records"]).iter().find(|record| record["purpose"] == "dkim").expect("a key").clone();
        dns.set_mx("in.example", [(10, "mx.mail.test")]);
        verify(&app, &id).await;
        // not verified
        assert_eq!(reply_for(&mut session, "a@in.example").await, "550");
        dns.set_txt(text(&key["name"]), [text(&key["value"])]);
        verify(&app, &id).await;
        assert_eq!(reply_for(&mut session, "a@in.example").await, "250");
        assert_eq!(reply_for(&mut session, "a@sub.in.example").await, "550");
        // a name server that is away changes nothing
        dns.set_servfail("in.example");
        verify(&app, &id).await;
        assert_eq!(reply_for(&mut session, "b@in.example").await, "250");
        dns.set_mx("in.example", [(10, "mx.elsewhere.test")]);
        verify(&app, &id).await;
        assert_eq!(reply_for(&mut session, "c@in.example").await, "550");
        dns.set_mx("in.example", [(10, "mx.mail.test")]);
        verify(&app, &id).await;
        assert_eq!(reply_for(&mut session, "c@in.example").await, "250");
        app.delete(&format!("/domains/{id}")).send().await.assert_status(200);
        assert_eq!(reply_for(&mut session, "d@in.example").await, "550");
        assert_eq!(received(&app).await.len(), 3);
    }

    async fn under_capture_every_domain_takes_mail(engine: Engine) {
        let dns = FakeDns::start().await;
        let (app, mut session) = started(engine, &dns).await;
        app.post("/domains").json(&json!({"domain": "second.test"})).send().await.assert_status(201);
        assert_eq!(reply_for(&mut session, "a@acme.test").await, "250");
        assert_eq!(reply_for(&mut session, "a@second.test").await, "250");
        assert_eq!(reply_for(&mut session, "a@third.test").await, "550");
    }
}
