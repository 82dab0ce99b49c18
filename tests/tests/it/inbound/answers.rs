//! Answers: how they are matched to the mails that they answer. And mails that a provider took.

use mailwright_testkit::dns::FakeDns;
use mailwright_testkit::net::free_port;
use mailwright_testkit::sns::{NotificationService, TOPIC, now};
use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::browser::change_project;
use mailwright_tests::{inline, mail_header, mail_to, send_ok, text, with};
use serde_json::{Value, json};

use super::{bring_ok, capturing, message, received, started, told};

/// Sends a mail; its id, and what was captured.
async fn sent(app: &App, to: &str, changes: &Value) -> (String, Value) {
    let answer = send_ok(app, with(inline(app, &json!(to)), changes)).await;
    let id = text(&answer["emails"][0]["email"]).to_owned();
    app.email_in(&id, &["SENT"]).await;
    (id, mail_to(app, to).await)
}

/// Which mail the newest mail that came in answers, by its record and by its event.
async fn answered(app: &App) -> Value {
    let row = received(app).await.remove(0);
    let whole = app.email(text(&row["id"])).await;
    let event = told(app).await.remove(0);
    assert_eq!(event["data"]["inReplyTo"], whole["inbound"]["inReplyTo"]);
    whole["inbound"]["inReplyTo"].clone()
}

fn reply_to(mail: &Value) -> &str {
    mail_header(mail, "Reply-To").trim_matches(['<', '>'])
}

async fn set_reply_tracking(app: &App, on: bool) {
    let changed = change_project(app, &json!({"replyTracking": on})).await;
    assert_eq!(changed["replyTracking"], on);
}

both_engines! {
    async fn an_answer_names_the_mail_that_it_answers(engine: Engine) {
        let dns = FakeDns::start().await;
        let (app, mut session) = started(engine, &dns).await;
        let other = app.bootstrap("Other", "other.test").await;
        let (id, mail) = sent(&app, "ada@example.com", &json!({})).await;
        let message_id = mail_header(&mail, "Message-ID").to_owned();
        let plain = message("ada@example.com", "re");
        for (field, expected) in [
            (format!("In-Reply-To: {message_id}\n"), json!(id)),
            (format!("References: <x@y.test> {message_id} <z@y.test>\n"), json!(id)),
            ("In-Reply-To: <01890000-0000-7000-8000-00000000dead@acme.test>\n".to_owned(), Value::Null),
            (String::new(), Value::Null),
        ] {
            let mail = format!("{field}{plain}");
            bring_ok(&mut session, "ada@example.com", &["help@acme.test"], &mail).await;
            assert_eq!(answered(&app).await, expected, "{field}");
        }
        // the mail of another project is none of theirs
        let answer = format!("In-Reply-To: {message_id}\n{plain}");
        bring_ok(&mut session, "ada@example.com", &["help@other.test"], &answer).await;
        let theirs = mailwright_tests::as_project(&app, &other, "GET", "/events?eventName=email.received");
        let theirs = theirs.send().await.assert_status(200).json();
        assert_eq!(theirs["events"][0]["data"]["inReplyTo"], Value::Null);
    }

    async fn reply_addresses_name_their_mail_by_setting(engine: Engine) {
        let dns = FakeDns::start().await;
        let (app, mut session) = started(engine, &dns).await;
        let (_, mail) = sent(&app, "before@example.com", &json!({"reply": "help@acme.test"})).await;
        assert_eq!(reply_to(&mail), "help@acme.test");
        set_reply_tracking(&app, true).await;
        // what is known of a project is looked up again after a while
        app.advance(std::time::Duration::from_mins(2)).await;
        let (id, mail) = sent(&app, "ada@example.com", &json!({"reply": "help@acme.test"})).await;
        let address = reply_to(&mail).to_owned();
        assert!(address.starts_with("help+r") && address.ends_with("@acme.test"), "{address}");
        bring_ok(&mut session, "bob@example.com", &[&address], &message("bob@example.com", "re")).await;
        assert_eq!(answered(&app).await, json!(id));
        assert_eq!(received(&app).await[0]["to"], "help@acme.test");
        // a forged one is an address like others, and answers nothing
        let forged = address.replacen("help+r", "help+ra", 1);
        let (local, domain) = forged.split_once('@').expect("an address");
        let forged = format!("{}@{domain}", &local[..local.len() - 1]);
        bring_ok(&mut session, "bob@example.com", &[&forged], &message("bob@example.com", "forged")).await;
        assert_eq!(answered(&app).await, Value::Null);
        // where mail for the address does not come here, or where the address is too long, it stays
        for (to, plain) in [("c@example.com", "help@example.org"), ("d@example.com", "the-whole-newsletter-team@acme.test")] {
            let (_, mail) = sent(&app, to, &json!({"reply": plain})).await;
            assert_eq!(reply_to(&mail), plain);
        }
        set_reply_tracking(&app, false).await;
        app.advance(std::time::Duration::from_mins(2)).await;
        let (_, mail) = sent(&app, "after@example.com", &json!({"reply": "help@acme.test"})).await;
        assert_eq!(reply_to(&mail), "help@acme.test");
    }

    async fn a_provider_brings_mails_too(engine: Engine) {
        let (dns, service) = (FakeDns::start().await, NotificationService::start().await);
        let builder = capturing(engine, &dns, free_port());
        let builder = builder.env("MAILWRIGHT_SNS_TOPICS", TOPIC).env("MAILWRIGHT_SNS_ENDPOINT", service.endpoint());
        let app = builder.start().await;
        let verdict = |status: &str| json!({"status": status});
        let event = |id: &str, content: Value| json!({
            "notificationType": "Received",
            "receipt": {
                "timestamp": now(), "processingTimeMillis": 222, "recipients": ["help@acme.test", "x@elsewhere.test"],
                "spamVerdict": verdict("PASS"), "virusVerdict": verdict("PASS"), "spfVerdict": verdict("GRAY"),
                "dkimVerdict": verdict("PASS"), "dmarcVerdict": verdict("PASS"),
                "action": {"type": "SNS", "topicArn": TOPIC, "encoding": "UTF8"},
            },
            "mail": {
                "timestamp": now(), "source": "ada@example.com", "messageId": id, "destination": ["help@acme.test"],
                "commonHeaders": {"from": ["Ada <ada@example.com>"], "subject": "Elsewhere", "messageId": "<9@example.com>"},
            },
            "content": content,
        });
        let post = async |message: &str, event: &Value| {
            let notification = service.notification(message, event).to_string();
            let request = app.request("POST", "/webhooks/sns").body(notification, "text/plain; charset=UTF-8");
            request.send().await.assert_status(200).json()
        };
        let whole = event("ses-1", json!(message("Ada <ada@example.com>", "hello")));
        assert_eq!(post("m1", &whole).await, json!({"success": true}));
        assert_eq!(post("m2", &whole).await, json!({"success": true, "duplicate": true}));
        let data = told(&app).await.remove(0)["data"].clone();
        for (name, value) in [
            ("spamVerdict", json!("PASS")), ("spfVerdict", json!("GRAY")), ("dmarcVerdict", json!("PASS")),
            ("processingTimeMillis", json!(222)), ("hasContent", json!(true)), ("body", json!("Hello\n")),
            ("recipients", json!(["help@acme.test"])), ("from", json!("ada@example.com")),
        ] {
            assert_eq!(data[name], value, "{name}");
        }
        // the content is in a bucket
        assert_eq!(post("m3", &event("ses-2", Value::Null)).await, json!({"success": true}));
        let row = received(&app).await.remove(0);
        assert_eq!((&row["subject"], &row["fromName"]), (&json!("Elsewhere"), &json!("Ada")));
        app.get(&format!("/emails/{}/raw", text(&row["id"]))).send().await.assert_status(404);
        assert_eq!(told(&app).await[0]["data"]["hasContent"], false);
        assert_eq!(received(&app).await.len(), 2);
    }
}
