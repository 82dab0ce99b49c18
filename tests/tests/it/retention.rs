//! How long things are kept: what is removed, what survives it, and what is never removed.

use std::time::Duration;

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, AppBuilder, Engine, OWNER, Project, Response, both_engines};
use mailwright_tests::browser::Browser;
use mailwright_tests::workflow::Flow;
use mailwright_tests::{
    as_project, contact_by_email, create_contact, issues, items, mail_header, read, text, track_ok,
};
use serde_json::{Value, json};

const DAY: Duration = Duration::from_hours(24);

/// A service with short periods.
fn builder(engine: Engine) -> AppBuilder {
    App::builder(engine)
        .env("MAILWRIGHT_RETENTION_EVENTS_DAYS", "10")
        .env("MAILWRIGHT_RETENTION_CAPTURED_MAIL_DAYS", "10")
        .env("MAILWRIGHT_RETENTION_EXECUTIONS_DAYS", "10")
        .env("MAILWRIGHT_RETENTION_AUDIT_LOG_DAYS", "40")
        .env("MAILWRIGHT_RETENTION_MAILS_DAYS", "40")
}

/// How many rows a table has.
async fn count(app: &App, table: &str) -> usize {
    app.rows().await[table].len()
}

/// Waits, a day at a time, until a table is empty.
async fn until_empty(app: &App, table: &str) {
    app.eventually(&format!("nothing is left in {table}"), async || {
        app.advance(DAY).await;
        (count(app, table).await == 0).then_some(())
    })
    .await;
}

/// Asks for periods of the project's own.
async fn ask(app: &App, owner: &Browser, periods: &Value) -> Response {
    let path = format!("/users/@me/projects/{}", app.project_id());
    owner.request(app, "PATCH", &path).json(&json!({"retention": periods})).send().await
}

/// A campaign to everybody that is over. Returns its path.
async fn campaign_over(app: &App) -> String {
    let path = campaign(app).await;
    app.eventually("the campaign is over", async || {
        (!read(app, &path).await["finishedAt"].is_null()).then_some(())
    })
    .await;
    path
}

/// A campaign to everybody that begins. Returns its path.
async fn campaign(app: &App) -> String {
    let body = json!({
        "name": "News", "subject": "News", "body": "<p>News</p>", "from": app.from(), "audienceType": "ALL",
    });
    let made = app.post("/campaigns").json(&body).send().await.assert_status(201).json();
    let path = format!("/campaigns/{}", text(&made["data"]["id"]));
    app.post(&format!("{path}/send")).json(&json!({})).send().await.assert_status(200);
    path
}

/// The figures that must outlive the rows: of the analytics, the activity, a campaign and a workflow.
async fn figures(app: &App, days: &str, campaign: &str, flow: &Flow<'_>) -> Vec<Value> {
    let mut found = Vec::new();
    for path in [
        format!("/activity/stats?{days}"),
        format!("/analytics/top-events?{days}"),
        format!("/analytics/timeseries?{days}"),
        format!("{campaign}/stats"),
        format!("{campaign}/ledger?limit=1"),
        flow.path("/stats"),
    ] {
        let mut figures = read(app, &path).await;
        if let Some(ledger) = figures.as_object_mut().filter(|figures| figures.contains_key("equation")) {
            ledger.retain(|key, _| key == "equation");
        }
        found.push(figures);
    }
    found
}

both_engines! {
    async fn what_is_too_old_goes_and_what_was_counted_stays_counted(engine: Engine) {
        let app = builder(engine).start().await;
        create_contact(&app, "ann@example.com", true, json!({})).await;
        let flow = Flow::new(&app, "bought").await;
        flow.then("EXIT", json!({"reason": "done"})).await;
        flow.change(json!({"allowReentry": true})).await;
        flow.enable().await;
        let once = Flow::new(&app, "joined").await;
        once.then("EXIT", json!({"reason": "done"})).await;
        once.enable().await;
        let condition = json!({"logic": "AND", "groups": [{"filters": [
            {"field": "event.bought", "operator": "triggered"},
        ]}]});
        let segment = json!({"name": "Buyers", "condition": condition, "trackMembership": true});
        let segment = app.post("/segments").json(&segment).send().await.assert_status(201).json();
        let segment = format!("/segments/{}", text(&segment["id"]));
        track_ok(&app, json!({"email": "ann@example.com", "event": "bought"})).await;
        track_ok(&app, json!({"email": "ann@example.com", "event": "joined"})).await;
        flow.only("EXITED").await;
        once.only("EXITED").await;
        let email = app.send_to("ann@example.com").await;
        app.email_in(&email, &["SENT", "DELIVERED"]).await;
        let news = campaign_over(&app).await;
        let captured = app.mailbox_for("ann@example.com").await;
        let captured = captured.iter().find(|mail| mail["subject"] == "News").expect("the campaign's mail");
        let field = mail_header(captured, "List-Unsubscribe").to_owned();
        let unsubscribe = field.split_once('<').and_then(|(_, rest)| rest.split_once('>')).expect("an address").0;
        let unsubscribe = unsubscribe.strip_prefix(app.base_url()).expect("ours").to_owned();
        let of_segment = async || read(&app, &format!("{segment}/contacts")).await["total"].clone();
        app.eventually("the contact is in the segment", async || (of_segment().await == 1).then_some(())).await;
        let day = |after: i64| {
            let at = jiff::Timestamp::from_millisecond(app.now() + after * DAY.as_millis() as i64);
            at.expect("a time").to_string()
        };
        let days = format!("startDate={}&endDate={}", day(-2), day(2));
        let before = figures(&app, &days, &news, &flow).await;

        app.advance(9 * DAY).await;
        assert!(count(&app, "events").await > 2);
        assert_eq!((count(&app, "mailbox").await, count(&app, "workflow_executions").await), (2, 2));
        until_empty(&app, "events").await;
        until_empty(&app, "mailbox").await;
        app.eventually("one execution is left", async || {
            app.advance(DAY).await;
            (count(&app, "workflow_executions").await == 1).then_some(())
        })
        .await;
        assert_eq!((flow.executions().await.len(), once.executions().await.len()), (0, 1));
        app.eventually("the contact is not in the segment", async || (of_segment().await == 0).then_some(())).await;
        assert_eq!(count(&app, "emails").await, 2, "mails are kept for longer");
        assert!(read(&app, &format!("/emails/{email}")).await["id"] == email);

        until_empty(&app, "emails").await;
        app.get(&format!("/emails/{email}")).send().await.assert_status(404);
        let mails = read(&app, "/emails").await;
        assert_eq!((items(&mails["data"]).len(), &mails["total"]), (0, &json!(0)), "{mails}");
        until_empty(&app, "audit").await;
        assert_eq!(figures(&app, &days, &news, &flow).await, before);
        assert_eq!(read(&app, &format!("/projects/{}/setup-state", app.project_id())).await["hasSentEmail"], true);
        let click = app.request("POST", &unsubscribe);
        click.body("List-Unsubscribe=One-Click", "application/x-www-form-urlencoded").send().await.assert_status(200);
        let ann = contact_by_email(&app, "ann@example.com").await.expect("contacts have no period");
        assert_eq!(ann["subscribed"], false, "the link of a mail that is gone still works");

        // who was let in once is not let in again, and the name of the events can still be taken away
        track_ok(&app, json!({"email": "ann@example.com", "event": "joined"})).await;
        app.eventually("why is known", async || {
            (!app.rows().await["workflow_refusals"].is_empty()).then_some(())
        })
        .await;
        assert_eq!(once.executions().await.len(), 1);
        let delete = app.request("DELETE", "/events/bought").bearer(app.secret_key());
        delete.send().await.assert_status(200);
        let names = read(&app, "/events/names").await;
        assert!(!items(&names["eventNames"]).contains(&json!("bought")), "{names}");
    }

    async fn a_project_may_keep_things_for_a_shorter_time(engine: Engine) {
        let app = App::builder(engine)
            .env("MAILWRIGHT_RETENTION_EVENTS_DAYS", "30")
            .env("MAILWRIGHT_REQUESTS_SAMPLE_PERCENT", "100")
            .start()
            .await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let other = app.bootstrap("Other", "other.test").await;
        let shown = owner.request(&app, "GET", "/users/@me/projects").send().await.assert_status(200).json();
        let in_force = json!({
            "events": 30, "bodies": 30, "capturedMail": 30, "rawInbound": 30, "hits": 90, "requestLog": 30,
            "auditLog": 1095, "executions": 365, "mails": 1095,
        });
        assert_eq!((&shown[0]["retention"], &shown[0]["retentionInForce"]), (&Value::Null, &in_force));
        let changed = ask(&app, &owner, &json!({"events": 3, "mails": 3650})).await.assert_status(200).json();
        let mut own = in_force.clone();
        for value in own.as_object_mut().expect("an object").values_mut() {
            *value = Value::Null;
        }
        own["events"] = json!(3);
        own["mails"] = json!(3650);
        assert_eq!(changed["retention"], own);
        assert_eq!((&changed["retentionInForce"]["events"], &changed["retentionInForce"]["mails"]), (&json!(3), &json!(1095)));

        let track = async |project: &Project| {
            let body = json!({"email": "ann@example.com", "event": "seen"});
            as_project(&app, project, "POST", "/v1/track").json(&body).send().await.assert_status(200);
        };
        track_ok(&app, json!({"email": "ann@example.com", "event": "seen"})).await;
        track(&other).await;
        app.eventually("its events are gone", async || {
            app.advance(DAY).await;
            items(&read(&app, "/events").await["events"]).is_empty().then_some(())
        })
        .await;
        let seen = as_project(&app, &other, "GET", "/events?eventName=seen").send().await.assert_status(200).json();
        assert_eq!(items(&seen["events"]).len(), 1, "those of the other project stay");

        ask(&app, &owner, &json!({"requestLog": 2})).await.assert_status(200);
        app.eventually("requests of the last two days are left", async || {
            app.advance(DAY).await;
            let log = app.rows().await["request_log"].len();
            (log < 30).then_some(())
        })
        .await;
        let cleared = ask(&app, &owner, &Value::Null).await.assert_status(200).json();
        assert_eq!((&cleared["retention"], &cleared["retentionInForce"]), (&Value::Null, &in_force));
        let log = owner.request(&app, "GET", &format!("/projects/{}/audit", app.project_id())).send().await;
        let log = log.assert_status(200).text();
        assert!(log.contains("\"retention\":{\"events\":3,\"mails\":3650}"), "{log}");
    }

    async fn periods_that_cannot_be_are_refused(engine: Engine) {
        let app = App::start(engine).await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        for (wrong, field, code) in [
            (json!({"events": 0}), "retention.events", "too_small"),
            (json!({"bodies": 6}), "retention.bodies", "too_small"),
            (json!({"auditLog": 30}), "retention.auditLog", "too_small"),
            (json!({"mails": 30}), "retention.mails", "too_small"),
            (json!({"hits": 3651}), "retention.hits", "too_big"),
        ] {
            let found = issues(&ask(&app, &owner, &wrong).await.assert_status(422));
            assert_eq!(found, [(field.to_owned(), code.to_owned())], "{wrong}");
        }
        let both = ask(&app, &owner, &json!({"events": -1, "mails": 5})).await;
        assert_eq!(issues(&both).len(), 2, "every field is named");
        for wrong in [json!(7), json!({"events": 1.5}), json!({"events": "7"}), json!({"evnets": 7})] {
            ask(&app, &owner, &wrong).await.assert_status(422);
        }
        let least = json!({"events": 1, "bodies": 7, "auditLog": 31, "mails": 31, "hits": 3650});
        ask(&app, &owner, &least).await.assert_status(200);
    }

    async fn what_is_not_settled_stays(engine: Engine) {
        let server = ScriptedServer::start(|recipient, _| match recipient {
            "busy@example.com" => Answer::RefuseRcpt(451, "4.2.1 busy"),
            "lost@example.com" => Answer::DropAfterDot,
            _ => Answer::Accept,
        })
        .await;
        let app = builder(engine)
            .smtp(server.port)
            .env("MAILWRIGHT_DELIVERY_DEADLINE_HOURS", "87600")
            .env("MAILWRIGHT_DELIVERY_RETRY_MAX_MS", "3600000")
            .start()
            .await;
        for name in ["ann", "busy", "lost"] {
            create_contact(&app, &format!("{name}@example.com"), true, json!({})).await;
        }
        let settled = app.send_to("ann@example.com").await;
        let waits = app.send_to("busy@example.com").await;
        let in_doubt = app.send_to("lost@example.com").await;
        app.email_in(&settled, &["SENT", "DELIVERED"]).await;
        app.email_in(&in_doubt, &["IN_DOUBT"]).await;
        // one recipient of a campaign waits, so the campaign is not over
        let news = campaign(&app).await;
        app.eventually("some have it", async || {
            (read(&app, &format!("{news}/stats")).await["sentCount"].as_i64() >= Some(1)).then_some(())
        })
        .await;
        app.eventually("the settled mail is gone", async || {
            app.advance(5 * DAY).await;
            let answer = app.get(&format!("/emails/{settled}")).send().await;
            (answer.status == 404).then_some(())
        })
        .await;
        for (id, status) in [(&waits, ["PENDING", "SENDING"]), (&in_doubt, ["IN_DOUBT", "IN_DOUBT"])] {
            app.email_in(id, &status).await;
        }
        assert_eq!(count(&app, "emails").await, 5, "those two, and all of the campaign");
    }

    async fn a_cap_goes_by_mails_that_would_be_too_old(engine: Engine) {
        let app = builder(engine).start().await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let cap = json!({"marketingCap": {"emails": 1, "hours": 24 * 60}});
        let path = format!("/users/@me/projects/{}", app.project_id());
        owner.request(&app, "PATCH", &path).json(&cap).send().await.assert_status(200);
        create_contact(&app, "ann@example.com", true, json!({})).await;
        campaign_over(&app).await;
        app.advance(41 * DAY).await;
        app.advance(DAY).await;
        assert_eq!(count(&app, "emails").await, 1);
        let second = campaign_over(&app).await;
        let equation = read(&app, &format!("{second}/ledger")).await["equation"].clone();
        assert_eq!(equation["skipped"], json!({"capped": 1}), "{equation}");
        app.eventually("it goes when the cap needs it no more", async || {
            app.advance(5 * DAY).await;
            (count(&app, "emails").await == 0).then_some(())
        })
        .await;
    }

    async fn the_doctor_says_what_the_tables_weigh_and_how_fast_they_grow(engine: Engine) {
        let app = App::start(engine).await;
        track_ok(&app, json!({"email": "ann@example.com", "event": "seen"})).await;
        let told = app.run(&["doctor"]).await;
        assert!(told.contains("events ") && told.contains("size: ") && told.contains("known when"), "{told}");
        app.advance(DAY).await;
        app.eventually("the size of today is noted", async || {
            (count(&app, "database_sizes").await > 0).then_some(())
        })
        .await;
        app.tamper("update database_sizes set day = day - 10, bytes = 0").await;
        let told = app.run(&["doctor"]).await;
        let growth = told.lines().find(|line| line.contains("growth: ")).expect("a line");
        assert!(growth.contains(" a day over the last 1"), "{growth}");
        let knows_the_disk = growth.contains("are free on the disk");
        assert_eq!(knows_the_disk, engine == Engine::Sqlite, "{growth}");
    }

    async fn a_clock_that_leaps_ahead_removes_a_month_at_most(engine: Engine) {
        let mut app = App::builder(engine).env("MAILWRIGHT_RETENTION_EVENTS_DAYS", "100").start().await;
        track_ok(&app, json!({"email": "ann@example.com", "event": "seen"})).await;
        // it has seen the time of now
        app.advance(DAY).await;
        app.stop().await;
        app.advance(400 * DAY).await;
        app.restart().await;
        app.advance(Duration::from_hours(2)).await;
        assert!(app.log().contains("the clock is far ahead"), "{}", app.log());
        assert!(!items(&read(&app, "/events?eventName=seen").await["events"]).is_empty());
        // time that passes counts, whatever the clock says
        app.eventually("it is too old by now", async || {
            app.advance(DAY).await;
            items(&read(&app, "/events?eventName=seen").await["events"]).is_empty().then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn settings_that_cannot_be_are_refused() {
    let app = App::start(Engine::Sqlite).await;
    for (variable, wrong, said) in [
        ("MAILWRIGHT_RETENTION_MAILS_DAYS", "30", "must be 0 or from 31 to 3650, not 30"),
        ("MAILWRIGHT_RETENTION_BODIES_DAYS", "6", "must be 0 or from 7 to 3650, not 6"),
        ("MAILWRIGHT_RETENTION_EVENTS_DAYS", "3651", "must be from 0 to 3650, not 3651"),
    ] {
        let failed = app.try_run_with(&["doctor"], &[(variable, wrong)]).await;
        let text =
            String::from_utf8_lossy(&failed.stdout).into_owned() + &String::from_utf8_lossy(&failed.stderr);
        assert!(text.contains(variable) && text.contains(said), "{text}");
    }
}
