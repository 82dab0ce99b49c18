//! What is counted of a mail's opens and clicks, and the events that tell of them.

use mailwright_testkit::{Engine, both_engines, json};
use mailwright_tests::{
    UNKNOWN_ID, assert_only_keys, assert_timestamp, assert_uuid, create_template, encoded, read, send_ok,
    text,
};

use super::{
    Mail, OTHER_PERSON, PERSON, PROGRAM, THREE_LINKS, builder, column, counts, events, judged, later, sent,
    start, stored, target, visit,
};

/// What every event about a mail says.
const BASE: [&str; 8] =
    ["subject", "from", "fromName", "messageId", "emailId", "templateId", "campaignId", "sourceType"];

both_engines! {
    async fn every_open_and_click_of_people_is_counted_and_told(engine: Engine) {
        let app = start(engine).await;
        let mail = sent(&app, &json!({})).await;
        later(&app).await;
        visit(&app, &mail.picture(), PERSON).await.assert_status(200);
        let first_open = judged(&app, &mail, 1).await.remove(0);
        let email = app.email(&mail.id).await;
        assert_eq!((&email["status"], &email["opens"], &email["clicks"]), (&json!("OPENED"), &json!(1), &json!(0)));
        assert_eq!((&email["openedAt"], &email["clickedAt"]), (&first_open["at"], &json!(null)));
        later(&app).await;
        target(&app, &mail.links()[2], PERSON).await;
        let first_click = judged(&app, &mail, 2).await.remove(1);
        later(&app).await;
        visit(&app, &mail.picture(), OTHER_PERSON).await.assert_status(200);
        judged(&app, &mail, 3).await;
        later(&app).await;
        target(&app, &mail.links()[2], OTHER_PERSON).await;
        judged(&app, &mail, 4).await;
        later(&app).await;
        visit(&app, &mail.picture(), PROGRAM).await.assert_status(200);
        target(&app, &mail.links()[0], PROGRAM).await;
        let hits = judged(&app, &mail, 6).await;

        let email = app.email(&mail.id).await;
        assert_eq!(email["status"], "CLICKED", "{email}");
        assert_eq!(counts(&app, &mail).await, [2, 2, 1, 1]);
        assert_eq!((&email["openedAt"], &email["clickedAt"]), (&first_open["at"], &first_click["at"]), "the first times");
        assert_eq!(email["deliveredAt"], json!(null));

        let opened = events(&app, &mail, "email.open").await;
        let clicked = events(&app, &mail, "email.click").await;
        assert_eq!((opened.len(), clicked.len()), (2, 2), "{opened:?} {clicked:?}");
        for (n, event) in opened.iter().enumerate() {
            let data = &event["data"];
            assert_only_keys(data, &[&BASE[..], &["openedAt", "opens", "isFirstOpen"]].concat());
            assert_eq!((&data["opens"], &data["isFirstOpen"]), (&json!(n + 1), &json!(n == 0)), "{event}");
            assert_eq!(data["openedAt"], hits[n * 2]["at"], "{event}");
            assert_eq!((&data["emailId"], &data["sourceType"]), (&json!(mail.id), &json!("TRANSACTIONAL")));
            assert_eq!(data["messageId"], email["messageId"]);
        }
        for (n, event) in clicked.iter().enumerate() {
            let data = &event["data"];
            assert_only_keys(data, &[&BASE[..], &["link", "clickedAt", "clicks", "isFirstClick"]].concat());
            assert_eq!((&data["clicks"], &data["isFirstClick"]), (&json!(n + 1), &json!(n == 0)), "{event}");
            assert_eq!((&data["link"], &data["clickedAt"]), (&json!("https://shop.test/three"), &hits[n * 2 + 1]["at"]));
        }
    }

    async fn a_template_says_what_became_of_its_mails(engine: Engine) {
        let app = start(engine).await;
        let template = create_template(&app, &json!({"body": THREE_LINKS, "type": "TRANSACTIONAL"})).await;
        let send = json!({"to": "ann@example.com", "template": template["id"]});
        let mut mails = Vec::new();
        for _ in 0..2 {
            let made = send_ok(&app, send.clone()).await;
            mails.push(Mail::of(&app, text(&made["emails"][0]["email"])).await);
        }
        later(&app).await;
        for agent in [PERSON, PERSON, PROGRAM] {
            visit(&app, &mails[0].picture(), agent).await.assert_status(200);
        }
        target(&app, &mails[1].links()[0], PROGRAM).await;
        judged(&app, &mails[0], 3).await;
        judged(&app, &mails[1], 1).await;
        let path = format!("/templates/{}/stats", text(&template["id"]));
        let expected = json!({
            "emails": 2, "delivered": 0, "opened": 1, "clicked": 0, "bounced": 0, "complained": 0, "unsubscribed": 0,
        });
        assert_eq!(read(&app, &path).await, expected);
        let unknown = format!("/templates/{UNKNOWN_ID}/stats");
        app.get(&unknown).send().await.assert_error(404, "TEMPLATE_NOT_FOUND");
    }

    async fn hits_are_listed_one_by_one(engine: Engine) {
        let app = start(engine).await;
        let mail = sent(&app, &json!({})).await;
        let path = format!("/emails/{}/hits", mail.id);
        let empty = read(&app, &path).await;
        assert_eq!(empty, json!({"data": [], "cursor": null, "hasMore": false, "total": 0}));
        later(&app).await;
        visit(&app, &mail.picture(), PERSON).await;
        judged(&app, &mail, 1).await;
        target(&app, &mail.links()[0], PROGRAM).await;
        judged(&app, &mail, 2).await;
        visit(&app, &mail.trap(), PROGRAM).await.assert_status(204);
        let hits = judged(&app, &mail, 3).await;
        for hit in &hits {
            assert_only_keys(hit, &["id", "type", "url", "at", "class", "reason", "why", "userAgent", "ip"]);
            assert_uuid(&hit["id"]);
            assert_timestamp(&hit["at"]);
            assert!(text(&hit["why"]).ends_with('.'), "a sentence: {hit}");
        }
        assert_eq!(column(&hits, "type"), ["open", "click", "click"]);
        assert_eq!(column(&hits, "class"), ["human", "scanner", "scanner"]);
        assert_eq!(column(&hits, "reason"), ["ordinary", "agent", "trap"]);
        assert_eq!((&hits[0]["url"], &hits[1]["url"], &hits[2]["url"]), (&json!(null), &json!("https://shop.test/one"), &json!(null)));
        assert_eq!((&hits[0]["userAgent"], &hits[0]["ip"]), (&json!(PERSON.agent), &json!(PERSON.address)));

        let mut walked = Vec::new();
        let mut query = "?limit=2".to_owned();
        loop {
            let page = read(&app, &format!("{path}{query}")).await;
            walked.extend(page["data"].as_array().expect("rows").clone());
            assert_eq!(page["total"], if query.contains("cursor") { 0 } else { 3 });
            if page["hasMore"] == false {
                break;
            }
            query = format!("?limit=2&cursor={}", encoded(text(&page["cursor"])));
        }
        assert_eq!(walked, hits);
        app.get(&format!("{path}?cursor=nonsense")).send().await.assert_error(400, "BAD_REQUEST");
        for id in [UNKNOWN_ID, "nonsense"] {
            app.get(&format!("/emails/{id}/hits")).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        }
    }

    async fn nothing_counts_before_it_is_judged(engine: Engine) {
        let app = builder(engine).env("MAILWRIGHT_TRACKING_SETTLE_MS", "60000").start().await;
        let mail = sent(&app, &json!({})).await;
        later(&app).await;
        visit(&app, &mail.picture(), PERSON).await;
        target(&app, &mail.links()[0], PERSON).await;
        let hits = stored(&app, &mail, 2).await;
        assert!(hits.iter().all(|hit| hit["class"].is_null() && hit["reason"].is_null() && hit["why"].is_null()), "{hits:?}");
        assert_eq!(counts(&app, &mail).await, [0, 0, 0, 0]);
        assert_eq!(app.email(&mail.id).await["status"], "SENT");
        assert!(events(&app, &mail, "email.open").await.is_empty());
        later(&app).await;
        judged(&app, &mail, 2).await;
        assert_eq!(counts(&app, &mail).await, [1, 1, 0, 0]);
    }

    async fn the_status_only_moves_up(engine: Engine) {
        let app = start(engine).await;
        let mail = sent(&app, &json!({})).await;
        later(&app).await;
        // a click without an open: pictures are blocked in many places
        target(&app, &mail.links()[0], PERSON).await;
        judged(&app, &mail, 1).await;
        let email = app.email(&mail.id).await;
        assert_eq!((&email["status"], &email["opens"]), (&json!("CLICKED"), &json!(0)), "{email}");
        later(&app).await;
        visit(&app, &mail.picture(), PERSON).await;
        judged(&app, &mail, 2).await;
        let email = app.email(&mail.id).await;
        assert_eq!((&email["status"], &email["opens"]), (&json!("CLICKED"), &json!(1)), "{email}");
        assert_timestamp(&email["openedAt"]);
        for (status, at) in [("BOUNCED", "bounced_at"), ("COMPLAINED", "complained_at")] {
            app.tamper(&format!("update emails set status = '{status}', {at} = sent_at")).await;
            later(&app).await;
            let before = counts(&app, &mail).await;
            visit(&app, &mail.picture(), PERSON).await;
            target(&app, &mail.links()[1], PERSON).await;
            judged(&app, &mail, before.iter().sum::<i64>() as usize + 2).await;
            assert_eq!(app.email(&mail.id).await["status"], status);
            assert_eq!(counts(&app, &mail).await, [before[0] + 1, before[1] + 1, 0, 0], "counted all the same");
        }
        assert_eq!(events(&app, &mail, "email.open").await.len(), 3);
    }
}
