//! Previews of mails that are not saved.

use mailwright_testkit::{App, Engine, Response, Value, both_engines, json, one_engine};
use mailwright_tests::{
    UNKNOWN_ID, as_project, assert_only_keys, contact, create_contact, header, issue, mail_to, read,
    required_header, text, with,
};

use super::{Kind, mjml};

async fn preview(app: &App, body: &Value) -> Response {
    app.post("/preview").json(body).send().await
}

/// The policy of an answer, part by part.
fn policy(answer: &Response) -> Vec<&str> {
    required_header(answer, "content-security-policy").split(';').map(str::trim).collect()
}

both_engines! {
    async fn a_mail_is_seen_as_a_contact_would_see_it(engine: Engine) {
        let app = App::start(engine).await;
        let data = json!({"name": "Ann", "plan": "pro", "locale": "nl"});
        let ann = create_contact(&app, "ann@example.com", true, data).await;
        let ann = contact(&app, &ann["id"]).await;
        let body = "<p>Hi {{name ?? \"you\"}} ({{plan}}), {{email}}</p><a href=\"{{unsubscribeUrl}}\">out</a>";
        let request = json!({"subject": "For {{name ?? \"you\"}}", "body": body, "contactId": ann["id"], "format": "json"});
        let seen = preview(&app, &request).await.assert_status(200).json();
        assert_only_keys(&seen, &["subject", "html", "text", "problems", "size"]);
        assert_eq!(seen["subject"], "For Ann");
        let html = text(&seen["html"]);
        assert!(html.contains("Hi Ann (pro), ann@example.com") && html.contains("href=\"#unsubscribe\""), "{html}");
        assert!(html.contains("Afmelden") && html.contains("href=\"#manage\""), "the footer, in her language: {html}");
        assert!(text(&seen["text"]).contains("/unsubscribe/preview"), "{}", seen["text"]);
        assert_eq!(seen["size"], json!({"bytes": html.len(), "clipped": false}));
        assert_eq!(seen["problems"], json!([]));

        let stranger = preview(&app, &with(request.clone(), &json!({"contactId": null}))).await.json();
        assert_eq!(stranger["subject"], "For you");
        let data = json!({"data": {"name": "Bob", "plan": {"value": "free", "persistent": false}}});
        let told = preview(&app, &with(request.clone(), &data)).await.json();
        assert!(text(&told["html"]).contains("Hi Bob (free), ann@example.com"), "{told}");
        assert_eq!(read(&app, &format!("/contacts/{}", text(&ann["id"]))).await, ann, "nothing is stored");

        let plain = preview(&app, &with(request.clone(), &json!({"type": "TRANSACTIONAL"}))).await.json();
        assert!(!text(&plain["html"]).contains("Afmelden"), "{plain}");
        let shown = preview(&app, &with(request.clone(), &json!({"format": "text"}))).await.assert_status(200);
        assert_eq!(required_header(&shown, "content-type"), "text/plain; charset=utf-8");
        assert_eq!(shown.text(), text(&seen["text"]));
        let page = preview(&app, &with(request, &json!({"format": null}))).await.assert_status(200);
        assert_eq!(required_header(&page, "content-type"), "text/html; charset=utf-8");
        assert_eq!(page.text(), html);
    }

    async fn it_is_the_mail_that_is_sent(engine: Engine) {
        let app = App::start(engine).await;
        create_contact(&app, "ann@example.com", true, json!({"name": "Ann"})).await;
        let ann = read(&app, "/contacts?search=ann").await["data"][0].clone();
        let source = mjml("<b>Hi {{name}}</b> <a href='https://example.com/'>Go</a>");
        let template = Kind::Template.create(&app, &json!({"mjml": source, "tracking": false})).await;
        let test = app.post(&Kind::Template.path(&template, "/test")).json(&json!({"email": "ann@example.com"}));
        test.send().await.assert_status(200);
        let mail = mail_to(&app, "ann@example.com").await;
        let request = json!({"subject": template["subject"], "mjml": source, "contactId": ann["id"], "format": "json"});
        let seen = preview(&app, &request).await.assert_status(200).json();
        assert_eq!(mail["subject"], format!("[TEST] {}", text(&seen["subject"])));
        // but for where the footer leads
        let pages = |html: &str| {
            let mut rest = html.replace("\r\n", "\n");
            while let Some(at) = rest.find("/unsubscribe/").or(rest.find("/manage/")) {
                let begin = rest[..at].rfind('"').expect("an attribute") + 1;
                let end = at + rest[at..].find('"').expect("its end");
                let page = if rest[at..].starts_with("/unsubscribe/") { "#unsubscribe" } else { "#manage" };
                rest.replace_range(begin..end, page);
            }
            rest.trim_end().to_owned()
        };
        assert_eq!(pages(text(&mail["html"])), text(&seen["html"]).trim_end());
    }

    async fn nothing_that_somebody_wrote_can_run(engine: Engine) {
        let app = App::start(engine).await;
        let hostile = "<script>alert(document.domain)</script><img src=x onerror=alert(1)><base href='https://evil.example/'>\
                       <meta http-equiv='refresh' content='0;url=https://evil.example/'><iframe src='javascript:alert(1)'></iframe>\
                       <form action='https://evil.example/'><input name=a></form><link rel=stylesheet href='https://evil.example/x.css'>\
                       <meta http-equiv='Content-Security-Policy' content=\"script-src 'unsafe-inline'\"><svg onload=alert(1)>{{{html}}}";
        let data = json!({"html": "</style></textarea><script>alert(2)</script>"});
        let request = json!({"body": hostile, "data": data});
        for (more, images) in [
            (json!({}), "img-src 'self' data:"),
            (json!({"images": false}), "img-src 'self' data:"),
            (json!({"images": true}), "img-src 'self' data: https:"),
            (json!({"format": "text"}), "img-src 'self' data:"),
        ] {
            let answer = preview(&app, &with(request.clone(), &more)).await.assert_status(200);
            let mut wanted = vec![
                "sandbox", "default-src 'none'", "style-src 'unsafe-inline'", images, "form-action 'none'", "base-uri 'none'",
                "frame-ancestors 'self'",
            ];
            let mut found = policy(&answer);
            found.sort_unstable();
            wanted.sort_unstable();
            assert_eq!(found, wanted, "{more}");
            assert_eq!(required_header(&answer, "x-frame-options"), "SAMEORIGIN");
            assert_eq!(required_header(&answer, "x-content-type-options"), "nosniff");
            assert_eq!(required_header(&answer, "referrer-policy"), "no-referrer");
            assert_eq!(required_header(&answer, "cache-control"), "no-store");
            assert_eq!(required_header(&answer, "x-dns-prefetch-control"), "off");
            assert_eq!(header(&answer, "set-cookie"), None);
        }
        // what is no preview keeps the policy of all answers
        let json = preview(&app, &with(request, &json!({"format": "json"}))).await.assert_status(200);
        assert_eq!(policy(&json), ["default-src 'none'", "frame-ancestors 'none'"]);
        assert_eq!(required_header(&json, "x-frame-options"), "DENY");
        let refused = preview(&app, &json!({"mjml": "<mjml>"})).await;
        refused.assert_error(422, "VALIDATION_ERROR");
        assert_eq!(required_header(&refused, "x-frame-options"), "DENY");
    }

    async fn other_projects_contacts_are_not_seen(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let theirs = json!({"email": "eve@example.com", "data": {"secret": "theirs"}});
        let theirs = as_project(&app, &other, "POST", "/contacts").json(&theirs).send().await.json();
        for id in [&theirs["id"], &json!(UNKNOWN_ID)] {
            let answer = preview(&app, &json!({"body": "{{secret}}", "contactId": id})).await;
            answer.assert_error(404, "CONTACT_NOT_FOUND");
        }
    }
}

one_engine! {
    async fn what_cannot_be_shown_is_refused(engine: Engine) {
        let app = App::start(engine).await;
        for (request, field) in [
            (json!({"body": "x", "mjml": mjml("x")}), "mjml"),
            (json!({"mjml": "<mjml>\n<p/></mjml>"}), "mjml"),
            (json!({"mjml": mjml(&"<i>".repeat(1000))}), "mjml"),
            (json!({"body": 5}), "body"),
            (json!({"body": "x", "type": "LETTER"}), "type"),
            (json!({"body": "x", "format": "pdf"}), "format"),
            (json!({"body": "x", "data": "{"}), "data"),
            (json!({"body": "x", "contactId": "me"}), "contactId"),
            (json!({"subject": "a\nb"}), "subject"),
            (json!({"body": "x".repeat(2_000_001)}), "body"),
        ] {
            let refused = preview(&app, &request).await;
            refused.assert_error(422, "VALIDATION_ERROR");
            issue(&refused, field);
        }
        // of what values and loops write there is as much as in a mail
        let much = json!({"body": "{% for a in (1..9999) %}{{x}}{% endfor %}", "data": {"x": "x".repeat(10_000)}});
        let much = preview(&app, &much).await.assert_status(200);
        assert!(much.body.len() < 1024 * 1024, "{}", much.body.len());
        // what is being written is shown as far as it goes
        let begun = preview(&app, &json!({"format": "json"})).await.assert_status(200).json();
        assert_eq!(begun["subject"], "");
        let broken = json!({"body": "<p>{{name}} {% if", "data": {"name": "Ann"}, "format": "json"});
        let broken = preview(&app, &broken).await.assert_status(200).json();
        assert!(text(&broken["html"]).contains("Ann {% if"), "{broken}");
        assert_eq!(broken["problems"][0]["code"], "invalid_template", "{broken}");
    }
}
