//! What a next hop has against one project stays with that project.

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, Project, both_engines, json};
use mailwright_tests::{create_contact, text};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::delivery::{all_settled, codes};

/// How long a mail may take to which nothing is in the way, on a busy machine.
const SOON: Duration = Duration::from_secs(10);

/// Sends to `count` addresses that begin with `prefix`; returns the ids.
async fn send_many(app: &App, key: &str, from: &str, prefix: &str, count: usize) -> Vec<String> {
    let to: Vec<String> = (0..count).map(|n| format!("{prefix}{n}@example.com")).collect();
    let body = json!({"to": to, "subject": "Hi", "body": "<p>Hi</p>", "from": from});
    let sent = app.request("POST", "/v1/send").bearer(key).json(&body).send().await.assert_status(200).json();
    let emails = sent["data"]["emails"].as_array().expect("emails").clone();
    emails.iter().map(|email| text(&email["email"]).to_owned()).collect()
}

/// Sends one mail after the other; the longest time that one took to arrive.
async fn longest(
    app: &App,
    server: &ScriptedServer,
    project: &Project,
    prefix: &str,
    count: usize,
) -> Duration {
    let mut longest = Duration::ZERO;
    for n in 0..count {
        let prefix = format!("{prefix}{n}x");
        let since = Instant::now();
        send_many(app, &project.secret_key, &project.from, &prefix, 1).await;
        let to = format!("{prefix}0@example.com");
        app.eventually_within(Duration::from_secs(90), "the other project's mail arrives", async || {
            (!server.received_for(&to).is_empty()).then_some(())
        })
        .await;
        longest = longest.max(since.elapsed());
    }
    longest
}

/// Whether the metrics say that mail is refused.
async fn is_refused(app: &App) -> bool {
    let metrics = app.request("GET", "/metrics").send().await.assert_status(200).text();
    metrics.contains("mailwright_next_hop_state{transport=\"default\",state=\"refused\"} 1")
}

both_engines! {
    async fn projects_that_are_refused_stop_nobody_else(engine: Engine) {
        let server = ScriptedServer::start(|to, _| match () {
            () if to.starts_with("blocked") => Answer::RefuseRcpt(554, "5.7.1 access denied"),
            () if to.starts_with("spam") => Answer::RefuseData(554, "5.7.1 looks like spam"),
            () => Answer::Accept,
        })
        .await;
        let app = App::builder(engine).smtp(server.port).start().await;
        let (bad, good) = (app.bootstrap("Bad", "bad.test").await, app.bootstrap("Good", "good.test").await);
        let first = send_many(&app, app.secret_key(), &app.from(), "blocked-a", 6).await;
        send_many(&app, &bad.secret_key, &bad.from, "blocked-b", 6).await;
        app.eventually("it is noticed", async || is_refused(&app).await.then_some(())).await;
        for (key, from) in [(app.secret_key(), &app.from()), (&bad.secret_key, &bad.from)] {
            send_many(&app, key, from, "spam", 15).await;
            send_many(&app, key, from, "blocked-c", 3).await;
        }
        let waited = longest(&app, &server, &good, "good", 10).await;
        assert!(waited < SOON, "a mail of another project waited for {waited:?}");
        assert!(is_refused(&app).await, "and theirs still waits");
        for id in first {
            let email = app.email(&id).await;
            assert_eq!(email["status"], "PENDING", "{email}");
        }
        app.eventually("each project is named once", async || {
            let log = app.log();
            (log.matches("refuses mail of a project, which waits").count() == 2 && log.contains("554 5.7.1")).then_some(())
        })
        .await;
    }

    async fn a_next_hop_that_blocks_us_bounces_nobody(engine: Engine) {
        // a server without enhanced codes; the last reply is what it says of an unknown recipient as well
        for (reply, most_bounced) in [
            ((550, "rejected because 127.0.0.1 is in a black list at zen.spamhaus.org"), 0),
            ((550, "5.4.5 Daily user sending limit exceeded."), 0),
            ((550, "Requested action not taken: mailbox unavailable"), 4),
        ] {
            let blocks = Arc::new(AtomicBool::new(true));
            let is_blocking = Arc::clone(&blocks);
            let server = ScriptedServer::start(move |to, _| {
                let is_blocked = to.starts_with("person") && is_blocking.load(Ordering::SeqCst);
                if is_blocked { Answer::RefuseRcpt(reply.0, reply.1) } else { Answer::Accept }
            })
            .await;
            let app = App::builder(engine)
                .smtp(server.port)
                .env("MAILWRIGHT_DELIVERY_REFUSED_BASE_MS", "500")
                .env("MAILWRIGHT_DELIVERY_REFUSED_MAX_MS", "1000")
                .start()
                .await;
            for n in 0..20 {
                create_contact(&app, &format!("person{n}@example.com"), true, json!({})).await;
            }
            send_many(&app, app.secret_key(), &app.from(), "person", 20).await;
            app.eventually(reply.1, async || is_refused(&app).await.then_some(())).await;
            blocks.store(false, Ordering::SeqCst);
            let emails = all_settled(&app, 20).await;
            let bounced = emails.iter().filter(|email| email["status"] == "BOUNCED").count();
            let sent = emails.iter().filter(|email| email["status"] == "SENT").count();
            assert!(bounced <= most_bounced, "{bounced} bounced: {}", reply.1);
            assert_eq!(sent, 20 - bounced, "{emails:?}");
            let path = "/contacts?subscribed=false&limit=1";
            let left = app.get(path).send().await.assert_status(200).json()["total"].as_u64();
            assert_eq!(left, Some(bounced as u64), "{}", reply.1);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_project_over_its_quota_slows_down_itself_only() {
    for reply in [(450, "4.7.1 sender over quota"), (421, "4.7.0 sender over quota")] {
        let server = ScriptedServer::start(move |to, _| match to {
            "hello@acme.test" => Answer::RefuseMail(reply.0, reply.1),
            _ => Answer::Accept,
        })
        .await;
        let app = App::builder(Engine::Sqlite).smtp(server.port).start().await;
        let other = app.bootstrap("Other", "other.test").await;
        let over = send_many(&app, app.secret_key(), &app.from(), "a", 200).await;
        app.eventually("the project is slowed down, and the log names it once", async || {
            let log = app.log();
            let lines = log.matches("takes no more mail of a project for now").count();
            (lines == 1 && log.contains(&format!("{} 4.7", reply.0))).then_some(())
        })
        .await;
        let since = Instant::now();
        send_many(&app, &other.secret_key, &other.from, "b", 100).await;
        app.eventually_within(Duration::from_mins(1), "the other's mail arrives", async || {
            (server.received().len() == 100).then_some(())
        })
        .await;
        assert!(since.elapsed() < SOON, "100 mails took {:?}", since.elapsed());
        let waited = longest(&app, &server, &other, "c", 5).await;
        assert!(waited < SOON, "a mail waited for {waited:?}");
        let mut told = 0;
        for id in over.iter().take(40) {
            let email = app.email(id).await;
            assert_eq!(email["status"], "PENDING", "{email}");
            told += usize::from(email["error"].is_string());
        }
        assert!(told > 20, "its mails say why they wait: {told} of 40");
        let tried = server.refused_senders();
        assert!(tried < 100, "{tried} tries");
        if reply.0 == 450 {
            assert!(server.connections() < 80, "{} connections for {tried} refusals", server.connections());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mail_does_not_wait_behind_what_was_claimed_for_others() {
    let server = ScriptedServer::builder()
        .most_connections(1)
        .start(|_, _| Answer::Delay(Duration::from_millis(200)))
        .await;
    let app = App::builder(Engine::Sqlite).smtp(server.port).start().await;
    let other = app.bootstrap("Other", "other.test").await;
    longest(&app, &server, &other, "known", 2).await;
    send_many(&app, app.secret_key(), &app.from(), "a", 400).await;
    app.eventually("the backlog leaves", async || (server.received().len() >= 12).then_some(())).await;
    let mut most = 0;
    for n in 0..6 {
        let before = server.received().len();
        longest(&app, &server, &other, &format!("b{n}"), 1).await;
        most = most.max(server.received().len() - before);
    }
    // a turn of the other project, and what was on its way already
    assert!(most <= 16, "{most} mails left before one of another project");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mail_to_slow_recipients_leaves_connections_to_others() {
    let server = ScriptedServer::start(|to, _| {
        let is_slow = to.starts_with("slow");
        Answer::Delay(if is_slow { Duration::from_mins(1) } else { Duration::from_millis(10) })
    })
    .await;
    let app = App::builder(Engine::Sqlite).smtp(server.port).start().await;
    let other = app.bootstrap("Other", "other.test").await;
    // that there are two is noticed when the other sends, a minute after the start at the latest
    send_many(&app, app.secret_key(), &app.from(), "a", 20).await;
    send_many(&app, &other.secret_key, &other.from, "known", 20).await;
    app.eventually("both send", async || (server.received().len() == 40).then_some(())).await;
    send_many(&app, app.secret_key(), &app.from(), "slow", 200).await;
    app.eventually("most connections are used", async || (server.busiest() >= 28).then_some(())).await;
    let waited = longest(&app, &server, &other, "c", 5).await;
    assert!(waited < SOON, "a mail waited for {waited:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_full_of_slow_mail_keeps_nobody_out() {
    // slow mail is on the wire until the test has ended
    let server = ScriptedServer::start(|to, _| {
        if to.starts_with("slow") { Answer::Delay(Duration::from_mins(10)) } else { Answer::Accept }
    })
    .await;
    let app = App::builder(Engine::Sqlite)
        .smtp(server.port)
        .env("MAILWRIGHT_DELIVERY_CONNECTIONS", "8")
        .start()
        .await;
    let (large, other) =
        (app.bootstrap("Large", "large.test").await, app.bootstrap("Other", "other.test").await);
    let mut small = Vec::new();
    for n in 0..5 {
        small.push(app.bootstrap(&format!("Small {n}"), &format!("small{n}.test")).await);
    }
    let busy = async |count: usize| {
        app.eventually("the connections are busy", async || (server.attempts().len() == count).then_some(()))
            .await;
    };
    for project in &small {
        send_many(&app, &project.secret_key, &project.from, "slow-first", 1).await;
    }
    busy(5).await;
    send_many(&app, &large.secret_key, &large.from, "slow-large", 20).await;
    busy(7).await;
    // twice what is claimed ahead for eight connections, while one of them is left to whoever has none
    for project in &small {
        send_many(&app, &project.secret_key, &project.from, "slow-more", 4).await;
    }
    longest(&app, &server, &other, "quick", 5).await;
    assert_eq!(server.attempts().len(), 7 + 5, "no slow mail left meanwhile");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_next_hop_that_denies_us_for_now_is_known_as_such() {
    let server = ScriptedServer::start(|to, _| match to {
        "hello@acme.test" => Answer::Accept,
        "grey@example.com" => Answer::RefuseRcpt(451, "4.7.1 greylisted"),
        _ => Answer::RefuseRcpt(454, "4.7.1 Relay access denied"),
    })
    .await;
    let app = App::builder(Engine::Sqlite)
        .smtp(server.port)
        // all that are on the wire together are tried
        .env("MAILWRIGHT_DELIVERY_CONNECTIONS", "2")
        .env("MAILWRIGHT_DELIVERY_RETRY_BASE_MS", "60000")
        .env("MAILWRIGHT_DELIVERY_RETRY_MAX_MS", "60000")
        .start()
        .await;
    let one = send_many(&app, app.secret_key(), &app.from(), "one", 1).await;
    let email = app
        .eventually("a single mail is its own affair", async || {
            let email = app.email(&one[0]).await;
            (email["attemptCount"] == 1).then_some(email)
        })
        .await;
    assert_eq!((&email["status"], codes(&email)), (&json!("PENDING"), vec![Some(454)]), "{email}");
    assert!(!is_refused(&app).await);
    send_many(&app, app.secret_key(), &app.from(), "more", 12).await;
    app.eventually("it is told", async || {
        let is_told = is_refused(&app).await && app.log().contains("the next hop refuses all");
        let doctor = app.try_run(&["doctor"]).await;
        let is_wrong =
            !doctor.status.success() && String::from_utf8_lossy(&doctor.stdout).contains("454 4.7.1");
        (is_told && is_wrong).then_some(())
    })
    .await;
    assert!(server.attempts().len() < 13, "{} were tried", server.attempts().len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_the_next_hop_closes_does_not_count() {
    let mut server = ScriptedServer::start(|_, _| Answer::Accept).await;
    let app = App::builder(Engine::Sqlite).smtp(server.port).start().await;
    send_many(&app, app.secret_key(), &app.from(), "a", 20).await;
    app.eventually("they arrive", async || (server.received().len() == 20).then_some(())).await;
    let open = async |count: usize| {
        let metrics = app.request("GET", "/metrics").send().await.assert_status(200).text();
        let line =
            format!("mailwright_next_hop_connections{{transport=\"default\",kind=\"open\"}} {count}\n");
        metrics.contains(&line)
    };
    assert!(!open(0).await, "they are kept for a while");
    server.stop().await;
    app.eventually_within(SOON, "none is open", async || open(0).await.then_some(())).await;
}
