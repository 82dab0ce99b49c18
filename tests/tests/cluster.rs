//! Several processes on one PostgreSQL: they share the work, the limits and the keys, and survive each other.

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, Response, Value, json};
use mailwright_tests::{assert_paced, text};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, UNIX_EPOCH};

/// Sends `count` mails through the nodes in turn, several at a time.
async fn send_in_turn(nodes: &[&App], prefix: &str, count: usize) {
    let requests = (0..count).map(|n| {
        let node = nodes[n % nodes.len()];
        let to = format!("{prefix}{n}@example.com");
        async move { node.send_to(&to).await }
    });
    for batch in in_batches(requests, 20) {
        futures_util::future::join_all(batch).await;
    }
}

fn in_batches<T>(all: impl Iterator<Item = T>, size: usize) -> Vec<Vec<T>> {
    let mut batches: Vec<Vec<T>> = Vec::new();
    for one in all {
        match batches.last_mut() {
            Some(batch) if batch.len() < size => batch.push(one),
            _ => batches.push(vec![one]),
        }
    }
    batches
}

/// Waits until all emails of the project are sent, and returns them.
async fn all_sent(app: &App, count: usize) -> Vec<Value> {
    app.eventually_within(Duration::from_secs(30), &format!("{count} emails are sent"), async || {
        let emails = app.list_all("/emails").await;
        let sent = emails.iter().filter(|email| email["status"] == "SENT").count();
        (sent == count).then_some(emails)
    })
    .await
}

/// How often each address got a mail, over several receiving servers.
fn copies(servers: &[&ScriptedServer]) -> BTreeMap<String, usize> {
    let mut copies = BTreeMap::new();
    for message in servers.iter().flat_map(|server| server.received()) {
        *copies.entry(message.rcpt_to[0].clone()).or_default() += 1;
    }
    copies
}

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
async fn the_rate_limit_holds_across_nodes() {
    const LIMIT: usize = 60;
    let one = App::builder(Engine::Postgres)
        .env("MAILWRIGHT_RATE_LIMIT_PER_MINUTE", LIMIT.to_string())
        .start()
        .await;
    let two = one.second_node().await;
    // Windows may begin with the minute: the burst must not lie across two of them.
    let into_minute = UNIX_EPOCH.elapsed().expect("a clock after 1970").as_secs() % 60;
    if into_minute > 45 {
        tokio::time::sleep(Duration::from_secs(61 - into_minute)).await;
    }

    let requests = (0..3 * LIMIT).map(|n| [&one, &two][n % 2].get("/contacts?limit=1").send());
    let mut answers: Vec<Response> = Vec::new();
    for batch in in_batches(requests, 12) {
        answers.extend(futures_util::future::join_all(batch).await);
    }
    let passed = answers.iter().filter(|answer| answer.status == 200).count();
    assert!(passed <= LIMIT, "{passed} requests passed a limit of {LIMIT}");
    assert!(passed >= LIMIT - 10, "only {passed} requests passed a limit of {LIMIT}");
    for refused in answers.iter().filter(|answer| answer.status != 200) {
        let error = refused.assert_error(429, "RATE_LIMIT_EXCEEDED");
        let seconds: u64 = refused.headers.get("retry-after").expect("Retry-After").parse().expect("seconds");
        assert!((1..=60).contains(&seconds), "{seconds}");
        assert_eq!(error["details"]["retryAfter"], seconds, "{error}");
    }
    // The limit is the project's, not the address's.
    let other = one.bootstrap("Other", "other.test").await;
    let answer = two.request("GET", "/contacts?limit=1").bearer(&other.secret_key).send().await;
    answer.assert_status(200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idempotency_key_counts_on_every_node() {
    let one = App::start(Engine::Postgres).await;
    let two = one.second_node().await;
    for round in 0..25 {
        let to = format!("round{round}@example.com");
        let body = json!({"to": to, "subject": "Hi", "body": "<p>Hi</p>", "from": one.from()});
        let key = format!("key-{round}");
        let send = |node: &App| node.post("/v1/send").header("idempotency-key", &key).json(&body).send();
        let (first, second, third) = tokio::join!(send(&one), send(&two), send(&one));
        let answers = [first, second, third];
        let carried_out = answers.iter().filter(|answer| answer.status == 200).count();
        let shown: Vec<String> = answers.iter().map(Response::text).collect();
        assert_eq!(carried_out, 1, "exactly one is carried out: {shown:?}");
        for refused in answers.iter().filter(|answer| answer.status != 200) {
            let error = refused.assert_error(409, "IDEMPOTENCY_KEY_REUSED");
            assert_eq!(error["details"]["key"], key.as_str());
        }
        // Later and from either node, too.
        send(&two).await.assert_error(409, "IDEMPOTENCY_KEY_REUSED");
    }
    let emails = all_sent(&one, 25).await;
    let recipients: BTreeMap<&str, usize> = emails.iter().fold(BTreeMap::new(), |mut found, email| {
        *found.entry(text(&email["to"])).or_default() += 1;
        found
    });
    assert!(recipients.len() == 25 && recipients.values().all(|&count| count == 1), "{recipients:?}");
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_secret_key_works_on_every_node_at_once() {
    let one = App::start(Engine::Postgres).await;
    let two = one.second_node().await;
    for node in [&one, &two] {
        // What a node remembers about keys must not get in the way.
        node.get("/contacts?limit=1").send().await.assert_status(200);
        node.request("GET", "/contacts?limit=1")
            .bearer(&format!("sk_{}", "0".repeat(64)))
            .send()
            .await
            .assert_error(401, "INVALID_API_KEY");
    }
    let key = one.new_secret_key().await;
    assert_ne!(key, one.secret_key());
    for node in [&two, &one] {
        node.request("GET", "/contacts?limit=1").bearer(&key).send().await.assert_status(200);
        let body =
            json!({"to": "ada@example.com", "subject": "Hi", "body": "<p>Hi</p>", "from": node.from()});
        node.request("POST", "/v1/send").bearer(&key).json(&body).send().await.assert_status(200);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_instances_rate_holds_across_nodes() {
    const RATE: usize = 20;
    const MAILS: usize = 90;
    let (first, second) = (
        ScriptedServer::start(|_, _| Answer::Accept).await,
        ScriptedServer::start(|_, _| Answer::Accept).await,
    );
    let one = App::builder(Engine::Postgres)
        .smtp(first.port)
        .env("MAILWRIGHT_SENDING_INSTANCE_PER_SECOND", RATE.to_string())
        .start()
        .await;
    let transport = format!("smtp://127.0.0.1:{}?tls=none", second.port);
    let two = one.second_node_with(&[("MAILWRIGHT_TRANSPORT", &transport)]).await;
    let began = Instant::now();
    send_in_turn(&[&one, &two], "a", MAILS).await;
    all_sent(&one, MAILS).await;
    let (by_one, by_two) = (first.received(), second.received());
    assert_eq!(by_one.len() + by_two.len(), MAILS);
    assert_paced(by_one.iter().chain(&by_two).map(|mail| mail.at), began, RATE);
    assert!(by_one.len().min(by_two.len()) >= MAILS / 10, "both work: {} and {}", by_one.len(), by_two.len());
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

/// Waits until every mail was claimed, or given back, so many times.
async fn claimed(app: &App, times: usize) {
    app.tamper(&format!(
        "do $$ declare began timestamptz := clock_timestamp(); begin \
         while exists (select from emails where claim < {times}) loop perform pg_sleep(0.05); \
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
