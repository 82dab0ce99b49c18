//! Contacts by month, and who of them still opens.

use std::collections::BTreeSet;
use std::time::Duration;

use mailwright_testkit::{App, Engine, Value, both_engines, json};
use mailwright_tests::{create_contact, inline, items, read, send_ok, text};

use super::DAY;
use crate::tracking::{Mail, PERSON, builder, judged, visit};

fn month(millis: i64) -> String {
    let at = jiff::Timestamp::from_millisecond(millis).expect("a time");
    at.to_string()[..7].to_owned()
}

/// Sends a mail, whose recipient opens it.
async fn opened(app: &App, address: &str) {
    let sent = send_ok(app, inline(app, &json!(address))).await;
    let mail = Mail::of(app, text(&sent["emails"][0]["email"])).await;
    app.advance(Duration::from_mins(3)).await;
    visit(app, &mail.picture(), PERSON).await;
    judged(app, &mail, 1).await;
}

/// A month and those after it, up to another.
fn months(first: &str, last: &str) -> Vec<String> {
    let first: jiff::civil::Date = format!("{first}-01").parse().expect("a month");
    let days = first.series(jiff::Span::new().months(1)).map(|day| day.to_string()[..7].to_owned());
    days.take_while(|month| &**month <= last).collect()
}

/// What the rows of contacts and events say: cohort, month, contacts, opened.
async fn recount(app: &App) -> BTreeSet<(String, String, i64, i64)> {
    let rows = app.rows().await;
    let parsed = |table: &str| -> Vec<Value> {
        rows[table].iter().map(|row| serde_json::from_str(row).expect("a row")).collect()
    };
    let (contacts, events) = (parsed("contacts"), parsed("events"));
    let created = |contact: &Value| month(contact["created_at"].as_i64().expect("a time"));
    let mut found = BTreeSet::new();
    let cohorts: BTreeSet<String> = contacts.iter().map(created).collect();
    let now = month(app.now());
    for cohort in cohorts {
        let of: Vec<&Value> = contacts.iter().filter(|contact| created(contact) == cohort).collect();
        for month_of in months(&cohort, &now) {
            let opened = of.iter().filter(|contact| {
                events.iter().any(|event| {
                    event["name"] == "email.open"
                        && event["contact_id"] == contact["id"]
                        && month(event["created_at"].as_i64().expect("a time")) == month_of
                })
            });
            let opened = opened.count() as i64;
            found.insert((cohort.clone(), month_of, of.len() as i64, opened));
        }
    }
    found
}

async fn listed(app: &App) -> BTreeSet<(String, String, i64, i64)> {
    let found = read(app, "/analytics/cohorts").await;
    let rows = items(&found).iter().map(|row| {
        let number = |name: &str| row[name].as_i64().expect("a number");
        (
            text(&row["cohort"]).to_owned(),
            text(&row["month"]).to_owned(),
            number("contacts"),
            number("opened"),
        )
    });
    rows.collect()
}

both_engines! {
    async fn cohorts_are_what_a_recount_gives(engine: Engine) {
        let app = builder(engine).env("MAILWRIGHT_TRACKING_SETTLE_MS", "0").start().await;
        assert_eq!(read(&app, "/analytics/cohorts").await, json!([]));
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        create_contact(&app, "bob@example.com", true, json!({})).await;
        opened(&app, "ann@example.com").await;
        opened(&app, "ann@example.com").await;
        let first = listed(&app).await;
        assert!(first.iter().any(|(.., contacts, opened)| (*contacts, *opened) == (2, 1)), "{first:?}");
        assert_eq!(first, recount(&app).await);
        app.advance(DAY * 32).await;
        create_contact(&app, "cid@example.com", true, json!({})).await;
        for address in ["ann@example.com", "bob@example.com", "cid@example.com"] {
            opened(&app, address).await;
        }
        assert_eq!(listed(&app).await, recount(&app).await);
        app.delete(&format!("/contacts/{}", text(&ann["id"]))).send().await.assert_status(204);
        assert_eq!(listed(&app).await, recount(&app).await);
        assert!(app.rows().await["contact_months"].iter().all(|row| !row.contains(text(&ann["id"]))));
        let csv = app.get("/analytics/cohorts?months=1").header("accept", "text/csv").send().await.assert_status(200).text();
        let now = month(app.now());
        assert_eq!(csv, format!("cohort,month,contacts,opened,openRate\r\n{now},{now},1,1,100\r\n"));
    }
}
