//! No secret is stored, logged or shown, and no name can end a line.

use mailwright_testkit::{App, Engine, OWNER, both_engines};
use mailwright_tests::browser::{Browser, PASSWORD, try_log_in};
use mailwright_tests::{create_contact, create_template, holds, items, mail_to, text};
use serde_json::{Value, json};

both_engines! {
    async fn secrets_are_neither_stored_nor_logged_nor_shown_again(engine: Engine) {
        let mut app = App::builder(engine).env("MAILWRIGHT_LOG", "debug").listening().start().await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let ada = Browser::sign_up(&app, "ada@example.com").await;
        let wrong = "a wrong password 5d41402a";
        try_log_in(&app, "ada@example.com", wrong).await.assert_status(401);
        let changed = "a changed password 7793a1";
        let change = json!({"currentPassword": PASSWORD, "newPassword": changed});
        ada.request(&app, "POST", "/users/@me/password").json(&change).send().await.assert_status(200);
        let named = owner.create_key(&app, app.project_id(), "CI", &["read"]).await;
        let rotate = format!("/users/@me/projects/{}/regenerate-keys", app.project_id());
        let pair = owner.request(&app, "POST", &rotate).send().await.assert_status(200).json();
        let invite = json!({"email": "grace@example.com"});
        let members = format!("/projects/{}/members", app.project_id());
        let invited = owner.request(&app, "POST", &members).json(&invite).send().await.assert_status(202).json();
        // a request that fails on the way says nothing of what it carried either
        let broken = format!("{{\"email\": \"ada@example.com\", \"password\": \"{wrong}\"");
        let broken = app.request("POST", "/auth/login").body(broken, "application/json").send().await;
        assert!(!broken.text().contains("5d41402a"), "{}", broken.text());

        let session = |browser: &Browser| browser.cookie.split_once('=').expect("a cookie").1.to_owned();
        // each with how many answers show it: the one that makes it, and none that only uses it
        let shown_in = [
            (OWNER.1.to_owned(), 0),
            (PASSWORD.to_owned(), 0),
            (wrong.to_owned(), 0),
            (changed.to_owned(), 0),
            (session(&owner), 1),
            (session(&ada), 1),
            (text(&named["key"]).to_owned(), 1),
            (text(&pair["secret"]).to_owned(), 1),
            (text(&invited["token"]).to_owned(), 1),
            (app.secret_key().to_owned(), 0),
        ];
        let secrets = shown_in.each_ref().map(|(secret, _)| secret.clone());
        for path in [
            "/users/@me".to_owned(),
            "/users/@me/projects".to_owned(),
            members,
            format!("/projects/{}/keys", app.project_id()),
            format!("/projects/{}/invitations", app.project_id()),
            format!("/projects/{}/audit", app.project_id()),
        ] {
            let shown = owner.request(&app, "GET", &path).send().await.assert_status(200).text();
            assert!(secrets.iter().all(|secret| !shown.contains(secret)), "{path}: {shown}");
            assert!(!shown.contains("argon2"), "{path}: {shown}");
        }
        // nor does any other answer, to whoever may ask for it
        let document = app.request("GET", "/openapi.json").send().await.assert_status(200).json();
        for (path, item) in mailwright_tests::members(&document["paths"]) {
            if !mailwright_tests::members(item).contains_key("get") || ["/auth/logout", "/activity/stream"].contains(&path.as_str()) {
                continue;
            }
            let named = path.starts_with("/projects/") || path.starts_with("/users/@me/projects/");
            let id = if named || path.contains("{projectId}") { app.project_id() } else { mailwright_tests::UNKNOWN_ID };
            let filled: Vec<&str> = path.split('/').map(|part| if part.starts_with('{') { id } else { part }).collect();
            let request = owner.in_project(&app, app.project_id(), "GET", &filled.join("/"));
            let answer = request.send().await;
            let shown = format!("{:?} {}", answer.headers, String::from_utf8_lossy(&answer.body));
            assert!(secrets.iter().all(|secret| !shown.contains(secret)), "{path}: {shown}");
            assert!(!shown.contains("argon2"), "{path}: {shown}");
        }
        // what was looked at above, and whatever else was answered on the way
        let heard = app.heard();
        for (secret, times) in &shown_in {
            let showing = heard.iter().filter(|(_, answer)| {
                format!("{:?} {}", answer.headers, answer.text()).contains(secret)
            });
            let showing: Vec<&String> = showing.map(|(request, _)| request).collect();
            assert_eq!(showing.len(), *times, "{secret} is shown by {showing:?}");
        }
        // the search finds what is there, also in the middle of a blob and where a mail breaks its lines
        let half = "b10b".repeat(10);
        let marker = format!("{half}rendered{half}");
        let html = format!("<p>é {half}{{{{x}}}}{half}</p>");
        let body = json!({
            "to": "blob@example.com", "subject": "s", "body": html, "from": app.from(), "data": {"x": "rendered"},
        });
        app.request("POST", "/v1/send").bearer(text(&pair["secret"])).json(&body).send().await.assert_status(200);
        let stored = app.eventually("the marker is stored in a blob", async || {
            let stored = app.stored().await;
            holds(&stored, "DKIM-Signature").then_some(stored)
        })
        .await;
        assert!(holds(&stored, "ada@example.com") && holds(&stored, &marker), "the search finds what is there");
        for secret in &secrets {
            assert!(!holds(&stored, secret), "{secret} is stored in clear");
        }
        app.stop().await;
        let log = app.log();
        assert!(log.contains("request answered"), "the server logs");
        for secret in &secrets {
            assert!(!holds(log.as_bytes(), secret), "{secret} is logged");
        }
    }

    async fn answers_with_secrets_are_kept_by_nobody(engine: Engine) {
        let app = App::start(engine).await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let project = app.project_id();
        for (path, body) in [
            ("/users/@me/projects".to_owned(), json!({"name": "Another"})),
            (format!("/projects/{project}/keys"), json!({"name": "CI", "scopes": ["read"]})),
            (format!("/projects/{project}/members"), json!({"email": "grace@example.com"})),
            (format!("/users/@me/projects/{project}/regenerate-keys"), json!({})),
        ] {
            let answer = owner.request(&app, "POST", &path).json(&body).send().await;
            assert!((200..300).contains(&answer.status), "{path}: {}", answer.text());
            assert_eq!(answer.headers.get_all("cache-control"), ["no-store"], "{path}");
        }
    }

    async fn names_cannot_end_headers_or_log_lines(engine: Engine) {
        let mut app = App::builder(engine).env("MAILWRIGHT_LOG", "debug").start().await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let evil = "Acme\r\nBcc: everybody@example.com\r\n{\"level\":\"FORGED\"}";
        let project = format!("/users/@me/projects/{}", app.project_id());
        let keys = format!("/projects/{}/keys", app.project_id());
        for (method, path, body) in [
            ("PATCH", project.as_str(), json!({"name": evil})),
            ("POST", "/users/@me/projects", json!({"name": evil})),
            ("PATCH", "/users/@me", json!({"name": evil})),
            ("POST", &keys, json!({"name": evil, "scopes": ["read"]})),
        ] {
            owner.request(&app, method, path).json(&body).send().await.assert_issue("name", "invalid_string");
        }
        // a name that is shown to recipients stays within its header
        let quoted = json!({"name": "Acme \"<evil@example.com>\", Inc. \u{1F680}"});
        owner.request(&app, "PATCH", &project).json(&quoted).send().await.assert_status(200);
        app.send_to("ada@example.com").await;
        let mail = app
            .eventually("the mail", async || app.mailbox_for("ada@example.com").await.into_iter().next())
            .await;
        let from = items(&mail["headers"]).iter().filter(|header| header["name"] == "From").count();
        assert_eq!(from, 1, "{mail}");
        assert!(text(&mail["from"]).contains(&app.from()), "{mail}");
        // and neither address nor header can be smuggled in through the identifiers of a request
        for id in ["a%0d%0ab", "%00", "..%2f..", "'; drop table users; --"] {
            let path = format!("/projects/{}/members", mailwright_tests::encoded(id));
            owner.request(&app, "GET", &path).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
            owner.in_project(&app, id, "GET", "/contacts").send().await.assert_error(400, "BAD_REQUEST");
        }
        // where a name may have lines it is stored with them, and ends no line of the log all the same
        let campaign = json!({"name": evil, "subject": "s", "body": "b", "from": app.from(), "audienceType": "ALL"});
        let campaign = app.post("/campaigns").json(&campaign).send().await.assert_status(201).json();
        assert_eq!(campaign["data"]["name"], evil);
        create_contact(&app, "grace@example.com", true, json!({})).await;
        let start = format!("/campaigns/{}/send", text(&campaign["data"]["id"]));
        app.post(&start).json(&json!({})).send().await.assert_status(200);
        mail_to(&app, "grace@example.com").await;
        create_template(&app, &json!({"name": evil})).await;
        let event = json!({"email": "grace@example.com", "event": evil});
        app.track(event).await.assert_status(200);
        let agent = "\t{\"level\":\"FORGED\"} \u{fc}";
        owner.request(&app, "GET", "/users/@me").header("user-agent", agent).send().await.assert_status(200);
        app.stop().await;
        let log = app.log();
        for line in log.lines() {
            let parsed: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            assert!(parsed["level"].is_string() && parsed["level"] != "FORGED", "{line}");
        }
        assert!(log.lines().count() > 20, "the server logs");
    }
}
