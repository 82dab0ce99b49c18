//! Mails as a mail client shows them: pages for frames, their files, and what a look at them finds.

use mailwright_testkit::{App, Engine, OWNER, Response, both_engines};
use mailwright_tests::browser::Browser;
use mailwright_tests::{
    UNKNOWN_ID, as_project, assert_only_keys, create_contact, create_template, inline, items, mail_to, read,
    required_header, send_ok, text, with,
};
use serde_json::{Value, json};

/// A picture of a pixel, in base64.
const PIXEL: &str = "R0lGODlhAQABAAAAACwAAAAAAQABAAA=";

/// Sends a mail to somebody and waits until it is captured; its id.
async fn captured(app: &App, changes: &Value) -> String {
    let body = with(inline(app, &json!("ann@example.com")), changes);
    let sent = send_ok(app, body).await;
    let id = text(&sent["emails"][0]["email"]).to_owned();
    app.email_in(&id, &["SENT"]).await;
    id
}

/// The page that an answer shows, which can do nothing.
fn page(answer: Response) -> String {
    let answer = answer.assert_status(200);
    assert!(required_header(&answer, "content-type").starts_with("text/html"));
    assert_eq!(
        required_header(&answer, "content-security-policy"),
        "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; form-action 'none'; \
         base-uri 'none'; frame-ancestors 'self'"
    );
    assert_eq!(required_header(&answer, "x-frame-options"), "SAMEORIGIN");
    assert_eq!(required_header(&answer, "x-content-type-options"), "nosniff");
    assert_eq!(required_header(&answer, "referrer-policy"), "no-referrer");
    assert_eq!(required_header(&answer, "cache-control"), "no-store");
    answer.text()
}

both_engines! {
    async fn a_captured_mail_is_shown_in_a_frame_where_nothing_acts(engine: Engine) {
        let app = App::start(engine).await;
        let body = "<p>Hi</p><script>alert(1)</script><img src=\"cid:logo\"><img src=\"https://pictures.example/a.png\">\
            <a href=\"https://acme.example/\">Read on</a>";
        let logo = json!({"filename": "logo.gif", "contentType": "image/gif", "content": PIXEL, "contentId": "logo",
            "disposition": "inline"});
        let id = captured(&app, &json!({"body": body, "attachments": [logo]})).await;
        let source = read(&app, &format!("/mailbox/{id}")).await;
        assert!(text(&source["html"]).contains("/o.gif"), "it is tracked: {source}");

        let path = format!("/mailbox/{id}/html");
        let shown = page(app.get(&path).send().await);
        assert!(shown.starts_with("<!doctype html>") && shown.contains("<p>Hi</p>"), "{shown}");
        assert!(shown.contains(&format!("src=\"data:image/gif;base64,{PIXEL}\"")), "{shown}");
        assert!(!shown.contains("/o.gif"), "a look at it counts as no open: {shown}");
        // pictures from elsewhere are shown to whoever asks for them
        let more = app.get(&format!("{path}?images=1")).send().await.assert_status(200);
        assert!(required_header(&more, "content-security-policy").contains("img-src 'self' data: https:;"));
        assert!(required_header(&more, "content-security-policy").starts_with("sandbox; default-src 'none';"));
        // the same under the mail's own path
        assert_eq!(page(app.get(&format!("/emails/{id}/html")).send().await), shown);
    }

    async fn a_mail_that_was_sent_is_made_again_of_what_is_kept(engine: Engine) {
        let app = App::start(engine).await;
        create_contact(&app, "ann@example.com", true, json!({"plan": "gold"})).await;
        let template = create_template(&app, &json!({"type": "MARKETING", "body": "<p>Plan {{plan}}</p>"})).await;
        let request = json!({"to": "ann@example.com", "template": template["id"], "data": {"plan": {"value": "once", "persistent": false}}});
        let sent = send_ok(&app, request).await;
        let id = text(&sent["emails"][0]["email"]).to_owned();
        app.email_in(&id, &["SENT"]).await;
        app.delete("/mailbox").send().await.assert_status(204);
        app.get(&format!("/mailbox/{id}/html")).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        let shown = page(app.get(&format!("/emails/{id}/html")).send().await);
        // the value of the request is gone with the mail's, and the page says so
        assert!(shown.contains("<p>Plan gold</p>"), "{shown}");
        assert!(shown.contains("not kept any more"), "{shown}");
        assert!(shown.contains("Unsubscribe") && !shown.contains("/unsubscribe/"), "{shown}");

        // one without values of its own is what it was
        let id = captured(&app, &json!({"body": "<p>The same for all</p>"})).await;
        app.delete("/mailbox").send().await.assert_status(204);
        let shown = page(app.get(&format!("/emails/{id}/html")).send().await);
        assert!(shown.contains("<p>The same for all</p>") && !shown.contains("not kept"), "{shown}");
    }

    async fn mails_of_others_are_not_shown(engine: Engine) {
        let app = App::start(engine).await;
        let id = captured(&app, &json!({})).await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        for path in ["html", "checks", "attachments/0"] {
            for id in [&*id, UNKNOWN_ID, "nonsense"] {
                let answer = as_project(&app, &other, "GET", &format!("/mailbox/{id}/{path}")).send().await;
                answer.assert_error(404, "RESOURCE_NOT_FOUND");
            }
        }
        let answer = as_project(&app, &other, "GET", &format!("/emails/{id}/html")).send().await;
        let refused = answer.assert_error(404, "RESOURCE_NOT_FOUND");
        assert_eq!(refused["details"]["id"], id.as_str(), "{refused}");
    }

    async fn a_frame_names_its_project_in_the_address(engine: Engine) {
        let app = App::start(engine).await;
        let id = captured(&app, &json!({})).await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let outsider = Browser::sign_up(&app, "outsider@example.com").await;
        let elsewhere = outsider.create_project(&app, "Elsewhere").await;
        let (project, elsewhere) = (app.project_id(), text(&elsewhere["id"]));
        let logo = json!({"filename": "a.txt", "contentType": "text/plain", "content": "aGk="});
        let with_file = captured(&app, &json!({"attachments": [logo]})).await;
        for path in [
            format!("/mailbox/{id}/html"),
            format!("/mailbox/{id}/raw"),
            format!("/emails/{id}/html"),
            format!("/mailbox/{with_file}/attachments/0"),
        ] {
            let asked = format!("{path}?projectId={project}");
            owner.request(&app, "GET", &asked).send().await.assert_status(200);
            // as the header is checked, so is the parameter
            outsider.request(&app, "GET", &asked).send().await.assert_error(403, "PROJECT_ACCESS_DENIED");
            for none in [path.clone(), format!("{path}?projectId="), format!("{path}?projectId=nonsense")] {
                owner.request(&app, "GET", &none).send().await.assert_status(400);
            }
            app.request("GET", &asked).send().await.assert_status(401);
            // the header wins, also one that names nothing
            owner.in_project(&app, elsewhere, "GET", &asked).send().await.assert_error(403, "PROJECT_ACCESS_DENIED");
            owner.in_project(&app, "nonsense", "GET", &asked).send().await.assert_status(400);
            let named = format!("{path}?projectId={elsewhere}");
            owner.in_project(&app, project, "GET", &named).send().await.assert_status(200);
            // and a key has its own project
            app.get(&named).send().await.assert_status(200);
        }
        // a page of another origin could not set the header, and cannot do without it
        for from in ["cross-site", "same-site"] {
            let list = format!("/mailbox?projectId={project}");
            owner.request(&app, "GET", &list).header("sec-fetch-site", from).send().await.assert_error(400, "BAD_REQUEST");
        }
        // every other read takes it too; whoever writes has to set the header
        let list = format!("/mailbox?projectId={project}");
        owner.request(&app, "GET", &list).send().await.assert_status(200);
        owner.request(&app, "DELETE", &list).send().await.assert_error(400, "BAD_REQUEST");
        assert_eq!(items(&read(&app, "/mailbox").await["data"]).len(), 2);
    }

    async fn the_files_of_a_captured_mail_are_saved_and_never_opened(engine: Engine) {
        let app = App::start(engine).await;
        let evil = json!({"filename": "evil \u{fc}.html", "contentType": "text/html", "content": "PHNjcmlwdD4="});
        let other = json!({"filename": "b.bin", "contentType": "application/pdf", "content": "AAEC"});
        let id = captured(&app, &json!({"attachments": [evil, other]})).await;
        let mail = read(&app, &format!("/mailbox/{id}")).await;
        assert_eq!(items(&mail["attachments"]).len(), 2, "{mail}");
        for (index, name, content) in [(0, "evil%20%C3%BC.html", &b"<script>"[..]), (1, "b.bin", &[0, 1, 2])] {
            let file = app.get(&format!("/mailbox/{id}/attachments/{index}")).send().await.assert_status(200);
            assert_eq!(file.body, content);
            assert_eq!(required_header(&file, "content-type"), "application/octet-stream");
            let disposition = format!("attachment; filename*=UTF-8''{name}");
            assert_eq!(required_header(&file, "content-disposition"), disposition);
            assert_eq!(required_header(&file, "x-content-type-options"), "nosniff");
        }
        for index in ["2", "-1", "x"] {
            let path = format!("/mailbox/{id}/attachments/{index}");
            app.get(&path).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        }
    }

    async fn a_look_at_a_captured_mail_tells_what_receivers_find(engine: Engine) {
        let app = App::start(engine).await;
        let body = "<a href=\"https://acme.example/a\">Good</a><a href=\"http://acme.example\">Plain</a><a href=\"\">None</a>\
            <a href=\"https://localhost:3000\">Local</a><a href=\"/about\">Where</a>\
            <img src=\"https://acme.example/p.png\"><img src=\"https://acme.example/q.png\" alt=\"Q\"><form></form>";
        let id = captured(&app, &json!({"body": body})).await;
        let found = read(&app, &format!("/mailbox/{id}/checks")).await;
        assert_only_keys(&found, &["authentication", "links", "images", "isCut", "size", "warnings"]);
        let by = &found["authentication"];
        assert_eq!((&by["dkim"], &by["isAligned"], &by["isDomainVerified"]), (&json!("VALID"), &json!(true), &json!(true)));
        assert_eq!(by["dkimDomain"], "acme.test");
        assert_eq!((&by["hasListUnsubscribe"], &by["isOneClick"]), (&json!(false), &json!(false)));
        let links: Vec<_> = items(&found["links"]).iter().map(|link| (text(&link["text"]), text(&link["href"]), &link["problem"], &link["isTracked"])).collect();
        assert_eq!(links, [
            ("Good", "https://acme.example/a", &Value::Null, &json!(true)),
            ("Plain", "http://acme.example", &json!("NOT_HTTPS"), &json!(true)),
            ("None", "", &json!("EMPTY"), &json!(false)),
            ("Local", "https://localhost:3000", &json!("LOCALHOST"), &json!(true)),
            ("Where", "/about", &json!("NO_HOST"), &json!(false)),
        ]);
        assert_eq!(found["images"], json!({"count": 2, "withoutAlt": ["https://acme.example/p.png"]}));
        assert_eq!((&found["isCut"], &found["size"]["isClipped"]), (&json!(false), &json!(false)));
        assert_eq!(found["size"]["bytes"], read(&app, &format!("/mailbox/{id}")).await["size"]);
        let codes: Vec<_> = items(&found["warnings"]).iter().map(|warning| text(&warning["code"])).collect();
        assert_eq!(codes, ["ACTIVE_CONTENT", "UNDESCRIBED_PICTURE", "LITTLE_TEXT", "INSECURE_LINK"]);

        // what is longer is clipped, and marketing mail says how to unsubscribe
        create_contact(&app, "bea@example.com", true, json!({})).await;
        let long = format!("<p>{}</p>", "long ".repeat(22_000));
        let template = create_template(&app, &json!({"type": "MARKETING", "body": long})).await;
        send_ok(&app, json!({"to": "bea@example.com", "template": template["id"]})).await;
        let mail = mail_to(&app, "bea@example.com").await;
        let found = read(&app, &format!("/mailbox/{}/checks", text(&mail["id"]))).await;
        assert_eq!(found["size"]["isClipped"], true, "{}", found["size"]);
        assert_eq!(found["authentication"]["hasListUnsubscribe"], true);
        // the pages of a service that is tried out on a laptop are reached from there alone
        let problems: Vec<_> = items(&found["links"]).iter().map(|link| &link["problem"]).collect();
        assert!(!problems.is_empty() && problems.iter().all(|problem| **problem == "LOCALHOST"), "{problems:?}");
    }

    async fn a_look_sees_a_signature_that_is_not_that_of_the_mail(engine: Engine) {
        let app = App::start(engine).await;
        let id = captured(&app, &json!({"body": "<p>Hello there</p>"})).await;
        let path = format!("/mailbox/{id}/checks");
        assert_eq!(read(&app, &path).await["authentication"]["dkim"], "VALID");
        app.tamper("update domains set selector = 'mwother' where name = 'acme.test'").await;
        assert_eq!(read(&app, &path).await["authentication"]["dkim"], "KEY_GONE");
    }
}
