//! The mailbox of the capture transport.

use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::{
    UNKNOWN_ID, as_project, assert_keys, assert_only_keys, assert_timestamp, assert_uuid, column,
};
use mailwright_tests::{
    encoded, inline, items, mail_header, mail_to, read, required_header, send_ok, shown, text,
};
use serde_json::{Value, json};

/// The list, once it holds this many messages.
async fn holding(app: &App, count: usize) -> Value {
    app.eventually(&format!("{count} messages in the mailbox"), async || {
        let page = read(app, "/mailbox").await;
        (page["total"] == count).then_some(page)
    })
    .await
}

both_engines! {
    async fn a_captured_message_is_shown_in_full(engine: Engine) {
        let app = App::start(engine).await;
        let data = send_ok(&app, inline(&app, &json!({"email": "ann@example.com", "name": "Ann"}))).await;
        let page = holding(&app, 1).await;
        assert_only_keys(&page, &["data", "cursor", "hasMore", "total"]);
        let listed = &page["data"][0];
        assert_keys(listed, &["id", "emailId", "from", "to", "subject", "size", "createdAt"]);
        assert_uuid(&listed["id"]);
        assert_timestamp(&listed["createdAt"]);
        assert_eq!(listed["emailId"], data["emails"][0]["email"]);
        assert_eq!(listed["subject"], "Hello");

        let mail = mail_to(&app, "ann@example.com").await;
        assert_keys(
            &mail,
            &[
                "id",
                "emailId",
                "from",
                "to",
                "subject",
                "headers",
                "text",
                "html",
                "raw",
                "attachments",
                "createdAt",
            ],
        );
        assert_eq!(mail["id"], listed["id"]);
        assert!(text(&mail["html"]).contains("<p>Hello there</p>"), "{mail}");
        assert!(text(&mail["text"]).contains("Hello there"), "{mail}");
        assert_eq!(mail["attachments"], json!([]));
        for header in items(&mail["headers"]) {
            assert_only_keys(header, &["name", "value"]);
        }
        assert!(mail_header(&mail, "From").contains(&app.from()));

        let raw = app.get(&format!("/mailbox/{}/raw", text(&mail["id"]))).send().await.assert_status(200);
        assert!(required_header(&raw, "content-type").starts_with("message/rfc822"));
        assert_eq!(raw.text(), text(&mail["raw"]));
        assert_eq!(listed["size"], raw.body.len());
    }

    async fn the_mailbox_is_walked_newest_first(engine: Engine) {
        let app = App::start(engine).await;
        for number in 0..5 {
            send_ok(&app, inline(&app, &json!(format!("c{number}@example.com")))).await;
            holding(&app, number + 1).await;
        }
        let mut walked = Vec::new();
        let mut query = "?limit=2".to_owned();
        loop {
            let page = read(&app, &format!("/mailbox{query}")).await;
            assert_eq!(page["total"], if walked.is_empty() { 5 } else { 0 });
            walked.extend(items(&page["data"]).iter().map(|message| message["to"].to_string()));
            if page["hasMore"] == false {
                break;
            }
            query = format!("?limit=2&cursor={}", encoded(text(&page["cursor"])));
        }
        assert_eq!(walked.len(), 5);
        for (position, to) in walked.iter().enumerate() {
            assert!(to.contains(&format!("c{}@example.com", 4 - position)), "{walked:?}");
        }
    }

    async fn messages_are_deleted_alone_or_all_at_once(engine: Engine) {
        let app = App::start(engine).await;
        let to = json!(["a@example.com", "b@example.com", "c@example.com"]);
        let data = send_ok(&app, inline(&app, &to)).await;
        let page = holding(&app, 3).await;
        let path = format!("/mailbox/{}", text(&page["data"][0]["id"]));
        assert!(app.delete(&path).send().await.assert_status(204).body.is_empty());
        assert_eq!(holding(&app, 2).await["data"][0]["id"], page["data"][1]["id"]);
        app.get(&path).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        app.get(&format!("{path}/raw")).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        app.delete(&path).send().await.assert_error(404, "RESOURCE_NOT_FOUND");

        app.delete("/mailbox").send().await.assert_status(204);
        holding(&app, 0).await;
        app.delete("/mailbox").send().await.assert_status(204);
        for email in items(&data["emails"]) {
            let email = read(&app, &format!("/emails/{}", text(&email["email"]))).await;
            assert_eq!(email["status"], "SENT", "the records stay");
        }
    }

    async fn a_project_has_a_mailbox_of_its_own(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        send_ok(&app, inline(&app, &json!("ann@example.com"))).await;
        let page = holding(&app, 1).await;
        let path = format!("/mailbox/{}", text(&page["data"][0]["id"]));
        let list = as_project(&app, &other, "GET", "/mailbox").send().await.assert_status(200).json();
        assert_eq!(list["data"], json!([]));
        for (method, path) in
            [("GET", path.clone()), ("GET", format!("{path}/raw")), ("DELETE", path.clone())]
        {
            let response = as_project(&app, &other, method, &path).send().await;
            assert_eq!(response.status, 404, "{}", shown(&response));
        }
        as_project(&app, &other, "DELETE", "/mailbox").send().await.assert_status(204);
        assert_eq!(column(&holding(&app, 1).await["data"], "id"), [text(&page["data"][0]["id"])]);
        for id in [UNKNOWN_ID, "nonsense"] {
            app.get(&format!("/mailbox/{id}")).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        }
    }
}
