//! Mail that waits: for a host, for its turn, for the program to come back.

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, both_engines, json};
use mailwright_tests::text;
use std::time::{Duration, Instant};

use crate::delivery::{OPEN, all_settled};

/// Sends one mail to each of `count` addresses, in one request.
async fn send_many(app: &App, key: &str, from: &str, prefix: &str, count: usize) {
    let to: Vec<String> = (0..count).map(|n| format!("{prefix}{n}@example.com")).collect();
    let body = json!({"to": to, "subject": "Hi", "body": "<p>Hi</p>", "from": from});
    app.request("POST", "/v1/send").bearer(key).json(&body).send().await.assert_status(200);
}

fn assert_each_received_once(server: &ScriptedServer, prefix: &str, count: usize) {
    for n in 0..count {
        let to = format!("{prefix}{n}@example.com");
        assert_eq!(server.received_for(&to).len(), 1, "{to} gets its mail once");
    }
}

both_engines! {
    async fn mail_waits_for_a_host_that_is_down(engine: Engine) {
        let mut server = ScriptedServer::start(|_, _| Answer::Accept).await;
        server.stop().await;
        let app = App::builder(engine).smtp(server.port).start().await;
        send_many(&app, app.secret_key(), &app.from(), "a", 30).await;
        app.eventually("the host was looked for", async || {
            app.log().contains("the next hop cannot be used").then_some(())
        })
        .await;
        for email in app.list_all("/emails").await {
            assert!(OPEN.contains(&text(&email["status"])), "it waits: {email}");
            assert_eq!(email["attemptCount"], 0, "nothing of it was tried: {email}");
            assert_eq!(email["inDoubt"], false, "{email}");
        }

        server.start_again().await;
        for email in all_settled(&app, 30).await {
            assert_eq!((&email["status"], &email["inDoubt"]), (&json!("SENT"), &json!(false)), "{email}");
        }
        assert_each_received_once(&server, "a", 30);
    }

    async fn a_busy_host_is_visited_again(engine: Engine) {
        let builder = ScriptedServer::builder().greeting(421, "4.3.2 too busy");
        let server = builder.start(|_, _| Answer::Accept).await;
        let app = App::builder(engine).smtp(server.port).start().await;
        let id = app.send_to("ada@example.com").await;
        app.eventually("it was greeted", async || (server.connections() >= 2).then_some(())).await;
        assert_eq!(app.email_in(&id, &OPEN).await["inDoubt"], false);
        server.set_greeting(None);
        app.email_in(&id, &["SENT"]).await;
        assert_eq!(server.received().len(), 1);
    }

    async fn a_host_that_breaks_kept_connections_causes_no_doubt(engine: Engine) {
        let mut server = ScriptedServer::start(|_, _| Answer::Accept).await;
        let app = App::builder(engine).smtp(server.port).start().await;
        for round in 0..3 {
            let to = format!("round{round}@example.com");
            let id = app.send_to(&to).await;
            let email = app.email_in(&id, &["SENT"]).await;
            assert_eq!(email["inDoubt"], false, "{email}");
            assert_eq!(server.received_for(&to).len(), 1);
            server.stop().await;
            server.start_again().await;
        }
    }

    async fn connections_are_kept_and_bounded(engine: Engine) {
        let server = ScriptedServer::start(|_, _| Answer::Accept).await;
        let app = App::builder(engine)
            .smtp(server.port)
            .env("MAILWRIGHT_DELIVERY_CONNECTIONS", "4")
            .start()
            .await;
        send_many(&app, app.secret_key(), &app.from(), "a", 200).await;
        all_settled(&app, 200).await;
        assert_each_received_once(&server, "a", 200);
        assert!(server.connections() <= 8, "{} connections for 200 mails", server.connections());
    }

    async fn each_project_is_throttled_by_itself(engine: Engine) {
        const RATE: usize = 20;
        const MAILS: usize = 70;
        let server = ScriptedServer::start(|_, _| Answer::Accept).await;
        let app = App::builder(engine)
            .smtp(server.port)
            .env("MAILWRIGHT_SENDING_PER_SECOND", RATE.to_string())
            .start()
            .await;
        let other = app.bootstrap("Other", "other.test").await;
        send_many(&app, app.secret_key(), &app.from(), "a", MAILS).await;
        send_many(&app, &other.secret_key, "hello@other.test", "b", 5).await;
        all_settled(&app, MAILS).await;

        let times = |prefix: &str| -> Vec<Instant> {
            let all = server.received();
            all.iter().filter(|mail| mail.rcpt_to[0].starts_with(prefix)).map(|mail| mail.at).collect()
        };
        let (ours, others) = (times("a"), times("b"));
        assert_eq!((ours.len(), others.len()), (MAILS, 5));
        // A second's worth may leave at once; the rest leaves at the rate.
        let took = ours[MAILS - 1] - ours[0];
        let least = Duration::from_millis(((MAILS - RATE) * 1000 / RATE) as u64).mul_f64(0.8);
        assert!(took >= least, "{MAILS} mails took {took:?}, not {least:?}");
        for (index, start) in ours.iter().enumerate() {
            let within = ours[index..].iter().filter(|at| **at - *start < Duration::from_secs(1)).count();
            // what was let go earlier may have been held up on the way
            assert!(within <= 3 * RATE, "{within} mails within a second");
        }
        let last_other = others.iter().max().expect("five mails");
        assert!(*last_other < ours[MAILS - 1], "the other project does not wait for this one");
    }

    async fn a_graceful_stop_finishes_what_is_in_flight(engine: Engine) {
        let server = ScriptedServer::start(|_, _| Answer::Delay(Duration::from_millis(400))).await;
        let mut app = App::builder(engine).smtp(server.port).start().await;
        send_many(&app, app.secret_key(), &app.from(), "a", 60).await;
        app.eventually("some are in flight", async || (server.attempts().len() >= 8).then_some(())).await;

        let status = app.stop().await;
        assert!(status.success(), "SIGTERM is no failure: {status}");
        let received = server.received().len();
        assert!(received >= 8, "what was in flight was finished: {received}");
        assert!(received < 60, "what was not begun was left: {received}");

        app.restart().await;
        for email in all_settled(&app, 60).await {
            assert_eq!((&email["status"], &email["inDoubt"]), (&json!("SENT"), &json!(false)), "{email}");
        }
        assert_each_received_once(&server, "a", 60);
    }

    async fn a_restart_keeps_the_queue(engine: Engine) {
        let mut server = ScriptedServer::start(|_, _| Answer::Accept).await;
        server.stop().await;
        let mut app = App::builder(engine).smtp(server.port).start().await;
        send_many(&app, app.secret_key(), &app.from(), "a", 20).await;
        app.kill();
        app.restart().await;
        send_many(&app, app.secret_key(), &app.from(), "b", 20).await;
        assert!(app.stop().await.success());
        server.start_again().await;
        app.restart().await;
        for email in all_settled(&app, 40).await {
            assert_eq!((&email["status"], &email["inDoubt"]), (&json!("SENT"), &json!(false)), "{email}");
        }
        assert_each_received_once(&server, "a", 20);
        assert_each_received_once(&server, "b", 20);
    }
}
