//! Sending, scheduling, pausing and cancelling.

use super::{act, contacts, draft, entries, frozen, get, in_status, path, send, settled};
use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, Response, Value, both_engines, json};
use mailwright_tests::{assert_only_keys, assert_timestamp, create_contact, read, text};
use std::time::Duration;

const HOUR: Duration = Duration::from_hours(1);

/// Milliseconds since 1970, `ahead` from now.
fn millis(app: &App, ahead: Duration) -> u64 {
    app.now() as u64 + ahead.as_millis() as u64
}

async fn schedule(app: &App, campaign: &Value, at: &Value) -> Response {
    app.post(&path(campaign, "/send")).json(&json!({"scheduledFor": at})).send().await
}

/// Lets the hour pass in which another campaign is due as well, which starts.
async fn starts_in_an_hour(app: &App) {
    let other = draft(app, &json!({"name": "Other"})).await;
    schedule(app, &other, &json!(millis(app, HOUR))).await.assert_status(200);
    app.advance(HOUR).await;
    in_status(app, &other, "SENT").await;
}

/// A server that sends a mail a second, so that a campaign stays under way.
async fn slow(engine: Engine) -> App {
    App::builder(engine).env("MAILWRIGHT_SENDING_PER_SECOND", "1").start().await
}

both_engines! {
    async fn a_campaign_is_sent_to_everybody_and_accounted_for(engine: Engine) {
        let app = App::start(engine).await;
        contacts(&app, "a", 7).await;
        let campaign = draft(&app, &json!({})).await;
        let answer = send(&app, &campaign).await;
        assert_only_keys(&answer, &["success", "data", "message"]);
        assert_eq!(answer["success"], true);
        let data = &answer["data"];
        assert_eq!((&data["id"], &data["name"]), (&campaign["id"], &campaign["name"]));
        assert_eq!((&data["status"], &data["scheduledFor"]), (&json!("SENDING"), &Value::Null));
        assert_timestamp(&data["sentAt"]);

        let ledger = settled(&app, &campaign).await;
        assert_eq!(ledger["equation"]["accepted"], 7, "{ledger}");
        let sent = get(&app, &campaign).await;
        assert_eq!((&sent["status"], &sent["sentAt"]), (&json!("SENT"), &data["sentAt"]));
        assert_eq!((&sent["totalRecipients"], &sent["sentCount"]), (&json!(7), &json!(7)));
        for number in 0..7 {
            assert_eq!(app.mailbox_for(&format!("a{number}@example.com")).await.len(), 1);
        }
        let emails = app.list_all("/emails").await;
        assert_eq!(emails.len(), 7);
        assert!(emails.iter().all(|email| email["campaignId"] == campaign["id"]), "{emails:?}");
        for again in ["/send", "/cancel", "/pause", "/resume"] {
            act(&app, &campaign, again).await.assert_error(400, "BAD_REQUEST");
        }
    }

    async fn without_recipients_nothing_is_sent(engine: Engine) {
        let app = App::start(engine).await;
        let campaign = draft(&app, &json!({})).await;
        act(&app, &campaign, "/send").await.assert_error(400, "BAD_REQUEST");
        create_contact(&app, "ann@example.com", false, json!({})).await;
        act(&app, &campaign, "/send").await.assert_error(400, "BAD_REQUEST");
        assert_eq!(get(&app, &campaign).await["status"], "DRAFT");
        assert!(app.list_all("/emails").await.is_empty());
    }

    async fn a_schedule_is_a_date_in_the_future(engine: Engine) {
        let app = App::start(engine).await;
        contacts(&app, "a", 1).await;
        let campaign = draft(&app, &json!({})).await;
        for wrong in [json!("soon"), json!("2020-01-01T00:00:00Z"), json!({}), json!([1]), json!(true), json!(5),
            json!(millis(&app, Duration::ZERO)), json!(""), json!(" "), json!(false), json!(0), json!("0"), json!("1"),
            json!(253_402_300_800_000_i64), json!(8.64e15), json!(1e18), json!(1e300), json!(u64::MAX),
            json!("+010000-01-01")] {
            schedule(&app, &campaign, &wrong).await.assert_error(400, "BAD_REQUEST");
        }
        // none of them sent anything: what leaves cannot be called back
        assert_eq!(get(&app, &campaign).await["status"], "DRAFT");
        assert!(app.list_all("/emails").await.is_empty());
        for (given, shown) in [
            (json!("2099-01-31"), "2099-01-31T00:00:00.000Z"),
            (json!("2099-01-31T12:00:00+02:00"), "2099-01-31T10:00:00.000Z"),
            (json!(4_073_500_800_000_i64), "2099-01-31T00:00:00.000Z"),
            (json!("Jan 31 2099 09:00:00 GMT"), "2099-01-31T09:00:00.000Z"),
            (json!("Sat Jan 31 2099 09:00:00 GMT+0200 (Central European Time)"), "2099-01-31T07:00:00.000Z"),
            (json!("2099/01/31 09:00"), "2099-01-31T09:00:00.000Z"),
            (json!("2099-02"), "2099-02-01T00:00:00.000Z"),
            (json!("2099"), "2099-01-01T00:00:00.000Z"),
            (json!("2099-01-31T24:00:00Z"), "2099-02-01T00:00:00.000Z"),
            (json!("1/31/2099, 9:00:00 PM"), "2099-01-31T21:00:00.000Z"),
            (json!(253_402_300_799_999_i64), "9999-12-31T23:59:59.999Z"),
        ] {
            let answer = schedule(&app, &campaign, &given).await.assert_status(200).json();
            let data = &answer["data"];
            assert_eq!((&data["status"], &data["scheduledFor"]), (&json!("SCHEDULED"), &json!(shown)), "{given}");
            assert!(text(&answer["message"]).contains(shown), "{answer}");
        }
        assert_eq!(get(&app, &campaign).await["sentAt"], Value::Null);
        // null means now, as nothing does, and the time that was set stays visible
        let again = draft(&app, &json!({})).await;
        let answer = schedule(&app, &again, &Value::Null).await.assert_status(200).json();
        assert_eq!(answer["data"]["status"], "SENDING");
        let now = send(&app, &campaign).await;
        assert_eq!(now["data"]["status"], "SENDING");
        assert_eq!(now["data"]["scheduledFor"], "9999-12-31T23:59:59.999Z");
    }

    async fn a_misspelt_schedule_sends_nothing(engine: Engine) {
        let app = App::start(engine).await;
        contacts(&app, "a", 1).await;
        // nothing is scheduled by creating a campaign
        let campaign = draft(&app, &json!({"scheduledFor": "2099-01-31"})).await;
        assert_eq!((&campaign["status"], &campaign["scheduledFor"]), (&json!("DRAFT"), &Value::Null));
        let at = "2099-01-31T09:00:00Z";
        for (body, field, hint) in [
            (json!({"scheduleFor": at}), "scheduleFor", "Did you mean scheduledFor?"),
            (json!({"scheduled_for": at}), "scheduled_for", "Did you mean scheduledFor?"),
            (json!({"ScheduledFor": at}), "ScheduledFor", "Did you mean scheduledFor?"),
            (json!({"data": {"scheduledFor": at}}), "data", "Known fields: scheduledFor."),
            (json!({"scheduledFor": at, "sendAt": at}), "sendAt", "Known fields: scheduledFor."),
        ] {
            let answer = app.post(&path(&campaign, "/send")).json(&body).send().await;
            let error = answer.assert_error(422, "VALIDATION_ERROR");
            assert_eq!(error["errors"][0]["field"], field, "{error}");
            assert_eq!(error["errors"][0]["message"], format!("There is no field {field}. {hint}"));
        }
        let by_query = path(&campaign, "/send?scheduledFor=2099-01-31");
        let error = app.post(&by_query).send().await.assert_error(422, "VALIDATION_ERROR");
        assert_eq!(error["errors"][0]["field"], "scheduledFor", "{error}");
        assert_eq!(get(&app, &campaign).await["status"], "DRAFT");
        assert!(app.list_all("/emails").await.is_empty());
        schedule(&app, &campaign, &json!(at)).await.assert_status(200);
    }

    async fn a_schedule_that_may_not_be_late_starts(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_CAMPAIGNS_LATEST_START_HOURS", "0").start().await;
        contacts(&app, "a", 1).await;
        let campaign = draft(&app, &json!({})).await;
        let at = millis(&app, Duration::from_secs(1));
        schedule(&app, &campaign, &json!(at)).await.assert_status(200);
        let sent = in_status(&app, &campaign, "SENT").await;
        assert_eq!((&sent["sentCount"], &sent["note"]), (&json!(1), &Value::Null), "{sent}");
    }

    async fn a_schedule_fires_to_the_second_at_the_time_set_last(engine: Engine) {
        let app = App::start(engine).await;
        contacts(&app, "a", 2).await;
        let campaign = draft(&app, &json!({})).await;
        schedule(&app, &campaign, &json!("2099-01-31")).await.assert_status(200);
        let at = millis(&app, HOUR);
        let scheduled = schedule(&app, &campaign, &json!(at)).await.assert_status(200).json();
        app.advance(Duration::from_secs(3_580)).await;
        assert_eq!(get(&app, &campaign).await["status"], "SCHEDULED");
        app.advance(Duration::from_secs(20)).await;
        let sent = in_status(&app, &campaign, "SENT").await;
        let (set, began) = (text(&scheduled["data"]["scheduledFor"]), text(&sent["sentAt"]));
        assert!(began >= set, "{began} is not before {set}");
        assert_eq!(sent["sentCount"], 2);

        // a later time set last
        let campaign = draft(&app, &json!({})).await;
        schedule(&app, &campaign, &json!(millis(&app, HOUR))).await.assert_status(200);
        schedule(&app, &campaign, &json!("2099-01-31")).await.assert_status(200);
        starts_in_an_hour(&app).await;
        assert_eq!(get(&app, &campaign).await["status"], "SCHEDULED");
    }

    async fn a_schedule_with_an_empty_audience_ends_at_once(engine: Engine) {
        let app = App::start(engine).await;
        let campaign = draft(&app, &json!({})).await;
        schedule(&app, &campaign, &json!(millis(&app, HOUR))).await.assert_status(200);
        app.advance(HOUR).await;
        let sent = in_status(&app, &campaign, "SENT").await;
        assert_eq!((&sent["totalRecipients"], &sent["sentCount"]), (&json!(0), &json!(0)));
        let ledger = settled(&app, &campaign).await;
        assert_eq!(ledger["equation"]["audience"], 0);
    }

    async fn a_scheduled_campaign_can_be_edited_but_not_its_audience(engine: Engine) {
        let app = App::start(engine).await;
        contacts(&app, "a", 2).await;
        let campaign = draft(&app, &json!({})).await;
        schedule(&app, &campaign, &json!("2099-01-31")).await.assert_status(200);
        let put = async |change: Value| app.put(&path(&campaign, "")).json(&change).send().await;
        let changed = put(json!({"subject": "Changed", "audienceType": "ALL"})).await.assert_status(200).json();
        assert_eq!((&changed["subject"], &changed["status"]), (&json!("Changed"), &json!("SCHEDULED")));
        let tree = json!({"logic": "AND", "groups": [
            {"filters": [{"field": "data.number", "operator": "equals", "value": 1}]}]});
        put(json!({"audienceType": "FILTERED", "audienceCondition": tree})).await.assert_error(400, "BAD_REQUEST");
        app.delete(&path(&campaign, "")).send().await.assert_error(409, "CONFLICT");
        send(&app, &campaign).await;
        settled(&app, &campaign).await;
        let mail = app.mailbox_for("a0@example.com").await;
        assert_eq!(mail[0]["subject"], "Changed");
    }

    async fn a_sender_that_may_no_longer_send_cancels_the_schedule(engine: Engine) {
        let app = App::start(engine).await;
        contacts(&app, "a", 1).await;
        let campaign = draft(&app, &json!({})).await;
        schedule(&app, &campaign, &json!(millis(&app, HOUR))).await.assert_status(200);
        let drafted = draft(&app, &json!({})).await;
        // a domain that campaigns need cannot be removed, so that this cannot happen behind the sender's back
        let domains = read(&app, &format!("/domains/project/{}", app.project_id())).await;
        let domain = domains.as_array().map_or(&domains["data"][0], |all| &all[0]);
        let removed = app.delete(&format!("/domains/{}", text(&domain["id"]))).send().await;
        removed.assert_error(409, "CONFLICT");
        app.advance(HOUR).await;
        in_status(&app, &campaign, "SENT").await;
        assert_eq!(get(&app, &drafted).await["status"], "DRAFT");
    }

    async fn cancelling_a_schedule_leaves_a_draft(engine: Engine) {
        let app = App::start(engine).await;
        contacts(&app, "a", 1).await;
        let campaign = draft(&app, &json!({})).await;
        act(&app, &campaign, "/cancel").await.assert_error(400, "BAD_REQUEST");
        schedule(&app, &campaign, &json!(millis(&app, HOUR))).await.assert_status(200);
        let cancelled = act(&app, &campaign, "/cancel").await.assert_status(200).json();
        assert_eq!((&cancelled["status"], &cancelled["scheduledFor"]), (&json!("DRAFT"), &Value::Null));
        starts_in_an_hour(&app).await;
        assert_eq!(get(&app, &campaign).await["status"], "DRAFT", "the old time means nothing any more");
        send(&app, &campaign).await;
        settled(&app, &campaign).await;
    }

    async fn cancelling_skips_what_waits_and_keeps_what_was_sent(engine: Engine) {
        let app = slow(engine).await;
        contacts(&app, "a", 30).await;
        let campaign = draft(&app, &json!({})).await;
        send(&app, &campaign).await;
        app.eventually("a mail was sent", async || {
            (get(&app, &campaign).await["sentCount"].as_i64() > Some(0)).then_some(())
        })
        .await;
        app.delete(&path(&campaign, "")).send().await.assert_error(409, "CONFLICT");
        let cancelled = act(&app, &campaign, "/cancel").await.assert_status(200).json();
        assert_eq!(cancelled["status"], "CANCELLED");
        let ledger = settled(&app, &campaign).await;
        let equation = &ledger["equation"];
        assert_eq!(equation["audience"], 30, "{ledger}");
        let skipped = equation["skipped"]["cancelled"].as_i64().expect("cancelled mails");
        assert_eq!(equation["accepted"].as_i64().expect("sent mails") + skipped, 30, "{ledger}");
        assert!(skipped > 20, "{ledger}");
        let received = app.list_all("/mailbox").await.len();
        assert_eq!(equation["accepted"], received, "{ledger}");
        assert_eq!(entries(&app, &campaign, "state=SKIPPED&reason=cancelled").await.len() as i64, skipped);
        for again in ["/cancel", "/send", "/pause", "/resume", "/retry"] {
            act(&app, &campaign, again).await.assert_error(400, "BAD_REQUEST");
        }
        app.put(&path(&campaign, "")).json(&json!({"name": "x"})).send().await.assert_error(400, "BAD_REQUEST");
        app.delete(&path(&campaign, "")).send().await.assert_status(204);
    }

    async fn a_paused_campaign_waits_and_stands_in_nobodys_way(engine: Engine) {
        let app = App::builder(engine)
            .env("MAILWRIGHT_SENDING_PER_SECOND", "4")
            .env("MAILWRIGHT_DELIVERY_CONNECTIONS", "1")
            .start()
            .await;
        contacts(&app, "a", 16).await;
        let campaign = draft(&app, &json!({})).await;
        act(&app, &campaign, "/pause").await.assert_error(400, "BAD_REQUEST");
        send(&app, &campaign).await;
        let paused = act(&app, &campaign, "/pause").await.assert_status(200).json();
        assert_eq!(paused["status"], "SENDING");
        assert_timestamp(&paused["pausedAt"]);
        act(&app, &campaign, "/pause").await.assert_error(400, "BAD_REQUEST");
        let sent_while_others_are = async || {
            app.advance(HOUR).await;
            app.email_in(&app.send_to("reset@example.com").await, &["SENT"]).await;
            get(&app, &campaign).await["sentCount"].clone()
        };
        let before = app
            .eventually("what was claimed before is finished", async || {
                let before = sent_while_others_are().await;
                (sent_while_others_are().await == before).then_some(before)
            })
            .await;
        assert_eq!(sent_while_others_are().await, before, "nothing is sent while it is paused");
        assert!(before.as_i64() < Some(16), "{before}");

        // other campaigns pass as well as other mail
        let tree = json!({"logic": "AND", "groups": [
            {"filters": [{"field": "data.number", "operator": "lessThan", "value": 2}]}]});
        let change = json!({"audienceType": "FILTERED", "audienceCondition": tree, "name": "Other"});
        let other = draft(&app, &change).await;
        send(&app, &other).await;
        assert_eq!(settled(&app, &other).await["equation"]["accepted"], 2);

        act(&app, &campaign, "/resume").await.assert_status(200);
        act(&app, &campaign, "/resume").await.assert_error(400, "BAD_REQUEST");
        assert_eq!(settled(&app, &campaign).await["equation"]["accepted"], 16);
    }

    async fn a_paused_campaign_can_be_cancelled(engine: Engine) {
        let app = slow(engine).await;
        contacts(&app, "a", 12).await;
        let campaign = draft(&app, &json!({})).await;
        send(&app, &campaign).await;
        act(&app, &campaign, "/pause").await.assert_status(200);
        frozen(&app, &campaign).await;
        act(&app, &campaign, "/cancel").await.assert_status(200);
        let ledger = settled(&app, &campaign).await;
        assert!(ledger["equation"]["skipped"]["cancelled"].as_i64() >= Some(9), "{ledger}");
    }

    async fn mail_on_the_wire_ends_as_it_ends_when_a_campaign_is_cancelled(engine: Engine) {
        let server = ScriptedServer::start(|to, _| match to {
            "a0@example.com" => Answer::Delay(Duration::from_secs(2)),
            "a1@example.com" => Answer::RefuseRcpt(451, "4.7.1 later"),
            _ => Answer::Accept,
        })
        .await;
        let app = App::builder(engine).smtp(server.port).start().await;
        contacts(&app, "a", 2).await;
        let campaign = draft(&app, &json!({})).await;
        send(&app, &campaign).await;
        app.eventually("both are tried", async || {
            let tried = |to: &str| !server.attempts_for(to).is_empty();
            (tried("a0@example.com") && tried("a1@example.com")).then_some(())
        })
        .await;
        app.eventually("its content is on its way", async || {
            let page = read(&app, "/emails?status=SENDING").await;
            (!page["data"].as_array().expect("a list").is_empty()).then_some(())
        })
        .await;
        act(&app, &campaign, "/cancel").await.assert_status(200);
        let ledger = settled(&app, &campaign).await;
        assert_eq!(ledger["equation"]["accepted"], 1, "{ledger}");
        assert_eq!(ledger["equation"]["skipped"], json!({"cancelled": 1}), "{ledger}");
        assert_eq!(server.received_for("a0@example.com").len(), 1);
    }

    async fn what_somebody_waits_for_has_the_first_claim_on_the_rate(engine: Engine) {
        const WAITED_FOR: usize = 10;
        let server = ScriptedServer::start(|_, _| Answer::Accept).await;
        let app = App::builder(engine)
            .smtp(server.port)
            .env("MAILWRIGHT_SENDING_PER_SECOND", "2")
            .start()
            .await;
        contacts(&app, "a", 40).await;
        send(&app, &draft(&app, &json!({})).await).await;
        app.eventually("the campaign uses the rate up", async || (server.received().len() >= 3).then_some(()))
            .await;
        let to: Vec<_> = (0..WAITED_FOR).map(|n| format!("b{n}@example.com")).collect();
        let mail = json!({"to": to, "subject": "Code", "body": "<p>1234</p>", "from": app.from()});
        app.post("/v1/send").json(&mail).send().await.assert_status(200);
        let before = server.received().len();
        let of = |prefix: &str| {
            let received = server.received();
            received.iter().filter(|mail| mail.rcpt_to[0].starts_with(prefix)).count()
        };
        app.eventually("they have arrived", async || (of("b") == WAITED_FOR).then_some(())).await;
        // claimed before them, or with what was left of the second that the last of them was sent in
        let meanwhile = server.received().len() - before - WAITED_FOR;
        assert!(meanwhile <= 5, "{meanwhile} mails of the campaign went first");
    }
}
