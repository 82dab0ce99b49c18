//! What another transaction holds on PostgreSQL: whoever needs it waits, and nobody else does.

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, Value, json};
use mailwright_tests::{number_of, text};
use std::time::{Duration, UNIX_EPOCH};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_meets_another_transaction_is_tried_again() {
    let server = ScriptedServer::start(|_, _| Answer::Accept).await;
    let app = App::builder(Engine::Postgres).smtp(server.port).start().await;
    // the contacts of a project with one are noted in the statement before the one that waits
    app.post("/segments").json(&pro()).send().await.assert_status(201);

    let held = app.hold_table("counters").await;
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

/// A tracked segment of those whose plan is `pro`.
fn pro() -> Value {
    let tree = json!({"logic": "AND", "groups": [
        {"filters": [{"field": "data.plan", "operator": "equals", "value": "pro"}]}]});
    json!({"name": "Pro", "condition": tree, "trackMembership": true})
}

/// What the rows of a table are held with that are the first project's.
async fn rows_of_first(app: &App, table: &str) -> String {
    let acme = number_of(app, "Acme").await;
    format!("select 1 from {table} where project_id = {acme} for update")
}

async fn ok(app: &App, key: &str, path: &str, body: &Value) -> Value {
    let answer = app.request("POST", path).bearer(key).json(body).send().await;
    assert!((200..300).contains(&answer.status), "{path}: {}", answer.text());
    answer.json()
}

/// Sends a campaign to everybody, at a time if there is one; its path.
async fn campaign(app: &App, (key, from): (&str, &str), at: Option<u64>) -> String {
    let body = json!({"name": "News", "subject": "News", "body": "<p>News</p>", "from": from,
        "audienceType": "ALL"});
    let made = ok(app, key, "/campaigns", &body).await;
    let path = format!("/campaigns/{}", text(&made["data"]["id"]));
    let when = at.map_or(json!({}), |at| json!({"scheduledFor": at}));
    ok(app, key, &format!("{path}/send"), &when).await;
    path
}

async fn is_sent(app: &App, key: &str, path: &str) {
    app.eventually("the campaign is sent", async || {
        let campaign = app.request("GET", path).bearer(key).send().await.assert_status(200).json();
        assert_ne!(campaign["status"], "DRAFT", "{campaign}");
        (campaign["status"] == "SENT" && campaign["sentCount"] == 1).then_some(())
    })
    .await;
}

fn in_a_second() -> u64 {
    let at = UNIX_EPOCH.elapsed().expect("a clock after 1970") + Duration::from_secs(1);
    u64::try_from(at.as_millis()).expect("a clock before the end of time")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_campaign_of_which_somebody_holds_the_row_stops_no_other() {
    let app = App::start(Engine::Postgres).await;
    let other = app.bootstrap("Other", "other.test").await;
    let (acme, from) = (app.secret_key(), app.from());
    for key in [acme, &other.secret_key] {
        ok(&app, key, "/contacts", &json!({"email": "ann@example.com"})).await;
    }
    let stuck = campaign(&app, (acme, &from), Some(in_a_second())).await;
    let held = app.hold(&rows_of_first(&app, "campaigns").await).await;
    held.waited_for(1).await;

    let others = (other.secret_key.as_str(), other.from.as_str());
    let scheduled = campaign(&app, others, Some(in_a_second())).await;
    let now = campaign(&app, others, None).await;
    for path in [now, scheduled] {
        is_sent(&app, &other.secret_key, &path).await;
    }
    // again and again, and not until the database gives it up
    held.waited_for(3).await;
    drop(held);
    is_sent(&app, acme, &stuck).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_segment_of_which_somebody_holds_the_row_stops_no_other() {
    let app = App::start(Engine::Postgres).await;
    let other = app.bootstrap("Other", "other.test").await;
    let acme = app.secret_key();
    for key in [acme, &other.secret_key] {
        ok(&app, key, "/segments", &pro()).await;
    }
    let joins = async |key: &str| {
        let contact = json!({"email": "ann@example.com", "data": {"plan": "pro"}});
        format!("/events/contact/{}", text(&ok(&app, key, "/contacts", &contact).await["id"]))
    };
    let has_joined = async |key: &str, path: &str| {
        app.eventually("the contact joins", async || {
            let events = app.request("GET", path).bearer(key).send().await.assert_status(200).text();
            events.contains("segment.pro.entry").then_some(())
        })
        .await;
    };
    let held = app.hold(&rows_of_first(&app, "segments").await).await;
    let stuck = joins(acme).await;
    held.waited_for(1).await;
    let path = joins(&other.secret_key).await;
    has_joined(&other.secret_key, &path).await;
    held.waited_for(3).await;
    drop(held);
    has_joined(acme, &stuck).await;
}

/// A message of another project, which has to leave whatever is held.
async fn leaves(app: &App, (key, from): (&str, &str), to: &str) {
    let body = json!({"to": to, "from": from, "subject": "Hi", "body": "<p>Hi</p>"});
    let sent = ok(app, key, "/v1/send", &body).await;
    let path = format!("/emails/{}", text(&sent["data"]["emails"][0]["email"]));
    app.eventually("the mail is sent", async || {
        let mail = app.request("GET", &path).bearer(key).send().await.assert_status(200).json();
        (mail["status"] == "SENT").then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_wait_for_a_row_leave_connections_to_others() {
    let app = App::builder(Engine::Postgres).env("MAILWRIGHT_DATABASE_CONNECTIONS", "16").start().await;
    let other = app.bootstrap("Other", "other.test").await;
    let template = json!({"name": "One", "subject": "One", "body": "<p>One</p>", "from": app.from(),
        "type": "TRANSACTIONAL"});
    let path =
        format!("/templates/{}", text(&ok(&app, app.secret_key(), "/templates", &template).await["id"]));
    let held = app.hold(&rows_of_first(&app, "templates").await).await;
    let change = json!({"name": "Two"});
    // many more than there are connections
    let changes = (0..60).map(|_| app.request("PATCH", &path).bearer(app.secret_key()).json(&change).send());
    let changes = futures_util::future::join_all(changes);
    let others = async {
        held.waited_for(20).await;
        for n in 0..5 {
            leaves(&app, (&other.secret_key, &other.from), &format!("ann{n}@example.com")).await;
            ok(&app, &other.secret_key, "/contacts", &json!({"email": format!("ben{n}@example.com")})).await;
            app.get("/ready").send().await.assert_status(200);
        }
        drop(held);
    };
    let (changes, ()) = tokio::join!(changes, others);
    for changed in changes {
        changed.assert_status(200);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mail_of_which_somebody_holds_the_row_stops_no_other() {
    let server = ScriptedServer::start(|to, _| {
        if to.starts_with("slow") { Answer::Delay(Duration::from_secs(4)) } else { Answer::Accept }
    })
    .await;
    let app = App::builder(Engine::Postgres).smtp(server.port).env("MAILWRIGHT_DELIVERY_CONNECTIONS", "1");
    let app = app.start().await;
    let other = app.bootstrap("Other", "other.test").await;
    let body = json!({"to": "slow@example.com", "from": app.from(), "subject": "Hi", "body": "<p>Hi</p>"});
    let stuck = app.send(body).await.assert_status(200).json();
    let stuck = text(&stuck["data"]["emails"][0]["email"]).to_owned();
    app.email_in(&stuck, &["SENDING"]).await;
    let held = app.hold(&rows_of_first(&app, "emails").await).await;
    held.waited_for(1).await;
    leaves(&app, (&other.secret_key, &other.from), "ann@example.com").await;
    held.waited_for(3).await;
    drop(held);
    app.email_in(&stuck, &["SENT"]).await;
}
