//! The pages behind links in the instance's own mails, followed as a person does.

use mailwright_testkit::{App, Engine, OWNER, Response, both_engines};
use mailwright_tests::browser::{Browser, PASSWORD, try_log_in};
use mailwright_tests::{encoded, required_header, shown, text};
use serde_json::{Value, json};

use super::{LINK, NO_TOKEN, newest_token, own_mails_once, with_mail};

const NEW: &str = "another password, better & \"quoted\"";

fn assert_page(answer: &Response, status: u16, heading: &str) {
    assert_eq!(answer.status, status, "{}", shown(answer));
    assert!(required_header(answer, "content-type").starts_with("text/html"), "{}", shown(answer));
    assert!(answer.text().contains(&format!("<h1>{heading}</h1>")), "{heading} in {}", shown(answer));
    let policy = required_header(answer, "content-security-policy");
    for part in ["default-src 'none'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"] {
        assert!(policy.contains(part), "{part} in {policy}");
    }
    assert!(!answer.text().contains("<script"), "{}", shown(answer));
    assert_eq!(required_header(answer, "cache-control"), "no-store");
    assert_eq!(required_header(answer, "x-frame-options"), "DENY");
    // neither of them ever names the page's path, which holds the token
    let referrer = required_header(answer, "referrer-policy");
    assert!(["no-referrer", "strict-origin"].contains(&referrer), "{referrer}");
}

/// Opens the link to a page in the browser of somebody.
async fn open_as(app: &App, user: &Browser, page: &str, token: &str) -> Response {
    user.request(app, "GET", &format!("/auth/{page}?token={token}")).send().await
}

/// Opens the link to a page.
async fn open(app: &App, page: &str, token: &str) -> Response {
    app.request("GET", &format!("/auth/{page}?token={token}")).send().await
}

/// Sends a page's form as a browser does, with the fields that the page has and the given ones.
async fn submit(app: &App, answer: &Response, cookie: Option<&str>, fields: &[(&str, &str)]) -> Response {
    let html = answer.text();
    let attribute = |after: &str| {
        let at = html.find(after).unwrap_or_else(|| panic!("no {after} in {html}")) + after.len();
        html[at..].split('"').next().unwrap_or_default().to_owned()
    };
    let path = format!("/auth/{}", attribute("<form method=\"post\" action=\""));
    let token = attribute("name=\"token\" value=\"");
    for (name, _) in fields {
        assert!(html.contains(&format!("name=\"{name}\"")), "no field {name} in {html}");
    }
    let mut body = format!("token={token}");
    for (name, value) in fields {
        body += &format!("&{name}={}", encoded(value));
    }
    let request = app
        .request("POST", &path)
        .header("origin", app.base_url())
        .header("sec-fetch-site", "same-origin")
        .body(body, "application/x-www-form-urlencoded");
    match cookie {
        Some(cookie) => request.header("cookie", cookie).send().await,
        None => request.send().await,
    }
}

async fn invited(app: &App, email: &str, mails: usize) -> String {
    let owner = Browser::log_in(app, OWNER.0, OWNER.1).await;
    let path = format!("/projects/{}/members", app.project_id());
    owner.request(app, "POST", &path).json(&json!({"email": email})).send().await.assert_status(202);
    newest_token(app, email, "invitation", mails).await
}

/// The address of whoever an answer signed in, and how many projects they are in.
async fn signed_in(app: &App, answer: &Response) -> (String, usize) {
    let cookie = mailwright_tests::browser::cookie(answer);
    let me =
        app.request("GET", "/users/@me").header("cookie", &cookie).send().await.assert_status(200).json();
    let projects = app.request("GET", "/users/@me/projects").header("cookie", &cookie).send().await;
    let projects = projects.assert_status(200).json();
    (text(&me["email"]).to_owned(), projects.as_array().map_or(0, Vec::len))
}

async fn me(app: &App, user: &Browser) -> Response {
    user.request(app, "GET", "/users/@me").send().await
}

both_engines! {
    async fn an_address_is_verified_from_the_mail_to_the_end(engine: Engine) {
        let app = with_mail(engine).start().await;
        let ada = Browser::sign_up(&app, "ada@example.com").await;
        let token = newest_token(&app, "ada@example.com", "verify-email", 1).await;
        let page = open_as(&app, &ada, "verify-email", &token).await;
        assert_page(&page, 200, "Confirm your email address");
        assert!(page.text().contains("ada@example.com"), "{}", shown(&page));
        assert!(!page.text().contains("type=\"password\""), "{}", shown(&page));
        assert_eq!(page.text().matches(&token).count(), 1, "in the form alone");
        // looking changes nothing, however often a scanner does
        assert_page(&open(&app, "verify-email", &token).await, 200, "Confirm your email address");
        me(&app, &ada).await.assert_error(403, "EMAIL_VERIFICATION_REQUIRED");
        // nor does a form of another site
        let form = format!("token={token}");
        for (name, value) in [("origin", "https://evil.example"), ("origin", "null"), ("sec-fetch-site", "cross-site")] {
            let post = app.request("POST", "/auth/verify-email").header(name, value);
            let post = post.body(form.clone(), "application/x-www-form-urlencoded");
            post.send().await.assert_error(403, "FORBIDDEN");
        }
        me(&app, &ada).await.assert_error(403, "EMAIL_VERIFICATION_REQUIRED");

        let confirmed = submit(&app, &page, Some(&ada.cookie), &[]).await;
        assert_page(&confirmed, 200, "Your address is confirmed");
        assert_eq!(me(&app, &ada).await.assert_status(200).json()["emailVerified"], true);
        for used in [submit(&app, &page, None, &[]).await, open(&app, "verify-email", &token).await] {
            assert_page(&used, 404, "This link does not work");
            assert!(!used.text().contains(&token), "{}", shown(&used));
        }
    }

    async fn who_opens_a_link_elsewhere_shows_the_password_or_says_it_was_somebody_else(engine: Engine) {
        let app = with_mail(engine).start().await;
        let heading = "Confirm your email address";
        // by who made the account, on another device
        let ada = Browser::sign_up(&app, "ada@example.com").await;
        let token = newest_token(&app, "ada@example.com", "verify-email", 1).await;
        let page = open(&app, "verify-email", &token).await;
        assert_page(&page, 200, heading);
        assert!(page.text().contains("It was not me"), "{}", shown(&page));
        for (fields, alert) in [
            (&[][..], "Enter the password of the account"),
            (&[("password", "wrong password")], "The password is wrong"),
        ] {
            let again = submit(&app, &page, None, fields).await;
            assert_page(&again, 401, heading);
            assert!(again.text().contains(alert), "{}", shown(&again));
        }
        me(&app, &ada).await.assert_error(403, "EMAIL_VERIFICATION_REQUIRED");
        let done = submit(&app, &page, None, &[("password", PASSWORD)]).await;
        assert_page(&done, 200, "Your address is confirmed");
        me(&app, &ada).await.assert_status(200);

        // by who did not: the account with another password, or no account
        let mal = Browser::sign_up(&app, "victim@example.com").await;
        let token = newest_token(&app, "victim@example.com", "verify-email", 1).await;
        let page = open(&app, "verify-email", &token).await;
        let short = submit(&app, &page, None, &[("action", "claim"), ("newPassword", "short")]).await;
        assert_page(&short, 422, heading);
        assert!(short.text().contains("at least 8 characters"), "{}", shown(&short));
        let done = submit(&app, &page, None, &[("action", "claim"), ("newPassword", NEW)]).await;
        assert_page(&done, 200, "The account is yours");
        me(&app, &mal).await.assert_error(401, "UNAUTHORIZED");
        try_log_in(&app, "victim@example.com", NEW).await.assert_status(200);

        let mal = Browser::sign_up(&app, "other@example.com").await;
        let token = newest_token(&app, "other@example.com", "verify-email", 1).await;
        let page = open(&app, "verify-email", &token).await;
        let done = submit(&app, &page, None, &[("action", "disown")]).await;
        assert_page(&done, 200, "Thank you for telling us");
        me(&app, &mal).await.assert_error(401, "UNAUTHORIZED");
        assert_page(&open(&app, "verify-email", &token).await, 404, "This link does not work");
    }

    async fn a_password_is_reset_from_the_mail_to_the_end(engine: Engine) {
        let app = with_mail(engine).start().await;
        let before = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let ask = json!({"email": OWNER.0});
        app.request("POST", "/auth/request-password-reset").json(&ask).send().await.assert_status(200);
        let token = newest_token(&app, OWNER.0, "reset-password", 1).await;
        let page = open(&app, "reset-password", &token).await;
        assert_page(&page, 200, "Choose another password");
        assert_eq!(page.text().matches(&token).count(), 1, "in the form alone");
        // a password that is too short is asked for again, and uses nothing up
        for short in ["", "short", "sevenäö"] {
            let again = submit(&app, &page, None, &[("newPassword", short)]).await;
            assert_page(&again, 422, "Choose another password");
            assert!(again.text().contains("at least 8 characters"), "{}", shown(&again));
        }
        try_log_in(&app, OWNER.0, OWNER.1).await.assert_status(200);
        let done = submit(&app, &page, None, &[("newPassword", NEW)]).await;
        assert_page(&done, 200, "The password was set");
        assert!(done.headers.get("set-cookie").is_none(), "whoever reads the mail still signs in");
        me(&app, &before).await.assert_error(401, "UNAUTHORIZED");
        try_log_in(&app, OWNER.0, OWNER.1).await.assert_error(401, "INVALID_CREDENTIALS");
        try_log_in(&app, OWNER.0, NEW).await.assert_status(200);
        for used in [
            submit(&app, &page, None, &[("newPassword", PASSWORD)]).await,
            open(&app, "reset-password", &token).await,
        ] {
            assert_page(&used, 404, "This link does not work");
        }
        try_log_in(&app, OWNER.0, NEW).await.assert_status(200);
    }

    async fn a_link_that_leads_nowhere_says_so(engine: Engine) {
        let app = with_mail(engine).start().await;
        Browser::sign_up(&app, "ada@example.com").await;
        let expired = newest_token(&app, "ada@example.com", "verify-email", 1).await;
        app.advance(LINK).await;
        assert_page(&open(&app, "verify-email", &expired).await, 404, "This link does not work");
        let evil = "%22%3E%3Cscript%3Ealert(1)%3C/script%3E";
        for page in ["verify-email", "reset-password", "invitation"] {
            for token in ["", NO_TOKEN, "%00", "short", evil] {
                let answer = open(&app, page, token).await;
                assert_page(&answer, 404, "This link does not work");
                assert!(!answer.text().contains("alert(1)"), "{}", shown(&answer));
            }
            let bare = app.request("GET", &format!("/auth/{page}")).send().await;
            assert_page(&bare, 404, "This link does not work");
        }
        let post = app.request("POST", "/auth/invitation").body("token=x", "application/x-www-form-urlencoded");
        assert_page(&post.send().await, 404, "This link does not work");
    }

    async fn an_invited_person_signs_up_from_the_mail_to_the_end(engine: Engine) {
        let app = with_mail(engine).env("MAILWRIGHT_DISABLE_SIGNUPS", "true").start().await;
        let token = invited(&app, "ada@example.com", 1).await;
        // whoever else is signed in at the browser does not matter
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let page = owner.request(&app, "GET", &format!("/auth/invitation?token={token}")).send().await;
        assert_page(&page, 200, "Join Acme");
        assert!(page.text().contains(OWNER.0) && page.text().contains("a member"), "{}", shown(&page));
        let short = submit(&app, &page, None, &[("name", "<Ada>"), ("password", "short")]).await;
        assert_page(&short, 422, "Join Acme");
        assert!(short.text().contains("&lt;Ada&gt;") && !short.text().contains("<Ada>"), "{}", shown(&short));
        let hidden = submit(&app, &page, None, &[("name", "a\u{202e}b"), ("password", PASSWORD)]).await;
        assert_page(&hidden, 422, "Join Acme");

        let done = submit(&app, &short, None, &[("name", "Ada"), ("password", PASSWORD)]).await;
        assert_page(&done, 200, "You are in Acme now");
        assert_eq!(signed_in(&app, &done).await, ("ada@example.com".into(), 1), "the mail proved the address");
        let again = submit(&app, &page, None, &[("name", ""), ("password", PASSWORD)]).await;
        assert_page(&again, 404, "This link does not work");
    }

    async fn who_has_an_account_signs_in_on_the_page(engine: Engine) {
        // without own mail the inviter passes the link on, and accounts are let in unverified
        let app = App::start(engine).await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let path = format!("/projects/{}/members", app.project_id());
        let invite = async |email: &str| -> Value {
            let body = json!({"email": email, "role": "ADMIN"});
            owner.request(&app, "POST", &path).json(&body).send().await.assert_status(202).json()
        };
        let token = text(&invite("ada@example.com").await["token"]).to_owned();
        let ada = Browser::sign_up(&app, "ada@example.com").await;
        let page = open(&app, "invitation", &token).await;
        assert_page(&page, 200, "Join Acme");
        let wrong = submit(&app, &page, None, &[("password", "wrong password")]).await;
        assert_page(&wrong, 401, "Join Acme");
        assert!(wrong.text().contains("password is wrong"), "{}", shown(&wrong));
        let done = submit(&app, &page, None, &[("password", PASSWORD)]).await;
        assert_page(&done, 200, "You are in Acme now");
        assert_eq!(signed_in(&app, &done).await, ("ada@example.com".into(), 1));
        owner.request(&app, "DELETE", &format!("{path}/{}", ada.id)).send().await.assert_status(200);

        // signed in with the address it takes one click, which another site cannot make
        let carols = invite("carol@example.com").await;
        let token = text(&carols["token"]);
        let carol = Browser::sign_up(&app, "carol@example.com").await;
        let page = carol.request(&app, "GET", &format!("/auth/invitation?token={token}")).send().await;
        assert_page(&page, 200, "Join Acme");
        assert!(!page.text().contains("type=\"password\""), "{}", shown(&page));
        let foreign = carol.request(&app, "POST", "/auth/invitation").header("origin", "https://evil.example");
        let foreign = foreign.body(format!("token={token}"), "application/x-www-form-urlencoded");
        foreign.send().await.assert_error(403, "FORBIDDEN");
        assert_page(&submit(&app, &page, Some(&carol.cookie), &[]).await, 200, "You are in Acme now");
        carol.in_project(&app, app.project_id(), "GET", "/contacts").send().await.assert_status(200);
        assert_page(&submit(&app, &page, Some(&carol.cookie), &[]).await, 404, "This link does not work");
    }

    async fn an_unverified_account_verifies_first(engine: Engine) {
        let app = with_mail(engine).start().await;
        let token = invited(&app, "ada@example.com", 1).await;
        let ada = Browser::sign_up(&app, "ada@example.com").await;
        let page = ada.request(&app, "GET", &format!("/auth/invitation?token={token}")).send().await;
        assert_page(&page, 403, "Confirm your address first");
        own_mails_once(&app, "ada@example.com", 2).await;
        let proof = newest_token(&app, "ada@example.com", "verify-email", 2).await;
        let page = open_as(&app, &ada, "verify-email", &proof).await;
        let confirmed = submit(&app, &page, Some(&ada.cookie), &[]).await;
        assert_page(&confirmed, 200, "Your address is confirmed");
        ada.in_project(&app, app.project_id(), "GET", "/contacts").send().await.assert_status(200);
    }
}
