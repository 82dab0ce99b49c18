//! Keys that count on every node: idempotency keys and API keys.

use mailwright_testkit::{App, Engine, Response, json};
use mailwright_tests::text;
use std::collections::BTreeMap;

use super::all_sent;

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
