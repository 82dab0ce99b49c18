//! No secret is stored or logged in clear.

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, OWNER, both_engines};
use mailwright_tests::browser::Browser;
use serde_json::json;

use crate::with_mail;

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
    let bytes = secret.as_bytes();
    assert!(bytes.len() >= 8, "{what}: {secret:?}");
    assert!(!stored.windows(bytes.len()).any(|part| part == bytes), "{what} is stored in clear");
    assert!(!log.contains(secret), "{what} is logged");
}

both_engines! {
    async fn no_link_is_stored_or_logged(engine: Engine) {
        let sink = ScriptedServer::start(|_, _| Answer::Accept).await;
        let app = with_mail(engine).smtp(sink.port).env("MAILWRIGHT_LOG", "trace").start().await;
        Browser::sign_up(&app, "ada@example.com").await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let path = format!("/projects/{}/members", app.project_id());
        owner.request(&app, "POST", &path).json(&json!({"email": "bob@example.com"})).send().await.assert_status(202);
        let body = json!({"email": OWNER.0});
        app.request("POST", "/auth/request-password-reset").json(&body).send().await.assert_status(200);
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
        let body = json!({"token": tokens[0].1});
        app.request("POST", "/auth/verify-email").json(&body).send().await.assert_status(200);
    }
}
