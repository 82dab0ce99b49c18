//! Who is not in a topic gets no mail of it.

use mailwright_testkit::{App, Engine, Value, both_engines, json};
use mailwright_tests::workflow::Flow;
use mailwright_tests::{create_contact, create_template, mail_to, read, text};

use super::{set, topic};

async fn campaign(app: &App, topic: &Value, changes: &Value) -> Value {
    let body = json!({
        "name": "News", "subject": "News", "body": "<p>News</p>", "from": app.from(), "audienceType": "ALL",
        "topicId": topic["id"],
    });
    let body = mailwright_tests::with(body, changes);
    app.post("/campaigns").json(&body).send().await.assert_status(201).json()["data"].clone()
}

async fn ledger(app: &App, campaign: &Value) -> Value {
    let path = format!("/campaigns/{}/ledger", text(&campaign["id"]));
    app.eventually("the campaign is over", async || {
        let ledger = read(app, &path).await;
        ledger["balance"].is_object().then_some(ledger)
    })
    .await
}

both_engines! {
    async fn a_campaign_reaches_who_is_in_its_topic(engine: Engine) {
        let app = App::start(engine).await;
        let mut people = Vec::new();
        for name in ["ann", "bob", "una"] {
            people.push(create_contact(&app, &format!("{name}@example.com"), name != "una", json!({})).await);
        }
        for (default, to_set) in [(true, false), (false, true)] {
            let about = topic(&app, "News", &json!({"defaultSubscribed": default})).await;
            set(&app, &people[1], &about, to_set).await;
            let made = campaign(&app, &about, &json!({})).await;
            assert_eq!((&made["topicId"], &made["totalRecipients"]), (&about["id"], &json!(1)), "{made}");
            let path = format!("/campaigns/{}", text(&made["id"]));
            let counted = read(&app, &format!("{path}/audience")).await;
            let expected = json!({"unsubscribed": 1, "notInTopic": 1, "suppressed": 0});
            assert_eq!((&counted["recipients"], &counted["excluded"]), (&json!(1), &expected), "{counted}");
            app.post(&format!("{path}/send")).json(&json!({})).send().await.assert_status(200);
            let ledger = ledger(&app, &made).await;
            assert_eq!(ledger["balance"]["skipped"], json!({"unsubscribed": 1, "not_in_topic": 1}), "{ledger}");
            assert_eq!(ledger["balance"]["accepted"], 1, "{ledger}");
            let counted = read(&app, &format!("{path}/audience")).await;
            assert_eq!(counted["excluded"]["notInTopic"], 1, "{counted}");
        }
        // a transactional mail goes to everybody
        let closed = topic(&app, "Closed", &json!({"defaultSubscribed": false})).await;
        let made = campaign(&app, &closed, &json!({"type": "TRANSACTIONAL"})).await;
        assert_eq!(made["totalRecipients"], 3);
        let nobody = campaign(&app, &closed, &json!({})).await;
        let path = format!("/campaigns/{}/send", text(&nobody["id"]));
        app.post(&path).json(&json!({})).send().await.assert_error(400, "BAD_REQUEST");
    }

    async fn who_leaves_after_the_freeze_is_skipped_at_the_claim(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_SENDING_PER_SECOND", "3").start().await;
        let news = topic(&app, "News", &json!({})).await;
        let mut people = Vec::new();
        for number in 0..12 {
            people.push(create_contact(&app, &format!("a{number}@example.com"), true, json!({})).await);
        }
        let made = campaign(&app, &news, &json!({})).await;
        let path = format!("/campaigns/{}", text(&made["id"]));
        app.post(&format!("{path}/send")).json(&json!({})).send().await.assert_status(200);
        app.eventually("the audience is frozen", async || {
            (read(&app, &format!("{path}/ledger")).await["frozen"] == true).then_some(())
        })
        .await;
        // mails leave in the order in which they were frozen: the last one waits for seconds
        set(&app, &people[11], &news, false).await;
        let ledger = ledger(&app, &made).await;
        assert_eq!(ledger["balance"]["skipped"], json!({"not_in_topic": 1}), "{ledger}");
        assert_eq!(ledger["balance"]["accepted"], 11, "{ledger}");
        assert!(app.mailbox_for("a11@example.com").await.is_empty());
    }

    async fn a_template_of_a_topic_is_sent_to_who_is_in_it(engine: Engine) {
        let app = App::start(engine).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        let news = topic(&app, "News", &json!({})).await;
        let template = create_template(&app, &json!({"type": "MARKETING", "topicId": news["id"]})).await;
        let send = || app.send(json!({"to": "ann@example.com", "template": template["id"]}));
        send().await.assert_status(200);
        set(&app, &ann, &news, false).await;
        let refused = send().await.assert_error(400, "BAD_REQUEST");
        assert!(refused.to_string().contains("topic"), "{refused}");
        let path = format!("/topics/{}", text(&news["id"]));
        // of who was never written to, the default counts
        let to_new = json!({"to": "new@example.com", "template": template["id"], "subscribed": true});
        app.send(to_new.clone()).await.assert_status(200);
        app.patch(&path).json(&json!({"defaultSubscribed": false})).send().await.assert_status(200);
        let to_new = json!({"to": "newer@example.com", "template": template["id"], "subscribed": true});
        app.send(to_new).await.assert_error(400, "BAD_REQUEST");
        set(&app, &ann, &news, true).await;
        send().await.assert_status(200);
    }

    async fn a_workflow_skips_who_is_not_in_the_topic(engine: Engine) {
        let app = App::start(engine).await;
        let (ann, bob) = (
            create_contact(&app, "ann@example.com", true, json!({})).await,
            create_contact(&app, "bob@example.com", true, json!({})).await,
        );
        let news = topic(&app, "News", &json!({})).await;
        set(&app, &ann, &news, false).await;
        let template = create_template(&app, &json!({"type": "MARKETING", "topicId": news["id"]})).await;
        let flow = Flow::new(&app, "signup").await;
        flow.then("SEND_EMAIL", json!({"templateId": template["id"]})).await;
        flow.enable().await;
        for contact in [&ann, &bob] {
            flow.start(&contact["id"], json!({})).await;
        }
        mail_to(&app, "bob@example.com").await;
        let skipped = app
            .eventually("the mail is skipped", async || {
                let emails = read(&app, "/emails?limit=10").await;
                let rows = mailwright_tests::items(&emails["data"]);
                rows.iter().find(|mail| mail["status"] == "SKIPPED").cloned()
            })
            .await;
        assert_eq!(skipped["contactId"], ann["id"], "{skipped}");
    }
}
