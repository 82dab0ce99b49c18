//! Passwords that are guessed, and how that is slowed down.

use std::time::Duration;

use futures_util::future::join_all;
use mailwright_testkit::{App, Engine, OWNER, both_engines};
use mailwright_tests::browser::{Browser, PASSWORD, try_log_in};
use mailwright_tests::{required_header, shown};
use serde_json::{Value, json};

use super::NEW_PASSWORD;

both_engines! {
    async fn a_wrong_password_and_an_unknown_address_are_one_answer(engine: Engine) {
        let app = App::start(engine).await;
        let wrong = try_log_in(&app, OWNER.0, "wrong").await;
        let unknown = try_log_in(&app, "nobody@example.com", "wrong").await;
        let (wrong, unknown) =
            (wrong.assert_error(401, "INVALID_CREDENTIALS"), unknown.assert_error(401, "INVALID_CREDENTIALS"));
        assert_eq!(wrong["message"], unknown["message"]);
        assert!(wrong.get("details").is_none() && unknown.get("details").is_none());
    }

    async fn signing_up_is_slowed_down_for_each_client(engine: Engine) {
        for closed in ["false", "true"] {
            let app = App::builder(engine)
                .env("MAILWRIGHT_DISABLE_SIGNUPS", closed)
                .env("MAILWRIGHT_LOGIN_ATTEMPTS_PER_CLIENT", "3")
                .env("MAILWRIGHT_TRUSTED_PROXIES", "1")
                .start()
                .await;
            let sign_up = |name: &str, from: &str| {
                let body = json!({"email": format!("{name}@example.com"), "password": PASSWORD});
                app.request("POST", "/auth/signup").header("x-forwarded-for", from).json(&body).send()
            };
            let expected = if closed == "true" { [403; 3] } else { [200, 409, 200] };
            for (name, expected) in ["ada", "ada", "bob"].into_iter().zip(expected) {
                sign_up(name, "192.0.2.1").await.assert_status(expected);
            }
            sign_up("carol", "192.0.2.1").await.assert_error(429, "RATE_LIMIT_EXCEEDED");
            sign_up("carol", "192.0.2.2").await.assert_status(expected[0]);
        }
    }

    async fn who_guesses_keeps_nobody_out_who_signed_up_or_changed_the_password(engine: Engine) {
        let app = App::builder(engine)
            .env("MAILWRIGHT_LOGIN_ATTEMPTS_PER_ADDRESS", "3")
            .env("MAILWRIGHT_TRUSTED_PROXIES", "1")
            .start()
            .await;
        let post = |path: &str, body: Value, from: &str| {
            app.request("POST", path).header("x-forwarded-for", from).json(&body).send()
        };
        let with = |password: &str| json!({"email": "ada@example.com", "password": password});
        let guess = async || {
            while post("/auth/login", with("guess"), "198.51.100.1").await.status != 429 {}
        };
        let home = "192.0.2.1";
        let ada = Browser::of(&post("/auth/signup", with(PASSWORD), home).await);
        guess().await;
        post("/auth/login", with(PASSWORD), "192.0.2.2").await.assert_error(429, "RATE_LIMIT_EXCEEDED");
        post("/auth/login", with(PASSWORD), home).await.assert_status(200);

        let body = json!({"currentPassword": PASSWORD, "newPassword": NEW_PASSWORD});
        let change = ada.request(&app, "POST", "/users/@me/password").header("x-forwarded-for", "192.0.2.3");
        change.json(&body).send().await.assert_status(200);
        guess().await;
        post("/auth/login", with(NEW_PASSWORD), "192.0.2.3").await.assert_status(200);
        // where the old password was used is forgotten
        post("/auth/login", with(NEW_PASSWORD), home).await.assert_error(429, "RATE_LIMIT_EXCEEDED");
    }

    async fn guessing_is_slowed_down_and_locks_nobody_out(engine: Engine) {
        let app = App::builder(engine)
            .env("MAILWRIGHT_LOGIN_ATTEMPTS_PER_ADDRESS", "5")
            .env("MAILWRIGHT_TRUSTED_PROXIES", "1")
            .start()
            .await;
        let attempt = |email: &str, password: &str, from: &str| {
            let body = json!({"email": email, "password": password});
            app.request("POST", "/auth/login").header("x-forwarded-for", from).json(&body).send()
        };
        // the owner signs in from home, so home is known
        attempt(OWNER.0, OWNER.1, "192.0.2.1").await.assert_status(200);
        for email in [OWNER.0, "nobody@example.com"] {
            for n in 0..5 {
                // from anywhere, and in any spelling
                let spelling = if n % 2 == 0 { email.to_uppercase() } else { email.to_owned() };
                attempt(&spelling, "guess", &format!("198.51.100.{n}")).await.assert_error(401, "INVALID_CREDENTIALS");
            }
            let refused = attempt(email, OWNER.1, "198.51.100.9").await;
            let error = refused.assert_error(429, "RATE_LIMIT_EXCEEDED");
            let wait: u64 = required_header(&refused, "retry-after").parse().expect("whole seconds");
            assert!((600..=900).contains(&wait), "{wait}");
            assert_eq!(error["details"]["retryAfter"], wait);
        }
        attempt(OWNER.0, OWNER.1, "192.0.2.1").await.assert_status(200);
        let others = attempt("admin@example.com", "guess", "198.51.100.9").await;
        others.assert_error(401, "INVALID_CREDENTIALS");
        app.advance(Duration::from_mins(15)).await;
        attempt(OWNER.0, OWNER.1, "198.51.100.9").await.assert_status(200);
    }

    async fn a_client_that_guesses_everybodys_password_is_stopped(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_LOGIN_ATTEMPTS_PER_CLIENT", "5").start().await;
        for n in 0..5 {
            let answer = try_log_in(&app, &format!("user{n}@example.com"), "guess").await;
            answer.assert_error(401, "INVALID_CREDENTIALS");
        }
        try_log_in(&app, "user9@example.com", "guess").await.assert_error(429, "RATE_LIMIT_EXCEEDED");
    }

    async fn a_thousand_attempts_at_once_get_no_more_tries_than_one_by_one(engine: Engine) {
        let app = App::start(engine).await;
        let answers = join_all((0..1000).map(|n| {
            let body = json!({"email": OWNER.0, "password": format!("guess {n}")});
            let request = app.request("POST", "/auth/login").json(&body);
            request.timeout(Duration::from_mins(2)).send()
        }))
        .await;
        let tried = answers.iter().filter(|answer| answer.status == 401).count();
        assert_eq!(tried, 10, "no guess slips through beside another");
        for answer in answers.iter().filter(|answer| answer.status != 401) {
            assert!(matches!(answer.status, 429 | 503), "{}", shown(answer));
        }
        assert!(answers.iter().filter(|answer| answer.status == 429).count() > 900, "told, not merely refused");
        app.get("/contacts").send().await.assert_status(200);
    }

    async fn the_networks_of_one_ipv6_customer_are_counted_together(engine: Engine) {
        let app = App::builder(engine)
            .env("MAILWRIGHT_LOGIN_ATTEMPTS_PER_CLIENT", "1")
            .env("MAILWRIGHT_TRUSTED_PROXIES", "1")
            .start()
            .await;
        let guess = |from: String, n: usize| {
            let body = json!({"email": format!("nobody{n}@example.com"), "password": "a guess"});
            app.request("POST", "/auth/login").header("x-forwarded-for", &from).json(&body).send()
        };
        for n in 0..16 {
            guess(format!("2001:db8:1:{n:x}::1"), n).await.assert_error(401, "INVALID_CREDENTIALS");
        }
        guess("2001:db8:1:ff::1".to_owned(), 16).await.assert_error(429, "RATE_LIMIT_EXCEEDED");
        guess("2001:db8:2:ff::1".to_owned(), 17).await.assert_error(401, "INVALID_CREDENTIALS");
        // a client that is refused uses nothing up of what its neighbours have
        for n in 0..20 {
            guess("2001:db8:3:1::1".to_owned(), 20 + n).await;
        }
        guess("2001:db8:3:2::1".to_owned(), 50).await.assert_error(401, "INVALID_CREDENTIALS");
    }
}
