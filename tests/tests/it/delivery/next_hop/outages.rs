//! A next hop that cannot be reached, or is lost in the middle of a mail.

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, json};
use mailwright_tests::text;
use std::time::Duration;

use crate::delivery::{all_settled, attempts, header};

use super::{figure, send_many, slow, until_received};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mail_at_which_connections_are_lost_waits_ever_longer() {
    let server = ScriptedServer::start(|_, _| Answer::DropAtRcpt).await;
    let app = App::builder(Engine::Sqlite)
        .smtp(server.port)
        .env("MAILWRIGHT_DELIVERY_RETRY_BASE_MS", "100")
        .env("MAILWRIGHT_DELIVERY_RETRY_MAX_MS", "60000")
        .start()
        .await;
    let id = app.send_to("ada@example.com").await;
    let email = app
        .eventually("five attempts", async || {
            let email = app.email(&id).await;
            (email["attemptCount"].as_u64() >= Some(5)).then_some(email)
        })
        .await;
    let times: Vec<_> = server.attempts().iter().map(|attempt| attempt.at).collect();
    // 0.1 s, 0.2 s, 0.4 s and 0.8 s, each 10 % more or less
    assert!(times[4] - times[0] >= Duration::from_millis(1350), "{:?}", times[4] - times[0]);
    assert!(attempts(&email).iter().all(|attempt| attempt["outcome"] == "deferred"), "{email}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mail_is_dated_when_it_is_first_handed_over_and_keeps_that() {
    let server = ScriptedServer::start(|to, attempt| match (to, attempt) {
        ("ada@example.com", 1) => Answer::DropAfterDot,
        _ => Answer::Accept,
    })
    .await;
    let mut server = server;
    server.stop().await;
    let app = App::builder(Engine::Sqlite)
        .smtp(server.port)
        .env("MAILWRIGHT_DELIVERY_RETRY_BASE_MS", "60000")
        .env("MAILWRIGHT_DELIVERY_RETRY_MAX_MS", "60000")
        .start()
        .await;
    let id = app.send_to("ada@example.com").await;
    app.advance(Duration::from_secs(2)).await;
    server.start_again().await;
    app.advance(Duration::from_secs(50)).await;
    app.eventually("it was handed over once", async || {
        (app.email(&id).await["attemptCount"] == 1).then_some(())
    })
    .await;
    app.advance(Duration::from_mins(2)).await;
    let email = app.email_in(&id, &["SENT"]).await;
    assert_eq!(email["inDoubt"], true, "{email}");
    let received = server.received();
    assert_eq!(received.len(), 2);
    assert_eq!(received[0].data, received[1].data, "a retry is the same message, signature and all");
    let date = header(&received[0].data, "date").expect("a date");
    // to the second: the time of acceptance is earlier
    let accepted = text(&email["createdAt"])[11..19].to_owned();
    assert!(!date.contains(&accepted), "{date} is not the time of acceptance, {accepted}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_an_outage_nobody_is_run_over() {
    let mut server = ScriptedServer::start(slow).await;
    server.stop().await;
    let app = App::builder(Engine::Sqlite).smtp(server.port).start().await;
    send_many(&app, app.secret_key(), &app.from(), "a", 300).await;
    app.eventually("the outage is noticed", async || {
        let state =
            figure(&app, "mailwright_next_hop_state{transport=\"default\",state=\"unreachable\"}").await;
        (state == Some(1.0)).then_some(())
    })
    .await;
    for email in app.list_all("/emails").await {
        assert_eq!(email["attemptCount"], 0, "nothing of it was tried: {email}");
    }
    server.start_again().await;
    until_received(&app, &server, 300).await;
    for email in all_settled(&app, 300).await {
        assert_eq!((&email["status"], &email["attemptCount"]), (&json!("SENT"), &json!(1)), "{email}");
    }
}
