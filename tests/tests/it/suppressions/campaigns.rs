//! Campaigns: whom they skip, and that an address that is added stops at once.

use std::time::Duration;

use mailwright_testkit::{App, Engine, Value, both_engines, json};
use mailwright_tests::{create_contact, read, text};

use super::{by_hand, rule, suppress};

async fn begin(app: &App, kind: &str) -> String {
    let body = json!({
        "name": "News", "subject": "News {{name}}", "body": "<p>News</p>", "from": app.from(), "audienceType": "ALL",
        "type": kind,
    });
    let draft = app.post("/campaigns").json(&body).send().await.assert_status(201).json();
    let id = text(&draft["data"]["id"]).to_owned();
    app.post(&format!("/campaigns/{id}/send")).json(&json!({})).send().await.assert_status(200);
    id
}

/// The ledger of a campaign that is over, which adds up.
async fn settled(app: &App, id: &str) -> Value {
    app.eventually_within(Duration::from_mins(1), "the campaign is over", async || {
        let campaign = read(app, &format!("/campaigns/{id}")).await;
        (!campaign["finishedAt"].is_null()).then_some(())
    })
    .await;
    let ledger = read(app, &format!("/campaigns/{id}/ledger")).await;
    assert_eq!(
        (&ledger["balance"], &ledger["equation"]["balanced"]),
        (&ledger["equation"], &json!(true)),
        "{ledger}"
    );
    ledger
}

async fn skipped(app: &App, id: &str) -> Vec<Value> {
    let mut mails = Vec::new();
    for entry in app.list_all(&format!("/campaigns/{id}/ledger?state=SKIPPED")).await {
        mails.push(app.email(text(&entry["emailId"])).await);
    }
    mails
}

both_engines! {
    async fn contacts_are_skipped_and_it_is_said_by_what(engine: Engine) {
        let app = App::start(engine).await;
        for name in ["ada", "listed", "fits+qa", "calm", "everywhere"] {
            create_contact(&app, &format!("{name}@example.com"), true, json!({"name": name})).await;
        }
        by_hand(&app, "listed@example.com").await;
        rule(&app, "SUFFIX", "+qa").await;
        suppress(&app, json!({"email": "calm@example.com", "reason": "unsubscribe-all"})).await;
        app.run(&["suppressions", "add", "everywhere@example.com"]).await;
        for (kind, count) in [("MARKETING", 4), ("HEADLESS", 4), ("TRANSACTIONAL", 3)] {
            let id = begin(&app, kind).await;
            let ledger = settled(&app, &id).await;
            assert_eq!(ledger["equation"]["skipped"], json!({"suppressed": count}), "{kind}: {ledger}");
            assert_eq!(ledger["equation"]["accepted"], 5 - count, "{kind}");
            let mut sources: Vec<String> = Vec::new();
            for mail in skipped(&app, &id).await {
                assert_eq!(mail["status"], "SUPPRESSED", "{mail}");
                sources.push(text(&mail["suppression"]["source"]).to_owned());
            }
            sources.sort();
            let expected = ["instance", "project", "project", "rule"];
            assert_eq!(sources, if count == 4 { &expected[..] } else { &["instance", "project", "rule"] }, "{kind}");
        }
        let held = read(&app, "/suppressions/emails").await;
        assert_eq!(held["emails"].as_array().map(Vec::len), Some(11));
        assert!(text(&held["emails"][0]["renderedSubject"]).starts_with("News "), "{held}");
        // the count of an audience knows the list and its reasons
        let body = json!({
            "name": "More", "subject": "s", "body": "b", "from": app.from(), "audienceType": "ALL", "type": "TRANSACTIONAL",
        });
        let draft = app.post("/campaigns").json(&body).send().await.assert_status(201).json();
        let counted = read(&app, &format!("/campaigns/{}/audience", text(&draft["data"]["id"]))).await;
        assert_eq!(counted["excluded"], json!({"notInTopic": 0, "unsubscribed": 0, "suppressed": 1}), "{counted}");
    }

    async fn an_address_that_is_added_while_a_campaign_runs_stops_at_once(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_SENDING_PER_SECOND", "3").start().await;
        for number in 10..28 {
            create_contact(&app, &format!("a{number}@example.com"), true, json!({})).await;
        }
        let moved = create_contact(&app, "moved@example.com", true, json!({})).await;
        let id = begin(&app, "MARKETING").await;
        app.eventually("the audience is frozen", async || {
            (read(&app, &format!("/campaigns/{id}/ledger")).await["frozen"] == true).then_some(())
        })
        .await;
        // the last ones wait for seconds
        by_hand(&app, "a27@example.com").await;
        rule(&app, "ADDRESS", "a26@example.com").await;
        app.run(&["suppressions", "add", "a25@example.com"]).await;
        by_hand(&app, "elsewhere@example.com").await;
        let path = format!("/contacts/{}", text(&moved["id"]));
        app.patch(&path).json(&json!({"email": "elsewhere@example.com"})).send().await.assert_status(200);
        let ledger = settled(&app, &id).await;
        assert_eq!(ledger["equation"]["skipped"], json!({"suppressed": 4}), "{ledger}");
        assert_eq!(ledger["equation"]["accepted"], 15, "{ledger}");
        for name in ["a27", "a26", "a25", "moved", "elsewhere"] {
            assert_eq!(app.mailbox_for(&format!("{name}@example.com")).await.len(), 0, "{name}");
        }
        assert!(skipped(&app, &id).await.iter().all(|mail| mail["status"] == "SUPPRESSED"));
    }
}
