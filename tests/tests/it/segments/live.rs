//! Contacts join and leave tracked segments as their data changes, as events happen, and as time passes.

use std::time::Duration;

use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::{begin, campaign_by_event, inline, make_events_endless, sent_email};
use mailwright_tests::{contact, create_contact, events_of, items, read, send_ok, text, track_ok};
use serde_json::{Value, json};

use super::{
    at, compute, count, dynamic, eventually_moves, list_of, member_of, members, moves, only, patch, plan,
    tracked,
};

async fn set(app: &App, contact: &Value, data: Value) {
    let path = format!("/contacts/{}", text(&contact["id"]));
    app.patch(&path).json(&json!({"data": data})).send().await.assert_status(200);
}

async fn eventually_count(app: &App, segment: &Value, expected: i64) {
    let what = format!("memberCount is {expected}");
    app.eventually(&what, async || (count(app, segment).await == expected).then_some(())).await;
}

/// An instant so many seconds from now, as ISO 8601 with the `Z`.
fn instant(app: &App, seconds: i64) -> String {
    let millis = app.now() + 1000 * seconds;
    let days = millis.div_euclid(86_400_000);
    let rest = millis.rem_euclid(86_400_000);
    // days since 1970 to a civil date
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let (day, month) = (doy - (153 * mp + 2) / 5 + 1, if mp < 10 { mp + 3 } else { mp - 9 });
    let year = yoe + era * 400 + i64::from(month <= 2);
    let (h, m, s, ms) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60, rest % 1000);
    format!("{year:04}-{month:02}-{day:02}T{h:02}:{m:02}:{s:02}.{ms:03}Z")
}

both_engines! {
    async fn contacts_join_and_leave_as_their_data_changes(engine: Engine) {
        let app = App::start(engine).await;
        let vip = tracked(&app, "VIP Users!", &plan("pro")).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({"plan": "free"})).await;
        let bob = create_contact(&app, "bob@example.com", true, json!({"plan": "pro"})).await;
        eventually_moves(&app, &bob["id"], &["segment.vip-users.entry"]).await;
        eventually_count(&app, &vip, 1).await;
        set(&app, &ann, json!({"plan": "pro"})).await;
        eventually_moves(&app, &ann["id"], &["segment.vip-users.entry"]).await;
        eventually_count(&app, &vip, 2).await;
        let event = events_of(&app, &ann["id"]).await.into_iter().next().expect("an event");
        assert_eq!(event["data"], json!({"segmentId": vip["id"], "segmentName": "VIP Users!"}));
        // what leaves the membership as it is emits nothing
        set(&app, &ann, json!({"city": "Oslo"})).await;
        set(&app, &ann, json!({"plan": null})).await;
        eventually_moves(&app, &ann["id"], &["segment.vip-users.entry", "segment.vip-users.exit"]).await;
        eventually_count(&app, &vip, 1).await;
        // it takes its new name from the next event on
        patch(&app, &vip, json!({"name": "Gold"})).await.assert_status(200);
        track_ok(&app, json!({"email": "ann@example.com", "event": "upgrade", "data": {"plan": "pro"}})).await;
        eventually_moves(
            &app,
            &ann["id"],
            &["segment.vip-users.entry", "segment.vip-users.exit", "segment.gold.entry"],
        )
        .await;
        // removing the field, and the contact, counts as well
        app.delete("/contacts/fields/data.plan").send().await.assert_status(200);
        eventually_moves(&app, &bob["id"], &["segment.vip-users.entry", "segment.gold.exit"]).await;
        eventually_count(&app, &vip, 0).await;
        set(&app, &bob, json!({"plan": "pro"})).await;
        eventually_count(&app, &vip, 1).await;
        app.delete(&format!("/contacts/{}", text(&bob["id"]))).send().await.assert_status(204);
        eventually_count(&app, &vip, 0).await;
        assert!(members(&app, &vip).await.is_empty());
    }

    async fn contacts_join_and_leave_as_events_happen(engine: Engine) {
        let app = App::start(engine).await;
        let bought = only(&json!({"field": "event.purchase", "operator": "triggered"}));
        let bought = tracked(&app, "Bought", &bought).await;
        let never = only(&json!({"field": "event.purchase", "operator": "notTriggered"}));
        let never = tracked(&app, "Never", &never).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        eventually_moves(&app, &ann["id"], &["segment.never.entry"]).await;
        track_ok(&app, json!({"email": "ann@example.com", "event": "purchase"})).await;
        let joined = ["segment.bought.entry", "segment.never.exit"];
        app.eventually("ann moved", async || {
            let mut found = moves(&app, &ann["id"]).await.split_off(1);
            found.sort();
            (found == joined).then_some(())
        })
        .await;
        track_ok(&app, json!({"email": "ann@example.com", "event": "purchase"})).await;
        let deleted = app.delete("/events/purchase").send().await.assert_status(200).json();
        assert_eq!(deleted, json!({"deletedCount": 2}));
        eventually_count(&app, &bought, 0).await;
        eventually_count(&app, &never, 1).await;
        assert_eq!(moves(&app, &ann["id"]).await.len(), 5);
    }

    async fn contacts_join_as_their_mail_is_sent(engine: Engine) {
        let app = App::start(engine).await;
        tracked(&app, "Written to", &only(&json!({"field": "email.sent", "operator": "triggered"}))).await;
        let sent = send_ok(&app, inline(&app, &json!("ann@example.com"))).await;
        sent_email(&app, &sent["emails"][0]["email"]).await;
        eventually_moves(&app, &sent["emails"][0]["contact"]["id"], &["segment.written-to.entry"]).await;
    }

    async fn contacts_move_as_time_passes(engine: Engine) {
        let app = App::start(engine).await;
        let window = |field: &str, operator: &str, minutes: u32| {
            only(&json!({"field": field, "operator": operator, "value": minutes, "unit": "minutes"}))
        };
        tracked(&app, "New", &window("createdAt", "within", 3)).await;
        tracked(&app, "Settled", &window("createdAt", "olderThan", 3)).await;
        tracked(&app, "Touched", &window("updatedAt", "within", 4)).await;
        tracked(&app, "Active", &window("event.login", "triggeredWithin", 3)).await;
        tracked(&app, "Renewed", &window("data.renewal", "olderThan", 60)).await;
        // the window of the date passes some minutes from now, too
        let renewal = instant(&app, -56 * 60);
        let body = json!({"email": "ann@example.com", "event": "login", "data": {"renewal": renewal}});
        let ann = track_ok(&app, body).await;
        app.eventually("ann joined what she is in at once", async || {
            let mut found = moves(&app, &ann["contact"]).await;
            found.sort();
            (found == ["segment.active.entry", "segment.new.entry", "segment.touched.entry"]).then_some(())
        })
        .await;
        app.advance(Duration::from_mins(5)).await;
        app.eventually("time moved her on", async || {
            let mut found = moves(&app, &ann["contact"]).await.split_off(3);
            found.sort();
            let all = [
                "segment.active.exit",
                "segment.new.exit",
                "segment.renewed.entry",
                "segment.settled.entry",
                "segment.touched.exit",
            ];
            (found == all).then_some(())
        })
        .await;
        for segment in items(&read(&app, "/segments").await) {
            let name = text(&segment["name"]);
            let expected = i64::from(["Settled", "Renewed"].contains(&name));
            assert_eq!(segment["memberCount"], expected, "{name}");
        }
    }

    async fn what_passed_while_the_service_was_away_is_made_up_for(engine: Engine) {
        let mut app = App::start(engine).await;
        let window = json!({"field": "createdAt", "operator": "olderThan", "value": 2, "unit": "minutes"});
        tracked(&app, "Old", &only(&window)).await;
        let window = json!({"field": "data.until", "operator": "olderThan", "value": 0, "unit": "days"});
        tracked(&app, "Over", &only(&window)).await;
        tracked(&app, "Seen", &plan("pro")).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({"plan": "pro", "until": instant(&app, 150)})).await;
        // the date's time is remembered when the contact is judged
        eventually_moves(&app, &ann["id"], &["segment.seen.entry"]).await;
        app.kill();
        app.advance(Duration::from_mins(3)).await;
        app.restart().await;
        app.eventually("ann moved", async || {
            let mut found = moves(&app, &ann["id"]).await;
            found.sort();
            (found == ["segment.old.entry", "segment.over.entry", "segment.seen.entry"]).then_some(())
        })
        .await;
    }

    async fn segments_follow_the_segments_they_name(engine: Engine) {
        let app = App::start(engine).await;
        let pro = tracked(&app, "Pro", &plan("pro")).await;
        let between = dynamic(&app, "Between", &member_of(&pro)).await;
        let outer = tracked(&app, "Outer", &member_of(&between)).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({"plan": "pro"})).await;
        eventually_moves(&app, &ann["id"], &["segment.pro.entry", "segment.outer.entry"]).await;
        eventually_count(&app, &outer, 1).await;
        set(&app, &ann, json!({"plan": "free"})).await;
        let all = ["segment.pro.entry", "segment.outer.entry", "segment.pro.exit", "segment.outer.exit"];
        eventually_moves(&app, &ann["id"], &all).await;
    }

    async fn segments_on_their_own_events_settle(engine: Engine) {
        let app = App::start(engine).await;
        tracked(&app, "Once", &only(&json!({"field": "event.segment.once.entry", "operator": "notTriggered"}))).await;
        tracked(&app, "After", &only(&json!({"field": "event.segment.once.exit", "operator": "triggered"}))).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        let all = ["segment.once.entry", "segment.once.exit", "segment.after.entry"];
        eventually_moves(&app, &ann["id"], &all).await;
        app.advance(Duration::from_mins(1)).await;
        assert_eq!(moves(&app, &ann["id"]).await, all, "and that is all");
    }

    async fn members_from_before_join_when_computed(engine: Engine) {
        let app = App::start(engine).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({"plan": "pro"})).await;
        let bob = create_contact(&app, "bob@example.com", true, json!({"plan": "free"})).await;
        let pro = tracked(&app, "Pro", &plan("pro")).await;
        assert_eq!(pro["memberCount"], 1);
        set(&app, &bob, json!({"plan": "pro"})).await;
        eventually_moves(&app, &bob["id"], &["segment.pro.entry"]).await;
        eventually_count(&app, &pro, 2).await;
        assert!(moves(&app, &ann["id"]).await.is_empty());
        assert_eq!(compute(&app, &pro).await["total"], 2);
        assert_eq!(moves(&app, &ann["id"]).await, ["segment.pro.entry"]);
        assert_eq!(moves(&app, &bob["id"]).await, ["segment.pro.entry"]);
        assert_eq!(count(&app, &pro).await, 2);
        assert_eq!(contact(&app, &ann["id"]).await["updatedAt"], ann["updatedAt"], "joining is no change");
    }

    async fn the_background_enrolls_and_counts(engine: Engine) {
        let app =
            App::builder(engine).env("MAILWRIGHT_SEGMENTS_REFRESH_INTERVAL_SECONDS", "1").start().await;
        let ann = create_contact(&app, "ann@example.com", true, json!({"plan": "pro"})).await;
        let pro = tracked(&app, "Pro", &plan("pro")).await;
        let counted = dynamic(&app, "Counted", &plan("pro")).await;
        assert_eq!((&pro["memberCount"], &counted["memberCount"]), (&json!(1), &json!(1)));
        eventually_moves(&app, &ann["id"], &["segment.pro.entry"]).await;
        create_contact(&app, "bob@example.com", true, json!({"plan": "pro"})).await;
        eventually_count(&app, &counted, 2).await;
        eventually_count(&app, &pro, 2).await;
        // a new condition counts for everybody
        patch(&app, &pro, json!({"condition": plan("free")})).await.assert_status(200);
        eventually_moves(&app, &ann["id"], &["segment.pro.entry", "segment.pro.exit"]).await;
        eventually_count(&app, &pro, 0).await;
    }

    async fn nothing_happens_to_segments_that_are_not_tracked(engine: Engine) {
        let app = App::start(engine).await;
        let pro = dynamic(&app, "Pro", &plan("pro")).await;
        let list = list_of(&app, "List", &[]).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({"plan": "pro"})).await;
        app.post(&at(&list, "/members")).json(&json!({"emails": ["ann@example.com"]})).send().await.assert_status(200);
        app.advance(Duration::from_mins(1)).await;
        assert!(moves(&app, &ann["id"]).await.is_empty());
        // from then on, it is tracked; and then no longer
        patch(&app, &pro, json!({"trackMembership": true})).await.assert_status(200);
        let bob = create_contact(&app, "bob@example.com", true, json!({"plan": "pro"})).await;
        eventually_moves(&app, &bob["id"], &["segment.pro.entry"]).await;
        patch(&app, &pro, json!({"trackMembership": false})).await.assert_status(200);
        set(&app, &bob, json!({"plan": "free"})).await;
        app.advance(Duration::from_mins(1)).await;
        assert_eq!(moves(&app, &bob["id"]).await, ["segment.pro.entry"]);
        assert_eq!(members(&app, &pro).await, ["ann@example.com"]);
    }

    async fn a_count_that_waits_holds_up_nobody_who_joins(engine: Engine) {
        let app = App::builder(engine)
            .env("MAILWRIGHT_DATABASE_SLOW_READ_MS", "600000")
            // one place for background work, and one for requests
            .env("MAILWRIGHT_DATABASE_SLOW_READS", "2")
            .env("MAILWRIGHT_DATABASE_CONNECTIONS", "5")
            .start()
            .await;
        let plans = ["free", "pro", "team"];
        // somebody is in each already, so that it is counted until it has looked at everybody
        for name in plans {
            create_contact(&app, &format!("{name}0@example.com"), true, json!({"plan": name})).await;
        }
        for name in plans {
            tracked(&app, name, &plan(name)).await;
        }
        let other = app.bootstrap("Other", "other.example").await;
        let campaign = campaign_by_event(&app, &other, "Slow").await;
        make_events_endless(&app).await;
        begin(&app, &other, &campaign).await;
        for name in plans {
            create_contact(&app, &format!("{name}@example.com"), true, json!({"plan": name})).await;
            let joined = json!(format!("segment.{name}.entry"));
            app.eventually("the contact joins", async || {
                items(&read(&app, "/events/names").await["eventNames"]).contains(&joined).then_some(())
            })
            .await;
        }
    }
}
