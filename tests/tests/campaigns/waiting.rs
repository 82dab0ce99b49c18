//! Campaigns that wait, for a pause to end or for a mail that is tried again later, are in nobody's way.

use super::{act, draft, get, in_status, path, send, settled};
use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, Value, both_engines, json};
use mailwright_tests::create_contact;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, UNIX_EPOCH};

/// More than are looked at together.
const MANY: usize = 105;

/// A campaign to the contacts with this number.
async fn to_number(app: &App, name: &str, number: usize) -> Value {
    let tree = json!({"logic": "AND", "groups": [
        {"filters": [{"field": "data.number", "operator": "equals", "value": number}]}]});
    draft(app, &json!({"name": name, "audienceType": "FILTERED", "audienceCondition": tree})).await
}

/// Sends a campaign now and another one in a second; both go through.
async fn others_go_through(app: &App) {
    let scheduled = to_number(app, "Scheduled", 2).await;
    let at = (UNIX_EPOCH.elapsed().expect("a clock after 1970") + Duration::from_secs(1)).as_millis() as u64;
    let body = json!({"scheduledFor": at});
    app.post(&path(&scheduled, "/send")).json(&body).send().await.assert_status(200);
    let now = to_number(app, "Now", 2).await;
    send(app, &now).await;
    for campaign in [now, scheduled] {
        let sent = in_status(app, &campaign, "SENT").await;
        assert_eq!(sent["sentCount"], 1, "{sent}");
    }
}

both_engines! {
    async fn many_that_wait_do_not_delay_the_others(engine: Engine) {
        let server = ScriptedServer::start(|to, _| match to {
            "full@example.com" => Answer::RefuseRcpt(451, "4.2.2 mailbox full"),
            _ => Answer::Accept,
        })
        .await;
        let app = App::builder(engine)
            .smtp(server.port)
            .env("MAILWRIGHT_DELIVERY_RETRY_BASE_MS", "3600000")
            .env("MAILWRIGHT_DELIVERY_RETRY_MAX_MS", "3600000")
            .start()
            .await;
        create_contact(&app, "full@example.com", true, json!({"number": 1})).await;
        create_contact(&app, "fine@example.com", true, json!({"number": 2})).await;
        let mut waiting = Vec::new();
        for number in 0..MANY {
            let campaign = to_number(&app, &format!("Waiting {number}"), 1).await;
            send(&app, &campaign).await;
            waiting.push(campaign);
        }
        app.eventually_within(Duration::from_mins(1), "each has a mail that is tried again later", async || {
            (server.attempts_for("full@example.com").len() == MANY).then_some(())
        })
        .await;
        others_go_through(&app).await;

        for campaign in &waiting {
            assert_eq!(get(&app, campaign).await["status"], "SENDING");
            act(&app, campaign, "/pause").await.assert_status(200);
        }
        others_go_through(&app).await;

        // one that waits is looked at when something is done with it
        act(&app, &waiting[0], "/resume").await.assert_status(200);
        act(&app, &waiting[0], "/cancel").await.assert_status(200);
        act(&app, &waiting[1], "/cancel").await.assert_status(200);
        for cancelled in &waiting[..2] {
            let ledger = settled(&app, cancelled).await;
            assert_eq!(ledger["equation"]["skipped"]["cancelled"], 1, "{ledger}");
        }
    }

    async fn one_that_waits_ends_when_its_last_mail_is_settled(engine: Engine) {
        let is_full = Arc::new(AtomicBool::new(true));
        let full = Arc::clone(&is_full);
        let server = ScriptedServer::start(move |_, _| {
            if full.load(Ordering::Relaxed) { Answer::RefuseRcpt(451, "4.2.2 mailbox full") } else { Answer::Accept }
        })
        .await;
        let mut app = App::builder(engine).smtp(server.port).start().await;
        create_contact(&app, "full@example.com", true, json!({"number": 1})).await;
        let retried = to_number(&app, "Retried", 1).await;
        send(&app, &retried).await;
        app.eventually("it waits", async || (server.attempts().len() >= 3).then_some(())).await;
        is_full.store(false, Ordering::Relaxed);
        in_status(&app, &retried, "SENT").await;

        // by the removal of its contact, and over the end of the process
        is_full.store(true, Ordering::Relaxed);
        let emptied = to_number(&app, "Emptied", 1).await;
        send(&app, &emptied).await;
        app.eventually("it waits", async || {
            let mails = app.list_all(&path(&emptied, "/ledger?state=WAITING")).await;
            mails.first().is_some_and(|mail| mail["attemptCount"].as_u64() > Some(1)).then_some(())
        })
        .await;
        app.kill();
        app.restart().await;
        let contacts = app.list_all("/contacts").await;
        app.delete(&format!("/contacts/{}", contacts[0]["id"].as_str().expect("an id"))).send().await;
        let sent = in_status(&app, &emptied, "SENT").await;
        assert_eq!(sent["sentCount"], 0, "{sent}");
    }

    async fn one_that_cannot_be_read_costs_only_itself(engine: Engine) {
        let app = App::start(engine).await;
        create_contact(&app, "fine@example.com", true, json!({"number": 2})).await;
        let bad = to_number(&app, "Bad", 2).await;
        let at = (UNIX_EPOCH.elapsed().expect("a clock after 1970") + Duration::from_secs(1)).as_millis() as u64;
        app.post(&path(&bad, "/send")).json(&json!({"scheduledFor": at})).send().await.assert_status(200);
        app.tamper("update campaigns set audience_type = 'TELEPATHY' where name = 'Bad'").await;
        app.eventually("the log names it", async || {
            let named = |line: &str| line.contains("TELEPATHY") && line.contains(bad["id"].as_str().unwrap_or_default());
            app.log().lines().any(named).then_some(())
        })
        .await;
        others_go_through(&app).await;
    }
}
