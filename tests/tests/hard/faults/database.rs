//! PostgreSQL is out of reach, comes and goes, takes no writes, or says nothing.

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, json};
use mailwright_tests::random::Random;
use mailwright_tests::{inline, items, read};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::{PROMPT, assert_all_sent, assert_unavailable, ready, says_unwritable};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_out_of_reach_is_said_so_and_survived() {
    let mut server = ScriptedServer::start(|_, _| Answer::Accept).await;
    server.stop().await;
    let app = App::builder(Engine::Postgres).database_proxy().smtp(server.port).start().await;
    let mut addresses = BTreeSet::new();
    for n in 0..10 {
        let to = format!("before{n}@example.com");
        app.send_to(&to).await;
        addresses.insert(to);
    }

    app.database_proxy().cut().await;
    app.eventually("/ready says so", async || (ready(&app).await == 503).then_some(())).await;
    app.request("GET", "/health").send().await.assert_status(200);
    let since = Instant::now();
    let event = json!({"email": "ada@example.com", "event": "lost"});
    assert_unavailable(&app.get("/contacts").timeout(PROMPT).send().await);
    assert_unavailable(
        &app.post("/v1/send").json(&inline(&app, &json!("lost@example.com"))).timeout(PROMPT).send().await,
    );
    let track = app.request("POST", "/v1/track").bearer(app.public_key()).json(&event);
    assert_unavailable(&track.timeout(PROMPT).send().await);
    assert!(since.elapsed() < PROMPT, "refusals are prompt: {:?}", since.elapsed());

    server.start_again().await;
    app.database_proxy().restore().await;
    app.eventually("it recovers by itself", async || (ready(&app).await == 200).then_some(())).await;
    app.send_to("after@example.com").await;
    addresses.insert("after@example.com".to_owned());
    assert_all_sent(&app, &server, &addresses).await;
    assert_eq!(server.received_for("lost@example.com").len(), 0, "what was refused was not kept");
    let stored = read(&app, "/events?eventName=lost&limit=10").await;
    assert_eq!(items(&stored["events"]).len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_comes_and_goes_costs_no_mail() {
    let server = ScriptedServer::start(|_, _| Answer::Delay(Duration::from_millis(5))).await;
    let app = App::builder(Engine::Postgres).database_proxy().smtp(server.port).start().await;
    let mut random = Random::from_environment();
    let mut addresses = BTreeSet::new();
    for n in 0..600 {
        if n % 150 == 100 {
            tokio::time::sleep(random.millis(100)).await;
            app.database_proxy().cut().await;
            tokio::time::sleep(Duration::from_millis(300) + random.millis(1200)).await;
            app.database_proxy().restore().await;
        }
        let to = format!("flow{n}@example.com");
        let body = inline(&app, &json!(to));
        let answer = app.post("/v1/send").json(&body).send().await;
        if answer.status == 200 {
            addresses.insert(to);
        } else {
            assert_unavailable(&answer);
        }
    }
    assert!(addresses.len() > 300, "only {} mails were accepted", addresses.len());
    assert_all_sent(&app, &server, &addresses).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_only_read_is_said_so_and_survived() {
    let app = App::builder(Engine::Postgres).database_proxy().start().await;
    let set = async |value: &str| {
        let set = format!(
            "do $$ begin execute format('alter database %I set default_transaction_read_only = {value}', current_database()); end $$"
        );
        app.tamper(&format!("begin read write; {set}; commit")).await;
    };
    set("on").await;
    // only new connections know
    app.database_proxy().cut().await;
    app.database_proxy().restore().await;
    let event = json!({"email": "ada@example.com", "event": "refused"});
    app.eventually("the service says that nothing can be written", async || {
        assert_unavailable(&app.track(event.clone()).await);
        says_unwritable(&app).await
    })
    .await;
    app.get("/contacts").send().await.assert_status(200);
    set("off").await;
    // nobody writes anything
    app.eventually("it finds out by itself", async || (ready(&app).await == 200).then_some(())).await;
    for n in 0..20 {
        app.track(json!({"email": format!("ada{n}@example.com"), "event": "kept"})).await.assert_status(200);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_says_nothing_does_not_keep_probes_waiting() {
    let app = App::builder(Engine::Postgres).database_proxy().start().await;
    app.database_proxy().cut().await;
    // connections are made, and nobody answers
    let _silent =
        std::net::TcpListener::bind(("127.0.0.1", app.database_proxy().port())).expect("a free port");
    for _ in 0..3 {
        let answer = app.request("GET", "/ready").timeout(PROMPT).send().await;
        assert_eq!((answer.status, &answer.json()["database"]), (503, &json!(false)));
    }
}
