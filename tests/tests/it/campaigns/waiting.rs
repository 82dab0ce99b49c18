//! Campaigns that wait, for a pause to end or for a mail that is tried again later, are in nobody's way.

use super::{act, contacts, draft, get, in_status, path, send, settled};
use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, Value, both_engines, json};
use mailwright_tests::{
    as_project, begin, campaign_by_event, create_contact, make_events_endless, make_events_readable,
};
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

    async fn those_of_a_project_take_turns(engine: Engine) {
        let server = ScriptedServer::start(|_, _| Answer::Accept).await;
        let app = App::builder(engine).smtp(server.port).env("MAILWRIGHT_SENDING_PER_SECOND", "2").start().await;
        contacts(&app, "a", 20).await;
        for name in ["First", "Second", "Third"] {
            let campaign = draft(&app, &json!({"name": name, "subject": name})).await;
            send(&app, &campaign).await;
        }
        app.eventually("a dozen mails left", async || (server.received().len() >= 12).then_some(())).await;
        for name in ["First", "Second", "Third"] {
            let line = format!("Subject: {name}\r\n");
            let is_of = |data: &[u8]| String::from_utf8_lossy(data).contains(&line);
            let left = server.received().iter().filter(|mail| is_of(&mail.data)).count();
            assert!(left >= 2, "{left} mails of the campaign {name}");
        }
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

    async fn one_whose_audience_is_looked_up_for_long_holds_up_no_other_project(engine: Engine) {
        let app = App::builder(engine)
            .env("MAILWRIGHT_DATABASE_SLOW_READ_MS", "600000")
            // as many as in the default
            .env("MAILWRIGHT_DATABASE_SLOW_READS", "3")
            .env("MAILWRIGHT_DATABASE_CONNECTIONS", "6")
            .start()
            .await;
        create_contact(&app, "fine@example.com", true, json!({"number": 2})).await;
        let other = app.bootstrap("Other", "other.example").await;
        let slow = campaign_by_event(&app, &other, "Slow").await;
        make_events_endless(&app).await;
        begin(&app, &other, &slow).await;
        others_go_through(&app).await;
        let everybody = draft(&app, &json!({})).await;
        send(&app, &everybody).await;
        in_status(&app, &everybody, "SENT").await;
    }

    async fn one_whose_audience_cannot_be_looked_up_in_time_says_so(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_DATABASE_SLOW_READ_MS", "700").start().await;
        let one = app.bootstrap("One", "one.example").await;
        let (sent, cancelled) =
            (campaign_by_event(&app, &one, "Sent").await, campaign_by_event(&app, &one, "Cancelled").await);
        let get = async |path: &str| as_project(&app, &one, "GET", path).send().await.assert_status(200).json();
        make_events_endless(&app).await;
        for campaign in [&sent, &cancelled] {
            begin(&app, &one, campaign).await;
        }
        for campaign in [&sent, &cancelled] {
            let why = "the campaign says why it does not go on";
            app.eventually_within(Duration::from_mins(1), why, async || {
                let campaign = get(campaign).await;
                assert_eq!(campaign["status"], "SENDING", "{campaign}");
                campaign["note"].as_str().is_some_and(|note| note.contains("could not be looked up")).then_some(())
            })
            .await;
        }
        let cancel = format!("{cancelled}/cancel");
        as_project(&app, &one, "POST", &cancel).send().await.assert_status(200);
        assert!(get(&cancelled).await["note"].is_null(), "it does not go on for another reason");
        make_events_readable(&app).await;
        app.eventually_within(Duration::from_mins(1), "the campaign is sent", async || {
            let campaign = get(&sent).await;
            (campaign["status"] == "SENT").then(|| assert!(campaign["note"].is_null(), "{campaign}"))
        })
        .await;
    }
}
