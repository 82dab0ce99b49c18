//! The mail of several nodes: they share it, and one takes over what another has left, dead or frozen.

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, json};
use mailwright_tests::text;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::{all_sent, copies, send_in_turn};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_share_the_mail() {
    const MAILS: usize = 300;
    /// Who is further ahead than this becomes so slow that the other catches up, if it works at all.
    const AHEAD: usize = MAILS / 10;
    let taken: Arc<[AtomicUsize; 2]> = Arc::default();
    let in_step = |own: usize| {
        let taken = Arc::clone(&taken);
        move |_: &str, _: u32| {
            let own_taken = taken[own].fetch_add(1, Ordering::SeqCst);
            let is_ahead = own_taken > taken[1 - own].load(Ordering::SeqCst) + AHEAD;
            Answer::Delay(Duration::from_millis(if is_ahead { 1000 } else { 20 }))
        }
    };
    let (first, second) = (ScriptedServer::start(in_step(0)).await, ScriptedServer::start(in_step(1)).await);
    let one = App::builder(Engine::Postgres)
        .smtp(first.port)
        .env("MAILWRIGHT_DELIVERY_CONNECTIONS", "4")
        .start()
        .await;
    // Each node has a receiving server of its own, which shows who delivered what.
    let transport = format!("smtp://127.0.0.1:{}?tls=none", second.port);
    let two = one.second_node_with(&[("MAILWRIGHT_TRANSPORT", &transport)]).await;

    send_in_turn(&[&one, &two], "a", MAILS).await;
    for email in all_sent(&two, MAILS).await {
        assert_eq!((&email["attemptCount"], &email["inDoubt"]), (&json!(1), &json!(false)), "{email}");
    }
    let copies = copies(&[&first, &second]);
    assert_eq!(copies.len(), MAILS);
    assert!(copies.values().all(|&count| count == 1), "no mail twice: {copies:?}");
    let (by_one, by_two) = (first.received().len(), second.received().len());
    assert!(by_one.min(by_two) >= MAILS / 10, "both work: {by_one} and {by_two}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_dies_hands_its_mail_over() {
    const MAILS: usize = 120;
    const CONNECTIONS: usize = 4;
    let server = ScriptedServer::start(|_, _| Answer::Delay(Duration::from_millis(100))).await;
    let mut one = App::builder(Engine::Postgres)
        .smtp(server.port)
        .env("MAILWRIGHT_DELIVERY_CONNECTIONS", CONNECTIONS.to_string())
        .start()
        .await;
    // The first node alone has taken mail when the second comes.
    send_in_turn(&[&one], "a", MAILS).await;
    one.eventually("deliveries have begun", async || (server.received().len() >= 4).then_some(())).await;
    let two = one.second_node().await;
    one.kill();
    let killed = Instant::now();

    let mut doubted = 0;
    for email in all_sent(&two, MAILS).await {
        let received = server.received_for(text(&email["to"])).len();
        if email["inDoubt"] == true {
            doubted += 1;
            assert!((1..=2).contains(&received), "received {received} times: {email}");
        } else {
            assert_eq!(received, 1, "{email}");
        }
    }
    assert!(doubted <= CONNECTIONS, "{doubted} in doubt with {CONNECTIONS} connections");
    assert!(killed.elapsed() < Duration::from_secs(20), "leases of a second are not waited for that long");
}

/// Mails that two processes handed over say so, whichever of the two is answered first: the one that was frozen for
/// longer than its lease, or the one that took over from it.
async fn a_frozen_node_comes_back(former_is_first: bool) {
    const MAILS: usize = 3;
    let copy_answered = move |_: &str, copy: u32| match (copy, former_is_first) {
        (1, _) => Answer::Delay(Duration::from_secs(8)),
        (_, true) => Answer::Delay(Duration::from_secs(12)),
        (_, false) => Answer::Accept,
    };
    let server = ScriptedServer::start(copy_answered).await;
    let one = App::builder(Engine::Postgres)
        .smtp(server.port)
        .env("MAILWRIGHT_DELIVERY_LEASE_MS", "2000")
        .env("MAILWRIGHT_DELIVERY_CONNECTIONS", "4")
        .start()
        .await;
    send_in_turn(&[&one], "a", MAILS).await;
    let all_on_the_wire = async |node: &App, in_doubt: bool| {
        let emails = node.list_all("/emails").await;
        emails.iter().all(|e| e["status"] == "SENDING" && e["inDoubt"] == in_doubt).then_some(())
    };
    one.eventually("all mails are on the wire", async || all_on_the_wire(&one, false).await).await;
    one.freeze();
    let two = one.second_node().await;
    if former_is_first {
        two.eventually("all are on the wire again", async || all_on_the_wire(&two, true).await).await;
    } else {
        all_sent(&two, MAILS).await;
    }
    one.thaw();
    let emails = two.eventually_within(Duration::from_mins(1), "both outcomes are stored", async || {
        let emails = two.list_all("/emails").await;
        emails.iter().all(|email| email["attemptCount"] == 3).then_some(emails)
    });
    for email in emails.await {
        assert_eq!((&email["status"], &email["inDoubt"]), (&json!("SENT"), &json!(true)), "{email}");
        let whole =
            two.get(&format!("/emails/{}", text(&email["id"]))).send().await.assert_status(200).json();
        let attempts: Vec<&str> =
            whole["attempts"].as_array().expect("attempts").iter().map(|a| text(&a["outcome"])).collect();
        assert_eq!(attempts, ["in_doubt", "sent", "sent"], "{whole}");
    }
    assert!(copies(&[&server]).values().all(|&count| count == 2), "{:?}", copies(&[&server]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_frozen_node_sent_is_known_beside_what_its_heir_sends() {
    a_frozen_node_comes_back(true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_frozen_node_sent_is_known_after_what_its_heir_sent() {
    a_frozen_node_comes_back(false).await;
}
