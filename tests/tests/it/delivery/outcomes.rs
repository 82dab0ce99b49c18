//! Answers of the receiving server, and connections that break.

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, both_engines, json};
use mailwright_tests::{assert_timestamp, contact, create_contact, text};
use std::time::Duration;

use crate::delivery::{LONG, attempts, codes, events, header, pass, settled};

async fn app_with(engine: Engine, server: &ScriptedServer) -> App {
    App::builder(engine).smtp(server.port).start().await
}

/// Fails with this answer the first time and takes the message then.
fn once(answer: Answer) -> impl Fn(&str, u32) -> Answer + Send + Sync + 'static {
    move |_, attempt| if attempt == 1 { answer } else { Answer::Accept }
}

both_engines! {
    async fn an_accepted_mail_is_sent(engine: Engine) {
        let server = ScriptedServer::start(|_, _| Answer::Accept).await;
        let app = app_with(engine, &server).await;
        let id = app.send_to("ada@example.com").await;
        let email = app.email_in(&id, &["SENT"]).await;

        let received = server.received();
        assert_eq!(received.len(), 1);
        assert_eq!(received[0].rcpt_to, ["ada@example.com"]);
        let message_id = header(&received[0].data, "message-id").expect("a Message-ID");
        assert_eq!(message_id.trim_matches(['<', '>']), text(&email["messageId"]).trim_matches(['<', '>']));
        assert_timestamp(&email["sentAt"]);
        assert_eq!(email["attemptCount"], 1);
        assert_eq!(email["inDoubt"], false);
        assert_eq!(email["error"], json!(null));
        assert_eq!(email["to"], "ada@example.com");
        let attempt = &attempts(&email)[0];
        assert_eq!((&attempt["attempt"], &attempt["code"]), (&json!(1), &json!(250)));
        assert!(text(&attempt["reply"]).contains("taken"), "the reply is recorded: {attempt}");
        assert_timestamp(&attempt["at"]);

        let sent = events(&app, &email, "email.sent").await;
        assert_eq!(sent.len(), 1, "one event: {sent:?}");
        assert_eq!(sent[0]["data"]["emailId"], id.as_str());
        assert_eq!(server.violations(), Vec::<String>::new());
    }

    async fn a_greylisted_mail_is_tried_again(engine: Engine) {
        let refusal = Answer::RefuseRcpt(451, "4.7.1 greylisted, come back");
        let server = ScriptedServer::start(once(refusal)).await;
        let app = app_with(engine, &server).await;
        let id = app.send_to("grey@example.com").await;
        let email = app.email_in(&id, &["SENT"]).await;

        assert_eq!(codes(&email), [Some(451), Some(250)]);
        assert_eq!(email["attemptCount"], 2);
        assert_eq!(email["inDoubt"], false);
        let first = &attempts(&email)[0];
        assert_eq!(first["enhanced"], "4.7.1");
        assert!(text(&first["reply"]).contains("greylisted, come back"), "the reply is recorded: {first}");
        assert_eq!(server.received().len(), 1);
        assert_eq!(events(&app, &email, "email.sent").await.len(), 1);
        assert_eq!(events(&app, &email, "email.bounce").await.len(), 0);
    }

    async fn a_refused_mail_waits_for_its_next_attempt(engine: Engine) {
        let server = ScriptedServer::start(once(Answer::RefuseRcpt(450, "4.2.0 busy"))).await;
        let app = App::builder(engine)
            .smtp(server.port)
            .env("MAILWRIGHT_DELIVERY_RETRY_BASE_MS", "60000")
            .env("MAILWRIGHT_DELIVERY_RETRY_MAX_MS", "600000")
            .start()
            .await;
        let id = app.send_to("ada@example.com").await;
        let email = app.eventually("one attempt", async || {
            let email = app.email(&id).await;
            (email["attemptCount"] == 1 && email["status"] == "PENDING").then_some(email)
        }).await;
        assert_timestamp(&email["nextAttemptAt"]);
        assert!(text(&email["nextAttemptAt"]) > text(&attempts(&email)[0]["at"]), "a later time: {email}");
        assert_eq!(codes(&email), [Some(450)]);

        pass(&app, Duration::from_secs(50)).await;
        assert_eq!(server.attempts_for("ada@example.com").len(), 1, "not before its time");
        app.advance(Duration::from_secs(20)).await;
        app.email_in(&id, &["SENT"]).await;
    }

    async fn every_temporary_refusal_is_tried_again(engine: Engine) {
        for refusal in [
            Answer::RefuseMail(451, "4.3.0 later"),
            Answer::RefuseMail(450, "4.1.8 your domain is not found"),
            Answer::RefuseRcpt(421, "4.3.2 closing"),
            Answer::RefuseRcpt(452, "4.2.2 mailbox full"),
            Answer::RefuseData(451, "4.3.0 later"),
        ] {
            let server = ScriptedServer::start(once(refusal)).await;
            let app = app_with(engine, &server).await;
            let id = app.send_to("ada@example.com").await;
            let email = app.email_in(&id, &["SENT"]).await;
            assert_eq!(email["inDoubt"], false, "{refusal:?} is an answer: {email}");
            assert_eq!(email["attemptCount"], 2, "{refusal:?}: {email}");
            assert_eq!(server.received().len(), 1, "{refusal:?}");
        }
    }

    async fn an_unknown_recipient_bounces_once(engine: Engine) {
        let server = ScriptedServer::start(|_, _| Answer::RefuseRcpt(550, "5.1.1 no such user here")).await;
        let app = app_with(engine, &server).await;
        create_contact(&app, "gone@example.com", true, json!({})).await;
        let id = app.send_to("gone@example.com").await;
        let email = app.email_in(&id, &["BOUNCED"]).await;

        assert_timestamp(&email["bouncedAt"]);
        assert_eq!(codes(&email), [Some(550)]);
        assert_eq!(attempts(&email)[0]["enhanced"], "5.1.1");
        assert!(text(&email["error"]).contains("no such user here"), "the reply is the error: {email}");
        let bounces = events(&app, &email, "email.bounce").await;
        assert_eq!(bounces.len(), 1);
        assert_eq!(bounces[0]["data"]["emailId"], id.as_str());
        assert_eq!(events(&app, &email, "email.sent").await.len(), 0);

        assert_eq!(contact(&app, &email["contactId"]).await["subscribed"], false, "the address is dead");
        let unsubscribed = events(&app, &email, "contact.unsubscribed").await;
        assert_eq!(unsubscribed.len(), 1);
        assert_eq!(unsubscribed[0]["data"]["reason"], "bounce");

        pass(&app, LONG).await;
        assert_eq!(server.attempts_for("gone@example.com").len(), 1, "a permanent refusal is never tried again");
    }

    async fn refused_content_is_no_bounce(engine: Engine) {
        let server = ScriptedServer::start(|_, _| Answer::RefuseData(554, "5.7.1 looks like spam")).await;
        let app = app_with(engine, &server).await;
        create_contact(&app, "ada@example.com", true, json!({})).await;
        let id = app.send_to("ada@example.com").await;
        let email = app.email_in(&id, &["FAILED"]).await;

        assert_eq!(codes(&email), [Some(554)]);
        assert_eq!((&email["reason"], &email["bouncedAt"]), (&json!("rejected"), &json!(null)));
        assert_eq!(email["inDoubt"], false, "the answer was clear");
        assert!(text(&email["error"]).contains("looks like spam"), "{email}");
        assert_eq!(events(&app, &email, "email.bounce").await.len(), 0);
        let subscribed = contact(&app, &email["contactId"]).await["subscribed"].clone();
        assert_eq!(subscribed, true, "the content was refused, not the address");

        pass(&app, LONG).await;
        assert_eq!(server.attempts_for("ada@example.com").len(), 1, "a permanent refusal is never tried again");
    }

    async fn a_refused_sender_fails_and_blames_nobody(engine: Engine) {
        let server = ScriptedServer::start(|_, _| Answer::RefuseMail(550, "5.1.8 sender not allowed")).await;
        let app = app_with(engine, &server).await;
        create_contact(&app, "ada@example.com", true, json!({})).await;
        let id = app.send_to("ada@example.com").await;
        let email = app.email_in(&id, &["FAILED"]).await;

        assert_eq!(codes(&email), [Some(550)]);
        assert!(text(&email["error"]).contains("sender not allowed"), "{email}");
        assert_eq!(events(&app, &email, "email.bounce").await.len(), 0);
        assert_eq!(contact(&app, &email["contactId"]).await["subscribed"], true);

        pass(&app, LONG).await;
        assert_eq!(server.refused_senders(), 2, "a permanent refusal is never tried again, the later mail's is another");
    }

    async fn a_refusal_that_may_be_about_us_is_final_after_a_few_tries(engine: Engine) {
        for (refusal, reason) in [
            (Answer::RefuseMail(550, "5.7.1 sender not allowed"), "sender"),
            (Answer::RefuseRcpt(550, "5.7.1 not for you"), "rejected"),
            (Answer::RefuseRcpt(550, "relay not permitted"), "rejected"),
        ] {
            let server = ScriptedServer::start(move |to, _| match to {
                "hello@acme.test" | "ada@example.com" => refusal,
                _ => Answer::Accept,
            })
            .await;
            let app = app_with(engine, &server).await;
            let other = app.bootstrap("Other", "other.test").await;
            create_contact(&app, "ada@example.com", true, json!({})).await;
            let id = app.send_to("ada@example.com").await;
            let body = json!({"to": "b@example.com", "subject": "Hi", "body": "Hi", "from": other.from});
            let email = app.eventually("it is given up while other mail is taken", async || {
                let send = app.request("POST", "/v1/send").bearer(&other.secret_key).json(&body);
                send.send().await.assert_status(200);
                let email = app.email(&id).await;
                (email["status"] == "FAILED").then_some(email)
            }).await;
            let codes = codes(&email);
            assert!((3..10).contains(&codes.len()) && codes.iter().all(|code| *code == Some(550)), "{email}");
            assert_eq!((&email["reason"], &email["inDoubt"]), (&json!(reason), &json!(false)), "{email}");
            assert_eq!(events(&app, &email, "email.bounce").await.len(), 0);
            assert_eq!(contact(&app, &email["contactId"]).await["subscribed"], true);
        }
    }

    async fn a_connection_broken_before_the_content_is_tried_again(engine: Engine) {
        let server = ScriptedServer::start(once(Answer::DropAtRcpt)).await;
        let app = app_with(engine, &server).await;
        let id = app.send_to("ada@example.com").await;
        let email = app.email_in(&id, &["SENT"]).await;
        assert_eq!(email["inDoubt"], false, "nothing was handed over: {email}");
        assert_eq!(codes(&email), [None, Some(250)]);
        assert_eq!(server.received().len(), 1);
    }

    async fn a_connection_broken_in_the_content_is_tried_again(engine: Engine) {
        let server = ScriptedServer::start(once(Answer::DropMidData)).await;
        let app = app_with(engine, &server).await;
        // More than any socket buffers: the break comes while the content is being written.
        let attachment = json!({
            "filename": "big.bin",
            "contentType": "application/octet-stream",
            "content": "QUJD".repeat(2_000_000),
        });
        let mut body = mailwright_tests::inline(&app, &json!("ada@example.com"));
        body["attachments"] = json!([attachment]);
        let answer = app.send(body).await.assert_status(200).json();
        let email = app.email_in(text(&answer["data"]["emails"][0]["email"]), &["SENT"]).await;
        assert_eq!(email["inDoubt"], false, "the final dot was never sent: {email}");
        assert_eq!(codes(&email), [None, Some(250)]);
        assert_eq!(server.received().len(), 1);
    }

    async fn a_connection_broken_after_the_content_is_in_doubt(engine: Engine) {
        let server = ScriptedServer::start(once(Answer::DropAfterDot)).await;
        let app = app_with(engine, &server).await;
        let id = app.send_to("ada@example.com").await;
        let email = app.email_in(&id, &["SENT"]).await;
        assert_eq!(email["inDoubt"], true, "the first outcome is unknown: {email}");
        assert_eq!(codes(&email), [None, Some(250)]);
        let received = server.received();
        assert_eq!(received.len(), 2, "handed over once more");
        let ids: Vec<_> = received.iter().map(|message| header(&message.data, "message-id")).collect();
        assert!(ids[0].is_some() && ids[0] == ids[1], "receivers can drop the duplicate: {ids:?}");
    }

    async fn a_mail_twice_in_doubt_is_given_up_as_such(engine: Engine) {
        let server = ScriptedServer::start(|_, _| Answer::DropAfterDot).await;
        let app = app_with(engine, &server).await;
        let id = app.send_to("ada@example.com").await;
        let email = app.email_in(&id, &["IN_DOUBT"]).await;
        assert_eq!(email["inDoubt"], true);
        assert_eq!(email["attemptCount"], 2);
        assert_eq!(events(&app, &email, "email.sent").await.len(), 0);
        assert_eq!(events(&app, &email, "email.bounce").await.len(), 0);
        pass(&app, LONG).await;
        assert_eq!(server.received_for("ada@example.com").len(), 2, "handed over twice at most");
        assert_eq!(app.email(&id).await["status"], "IN_DOUBT");
    }

    async fn a_server_slower_than_the_lease_gets_the_mail_once(engine: Engine) {
        // The lease of a server under test is one second: it has to be extended while the reply is awaited.
        let server = ScriptedServer::start(|_, _| Answer::Delay(Duration::from_millis(2500))).await;
        let app = app_with(engine, &server).await;
        let id = app.send_to("ada@example.com").await;
        let email = app.email_in(&id, &["SENT"]).await;
        assert_eq!((&email["attemptCount"], &email["inDoubt"]), (&json!(1), &json!(false)));
        assert_eq!(server.attempts().len(), 1);
        assert_eq!(server.received().len(), 1);
    }

    async fn a_server_that_stalls_is_given_up(engine: Engine) {
        let server = ScriptedServer::start(|to, attempt| match (to, attempt) {
            ("before@example.com", 1) => Answer::StallForever,
            ("after@example.com", 1) => Answer::StallAfterDot,
            _ => Answer::Accept,
        })
        .await;
        let app = App::builder(engine)
            .smtp(server.port)
            .env("MAILWRIGHT_DELIVERY_REPLY_TIMEOUT_MS", "400")
            .env("MAILWRIGHT_DELIVERY_FINAL_REPLY_TIMEOUT_MS", "400")
            .start()
            .await;
        let before = app.send_to("before@example.com").await;
        let after = app.send_to("after@example.com").await;
        let other = app.send_to("other@example.com").await;

        assert_eq!(app.email_in(&other, &["SENT"]).await["attemptCount"], 1, "others do not wait");
        let email = app.email_in(&before, &["SENT"]).await;
        assert_eq!(email["inDoubt"], false, "nothing was handed over: {email}");
        let email = app.email_in(&after, &["SENT"]).await;
        assert_eq!(email["inDoubt"], true, "the outcome was unknown: {email}");
        assert_eq!(server.received_for("after@example.com").len(), 2);
    }

    async fn outcomes_do_not_touch_each_other(engine: Engine) {
        let server = ScriptedServer::start(|to, attempt| match (to.as_bytes()[0], attempt) {
            (b'b', _) => Answer::RefuseRcpt(550, "5.1.1 unknown"),
            (b'g', 1) => Answer::RefuseRcpt(450, "4.2.0 later"),
            (b's', _) => Answer::RefuseData(550, "5.7.1 spam"),
            (b'd', 1) => Answer::DropAtRcpt,
            _ => Answer::Accept,
        })
        .await;
        let app = app_with(engine, &server).await;
        let kinds = ["a", "b", "g", "s", "d"];
        let recipients: Vec<String> = (0..60).map(|n| format!("{}{n}@example.com", kinds[n % 5])).collect();
        let body = json!({"to": recipients, "subject": "Hi", "body": "<p>Hi</p>", "from": app.from()});
        let answer = app.send(body).await.assert_status(200).json();
        for (index, to) in recipients.iter().enumerate() {
            let email = settled(&app, text(&answer["data"]["emails"][index]["email"])).await;
            let expected = match to.as_bytes()[0] {
                b'b' => "BOUNCED",
                b's' => "FAILED",
                _ => "SENT",
            };
            assert_eq!((&email["to"], &email["status"]), (&json!(to), &json!(expected)), "{email}");
            assert_eq!(email["inDoubt"], false, "{email}");
            let copies = usize::from(expected == "SENT");
            assert_eq!(server.received_for(to).len(), copies, "{to}");
        }
    }
}
