//! Files of mails that came in, and for how long they are there.

use std::time::Duration;

use mailwright_testkit::dns::FakeDns;
use mailwright_testkit::{Engine, both_engines};
use mailwright_tests::{UNKNOWN_ID, inline, required_header, send_ok, text};
use serde_json::json;

use super::{bring_ok, received, started};

const MAIL: &str = "From: ada@example.com\nSubject: files\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=x\n\n\
    --x\nContent-Type: text/plain\n\nSee below.\n--x\nContent-Type: text/html; name=\"evil \\\"page.html\"\n\
    Content-Disposition: attachment; filename=\"../evil page.html\"\nContent-Transfer-Encoding: base64\n\n\
    PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==\n--x--\n";

/// A mail with a script, and with a picture that came with it.
const WITH_PICTURE: &str = "From: ada@example.com\nSubject: picture\nMIME-Version: 1.0\n\
    Content-Type: multipart/related; boundary=x\n\n--x\nContent-Type: text/html\n\n\
    <p>Hi</p><script>alert(1)</script><img src=\"cid:logo\">\n--x\nContent-Type: image/gif; name=logo.gif\n\
    Content-ID: <logo>\nContent-Disposition: inline; filename=logo.gif\nContent-Transfer-Encoding: base64\n\n\
    R0lGODlhAQABAAAAACwAAAAAAQABAAA=\n--x--\n";

both_engines! {
    async fn files_are_listed_and_fetched_and_forgotten(engine: Engine) {
        let dns = FakeDns::start().await;
        let (app, mut session) = started(engine, &dns).await;
        bring_ok(&mut session, "ada@example.com", &["a@acme.test"], MAIL).await;
        let id = text(&received(&app).await[0]["id"]).to_owned();
        let path = |rest: &str| format!("/emails/{id}/{rest}");
        let listed = app.get(&path("attachments")).send().await.assert_status(200).json();
        assert_eq!(listed, json!([{
            "filename": "evil page.html", "contentType": "text/html", "size": 25, "contentId": null, "isInline": false,
        }]));
        let file = app.get(&path("attachments/0")).send().await.assert_status(200);
        assert_eq!(file.text(), "<script>alert(1)</script>");
        assert_eq!(required_header(&file, "content-type"), "application/octet-stream");
        assert_eq!(required_header(&file, "content-disposition"), "attachment; filename*=UTF-8''evil%20page.html");
        let raw = app.get(&path("raw")).send().await.assert_status(200);
        assert_eq!(raw.text(), MAIL.replace('\n', "\r\n"));
        assert_eq!(required_header(&raw, "content-type"), "message/rfc822");
        for answer in [&file, &raw] {
            assert_eq!(required_header(answer, "x-content-type-options"), "nosniff");
            assert!(required_header(answer, "content-security-policy").starts_with("sandbox;"));
        }
        let sent = send_ok(&app, inline(&app, &json!("bob@example.com"))).await;
        let sent = text(&sent["emails"][0]["email"]);
        for unknown in [
            path("attachments/1"),
            path("attachments/x"),
            format!("/emails/{sent}/attachments"),
            format!("/emails/{sent}/raw"),
            format!("/emails/{UNKNOWN_ID}/attachments/0"),
        ] {
            app.get(&unknown).send().await.assert_status(404);
        }
        app.get(&path("raw")).bearer(app.public_key()).send().await.assert_status(401);

        app.advance(Duration::from_hours(29 * 24)).await;
        app.get(&path("raw")).send().await.assert_status(200);
        app.advance(Duration::from_hours(2 * 24)).await;
        app.eventually("the message is forgotten", async || {
            (app.get(&path("raw")).send().await.status == 404).then_some(())
        })
        .await;
        app.get(&path("attachments/0")).send().await.assert_status(404);
        assert_eq!(app.email(&id).await["inbound"]["text"], "See below.");
        // and then the same is new
        bring_ok(&mut session, "ada@example.com", &["a@acme.test"], MAIL).await;
        assert_eq!(received(&app).await.len(), 2);
    }

    async fn a_mail_is_shown_in_a_frame_with_its_pictures_while_they_are_kept(engine: Engine) {
        let dns = FakeDns::start().await;
        let (app, mut session) = started(engine, &dns).await;
        bring_ok(&mut session, "ada@example.com", &["a@acme.test"], WITH_PICTURE).await;
        let id = text(&received(&app).await[0]["id"]).to_owned();
        let path = format!("/emails/{id}/html");
        let shown = app.get(&path).send().await.assert_status(200);
        assert!(required_header(&shown, "content-security-policy").starts_with("sandbox; default-src 'none';"));
        assert_eq!(required_header(&shown, "x-frame-options"), "SAMEORIGIN");
        let page = shown.text();
        assert!(page.contains("<p>Hi</p>") && !page.contains("script"), "{page}");
        assert!(page.contains("src=\"data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=\""), "{page}");
        app.advance(Duration::from_hours(31 * 24)).await;
        app.eventually("the message is forgotten", async || {
            let page = app.get(&path).send().await.assert_status(200).text();
            (page.contains("<p>Hi</p>") && !page.contains("data:image/gif")).then_some(())
        })
        .await;
    }
}
