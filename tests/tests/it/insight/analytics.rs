//! Figures over time: they are what a recount of the rows gives.

use std::collections::BTreeMap;

use mailwright_testkit::{App, Engine, Value, both_engines, json};
use mailwright_tests::browser::change_project;
use mailwright_tests::{items, read, required_header, send_ok, text, track_ok};

use super::{DAY, live};
use crate::tracking::builder;

/// What the rows of the database say happened from one instant on and before another.
async fn recount(app: &App, from: i64, until: i64) -> BTreeMap<&'static str, i64> {
    let rows = app.rows().await;
    let mut counts = BTreeMap::new();
    let mut count = |name, table: &str, column: &str, of: &str| {
        let all = rows[table].iter().map(|row| serde_json::from_str::<Value>(row).expect("a row"));
        let counted = all.filter(|row| {
            let at = row[of].as_i64().expect("a time");
            at >= from && at < until && !row[column].is_null()
        });
        counts.insert(name, counted.count() as i64);
    };
    for (name, column) in [
        ("emails", "created_at"),
        ("sent", "sent_at"),
        ("delivered", "delivered_at"),
        ("opens", "opened_at"),
        ("clicks", "clicked_at"),
        ("bounces", "bounced_at"),
        ("complaints", "complained_at"),
        ("unsubscribes", "unsubscribed_at"),
    ] {
        count(name, "emails", column, "created_at");
    }
    count("received", "inbound_mails", "id", "created_at");
    count("events", "events", "id", "created_at");
    counts
}

/// The dates that the last thirty days touch in a zone. Where clocks are set back in between, they may be thirty.
fn dates(app: &App, zone: &str) -> Vec<String> {
    let zone = jiff::tz::TimeZoneDatabase::bundled().get(zone).expect("a time zone");
    let date =
        |millis: i64| zone.to_datetime(jiff::Timestamp::from_millisecond(millis).expect("a time")).date();
    let (first, last) = (date(app.now() - 30 * DAY.as_millis() as i64), date(app.now()));
    first
        .series(jiff::Span::new().days(1))
        .take_while(|date| *date <= last)
        .map(|date| date.to_string())
        .collect()
}

fn millis(text: &Value) -> i64 {
    text.as_str().expect("a time").parse::<jiff::Timestamp>().expect("a time").as_millisecond()
}

/// The days of a period, each as a recount says it should be.
async fn checked(app: &App, query: &str) -> Vec<Value> {
    let days = read(app, &format!("/analytics/timeseries?{query}")).await;
    let days = items(&days).to_vec();
    for (place, day) in days.iter().enumerate() {
        let begin = millis(&day["date"]);
        let end = days.get(place + 1).map_or(begin + DAY.as_millis() as i64, |next| millis(&next["date"]));
        for (name, expected) in recount(app, begin, end).await {
            assert_eq!(day[name], expected, "{name} of {day}");
        }
    }
    days
}

fn sum(days: &[Value], name: &str) -> i64 {
    days.iter().map(|day| day[name].as_i64().expect("a number")).sum()
}

both_engines! {
    async fn days_are_what_a_recount_gives_in_any_zone(engine: Engine) {
        let app = builder(engine).env("MAILWRIGHT_TRACKING_SETTLE_MS", "0").start().await;
        live(&app).await;
        for hours in [5, 20, 7] {
            app.advance(std::time::Duration::from_hours(hours)).await;
            track_ok(&app, json!({"email": "ann@example.com", "event": "seen"})).await;
            let data = send_ok(&app, mailwright_tests::inline(&app, &json!("cid@example.com"))).await;
            app.email_in(data["emails"][0]["email"].as_str().expect("an id"), &["SENT"]).await;
        }
        for zone in ["UTC", "Asia/Kolkata", "America/St_Johns", "Pacific/Auckland"] {
            change_project(&app, &json!({"timezone": zone})).await;
            let days = checked(&app, "").await;
            let named: Vec<&str> = days.iter().map(|day| text(&day["day"])).collect();
            assert_eq!(named, dates(&app, zone), "{zone}");
            assert_eq!((sum(&days, "emails"), sum(&days, "sent")), (6, 6), "{zone}");
            assert_eq!((sum(&days, "opens"), sum(&days, "clicks")), (1, 1), "{zone}");
        }
        // the maintenance folds the sums of the past, and what is learnt of them later is added
        app.eventually("the past is folded", async || {
            app.advance(std::time::Duration::from_mins(16)).await;
            (!app.rows().await["rollup_days"].is_empty()).then_some(())
        })
        .await;
        checked(&app, "").await;
        let stats = read(&app, "/activity/stats").await;
        assert_eq!((&stats["totalEmailsSent"], &stats["totalEmailsOpened"]), (&json!(6), &json!(1)));
        assert_eq!((&stats["totalWorkflowsStarted"], &stats["totalEmailsClicked"]), (&json!(1), &json!(1)));
        assert_eq!(stats["totalEvents"], app.rows().await["events"].len());
        assert_eq!(stats["openRate"].as_f64(), Some(100.0 / 6.0));
    }

    async fn a_day_with_a_change_of_clocks_has_its_hours(engine: Engine) {
        let app = App::start(engine).await;
        change_project(&app, &json!({"timezone": "Europe/Berlin"})).await;
        let path = "/analytics/timeseries?startDate=2026-03-28T12:00:00Z&endDate=2026-03-30T12:00:00Z";
        let days = read(&app, path).await;
        let begins: Vec<_> = items(&days).iter().map(|day| (day["day"].clone(), day["date"].clone())).collect();
        assert_eq!(begins, [
            (json!("2026-03-28"), json!("2026-03-27T23:00:00.000Z")),
            (json!("2026-03-29"), json!("2026-03-28T23:00:00.000Z")),
            (json!("2026-03-30"), json!("2026-03-29T22:00:00.000Z")),
        ]);
    }

    async fn campaigns_and_events_are_compared(engine: Engine) {
        let app = builder(engine).env("MAILWRIGHT_TRACKING_SETTLE_MS", "0").start().await;
        let lived = live(&app).await;
        track_ok(&app, json!({"email": "ann@example.com", "event": "seen"})).await;
        let top = read(&app, "/analytics/top-campaigns").await;
        assert_eq!(top, json!([{
            "id": lived.campaign["id"], "name": "News", "subject": "Hello", "sentCount": 2, "openedCount": 0,
            "clickedCount": 0, "openRate": 0.0, "clickRate": 0.0,
        }]));
        let figures = read(&app, "/analytics/campaign-stats").await;
        assert_eq!(figures, json!({
            "total": 1, "active": 0, "completed": 1, "averageOpenRate": 0.0, "averageClickRate": 0.0,
        }));
        let events = json!([{"name": "seen", "count": 2, "trend": 100}, {"name": "begun", "count": 1, "trend": 100}]);
        assert_eq!(read(&app, "/analytics/top-events").await, events);
        assert_eq!(read(&app, "/analytics/top-events?limit=1").await, json!([events[0]]));
        assert_eq!(read(&app, "/activity/recent-count?minutes=60").await["count"], app.rows().await["events"].len());
    }

    async fn figures_are_there_as_csv(engine: Engine) {
        let app = App::start(engine).await;
        track_ok(&app, json!({"email": "ann@example.com", "event": "a, \"b\""})).await;
        let csv = async |path: &str| {
            let answer = app.get(path).header("accept", "text/csv").send().await.assert_status(200);
            assert_eq!(required_header(&answer, "content-type"), "text/csv; charset=utf-8");
            answer.text()
        };
        assert_eq!(csv("/analytics/top-events").await, "name,count,trend\r\n\"a, \"\"b\"\"\",1,100\r\n");
        // names come from anybody, and no spreadsheet takes them for formulas
        for name in ["=1+1", "-5"] {
            track_ok(&app, json!({"email": "bob@example.com", "event": name})).await;
        }
        let events = csv("/analytics/top-events").await;
        assert!(events.contains("\r\n'=1+1,1,100\r\n") && events.contains("\r\n-5,1,100\r\n"), "{events}");
        let days = csv("/analytics/timeseries?startDate=2026-01-01&endDate=2026-01-02").await;
        assert_eq!(days, "date,day,emails,sent,delivered,opens,clicks,bounces,complaints,unsubscribes,received,events\r\n\
            2026-01-01T00:00:00.000Z,2026-01-01,0,0,0,0,0,0,0,0,0,0\r\n");
        assert!(csv("/analytics/campaign-stats").await.starts_with("total,active,completed,"));
        assert!(csv("/analytics/top-campaigns").await.starts_with("id,name,subject,"));
        for bad in ["startDate=x", "startDate=2020-01-01&endDate=2026-01-01"] {
            app.get(&format!("/analytics/timeseries?{bad}")).send().await.assert_error(400, "BAD_REQUEST");
        }
        assert_eq!(read(&app, "/analytics/timeseries?startDate=2026-01-02&endDate=2026-01-01").await, json!([]));
    }
}
