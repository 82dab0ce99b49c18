//! Limits that all nodes keep together.

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, Response};
use mailwright_tests::{assert_paced, early_in_a_minute};
use std::time::Instant;

use super::{all_sent, in_batches, send_in_turn};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_rate_limit_holds_across_nodes() {
    const LIMIT: usize = 60;
    let one = App::builder(Engine::Postgres)
        .env("MAILWRIGHT_RATE_LIMIT_PER_MINUTE", LIMIT.to_string())
        .start()
        .await;
    let two = one.second_node().await;
    early_in_a_minute(&one).await;

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
