//! Signing up, in and out, passwords, and how guessing is slowed down.

use futures_util::future::join_all;
use mailwright_testkit::{App, Engine, OWNER, both_engines};
use mailwright_tests::browser::{Browser, PASSWORD, cookie, try_log_in};
use mailwright_tests::{
    assert_only_keys, assert_timestamp, assert_uuid, header, issues, required_header, shown, text,
};
use serde_json::{Value, json};

const NEW_PASSWORD: &str = "another password, better";

async fn change_password(app: &App, browser: &Browser, current: &str, new: &str) -> u16 {
    let body = json!({"currentPassword": current, "newPassword": new});
    browser.request(app, "POST", "/users/@me/password").json(&body).send().await.status
}

async fn me(app: &App, browser: &Browser) -> u16 {
    browser.request(app, "GET", "/users/@me").send().await.status
}

both_engines! {
    async fn anybody_is_told_what_the_instance_offers(engine: Engine) {
        let app = App::start(engine).await;
        let config = app.request("GET", "/config").send().await.assert_status(200).json();
        let base = app.base_url();
        assert_eq!(config["urls"], json!({"api": base, "dashboard": base, "docs": format!("{base}/docs")}));
        let off = json!({"enabled": false});
        assert_eq!(
            config["features"],
            json!({
                "signup": {"enabled": true, "firstUser": false}, "billing": off, "storage": off, "smtp": off,
                "authProviders": {"github": false, "google": false},
            })
        );
        assert_only_keys(&config, &["urls", "features"]);
    }

    async fn the_first_user_may_always_sign_up_and_is_told_so(engine: Engine) {
        let builder = App::builder(engine).empty().env("MAILWRIGHT_DISABLE_SIGNUPS", "true");
        let app = builder.start().await;
        let config = app.request("GET", "/config").send().await.assert_status(200).json();
        assert_eq!(config["features"]["signup"], json!({"enabled": true, "firstUser": true}));

        // of several who come at once, one is the first
        let answers = join_all((0..6).map(|n| {
            let body = json!({"email": format!("first{n}@example.com"), "password": PASSWORD});
            app.request("POST", "/auth/signup").json(&body).send()
        }))
        .await;
        let (first, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
        assert_eq!(first.len(), 1, "{:?}", answers.iter().map(shown).collect::<Vec<_>>());
        assert_eq!(first[0].json()["firstUser"], true);
        for answer in refused {
            answer.assert_error(403, "FORBIDDEN");
        }
        let config = app.request("GET", "/config").send().await.assert_status(200).json();
        assert_eq!(config["features"]["signup"], json!({"enabled": false, "firstUser": false}));
    }

    async fn signing_up_signs_in_with_a_cookie_that_scripts_cannot_read(engine: Engine) {
        let app = App::start(engine).await;
        let body = json!({"email": "Ada@Example.com", "password": PASSWORD, "name": "Ada"});
        let answer = app.request("POST", "/auth/signup").json(&body).send().await.assert_status(200);
        assert_only_keys(&answer.json(), &["id", "email", "firstUser"]);
        assert_uuid(&answer.json()["id"]);
        assert_eq!((&answer.json()["email"], &answer.json()["firstUser"]), (&json!("ada@example.com"), &json!(false)));
        let set = required_header(&answer, "set-cookie");
        for part in ["Path=/", "HttpOnly", "SameSite=Lax", "Max-Age=604800"] {
            assert!(set.contains(part), "{part} in {set}");
        }
        assert!(!set.contains("Domain") && !set.contains("Secure"), "for this host alone, over http: {set}");
        assert_eq!(header(&answer, "cache-control"), Some("no-store"));

        let ada = Browser::of(&answer);
        let me = ada.request(&app, "GET", "/users/@me").send().await.assert_status(200).json();
        assert_only_keys(&me, &["id", "email", "name", "type", "emailVerified", "createdAt"]);
        assert_eq!((&me["id"], &me["name"], &me["type"]), (&json!(ada.id), &json!("Ada"), &json!("PASSWORD")));
        assert_timestamp(&me["createdAt"]);
        let taken = json!({"email": "ADA@example.com", "password": PASSWORD});
        app.request("POST", "/auth/signup").json(&taken).send().await.assert_error(409, "CONFLICT");
    }

    async fn over_https_the_cookie_is_secure_and_bound_to_its_host(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_BASE_URL", "https://mail.example").start().await;
        let answer = try_log_in(&app, OWNER.0, OWNER.1).await.assert_status(200);
        let set = required_header(&answer, "set-cookie");
        assert!(set.starts_with("__Host-mailwright_session=") && set.ends_with("; Secure"), "{set}");
        assert!(set.contains("; Path=/;") && !set.contains("Domain"), "{set}");
        let browser = Browser::of(&answer);
        browser.request(&app, "GET", "/users/@me").send().await.assert_status(200);
        // a neighbour in the domain can set a cookie of the plain name, so that one counts for nothing
        let plain = browser.cookie.trim_start_matches("__Host-").to_owned();
        let tossed = app.request("GET", "/users/@me").header("cookie", &plain).send().await;
        tossed.assert_error(401, "UNAUTHORIZED");
        let both = format!("mailwright_session=tossed; {}", browser.cookie);
        app.request("GET", "/users/@me").header("cookie", &both).send().await.assert_status(200);
        let left = browser.request(&app, "GET", "/auth/logout").send().await.assert_status(200);
        let cleared = left.headers.get_all("set-cookie");
        for name in ["__Host-mailwright_session=;", "mailwright_session=;"] {
            let found = cleared.iter().find(|cookie| cookie.starts_with(name));
            assert!(found.is_some_and(|cookie| cookie.contains("Max-Age=0")), "{name} in {cleared:?}");
        }
    }

    async fn under_a_path_the_cookie_is_bound_to_the_path(engine: Engine) {
        for (base_url, begins) in [
            ("https://example.com/mail/", "__Secure-mailwright_session="),
            ("http://example.com/mail", "mailwright_session="),
        ] {
            let app = App::builder(engine).env("MAILWRIGHT_BASE_URL", base_url).start().await;
            let answer = try_log_in(&app, OWNER.0, OWNER.1).await.assert_status(200);
            let set = required_header(&answer, "set-cookie");
            assert!(set.starts_with(begins) && set.contains("; Path=/mail;"), "{set}");
            Browser::of(&answer).request(&app, "GET", "/users/@me").send().await.assert_status(200);
        }
    }

    async fn addresses_are_the_same_in_any_case(engine: Engine) {
        let app = App::start(engine).await;
        let ada = Browser::sign_up(&app, "Ada.Lovelace@Example.COM").await;
        for spelling in ["ada.lovelace@example.com", "ADA.LOVELACE@EXAMPLE.COM", " ada.lovelace@example.com "] {
            assert_eq!(Browser::log_in(&app, spelling, PASSWORD).await.id, ada.id, "{spelling}");
        }
        // and an invitation finds the account, however it is spelled
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let spelled = Browser { email: "ADA.lovelace@EXAMPLE.com".into(), ..ada.clone() };
        owner.add_member(&app, app.project_id(), &spelled, "MEMBER").await;
        ada.in_project(&app, app.project_id(), "GET", "/contacts").send().await.assert_status(200);
    }

    async fn bad_requests_are_told_field_by_field(engine: Engine) {
        let app = App::start(engine).await;
        let answer = app.request("POST", "/auth/signup").json(&json!({"email": "nope", "password": "short"}));
        let mut found = issues(&answer.send().await);
        found.sort();
        assert_eq!(found, [("email".into(), "invalid_string".into()), ("password".into(), "too_small".into())]);
        let found = issues(&app.request("POST", "/auth/login").json(&json!({})).send().await);
        assert_eq!(found.len(), 2, "{found:?}");
        let long = json!({"email": "a@example.com", "password": "x".repeat(20_000)});
        app.request("POST", "/auth/login").json(&long).send().await.assert_status(413);
        for name in ["line\nbreak", "a\r\nSet-Cookie: x=y", "abc\u{202e}txt", "   ", ""] {
            let body = json!({"email": "b@example.com", "password": PASSWORD, "name": name});
            let found = issues(&app.request("POST", "/auth/signup").json(&body).send().await);
            assert_eq!(found[0].0, "name", "{name:?}");
        }
    }

    async fn a_wrong_password_and_an_unknown_address_are_one_answer(engine: Engine) {
        let app = App::start(engine).await;
        let wrong = try_log_in(&app, OWNER.0, "wrong").await;
        let unknown = try_log_in(&app, "nobody@example.com", "wrong").await;
        let (wrong, unknown) =
            (wrong.assert_error(401, "INVALID_CREDENTIALS"), unknown.assert_error(401, "INVALID_CREDENTIALS"));
        assert_eq!(wrong["message"], unknown["message"]);
        assert!(wrong.get("details").is_none() && unknown.get("details").is_none());
    }

    async fn logging_out_ends_the_session_itself(engine: Engine) {
        let app = App::start(engine).await;
        let ada = Browser::sign_up(&app, "ada@example.com").await;
        let other = Browser::log_in(&app, "ada@example.com", PASSWORD).await;
        let answer = ada.request(&app, "GET", "/auth/logout").send().await.assert_status(200);
        assert_eq!(answer.json(), json!(true));
        let set = required_header(&answer, "set-cookie");
        assert!(set.starts_with("mailwright_session=;") && set.contains("Max-Age=0"), "{set}");
        // the cookie that somebody copied is worth nothing
        ada.request(&app, "GET", "/users/@me").send().await.assert_error(401, "UNAUTHORIZED");
        ada.in_project(&app, app.project_id(), "GET", "/contacts").send().await.assert_error(401, "UNAUTHORIZED");
        assert_eq!(me(&app, &other).await, 200, "another session goes on");
        assert_eq!(app.request("GET", "/auth/logout").send().await.assert_status(200).json(), json!(true));
    }

    async fn a_stolen_cookie_dies_with_the_password(engine: Engine) {
        let app = App::start(engine).await;
        let ada = Browser::sign_up(&app, "ada@example.com").await;
        let stolen = Browser::log_in(&app, "ada@example.com", PASSWORD).await;
        let project = text(&ada.create_project(&app, "Rockets").await["id"]).to_owned();
        stolen.in_project(&app, &project, "GET", "/contacts").send().await.assert_status(200);

        assert_eq!(change_password(&app, &ada, "not it", NEW_PASSWORD).await, 401);
        assert_eq!(me(&app, &stolen).await, 200, "a wrong current password changes nothing");
        assert_eq!(change_password(&app, &ada, PASSWORD, NEW_PASSWORD).await, 200);
        stolen.request(&app, "GET", "/users/@me").send().await.assert_error(401, "UNAUTHORIZED");
        stolen.in_project(&app, &project, "GET", "/contacts").send().await.assert_error(401, "UNAUTHORIZED");
        assert_eq!(me(&app, &ada).await, 200, "the session that changed it goes on");
        try_log_in(&app, "ada@example.com", PASSWORD).await.assert_error(401, "INVALID_CREDENTIALS");
        Browser::log_in(&app, "ada@example.com", NEW_PASSWORD).await;
    }

    async fn sessions_are_listed_and_ended_one_by_one(engine: Engine) {
        let app = App::start(engine).await;
        let ada = Browser::sign_up(&app, "ada@example.com").await;
        let phone = Browser::log_in(&app, "ada@example.com", PASSWORD).await;
        let eve = Browser::sign_up(&app, "eve@example.com").await;
        let agent = "Mozilla/5.0 (Phone) <b>";
        phone.request(&app, "GET", "/users/@me").header("user-agent", agent).send().await.assert_status(200);
        let list = async |user: &Browser| {
            user.request(&app, "GET", "/users/@me/sessions").send().await.assert_status(200).json()
        };
        let listed = app
            .eventually("the use is noted", async || {
                let listed = list(&ada).await;
                (listed[0]["client"] == agent && !listed[1]["lastUsedAt"].is_null()).then_some(listed)
            })
            .await;
        assert_eq!(mailwright_tests::items(&listed).len(), 2, "{listed}");
        assert_only_keys(&listed[0], &["id", "client", "current", "createdAt", "lastUsedAt", "expiresAt"]);
        assert_eq!((&listed[0]["current"], &listed[1]["current"]), (&json!(false), &json!(true)));
        for key in ["createdAt", "lastUsedAt", "expiresAt"] {
            assert_timestamp(&listed[0][key]);
        }
        let path = format!("/users/@me/sessions/{}", text(&listed[0]["id"]));
        // another's session is not found, nor is what is no session
        eve.request(&app, "DELETE", &path).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        ada.request(&app, "DELETE", "/users/@me/sessions/x").send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        assert_eq!(me(&app, &phone).await, 200);
        ada.request(&app, "DELETE", &path).send().await.assert_status(200);
        assert_eq!((me(&app, &phone).await, me(&app, &ada).await), (401, 200));
        ada.request(&app, "DELETE", &path).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        assert_eq!(mailwright_tests::items(&list(&ada).await).len(), 1);
    }

    async fn cookies_that_were_not_made_here_open_nothing(engine: Engine) {
        let app = App::start(engine).await;
        let ada = Browser::sign_up(&app, "ada@example.com").await;
        let (name, token) = ada.cookie.split_once('=').expect("a cookie");
        let parts: Vec<&str> = token.split('.').collect();
        assert_eq!(parts.len(), 3, "a JSON Web Token: {token}");
        let none = "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0"; // {"alg":"none","typ":"JWT"}
        for forged in [
            format!("{}.{}.", parts[0], parts[1]),
            format!("{none}.{}.", parts[1]),
            format!("{none}.{}.{}", parts[1], parts[2]),
            format!("{}.{}x.{}", parts[0], parts[1], parts[2]),
            format!("{}.{}", parts[0], parts[1]),
            String::new(),
            "a.b.c".into(),
        ] {
            let request = app.request("GET", "/users/@me").header("cookie", &format!("{name}={forged}"));
            request.send().await.assert_error(401, "UNAUTHORIZED");
        }
        assert_eq!(me(&app, &ada).await, 200);
    }

    async fn other_sites_cannot_act_for_the_user(engine: Engine) {
        let app = App::start(engine).await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let contact = json!({"email": "victim@example.com"});
        let post = || owner.in_project(&app, app.project_id(), "POST", "/contacts").json(&contact);
        for (name, value) in [
            ("origin", "https://evil.example"),
            ("origin", "null"),
            ("origin", "http://127.0.0.1:1"),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
        ] {
            post().header(name, value).send().await.assert_error(403, "FORBIDDEN");
            let login = json!({"email": OWNER.0, "password": OWNER.1});
            let login = app.request("POST", "/auth/login").header(name, value).json(&login);
            login.send().await.assert_error(403, "FORBIDDEN");
            let reset = format!("/users/@me/projects/{}/reset", app.project_id());
            owner.request(&app, "POST", &reset).header(name, value).send().await.assert_error(403, "FORBIDDEN");
            let logout = owner.request(&app, "GET", "/auth/logout").header(name, value);
            logout.send().await.assert_error(403, "FORBIDDEN");
            let ask = app.request("POST", "/auth/request-password-reset").header(name, value);
            ask.json(&json!({"email": OWNER.0})).send().await.assert_error(403, "FORBIDDEN");
        }
        assert_eq!(app.get("/contacts").send().await.json()["total"], 0);
        post().header("origin", app.base_url()).send().await.assert_status(201);
        post().header("sec-fetch-site", "same-origin").send().await.assert_status(200);
        // keys are no cookies: a browser does not send them by itself
        app.post("/contacts").header("origin", "https://shop.example").json(&contact).send().await.assert_status(200);
    }

    async fn over_https_a_page_that_came_without_it_is_another_site(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_BASE_URL", "https://mail.example").start().await;
        let host = app.base_url().trim_start_matches("http://").to_owned();
        let login = |origin: &str| {
            let body = json!({"email": OWNER.0, "password": OWNER.1});
            app.request("POST", "/auth/login").header("origin", origin).json(&body).send()
        };
        login(&format!("http://{host}")).await.assert_error(403, "FORBIDDEN");
        login("http://mail.example").await.assert_error(403, "FORBIDDEN");
        login(&format!("https://{host}")).await.assert_status(200);
        login("https://mail.example").await.assert_status(200);
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
            .env("MAILWRIGHT_LOGIN_WINDOW_SECONDS", "3")
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
            assert!((1..=3).contains(&wait), "{wait}");
            assert_eq!(error["details"]["retryAfter"], wait);
        }
        attempt(OWNER.0, OWNER.1, "192.0.2.1").await.assert_status(200);
        let others = attempt("admin@example.com", "guess", "198.51.100.9").await;
        others.assert_error(401, "INVALID_CREDENTIALS");
        app.eventually("the window ends", async || {
            (attempt(OWNER.0, OWNER.1, "198.51.100.9").await.status == 200).then_some(())
        })
        .await;
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
            request.timeout(std::time::Duration::from_mins(2)).send()
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

    async fn an_account_can_be_renamed_and_deleted(engine: Engine) {
        let app = App::start(engine).await;
        let ada = Browser::sign_up(&app, "ada@example.com").await;
        let rename = |name| ada.request(&app, "PATCH", "/users/@me").json(&json!({"name": name})).send();
        assert_eq!(rename(json!(" Ada ")).await.assert_status(200).json()["name"], "Ada");
        assert_eq!(rename(json!(null)).await.assert_status(200).json()["name"], json!(null));
        assert_eq!(issues(&rename(json!("a\nb")).await)[0].0, "name");

        let project = text(&ada.create_project(&app, "Rockets").await["id"]).to_owned();
        let delete = || ada.request(&app, "DELETE", "/users/@me").send();
        delete().await.assert_error(409, "CONFLICT");
        let path = format!("/users/@me/projects/{project}");
        ada.request(&app, "DELETE", &path).send().await.assert_status(200);
        delete().await.assert_status(200);
        assert_eq!(me(&app, &ada).await, 401);
        try_log_in(&app, "ada@example.com", PASSWORD).await.assert_error(401, "INVALID_CREDENTIALS");
        Browser::sign_up(&app, "ada@example.com").await;
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

    async fn what_cannot_be_undone_takes_the_password_after_a_while(engine: Engine) {
        let app = App::start(engine).await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let mine = format!("/users/@me/projects/{}", app.project_id());
        let later = "update sessions set created_at = created_at - 600000";
        app.tamper(later).await;
        for (method, path) in [
            ("POST", format!("{mine}/regenerate-keys")),
            ("POST", format!("{mine}/reset")),
            ("DELETE", mine.clone()),
            ("DELETE", "/users/@me".to_owned()),
        ] {
            let ask = |body: Value| owner.request(&app, method, &path).json(&body).send();
            owner.request(&app, method, &path).send().await.assert_error(403, "PASSWORD_REQUIRED");
            ask(json!({})).await.assert_error(403, "PASSWORD_REQUIRED");
            ask(json!({"password": "a wrong password"})).await.assert_error(401, "INVALID_CREDENTIALS");
            ask(json!({"password": OWNER.1})).await.assert_status(200);
        }
        // who has just signed in needs nothing, and nobody learns of a project by being asked
        let ada = Browser::sign_up(&app, "ada@example.com").await;
        ada.request(&app, "DELETE", &mine).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        app.tamper(later).await;
        ada.request(&app, "DELETE", &mine).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        let ada = Browser::log_in(&app, "ada@example.com", PASSWORD).await;
        ada.request(&app, "DELETE", "/users/@me").send().await.assert_status(200);
    }

    async fn the_operator_resets_a_password(engine: Engine) {
        let app = App::start(engine).await;
        let ada = Browser::sign_up(&app, "ada@example.com").await;
        let printed = app.run(&["user", "reset-password", "Ada@example.com"]).await;
        let made = printed.split_whitespace().find(|word| word.len() == 24).expect("a password");
        assert_eq!(me(&app, &ada).await, 401, "its sessions ended");
        Browser::log_in(&app, "ada@example.com", made).await;
        let given = "a password from a file\n";
        let printed = app.run_with_input(&["user", "reset-password", "ada@example.com", "--stdin"], given).await;
        assert!(!printed.contains(given.trim()), "{printed}");
        Browser::log_in(&app, "ada@example.com", given.trim()).await;
    }

    async fn a_session_ends_by_itself(engine: Engine) {
        let app = App::start(engine).await;
        let ada = Browser::sign_up(&app, "ada@example.com").await;
        assert_eq!(me(&app, &ada).await, 200);
        app.tamper("update sessions set expires_at = created_at - 1").await;
        ada.request(&app, "GET", "/users/@me").send().await.assert_error(401, "UNAUTHORIZED");
        // the cookie itself is as good as before
        app.tamper("update sessions set expires_at = created_at + 3600000").await;
        assert_eq!(me(&app, &ada).await, 200);
    }

    async fn a_session_outlives_a_restart(engine: Engine) {
        let mut app = App::start(engine).await;
        let answer = try_log_in(&app, OWNER.0, OWNER.1).await.assert_status(200);
        assert!(cookie(&answer).starts_with("mailwright_session="));
        let owner = Browser::of(&answer);
        app.stop().await;
        app.restart().await;
        assert_eq!(me(&app, &owner).await, 200);
        app.stop().await;
        let another = [("MAILWRIGHT_SECRET", "another secret of this instance")];
        app.restart_as(&["--lost-secret"], &another).await;
        assert_eq!(me(&app, &owner).await, 401, "with another secret it was signed by a stranger");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_ends_on_every_node_at_once() {
    let one = App::start(Engine::Postgres).await;
    let two = one.second_node().await;
    let ada = Browser::sign_up(&one, "ada@example.com").await;
    let other = Browser::log_in(&two, "ada@example.com", PASSWORD).await;
    for node in [&one, &two] {
        assert_eq!((me(node, &ada).await, me(node, &other).await), (200, 200));
    }
    assert_eq!(change_password(&one, &ada, PASSWORD, NEW_PASSWORD).await, 200);
    assert_eq!((me(&two, &ada).await, me(&two, &other).await), (200, 401));
    ada.request(&two, "GET", "/auth/logout").send().await.assert_status(200);
    assert_eq!(me(&one, &ada).await, 401);
}
