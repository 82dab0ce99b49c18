//! Limits of the next hop on the mails of a connection and of a time.

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, Value, both_engines, json};
use std::time::Duration;

use crate::delivery::all_settled;

use super::{send_many, until_received};

both_engines! {
    async fn a_limit_on_mails_per_connection_costs_no_mail_an_attempt(engine: Engine) {
        let server = ScriptedServer::builder().mails_per_connection(5).start(|_, _| Answer::Accept).await;
        let app = App::builder(engine)
            .smtp(server.port)
            .env("MAILWRIGHT_DELIVERY_CONNECTIONS", "8")
            // a mail that is put off does not arrive in the time of this test
            .env("MAILWRIGHT_DELIVERY_RETRY_BASE_MS", "600000")
            .env("MAILWRIGHT_DELIVERY_RETRY_MAX_MS", "600000")
            .start()
            .await;
        send_many(&app, app.secret_key(), &app.from(), "a", 500).await;
        until_received(&app, &server, 500).await;
        for email in all_settled(&app, 500).await {
            assert_eq!((&email["status"], &email["attemptCount"]), (&json!("SENT"), &json!(1)), "{email}");
        }
        assert!(server.refused_mails() > 0, "the limit was met");
        assert_eq!(server.received().len(), 500, "and nothing was sent twice");
    }

    async fn a_limit_on_the_rate_slows_the_project_and_not_the_mails(engine: Engine) {
        let window = Duration::from_secs(4);
        let server =
            ScriptedServer::builder().mails_per_window(30, window).start(|_, _| Answer::Accept).await;
        let app = App::builder(engine)
            .smtp(server.port)
            .env("MAILWRIGHT_DELIVERY_RETRY_BASE_MS", "2000")
            .env("MAILWRIGHT_DELIVERY_RETRY_MAX_MS", "600000")
            .start()
            .await;
        send_many(&app, app.secret_key(), &app.from(), "a", 90).await;
        until_received(&app, &server, 90).await;
        let emails = all_settled(&app, 90).await;
        let tried = |email: &Value| email["attemptCount"].as_u64().expect("a number");
        for email in &emails {
            assert_eq!(email["status"], "SENT", "{email}");
            assert!(tried(email) <= 3, "{email}");
        }
        let put_off = emails.iter().filter(|email| tried(email) > 1).count();
        assert!(put_off <= 30, "{put_off} of 90 were held responsible");
        assert!(server.refused_mails() < 150, "{} were refused", server.refused_mails());
        assert_eq!(server.received().len(), 90);
    }
}
