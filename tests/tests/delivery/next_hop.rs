//! A next hop that takes less than it is offered, or nothing at all.

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, Value, both_engines, json};
use mailwright_tests::text;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, UNIX_EPOCH};

use crate::{all_settled, attempts, codes, header};

/// Longer than anything takes here, on a busy machine as well.
const LONG: Duration = Duration::from_mins(1);

async fn send_many(app: &App, key: &str, from: &str, prefix: &str, count: usize) {
    let to: Vec<String> = (0..count).map(|n| format!("{prefix}{n}@example.com")).collect();
    for part in to.chunks(500) {
        let body = json!({"to": part, "subject": "Hi", "body": "<p>Hi</p>", "from": from});
        app.request("POST", "/v1/send").bearer(key).json(&body).send().await.assert_status(200);
    }
}

/// A server that is slow enough for connections to matter.
fn slow(_: &str, _: u32) -> Answer {
    Answer::Delay(Duration::from_millis(25))
}

async fn until_received(app: &App, server: &ScriptedServer, count: usize) {
    let what = format!("{count} mails have arrived");
    app.eventually_within(LONG, &what, async || (server.copies().len() >= count).then_some(())).await;
}

/// Mails that each server of a comparison is sent: some 15 seconds of work.
const COMPARED: usize = 750;
/// How many of them the relay takes in a second, over all connections that it takes.
const A_SECOND: usize = 50;

/// A relay that takes `limit` connections, and a server that uses `configured` ones; `None` for the default.
async fn relayed(limit: usize, configured: Option<usize>) -> (App, ScriptedServer) {
    // long beside what anything else costs here, so that the connections are what decides
    let each = Duration::from_secs(1) * limit as u32 / A_SECOND as u32;
    let server = ScriptedServer::builder()
        .without_contents()
        .most_connections(limit)
        .start(move |_, _| Answer::Delay(each))
        .await;
    let app = App::builder(Engine::Sqlite).smtp(server.port);
    let app = match configured {
        Some(connections) => app.env("MAILWRIGHT_DELIVERY_CONNECTIONS", connections.to_string()),
        None => app,
    };
    (app.start().await, server)
}

/// When mails arrived, counted from the first of them.
fn arrivals(server: &ScriptedServer) -> Vec<Duration> {
    let mut times: Vec<Instant> = server.received().iter().map(|mail| mail.at).collect();
    times.sort_unstable();
    times.iter().map(|at| *at - times[0]).collect()
}

/// Two servers do the same work at the same time, so that what else the machine has to do slows both: one was told how
/// many connections its relay takes, the other has the default settings and has to find out. Over the same span of time,
/// from the first mail of each on, learning included, the second moves at least 95 % of what the first does.
async fn a_relay_with_a_limit_is_used_to_the_full(limit: usize) {
    let ((told, told_relay), (learning, relay)) =
        tokio::join!(relayed(limit, Some(limit)), relayed(limit, None));
    let (from, also_from) = (told.from(), learning.from());
    tokio::join!(
        send_many(&told, told.secret_key(), &from, "a", COMPARED),
        send_many(&learning, learning.secret_key(), &also_from, "a", COMPARED),
    );
    tokio::join!(until_received(&told, &told_relay, COMPARED), until_received(&learning, &relay, COMPARED),);
    let (fixed, learnt) = (arrivals(&told_relay), arrivals(&relay));
    let span = fixed[COMPARED - 1].min(learnt[COMPARED - 1]);
    let moved = |times: &[Duration]| times.iter().filter(|at| **at <= span).count();
    let (fixed, learnt) = (moved(&fixed), moved(&learnt));
    assert!(
        learnt * 100 >= fixed * 95,
        "{learnt} mails in {span:?} where the limit of {limit} was learnt, {fixed} where it was configured"
    );
    assert_eq!(relay.busiest(), limit);
    assert!(relay.refused_connections() < 40, "{} were refused", relay.refused_connections());
    for email in all_settled(&learning, COMPARED).await {
        assert_eq!((&email["status"], &email["attemptCount"]), (&json!("SENT"), &json!(1)), "{email}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_that_takes_5_connections_is_used_to_the_full() {
    a_relay_with_a_limit_is_used_to_the_full(5).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_that_takes_10_connections_is_used_to_the_full() {
    a_relay_with_a_limit_is_used_to_the_full(10).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_that_takes_20_connections_is_used_to_the_full() {
    a_relay_with_a_limit_is_used_to_the_full(20).await;
}

/// A figure at `/metrics`.
async fn figure(app: &App, name: &str) -> Option<f64> {
    let metrics = app.request("GET", "/metrics").send().await.assert_status(200).text();
    let line = metrics.lines().find(|line| line.starts_with(name) && line[name.len()..].starts_with(' '))?;
    line.rsplit(' ').next()?.parse().ok()
}

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

    async fn what_was_learnt_is_shown_and_outlives_a_restart(engine: Engine) {
        let server = ScriptedServer::builder().most_connections(3).start(slow).await;
        let mut app = App::builder(engine).smtp(server.port).start().await;
        send_many(&app, app.secret_key(), &app.from(), "a", 60).await;
        until_received(&app, &server, 60).await;
        let doctor = app.eventually("the doctor knows it", async || {
            let said = app.run(&["doctor"]).await;
            said.contains("allows 3 connections at a time; configured are 32").then_some(said)
        }).await;
        assert!(doctor.contains("LOOK   next hop"), "{doctor}");
        assert_eq!(figure(&app, "mailwright_next_hop_connections{kind=\"allowed\"}").await, Some(3.0));
        assert_eq!(figure(&app, "mailwright_next_hop_connections{kind=\"configured\"}").await, Some(32.0));
        assert_eq!(figure(&app, "mailwright_next_hop_state{state=\"working\"}").await, Some(1.0));

        assert!(app.stop().await.success());
        app.restart().await;
        app.eventually("the limit is known again", async || {
            let allowed = figure(&app, "mailwright_next_hop_connections{kind=\"allowed\"}").await;
            (allowed == Some(3.0)).then_some(())
        }).await;
        let refused = server.refused_connections();
        send_many(&app, app.secret_key(), &app.from(), "b", 20).await;
        until_received(&app, &server, 80).await;
        let refused = server.refused_connections() - refused;
        assert!(refused <= 3, "it does not begin from the top again: {refused} were refused");
    }

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
        assert_eq!(figure(&app, "mailwright_next_hop_state{state=\"login\"}").await, Some(1.0));
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
            let state = figure(&app, "mailwright_next_hop_state{state=\"refused\"}").await;
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
            let state = figure(&app, "mailwright_next_hop_state{state=\"refused\"}").await;
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

/// One mail that is refused as too large, as it ends.
async fn too_large(server: ScriptedServer, bytes: usize) -> Value {
    let app = App::builder(Engine::Sqlite).smtp(server.port).start().await;
    let body = json!({
        "to": "ada@example.com", "subject": "Hi", "body": "x".repeat(bytes), "from": app.from(),
    });
    let answer = app.send(body).await.assert_status(200).json();
    let email =
        app.email_in(text(&answer["data"]["emails"][0]["email"]), &["FAILED", "BOUNCED", "SENT"]).await;
    assert_eq!((&email["status"], &email["reason"]), (&json!("FAILED"), &json!("too_large")), "{email}");
    assert_eq!(crate::events(&app, &email, "email.bounce").await.len(), 0);
    email
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mail_larger_than_announced_is_not_tried_and_both_sizes_are_named() {
    let server = ScriptedServer::builder().size(20_000).start(|_, _| Answer::Accept).await;
    let email = too_large(server, 30_000).await;
    let error = text(&email["error"]);
    assert!(error.contains("20000 at most"), "{error}");
    assert_eq!(codes(&email), [None], "it was not offered");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_size_that_is_refused_has_one_reason_wherever_it_is_refused() {
    for refusal in [
        Answer::RefuseMail(552, "5.3.4 message size exceeds fixed limit"),
        Answer::RefuseMail(552, "too big"),
        Answer::RefuseData(552, "5.3.4 message size exceeds fixed limit"),
    ] {
        let server = ScriptedServer::start(move |_, _| refusal).await;
        let email = too_large(server, 100).await;
        assert!(text(&email["error"]).contains("552"), "{email}");
    }
}

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
        .env("MAILWRIGHT_DELIVERY_RETRY_BASE_MS", "1500")
        .env("MAILWRIGHT_DELIVERY_RETRY_MAX_MS", "1500")
        .start()
        .await;
    let id = app.send_to("ada@example.com").await;
    tokio::time::sleep(Duration::from_millis(2100)).await;
    server.start_again().await;
    let email = app.email_in(&id, &["SENT"]).await;
    assert_eq!(email["inDoubt"], true, "{email}");
    let received = server.received();
    assert_eq!(received.len(), 2);
    assert!(received[1].at - received[0].at > Duration::from_secs(1), "a second later the second was made");
    assert_eq!(received[0].data, received[1].data, "a retry is the same message, signature and all");
    let date = header(&received[0].data, "date").expect("a date");
    // to the second: the time of acceptance is two seconds earlier
    let accepted = text(&email["createdAt"])[11..19].to_owned();
    assert!(!date.contains(&accepted), "{date} is not the time of acceptance, {accepted}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_service_introduces_itself_by_its_name() {
    let server = ScriptedServer::start(|_, _| Answer::Accept).await;
    let app = App::builder(Engine::Sqlite)
        .smtp(server.port)
        .env("MAILWRIGHT_BASE_URL", "http://mail.example.com:8080")
        .start()
        .await;
    let id = app.send_to("ada@example.com").await;
    app.email_in(&id, &["SENT"]).await;
    assert_eq!(server.helo_names().first().map(String::as_str), Some("mail.example.com"));
    let doctor = app.run(&["doctor"]).await;
    assert!(doctor.contains("ok     EHLO name: mail.example.com"), "{doctor}");
    assert!(doctor.contains("LOOK   base URL: http://mail.example.com:8080 is not https"), "{doctor}");
    assert!(app.log().contains("its links are not https"), "and so does the log");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_an_outage_nobody_is_run_over() {
    let mut server = ScriptedServer::start(slow).await;
    server.stop().await;
    let app = App::builder(Engine::Sqlite).smtp(server.port).start().await;
    send_many(&app, app.secret_key(), &app.from(), "a", 300).await;
    app.eventually("the outage is noticed", async || {
        let state = figure(&app, "mailwright_next_hop_state{state=\"unreachable\"}").await;
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_answer_to_the_end_of_a_mail_has_a_patience_of_its_own() {
    let server = ScriptedServer::start(|_, _| Answer::Delay(Duration::from_millis(1500))).await;
    let app = App::builder(Engine::Sqlite)
        .smtp(server.port)
        .env("MAILWRIGHT_DELIVERY_REPLY_TIMEOUT_MS", "400")
        .start()
        .await;
    let id = app.send_to("ada@example.com").await;
    let email = app.email_in(&id, &["SENT"]).await;
    assert_eq!((&email["attemptCount"], &email["inDoubt"]), (&json!(1), &json!(false)), "{email}");
    assert_eq!(server.received().len(), 1);
}
