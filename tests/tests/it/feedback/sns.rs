//! Notifications of Amazon SNS, by a service that signs like it.

use mailwright_testkit::net::free_port;
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
