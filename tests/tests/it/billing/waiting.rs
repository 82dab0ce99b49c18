//! What becomes of campaigns, workflows and mail that comes in when a limit is reached.

use std::time::Duration;

use mailwright_testkit::mail_in::MailIn;
use mailwright_testkit::net::free_port;
use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::workflow::Flow;
use mailwright_tests::{create_contact, create_template, items, read, text, track_ok};
use serde_json::{Value, json};

use super::{World, limit_of};

/// A little more than the time after which a campaign that waits is looked at.
const OVER_A_MINUTE: Duration = Duration::from_secs(61);

async fn contacts(app: &App, count: usize) {
    for number in 0..count {
        create_contact(app, &format!("c{number}@example.com"), true, json!({})).await;
    }
}

/// A campaign to everybody, scheduled for a moment from now: then nobody counts its recipients before.
async fn scheduled(world: &World) -> String {
    let app = &world.app;
    let body = json!({
        "name": "News", "subject": "News", "body": "<p>News</p>", "from": app.from(), "audienceType": "ALL",
    });
    let made = app.post("/campaigns").json(&body).send().await.assert_status(201).json();
    let id = text(&made["data"]["id"]).to_owned();
    let at = json!({"scheduledFor": app.now() + 1_000});
    app.post(&format!("/campaigns/{id}/send")).json(&at).send().await.assert_status(200);
    app.advance(Duration::from_secs(2)).await;
    id
}

/// The campaign, once it waits because of the limit.
async fn waits(app: &App, id: &str, accepted: i64) -> Value {
    app.eventually("it waits", async || {
        let found = read(app, &format!("/campaigns/{id}")).await;
        let is_waiting = found["note"].as_str().is_some_and(|note| note.contains("limit of campaigns mails"));
        (is_waiting && found["sentCount"] == accepted).then_some(found)
    })
    .await
}

async fn in_status(app: &App, id: &str, status: &str) -> Value {
    app.eventually("it is over", async || {
        let found = read(app, &format!("/campaigns/{id}")).await;
        (found["status"] == status).then_some(found)
    })
    .await
}

/// Each recipient got the mail once.
fn assert_each_once(world: &World, count: usize) {
    let mut got: Vec<_> = world.server.copies().into_iter().filter(|(to, _)| to.starts_with('c')).collect();
    got.sort();
    assert_eq!(got.len(), count, "{got:?}");
    assert!(got.iter().all(|(_, copies)| *copies == 1), "{got:?}");
}

both_engines! {
    async fn a_campaign_waits_at_its_limit_and_goes_on_when_it_is_raised(engine: Engine) {
        let world = World::start(engine).await;
        contacts(&world.app, 30).await;
        world.subscribe("acme").await;
        world.set_limits(json!({"campaigns": 12})).await;
        let id = scheduled(&world).await;
        let found = waits(&world.app, &id, 12).await;
        assert_eq!((&found["status"], &found["pausedAt"]), (&json!("SENDING"), &json!(null)), "{found}");
        assert_eq!(limit_of(&world.limits().await, "campaigns"), (&json!(12), 12));
        world.eventually_told("has reached a limit", 1).await;
        // other mail is not held up
        world.app.send_to("other@example.com").await;
        for raised in [13, 20] {
            world.set_limits(json!({"campaigns": raised})).await;
            waits(&world.app, &id, raised).await;
        }
        world.set_limits(json!({"campaigns": null})).await;
        let over = in_status(&world.app, &id, "SENT").await;
        assert_eq!((&over["sentCount"], &over["note"]), (&json!(30), &json!(null)), "{over}");
        assert_each_once(&world, 30);
        world.assert_good();
    }

    async fn a_campaign_waits_for_the_next_month(engine: Engine) {
        let world = World::start(engine).await;
        contacts(&world.app, 9).await;
        world.subscribe("acme").await;
        world.set_limits(json!({"campaigns": 5})).await;
        // one that has too many recipients is not begun
        let body = json!({
            "name": "News", "subject": "News", "body": "<p>News</p>", "from": world.app.from(), "audienceType": "ALL",
        });
        let made = world.app.post("/campaigns").json(&body).send().await.assert_status(201).json();
        let send = format!("/campaigns/{}/send", text(&made["data"]["id"]));
        world.app.post(&send).json(&json!({})).send().await.assert_error(403, "BILLING_LIMIT_EXCEEDED");
        let id = scheduled(&world).await;
        waits(&world.app, &id, 5).await;
        world.app.advance(Duration::from_hours(31 * 24)).await;
        world.app.advance(OVER_A_MINUTE).await;
        in_status(&world.app, &id, "SENT").await;
        assert_each_once(&world, 9);
        assert_eq!(limit_of(&world.limits().await, "campaigns").1, 4);
        // exactly as many as there is room for may be sent at once
        world.set_limits(json!({"campaigns": 13})).await;
        world.app.post(&send).json(&json!({})).send().await.assert_status(200);
        world.assert_good();
    }

    async fn a_campaign_that_is_cancelled_gives_back_what_did_not_leave(engine: Engine) {
        let world = World::start_with(engine, |builder| builder.env("MAILWRIGHT_SENDING_PER_SECOND", "1")).await;
        contacts(&world.app, 40).await;
        world.subscribe("acme").await;
        let id = scheduled(&world).await;
        world.app.eventually("all are accepted", async || {
            (limit_of(&world.limits().await, "campaigns").1 == 40).then_some(())
        })
        .await;
        world.app.post(&format!("/campaigns/{id}/cancel")).send().await.assert_status(200);
        in_status(&world.app, &id, "CANCELLED").await;
        let left = world.app.eventually("the rest is given back", async || {
            let stats = read(&world.app, &format!("/campaigns/{id}")).await;
            let sent = stats["sentCount"].as_i64()?;
            let used = limit_of(&world.limits().await, "campaigns").1;
            (sent == used && used < 40).then_some(used)
        })
        .await;
        world.app.advance(OVER_A_MINUTE).await;
        if left > 0 {
            world.eventually_metered("cus_acme", left).await;
        }
        world.assert_good();
    }

    async fn a_step_of_a_workflow_says_that_its_mail_was_refused(engine: Engine) {
        let world = World::start(engine).await;
        let app = &world.app;
        world.subscribe("acme").await;
        world.set_limits(json!({"workflows": 2})).await;
        let flow = Flow::new(app, "signup").await;
        let template = create_template(app, &json!({"type": "MARKETING"})).await;
        let receipt = create_template(app, &json!({"type": "TRANSACTIONAL"})).await;
        flow.then("SEND_EMAIL", json!({"templateId": template["id"]})).await;
        flow.then("SEND_EMAIL", json!({"templateId": receipt["id"]})).await;
        flow.enable().await;
        for name in ["ann", "bob", "cid", "dan"] {
            let body = json!({"email": format!("{name}@example.com"), "event": "signup", "subscribed": true});
            track_ok(app, body).await;
        }
        let executions = app.eventually("all go through", async || {
            let executions = flow.executions().await;
            let done = executions.iter().filter(|one| one["status"] == "COMPLETED").count();
            (done == 4).then_some(executions)
        })
        .await;
        let mut refused = 0;
        for execution in &executions {
            let whole = flow.execution(text(&execution["id"])).await;
            let outputs: Vec<&Value> = items(&whole["stepExecutions"])
                .iter()
                .filter(|step| step["output"]["skipped"] == "billing_limit")
                .collect();
            refused += outputs.len();
        }
        assert_eq!(refused, 2, "{executions:?}");
        let limits = world.limits().await;
        assert_eq!(limit_of(&limits, "workflows"), (&json!(2), 2));
        assert_eq!(limit_of(&limits, "transactional").1, 4, "those of the other template");
        world.eventually_told("has reached a limit", 1).await;
        world.assert_good();
    }

    async fn mail_that_comes_in_is_refused_at_its_limit(engine: Engine) {
        let inbound = free_port();
        let world = World::start_with(engine, |builder| {
            builder
                .env("MAILWRIGHT_INBOUND_LISTEN", format!("127.0.0.1:{inbound}"))
                .env("MAILWRIGHT_INBOUND_HOST", "mx.mail.test")
        })
        .await;
        // the domain is vouched for; its record is not asked for while mail is captured, so it is noted by hand
        world.app.tamper("update domain_names set receives = true").await;
        world.subscribe("acme").await;
        world.set_limits(json!({"inbound": 2})).await;
        let mut session = MailIn::connect(inbound).await;
        let to = format!("help@{}", world.app.domain());
        for number in 0..2 {
            let message = format!("From: ada@example.com\nSubject: {number}\nMessage-ID: <{number}@mail.test>\n\nHello\n");
            let reply = session.deliver(&to, &message).await;
            assert!(reply.starts_with("250"), "{reply}");
        }
        let reply = session.command("MAIL FROM:<ada@example.com>").await;
        assert!(reply.starts_with("250"), "{reply}");
        let reply = session.command(&format!("RCPT TO:<{to}>")).await;
        assert!(reply.starts_with('4'), "{reply}");
        assert_eq!(limit_of(&world.limits().await, "inbound"), (&json!(2), 2));
        world.eventually_told("has reached a limit", 1).await;
        world.app.advance(OVER_A_MINUTE).await;
        world.eventually_metered("cus_acme", 2).await;
        world.assert_good();
    }
}
