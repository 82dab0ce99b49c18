//! Bounces that come by mail.

use mailwright_testkit::mail_in::MailIn;
use mailwright_testkit::{Engine, both_engines};
use serde_json::{Value, json};

use super::{RETURN_PATH, dsn, events, is_subscribed, return_path, sent_to, started, taking_mail};

const UNKNOWN: &str = "550 5.1.1 <ada@example.com>: Recipient address rejected: User unknown";

both_engines! {
    async fn a_bounce_is_recorded_once_and_ends_the_subscription(engine: Engine) {
        let (app, server, inbound) = started(engine).await;
        let id = sent_to(&app, "ada@example.com").await;
        assert!(is_subscribed(&app, "ada@example.com").await);
        let (address, _) = return_path(&app, &server, "ada@example.com").await;
        assert!(address.ends_with(&format!("@{RETURN_PATH}")), "{address}");
        let mut session = MailIn::connect(inbound).await;
        for _ in 0..3 {
            let reply = session.deliver(&address, &dsn("5.1.1", UNKNOWN)).await;
            assert!(reply.starts_with("250"), "{reply}");
        }
        let mail = app.email(&id).await;
        assert_eq!((&mail["status"], &mail["bounceClass"]), (&json!("BOUNCED"), &json!("invalid-recipient")));
        assert_eq!(mail["error"], UNKNOWN);
        let bounces = events(&app, "email.bounce").await;
        assert_eq!(bounces.len(), 1, "{bounces:?}");
        assert_eq!((&bounces[0]["data"]["bounceType"], &bounces[0]["data"]["emailId"]), (&json!("Permanent"), &json!(id)));
        let unsubscribed = events(&app, "contact.unsubscribed").await;
        assert_eq!(unsubscribed.len(), 1);
        assert_eq!(unsubscribed[0]["data"], json!({"reason": "bounce"}));
        assert!(!is_subscribed(&app, "ada@example.com").await);
    }

    async fn what_is_not_about_the_address_leaves_the_contact_alone(engine: Engine) {
        let (app, server, inbound) = started(engine).await;
        let id = sent_to(&app, "ada@example.com").await;
        let (address, _) = return_path(&app, &server, "ada@example.com").await;
        let mut session = MailIn::connect(inbound).await;
        let vacation = "From: ada@example.com\nSubject: Out of office\nAuto-Submitted: auto-replied\n\nI am away.\n";
        for (message, class) in [
            (dsn("5.2.2", "552 5.2.2 The mailbox is full"), json!("mailbox-full")),
            (dsn("5.7.1", "550 5.7.1 Message rejected as spam"), json!("spam-block")),
            (vacation.to_owned(), json!("spam-block")),
            ("Subject: hello\n\nWho are you?\n".to_owned(), json!("spam-block")),
        ] {
            let reply = session.deliver(&address, &message).await;
            assert!(reply.starts_with("250"), "{reply}");
            let mail = app.email(&id).await;
            assert_eq!((&mail["status"], &mail["bounceClass"]), (&json!("SENT"), &class), "{message}");
        }
        assert!(is_subscribed(&app, "ada@example.com").await);
        let told: Vec<Value> = events(&app, "email.bounce").await;
        assert!(told.iter().all(|event| event["data"]["transientBounce"] == true), "{told:?}");
        assert_eq!(told.len(), 2);
        assert!(events(&app, "contact.unsubscribed").await.is_empty());
    }

    async fn only_addresses_that_are_expected_take_mail(engine: Engine) {
        let (app, server, inbound) = started(engine).await;
        sent_to(&app, "ada@example.com").await;
        let (address, _) = return_path(&app, &server, "ada@example.com").await;
        let mut session = MailIn::connect(inbound).await;
        // one letter of it is another
        let other = if address.starts_with("ba") { "bb" } else { "ba" };
        let forged = format!("{other}{}", &address[2..]);
        for to in [forged.as_str(), "ada@example.com", "hello@acme.test", &format!("nobody@{RETURN_PATH}"), "abuse@example.com"] {
            let reply = session.deliver(to, &dsn("5.1.1", UNKNOWN)).await;
            assert!(reply.starts_with("550 5.1.1"), "{to}: {reply}");
        }
        let reply = session.deliver(&address.to_uppercase(), &dsn("4.4.1", "451 4.4.1 timed out")).await;
        assert!(reply.starts_with("250"), "{reply}");
        let reply = session.deliver(&format!("postmaster@{RETURN_PATH}"), "Subject: hello\n\nHello\n").await;
        assert!(reply.starts_with("250"), "{reply}");
        assert!(is_subscribed(&app, "ada@example.com").await);
    }

    async fn line_ends_that_servers_disagree_about_end_the_session(engine: Engine) {
        let (app, server, inbound) = started(engine).await;
        let id = sent_to(&app, "ada@example.com").await;
        let (address, _) = return_path(&app, &server, "ada@example.com").await;
        for end in ["\n.\n", "\n.\r\n", "\r\n.\n", "\r.\r", "\r\n.\r", "\r\n\0.\r\n"] {
            let mut session = MailIn::connect(inbound).await;
            session.command("MAIL FROM:<>").await;
            session.command(&format!("RCPT TO:<{address}>")).await;
            session.command("DATA").await;
            let smuggled = format!("Subject: x\r\n\r\nx{end}MAIL FROM:<>\r\nRCPT TO:<{address}>\r\nDATA\r\n");
            session.raw(format!("{smuggled}{}\r\n.\r\n", dsn("5.1.1", UNKNOWN).replace('\n', "\r\n")).as_bytes()).await;
            let reply = session.reply().await;
            assert!(reply.starts_with("554") || reply.starts_with("500"), "{end:?}: {reply}");
            assert_eq!(session.reply().await, "", "{end:?}");
        }
        assert_eq!(app.email(&id).await["status"], "SENT");
    }

    async fn while_the_database_is_away_the_sender_tries_again(engine: Engine) {
        if engine == Engine::Sqlite {
            return; // it is never away
        }
        let server = mailwright_testkit::smtp::ScriptedServer::start(|_, _| mailwright_testkit::smtp::Answer::Accept).await;
        let inbound = mailwright_testkit::net::free_port();
        let app = taking_mail(engine, inbound).smtp(server.port).database_proxy().start().await;
        let id = sent_to(&app, "ada@example.com").await;
        let (address, _) = return_path(&app, &server, "ada@example.com").await;
        app.database_proxy().cut().await;
        let mut session = MailIn::connect(inbound).await;
        let reply = session.deliver(&address, &dsn("5.1.1", UNKNOWN)).await;
        assert!(reply.starts_with("451"), "{reply}");
        app.database_proxy().restore().await;
        let reply = app
            .eventually("it is taken", async || {
                let reply = session.deliver(&address, &dsn("5.1.1", UNKNOWN)).await;
                reply.starts_with("250").then_some(reply)
            })
            .await;
        assert!(reply.starts_with("250"));
        assert_eq!(app.email(&id).await["status"], "BOUNCED");
        assert_eq!(events(&app, "email.bounce").await.len(), 1);
    }
}
