//! What a recipient reads: templates and overrides, variables, escaping, links and the footer.

use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::{
    contact, create_contact, create_template, inline, mail_header, mail_headers, mail_to,
};
use mailwright_tests::{send_ok, sent_email, text, with};
use serde_json::{Value, json};

/// Sends `content` to a fresh address and returns the captured message.
async fn delivered(app: &App, to: &str, content: &Value) -> Value {
    send_ok(app, with(inline(app, &json!(to)), content)).await;
    mail_to(app, to).await
}

both_engines! {
    async fn a_template_supplies_what_the_request_leaves_out(engine: Engine) {
        let app = App::start(engine).await;
        let template = create_template(
            &app,
            &json!({
                "subject": "Hello {{name}}",
                "body": "<p>From the template, {{name}}</p>",
                "from": format!("team@{}", app.domain()),
                "fromName": "The Team",
                "replyTo": "help@elsewhere.example",
            }),
        )
        .await;
        let plain = json!({"to": "plain@example.com", "template": template["id"], "data": {"name": "Ann"}});
        let data = send_ok(&app, plain).await;
        let mail = mail_to(&app, "plain@example.com").await;
        assert_eq!(mail["subject"], "Hello Ann");
        assert!(text(&mail["html"]).contains("From the template, Ann"), "{mail}");
        let from = mail_header(&mail, "From");
        assert!(from.contains("The Team") && from.contains(&format!("team@{}", app.domain())), "{from}");
        assert!(mail_header(&mail, "Reply-To").contains("help@elsewhere.example"));
        let email = sent_email(&app, &data["emails"][0]["email"]).await;
        assert_eq!(email["templateId"], template["id"]);
        assert_eq!(email["sourceType"], "TRANSACTIONAL");

        let overridden = json!({
            "to": "own@example.com",
            "template": template["id"],
            "subject": "Own {{name}}",
            "body": "<p>Own body, {{name}}</p>",
            "from": {"email": app.from(), "name": "Own Sender"},
            "reply": "own@elsewhere.example",
            "data": {"name": "Bob"},
        });
        send_ok(&app, overridden).await;
        let mail = mail_to(&app, "own@example.com").await;
        assert_eq!(mail["subject"], "Own Bob");
        assert!(text(&mail["html"]).contains("Own body, Bob"), "{mail}");
        let from = mail_header(&mail, "From");
        assert!(from.contains("Own Sender") && from.contains(&app.from()), "{from}");
        assert!(mail_header(&mail, "Reply-To").contains("own@elsewhere.example"));

        let subject_only = json!({"to": "mix@example.com", "template": template["id"], "subject": "Mixed"});
        send_ok(&app, subject_only).await;
        let mail = mail_to(&app, "mix@example.com").await;
        assert_eq!(mail["subject"], "Mixed");
        assert!(text(&mail["html"]).contains("From the template, "), "{mail}");
        assert!(mail_header(&mail, "From").contains("The Team"));
    }

    async fn variables_come_from_contact_and_request_or_their_fallback(engine: Engine) {
        let app = App::start(engine).await;
        let stored = json!({"plan": "free", "city": "Oslo", "profile": {"tier": "gold"}, "gone": "stored"});
        let known = create_contact(&app, "ann@example.com", true, stored).await;
        let content = json!({
            "subject": "{{plan}} in {{ city }}",
            "body": "[{{data.city}}] [{{profile.tier}}] [{{code}}] [{{email}}] [{{id}}] [{{svc_email}}] [{{svc_id}}] \
                     [{{missing}}] [{{profile.missing.deep}}] [{{gone ?? \"fallback\"}}] [{{}}] [{{ open",
            "data": {"plan": "pro", "code": {"value": "483920", "persistent": false}, "gone": null},
        });
        let mail = delivered(&app, "ann@example.com", &content).await;
        assert_eq!(mail["subject"], "pro in Oslo");
        let id = text(&known["id"]);
        let expected = format!(
            "[Oslo] [gold] [483920] [ann@example.com] [{id}] [ann@example.com] [{id}] [] [] [fallback] [] [{{{{ open"
        );
        assert!(text(&mail["html"]).contains(&expected), "expected {expected} in {mail}");
        let after = contact(&app, &known["id"]).await;
        let kept = json!({"plan": "pro", "city": "Oslo", "profile": {"tier": "gold"}});
        assert_eq!(after["data"], kept, "one-off values are not stored");

        let content = json!({
            "body": "[{{count ?? \"x\"}}] [{{flag ?? \"x\"}}] [{{missing ?? \"two words\"}}] [{{missing ?? 'single'}}] \
                     [{{name ?? \"unused\"}}] [{{profile.tier ?? \"none\"}}] [{{count}}] [{{flag}}]",
            "data": {"count": 0, "flag": false, "name": "Ann", "profile": {"other": 1}},
        });
        let mail = delivered(&app, "bob@example.com", &content).await;
        let expected = "[0] [false] [two words] [single] [Ann] [none] [0] [false]";
        assert!(text(&mail["html"]).contains(expected), "expected {expected} in {mail}");
    }

    async fn an_empty_string_is_no_value_in_a_mail_either(engine: Engine) {
        let app = App::start(engine).await;
        create_contact(&app, "ann@example.com", true, json!({"plan": "free", "code": "kept"})).await;
        let body = "<p>[{{plan}}] [{{plan ?? \"none\"}}] [{{code ?? \"none\"}}] [{{city ?? \"nowhere\"}}] [{{data.plan}}]</p>";
        let data = json!({"plan": "", "code": {"value": "", "persistent": false}, "city": ""});
        let template = create_template(&app, &json!({"subject": "{{plan}}", "body": body, "type": "TRANSACTIONAL"})).await;
        for content in [
            json!({"subject": "{{plan}}", "body": body, "from": app.from()}),
            json!({"template": template["id"]}),
        ] {
            let send = with(content, &json!({"to": ["ann@example.com", "new@example.com"], "data": data}));
            let sent = send_ok(&app, send).await;
            for (index, subject, expected) in [
                (0, "free", "[free] [free] [kept] [nowhere] [free]"),
                (1, "", "[] [none] [none] [nowhere] []"),
            ] {
                let id = text(&sent["emails"][index]["email"]);
                sent_email(&app, &sent["emails"][index]["email"]).await;
                let mail = app.get(&format!("/mailbox/{id}")).send().await.assert_status(200).json();
                assert!(text(&mail["html"]).contains(expected), "{mail}");
                assert!(text(&mail["text"]).contains(expected), "{mail}");
                assert_eq!(mail["subject"], subject);
            }
        }
        for (address, data) in [("ann@example.com", json!({"plan": "free", "code": "kept"})), ("new@example.com", json!({}))] {
            assert_eq!(mailwright_tests::contact_by_email(&app, address).await.expect("a contact")["data"], data);
        }
    }

    async fn values_are_text_and_never_markup_template_or_header(engine: Engine) {
        let app = App::start(engine).await;
        let content = json!({
            "subject": "{{company}} for {{tricky}}",
            "body": "<p title=\"{{quoted}}\">{{markup}}</p><p>{{company}}</p><p>{{tricky}}</p>",
            "data": {
                "company": "Tom & Jerry",
                "markup": "<script>alert(1)</script>",
                "quoted": "a\" onclick=\"b",
                "tricky": "{{secretCode}}",
                "secretCode": {"value": "483920", "persistent": false},
            },
        });
        let mail = delivered(&app, "ann@example.com", &content).await;
        let html = text(&mail["html"]);
        assert!(html.contains("&lt;script&gt;alert(1)"), "{html}");
        assert!(!html.contains("<script>alert(1)"), "{html}");
        assert!(!html.contains("a\" onclick"), "{html}");
        assert!(html.contains("Tom &amp; Jerry"), "{html}");
        assert!(!html.contains("483920"), "values are not evaluated as templates: {html}");
        assert_eq!(mail["subject"], "Tom & Jerry for {{secretCode}}", "subjects are text, not HTML");
        assert!(text(&mail["text"]).contains("Tom & Jerry"), "{mail}");

        let content = json!({
            "subject": "Hello {{name}}!",
            "data": {"name": "Ann\r\nBcc: thief@example.com\r\n\r\nbody\nX-Evil: 1\rX-More: 2"},
        });
        let mail = delivered(&app, "bob@example.com", &content).await;
        let subject = text(&mail["subject"]);
        assert!(subject.starts_with("Hello Ann") && subject.ends_with('!'), "{subject}");
        assert!(!subject.contains(['\r', '\n']), "{subject}");
        for name in ["Bcc", "X-Evil", "X-More"] {
            assert!(mail_headers(&mail, name).is_empty(), "{name}: {mail}");
        }
        assert!(app.mailbox_for("thief@example.com").await.is_empty());
    }

    async fn link_variables_name_the_contact_and_cannot_be_replaced(engine: Engine) {
        let app = App::start(engine).await;
        let content = json!({
            "body": "<a href=\"{{unsubscribeUrl}}\">out</a><a href=\"{{subscribeUrl}}\">in</a>\
                     <a href=\"{{manageUrl}}\">manage</a>",
            "data": {"unsubscribeUrl": "https://evil.example/", "subscribeUrl": "x", "manageUrl": {"a": 1}},
        });
        let data = send_ok(&app, with(inline(&app, &json!("ann@example.com")), &content)).await;
        let id = text(&data["emails"][0]["contact"]["id"]);
        let mail = mail_to(&app, "ann@example.com").await;
        let html = text(&mail["html"]);
        for page in ["unsubscribe", "subscribe", "manage"] {
            let link = format!("href=\"{}/{page}/{id}", app.base_url());
            assert!(html.contains(&link), "expected {link} in {html}");
        }
        assert!(!html.contains("evil.example"), "{html}");
        let stored = contact(&app, &data["emails"][0]["contact"]["id"]).await;
        assert_eq!(stored["data"], json!({}));
    }

    async fn only_marketing_templates_carry_a_way_out(engine: Engine) {
        let app = App::start(engine).await;
        for kind in ["MARKETING", "TRANSACTIONAL", "HEADLESS"] {
            let to = format!("{}@example.com", kind.to_lowercase());
            let known = create_contact(&app, &to, true, json!({})).await;
            let template = create_template(&app, &json!({"type": kind})).await;
            send_ok(&app, json!({"to": to, "template": template["id"]})).await;
            let mail = mail_to(&app, &to).await;
            let offered = text(&mail["html"]).contains(text(&known["id"]));
            assert_eq!(
                offered,
                kind == "MARKETING",
                "the footer links to the contact's page: {kind}: {mail}"
            );
            for name in ["List-Unsubscribe", "List-Id"] {
                assert_eq!(mail_headers(&mail, name).len(), usize::from(offered), "{name}: {kind}: {mail}");
            }
            let one_click = mail_headers(&mail, "List-Unsubscribe-Post");
            assert!(one_click.is_empty(), "RFC 8058 needs https: {kind}: {mail}");
        }
        let linked = json!({"body": "<a href=\"{{unsubscribeUrl}}\">out</a>"});
        let mail = delivered(&app, "linked@example.com", &linked).await;
        let list = mail_header(&mail, "List-Unsubscribe");
        assert!(list.starts_with('<') && list.contains("/unsubscribe/"), "{list}");
        let plain = delivered(&app, "plain@example.com", &json!({})).await;
        assert!(mail_headers(&plain, "List-Unsubscribe").is_empty(), "{plain}");

        let secure = App::builder(engine).env("MAILWRIGHT_BASE_URL", "https://mail.example").start().await;
        let mail = delivered(&secure, "linked@example.com", &linked).await;
        assert!(mail_header(&mail, "List-Unsubscribe").starts_with("<https://mail.example/unsubscribe/"), "{mail}");
        assert_eq!(mail_header(&mail, "List-Unsubscribe-Post"), "List-Unsubscribe=One-Click");
    }
}
