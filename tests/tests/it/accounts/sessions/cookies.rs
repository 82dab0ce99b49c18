//! The cookie of a session, and what other sites can do with it.

use mailwright_testkit::{App, Engine, OWNER, both_engines};
use mailwright_tests::browser::{Browser, PASSWORD, try_log_in};
use mailwright_tests::{assert_only_keys, assert_timestamp, assert_uuid, header, required_header};
use serde_json::json;

use super::me;

both_engines! {
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
}
