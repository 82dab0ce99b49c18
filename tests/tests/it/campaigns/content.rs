//! What recipients of a campaign get to read, and tests of it.

use super::{act, contacts, draft, get, path, send, settled};
use mailwright_testkit::{App, Engine, both_engines, json};
use mailwright_tests::{create_contact, issue, mail_header, mail_headers, mail_to, text};

both_engines! {
    async fn each_recipient_gets_a_mail_of_their_own(engine: Engine) {
        let app = App::start(engine).await;
        create_contact(&app, "ann@example.com", true, json!({"name": "Ann", "profile": {"tier": "gold"}})).await;
        create_contact(&app, "bob@example.com", true, json!({"code": "{{name}}"})).await;
        let campaign = draft(&app, &json!({
            "body": "<p>{{name ?? \"friend\"}}: {{profile.tier}} {{code}} {{email}}</p>",
            "fromName": "Team", "replyTo": "reply@example.com",
        }))
        .await;
        send(&app, &campaign).await;
        settled(&app, &campaign).await;
        let ann = mail_to(&app, "ann@example.com").await;
        assert_eq!(ann["subject"], "News for Ann");
        assert!(text(&ann["html"]).contains("Ann: gold  ann@example.com"), "{}", ann["html"]);
        assert!(mail_header(&ann, "from").starts_with("\"Team\"") || mail_header(&ann, "from").starts_with("Team"));
        assert!(mail_header(&ann, "reply-to").contains("reply@example.com"));
        let bob = mail_to(&app, "bob@example.com").await;
        assert_eq!(bob["subject"], "News for you");
        assert!(text(&bob["html"]).contains("friend:  {{name}} bob@example.com"), "{}", bob["html"]);
    }

    async fn headers_and_footer_follow_the_type(engine: Engine) {
        for (kind, footer, unsubscribe) in
            [("MARKETING", true, true), ("HEADLESS", false, true), ("TRANSACTIONAL", false, false)]
        {
            let app = App::start(engine).await;
            contacts(&app, "a", 1).await;
            let campaign = draft(&app, &json!({"type": kind})).await;
            send(&app, &campaign).await;
            settled(&app, &campaign).await;
            let mail = mail_to(&app, "a0@example.com").await;
            assert_eq!(text(&mail["html"]).contains("/unsubscribe/"), footer, "{kind}");
            assert_eq!(!mail_headers(&mail, "list-unsubscribe").is_empty(), unsubscribe, "{kind}");
            assert_eq!(mail_header(&mail, "precedence"), "bulk", "{kind}");
            assert_eq!(mail_header(&mail, "auto-submitted"), "auto-generated", "{kind}");
            let email = app.list_all("/emails").await.remove(0);
            let source = if kind == "TRANSACTIONAL" { "TRANSACTIONAL" } else { "CAMPAIGN" };
            assert_eq!(email["sourceType"], source, "{kind}");
        }
    }

    async fn a_test_goes_to_any_address_and_counts_nowhere(engine: Engine) {
        let app = App::start(engine).await;
        create_contact(&app, "ann@example.com", false, json!({"name": "Ann"})).await;
        let campaign = draft(&app, &json!({})).await;
        let before = get(&app, &campaign).await;
        for (to, subject) in [("ann@example.com", "[TEST] News for Ann"), ("boss@else.example", "[TEST] News for you")] {
            let answer = app.post(&path(&campaign, "/test")).json(&json!({"email": to})).send().await;
            let answer = answer.assert_status(200).json();
            assert_eq!(answer["success"], true);
            assert!(!text(&answer["message"]).is_empty());
            let mail = mail_to(&app, to).await;
            assert_eq!(mail["subject"], subject);
            let record = app.email_in(text(&answer["email"]), &["SENT"]).await;
            assert_eq!(record["campaignId"], json!(null), "{record}");
        }
        assert_eq!(get(&app, &campaign).await, before);
        for wrong in [json!({}), json!({"email": "nope"})] {
            let refused = app.post(&path(&campaign, "/test")).json(&wrong).send().await;
            issue(&refused, "email");
        }
        // wherever it stands
        create_contact(&app, "bob@example.com", true, json!({})).await;
        send(&app, &campaign).await;
        settled(&app, &campaign).await;
        let again = app.post(&path(&campaign, "/test")).json(&json!({"email": "c@example.com"})).send().await;
        again.assert_status(200);
        mail_to(&app, "c@example.com").await;
        assert_eq!(get(&app, &campaign).await["sentCount"], 1);
        act(&app, &campaign, "/send").await.assert_error(400, "BAD_REQUEST");
    }
}
