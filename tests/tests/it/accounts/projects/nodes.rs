//! A project on several nodes.

use mailwright_testkit::{App, Engine};
use mailwright_tests::{column, text, track_ok};
use serde_json::json;

use super::{mine_path, owner};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_resets_and_deletions_count_on_every_node_at_once() {
    let one = App::start(Engine::Postgres).await;
    let two = one.second_node().await;
    let owner = owner(&one).await;
    // the other node remembers both keys
    two.send_to("ada@example.com").await;
    track_ok(&two, json!({"email": "ada@example.com", "event": "signup"})).await;
    let made = owner.request(&one, "POST", &mine_path(&one, "/regenerate-keys")).send().await;
    let made = made.assert_status(200).json();
    let send = json!({"to": "a@example.com", "subject": "s", "body": "b", "from": one.from()});
    two.send(send.clone()).await.assert_error(401, "INVALID_API_KEY");
    two.track(json!({"email": "a@example.com", "event": "x"})).await.assert_error(401, "INVALID_API_KEY");
    two.get("/contacts").send().await.assert_error(401, "INVALID_API_KEY");

    let send = || two.request("POST", "/v1/send").bearer(text(&made["secret"])).json(&send).send();
    send().await.assert_status(200);
    owner.request(&one, "POST", &mine_path(&one, "/reset")).send().await.assert_status(200);
    // what the other node remembers is the project before the reset: it looks again, and nothing is written there
    send().await.assert_status(200);
    let contacts = async || {
        let page = two.request("GET", "/contacts").bearer(text(&made["secret"])).send().await.json();
        let mut found: Vec<String> = column(&page["data"], "email").into_iter().map(str::to_owned).collect();
        found.sort();
        found
    };
    assert_eq!(contacts().await, ["a@example.com"]);
    let track = |email: &str| {
        let event = json!({"email": email, "event": "signup"});
        two.request("POST", "/v1/track").bearer(text(&made["public"])).json(&event).send()
    };
    let record = |email: &str| {
        let event = json!({"email": email, "event": "signup"});
        two.request("POST", "/events/track").bearer(text(&made["secret"])).json(&event).send()
    };
    track("b@example.com").await.assert_status(200);
    record("c@example.com").await.assert_status(201);
    let keyed = |email: &str| {
        let event = json!({"email": email, "event": "signup"});
        let request = two.request("POST", "/v1/track").bearer(text(&made["public"])).json(&event);
        request.header("idempotency-key", "one").send()
    };
    keyed("d@example.com").await.assert_status(200);
    keyed("d@example.com").await.assert_error(409, "IDEMPOTENCY_KEY_REUSED");
    owner.request(&one, "POST", &mine_path(&one, "/reset")).send().await.assert_status(200);
    // the key was used for what is gone
    keyed("d@example.com").await.assert_status(200);
    track("e@example.com").await.assert_status(200);
    owner.request(&one, "POST", &mine_path(&one, "/reset")).send().await.assert_status(200);
    record("f@example.com").await.assert_status(201);
    assert_eq!(contacts().await, ["f@example.com"]);

    owner.request(&one, "DELETE", &mine_path(&one, "")).send().await.assert_status(200);
    send().await.assert_error(401, "INVALID_API_KEY");
}
