//! Time that passes at once: every part of the service follows it, on every node, and through a restart.

use std::time::Duration;

use mailwright_testkit::dns::FakeDns;
use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, Value, both_engines, json};
use mailwright_tests::browser::Browser;
use mailwright_tests::{create_contact, items, read, text};

const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

/// When a contact that is made now says that it was made, without the time of day.
async fn today(app: &App, email: &str) -> String {
    text(&create_contact(app, email, true, json!({})).await["createdAt"])[..10].to_owned()
}

/// Whether a domain is listed as verified. Asking so does not look it up.
async fn is_verified(app: &App, domain: &Value) -> bool {
    let listed = read(app, &format!("/domains/project/{}", app.project_id())).await;
    items(&listed).iter().any(|found| found["id"] == domain["id"] && found["verified"] == true)
}

/// Hours pass until the domain is, or is not, verified. A look-up goes on beside the round that started it, and a round
/// that comes meanwhile starts no other, so one hour may not be enough.
async fn assert_verified_in_time(app: &App, domain: &Value, verified: bool) {
    let what = format!("the domain is looked up again: verified {verified}");
    app.eventually(&what, async || {
        app.advance(HOUR).await;
        (is_verified(app, domain).await == verified).then_some(())
    })
    .await;
}

both_engines! {
    async fn the_time_of_a_server_outlives_it(engine: Engine) {
        let mut app = App::start(engine).await;
        let first = today(&app, "a@example.com").await;
        app.advance(DAY).await;
        let second = today(&app, "b@example.com").await;
        assert!(second > first, "{second} is after {first}");
        app.kill();
        app.advance(DAY).await;
        app.restart().await;
        let third = today(&app, "c@example.com").await;
        assert!(third > second, "{third} is after {second}");
    }

    async fn a_mail_that_waits_for_hours_is_tried_when_they_have_passed(engine: Engine) {
        let busy = Answer::RefuseRcpt(451, "4.2.1 busy");
        let server = ScriptedServer::start(move |_, attempt| if attempt < 3 { busy } else { Answer::Accept }).await;
        let app = App::builder(engine)
            .smtp(server.port)
            .env("MAILWRIGHT_DELIVERY_RETRY_BASE_MS", "3600000")
            .env("MAILWRIGHT_DELIVERY_RETRY_MAX_MS", "36000000")
            .start()
            .await;
        let id = app.send_to("ada@example.com").await;
        // an hour or two, and a tenth more
        for (attempt, pause) in [(1, HOUR), (2, 2 * HOUR)] {
            app.eventually("it waits", async || {
                let email = app.email(&id).await;
                (email["status"] == "PENDING" && email["attemptCount"] == attempt).then_some(())
            })
            .await;
            app.advance(pause + pause / 9).await;
        }
        assert_eq!(app.email_in(&id, &["SENT"]).await["attemptCount"], 3);
    }

    async fn a_domain_is_looked_up_again_by_itself(engine: Engine) {
        let dns = FakeDns::start().await;
        let builder = App::builder(engine).env("MAILWRIGHT_TRANSPORT", "smtp://127.0.0.1:9?tls=none");
        let app = builder.env("MAILWRIGHT_DNS_SERVER", dns.addr.to_string()).start().await;
        let domain = app.post("/domains").json(&json!({"domain": "shop.example"})).send().await.assert_status(201).json();
        for record in items(&domain["records"]).iter().filter(|record| record["required"] == true) {
            dns.set_txt(text(&record["name"]), [text(&record["value"])]);
        }
        assert!(!is_verified(&app, &domain).await);
        assert_verified_in_time(&app, &domain, true).await;
        for record in items(&domain["records"]) {
            dns.remove(text(&record["name"]));
        }
        assert_verified_in_time(&app, &domain, false).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn time_passes_for_every_node() {
    let one = App::start(Engine::Postgres).await;
    let two = one.second_node().await;
    let ada = Browser::sign_up(&one, "ada@example.com").await;
    let before = today(&one, "a@example.com").await;
    create_contact(&one, "b@example.com", true, json!({})).await;
    let body = json!({"name": "News", "subject": "News", "body": "<p>News</p>", "from": one.from(), "audienceType": "ALL"});
    let campaign = one.post("/campaigns").json(&body).send().await.assert_status(201).json();
    let path = format!("/campaigns/{}", text(&campaign["data"]["id"]));
    let at = json!({"scheduledFor": one.now() + 6 * DAY.as_millis() as i64});
    one.post(&format!("{path}/send")).json(&at).send().await.assert_status(200);
    // moved on one of them, whichever
    two.advance(6 * DAY).await;
    for node in [&one, &two] {
        ada.request(node, "GET", "/users/@me").send().await.assert_status(200);
    }
    two.eventually("the campaign is sent", async || {
        (read(&two, &path).await["status"] == "SENT").then_some(())
    })
    .await;
    one.advance(2 * DAY).await;
    for (node, email) in [(&one, "c@example.com"), (&two, "d@example.com")] {
        ada.request(node, "GET", "/users/@me").send().await.assert_error(401, "UNAUTHORIZED");
        assert!(today(node, email).await > before);
    }
}
