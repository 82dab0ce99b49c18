//! Figures by recipients' domains, and of links.

use std::collections::BTreeMap;
use std::time::Duration;

use mailwright_testkit::{App, Engine, Value, both_engines, json};
use mailwright_tests::{create_contact, inline, items, read, send_ok, text};

use super::{DAY, campaign_with, live};
use crate::tracking::{Mail, PERSON, builder, judged, visit};

/// Accepted, sent, opened, clicked, bounced.
type Figures = [i64; 5];

/// What each domain's mails came to, by the rows of the mails.
async fn recount(app: &App) -> BTreeMap<String, Figures> {
    let mut domains: BTreeMap<String, Figures> = BTreeMap::new();
    for row in &app.rows().await["emails"] {
        let row: Value = serde_json::from_str(row).expect("a row");
        let (_, domain) = text(&row["recipient"]).rsplit_once('@').expect("an address");
        let figures = domains.entry(domain.to_owned()).or_default();
        figures[0] += 1;
        for (place, column) in ["sent_at", "opened_at", "clicked_at", "bounced_at"].into_iter().enumerate() {
            figures[place + 1] += i64::from(!row[column].is_null());
        }
    }
    domains
}

fn listed(found: &Value) -> BTreeMap<String, Figures> {
    let rows = items(found).iter().map(|row| {
        let names = ["emails", "sent", "opens", "clicks", "bounces"];
        let figures = names.map(|name| row[name].as_i64().expect("a number"));
        (row["domain"].as_str().unwrap_or("others").to_owned(), figures)
    });
    rows.collect()
}

fn sum<'f>(figures: impl Iterator<Item = &'f Figures>) -> Figures {
    figures.fold([0; 5], |sum, one| std::array::from_fn(|place| sum[place] + one[place]))
}

async fn send_to(app: &App, address: &str) {
    let data = send_ok(app, inline(app, &json!(address))).await;
    app.email_in(text(&data["emails"][0]["email"]), &["SENT"]).await;
}

both_engines! {
    async fn domains_are_what_a_recount_gives(engine: Engine) {
        let app = builder(engine).env("MAILWRIGHT_TRACKING_SETTLE_MS", "0").start().await;
        live(&app).await;
        for address in ["a@one.test", "b@one.test", "c@two.test", "d@three.test"] {
            send_to(&app, address).await;
        }
        let counted = recount(&app).await;
        assert_eq!(counted.len(), 4, "{counted:?}");
        assert_eq!(listed(&read(&app, "/analytics/domains").await), counted);
        // those that got most come first, the others are one row
        // the same day by day, of one domain
        let days = read(&app, "/analytics/timeseries?domain=One.test").await;
        let total = |name: &str| items(&days).iter().filter_map(|day| day[name].as_i64()).sum::<i64>();
        assert_eq!((total("emails"), total("sent"), total("events")), (2, 2, 0));
        assert_eq!(items(&days).iter().filter(|day| day["emails"] != 0).count(), 1, "{days}");
        assert_eq!(items(&days).len(), 31, "days without any are told");
        let none = read(&app, "/analytics/timeseries?domain=nowhere.test").await;
        assert!(items(&none).iter().all(|day| day["emails"] == 0), "{none}");
        let found = read(&app, "/analytics/domains?limit=2").await;
        let domains: Vec<_> = items(&found).iter().map(|row| row["domain"].clone()).collect();
        assert_eq!(domains, [json!("example.com"), json!("one.test"), json!(null)]);
        assert_eq!(sum(counted.values()), sum(listed(&found).values()));
        // what is learnt, or sent, after the sums were folded is added
        app.advance(DAY * 2).await;
        app.eventually("the past is folded", async || {
            app.advance(Duration::from_mins(2)).await;
            (!app.rows().await["domain_days"].is_empty()).then_some(())
        })
        .await;
        send_to(&app, "e@two.test").await;
        assert_eq!(listed(&read(&app, "/analytics/domains").await), recount(&app).await);
        let day = jiff::Timestamp::from_millisecond(app.now() - DAY.as_millis() as i64).expect("a time");
        let late = read(&app, &format!("/analytics/domains?startDate={day}")).await;
        assert_eq!(listed(&late), BTreeMap::from([("two.test".to_owned(), [1, 1, 0, 0, 0])]));
        let csv = app.get("/analytics/domains?limit=1").header("accept", "text/csv").send().await;
        let csv = csv.assert_status(200).text();
        let header = "domain,emails,sent,delivered,opens,clicks,bounces,complaints,unsubscribes";
        assert_eq!(csv.lines().next(), Some(header));
        let long = "/analytics/domains?startDate=2020-01-01T00:00:00Z&endDate=2024-01-01T00:00:00Z";
        app.get(long).send().await.assert_error(400, "BAD_REQUEST");
    }

    async fn links_have_the_clicks_of_all_campaigns(engine: Engine) {
        let app = builder(engine).env("MAILWRIGHT_TRACKING_SETTLE_MS", "0").start().await;
        create_contact(&app, "ann@example.com", true, json!({})).await;
        assert_eq!(read(&app, "/analytics/links").await, json!([]));
        let body = "<a href=\"https://shop.test/one\">One</a> <a href=\"https://shop.test/two\">Two</a>";
        for clicked in [vec![0], vec![0, 1]] {
            let campaign = campaign_with(&app, body).await;
            let mail = app.eventually("the mail of the campaign", async || {
                let mails = read(&app, "/emails").await;
                let mail = items(&mails["data"]).iter().find(|mail| mail["campaignId"] == campaign["id"])?;
                Some(text(&mail["id"]).to_owned())
            });
            let mail = Mail::of(&app, &mail.await).await;
            for link in &clicked {
                app.advance(Duration::from_mins(3)).await;
                visit(&app, &mail.links()[*link], PERSON).await;
            }
            judged(&app, &mail, clicked.len()).await;
        }
        let found = read(&app, "/analytics/links").await;
        let one = json!({
            "url": "https://shop.test/one", "campaigns": 2, "clicks": 2, "uniqueClicks": 2, "machineClicks": 0,
        });
        let two = json!({
            "url": "https://shop.test/two", "campaigns": 2, "clicks": 1, "uniqueClicks": 1, "machineClicks": 0,
        });
        assert_eq!(found, json!([one, two]));
        assert_eq!(read(&app, "/analytics/links?limit=1").await, json!([one]));
    }
}
