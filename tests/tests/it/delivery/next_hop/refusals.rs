//! A next hop that refuses the login, all mail, or that of one project.

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, both_engines, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Instant, UNIX_EPOCH};

use crate::delivery::all_settled;

use super::{figure, send_many, until_received};

/// The lines of the doctor about a next hop of which a process said so many minutes ago that it refuses mail.
async fn doctor_after(app: &App, port: u16, minutes: u64) -> String {
    let now = UNIX_EPOCH.elapsed().expect("a clock after 1970").as_secs();
    let said_at = (now - 60 * minutes) * 1000;
    app.tamper(&format!(
        "insert into next_hops (name, connections, trouble, detail, updated_at) \
         values ('127.0.0.1:{port}', 3, 'refused', '550 5.7.1', {said_at}) \
         on conflict (name) do update set updated_at = excluded.updated_at"
    ))
    .await;
    let said = app.try_run(&["doctor"]).await.stdout;
    String::from_utf8_lossy(&said).lines().filter(|line| line.contains("next hop:")).collect()
}

both_engines! {
    async fn trouble_that_nobody_speaks_of_any_more_is_over(engine: Engine) {
        let server = ScriptedServer::start(|_, _| Answer::Accept).await;
        let app = App::builder(engine).smtp(server.port).start().await;
        let lately = doctor_after(&app, server.port, 1).await;
        assert!(lately.starts_with("WRONG") && lately.contains("550 5.7.1"), "{lately}");
        let long_ago = doctor_after(&app, server.port, 6).await;
        assert!(long_ago.starts_with("LOOK") && long_ago.contains("allows 3 connections"), "{long_ago}");
    }

    async fn a_wrong_password_is_tried_rarely_and_holds_mail(engine: Engine) {
        let server =
            ScriptedServer::builder().auth("relay", "other").start(|_, _| Answer::Accept).await;
        let transport = format!("smtp://relay:secret@127.0.0.1:{}?tls=none", server.port);
        let app = App::builder(engine)
            .env("MAILWRIGHT_TRANSPORT", transport)
            .env("MAILWRIGHT_DELIVERY_REFUSED_BASE_MS", "700")
            .env("MAILWRIGHT_DELIVERY_REFUSED_MAX_MS", "3000")
            .start()
            .await;
        let since = Instant::now();
        send_many(&app, app.secret_key(), &app.from(), "a", 200).await;
        app.eventually("the login was repeated", async || (server.refused_logins() >= 3).then_some(())).await;
        // after 0.7 s, 1.4 s, 2.8 s and every 3 s
        let most = 4 + since.elapsed().as_millis() as usize / 3000;
        assert!(server.refused_logins() <= most, "{} logins, not {most}", server.refused_logins());
        for email in app.list_all("/emails").await {
            let found = (&email["status"], &email["attemptCount"]);
            assert_eq!(found, (&json!("PENDING"), &json!(0)), "nothing of it was tried: {email}");
        }
        assert_eq!(figure(&app, "mailwright_next_hop_state{transport=\"default\",state=\"login\"}").await, Some(1.0));
        assert!(app.log().contains("refuses the login"), "the operator is told");

        server.set_login("relay", "secret");
        until_received(&app, &server, 200).await;
        for email in all_settled(&app, 200).await {
            assert_eq!((&email["status"], &email["attemptCount"]), (&json!("SENT"), &json!(1)), "{email}");
        }
    }

    async fn a_relay_that_denies_us_blames_nobody(engine: Engine) {
        let denies = Arc::new(AtomicBool::new(true));
        let is_denied = Arc::clone(&denies);
        let server = ScriptedServer::start(move |to, _| {
            let is_sender = to.starts_with("hello@");
            let refusal = Answer::RefuseRcpt(554, "5.7.1 relay access denied");
            if !is_sender && is_denied.load(Ordering::SeqCst) { refusal } else { Answer::Accept }
        })
        .await;
        let app = App::builder(engine)
            .smtp(server.port)
            .env("MAILWRIGHT_DELIVERY_REFUSED_BASE_MS", "500")
            .env("MAILWRIGHT_DELIVERY_REFUSED_MAX_MS", "1000")
            .start()
            .await;
        let other = app.bootstrap("Other", "other.test").await;
        send_many(&app, app.secret_key(), &app.from(), "a", 60).await;
        send_many(&app, &other.secret_key, &other.from, "b", 20).await;
        app.eventually("it is noticed", async || {
            let state = figure(&app, "mailwright_next_hop_state{transport=\"default\",state=\"refused\"}").await;
            (state == Some(1.0) && app.log().contains("the next hop refuses all")).then_some(())
        })
        .await;
        let tried = server.attempts().len();
        assert!(tried < 60, "one mail tells for all: {tried} were tried");
        for email in app.list_all("/emails").await {
            assert_eq!(email["status"], "PENDING", "it waits for the repair: {email}");
            assert!(email["attemptCount"].as_u64() <= Some(2), "{email}");
        }

        denies.store(false, Ordering::SeqCst);
        until_received(&app, &server, 80).await;
        for email in all_settled(&app, 60).await {
            assert_eq!(email["status"], "SENT", "{email}");
        }
        // disabled projects are not let in
        send_many(&app, app.secret_key(), &app.from(), "c", 1).await;
        send_many(&app, &other.secret_key, &other.from, "d", 1).await;
        until_received(&app, &server, 82).await;
    }

    async fn a_project_that_is_refused_does_not_hold_up_others(engine: Engine) {
        let server = ScriptedServer::start(|to, _| {
            if to == "hello@acme.test" { Answer::RefuseMail(550, "5.7.1 not your domain") } else { Answer::Accept }
        })
        .await;
        let app = App::builder(engine).smtp(server.port).start().await;
        let other = app.bootstrap("Other", "other.test").await;
        send_many(&app, app.secret_key(), &app.from(), "a", 40).await;
        app.eventually("mail of the project waits", async || {
            let state = figure(&app, "mailwright_next_hop_state{transport=\"default\",state=\"refused\"}").await;
            (state == Some(1.0)).then_some(())
        })
        .await;
        send_many(&app, &other.secret_key, &other.from, "b", 40).await;
        until_received(&app, &server, 40).await;
        for email in app.list_all("/emails").await {
            assert_ne!(email["status"], "BOUNCED", "{email}");
        }
    }
}
