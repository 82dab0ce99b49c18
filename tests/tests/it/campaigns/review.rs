//! The review of a campaign before it is sent.

use std::time::Duration;

use mailwright_testkit::{App, Engine, OWNER, both_engines, json};
use mailwright_tests::{UNKNOWN_ID, assert_only_keys, create_contact, items, read, text};
use serde_json::Value;

use super::{act, contacts, draft, in_status, path, send};

async fn review(app: &App, campaign: &Value) -> Value {
    let found = read(app, &path(campaign, "/review")).await;
    assert_only_keys(&found, &["ready", "problems", "audience", "missingValues", "estimate"]);
    found
}

/// The severity and the code of each problem.
fn problems(review: &Value) -> Vec<(&str, &str)> {
    let of = |problem: &Value| {
        assert_only_keys(problem, &["severity", "code", "field", "message"]);
        assert!(!text(&problem["message"]).is_empty(), "{problem}");
    };
    items(&review["problems"])
        .iter()
        .inspect(|problem| of(problem))
        .map(|problem| (text(&problem["severity"]), text(&problem["code"])))
        .collect()
}

async fn test(app: &App, campaign: &Value) {
    app.post(&path(campaign, "/test")).json(&json!({"email": OWNER.0})).send().await.assert_status(200);
}

both_engines! {
    async fn a_campaign_is_ready_once_somebody_saw_it(engine: Engine) {
        let app = App::start(engine).await;
        contacts(&app, "c", 3).await;
        let campaign = draft(&app, &json!({})).await;
        let found = review(&app, &campaign).await;
        assert_eq!(problems(&found), [("warning", "NEVER_TESTED")]);
        assert_eq!((&found["ready"], &found["audience"]["recipients"]), (&json!(true), &json!(3)));
        assert_eq!(found["audience"], read(&app, &path(&campaign, "/audience")).await);
        assert_eq!(found["missingValues"], json!({"sampleSize": 0, "variables": []}), "what has something in its place is not missing");
        test(&app, &campaign).await;
        assert_eq!(problems(&review(&app, &campaign).await), []);
        app.advance(Duration::from_secs(1)).await;
        app.put(&path(&campaign, "")).json(&json!({"subject": "Another"})).send().await.assert_status(200);
        assert_eq!(problems(&review(&app, &campaign).await), [("warning", "CHANGED_SINCE_TEST")]);
        // a review changes nothing, and what is ready can be sent
        send(&app, &campaign).await;
        in_status(&app, &campaign, "SENT").await;
        let found = review(&app, &campaign).await;
        assert_eq!((problems(&found), &found["ready"]), (vec![("error", "NOT_EDITABLE")], &json!(false)));
        assert_eq!(found["audience"]["recipients"], 3);
        assert!(found["estimate"]["seconds"].as_u64().is_some(), "the latest campaign tells how long it takes: {found}");
    }

    async fn values_that_recipients_lack_are_told(engine: Engine) {
        let app = App::start(engine).await;
        for (number, data) in [json!({"city": "Oslo", "plan": "a"}), json!({"city": " "}), json!({"plan": null}), json!({})].iter().enumerate() {
            create_contact(&app, &format!("c{number}@example.com"), true, data.clone()).await;
        }
        create_contact(&app, "out@example.com", false, json!({})).await;
        let body = "<p>{{city}} {{plan}} {{email}} {{ name ?? \"you\" }} {% if vip %}{{vip}}{% endif %}</p>";
        let campaign = draft(&app, &json!({"subject": "Hello", "body": body})).await;
        test(&app, &campaign).await;
        let found = review(&app, &campaign).await;
        assert_eq!(problems(&found), [("warning", "MISSING_VALUES")]);
        assert_eq!(found["missingValues"], json!({"sampleSize": 4, "variables": [
            {"name": "city", "count": 3}, {"name": "plan", "count": 3},
        ]}));
        assert_eq!(found["ready"], true);
    }

    async fn what_keeps_a_campaign_from_being_sent_is_told(engine: Engine) {
        let app = App::start(engine).await;
        let campaign = draft(&app, &json!({})).await;
        test(&app, &campaign).await;
        let found = review(&app, &campaign).await;
        assert_eq!(problems(&found), [("error", "EMPTY_AUDIENCE")]);
        assert_eq!(found["ready"], false);
        act(&app, &campaign, "/send").await.assert_status(400);
        contacts(&app, "c", 1).await;
        app.tamper("update domains set verified = false, vouched = false").await;
        app.tamper("update campaigns set body = '{% if x %}'").await;
        let found = review(&app, &campaign).await;
        assert_eq!(problems(&found), [("error", "SENDER_UNVERIFIED"), ("error", "INVALID_TEMPLATE")]);
        let fields: Vec<_> = items(&found["problems"]).iter().map(|problem| text(&problem["field"])).collect();
        assert_eq!(fields, ["from", "body"]);
    }

    async fn a_campaign_for_a_topic_without_subscribers_is_told(engine: Engine) {
        let app = App::start(engine).await;
        contacts(&app, "c", 2).await;
        let topic = app.post("/topics").json(&json!({"name": "Offers", "defaultSubscribed": false})).send().await.assert_status(201).json();
        let topic = if topic["data"].is_object() { &topic["data"] } else { &topic };
        let campaign = draft(&app, &json!({"topicId": topic["id"]})).await;
        test(&app, &campaign).await;
        let found = review(&app, &campaign).await;
        assert_eq!(problems(&found), [("error", "EMPTY_TOPIC")]);
        assert_eq!(found["audience"]["excluded"]["notInTopic"], 2);
    }

    async fn a_long_body_and_a_missing_way_out_are_told(engine: Engine) {
        let app = App::start(engine).await;
        contacts(&app, "c", 1).await;
        let long = format!("<p>{}</p>{{% if true %}}x{{% endif %}}<a href=\"\">y</a>", "long ".repeat(22_000));
        let campaign = draft(&app, &json!({"type": "HEADLESS", "body": long})).await;
        test(&app, &campaign).await;
        let found = review(&app, &campaign).await;
        assert_eq!(problems(&found), [
            ("warning", "NO_UNSUBSCRIBE_LINK"), ("warning", "CONSTANT_CONDITION"), ("warning", "DEAD_LINK"),
            ("warning", "CLIPPED"),
        ]);
        let campaign = draft(&app, &json!({"type": "HEADLESS", "body": "<a href=\"{{manageUrl}}\">Choose</a>"})).await;
        test(&app, &campaign).await;
        assert_eq!(problems(&review(&app, &campaign).await), []);
    }

    async fn a_review_is_of_ones_own_campaign(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_SENDING_PER_SECOND", "2").start().await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        contacts(&app, "c", 3).await;
        let campaign = draft(&app, &json!({})).await;
        assert_eq!(review(&app, &campaign).await["estimate"], json!({"seconds": 2, "perSecond": 2.0}));
        let theirs = mailwright_tests::as_project(&app, &other, "GET", &path(&campaign, "/review"));
        theirs.send().await.assert_error(404, "CAMPAIGN_NOT_FOUND");
        app.get(&format!("/campaigns/{UNKNOWN_ID}/review")).send().await.assert_error(404, "CAMPAIGN_NOT_FOUND");
    }
}
