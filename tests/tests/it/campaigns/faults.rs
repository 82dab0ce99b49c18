//! What may get into a campaign's way: its project, its sender's domain, its content.

use super::{act, contacts, draft, entries, frozen, get, in_status, path, send, settled};
use mailwright_testkit::dns::FakeDns;
use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, Response, Value, both_engines, json};
use mailwright_tests::{as_project, items, read, text};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const HOUR: Duration = Duration::from_hours(1);

/// Schedules a campaign for an hour from now.
async fn schedule(app: &App, campaign: &Value) -> Response {
    let at = app.now() as u64 + HOUR.as_millis() as u64;
    app.post(&path(campaign, "/send")).json(&json!({"scheduledFor": at})).send().await
}

/// A cancelled campaign that never started says why, and has written to nobody.
async fn assert_never_started(app: &App, campaign: &Value, why: &str) {
    let cancelled = in_status(app, campaign, "CANCELLED").await;
    assert!(text(&cancelled["note"]).contains(why), "{cancelled}");
    assert_eq!(
        (&cancelled["sentAt"], cancelled["finishedAt"].is_null()),
        (&Value::Null, false),
        "{cancelled}"
    );
    assert_eq!(read(app, &path(campaign, "/ledger")).await["equation"]["audience"], 0);
    assert!(app.list_all("/emails").await.is_empty());
}

/// Waits until a campaign has sent so many mails.
async fn sent(app: &App, campaign: &Value, count: i64) {
    app.eventually("some mails are sent", async || {
        (get(app, campaign).await["sentCount"].as_i64() >= Some(count)).then_some(())
    })
    .await;
}

/// How many of a ledger's mails failed for a reason; all the others were accepted.
fn failed(ledger: &Value, reason: &str, audience: i64) -> i64 {
    let count = ledger["equation"]["failed"][reason].as_i64().unwrap_or_default();
    let mut failed = json!({});
    failed[reason] = count.into();
    assert_eq!(ledger["equation"]["failed"], failed, "{ledger}");
    assert_eq!(ledger["equation"]["accepted"], audience - count, "{ledger}");
    count
}

both_engines! {
    async fn a_schedule_of_a_disabled_project_is_cancelled(engine: Engine) {
        let app = App::start(engine).await;
        contacts(&app, "a", 2).await;
        let campaign = draft(&app, &json!({})).await;
        schedule(&app, &campaign).await.assert_status(200);
        app.run(&["project", "disable", app.project_id(), "--reason", "Unpaid"]).await;
        app.advance(HOUR).await;
        assert_never_started(&app, &campaign, "disabled").await;
        app.run(&["project", "enable", app.project_id()]).await;
        act(&app, &campaign, "/send").await.assert_error(400, "BAD_REQUEST");
        act(&app, &campaign, "/duplicate").await.assert_status(201);
        app.delete(&path(&campaign, "")).send().await.assert_status(204);
    }

    async fn a_schedule_whose_audience_is_suppressed_by_then_is_sent_to_nobody(engine: Engine) {
        let server = ScriptedServer::start(|_, _| Answer::RefuseRcpt(550, "5.1.1 unknown")).await;
        let app = App::builder(engine).smtp(server.port).start().await;
        contacts(&app, "a", 2).await;
        let campaign = draft(&app, &json!({"type": "TRANSACTIONAL"})).await;
        schedule(&app, &campaign).await.assert_status(200);
        for to in ["a0@example.com", "a1@example.com"] {
            app.email_in(&app.send_to(to).await, &["BOUNCED"]).await;
        }
        app.advance(HOUR).await;
        let sent = in_status(&app, &campaign, "SENT").await;
        assert_eq!((&sent["totalRecipients"], &sent["sentCount"]), (&json!(0), &json!(0)), "{sent}");
        let ledger = settled(&app, &campaign).await;
        assert_eq!(ledger["equation"]["skipped"], json!({"suppressed": 2}), "{ledger}");
        assert_eq!(server.attempts().len(), 2);
    }

    async fn a_project_that_is_disabled_meanwhile_sends_no_more_until_it_is_enabled(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_SENDING_PER_SECOND", "4").start().await;
        contacts(&app, "a", 16).await;
        let campaign = draft(&app, &json!({})).await;
        send(&app, &campaign).await;
        sent(&app, &campaign, 1).await;
        app.run(&["project", "disable", app.project_id(), "--reason", "Unpaid"]).await;
        // what was claimed before is finished
        let other = app.bootstrap("Other", "other.test").await;
        let other_mail = async || {
            let send = json!({"to": "bob@example.com", "subject": "Hi", "body": "Hi", "from": other.from});
            let sent = as_project(&app, &other, "POST", "/v1/send").json(&send).send().await.assert_status(200).json();
            let path = format!("/emails/{}", text(&sent["data"]["emails"][0]["email"]));
            app.eventually("mail of another project leaves", async || {
                let email = as_project(&app, &other, "GET", &path).send().await.assert_status(200).json();
                (email["status"] == "SENT").then_some(())
            })
            .await;
        };
        app.advance(HOUR).await;
        other_mail().await;
        let before = get(&app, &campaign).await["sentCount"].clone();
        assert!(before.as_i64() < Some(16), "{before}");
        app.advance(HOUR).await;
        other_mail().await;
        let held = get(&app, &campaign).await;
        assert_eq!((&held["sentCount"], &held["status"]), (&before, &json!("SENDING")));
        app.run(&["project", "enable", app.project_id()]).await;
        assert_eq!(settled(&app, &campaign).await["equation"]["accepted"], 16);
    }

    async fn a_schedule_whose_domain_lost_its_records_is_cancelled(engine: Engine) {
        let dns = FakeDns::start().await;
        let server = ScriptedServer::start(|_, _| Answer::Accept).await;
        let app = App::builder(engine).smtp(server.port).env("MAILWRIGHT_DNS_SERVER", dns.addr.to_string());
        let app = app.start().await;
        contacts(&app, "a", 2).await;
        let domain = app.post("/domains").json(&json!({"domain": "pending.example"})).send().await;
        let domain = domain.assert_status(201).json();
        let verify = format!("/domains/{}/verify", text(&domain["id"]));
        let records = || items(&domain["records"]).iter().filter(|record| record["type"] == "TXT");
        for record in records() {
            dns.set_txt(text(&record["name"]), [text(&record["value"])]);
        }
        assert_eq!(read(&app, &verify).await["verified"], true);
        let campaign = draft(&app, &json!({"from": "hi@pending.example"})).await;
        schedule(&app, &campaign).await.assert_status(200);
        for record in records() {
            dns.remove(text(&record["name"]));
        }
        assert_eq!(read(&app, &verify).await["verified"], false);
        app.advance(HOUR).await;
        assert_never_started(&app, &campaign, "pending.example is not verified").await;
        for (what, body) in [("/test", json!({"email": "ann@example.com"})), ("/send", json!({}))] {
            let copy = act(&app, &campaign, "/duplicate").await.assert_status(201).json();
            let refused = app.post(&path(&copy, what)).json(&body).send().await;
            refused.assert_error(403, "INTERNAL_SERVER_ERROR");
        }
        assert!(server.attempts().is_empty());
    }

    async fn mails_whose_domain_is_gone_fail_and_can_be_sent_when_it_is_back(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_SENDING_PER_SECOND", "1").start().await;
        contacts(&app, "a", 12).await;
        let campaign = draft(&app, &json!({})).await;
        send(&app, &campaign).await;
        sent(&app, &campaign, 1).await;
        app.tamper("delete from domains").await;
        app.tamper("delete from domain_names").await;
        let ledger = settled(&app, &campaign).await;
        let lost = failed(&ledger, "sender", 12);
        assert!(lost > 0, "{ledger}");
        let entry = &entries(&app, &campaign, "state=FAILED&reason=sender").await[0];
        assert!(text(&entry["error"]).contains("acme.test was removed"), "{entry}");

        let retry = async || app.post(&path(&campaign, "/retry")).json(&json!({"reason": "sender"})).send().await;
        retry().await.assert_error(403, "INTERNAL_SERVER_ERROR");
        app.post("/domains").json(&json!({"domain": app.domain()})).send().await.assert_status(201);
        assert_eq!(retry().await.assert_status(200).json()["requeued"], lost);
        assert_eq!(settled(&app, &campaign).await["equation"]["accepted"], 12);
    }

    async fn a_mail_whose_content_is_gone_fails_at_once(engine: Engine) {
        let app = App::builder(engine)
            .env("MAILWRIGHT_SENDING_PER_SECOND", "2")
            // a mail that had to wait for the end of a claim would wait for minutes
            .env("MAILWRIGHT_DELIVERY_LEASE_MS", "600000");
        let mut app = app.start().await;
        contacts(&app, "a", 12).await;
        let campaign = draft(&app, &json!({})).await;
        send(&app, &campaign).await;
        frozen(&app, &campaign).await;
        sent(&app, &campaign, 1).await;
        act(&app, &campaign, "/pause").await.assert_status(200);
        assert!(app.stop().await.success());
        app.tamper("delete from contents").await;
        app.restart().await;
        act(&app, &campaign, "/resume").await.assert_status(200);
        let ledger = settled(&app, &campaign).await;
        assert!(failed(&ledger, "unrenderable", 12) > 0, "{ledger}");
        let entry = &entries(&app, &campaign, "state=FAILED&reason=unrenderable").await[0];
        assert_eq!((&entry["status"], &entry["inDoubt"]), (&json!("FAILED"), &json!(false)));
        assert!(text(&entry["error"]).contains("content"), "{entry}");
    }

    async fn a_transactional_mail_whose_content_cannot_be_read_fails_at_once(engine: Engine) {
        let open = Arc::new(AtomicBool::new(false));
        let is_open = Arc::clone(&open);
        let server = ScriptedServer::start(move |_, _| {
            if is_open.load(Ordering::Relaxed) { Answer::Accept } else { Answer::RefuseRcpt(451, "4.7.1 later") }
        })
        .await;
        let app = App::builder(engine).smtp(server.port).env("MAILWRIGHT_DELIVERY_LEASE_MS", "600000");
        let mut app = app.env("MAILWRIGHT_DELIVERY_RETRY_MAX_MS", "200").start().await;
        let id = app.send_to("ann@example.com").await;
        app.eventually("it is tried", async || (!server.attempts().is_empty()).then_some(())).await;
        assert!(app.stop().await.success());
        app.tamper(match engine {
            Engine::Sqlite => "update contents set body = cast(x'ff' as text)",
            Engine::Postgres => "update contents set attachments = '[{\"hash\": \"00\"}]'",
        })
        .await;
        open.store(true, Ordering::Relaxed);
        app.restart().await;
        let mail = app.email_in(&id, &["FAILED"]).await;
        assert!(text(&mail["error"]).contains("content"), "{mail}");
        assert!(server.received().is_empty());
    }
}
