//! The message around the content: sender, reply address, custom headers, encodings and attachments.

use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::{create_contact, create_template, inline, items, mail_header, mail_headers, mail_to};
use mailwright_tests::{send_ok, sent_email, text, with};
use serde_json::{Value, json};

/// Sends with `changes` to a fresh address and returns the captured message.
async fn delivered(app: &App, to: &str, changes: &Value) -> Value {
    send_ok(app, with(inline(app, &json!(to)), changes)).await;
    mail_to(app, to).await
}

fn attachment<'a>(mail: &'a Value, filename: &str) -> &'a Value {
    let found = items(&mail["attachments"]).iter().find(|a| a["filename"] == filename);
    found.unwrap_or_else(|| panic!("no attachment {filename} in {}", mail["attachments"]))
}

both_engines! {
    async fn the_senders_name_is_the_requests_the_templates_or_the_projects(engine: Engine) {
        let app = App::start(engine).await;
        let address = app.from();
        for (to, changes, name) in [
            ("a@example.com", json!({"from": {"email": address, "name": "Object"}}), "Object"),
            (
                "b@example.com",
                json!({"from": {"email": address, "name": "Object"}, "fromName": "F"}),
                "Object",
            ),
            ("c@example.com", json!({"from": {"email": address}, "fromName": "Field"}), "Field"),
            ("d@example.com", json!({"fromName": "Field"}), "Field"),
            ("e@example.com", json!({"name": "Alias"}), "Alias"),
        ] {
            let mail = delivered(&app, to, &changes).await;
            let from = mail_header(&mail, "From");
            assert!(from.contains(name) && from.contains(&address), "{changes}: {from}");
        }
        // With a template, a name alone goes with the template's address.
        let template = create_template(&app, &json!({"fromName": "The Team"})).await;
        send_ok(&app, json!({"to": "f@example.com", "template": template["id"], "fromName": "Field"})).await;
        let mail = mail_to(&app, "f@example.com").await;
        let from = mail_header(&mail, "From");
        assert!(from.contains("Field") && !from.contains("The Team") && from.contains(&address), "{from}");

        let project = app.bootstrap("Acme Rockets", "rockets.example").await;
        // a name of spaces is none
        let from = json!({"email": project.from, "name": "   "});
        let body = json!({"to": "ann@example.com", "subject": "s", "body": "b", "from": from});
        let send = app.request("POST", "/v1/send").bearer(&project.secret_key).json(&body);
        send.send().await.assert_status(200);
        let mailbox = app
            .eventually("a message of the project", async || {
                let list = app.request("GET", "/mailbox").bearer(&project.secret_key).send().await.json();
                items(&list["data"]).first().cloned()
            })
            .await;
        let path = format!("/mailbox/{}", text(&mailbox["id"]));
        let mail = app.request("GET", &path).bearer(&project.secret_key).send().await.json();
        assert!(mail_header(&mail, "From").contains("Acme Rockets"), "{mail}");
    }

    async fn replies_and_custom_headers_go_where_the_request_says(engine: Engine) {
        let app = App::start(engine).await;
        let mail = delivered(&app, "a@example.com", &json!({"reply": "support@elsewhere.example"})).await;
        assert!(mail_header(&mail, "Reply-To").contains("support@elsewhere.example"));
        let mail = delivered(&app, "b@example.com", &json!({})).await;
        assert!(mail_header(&mail, "Reply-To").contains(&app.from()));

        let headers = json!({"X-Order": "42", "x-lower": "kept", "REPLY-TO": "<orders@elsewhere.example>"});
        let mail = delivered(&app, "c@example.com", &json!({"headers": headers})).await;
        assert_eq!(mail_header(&mail, "X-Order"), "42");
        assert!(mail_header(&mail, "Reply-To").contains("orders@elsewhere.example"), "{mail}");
        let names: Vec<_> = items(&mail["headers"]).iter().map(|h| text(&h["name"])).collect();
        assert!(
            names.contains(&"x-lower") && names.contains(&"REPLY-TO"),
            "the caller's casing is kept: {names:?}"
        );

        // Whoever sets one header of the unsubscribe pair takes over both.
        create_contact(&app, "d@example.com", true, json!({})).await;
        let template = create_template(&app, &json!({"type": "MARKETING"})).await;
        let own = json!({"list-unsubscribe": "<https://elsewhere.example/out>"});
        send_ok(&app, json!({"to": "d@example.com", "template": template["id"], "headers": own})).await;
        let mail = mail_to(&app, "d@example.com").await;
        assert_eq!(mail_header(&mail, "List-Unsubscribe"), "<https://elsewhere.example/out>");
        assert!(mail_headers(&mail, "List-Unsubscribe-Post").is_empty(), "{mail}");
    }

    async fn a_message_is_whole_and_its_lines_are_plain(engine: Engine) {
        let app = App::start(engine).await;
        let changes = json!({
            "subject": "Grüße 😀 from Zoë",
            "body": format!("<h1>Grüße</h1><p>{}</p><p><a href=\"https://example.com/a\">here</a></p>", "wörter ".repeat(400)),
            "from": {"email": app.from(), "name": "Zoë, \"the\" Sender"},
        });
        let to = json!({"email": "ann@example.com", "name": "Ánn"});
        let data = send_ok(&app, with(inline(&app, &to), &changes)).await;
        let mail = mail_to(&app, "ann@example.com").await;
        assert_eq!(mail["subject"], "Grüße 😀 from Zoë");
        assert!(text(&mail["html"]).contains("<h1>Grüße</h1>"), "{mail}");
        let plain = text(&mail["text"]);
        assert!(plain.contains("Grüße") && plain.contains("https://example.com/a"), "{plain}");
        assert!(!plain.contains("<h1>"), "{plain}");

        let raw = text(&mail["raw"]);
        let (head, _) = raw.split_once("\r\n\r\n").expect("a header block");
        assert!(head.is_ascii(), "{head}");
        assert!(raw.split("\r\n").all(|line| line.len() <= 998 && !line.contains(['\r', '\n'])), "{raw}");
        for name in ["From", "To", "Subject", "Date", "Message-ID", "MIME-Version", "Content-Type"] {
            mail_header(&mail, name);
        }
        assert!(mail_header(&mail, "Content-Type").starts_with("multipart/alternative"), "{head}");

        let email = sent_email(&app, &data["emails"][0]["email"]).await;
        let bare = |id: &str| id.trim_matches(['<', '>']).to_owned();
        assert_eq!(bare(text(&email["messageId"])), bare(mail_header(&mail, "Message-ID")));
    }

    async fn attachments_arrive_as_they_were_sent(engine: Engine) {
        let app = App::start(engine).await;
        let changes = json!({
            "body": "<p>Look: <img src=\"cid:logo-1\"></p>",
            "attachments": [
                {"filename": "hello.txt", "content": "aGVsbG8gd29ybGQ=", "contentType": "text/plain"},
                {"filename": "Rechnung für Zoë.pdf", "content": "JVBERi0xLjQK", "contentType": "application/pdf",
                 "disposition": "attachment"},
                {"filename": "logo.png", "content": "iVBORw0KGgo=", "contentType": "image/png",
                 "contentId": "logo-1", "disposition": "inline"},
            ],
        });
        let mail = delivered(&app, "ann@example.com", &changes).await;
        assert_eq!(items(&mail["attachments"]).len(), 3, "{}", mail["attachments"]);
        let hello = attachment(&mail, "hello.txt");
        assert_eq!(hello["contentType"], "text/plain");
        assert_eq!(hello["size"], 11);
        let invoice = attachment(&mail, "Rechnung für Zoë.pdf");
        assert_eq!(invoice["contentType"], "application/pdf");
        assert_eq!(invoice["size"], 9);
        let logo = attachment(&mail, "logo.png");
        assert_eq!(text(&logo["contentId"]).trim_matches(['<', '>']), "logo-1");
        assert!(text(&mail["html"]).contains("cid:logo-1"), "{mail}");
        assert!(mail_header(&mail, "Content-Type").starts_with("multipart/mixed"));

        let raw = text(&mail["raw"]).to_lowercase();
        let place = |kind: &str| raw.find(kind).unwrap_or_else(|| panic!("no {kind} in {raw}"));
        assert!(place("multipart/mixed") < place("multipart/related"));
        assert!(place("multipart/related") < place("multipart/alternative"));
        assert!(raw.contains("content-id: <logo-1>"), "{raw}");

        let only_inline = json!({"attachments": [changes["attachments"][2]]});
        let mail = delivered(&app, "bob@example.com", &only_inline).await;
        assert!(mail_header(&mail, "Content-Type").starts_with("multipart/related"), "{mail}");
    }
}
