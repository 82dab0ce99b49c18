//! Opens and clicks of a mail whose hand-over has not ended, or of which nobody knows how it ended.

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, Value, both_engines, json, python};
use mailwright_tests::{assert_timestamp, items, send_ok, text, with};
use std::time::Duration;

use super::{
    Mail, PERSON, THREE_LINKS, Visitor, builder, column, counts, events, judged, later, stored, target, visit,
};

/// The HTML of a message as it came.
fn html(part: &Value) -> Option<String> {
    if part["type"] == "text/html" {
        return Some(text(&part["text"]).to_owned());
    }
    part.get("parts").and_then(|parts| items(parts).iter().find_map(html))
}

/// Sends a mail and returns it as soon as the next hop has its content.
async fn handed_over(app: &App, server: &ScriptedServer, changes: &Value) -> Mail {
    let mail = json!({"to": "ann@example.com", "subject": "Hello", "body": THREE_LINKS, "from": app.from()});
    let data = send_ok(app, with(mail, changes)).await;
    let message = app.eventually("the content is there", async || server.received().pop()).await;
    let parsed =
        tokio::task::spawn_blocking(move || python::parse_mail(&message.data)).await.expect("a message");
    Mail {
        id: text(&data["emails"][0]["email"]).to_owned(),
        contact: data["emails"][0]["contact"]["id"].clone(),
        html: html(&parsed["part"]).expect("an HTML part"),
        text: String::new(),
        base: app.base_url().to_owned(),
    }
}

both_engines! {
    async fn an_open_before_the_next_hop_has_answered_is_counted_once_the_mail_is_sent(engine: Engine) {
        let server = ScriptedServer::start(|_, _| Answer::HoldAfterDot).await;
        let app = builder(engine).env("MAILWRIGHT_TRACKING_SETTLE_MS", "0").smtp(server.port).start().await;
        let mail = handed_over(&app, &server, &json!({})).await;
        assert_eq!(app.email(&mail.id).await["status"], "SENDING");
        let gmail = Visitor {
            agent: "Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)",
            address: "66.249.84.33",
        };
        visit(&app, &mail.picture(), PERSON).await.assert_status(200);
        stored(&app, &mail, 1).await;
        visit(&app, &mail.picture(), gmail).await.assert_status(200);
        stored(&app, &mail, 2).await;
        // a scanner looks at the mail before its server answers
        visit(&app, &mail.links()[0], PERSON).await.assert_status(302);
        let hits = stored(&app, &mail, 3).await;
        assert!(hits.iter().all(|hit| hit["class"].is_null()), "nothing is judged before that: {hits:?}");
        let email = app.email(&mail.id).await;
        assert_eq!((&email["status"], &email["opens"]), (&json!("SENDING"), &json!(0)), "{email}");

        server.release();
        app.email_in(&mail.id, &["SENT"]).await;
        let hits = app.eventually("they are judged", async || {
            app.advance(Duration::from_secs(10)).await;
            let hits = app.list_all(&format!("/emails/{}/hits", mail.id)).await;
            hits.iter().all(|hit| !hit["class"].is_null()).then_some(hits)
        })
        .await;
        assert_eq!(hits.len(), 3);
        assert_eq!(column(&hits, "reason")[1..], ["prefetch", "too-soon"], "{hits:?}");
        let [opens, clicks, machine_opens, machine_clicks] = counts(&app, &mail).await;
        assert_eq!((opens + machine_opens, clicks, machine_clicks), (2, 0, 1), "each is counted once: {hits:?}");
        let email = app.email(&mail.id).await;
        assert_eq!(email["attemptCount"], 1, "{email}");
        assert_timestamp(&email["sentAt"]);
        assert_eq!(server.received().len(), 1, "the mail was handed over once");
        assert_eq!(events(&app, &mail, "email.sent").await.len(), 1);
        assert_eq!(events(&app, &mail, "email.open").await.len() as i64, opens);
    }

    async fn an_open_shows_that_a_mail_in_doubt_arrived(engine: Engine) {
        let server = ScriptedServer::start(|_, _| Answer::DropAfterDot).await;
        let app = builder(engine).env("MAILWRIGHT_TRACKING_SETTLE_MS", "0").smtp(server.port).start().await;
        let mail = handed_over(&app, &server, &json!({})).await;
        let email = app.eventually("it is in doubt", async || {
            let email = app.email(&mail.id).await;
            (email["inDoubt"] == true && email["status"] != "SENDING").then_some(email)
        })
        .await;
        assert_eq!(email["sentAt"], Value::Null, "{email}");
        later(&app).await;
        visit(&app, &mail.picture(), PERSON).await.assert_status(200);
        judged(&app, &mail, 1).await;
        let email = app.email(&mail.id).await;
        assert_eq!((&email["status"], &email["opens"]), (&json!("OPENED"), &json!(1)), "{email}");
        assert_timestamp(&email["sentAt"]);
        assert_eq!(events(&app, &mail, "email.open").await.len(), 1);
    }

    async fn links_lead_from_the_moment_a_mail_can_be_read_and_through_a_crash(engine: Engine) {
        let server = ScriptedServer::start(|_, _| Answer::HoldAfterDot).await;
        let mut app = builder(engine).smtp(server.port).start().await;
        let body = "<a href=\"https://shop.test/fixed\">F</a><a href=\"{{url}}\">V</a>{{{markup}}}";
        let data = json!({"url": "https://v.test/1", "markup": "<a href=\"https://w.test/2\">M</a>"});
        let mail = handed_over(&app, &server, &json!({"body": body, "data": data})).await;
        assert_eq!(app.email(&mail.id).await["status"], "SENDING");
        for killed in [false, true] {
            if killed {
                app.kill();
                app.restart().await;
            }
            let mut found = Vec::new();
            for link in mail.links() {
                found.push(target(&app, &link, PERSON).await);
            }
            assert_eq!(found, ["https://shop.test/fixed", "https://v.test/1", "https://w.test/2"], "killed: {killed}");
        }
    }
}
