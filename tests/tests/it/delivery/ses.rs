//! Mail that leaves by Amazon SES, as moto imitates it.

use std::time::Duration;

use mailwright_testkit::net::TcpProxy;
use mailwright_testkit::python::verify_dkim;
use mailwright_testkit::ses::SesService;
use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::sns::{NotificationService, TOPIC, now};
use mailwright_testkit::{App, Engine, both_engines, json};
use mailwright_tests::text;

use crate::delivery::{attempts, codes, sent, sent_by, settled, txt_records};

async fn app_with(engine: Engine, ses: &SesService) -> App {
    App::builder(engine).env("MAILWRIGHT_TRANSPORT", ses.url(ses.port())).start().await
}

fn verified() -> SesService {
    let ses = SesService::start();
    ses.verify("acme.test");
    ses
}

/// SES first, by a port that leads there, and a relay.
fn with_relay(ses: &SesService, port: u16, relay: &ScriptedServer) -> String {
    format!(
        "[[transports]]\nname = 'ses'\nurl = '{}'\n\
         [[transports]]\nname = 'relay'\nurl = 'smtp://127.0.0.1:{}?tls=none'\n\
         [[routes]]\nvia = ['ses', 'relay']\n",
        ses.url(port),
        relay.port
    )
}

both_engines! {
    async fn ses_takes_the_message_as_it_was_signed(engine: Engine) {
        let ses = verified();
        let app = app_with(engine, &ses).await;
        let email = sent(&app, "ada@example.com").await;
        let taken = ses.messages();
        assert_eq!((taken.len(), &*taken[0].from, &*taken[0].to), (1, &*app.from(), "ada@example.com"));
        assert!(taken[0].raw.contains("Hello there"));
        let attempt = &attempts(&email)[0];
        assert_eq!((&attempt["code"], &attempt["tls"]), (&json!(250), &json!(false)));
        assert!(text(&attempt["reply"]).starts_with("Ok "), "the id is kept: {attempt}");
        let records = txt_records(&app).await;
        let records: Vec<_> = records.iter().map(|(name, value)| (&**name, &**value)).collect();
        let signatures = verify_dkim(taken[0].raw.as_bytes(), &records);
        assert_eq!(signatures[0]["domain"], app.domain());
        assert!(!app.log().contains(ses.secret()));
    }

    async fn a_sender_that_is_not_verified_waits_until_it_is(engine: Engine) {
        let ses = SesService::start();
        let app = app_with(engine, &ses).await;
        let id = app.send_to("ada@example.com").await;
        app.eventually("it says why", async || {
            app.email(&id).await["error"].as_str()?.contains("MessageRejected").then_some(())
        }).await;
        ses.verify("acme.test");
        app.advance(Duration::from_mins(2)).await;
        app.email_in(&id, &["SENT"]).await;
    }

    async fn a_message_that_ses_rejects_fails_and_one_that_it_throttles_waits(engine: Engine) {
        let ses = verified();
        let app = app_with(engine, &ses).await;
        sent(&app, "before@example.com").await;
        ses.refuse("MessageRejected", 400, "Email content is malicious", 1);
        let rejected = settled(&app, &app.send_to("ada@example.com").await).await;
        assert_eq!((text(&rejected["status"]), codes(&rejected)), ("FAILED", vec![Some(554)]));
        ses.refuse("TooManyRequestsException", 429, "Maximum sending rate exceeded.", 2);
        let throttled = app.send_to("bob@example.com").await;
        app.advance(Duration::from_mins(1)).await;
        let throttled = app.email_in(&throttled, &["SENT"]).await;
        assert_eq!(codes(&throttled), [Some(454), Some(454), Some(250)]);
    }

    async fn a_used_up_quota_moves_the_mail_to_the_relay_and_back(engine: Engine) {
        let ses = verified();
        let relay = ScriptedServer::start(|_, _| Answer::Accept).await;
        let app = App::builder(engine)
            .file(&with_relay(&ses, ses.port(), &relay))
            .env("MAILWRIGHT_DELIVERY_REFUSED_BASE_MS", "1000")
            .start()
            .await;
        assert_eq!(sent_by(&sent(&app, "a@example.com").await), "ses");
        ses.set_quota(1, 100);
        ses.refuse("LimitExceededException", 400, "Daily message quota exceeded.", 1);
        for number in 0..5 {
            assert_eq!(sent_by(&sent(&app, &format!("n{number}@example.com")).await), "relay");
        }
        ses.set_quota(1000, 100);
        app.eventually_within(Duration::from_secs(30), "SES is used again", async || {
            (sent_by(&sent(&app, "z@example.com").await) == "ses").then_some(())
        }).await;
        assert_eq!(ses.messages().len(), 2);
    }

    async fn a_wrong_key_and_a_dead_service_move_the_mail_to_the_relay(engine: Engine) {
        let ses = verified();
        let proxy = TcpProxy::start(&format!("127.0.0.1:{}", ses.port())).await;
        let relay = ScriptedServer::start(|_, _| Answer::Accept).await;
        let wrong = with_relay(&ses, ses.port(), &relay).replacen("ses://", "ses://X", 1);
        let app = App::builder(engine).file(&wrong).start().await;
        assert_eq!(sent_by(&sent(&app, "a@example.com").await), "relay");
        assert!(!app.log().contains(ses.secret()));
        drop(app);
        let app = App::builder(engine).file(&with_relay(&ses, proxy.port(), &relay)).start().await;
        assert_eq!(sent_by(&sent(&app, "b@example.com").await), "ses");
        proxy.cut().await;
        assert_eq!(sent_by(&sent(&app, "c@example.com").await), "relay");
    }

    async fn no_more_leave_in_a_second_than_the_account_may_send(engine: Engine) {
        let ses = verified();
        ses.set_quota(10_000, 5);
        let proxy = TcpProxy::start(&format!("127.0.0.1:{}", ses.port())).await;
        let app = App::builder(engine).env("MAILWRIGHT_TRANSPORT", ses.url(proxy.port())).start().await;
        let mut mails = Vec::new();
        for number in 0..20 {
            mails.push(app.send_to(&format!("n{number}@example.com")).await);
        }
        app.eventually_within(Duration::from_mins(2), "all have left", async || {
            (ses.messages().len() == mails.len()).then_some(())
        }).await;
        // when they leave: how long the service takes to answer is up to it
        let left = proxy.requests("POST /v2/email/outbound-emails");
        assert_eq!(left.len(), 20);
        // those of a second may have been saved up
        let took = left[19].duration_since(left[0]);
        assert!(took > Duration::from_millis(2_500), "{took:?}");
    }

    async fn news_of_ses_finds_its_mail_by_the_id_that_it_gave(engine: Engine) {
        let (ses, news) = (verified(), NotificationService::start().await);
        let app = App::builder(engine)
            .env("MAILWRIGHT_TRANSPORT", ses.url(ses.port()))
            .env("MAILWRIGHT_SNS_TOPICS", TOPIC)
            .env("MAILWRIGHT_SNS_ENDPOINT", news.endpoint())
            .start()
            .await;
        let email = sent(&app, "ada@example.com").await;
        let given = text(&attempts(&email)[0]["reply"]).trim_start_matches("Ok ").to_owned();
        for (message, id, answer, status) in [("m1", "another", 404, "SENT"), ("m2", &*given, 200, "BOUNCED")] {
            let event = json!({
                "eventType": "Bounce",
                "mail": {"messageId": id, "timestamp": now(), "source": "news@elsewhere.example",
                    "destination": ["ada@example.com"]},
                "bounce": {"bounceType": "Permanent", "bounceSubType": "General", "timestamp": now(),
                    "bouncedRecipients": [{"emailAddress": "ada@example.com"}], "feedbackId": message},
            });
            let notification = news.notification(message, &event).to_string();
            let told = app.request("POST", "/webhooks/sns").body(notification, "text/plain; charset=UTF-8");
            told.send().await.assert_status(answer);
            assert_eq!(app.email(text(&email["id"])).await["status"], status, "{message}");
        }
    }
}
