//! Notifications of Amazon SNS, by a service that signs like it.

use std::sync::{Arc, Mutex};

use mailwright_testkit::net::free_port;
use mailwright_testkit::python::published_by_moto;
use mailwright_testkit::receiver::{Receiver, Reply};
use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::sns::{NotificationService, TOPIC, now};
use mailwright_testkit::{App, Engine, Response, both_engines};
use serde_json::{Value, json};

use super::{events, is_subscribed, return_path, sent_to, taking_mail};

async fn started(engine: Engine) -> (App, ScriptedServer, NotificationService) {
    let (server, service) =
        (ScriptedServer::start(|_, _| Answer::Accept).await, NotificationService::start().await);
    let app = taking_mail(engine, free_port())
        .smtp(server.port)
        .env("MAILWRIGHT_SNS_TOPICS", TOPIC)
        .env("MAILWRIGHT_SNS_ENDPOINT", service.endpoint())
        .env("MAILWRIGHT_TRACKING_SETTLE_MS", "0")
        .start()
        .await;
    (app, server, service)
}

async fn post(app: &App, message: &Value) -> Response {
    app.request("POST", "/webhooks/sns").body(message.to_string(), "text/plain; charset=UTF-8").send().await
}

/// An event of SES about a mail.
fn event(kind: &str, source: &str, more: Value) -> Value {
    let mut event = json!({
        "eventType": kind,
        "mail": {"messageId": "ses-1", "timestamp": now(), "source": source, "destination": ["ada@example.com"]},
    });
    for (name, value) in more.as_object().expect("an object") {
        event[name] = value.clone();
    }
    event
}

both_engines! {
    async fn events_of_ses_are_recorded_once(engine: Engine) {
        let (app, server, service) = started(engine).await;
        let id = sent_to(&app, "ada@example.com").await;
        let (source, _) = return_path(&app, &server, "ada@example.com").await;
        let agent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
        let visit = json!({"ipAddress": "203.0.113.9", "timestamp": now(), "userAgent": agent});
        app.advance(std::time::Duration::from_mins(1)).await;
        let told = [
            ("d1", event("Delivery", &source, json!({"delivery": {"timestamp": now(), "recipients": ["ada@example.com"]}}))),
            ("o1", event("Open", &source, json!({"open": visit}))),
        ];
        for (message, event) in &told {
            let notification = service.notification(message, event);
            let first = post(&app, &notification).await.assert_status(200).json();
            assert_eq!(first, json!({"success": true}), "{message}");
            let again = post(&app, &notification).await.assert_status(200).json();
            assert_eq!(again, json!({"success": true, "duplicate": true}), "{message}");
        }
        let mail = app
            .eventually("the open is judged", async || {
                let mail = app.email(&id).await;
                (mail["opens"].as_i64() > Some(0) || mail["machineOpens"].as_i64() > Some(0)).then_some(mail)
            })
            .await;
        assert!(mail["deliveredAt"].is_string(), "{mail}");
        let complaint = event("Complaint", &source, json!({"complaint": {
            "complainedRecipients": [{"emailAddress": "ada@example.com"}], "timestamp": now(), "feedbackId": "f1",
            "complaintFeedbackType": "abuse",
        }}));
        post(&app, &service.notification("c1", &complaint)).await.assert_status(200);
        let mail = app.email(&id).await;
        assert_eq!(mail["status"], "COMPLAINED");
        assert!(!is_subscribed(&app, "ada@example.com").await);
        for name in ["email.delivery", "email.complaint", "contact.unsubscribed"] {
            assert_eq!(events(&app, name).await.len(), 1, "{name}");
        }
        // the certificate was fetched once
        assert_eq!(service.calls().len(), 1);
    }

    async fn bounces_follow_what_ses_says(engine: Engine) {
        let (app, server, service) = started(engine).await;
        for (n, (kind, status, subscribed)) in
            [("Permanent", "BOUNCED", false), ("Transient", "SENT", true), ("Undetermined", "BOUNCED", false)].into_iter().enumerate()
        {
            let to = format!("person{n}@example.com");
            let id = sent_to(&app, &to).await;
            let (source, _) = return_path(&app, &server, &to).await;
            let bounce = event("Bounce", &source, json!({"bounce": {
                "bounceType": kind, "bounceSubType": "General", "timestamp": now(), "feedbackId": "f",
                "bouncedRecipients": [{"emailAddress": to, "action": "failed", "status": "5.1.1", "diagnosticCode": "smtp; 550 5.1.1 unknown"}],
            }}));
            post(&app, &service.notification(&format!("b{n}"), &bounce)).await.assert_status(200);
            assert_eq!(app.email(&id).await["status"], status, "{kind}");
            assert_eq!(is_subscribed(&app, &to).await, subscribed, "{kind}");
            let told = events(&app, "email.bounce").await;
            assert_eq!(told[0]["data"]["bounceType"], kind, "{told:?}");
            assert_eq!(told[0]["data"]["transientBounce"] == true, kind == "Transient");
        }
    }

    async fn what_moto_publishes_is_recorded(engine: Engine) {
        let server = ScriptedServer::start(|_, _| Answer::Accept).await;
        let certificates: Arc<Mutex<Vec<String>>> = Arc::default();
        let served = Arc::clone(&certificates);
        let host = Receiver::start(move |call, _| {
            let place = call.target.trim_start_matches('/').trim_end_matches(".pem").parse::<usize>().expect("a place");
            Reply::Status(200, served.lock().expect("certificates")[place].clone())
        })
        .await;
        let app = taking_mail(engine, free_port())
            .smtp(server.port)
            .env("MAILWRIGHT_SNS_TOPICS", "arn:aws:sns:eu-west-1:123456789012:mail")
            .env("MAILWRIGHT_SNS_ENDPOINT", host.url(""))
            .start()
            .await;
        let ids = [sent_to(&app, "ada@example.com").await, sent_to(&app, "bob@example.com").await];
        let (ada, _) = return_path(&app, &server, "ada@example.com").await;
        let (bob, _) = return_path(&app, &server, "bob@example.com").await;
        let texts = [
            event("Delivery", &ada, json!({"delivery": {"timestamp": now(), "recipients": ["ada@example.com"]}})),
            event("Complaint", &ada, json!({"complaint": {
                "complainedRecipients": [{"emailAddress": "ada@example.com"}], "timestamp": now(), "feedbackId": "f",
            }})),
            event("Bounce", &bob, json!({"bounce": {
                "bounceType": "Permanent", "bounceSubType": "General", "timestamp": now(), "feedbackId": "f",
                "bouncedRecipients": [{"emailAddress": "bob@example.com"}],
            }})),
        ];
        for (message, certificate) in published_by_moto(&texts.map(|text| text.to_string())) {
            // the certificate is where moto says that Amazon's host has it, and the signature does not cover where
            let place = certificates.lock().expect("certificates").len();
            certificates.lock().expect("certificates").push(certificate);
            post(&app, &message).await.assert_status(403);
            let mut message = message;
            message["SigningCertURL"] = host.url(&format!("/{place}.pem")).into();
            assert_eq!(post(&app, &message).await.assert_status(200).json(), json!({"success": true}));
            let mut forged = message.clone();
            forged["Message"] = message["Message"].as_str().expect("a text").replace("ada@", "eve@").replace("bob@", "eve@").into();
            post(&app, &forged).await.assert_status(403);
        }
        for ((id, to), status) in ids.iter().zip(["ada@example.com", "bob@example.com"]).zip(["COMPLAINED", "BOUNCED"]) {
            assert_eq!(app.email(id).await["status"], status);
            assert!(!is_subscribed(&app, to).await);
        }
        assert!(app.email(&ids[0]).await["deliveredAt"].is_string());
    }

    async fn what_is_told_happened_between_the_mail_and_the_message(engine: Engine) {
        let (app, server, service) = started(engine).await;
        for (to, time) in [("past@example.com", "2001-01-01T00:00:00.000Z"), ("future@example.com", "2999-01-01T00:00:00.000Z")] {
            let id = sent_to(&app, to).await;
            let (source, _) = return_path(&app, &server, to).await;
            let told = event("Delivery", &source, json!({"delivery": {"timestamp": time, "recipients": [to]}}));
            post(&app, &service.notification(to, &told)).await.assert_status(200);
            let mail = app.email(&id).await;
            let [created, delivered] =
                ["createdAt", "deliveredAt"].map(|name| mail[name].as_str().expect("a time").to_owned());
            assert!(delivered >= created && delivered.as_str() < "2900", "{created} {delivered}");
        }
    }

    async fn an_address_without_a_certificate_is_asked_once_a_minute(engine: Engine) {
        let (app, _server, service) = started(engine).await;
        let mut message = service.notification("n1", &json!({}));
        message["SigningCertURL"] = format!("{}/none.pem", service.endpoint()).into();
        for _ in 0..3 {
            post(&app, &message).await.assert_status(503);
        }
        assert_eq!(service.calls().len(), 1);
        app.advance(std::time::Duration::from_mins(1)).await;
        post(&app, &message).await.assert_status(503);
        assert_eq!(service.calls().len(), 2);
        // and others are not kept from theirs
        post(&app, &service.notification("n2", &event("Send", "somebody@example.com", json!({})))).await.assert_status(200);
    }

    async fn few_addresses_are_asked_for_a_certificate_in_a_minute(engine: Engine) {
        let (app, _server, service) = started(engine).await;
        let mut message = service.notification("n1", &json!({}));
        for number in 0..25 {
            message["SigningCertURL"] = format!("{}/none{number}.pem", service.endpoint()).into();
            post(&app, &message).await.assert_status(503);
        }
        assert_eq!(service.calls().len(), 20);
        let right = service.notification("n2", &event("Send", "somebody@example.com", json!({})));
        post(&app, &right).await.assert_status(503);
        app.advance(std::time::Duration::from_mins(1)).await;
        post(&app, &right).await.assert_status(200);
        // an address that gave its certificate is not asked again
        for number in 0..25 {
            message["SigningCertURL"] = format!("{}/other{number}.pem", service.endpoint()).into();
            post(&app, &message).await.assert_status(503);
        }
        post(&app, &right).await.assert_status(200);
    }

    async fn subscriptions_to_listed_topics_are_confirmed(engine: Engine) {
        let (app, _server, service) = started(engine).await;
        post(&app, &service.confirmation("s1")).await.assert_status(200);
        let asked: Vec<String> = service.calls().into_iter().map(|call| call.target).collect();
        assert!(asked.iter().any(|target| target.contains("Action=ConfirmSubscription")), "{asked:?}");
    }

    async fn what_sns_did_not_sign_or_nobody_asked_for_is_refused(engine: Engine) {
        let (app, server, service) = started(engine).await;
        sent_to(&app, "ada@example.com").await;
        let (source, _) = return_path(&app, &server, "ada@example.com").await;
        let delivery = event("Delivery", &source, json!({"delivery": {"timestamp": now()}}));
        let right = service.notification("n1", &delivery);
        let mut foreign = right.clone();
        foreign["TopicArn"] = "arn:aws:sns:eu-west-1:999999999999:mail".into();
        post(&app, &service.signed(foreign)).await.assert_status(403);
        assert!(service.calls().is_empty(), "nothing is fetched for the topic of others");
        for (name, value) in [
            ("Message", "{}"),
            ("MessageId", "n2"),
            ("Signature", "AAAA"),
            ("SigningCertURL", "https://sns.eu-west-1.amazonaws.com.evil.example/a.pem"),
            ("SigningCertURL", "http://127.0.0.1:1/a.pem"),
        ] {
            let mut forged = right.clone();
            forged[name] = value.into();
            post(&app, &forged).await.assert_status(403);
        }
        for event in [
            event("Delivery", "x@example.com", json!({"delivery": {}})),
            event("Delivery", "b@bounces.mail.test", json!({"delivery": {}})),
        ] {
            post(&app, &service.notification("n3", &event)).await.assert_status(404);
        }
        let missing = json!({"eventType": "Delivery", "mail": {"source": source}});
        post(&app, &service.notification("n4", &missing)).await.assert_status(400);
        let other = post(&app, &service.notification("n5", &event("Whatever", &source, json!({})))).await.assert_status(200).json();
        assert_eq!(other["success"], false);
        assert!(events(&app, "email.delivery").await.is_empty());
        post(&app, &right).await.assert_status(200);
        assert_eq!(events(&app, "email.delivery").await.len(), 1);
    }

    async fn an_instance_that_names_no_topic_takes_none(engine: Engine) {
        let app = App::start(engine).await;
        let service = NotificationService::start().await;
        let answer = post(&app, &service.confirmation("s1")).await.assert_status(404).json();
        assert!(answer["error"].is_object(), "{answer}");
        assert!(service.calls().is_empty());
    }
}
