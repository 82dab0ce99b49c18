//! The forms of `to`, the answer, and the contacts behind the addresses.

use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::{assert_keys, assert_only_keys, assert_timestamp, assert_uuid, contact};
use mailwright_tests::{contact_by_email, create_contact, inline, items, mail_header, mail_to, read};
use mailwright_tests::{send_ok, sent_email, text, with};
use serde_json::json;

both_engines! {
    async fn the_answer_names_one_email_per_recipient_in_order(engine: Engine) {
        let app = App::start(engine).await;
        let to = json!([
            "Zoe@Example.com",
            {"email": "ann@example.com"},
            {"email": "BOB@example.com", "name": "Bob"},
            "ann@example.com",
        ]);
        let response = app.send(inline(&app, &to)).await.assert_status(200);
        let body = response.json();
        assert_only_keys(&body, &["success", "data"]);
        assert_eq!(body["success"], true);
        assert_only_keys(&body["data"], &["emails", "timestamp"]);
        assert_timestamp(&body["data"]["timestamp"]);

        let emails = items(&body["data"]["emails"]);
        let addresses: Vec<_> = emails.iter().map(|e| text(&e["contact"]["email"])).collect();
        let expected = ["zoe@example.com", "ann@example.com", "bob@example.com", "ann@example.com"];
        assert_eq!(addresses, expected, "normalised, in the order of `to`");
        for email in emails {
            assert_only_keys(email, &["contact", "email"]);
            assert_only_keys(&email["contact"], &["id", "email"]);
            assert_uuid(&email["contact"]["id"]);
            assert_uuid(&email["email"]);
        }
        assert_eq!(emails[1]["contact"]["id"], emails[3]["contact"]["id"], "one contact per address");
        assert_ne!(emails[1]["email"], emails[3]["email"], "repeated recipients are not collapsed");
        assert_ne!(emails[0]["contact"]["id"], emails[1]["contact"]["id"]);

        for email in emails {
            assert_eq!(sent_email(&app, &email["email"]).await["contactId"], email["contact"]["id"]);
        }
        assert_eq!(app.mailbox_for("ann@example.com").await.len(), 2);
        assert_eq!(read(&app, "/emails").await["total"], 4);
    }

    async fn recipients_come_alone_or_in_a_list_that_may_be_empty(engine: Engine) {
        let app = App::start(engine).await;
        let data = send_ok(&app, inline(&app, &json!([]))).await;
        assert_eq!(data["emails"], json!([]));
        assert_timestamp(&data["timestamp"]);
        assert_eq!(read(&app, "/emails").await["total"], 0);

        let forms = [
            (json!("text@example.com"), "text@example.com"),
            (json!({"email": "object@example.com"}), "object@example.com"),
            (json!({"email": "named@example.com", "name": "Named"}), "named@example.com"),
            (json!(["list@example.com"]), "list@example.com"),
            (json!([{"email": "inside@example.com"}]), "inside@example.com"),
        ];
        for (to, address) in forms {
            let data = send_ok(&app, inline(&app, &to)).await;
            assert_eq!(items(&data["emails"]).len(), 1, "{to}");
            assert_eq!(data["emails"][0]["contact"]["email"], address);
            assert!(mail_header(&mail_to(&app, address).await, "To").contains(address));
        }
    }

    async fn a_recipients_name_is_stored_shown_and_rendered(engine: Engine) {
        let app = App::start(engine).await;
        let to = json!([
            {"email": "ann@example.com", "name": "Ann Lee"},
            {"email": "bob@example.com", "name": "Bób Müller"},
            "carl@example.com",
        ]);
        let body = json!({"body": "<p>Dear {{name}}</p>", "data": {"name": "customer", "plan": "pro"}});
        let data = send_ok(&app, with(inline(&app, &to), &body)).await;

        let named = [("ann@example.com", "Ann Lee"), ("bob@example.com", "Bób Müller")];
        for (position, (address, name)) in named.into_iter().enumerate() {
            let sent = &data["emails"][position];
            let stored = contact(&app, &sent["contact"]["id"]).await;
            assert_eq!(stored["data"], json!({"name": name, "plan": "pro"}));
            let mail = mail_to(&app, address).await;
            assert!(text(&mail["html"]).contains(&format!("Dear {name}")), "{mail}");
            assert_eq!(sent_email(&app, &sent["email"]).await["toName"], name);
        }
        assert!(mail_header(&mail_to(&app, "ann@example.com").await, "To").contains("Ann Lee"));
        assert!(text(&mail_to(&app, "carl@example.com").await["html"]).contains("Dear customer"));
        let carl = contact_by_email(&app, "carl@example.com").await.expect("a contact");
        assert_eq!(carl["data"], json!({"name": "customer", "plan": "pro"}));
    }

    async fn every_recipient_is_an_upserted_contact_with_the_data(engine: Engine) {
        let app = App::start(engine).await;
        let existing =
            create_contact(&app, "old@example.com", true, json!({"plan": "free", "city": "Oslo"})).await;
        let to = json!(["old@example.com", "new@example.com"]);
        let request = with(inline(&app, &to), &json!({"data": {"plan": "pro", "city": null, "score": 7}}));
        let data = send_ok(&app, request).await;

        assert_eq!(data["emails"][0]["contact"]["id"], existing["id"]);
        let old = contact(&app, &existing["id"]).await;
        assert_eq!(old["data"], json!({"plan": "pro", "score": 7}));
        let new = contact(&app, &data["emails"][1]["contact"]["id"]).await;
        assert_eq!(new["data"], json!({"plan": "pro", "score": 7}));
        assert_keys(&new, &["id", "email", "subscribed", "createdAt", "updatedAt"]);
    }
}
