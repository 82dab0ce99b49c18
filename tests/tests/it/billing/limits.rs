//! Limits: they hold exactly, whoever sends at the same time, and members are told once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use mailwright_testkit::{App, Engine, OWNER, both_engines};
use mailwright_tests::browser::Browser;
use mailwright_tests::{create_template, items};
use serde_json::json;

use super::{World, is_error, limit_of, send_from, send_to_many};

/// Senders at the same time, and how often each sends.
const SENDERS: usize = 64;
const TIMES: usize = 4;
/// The limit.
const LIMIT: i64 = 150;

/// Has many senders send at the same time, some of them to several recipients; how many mails were accepted.
async fn send_at_once(nodes: &[&App], round: &str) -> usize {
    let accepted = AtomicUsize::new(0);
    let senders = (0..SENDERS).map(|sender| {
        let (app, accepted) = (nodes[sender % nodes.len()], &accepted);
        async move {
            for time in 0..TIMES {
                // 1, 2 or 3 recipients
                let count = 1 + (sender + time) % 3;
                let answer = send_to_many(app, &format!("{round}-{sender}-{time}-"), count).await;
                if answer.status == 200 {
                    let made = items(&answer.json()["data"]["emails"]).len();
                    assert_eq!(made, count);
                    accepted.fetch_add(made, Ordering::Relaxed);
                } else {
                    answer.assert_error(429, "BILLING_LIMIT_EXCEEDED");
                }
            }
        }
    });
    join_all(senders).await;
    accepted.into_inner()
}

/// Sends one by one until nothing more is accepted; how many were.
async fn send_the_rest(app: &App) -> usize {
    let mut accepted = 0;
    while send_to_many(app, &format!("rest{accepted}-"), 1).await.status == 200 {
        accepted += 1;
    }
    accepted
}

/// What of the project needs a person.
async fn needing_a_person(app: &App) -> Vec<String> {
    let found = mailwright_tests::read(app, &format!("/projects/{}/attention", app.project_id())).await;
    items(&found["items"]).iter().map(|item| mailwright_tests::text(&item["kind"]).to_owned()).collect()
}

async fn assert_exact(world: &World, nodes: &[&App]) {
    world.subscribe("acme").await;
    world.set_limits(json!({"transactional": LIMIT})).await;
    let accepted = send_at_once(nodes, "a").await;
    assert!(accepted as i64 <= LIMIT, "{accepted} were accepted");
    let rest = send_the_rest(&world.app).await;
    assert_eq!((accepted + rest) as i64, LIMIT);
    let limits = world.limits().await;
    assert_eq!(limit_of(&limits, "transactional"), (&json!(LIMIT), LIMIT));
    let listed = mailwright_tests::read(&world.app, "/emails?limit=1").await;
    assert_eq!(listed["total"], LIMIT, "as many as there are rows");
    world.eventually_told("has reached a limit", 1).await;
    assert!(world.told().len() <= 2, "{:?}", world.told());
    world.app.advance(Duration::from_secs(20)).await;
    assert_eq!(world.told().iter().filter(|told| told.contains("has reached")).count(), 1);
    // raised by some
    world.set_limits(json!({"transactional": LIMIT + 7})).await;
    let accepted = send_at_once(nodes, "b").await;
    assert_eq!(accepted + send_the_rest(&world.app).await, 7);
    world.eventually_told("has reached a limit", 2).await;
    world.assert_good();
}

both_engines! {
    async fn a_limit_holds_exactly_under_concurrent_senders(engine: Engine) {
        let world = World::start(engine).await;
        assert_exact(&world, &[&world.app]).await;
    }

    async fn members_are_warned_and_told_once_a_month(engine: Engine) {
        let world = World::start(engine).await;
        world.subscribe("acme").await;
        world.set_limits(json!({"transactional": 10})).await;
        send_to_many(&world.app, "a", 7).await.assert_status(200);
        world.app.send_to("b@example.com").await;
        world.eventually_told("has nearly reached a limit", 1).await;
        let limits = world.limits().await;
        assert_eq!((&limits["transactional"]["isWarning"], &limits["transactional"]["isBlocked"]), (&json!(true), &json!(false)));
        assert_eq!(needing_a_person(&world.app).await, ["LIMIT_NEAR"]);
        world.app.send_to("c@example.com").await;
        // three do not fit, one does: the limit is not reached yet
        assert!(is_error(&send_to_many(&world.app, "d", 3).await, "BILLING_LIMIT_EXCEEDED"));
        world.app.advance(Duration::from_secs(20)).await;
        assert_eq!(world.told().len(), 1, "{:?}", world.told());
        world.app.send_to("e@example.com").await;
        world.eventually_told("has reached a limit", 1).await;
        assert_eq!(needing_a_person(&world.app).await, ["LIMIT_REACHED"]);
        for _ in 0..3 {
            send_to_many(&world.app, "f", 1).await.assert_error(429, "BILLING_LIMIT_EXCEEDED");
        }
        world.app.advance(Duration::from_secs(20)).await;
        assert_eq!(world.told().len(), 2, "{:?}", world.told());
        // another limit is told of again
        world.set_limits(json!({"transactional": 12})).await;
        send_to_many(&world.app, "g", 1).await.assert_status(200);
        world.eventually_told("has nearly reached a limit", 2).await;
        // the next month begins anew
        world.app.advance(Duration::from_hours(31 * 24)).await;
        assert_eq!(limit_of(&world.limits().await, "transactional"), (&json!(12), 0));
        send_to_many(&world.app, "h", 12).await.assert_status(200);
        world.eventually_told("has reached a limit", 2).await;
        world.assert_good();
    }

    async fn without_a_subscription_the_categories_share_an_allowance(engine: Engine) {
        let world = World::start_with(engine, |builder| builder.env("MAILWRIGHT_BILLING_FREE_MAILS", "5")).await;
        let app = &world.app;
        send_to_many(app, "a", 3).await.assert_status(200);
        let limits = world.limits().await;
        for category in ["workflows", "campaigns", "transactional", "inbound"] {
            assert_eq!(limit_of(&limits, category), (&json!(5), 3), "{limits}");
        }
        // what is held back is not counted, and what a recipient costs is not given twice
        app.post("/suppressions/addresses").json(&json!({"email": "no@example.com"})).send().await.assert_status(201);
        app.send(json!({"to": ["no@example.com", "yes@example.com"], "subject": "s", "body": "b", "from": app.from()}))
            .await
            .assert_status(200);
        assert_eq!(limit_of(&world.limits().await, "campaigns").1, 4);
        let template = create_template(app, &json!({"type": "MARKETING"})).await;
        let body = json!({"to": ["x@example.com", "y@example.com"], "template": template["id"], "subscribed": true});
        app.send(body).await.assert_error(429, "BILLING_LIMIT_EXCEEDED");
        send_to_many(app, "b", 1).await.assert_status(200);
        send_to_many(app, "c", 1).await.assert_error(429, "BILLING_LIMIT_EXCEEDED");
        // a refused request leaves its key free
        let keyed = |to: &str| {
            let body = json!({"to": to, "subject": "s", "body": "b", "from": app.from()});
            app.post("/v1/send").header("idempotency-key", "order-1").json(&body).send()
        };
        keyed("d@example.com").await.assert_error(429, "BILLING_LIMIT_EXCEEDED");
        // a reset gives no new allowance
        let reset = format!("/users/@me/projects/{}/reset", app.project_id());
        world.owner.request(app, "POST", &reset).json(&json!({"password": OWNER.1})).send().await.assert_status(200);
        assert_eq!(limit_of(&world.limits().await, "campaigns").1, 5);
        app.eventually("it knows the new number", async || {
            is_error(&send_to_many(app, "e", 1).await, "BILLING_LIMIT_EXCEEDED").then_some(())
        })
        .await;
        // neither does the limit of one project hold up another
        let other = app.bootstrap("Neighbour", "neighbour.test").await;
        send_from(app, &other, &["a@example.com"]).await.assert_status(200);
        world.subscribe("acme").await;
        keyed("d@example.com").await.assert_status(200);
        keyed("d@example.com").await.assert_error(409, "IDEMPOTENCY_KEY_REUSED");
        let limits = world.limits().await;
        assert_eq!(limits["campaigns"]["limit"], json!(null), "{limits}");
        world.assert_good();
    }

    async fn only_administrators_change_what_is_paid(engine: Engine) {
        let world = World::start_with(engine, |builder| builder.env("MAILWRIGHT_PLATFORM_FROM", "")).await;
        world.subscribe("acme").await;
        let member = Browser::sign_up(&world.app, "member@example.com").await;
        world.owner.add_member(&world.app, world.app.project_id(), &member, "MEMBER").await;
        let path = |what: &str| format!("/users/@me/projects/{}/{what}", world.app.project_id());
        let none = json!({"workflows": null, "campaigns": null, "transactional": null, "inbound": null});
        for what in ["checkout", "billing-portal"] {
            member.request(&world.app, "POST", &path(what)).send().await.assert_error(403, "FORBIDDEN");
        }
        let set = member.request(&world.app, "PUT", &path("billing-limits")).json(&none).send().await;
        set.assert_error(403, "FORBIDDEN");
        for what in ["billing-limits", "billing-consumption", "billing-invoices"] {
            member.request(&world.app, "GET", &path(what)).send().await.assert_status(200);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_holds_exactly_with_two_processes() {
    let world = World::start(Engine::Postgres).await;
    let second = world.app.second_node().await;
    assert_exact(&world, &[&world.app, &second]).await;
}
