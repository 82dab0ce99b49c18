//! Whom a campaign reaches.

use super::{contacts, draft, entries, frozen, get, path, send, settled};
use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, Value, both_engines, json};
use mailwright_tests::{column, contact_by_email, create_contact, read, text};
use std::collections::BTreeSet;
use std::time::Duration;

/// The addresses that mail was captured for.
async fn reached(app: &App) -> BTreeSet<String> {
    let mails = Value::Array(app.list_all("/emails").await);
    let sent = mails.as_array().expect("a list").iter().filter(|mail| mail["status"] == "SENT");
    sent.map(|mail| text(&mail["to"]).to_owned()).collect()
}

fn filter(field: &str, operator: &str, value: &Value) -> Value {
    json!({
        "audienceType": "FILTERED",
        "audienceCondition": {
            "logic": "AND",
            "groups": [{"filters": [{"field": field, "operator": operator, "value": value}]}],
        },
    })
}

both_engines! {
    async fn the_type_decides_whether_the_subscription_counts(engine: Engine) {
        for (kind, expected) in [
            ("MARKETING", vec!["in@example.com"]),
            ("HEADLESS", vec!["in@example.com"]),
            ("TRANSACTIONAL", vec!["in@example.com", "out@example.com"]),
        ] {
            let app = App::start(engine).await;
            create_contact(&app, "in@example.com", true, json!({})).await;
            create_contact(&app, "out@example.com", false, json!({})).await;
            let campaign = draft(&app, &json!({"type": kind})).await;
            assert_eq!(campaign["totalRecipients"], expected.len(), "{kind}");
            let unsubscribed = 2 - expected.len();
            let audience = json!({
                "audience": 2, "recipients": expected.len(),
                "excluded": {"unsubscribed": unsubscribed, "notInTopic": 0, "suppressed": 0},
            });
            assert_eq!(read(&app, &path(&campaign, "/audience")).await, audience, "{kind}");
            send(&app, &campaign).await;
            let ledger = settled(&app, &campaign).await;
            assert_eq!(reached(&app).await, expected.iter().map(|to| (*to).to_owned()).collect(), "{kind}");
            assert_eq!(ledger["equation"]["audience"], 2, "{ledger}");
            let skipped = if unsubscribed == 0 { json!({}) } else { json!({"unsubscribed": 1}) };
            assert_eq!(ledger["equation"]["skipped"], skipped, "{ledger}");
            assert_eq!(get(&app, &campaign).await["totalRecipients"], expected.len());
            assert_eq!(read(&app, &path(&campaign, "/audience")).await, audience, "{kind}, afterwards");
        }
    }

    async fn one_contact_is_an_audience(engine: Engine) {
        let app = App::start(engine).await;
        contacts(&app, "a", 1).await;
        let campaign = draft(&app, &json!({})).await;
        send(&app, &campaign).await;
        assert_eq!(settled(&app, &campaign).await["equation"]["accepted"], 1);
    }

    async fn a_filter_picks_whom_it_finds(engine: Engine) {
        let app = App::start(engine).await;
        contacts(&app, "a", 30).await;
        let campaign = draft(&app, &filter("data.number", "greaterThan", &json!(26))).await;
        assert_eq!(campaign["totalRecipients"], 3);
        let counted = read(&app, &path(&campaign, "/audience")).await;
        let excluded = json!({"unsubscribed": 0, "notInTopic": 0, "suppressed": 0});
        assert_eq!(counted, json!({"audience": 3, "recipients": 3, "excluded": excluded}));
        send(&app, &campaign).await;
        assert_eq!(settled(&app, &campaign).await["equation"]["audience"], 3);
        let expected = [27, 28, 29].map(|number| format!("a{number}@example.com"));
        assert_eq!(reached(&app).await, expected.into());

        app.track(json!({"email": "a5@example.com", "event": "bought"})).await.assert_status(200);
        let bought = json!({
            "audienceType": "FILTERED",
            "audienceCondition": {"logic": "AND", "groups": [{"filters": [
                {"field": "event.bought", "operator": "triggered"}]}]},
        });
        let campaign = draft(&app, &bought).await;
        send(&app, &campaign).await;
        settled(&app, &campaign).await;
        let page = read(&app, &path(&campaign, "/ledger?state=ACCEPTED")).await;
        assert_eq!(column(&page["data"], "email"), ["a5@example.com"]);
    }

    async fn contacts_that_come_after_the_start_are_not_part_of_it(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_SENDING_PER_SECOND", "5").start().await;
        contacts(&app, "a", 12).await;
        let campaign = draft(&app, &json!({})).await;
        send(&app, &campaign).await;
        contacts(&app, "late", 3).await;
        let ledger = settled(&app, &campaign).await;
        assert_eq!(ledger["equation"]["audience"], 12, "{ledger}");
        assert!(reached(&app).await.iter().all(|to| to.starts_with('a')));
    }

    async fn a_large_audience_is_frozen_chunk_by_chunk_without_a_gap(engine: Engine) {
        // more than two chunks, many of them made in the same millisecond
        let app = App::start(engine).await;
        for part in 0..6 {
            contacts(&app, &format!("p{part}x"), 200).await;
        }
        let campaign = draft(&app, &json!({})).await;
        send(&app, &campaign).await;
        let ledger = settled(&app, &campaign).await;
        assert_eq!(ledger["equation"]["accepted"], 1_200, "{ledger}");
        assert_eq!(reached(&app).await.len(), 1_200);
    }

    async fn an_address_that_bounced_gets_no_campaign_until_its_owner_subscribes_again(engine: Engine) {
        let server = ScriptedServer::start(|to, attempt| match (to, attempt) {
            ("gone@example.com", 1) => Answer::RefuseRcpt(550, "5.1.1 unknown"),
            _ => Answer::Accept,
        })
        .await;
        let app = App::builder(engine).smtp(server.port).start().await;
        create_contact(&app, "gone@example.com", true, json!({})).await;
        let id = app.send_to("gone@example.com").await;
        app.email_in(&id, &["BOUNCED"]).await;

        // a transactional campaign asks for no subscription, and still does not write there
        let campaign = draft(&app, &json!({"type": "TRANSACTIONAL"})).await;
        assert_eq!(campaign["totalRecipients"], 0);
        let counted = read(&app, &path(&campaign, "/audience")).await;
        assert_eq!(counted["excluded"], json!({"unsubscribed": 0, "notInTopic": 0, "suppressed": 1}));
        app.post(&path(&campaign, "/send")).send().await.assert_error(400, "BAD_REQUEST");
        contacts(&app, "a", 1).await;
        send(&app, &campaign).await;
        let ledger = settled(&app, &campaign).await;
        assert_eq!(ledger["equation"]["skipped"], json!({"suppressed": 1}), "{ledger}");
        assert_eq!(entries(&app, &campaign, "state=SKIPPED").await[0]["email"], "gone@example.com");

        let again = json!({"email": "gone@example.com", "subscribed": true});
        app.post("/contacts").json(&again).send().await.assert_status(200);
        let campaign = draft(&app, &json!({})).await;
        send(&app, &campaign).await;
        assert_eq!(settled(&app, &campaign).await["equation"]["accepted"], 2);
        assert_eq!(server.received_for("gone@example.com").len(), 1);
    }

    async fn what_happens_to_contacts_while_a_campaign_is_under_way(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_SENDING_PER_SECOND", "3").start().await;
        let first = contacts(&app, "first", 3).await;
        let people = contacts(&app, "a", 12).await;
        let campaign = draft(&app, &json!({})).await;
        send(&app, &campaign).await;
        frozen(&app, &campaign).await;
        // mails leave in the order in which they were frozen: the last ones wait for seconds
        let (leaves, goes, moves, doubles) = (&people[8], &people[9], &people[10], &people[11]);
        let change = async |contact: &Value, change: Value| {
            let path = format!("/contacts/{}", text(&contact["id"]));
            app.patch(&path).json(&change).send().await.assert_status(200);
        };
        change(leaves, json!({"subscribed": false})).await;
        app.delete(&format!("/contacts/{}", text(&goes["id"]))).send().await.assert_status(204);
        change(moves, json!({"email": "moved@example.com"})).await;
        // an address that was written to passes to a contact whose mail still waits
        app.eventually("the first mails are out", async || {
            let sent = get(&app, &campaign).await["sentCount"].as_i64();
            (sent >= Some(3)).then_some(())
        })
        .await;
        change(&first[0], json!({"email": "elsewhere@example.com"})).await;
        change(doubles, json!({"email": "first0@example.com"})).await;

        let ledger = settled(&app, &campaign).await;
        assert_eq!(
            ledger["equation"]["skipped"],
            json!({"deleted": 1, "duplicate": 1, "unsubscribed": 1}),
            "{ledger}"
        );
        assert_eq!(ledger["equation"]["accepted"], 12, "{ledger}");
        let reached = reached(&app).await;
        assert!(reached.contains("moved@example.com") && !reached.contains("a10@example.com"), "{reached:?}");
        assert!(!reached.contains("a8@example.com") && !reached.contains("a9@example.com"), "{reached:?}");
        assert_eq!(app.mailbox_for("first0@example.com").await.len(), 1, "once, whoever has the address");

        let deleted = entries(&app, &campaign, "state=SKIPPED&reason=deleted").await;
        assert_eq!((&deleted[0]["email"], &deleted[0]["contactId"]), (&Value::Null, &goes["id"]));
        let mail = app.email(text(&deleted[0]["emailId"])).await;
        assert_eq!((&mail["to"], &mail["status"]), (&json!(""), &json!("SKIPPED")), "{mail}");
        assert!(contact_by_email(&app, "a9@example.com").await.is_none());
    }

    async fn deleting_a_contact_keeps_the_ledger_and_nothing_personal(engine: Engine) {
        let app = App::start(engine).await;
        let people = contacts(&app, "a", 3).await;
        let campaign = draft(&app, &json!({"subject": "For {{email}}"})).await;
        send(&app, &campaign).await;
        settled(&app, &campaign).await;
        app.delete(&format!("/contacts/{}", text(&people[1]["id"]))).send().await.assert_status(204);
        let ledger = settled(&app, &campaign).await;
        assert_eq!(ledger["equation"]["accepted"], 3, "{ledger}");
        let entries = entries(&app, &campaign, "state=ACCEPTED").await;
        let of = entries.iter().find(|entry| entry["contactId"] == people[1]["id"]).expect("still there");
        assert_eq!(of["email"], Value::Null);
        let mail = app.email(text(&of["emailId"])).await;
        assert!(!mail.to_string().contains("a1@example.com"), "{mail}");
        assert_eq!(mail["status"], "SENT");
        assert_eq!(get(&app, &campaign).await["sentCount"], 3);
    }

    async fn a_contact_deleted_while_its_mail_is_on_the_wire_leaves_only_its_row(engine: Engine) {
        let server = ScriptedServer::start(|_, _| Answer::Delay(Duration::from_secs(2))).await;
        let app = App::builder(engine).smtp(server.port).start().await;
        let people = contacts(&app, "a", 1).await;
        let campaign = draft(&app, &json!({"subject": "For {{email}}"})).await;
        send(&app, &campaign).await;
        app.eventually("the mail is on the wire", async || {
            let page = read(&app, "/emails?status=SENDING").await;
            (page["total"] == 1).then_some(())
        })
        .await;
        app.delete(&format!("/contacts/{}", text(&people[0]["id"]))).send().await.assert_status(204);
        let ledger = settled(&app, &campaign).await;
        assert_eq!(ledger["equation"]["accepted"], 1, "{ledger}");
        let entry = &entries(&app, &campaign, "state=ACCEPTED").await[0];
        let mail = app.email(text(&entry["emailId"])).await;
        assert!(!mail.to_string().contains("a0@example.com"), "{mail}");
        let events = read(&app, "/events?eventName=email.sent").await;
        assert_eq!(events["events"], json!([]), "nothing is recorded about somebody who is gone");
    }
}
