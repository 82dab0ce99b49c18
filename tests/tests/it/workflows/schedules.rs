//! Workflows that a schedule starts for the members of a segment: when they do, whom they enrol, and what changes do.

use std::time::Duration;

use mailwright_testkit::{App, Engine, OWNER, both_engines};
use mailwright_tests::browser::Browser;
use mailwright_tests::workflow::Flow;
use mailwright_tests::{UNKNOWN_ID, assert_envelope, issues, read, shown, text, track_ok, with};
use serde_json::{Value, json};

use super::calendar::{Year, add, enabled, exit, list, names, schedule, segment, wait};

/// A schedule begins its workflow at these moments of UTC, not some minutes before, and not again before the last one.
async fn assert_follows(year: &Year<'_>, app: &App, ann: &Value, config: Value, times: (&[&str], &str)) {
    let flow = enabled(app, &schedule(ann, &config), exit()).await;
    let (moments, last) = times;
    for (count, moment) in moments.iter().enumerate() {
        year.before(moment).await;
        assert_eq!(year.runs(&flow).await, count, "before {moment}: {config}");
        year.after(moment).await;
        assert_eq!(year.runs(&flow).await, count + 1, "{moment}: {config}");
    }
    year.before(last).await;
    assert_eq!(year.runs(&flow).await, moments.len(), "before {last}: {config}");
    flow.change(json!({"enabled": false})).await;
}

/// A rule of RFC 5545.
fn rule(rule: &str) -> Value {
    json!({"repeat": "rule", "rule": rule})
}

both_engines! {
    async fn once_daily_and_weekly_are_times_of_the_schedules_zone(engine: Engine) {
        let app = App::start(engine).await;
        let year = Year::begin(&app).await;
        let ann = list(&app, &json!(["ann@example.com"])).await;
        let two_days = [year.weekday("02-03T00:00"), year.weekday("02-04T00:00")];
        for (start, zone, repeat, moments, last) in [
            ("01-05T09:00", "Asia/Tokyo", json!({"repeat": "once"}), vec!["01-05T00:00"], "01-06T00:30"),
            (
                "01-10T22:30", "America/Phoenix", json!({"repeat": "daily"}),
                vec!["01-11T05:30", "01-12T05:30", "01-13T05:30"], "01-14T05:30",
            ),
            ("01-20T09:00", "UTC", json!({"repeat": "weekly"}), vec!["01-20T09:00", "01-27T09:00"], "02-01T00:00"),
            (
                "02-01T09:00", "UTC", json!({"repeat": "weekly", "days": two_days}),
                vec!["02-03T09:00", "02-04T09:00", "02-10T09:00"], "02-11T09:00",
            ),
        ] {
            let config = with(json!({"start": year.date(start), "timeZone": zone}), &repeat);
            assert_follows(&year, &app, &ann, config, (&moments[..], last)).await;
        }
    }

    async fn months_and_rules_are_counted_in_local_time(engine: Engine) {
        let app = App::start(engine).await;
        let year = Year::begin(&app).await;
        let ann = list(&app, &json!(["ann@example.com"])).await;
        let half_days = format!("RRULE:FREQ=HOURLY;INTERVAL=12;UNTIL={}0902T101500", year.number);
        for (start, zone, repeat, moments, last) in [
            // clocks are set forward between these
            (
                "03-15T09:00", "Europe/Berlin", json!({"repeat": "monthly"}), vec!["03-15T08:00", "04-15T07:00"],
                "05-01T00:00",
            ),
            // a month without that day has its last one
            (
                "05-31T09:00", "UTC", json!({"repeat": "monthly"}), vec!["05-31T09:00", "06-30T09:00", "07-31T09:00"],
                "08-01T00:00",
            ),
            (
                "08-02T06:00", "Asia/Kolkata", rule("FREQ=DAILY;INTERVAL=2;COUNT=3"),
                vec!["08-02T00:30", "08-04T00:30", "08-06T00:30"], "08-09T00:00",
            ),
            (
                "09-01T10:15", "UTC", rule(&half_days), vec!["09-01T10:15", "09-01T22:15", "09-02T10:15"],
                "09-04T00:00",
            ),
            ("10-01T09:00", "UTC", rule("FREQ=YEARLY;BYMONTH=10;BYMONTHDAY=-1"), vec!["10-31T09:00"], "12-01T00:00"),
        ] {
            let config = with(json!({"start": year.date(start), "timeZone": zone}), &repeat);
            assert_follows(&year, &app, &ann, config, (&moments[..], last)).await;
        }
    }

    async fn whoever_is_in_the_segment_then_is_enrolled(engine: Engine) {
        let app = App::start(engine).await;
        let year = Year::begin(&app).await;
        let pro = json!({"field": "data.plan", "operator": "equals", "value": "pro"});
        let pro = json!({"name": "Pro", "condition": {"logic": "AND", "groups": [{"filters": [pro]}]}});
        let live = segment(&app, &pro).await;
        let tracked = segment(&app, &with(pro, &json!({"trackMembership": true}))).await;
        let listed = list(&app, &json!(["ann@example.com", "bob@example.com"])).await;
        let compute = format!("/segments/{}/compute", text(&tracked["id"]));
        let put = async |name: &str, plan: &str| {
            let email = format!("{name}@example.com");
            track_ok(&app, json!({"email": email, "event": "seen", "data": {"plan": plan}})).await;
            app.post(&compute).send().await.assert_status(200);
        };
        for (name, plan) in [("ann", "pro"), ("bob", "pro"), ("cid", "free")] {
            put(name, plan).await;
        }
        let mut flows = Vec::new();
        for segment in [&live, &tracked, &listed] {
            let flow = enabled(&app, &year.mornings(segment), exit()).await;
            flow.change(json!({"allowReentry": false})).await;
            flows.push(flow);
        }
        year.before("01-05T09:00").await;
        for (name, plan) in [("ann", "free"), ("cid", "pro"), ("dee", "pro")] {
            put(name, plan).await;
        }
        let members = format!("/segments/{}/members", text(&listed["id"]));
        app.delete(&members).json(&json!({"emails": ["ann@example.com"]})).send().await.assert_status(200);
        add(&app, &listed, &json!(["cid@example.com", "dee@example.com"])).await;
        for flow in &flows {
            assert_eq!(names(flow).await, "");
        }
        year.after("01-05T09:00").await;
        put("eve", "pro").await;
        add(&app, &listed, &json!(["eve@example.com"])).await;
        year.before("01-06T09:00").await;
        for flow in &flows {
            assert_eq!(names(flow).await, "bob cid dee", "who joins later waits for the next time");
        }
        year.after("01-06T09:00").await;
        for flow in &flows {
            assert_eq!(names(flow).await, "bob cid dee eve", "and nobody goes twice");
        }
    }

    async fn a_time_that_has_passed_starts_nothing(engine: Engine) {
        let app = App::start(engine).await;
        let year = Year::begin(&app).await;
        let ann = list(&app, &json!(["ann@example.com"])).await;
        year.before("01-10T09:00").await;
        let past = json!({"start": year.date("01-05T09:00")});
        let until = rule(&format!("FREQ=DAILY;UNTIL={}0108", year.number));
        let mut over = Vec::new();
        for repeat in [json!({}), json!({"repeat": "once"}), until] {
            over.push(enabled(&app, &schedule(&ann, &with(past.clone(), &repeat)), exit()).await);
        }
        let daily = enabled(&app, &year.mornings(&ann), exit()).await;
        let coming = json!({"start": year.date("01-11T09:00")});
        let coming = enabled(&app, &schedule(&ann, &coming), exit()).await;
        assert_eq!(year.runs(&daily).await, 0);
        year.after("01-10T09:00").await;
        assert_eq!((year.runs(&daily).await, year.runs(&coming).await), (1, 0));
        year.after("01-11T09:00").await;
        assert_eq!((year.runs(&daily).await, year.runs(&coming).await), (2, 1));
        coming.change(json!({"enabled": false})).await;
        coming.enable().await;
        year.after("02-20T09:00").await;
        assert_eq!(year.runs(&coming).await, 1, "its time has come and gone");
        for flow in &over {
            assert_eq!(year.runs(flow).await, 0);
        }
    }

    async fn a_change_plans_anew(engine: Engine) {
        let app = App::start(engine).await;
        let year = Year::begin(&app).await;
        let ann = list(&app, &json!(["ann@example.com"])).await;
        let flow = enabled(&app, &year.mornings(&ann), exit()).await;
        flow.change(json!({"enabled": false})).await;
        year.after("01-05T09:00").await;
        flow.enable().await;
        year.before("01-06T09:00").await;
        assert_eq!(year.runs(&flow).await, 0, "it was disabled then");
        year.after("01-06T09:00").await;
        assert_eq!(year.runs(&flow).await, 1);
        let afternoons = json!({"start": year.date("01-01T15:00"), "repeat": "daily"});
        flow.change(schedule(&ann, &afternoons)).await;
        year.after("01-06T15:00").await;
        assert_eq!(year.runs(&flow).await, 2);
        year.after("01-07T09:00").await;
        assert_eq!(year.runs(&flow).await, 2, "not in the morning any more");
        year.after("01-07T15:00").await;
        assert_eq!(year.runs(&flow).await, 3);
        flow.change(json!({"triggerType": "EVENT", "triggerConfig": {"eventName": "came"}})).await;
        year.after("01-08T15:00").await;
        assert_eq!(year.runs(&flow).await, 3, "an event starts it now");
        track_ok(&app, json!({"email": "ann@example.com", "event": "came"})).await;
        assert_eq!(year.runs(&flow).await, 4);
        flow.change(year.mornings(&ann)).await;
        year.after("01-09T09:00").await;
        assert_eq!(year.runs(&flow).await, 5);
    }

    async fn a_draft_of_a_schedule_is_in_force_once_it_is_published(engine: Engine) {
        let app = App::start(engine).await;
        let year = Year::begin(&app).await;
        let listed = list(&app, &json!(["ann@example.com"])).await;
        let flow = enabled(&app, &year.mornings(&listed), wait()).await;
        year.after("01-05T09:00").await;
        assert_eq!(names(&flow).await, "ann");
        let evenings = schedule(&listed, &json!({"start": year.date("01-05T18:00"), "repeat": "daily"}));
        assert_eq!(flow.change(evenings).await["isDraft"], true);
        add(&app, &listed, &json!(["bob@example.com"])).await;
        year.after("01-05T18:00").await;
        assert_eq!(names(&flow).await, "ann");
        year.after("01-06T09:00").await;
        assert_eq!(names(&flow).await, "ann bob");
        add(&app, &listed, &json!(["cid@example.com"])).await;
        app.post(&flow.path("/publish")).send().await.assert_status(200);
        year.before("01-06T18:00").await;
        assert_eq!(names(&flow).await, "ann bob");
        year.after("01-06T18:00").await;
        assert_eq!(names(&flow).await, "ann bob cid");
        add(&app, &listed, &json!(["dee@example.com"])).await;
        year.after("01-07T09:00").await;
        assert_eq!(names(&flow).await, "ann bob cid");
    }

    async fn times_that_were_missed_count_once(engine: Engine) {
        let mut app = App::start(engine).await;
        let (number, workflow) = {
            let year = Year::begin(&app).await;
            let ann = list(&app, &json!(["ann@example.com"])).await;
            let flow = enabled(&app, &year.mornings(&ann), exit()).await;
            year.after("01-08T12:00").await;
            assert_eq!(year.runs(&flow).await, 1, "of four that passed at once");
            year.before("01-09T09:00").await;
            assert_eq!(year.runs(&flow).await, 1);
            year.after("01-09T09:00").await;
            assert_eq!(year.runs(&flow).await, 2);
            (year.number, json!({"id": flow.id}))
        };
        app.kill();
        app.advance(Duration::from_hours(5 * 24)).await;
        app.restart().await;
        let (year, flow) = (Year::of(&app, number).await, Flow::of(&app, &workflow).await);
        let missed = async || (flow.executions().await.len() == 3).then_some(());
        app.eventually("what was missed while the service was away", missed).await;
        year.before("01-15T09:00").await;
        assert_eq!(year.runs(&flow).await, 3);
        year.after("01-15T09:00").await;
        assert_eq!(year.runs(&flow).await, 4);
    }

    async fn a_time_that_is_due_is_not_lost_by_another_edit(engine: Engine) {
        let mut app = App::start(engine).await;
        let workflow = {
            let year = Year::begin(&app).await;
            let ann = list(&app, &json!(["ann@example.com"])).await;
            let flow = enabled(&app, &year.mornings(&ann), exit()).await;
            year.before("01-05T09:00").await;
            json!({"id": flow.id})
        };
        app.kill();
        app.advance(Duration::from_mins(20)).await;
        app.restart().await;
        // before the service has looked at its schedules; the next time is a day away
        let flow = Flow::of(&app, &workflow).await;
        flow.loose("EXIT", json!({})).await;
        flow.only("EXITED").await;
    }

    async fn times_are_those_of_the_projects_zone_unless_the_schedule_names_one(engine: Engine) {
        let app = App::start(engine).await;
        let year = Year::begin(&app).await;
        let ann = list(&app, &json!(["ann@example.com"])).await;
        let set = async |zone: Value| {
            let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
            let path = format!("/users/@me/projects/{}", app.project_id());
            owner.request(&app, "PATCH", &path).json(&json!({"timezone": zone})).send().await.assert_status(200);
        };
        set(json!("Asia/Tokyo")).await;
        let plain = enabled(&app, &year.mornings(&ann), exit()).await;
        let named = json!({"start": year.date("01-05T09:00"), "repeat": "daily", "timeZone": "UTC"});
        let named = enabled(&app, &schedule(&ann, &named), exit()).await;
        let runs = async || (year.runs(&plain).await, year.runs(&named).await);
        year.before("01-05T00:00").await;
        assert_eq!(runs().await, (0, 0));
        year.after("01-05T00:00").await;
        assert_eq!(runs().await, (1, 0));
        year.after("01-05T09:00").await;
        assert_eq!(runs().await, (1, 1));
        year.after("01-05T20:00").await;
        set(json!("America/Phoenix")).await;
        year.after("01-06T00:00").await;
        assert_eq!(runs().await, (1, 1), "not in Tokyo any more");
        year.before("01-06T16:00").await;
        assert_eq!(runs().await, (1, 2));
        year.after("01-06T16:00").await;
        assert_eq!(runs().await, (2, 2));
        set(Value::Null).await;
        year.before("01-07T09:00").await;
        assert_eq!(runs().await, (2, 2));
        year.after("01-07T09:00").await;
        assert_eq!(runs().await, (3, 3));
    }

    async fn who_went_through_goes_again_if_that_is_allowed_and_over(engine: Engine) {
        let app = App::start(engine).await;
        let year = Year::begin(&app).await;
        let listed = list(&app, &json!(["ann@example.com"])).await;
        let single = enabled(&app, &year.mornings(&listed), exit()).await;
        single.change(json!({"allowReentry": false})).await;
        let again = enabled(&app, &year.mornings(&listed), exit()).await;
        let lasting = enabled(&app, &year.mornings(&listed), wait()).await;
        let first = async || names(&single).await;
        for (moment, expected) in [("01-05T09:00", "ann"), ("01-06T09:00", "ann ann")] {
            year.after(moment).await;
            year.runs(&again).await;
            assert_eq!((first().await.as_str(), names(&again).await.as_str()), ("ann", expected), "{moment}");
            assert_eq!(lasting.only("WAITING").await["contact"]["email"], "ann@example.com");
        }
        track_ok(&app, json!({"email": "ann@example.com", "event": "paid"})).await;
        lasting.only("COMPLETED").await;
        add(&app, &listed, &json!(["bob@example.com"])).await;
        year.after("01-07T09:00").await;
        assert_eq!(first().await, "ann bob");
        assert_eq!(names(&again).await, "ann ann ann bob");
        assert_eq!(names(&lasting).await, "ann ann bob");
    }

    async fn a_schedule_that_cannot_be_followed_is_refused(engine: Engine) {
        let app = App::start(engine).await;
        let listed = list(&app, &json!([])).await;
        let flow = Flow::new(&app, "signup").await;
        let before = read(&app, &flow.path("")).await;
        let patch = async |changes: Value| app.patch(&flow.path("")).json(&changes).send().await;
        let start = json!({"start": "2099-01-31T09:00"});
        let start_at = |start: Value| json!({"start": start});
        let days = |days: Value| json!({"repeat": "weekly", "days": days});
        for (changes, field) in [
            (json!({"segmentId": null}), "segmentId"),
            (json!({"segmentId": "all"}), "segmentId"),
            (start_at(Value::Null), "start"),
            (start_at(json!(5)), "start"),
            (start_at(json!("tomorrow")), "start"),
            (start_at(json!("2099-02-30T09:00")), "start"),
            (start_at(json!("2099-01-31T09:00Z")), "start"),
            (json!({"timeZone": "Europe/Atlantis"}), "timeZone"),
            (json!({"timeZone": "+02:00"}), "timeZone"),
            (json!({"repeat": "often"}), "repeat"),
            (json!({"repeat": 1}), "repeat"),
            (days(json!([])), "days"),
            (days(json!("MO")), "days"),
            (days(json!(["MO", "Mond"])), "days.1"),
            (json!({"repeat": "rule"}), "rule"),
            (rule("every day"), "rule"),
            (rule("FREQ=MINUTELY"), "rule"),
            (rule("FREQ=DAILY;BYHOUR=9;BYMINUTE=0,30"), "rule"),
            (rule("FREQ=DAILY;INTERVAL=0"), "rule"),
            (rule("FREQ=DAILY;UNTIL=20200101"), "rule"),
            (rule(&format!("FREQ=DAILY;BYHOUR=9{}", ",9".repeat(300))), "rule"),
            // an offset is not what schedules are in
            (start_at(json!("2099-01-31T09:00+02:00")), "start"),
        ] {
            let answer = patch(schedule(&listed, &with(start.clone(), &changes))).await;
            assert_eq!(answer.status, 422, "{changes}: {}", shown(&answer));
            let fields: Vec<String> = issues(&answer).into_iter().map(|(field, _)| field).collect();
            assert_eq!(fields, [format!("triggerConfig.{field}")], "{changes}");
        }
        let bare = patch(json!({"triggerType": "SCHEDULE"})).await;
        let fields: Vec<String> = issues(&bare).into_iter().map(|(field, _)| field).collect();
        assert_eq!(fields, ["triggerConfig.segmentId", "triggerConfig.start"]);
        assert_eq!(issues(&patch(json!({"triggerType": "CRON"})).await)[0].0, "triggerType");
        assert_envelope(&patch(schedule(&json!({"id": UNKNOWN_ID}), &start)).await, 404);
        assert_eq!(read(&app, &flow.path("")).await, before, "nothing changed");
    }
}
