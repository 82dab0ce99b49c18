//! Nodes whose clock is off, and what a node gives back when it can deliver nothing.

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, json};
use std::time::Duration;

use super::{all_sent, copies, send_in_turn};

/// Waits until every mail was claimed, or given back, so many times.
async fn claimed(app: &App, times: usize) {
    app.tamper(&format!(
        "do $$ declare began timestamptz := clock_timestamp(); begin \
         while exists (select 1 from emails where claim < {times}) loop perform pg_sleep(0.05); \
         if clock_timestamp() > began + interval '20 seconds' then raise exception 'not claimed'; end if; \
         end loop; end $$"
    ))
    .await;
}

/// Another node, which delivers to a server of its own, and to which the database's clock is off by what `skew.by` says.
async fn second_node_with_another_clock(one: &App, server: &ScriptedServer) -> App {
    one.tamper(
        "create schema skew; create table skew.by (amount interval); insert into skew.by values ('0 s'); \
         create function skew.clock_timestamp() returns timestamptz language sql as \
         'select pg_catalog.clock_timestamp() + amount from skew.by'",
    )
    .await;
    let url = format!("{}?options=-c%20search_path%3Dpublic%2Cskew%2Cpg_catalog", one.database_url());
    let transport = format!("smtp://127.0.0.1:{}?tls=none", server.port);
    one.second_node_with(&[("MAILWRIGHT_DATABASE_URL", &url), ("MAILWRIGHT_TRANSPORT", &transport)]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_whose_clock_is_off_says_so_and_delivers_nothing() {
    const MAILS: usize = 24;
    let slowly = |_: &str, _: u32| Answer::Delay(Duration::from_millis(300));
    let (first, second) = (ScriptedServer::start(slowly).await, ScriptedServer::start(slowly).await);
    let mut one = App::builder(Engine::Postgres)
        .smtp(first.port)
        .env("MAILWRIGHT_DELIVERY_LEASE_MS", "8000")
        .env("MAILWRIGHT_DELIVERY_CONNECTIONS", "4")
        .env("MAILWRIGHT_DATABASE_CLOCK_CHECK_SECONDS", "1")
        .start()
        .await;
    let two = second_node_with_another_clock(&one, &second).await;
    let clock_of_two = async || two.request("GET", "/ready").send().await.json()["clock"] == true;

    one.tamper("update skew.by set amount = '90 s'").await;
    two.eventually("the second node says that its clock is off", async || {
        (!clock_of_two().await).then_some(())
    })
    .await;
    let ready = two.request("GET", "/ready").send().await;
    assert_eq!((ready.status, &ready.json()["database"]), (503, &json!(true)));
    assert!(two.log().contains("clock is 90"), "{}", two.log());
    let metrics = two.request("GET", "/metrics").send().await.text();
    assert!(
        metrics.contains("mailwright_clock_offset_seconds 9")
            || metrics.contains("mailwright_clock_offset_seconds 8"),
        "{metrics}"
    );

    send_in_turn(&[&one], "a", MAILS).await;
    for email in all_sent(&one, MAILS).await {
        assert_eq!((&email["attemptCount"], &email["inDoubt"]), (&json!(1), &json!(false)), "{email}");
    }
    assert_eq!(
        (first.received().len(), second.received().len()),
        (MAILS, 0),
        "the first alone delivers, once each"
    );
    assert!(copies(&[&first]).values().all(|&count| count == 1));

    one.tamper("update skew.by set amount = '0 s'").await;
    two.eventually("the second node is right again", async || clock_of_two().await.then_some(())).await;
    assert!(one.stop().await.success());
    two.send_to("b@example.com").await;
    all_sent(&two, MAILS + 1).await;
    assert_eq!(second.received().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_whose_clock_goes_wrong_gives_back_what_it_has_queued() {
    let first = ScriptedServer::start(|_, _| Answer::Accept).await;
    let second = ScriptedServer::start(|_, _| Answer::StallForever).await;
    let mut one = App::builder(Engine::Postgres)
        .smtp(first.port)
        .env("MAILWRIGHT_DELIVERY_LEASE_MS", "600000")
        .env("MAILWRIGHT_DELIVERY_CONNECTIONS", "1")
        .env("MAILWRIGHT_DATABASE_CLOCK_CHECK_SECONDS", "1")
        .start()
        .await;
    let two = second_node_with_another_clock(&one, &second).await;
    assert!(one.stop().await.success());

    // one is on the wire for good, the others wait for the only connection
    send_in_turn(&[&two], "a", 4).await;
    claimed(&two, 1).await;
    two.tamper("update skew.by set amount = '-200 s'").await;
    two.eventually("the second node says that its clock is off", async || {
        let ready = two.request("GET", "/ready").send().await.json();
        (ready["clock"] == false).then_some(())
    })
    .await;
    // leases end in ten minutes
    one.restart().await;
    all_sent(&one, 3).await;
    assert_eq!((first.received().len(), second.received().len()), (3, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_claimed_again_meanwhile_is_given_back_as_well() {
    let mut stalls = ScriptedServer::start(|_, _| Answer::StallForever).await;
    let app = App::builder(Engine::Postgres)
        .smtp(stalls.port)
        .env("MAILWRIGHT_DELIVERY_LEASE_MS", "600000")
        .env("MAILWRIGHT_DELIVERY_CONNECTIONS", "1")
        .start()
        .await;
    send_in_turn(&[&app], "a", 3).await;
    claimed(&app, 1).await;
    // as if the database had been away for longer than a lease
    app.tamper("update emails set due_at = 1").await;
    claimed(&app, 2).await;
    // leases end in ten minutes, but nothing can be handed over, so all three are given back, which counts as a claim
    stalls.stop().await;
    claimed(&app, 3).await;
    let takes = ScriptedServer::builder().port(stalls.port).start(|_, _| Answer::Accept).await;
    all_sent(&app, 3).await;
    assert_eq!(takes.received().len(), 3);
}
