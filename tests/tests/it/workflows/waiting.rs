//! What waits: DELAY, `WAIT_FOR_EVENT` and `WAIT_UNTIL`, with timers, crashes, and events at the same moment.

use std::time::Duration;

use futures_util::future::join_all;
use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::workflow::{Flow, output, taken};
use mailwright_tests::{assert_timestamp, create_contact, members, text, track_ok};
use serde_json::{Value, json};

const HOUR: Duration = Duration::from_hours(1);
/// A little more than the timers of an hour.
const OVER_AN_HOUR: Duration = Duration::from_secs(3_601);
const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const DAY_MS: i64 = 24 * HOUR_MS;
/// The days of the week, beginning with that of 1970-01-01.
const DAYS: [&str; 7] = ["thursday", "friday", "saturday", "sunday", "monday", "tuesday", "wednesday"];

/// An enabled workflow of these steps and an EXIT.
async fn enabled<'a>(app: &'a App, event: &str, steps: &[(&str, Value)]) -> Flow<'a> {
    let flow = Flow::new(app, event).await;
    for (kind, config) in steps {
        flow.then(kind, config.clone()).await;
    }
    flow.then("EXIT", json!({})).await;
    flow.enable().await;
    flow
}

/// An enabled workflow that waits for `paid`, behind these steps, for an hour at most. How it ends says why.
async fn awaiting<'a>(app: &'a App, event: &str, steps: &[(&str, Value)]) -> Flow<'a> {
    let flow = Flow::new(app, event).await;
    for (kind, config) in steps {
        flow.then(kind, config.clone()).await;
    }
    let wait = flow.then("WAIT_FOR_EVENT", json!({"eventName": "paid", "timeout": 3600})).await;
    for (outcome, reason) in [("EVENT", "paid"), ("TIMEOUT", "late")] {
        let exit = flow.loose("EXIT", json!({"reason": reason})).await;
        flow.link(&wait, &exit, json!({"waitOutcome": outcome})).await;
    }
    flow.enable().await;
    flow
}

/// Begins an execution for a new contact with this data. Returns its id.
async fn begin(app: &App, flow: &Flow<'_>, email: &str, data: Value) -> String {
    let contact = create_contact(app, email, true, data).await;
    flow.start(&contact["id"], json!({})).await
}

/// The same, once it waits.
async fn wait(app: &App, flow: &Flow<'_>, email: &str) -> String {
    let id = begin(app, flow, email, json!({})).await;
    flow.once(&id, "WAITING").await;
    id
}

async fn track(app: &App, email: &str, event: &str, data: Value) -> Value {
    track_ok(app, json!({"email": email, "event": event, "data": data})).await
}

/// An execution once its steps are these.
async fn once_taken(app: &App, flow: &Flow<'_>, id: &str, steps: &[&str]) -> Value {
    app.eventually(&format!("execution {id} has taken {steps:?}"), async || {
        let found = flow.execution(id).await;
        (taken(&found) == steps).then_some(found)
    })
    .await
}

/// Lets time pass until a moment, in milliseconds since 1970.
async fn until(app: &App, at: i64) {
    let left = at - app.now();
    assert!(left > 0, "that moment is over since {} ms", -left);
    app.advance(Duration::from_millis(left as u64)).await;
}

fn assert_members(found: &Value, expected: &Value) {
    for (key, value) in members(expected) {
        assert_eq!(found[key], *value, "{key} of {found}");
    }
}

/// A moment, in milliseconds since 1970, as ISO 8601 in UTC.
fn iso(at: i64) -> String {
    let (days, of_day) = (at / DAY_MS, at % DAY_MS / 1000);
    // years begin in March, so that the leap day is the last of a year
    let since = days + 719_468;
    let (era, of_era) = (since / 146_097, since % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z", era * 400 + year)
}

both_engines! {
    async fn each_of_two_delays_in_a_row_waits(engine: Engine) {
        let app = App::start(engine).await;
        let delay = |amount: u32, unit: &str| ("DELAY", json!({"amount": amount, "unit": unit}));
        let flow = enabled(&app, "begun", &[delay(1, "hours"), delay(30, "minutes")]).await;
        let id = wait(&app, &flow, "ann@example.com").await;
        app.advance(OVER_AN_HOUR).await;
        let steps = ["TRIGGER COMPLETED", "DELAY COMPLETED", "DELAY WAITING"];
        let second = once_taken(&app, &flow, &id, &steps).await;
        assert_eq!(second["status"], "WAITING");
        let told = output(&second, "DELAY");
        assert_members(&told, &json!({"delayAmount": 1, "delayUnit": "hours"}));
        assert_timestamp(&told["resumeAt"]);
        app.advance(Duration::from_mins(25)).await;
        assert_eq!(taken(&flow.execution(&id).await), steps, "not yet");
        app.advance(Duration::from_mins(6)).await;
        let ended = flow.once(&id, "EXITED").await;
        assert_eq!(taken(&ended)[1..], ["DELAY COMPLETED", "DELAY COMPLETED", "EXIT COMPLETED"]);
    }

    async fn a_delay_that_nothing_follows_ends_the_execution(engine: Engine) {
        let app = App::start(engine).await;
        let flow = Flow::new(&app, "begun").await;
        let delay = flow.then("DELAY", json!({"amount": 2, "unit": "days"})).await;
        flow.enable().await;
        let id = wait(&app, &flow, "ann@example.com").await;
        assert_eq!(flow.execution(&id).await["currentStepId"], delay);
        app.advance(47 * HOUR).await;
        flow.once(&id, "WAITING").await;
        app.advance(OVER_AN_HOUR).await;
        let ended = flow.once(&id, "COMPLETED").await;
        assert_eq!((&ended["currentStepId"], &ended["exitReason"]), (&Value::Null, &Value::Null));
        assert_timestamp(&ended["completedAt"]);
    }

    async fn a_wait_ends_with_an_event_of_its_contact_or_with_its_time(engine: Engine) {
        let app = App::start(engine).await;
        let flow = awaiting(&app, "begun", &[]).await;
        let ann = wait(&app, &flow, "ann@example.com").await;
        let bob = wait(&app, &flow, "bob@example.com").await;
        track(&app, "cid@example.com", "paid", json!({})).await;
        track(&app, "ann@example.com", "Paid", json!({})).await;
        track(&app, "ann@example.com", "paid twice", json!({})).await;
        track(&app, "ann@example.com", "paid", json!({"amount": 5})).await;
        let paid = flow.once(&ann, "EXITED").await;
        assert_eq!(paid["exitReason"], "paid");
        let told = output(&paid, "WAIT_FOR_EVENT");
        assert_members(&told, &json!({
            "waitOutcome": "EVENT", "eventReceived": true, "eventName": "paid", "eventData": {"amount": 5},
        }));
        assert_timestamp(&told["receivedAt"]);
        assert_eq!(flow.execution(&bob).await["status"], "WAITING");

        app.advance(OVER_AN_HOUR).await;
        let late = flow.once(&bob, "EXITED").await;
        assert_eq!(late["exitReason"], "late");
        let expected = json!({"waitOutcome": "TIMEOUT", "timedOut": true, "eventName": "paid"});
        assert_members(&output(&late, "WAIT_FOR_EVENT"), &expected);
        assert_eq!(taken(&paid), taken(&late));
    }

    async fn a_way_out_of_a_wait_serves_the_outcome_it_names_or_both(engine: Engine) {
        let app = App::start(engine).await;
        for (n, (way, on_event, on_timeout)) in [
            (json!({}), "EXITED", "EXITED"),
            (json!({"waitOutcome": "EVENT"}), "EXITED", "COMPLETED"),
            (json!({"waitOutcome": "TIMEOUT"}), "COMPLETED", "EXITED"),
        ].into_iter().enumerate() {
            let flow = Flow::new(&app, "begun").await;
            let step = flow.then("WAIT_FOR_EVENT", json!({"eventName": "paid", "timeout": 3600})).await;
            let exit = flow.loose("EXIT", json!({})).await;
            flow.link(&step, &exit, way).await;
            flow.enable().await;
            let (payer, other) = (format!("payer{n}@example.com"), format!("other{n}@example.com"));
            let (event, timeout) = (wait(&app, &flow, &payer).await, wait(&app, &flow, &other).await);
            track(&app, &payer, "paid", json!({})).await;
            flow.once(&event, on_event).await;
            app.advance(OVER_AN_HOUR).await;
            flow.once(&timeout, on_timeout).await;
        }
    }

    async fn a_wait_without_a_time_lasts(engine: Engine) {
        let app = App::start(engine).await;
        let mut begun = Vec::new();
        let configs = [json!({"eventName": "paid"}), json!({"eventName": "paid", "timeout": 0})];
        for (n, config) in configs.into_iter().enumerate() {
            let flow = enabled(&app, "begun", &[("WAIT_FOR_EVENT", config)]).await;
            let email = format!("c{n}@example.com");
            let id = wait(&app, &flow, &email).await;
            begun.push((flow, email, id));
        }
        app.advance(366 * 24 * HOUR).await;
        for (flow, email, id) in &begun {
            flow.once(id, "WAITING").await;
            track(&app, email, "paid", json!({})).await;
            flow.once(id, "EXITED").await;
        }
    }

    async fn an_event_does_not_end_a_wait_that_it_began(engine: Engine) {
        let app = App::start(engine).await;
        let flow = enabled(&app, "ping", &[("WAIT_FOR_EVENT", json!({"eventName": "ping"}))]).await;
        let first = track(&app, "ann@example.com", "ping", json!({"n": 1})).await;
        let waiting = flow.only("WAITING").await;
        // another contact's comes after it and has its effect
        let bob = track(&app, "bob@example.com", "ping", json!({})).await;
        flow.of_contact(&bob["contact"], 1).await;
        let id = text(&waiting["id"]);
        assert_eq!(flow.execution(id).await["status"], "WAITING");
        track(&app, "ann@example.com", "ping", json!({"n": 2})).await;
        let ended = flow.once(id, "EXITED").await;
        assert_eq!(output(&ended, "WAIT_FOR_EVENT")["eventData"], json!({"n": 2}));
        assert_eq!(ended["sourceEventId"], first["event"]);
    }

    async fn an_event_before_the_wait_does_not_count(engine: Engine) {
        let app = App::start(engine).await;
        let delay = [("DELAY", json!({"amount": 1, "unit": "hours"}))];
        let flow = awaiting(&app, "begun", &delay).await;
        let id = wait(&app, &flow, "ann@example.com").await;
        track(&app, "ann@example.com", "paid", json!({})).await;
        app.advance(OVER_AN_HOUR).await;
        once_taken(&app, &flow, &id, &["TRIGGER COMPLETED", "DELAY COMPLETED", "WAIT_FOR_EVENT WAITING"]).await;
        app.advance(OVER_AN_HOUR).await;
        assert_eq!(flow.once(&id, "EXITED").await["exitReason"], "late");
    }

    async fn the_data_of_the_event_joins_the_context(engine: Engine) {
        let app = App::start(engine).await;
        let flow = Flow::new(&app, "ordered").await;
        flow.then("WAIT_FOR_EVENT", json!({"eventName": "paid"})).await;
        let field = json!({"field": "event.c", "operator": "equals", "value": 3});
        let condition = flow.then("CONDITION", field).await;
        let exit = flow.loose("EXIT", json!({})).await;
        flow.link(&condition, &exit, json!({"branch": "yes"})).await;
        flow.enable().await;
        track(&app, "ann@example.com", "ordered", json!({"a": 1, "b": 1})).await;
        flow.only("WAITING").await;
        track(&app, "ann@example.com", "paid", json!({"b": 2, "c": 3})).await;
        assert_eq!(flow.only("EXITED").await["context"], json!({"a": 1, "b": 2, "c": 3}));
    }

    async fn an_event_and_the_end_of_the_time_at_once_lead_one_way(engine: Engine) {
        let app = App::start(engine).await;
        let flow = awaiting(&app, "begun", &[]).await;
        let mut ids = Vec::new();
        for n in 0..8 {
            ids.push(wait(&app, &flow, &format!("c{n}@example.com")).await);
        }
        let events = (0..16).map(|n| {
            track_ok(&app, json!({"email": format!("c{}@example.com", n % 8), "event": "paid"}))
        });
        tokio::join!(app.advance(OVER_AN_HOUR), join_all(events));
        for id in &ids {
            let ended = flow.once(id, "EXITED").await;
            assert_eq!(taken(&ended), ["TRIGGER COMPLETED", "WAIT_FOR_EVENT COMPLETED", "EXIT COMPLETED"]);
            let is_paid = output(&ended, "WAIT_FOR_EVENT")["waitOutcome"] == "EVENT";
            assert_eq!(ended["exitReason"], if is_paid { "paid" } else { "late" }, "{ended}");
        }
    }

    async fn a_cancelled_wait_ends_with_nothing(engine: Engine) {
        let app = App::start(engine).await;
        let delay = enabled(&app, "begun", &[("DELAY", json!({"amount": 1, "unit": "hours"}))]).await;
        let event = awaiting(&app, "begun", &[]).await;
        let witness = wait(&app, &event, "cid@example.com").await;
        let mut cancelled = Vec::new();
        for (flow, email) in [(&delay, "ann@example.com"), (&event, "bob@example.com")] {
            let id = wait(&app, flow, email).await;
            let path = flow.path(&format!("/executions/{id}"));
            app.delete(&path).send().await.assert_status(200);
            cancelled.push((flow, id));
        }
        track(&app, "bob@example.com", "paid", json!({})).await;
        app.advance(2 * HOUR).await;
        event.once(&witness, "EXITED").await;
        for (flow, id) in &cancelled {
            let found = flow.execution(id).await;
            assert_eq!((&found["status"], &found["exitReason"]), (&json!("CANCELLED"), &json!("cancelled")));
            assert!(!taken(&found).iter().any(|step| step.starts_with("EXIT")), "{found}");
        }
    }

    async fn a_date_of_the_workflow_or_of_the_contact_is_waited_for(engine: Engine) {
        let app = App::start(engine).await;
        let now = app.now();
        let (fixed, own) = (json!(iso(now + HOUR_MS)), json!({"renewal": iso(now + 3 * HOUR_MS)}));
        let field = json!({"mode": "field", "field": "data.renewal"});
        let later = json!({"mode": "field", "field": "data.renewal", "offset": {"amount": 2, "unit": "hours"}});
        let past = json!({"renewal": iso(now - HOUR_MS)});
        let mut begun = Vec::new();
        for (n, (config, data, hours)) in [
            (json!({"mode": "date", "date": fixed}), json!({}), 1),
            (field.clone(), own.clone(), 3),
            (later, own, 5),
            (field.clone(), past, 0),
        ].into_iter().enumerate() {
            let flow = enabled(&app, "begun", &[("WAIT_UNTIL", config)]).await;
            let id = begin(&app, &flow, &format!("c{n}@example.com"), data).await;
            begun.push((flow, id, hours));
        }
        for passed in 0..=5 {
            for (flow, id, hours) in &begun {
                flow.once(id, if *hours <= passed { "EXITED" } else { "WAITING" }).await;
            }
            // some minutes before the next full hour, and some after it
            until(&app, now + (passed + 1) * HOUR_MS - 5 * MINUTE_MS).await;
            for (flow, id, hours) in &begun {
                flow.once(id, if *hours <= passed { "EXITED" } else { "WAITING" }).await;
            }
            until(&app, now + (passed + 1) * HOUR_MS + MINUTE_MS).await;
        }
        for (n, data) in [json!({}), json!({"renewal": "soon"})].into_iter().enumerate() {
            let flow = enabled(&app, "begun", &[("WAIT_UNTIL", field.clone())]).await;
            let id = begin(&app, &flow, &format!("none{n}@example.com"), data).await;
            let ended = flow.once(&id, "EXITED").await;
            assert_eq!(taken(&ended)[1], "WAIT_UNTIL SKIPPED");
            assert_eq!(output(&ended, "WAIT_UNTIL")["skipped"], "no_date");
        }
    }

    async fn a_window_opens_in_the_time_zone_of_the_contact(engine: Engine) {
        let app = App::start(engine).await;
        let midnight = (app.now() / DAY_MS + 1) * DAY_MS;
        until(&app, midnight + HOUR_MS).await;
        let tomorrow = DAYS[(midnight / DAY_MS + 1) as usize % 7];
        let office = json!({"from": "09:00", "to": "17:00"});
        let zone = |name: &str| json!({"timezone": name});
        let mut begun = Vec::new();
        // the minutes from midnight to when it opens, unless it is open
        for (n, (mut window, data, opens)) in [
            (json!({"from": "00:00", "to": "23:59"}), json!({}), 0),
            (office.clone(), zone("Asia/Tokyo"), 0),
            (json!({"from": "03:00", "to": "04:00"}), json!({}), 180),
            (office.clone(), zone("Asia/Kolkata"), 210),
            (office.clone(), json!({}), 540),
            (office, zone("Nowhere/City"), 540),
            (json!({"from": "00:00", "to": "23:59", "days": [tomorrow]}), json!({}), 1440),
            (json!({"from": "00:10", "to": "00:50"}), json!({}), 1450),
        ].into_iter().enumerate() {
            window["mode"] = json!("window");
            let flow = enabled(&app, "begun", &[("WAIT_UNTIL", window)]).await;
            let id = begin(&app, &flow, &format!("c{n}@example.com"), data).await;
            begun.push((flow, id, opens));
        }
        for minute in [60, 175, 181, 205, 211, 535, 541, 1435, 1441, 1445, 1451] {
            if minute > 60 {
                until(&app, midnight + minute * MINUTE_MS).await;
            }
            for (flow, id, opens) in &begun {
                flow.once(id, if *opens <= minute { "EXITED" } else { "WAITING" }).await;
            }
        }
    }

    async fn waits_and_events_survive_a_crash(engine: Engine) {
        let mut app = App::start(engine).await;
        let until_then = iso(app.now() + HOUR_MS);
        let mut begun = Vec::new();
        for (n, (kind, config)) in [
            ("DELAY", json!({"amount": 1, "unit": "hours"})),
            ("WAIT_FOR_EVENT", json!({"eventName": "paid", "timeout": 3600})),
            ("WAIT_UNTIL", json!({"mode": "date", "date": until_then})),
            ("WAIT_FOR_EVENT", json!({"eventName": "paid"})),
        ].into_iter().enumerate() {
            let flow = enabled(&app, "begun", &[(kind, config)]).await;
            let id = wait(&app, &flow, &format!("c{n}@example.com")).await;
            begun.push((json!({"id": flow.id}), id));
        }
        let flow = enabled(&app, "tracked", &[]).await;
        let tracked = json!({"id": flow.id});
        for n in 0..10 {
            track(&app, &format!("t{n}@example.com"), "tracked", json!({})).await;
        }
        app.kill();
        app.advance(2 * HOUR).await;
        app.restart().await;
        track(&app, "c3@example.com", "paid", json!({})).await;
        for (workflow, id) in &begun {
            let ended = Flow::of(&app, workflow).await.once(id, "EXITED").await;
            assert_eq!(taken(&ended).len(), 3, "{ended}");
        }
        let flow = Flow::of(&app, &tracked).await;
        app.eventually("every event that was accepted had its execution", async || {
            let executions = flow.executions().await;
            (executions.iter().filter(|execution| execution["status"] == "EXITED").count() == 10).then_some(())
        }).await;
        assert_eq!(flow.executions().await.len(), 10);
    }
}
