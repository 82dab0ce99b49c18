//! What another transaction holds on PostgreSQL: whoever needs it waits, and nobody else does.

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, json};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_meets_another_transaction_is_tried_again() {
    let server = ScriptedServer::start(|_, _| Answer::Accept).await;
    let app = App::builder(Engine::Postgres).smtp(server.port).start().await;
    // the contacts of a project with one are noted in the statement before the one that waits
    let plan = json!({"logic": "AND", "groups": [
        {"filters": [{"field": "data.plan", "operator": "equals", "value": "pro"}]}]});
    let segment = json!({"name": "Pro", "condition": plan, "trackMembership": true});
    app.post("/segments").json(&segment).send().await.assert_status(201);

    let held = app.hold("lock table counters in exclusive mode").await;
    let requests = async {
        let contact = json!({"email": "contact@example.com"});
        tokio::join!(
            app.track(json!({"email": "tracked@example.com", "event": "seen"})),
            app.post("/contacts").json(&contact).send(),
            app.send(
                json!({"to": "sent@example.com", "from": app.from(), "subject": "Hi", "body": "<p>Hi</p>"})
            ),
        )
    };
    // each more than once, so that all were refused in between
    let let_go = async {
        held.waited_for(8).await;
        drop(held);
    };
    let ((tracked, created, sent), ()) = tokio::join!(requests, let_go);
    tracked.assert_status(200);
    created.assert_status(201);
    let sent = sent.assert_status(200).json();
    let id = sent["data"]["emails"][0]["email"].as_str().expect("an id").to_owned();
    app.email_in(&id, &["SENT"]).await;
}
