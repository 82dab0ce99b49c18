//! No secret is stored or logged in clear.

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, OWNER, both_engines};
use mailwright_tests::browser::{Browser, PASSWORD};
use mailwright_tests::holds;
use serde_json::json;

use crate::signin::{newest_token, with_mail};

/// The token of the link in the mail that arrived for an address.
async fn arrived(app: &App, sink: &ScriptedServer, to: &str, page: &str) -> String {
    let data = app
        .eventually(&format!("a mail to {to}"), async || sink.received_for(to).pop().map(|mail| mail.data))
        .await;
    let message = String::from_utf8_lossy(&data).replace("=\r\n", "").replace("=3D", "=");
    let link = format!("/auth/{page}?token=");
    let at = message.find(&link).unwrap_or_else(|| panic!("no {link} in {message}"));
    message[at + link.len()..].chars().take_while(char::is_ascii_alphanumeric).collect()
}

pub(super) fn assert_nowhere(secret: &str, what: &str, stored: &[u8], log: &str) {
    assert!(!holds(stored, secret), "{what} is stored in clear");
    assert!(!holds(log.as_bytes(), secret), "{what} is logged");
}

/// Has a link of each kind mailed: to ada, to bob and to the owner.
async fn ask_for_links(app: &App) {
    Browser::sign_up(app, "ada@example.com").await;
    let owner = Browser::log_in(app, OWNER.0, OWNER.1).await;
    let path = format!("/projects/{}/members", app.project_id());
    owner
        .request(app, "POST", &path)
        .json(&json!({"email": "bob@example.com"}))
        .send()
        .await
        .assert_status(202);
    let body = json!({"email": OWNER.0});
    app.request("POST", "/auth/request-password-reset").json(&body).send().await.assert_status(200);
}

both_engines! {
    async fn no_link_is_stored_or_logged(engine: Engine) {
        let sink = ScriptedServer::start(|_, _| Answer::Accept).await;
        let app = with_mail(engine).smtp(sink.port).env("MAILWRIGHT_LOG", "trace").start().await;
        ask_for_links(&app).await;
        let tokens = [
            ("a verification", arrived(&app, &sink, "ada@example.com", "verify-email").await),
            ("an invitation", arrived(&app, &sink, "bob@example.com", "invitation").await),
            ("a reset", arrived(&app, &sink, OWNER.0, "reset-password").await),
        ];
        // opening the pages and sending their forms leaves no trace of them either
        for ((_, token), page) in tokens.iter().zip(["verify-email", "invitation", "reset-password"]) {
            app.request("GET", &format!("/auth/{page}?token={token}")).send().await.assert_status(200);
            let post = app.request("POST", &format!("/auth/{page}")).header("origin", "https://evil.example");
            post.body(format!("token={token}"), "application/x-www-form-urlencoded").send().await.assert_status(403);
        }
        let (stored, log) = (app.stored().await, app.log());
        for (what, token) in &tokens {
            assert_eq!(token.len(), 64);
            assert_nowhere(token, what, &stored, &log);
        }
        // and they are the ones that work
        let body = json!({"token": tokens[0].1, "password": PASSWORD});
        app.request("POST", "/auth/verify-email").json(&body).send().await.assert_status(200);
    }

    async fn no_link_is_stored_where_mail_is_captured(engine: Engine) {
        let app = with_mail(engine).env("MAILWRIGHT_LOG", "trace").start().await;
        ask_for_links(&app).await;
        // the operator reads them with the instance's secret, so they are there
        let tokens = [
            ("a verification", newest_token(&app, "ada@example.com", "verify-email", 1).await),
            ("an invitation", newest_token(&app, "bob@example.com", "invitation", 1).await),
            ("a reset", newest_token(&app, OWNER.0, "reset-password", 1).await),
        ];
        let (stored, log) = (app.stored().await, app.log());
        for (what, token) in &tokens {
            assert_nowhere(token, what, &stored, &log);
        }
        // whereas a project's own mail is kept as it would have been sent
        let half = "c0ffee".repeat(6);
        let html = format!("<p>é {half}{{{{x}}}}{half}</p>");
        let body = json!({"to": "eve@example.com", "subject": "s", "body": html, "from": app.from(), "data": {"x": "rendered"}});
        app.send(body).await.assert_status(200);
        app.eventually("the mail is captured", async || app.mailbox_for("eve@example.com").await.pop()).await;
        assert!(holds(&app.stored().await, &format!("{half}rendered{half}")));
        let body = json!({"token": tokens[0].1, "password": PASSWORD});
        app.request("POST", "/auth/verify-email").json(&body).send().await.assert_status(200);
    }

    async fn links_are_counted_for_an_hour_however_short_they_are_good(engine: Engine) {
        let app = with_mail(engine).env("MAILWRIGHT_LOGIN_LINK_SECONDS", "60").start().await;
        let ada = Browser::sign_up(&app, "ada@example.com").await;
        let request = || ada.request(&app, "POST", "/auth/request-verification").send();
        for _ in 0..2 {
            request().await.assert_status(200);
        }
        request().await.assert_status(429);
        // two minutes later all three have expired
        app.tamper("update proofs set created_at = created_at - 120000, expires_at = expires_at - 120000").await;
        let token = newest_token(&app, "ada@example.com", "verify-email", 3).await;
        let body = json!({"token": token});
        app.request("POST", "/auth/verify-email").json(&body).send().await.assert_status(400);
        request().await.assert_status(429);
        // and an hour later they count no more
        app.tamper("update proofs set created_at = created_at - 3600000, expires_at = expires_at - 3600000").await;
        request().await.assert_status(200);
    }
}
