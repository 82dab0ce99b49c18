//! Setting another password by a link.

use std::time::Duration;

use mailwright_testkit::{App, Engine, OWNER, Response, both_engines};
use mailwright_tests::browser::{Browser, PASSWORD, try_log_in};
use mailwright_tests::{issues, shown};
use serde_json::json;

use super::{LINK, NO_TOKEN, newest_token, own_mails, own_mails_once, token_in, with_mail};

const NEW: &str = "another password, better";

async fn ask(app: &App, email: &str) -> Response {
    app.request("POST", "/auth/request-password-reset").json(&json!({"email": email})).send().await
}

async fn reset(app: &App, token: &str, password: &str) -> Response {
    let body = json!({"token": token, "newPassword": password});
    app.request("POST", "/auth/reset-password").json(&body).send().await
}

both_engines! {
    async fn a_reset_sets_the_password_and_ends_all_sessions(engine: Engine) {
        let app = with_mail(engine).start().await;
        let before = [Browser::log_in(&app, OWNER.0, OWNER.1).await, Browser::log_in(&app, OWNER.0, OWNER.1).await];
        ask(&app, "OWNER@example.com").await.assert_status(200);
        let token = newest_token(&app, OWNER.0, "reset-password", 1).await;
        assert_eq!(issues(&reset(&app, &token, "short").await), [("newPassword".to_owned(), "too_small".to_owned())]);
        reset(&app, NO_TOKEN, NEW).await.assert_error(400, "BAD_REQUEST");
        reset(&app, &token, NEW).await.assert_status(200);
        for session in &before {
            session.request(&app, "GET", "/users/@me").send().await.assert_error(401, "UNAUTHORIZED");
        }
        try_log_in(&app, OWNER.0, OWNER.1).await.assert_error(401, "INVALID_CREDENTIALS");
        try_log_in(&app, OWNER.0, NEW).await.assert_status(200);
        reset(&app, &token, PASSWORD).await.assert_error(400, "BAD_REQUEST");
        try_log_in(&app, OWNER.0, NEW).await.assert_status(200);
    }

    async fn one_link_used_makes_the_others_useless(engine: Engine) {
        let app = with_mail(engine).start().await;
        for many in 1..=3 {
            ask(&app, OWNER.0).await.assert_status(200);
            own_mails_once(&app, OWNER.0, many).await;
        }
        let mails = own_mails_once(&app, OWNER.0, 3).await;
        let tokens: Vec<_> = mails.iter().map(|mail| token_in(&app, mail, "reset-password")).collect();
        let mut used = futures_util::future::join_all(tokens.iter().map(|token| reset(&app, token, NEW))).await;
        used.retain(|answer| answer.status == 200);
        assert_eq!(used.len(), 1, "{:?}", used.iter().map(shown).collect::<Vec<_>>());
        for token in &tokens {
            reset(&app, token, PASSWORD).await.assert_error(400, "BAD_REQUEST");
        }
        // the fourth in an hour is dropped without a word
        ask(&app, OWNER.0).await.assert_status(200);
        // the rounds that would write it have passed, and so has a mail of a later time
        app.advance(Duration::from_secs(2)).await;
        Browser::sign_up(&app, "ada@example.com").await;
        own_mails_once(&app, "ada@example.com", 1).await;
        assert_eq!(own_mails(&app, OWNER.0).await.len(), 3);
    }

    async fn a_change_of_password_makes_links_useless(engine: Engine) {
        let app = with_mail(engine).start().await;
        ask(&app, OWNER.0).await.assert_status(200);
        let token = newest_token(&app, OWNER.0, "reset-password", 1).await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let body = json!({"currentPassword": OWNER.1, "newPassword": PASSWORD});
        owner.request(&app, "POST", "/users/@me/password").json(&body).send().await.assert_status(200);
        reset(&app, &token, NEW).await.assert_error(400, "BAD_REQUEST");
    }

    async fn an_expired_link_resets_nothing(engine: Engine) {
        let app = with_mail(engine).start().await;
        ask(&app, OWNER.0).await.assert_status(200);
        let token = newest_token(&app, OWNER.0, "reset-password", 1).await;
        app.advance(LINK).await;
        reset(&app, &token, NEW).await.assert_error(400, "BAD_REQUEST");
        try_log_in(&app, OWNER.0, OWNER.1).await.assert_status(200);
    }

    async fn the_answer_does_not_tell_whether_an_address_has_an_account(engine: Engine) {
        let app = with_mail(engine).start().await;
        let known = ask(&app, OWNER.0).await.assert_status(200);
        let unknown = ask(&app, "nobody@example.com").await.assert_status(200);
        assert_eq!(known.json(), unknown.json());
        own_mails_once(&app, OWNER.0, 1).await;
        assert!(own_mails(&app, "nobody@example.com").await.is_empty());
    }

    async fn whoever_asks_too_often_is_slowed_down(engine: Engine) {
        let app = with_mail(engine).env("MAILWRIGHT_LOGIN_ATTEMPTS_PER_CLIENT", "5").start().await;
        for n in 0..5 {
            ask(&app, &format!("nobody{n}@example.com")).await.assert_status(200);
        }
        ask(&app, OWNER.0).await.assert_error(429, "RATE_LIMIT_EXCEEDED");
    }

    async fn who_goes_on_guessing_after_a_reset_keeps_nobody_out(engine: Engine) {
        let builder = with_mail(engine).env("MAILWRIGHT_LOGIN_ATTEMPTS_PER_ADDRESS", "3");
        let app = builder.env("MAILWRIGHT_TRUSTED_PROXIES", "1").start().await;
        let attempt = |password: &str, from: &str| {
            let body = json!({"email": OWNER.0, "password": password});
            app.request("POST", "/auth/login").header("x-forwarded-for", from).json(&body).send()
        };
        let guess = async || {
            while attempt("guess", "198.51.100.1").await.status != 429 {}
        };
        guess().await;
        attempt(OWNER.1, "192.0.2.1").await.assert_error(429, "RATE_LIMIT_EXCEEDED");
        ask(&app, OWNER.0).await.assert_status(200);
        let token = newest_token(&app, OWNER.0, "reset-password", 1).await;
        let body = json!({"token": token, "newPassword": NEW});
        let request = app.request("POST", "/auth/reset-password").header("x-forwarded-for", "192.0.2.1");
        request.json(&body).send().await.assert_status(200);
        guess().await;
        attempt(NEW, "198.51.100.1").await.assert_error(429, "RATE_LIMIT_EXCEEDED");
        attempt(NEW, "192.0.2.1").await.assert_status(200);
    }

    async fn a_reset_verifies_the_address_and_lets_the_owner_in_again(engine: Engine) {
        let app = with_mail(engine).env("MAILWRIGHT_LOGIN_ATTEMPTS_PER_ADDRESS", "3").start().await;
        Browser::sign_up(&app, "ada@example.com").await;
        own_mails_once(&app, "ada@example.com", 1).await;
        for _ in 0..4 {
            try_log_in(&app, "ada@example.com", "wrong password").await;
        }
        try_log_in(&app, "ada@example.com", PASSWORD).await.assert_error(429, "RATE_LIMIT_EXCEEDED");
        ask(&app, "ada@example.com").await.assert_status(200);
        let token = newest_token(&app, "ada@example.com", "reset-password", 2).await;
        reset(&app, &token, NEW).await.assert_status(200);
        let ada = Browser::log_in(&app, "ada@example.com", NEW).await;
        let me = ada.request(&app, "GET", "/users/@me").send().await.assert_status(200).json();
        assert_eq!(me["emailVerified"], true);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_on_two_nodes_are_counted_together_and_a_link_works_on_either() {
    let one = with_mail(Engine::Postgres).start().await;
    // both are reached under one name, as behind a load balancer
    let two = one.second_node_with(&[("MAILWRIGHT_BASE_URL", one.base_url())]).await;
    let nodes = [&one, &two];
    let asked = futures_util::future::join_all((0..8).map(|n| ask(nodes[n % 2], OWNER.0))).await;
    for answer in asked {
        answer.assert_status(200);
    }
    own_mails_once(&one, OWNER.0, 3).await;
    one.advance(Duration::from_secs(2)).await;
    Browser::sign_up(&two, "ada@example.com").await;
    own_mails_once(&one, "ada@example.com", 1).await;
    let mails = own_mails_once(&one, OWNER.0, 3).await;
    let tokens: Vec<_> = mails.iter().map(|mail| token_in(&one, mail, "reset-password")).collect();
    assert!(tokens[0] != tokens[1] && tokens[1] != tokens[2] && tokens[0] != tokens[2], "three links");
    let resets = tokens.iter().enumerate().map(|(n, token)| reset(nodes[n % 2], token, NEW));
    let used = futures_util::future::join_all(resets).await;
    assert_eq!(used.iter().filter(|answer| answer.status == 200).count(), 1, "one of them is used");
    for node in nodes {
        for token in &tokens {
            reset(node, token, PASSWORD).await.assert_error(400, "BAD_REQUEST");
        }
        try_log_in(node, OWNER.0, NEW).await.assert_status(200);
    }
}
