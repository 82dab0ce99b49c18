//! GET /emails and GET /emails/:id: the record of every email and what became of it.

use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::{
    UNKNOWN_ID, as_project, assert_keys, assert_only_keys, assert_timestamp, column, encoded,
};
use mailwright_tests::{
    events_of, inline, items, mail_header, mail_to, members, read, send_ok, sent_email, shown,
};
use mailwright_tests::{text, with};
use serde_json::{Value, json};

const SHAPE: &[&str] = &[
    "id",
    "contactId",
    "to",
    "toName",
    "subject",
    "from",
    "fromName",
    "replyTo",
    "sourceType",
    "templateId",
    "campaignId",
    "messageId",
    "status",
    "inDoubt",
    "attemptCount",
    "nextAttemptAt",
    "error",
    "bounceClass",
    "opens",
    "clicks",
    "machineOpens",
    "machineClicks",
    "sentAt",
    "deliveredAt",
    "openedAt",
    "clickedAt",
    "bouncedAt",
    "complainedAt",
    "createdAt",
    "updatedAt",
];

/// Sends to `count` addresses, one request each; returns the ids of the emails in order.
async fn send_many(app: &App, count: usize) -> Vec<String> {
    let mut ids = Vec::new();
    for number in 0..count {
        let data = send_ok(app, inline(app, &json!(format!("c{number}@example.com")))).await;
        ids.push(text(&data["emails"][0]["email"]).to_owned());
    }
    ids
}

both_engines! {
    async fn an_email_is_recorded_and_its_hand_over_is_an_event(engine: Engine) {
        let app = App::start(engine).await;
        let to = json!({"email": "Ann@Example.com", "name": "Ann"});
        let from = json!({"email": app.from(), "name": "Team"});
        let request = with(inline(&app, &to), &json!({"from": from, "reply": "help@elsewhere.example"}));
        let data = send_ok(&app, request).await;
        let id = &data["emails"][0]["email"];
        let email = sent_email(&app, id).await;
        assert_keys(&email, SHAPE);
        assert_eq!(email["id"], *id);
        assert_eq!(email["contactId"], data["emails"][0]["contact"]["id"]);
        for (key, value) in [
            ("to", json!("ann@example.com")),
            ("toName", json!("Ann")),
            ("subject", json!("Hello")),
            ("from", json!(app.from())),
            ("fromName", json!("Team")),
            ("replyTo", json!("help@elsewhere.example")),
            ("sourceType", json!("TRANSACTIONAL")),
            ("inDoubt", json!(false)),
            ("opens", json!(0)),
            ("clicks", json!(0)),
        ] {
            assert_eq!(email[key], value, "{key}");
        }
        for key in
            ["templateId", "campaignId", "error", "nextAttemptAt", "deliveredAt", "openedAt", "bouncedAt"]
        {
            assert_eq!(email[key], Value::Null, "{key}");
        }
        for key in ["sentAt", "createdAt", "updatedAt"] {
            assert_timestamp(&email[key]);
        }
        assert_eq!(email["attemptCount"], 1);
        let attempt = &items(&email["attempts"])[0];
        assert_keys(attempt, &["attempt", "at", "outcome", "host", "code", "enhanced", "reply", "tls"]);
        assert_eq!(attempt["attempt"], 1);
        assert_timestamp(&attempt["at"]);
        assert_eq!(items(&email["attempts"]).len(), 1);

        let data = send_ok(&app, inline(&app, &json!("bob@example.com"))).await;
        let sent = &data["emails"][0];
        let email = sent_email(&app, &sent["email"]).await;
        let events = app
            .eventually("the event about the hand-over", async || {
                Some(events_of(&app, &sent["contact"]["id"]).await).filter(|events| !events.is_empty())
            })
            .await;
        assert_eq!(events.len(), 1);
        assert_eq!(events[0]["name"], "email.sent");
        assert_eq!(events[0]["emailId"], sent["email"]);
        let payload = &events[0]["data"];
        assert_keys(
            payload,
            &[
                "subject",
                "from",
                "fromName",
                "messageId",
                "emailId",
                "templateId",
                "campaignId",
                "sourceType",
                "sentAt",
            ],
        );
        assert_eq!(payload["emailId"], sent["email"]);
        assert_eq!(payload["subject"], "Hello");
        assert_eq!(payload["from"], app.from());
        assert_eq!(payload["sourceType"], "TRANSACTIONAL");
        assert_eq!(payload["messageId"], email["messageId"]);
        let mail = mail_to(&app, "bob@example.com").await;
        assert!(
            mail_header(&mail, "Message-ID").contains(text(&email["messageId"]).trim_matches(['<', '>']))
        );
    }

    async fn the_list_is_walked_newest_first(engine: Engine) {
        let app = App::start(engine).await;
        let empty = read(&app, "/emails").await;
        assert_eq!(empty, json!({"data": [], "cursor": null, "hasMore": false, "total": 0}));
        let mut ids = send_many(&app, 25).await;
        ids.reverse();

        let first = read(&app, "/emails").await;
        assert_only_keys(&first, &["data", "cursor", "hasMore", "total"]);
        assert_eq!(column(&first["data"], "id"), ids[..20]);
        assert_eq!((&first["hasMore"], &first["total"]), (&json!(true), &json!(25)));
        for email in items(&first["data"]) {
            assert_keys(email, SHAPE);
        }
        let mut walked = Vec::new();
        let mut query = "?limit=10".to_owned();
        loop {
            let page = read(&app, &format!("/emails{query}")).await;
            assert_eq!(page["total"], if walked.is_empty() { 25 } else { 0 });
            walked.extend(column(&page["data"], "id").into_iter().map(str::to_owned));
            if page["hasMore"] == false {
                assert_eq!(page["cursor"], Value::Null);
                break;
            }
            query = format!("?limit=10&cursor={}", encoded(text(&page["cursor"])));
        }
        assert_eq!(walked, ids);
        app.get("/emails?cursor=nonsense").send().await.assert_error(400, "BAD_REQUEST");
        assert_eq!(items(&read(&app, "/emails?limit=1000").await["data"]).len(), 25);
    }

    async fn the_list_is_filtered_by_status_and_contact(engine: Engine) {
        let app = App::start(engine).await;
        let ann = send_ok(&app, inline(&app, &json!(["ann@example.com", "ann@example.com"]))).await;
        let bob = send_ok(&app, inline(&app, &json!("bob@example.com"))).await;
        for email in items(&ann["emails"]).iter().chain(items(&bob["emails"])) {
            sent_email(&app, &email["email"]).await;
        }
        let total = async |query: &str| read(&app, &format!("/emails?{query}")).await["total"].clone();
        let of_ann = format!("contactId={}", text(&ann["emails"][0]["contact"]["id"]));
        assert_eq!(total(&of_ann).await, 2);
        assert_eq!(total("status=SENT").await, 3);
        assert_eq!(total("status=BOUNCED").await, 0);
        assert_eq!(total(&format!("{of_ann}&status=SENT")).await, 2);
        assert_eq!(total(&format!("contactId={UNKNOWN_ID}")).await, 0);
        let page = read(&app, &format!("/emails?{of_ann}")).await;
        assert_eq!(column(&page["data"], "to"), ["ann@example.com", "ann@example.com"]);
    }

    async fn a_mail_that_cannot_be_read_is_left_out_of_lists(engine: Engine) {
        let app = App::start(engine).await;
        let ids = send_many(&app, 9).await;
        for id in &ids {
            sent_email(&app, &json!(id)).await;
        }
        let damage = match engine {
            Engine::Sqlite => "update emails set log = x'ff00' where recipient = 'c6@example.com'",
            Engine::Postgres => "update emails set reason = 'of_the_future' where recipient = 'c6@example.com'",
        };
        app.tamper("update emails set status = 'TELEPORTED' where recipient in ('c3@example.com', 'c8@example.com')").await;
        app.tamper(damage).await;
        let shown: Vec<_> = [7, 5, 4, 2, 1, 0].map(|number| ids[number].clone()).into();
        let page = read(&app, "/emails").await;
        assert_eq!(column(&page["data"], "id"), shown);
        assert_eq!((&page["hasMore"], &page["cursor"]), (&json!(false), &Value::Null));
        // every page begins where the one before ended, whatever its last row is
        for limit in [1, 2, 3, 4] {
            let (mut walked, mut cursor) = (Vec::new(), String::new());
            loop {
                let page = read(&app, &format!("/emails?limit={limit}{cursor}")).await;
                walked.extend(column(&page["data"], "id").into_iter().map(str::to_owned));
                if page["hasMore"] == false {
                    break;
                }
                cursor = format!("&cursor={}", encoded(text(&page["cursor"])));
            }
            assert_eq!(walked, shown, "limit {limit}");
        }
        let log = app.log();
        for number in [3, 6, 8] {
            let told = log.lines().filter(|line| line.contains(&ids[number]) && line.contains("cannot be read"));
            assert_eq!(told.count(), 1, "the log tells of {number} once: {log}");
        }
    }

    async fn emails_belong_to_a_project(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let id = &send_many(&app, 1).await[0];
        let list = as_project(&app, &other, "GET", "/emails").send().await.assert_status(200).json();
        assert_eq!(list["total"], 0);
        let foreign = as_project(&app, &other, "GET", &format!("/emails/{id}")).send().await;
        foreign.assert_error(404, "RESOURCE_NOT_FOUND");
        for id in [UNKNOWN_ID, "nonsense"] {
            let response = app.get(&format!("/emails/{id}")).send().await;
            assert_eq!(response.status, 404, "{}", shown(&response));
            response.assert_error(404, "RESOURCE_NOT_FOUND");
        }
        assert!(members(&read(&app, &format!("/emails/{id}")).await).len() >= SHAPE.len());
    }
}
