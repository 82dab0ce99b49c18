//! Mail to a person who is erased: what waits is not sent, and sums stay true.

use std::time::Duration;

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, both_engines, json};
use mailwright_tests::{create_contact, read, send_ok, text};

use super::{completed, erase, erased, owner, rows_with, tables};

const ANN: &str = "ann@people.example";

both_engines! {
    async fn what_waits_is_not_sent(engine: Engine) {
        let server = ScriptedServer::start(|to, _| match to {
            ANN => Answer::RefuseRcpt(451, "4.2.1 later"),
            _ => Answer::Accept,
        })
        .await;
        let app = App::builder(engine)
            .smtp(server.port)
            .env("MAILWRIGHT_DELIVERY_RETRY_BASE_MS", "3600000")
            .env("MAILWRIGHT_DELIVERY_RETRY_MAX_MS", "3600000")
            .start()
            .await;
        let owner = owner(&app).await;
        let ann = create_contact(&app, ANN, true, json!({})).await;
        create_contact(&app, "bob@people.example", true, json!({})).await;
        let mail = json!({"to": ANN, "from": app.from(), "subject": "s", "body": "canary-body"});
        send_ok(&app, mail).await;
        let campaign = json!({"name": "c", "subject": "s", "body": "b", "from": app.from(), "audienceType": "ALL"});
        let campaign = app.post("/campaigns").json(&campaign).send().await.assert_status(201).json();
        let id = text(&campaign["data"]["id"]).to_owned();
        app.post(&format!("/campaigns/{id}/send")).json(&json!({})).send().await.assert_status(200);
        app.eventually("both mails were put off", async || {
            (server.attempts_for(ANN).len() >= 2).then_some(())
        })
        .await;
        let receipt = erase(&app, &owner, &ann["id"], json!({})).await;
        let tried = server.attempts_for(ANN).len();
        let receipt = completed(&app, &owner, &receipt).await;
        assert_eq!(receipt["counts"]["stopped"], 2, "{receipt}");
        // it ends when nothing waits and its ledger adds up
        app.eventually("the campaign ends", async || {
            app.advance(Duration::from_mins(30)).await;
            (read(&app, &format!("/campaigns/{id}")).await["status"] == "SENT").then_some(())
        })
        .await;
        app.advance(Duration::from_hours(3)).await;
        assert_eq!(server.attempts_for(ANN).len(), tried, "nothing is handed over after the answer");
        assert!(server.received_for(ANN).is_empty());
        assert_eq!(server.received_for("bob@people.example").len(), 1);
        assert!(rows_with(&app, ANN).await.is_empty());
        assert!(rows_with(&app, "canary-body").await.is_empty());
    }

    async fn what_is_on_the_wire_is_not_sent_again(engine: Engine) {
        let server = ScriptedServer::start(|_, _| Answer::HoldAfterDot).await;
        let app = App::builder(engine).smtp(server.port).start().await;
        let owner = owner(&app).await;
        let mail = json!({"to": ANN, "from": app.from(), "subject": "canary-subject", "body": "canary-body"});
        let sent = send_ok(&app, mail).await;
        let (contact, mail) = (sent["emails"][0]["contact"]["id"].clone(), text(&sent["emails"][0]["email"]).to_owned());
        app.eventually("the server has it", async || (server.received_for(ANN).len() == 1).then_some(())).await;
        let receipt = erased(&app, &owner, &contact, json!({})).await;
        assert_eq!(receipt["counts"]["stopped"], 1, "{receipt}");
        assert_eq!(app.email(&mail).await["status"], "IN_DOUBT");
        // the server says that it took it
        server.release();
        let left = app.email_in(&mail, &["SENT"]).await;
        assert_eq!((&left["to"], &left["subject"]), (&json!(""), &json!("")));
        app.advance(Duration::from_hours(3)).await;
        assert_eq!(server.received_for(ANN).len(), 1);
        for word in [ANN, "canary"] {
            let left = rows_with(&app, word).await;
            assert!(left.is_empty(), "{left:#?}");
        }
    }

    async fn who_complained_gets_no_mail_when_the_address_comes_back(engine: Engine) {
        let app = App::start(engine).await;
        let owner = owner(&app).await;
        let ann = create_contact(&app, ANN, true, json!({})).await;
        app.tamper(&format!(
            "insert into suppressions (project_id, email, reason, created_at) \
             select project_id, email, 'complaint', 1 from contacts where email = '{ANN}'"
        ))
        .await;
        erased(&app, &owner, &ann["id"], json!({})).await;
        assert!(rows_with(&app, ANN).await.is_empty());
        let sent = send_ok(&app, json!({"to": ANN, "from": app.from(), "subject": "s", "body": "b"})).await;
        let email = text(&sent["emails"][0]["email"]).to_owned();
        assert_eq!(app.email(&email).await["status"], "SUPPRESSED");
    }

    async fn what_others_are_sent_as_well_stays(engine: Engine) {
        let app = App::start(engine).await;
        let owner = owner(&app).await;
        let ann = create_contact(&app, ANN, true, json!({})).await;
        let mail = |to: &str| json!({"to": to, "from": app.from(), "subject": "s", "body": "the same for all"});
        send_ok(&app, mail(ANN)).await;
        let bobs = send_ok(&app, mail("bob@people.example")).await;
        erased(&app, &owner, &ann["id"], json!({})).await;
        let email = text(&bobs["emails"][0]["email"]).to_owned();
        app.email_in(&email, &["SENT"]).await;
        let left = rows_with(&app, "the same for all").await;
        assert_eq!(tables(&left), ["contents", "mailbox"], "{left:#?}");
    }
}
