//! What may be done in a minute, by whom.

use std::time::{Duration, Instant};

use mailwright_testkit::{App, Engine, OWNER, Request, Response, both_engines};
use mailwright_tests::browser::Browser;
use mailwright_tests::{contact_by_email, early_in_a_minute, required_header, text};
use serde_json::{Value, json};

/// How long the answer to a request beyond a limit is held back.
const PAUSE: Duration = Duration::from_millis(100);

/// A request that comes through a proxy, which says from where.
fn from(request: Request, client: &str) -> Request {
    request.header("x-forwarded-for", client)
}

fn track(app: &App, body: &Value) -> Request {
    app.request("POST", "/v1/track").bearer(app.public_key()).json(body)
}

fn assert_limited(response: &Response, limit: &str) {
    let error = response.assert_error(429, "RATE_LIMIT_EXCEEDED");
    let wait = error["details"]["retryAfter"].as_u64().expect("whole seconds");
    assert!((1..=60).contains(&wait), "{error}");
    assert_eq!(required_header(response, "retry-after"), wait.to_string());
    assert_eq!(required_header(response, "ratelimit-limit"), limit);
    assert_eq!(required_header(response, "ratelimit-remaining"), "0");
}

both_engines! {
    async fn a_public_key_does_not_use_up_what_secret_keys_have(engine: Engine) {
        let app = App::builder(engine)
            .env("MAILWRIGHT_RATE_LIMIT_PER_MINUTE", "8")
            .env("MAILWRIGHT_PUBLIC_RATE_LIMIT_PER_MINUTE", "5")
            .env("MAILWRIGHT_PUBLIC_SHARE_PER_MINUTE", "2")
            .env("MAILWRIGHT_TRUSTED_PROXIES", "1")
            .start()
            .await;
        early_in_a_minute(&app).await;
        // what is refused for its body counts
        for _ in 0..5 {
            from(track(&app, &json!({})), "192.0.2.1").send().await.assert_status(422);
        }
        for _ in 0..3 {
            assert_limited(&from(track(&app, &json!({})), "192.0.2.1").send().await, "5");
        }
        // a visitor who did nothing yet is heard all the same
        let event = json!({"email": "ann@example.com", "event": "visit"});
        let heard = from(track(&app, &event), "192.0.2.2").send().await.assert_status(200);
        assert_eq!(required_header(&heard, "ratelimit-limit"), "2");
        assert_eq!(required_header(&heard, "ratelimit-remaining"), "1");
        from(track(&app, &event), "192.0.2.2").send().await.assert_status(200);
        assert_limited(&from(track(&app, &event), "192.0.2.2").send().await, "5");
        // and the project's servers have all that they had
        for left in (0..8).rev() {
            let answer = app.get("/contacts").send().await.assert_status(200);
            assert_eq!(required_header(&answer, "ratelimit-remaining"), left.to_string());
        }
        assert_limited(&app.get("/contacts").send().await, "8");
    }

    async fn a_key_that_floods_a_project_can_be_revoked_at_once(engine: Engine) {
        let app = App::builder(engine)
            .env("MAILWRIGHT_RATE_LIMIT_PER_MINUTE", "3")
            .env("MAILWRIGHT_MEMBER_SHARE_PER_MINUTE", "2")
            .start()
            .await;
        let (owner, grace) =
            (Browser::log_in(&app, OWNER.0, OWNER.1).await, Browser::sign_up(&app, "grace@example.com").await);
        owner.add_member(&app, app.project_id(), &grace, "MEMBER").await;
        early_in_a_minute(&app).await;
        while app.get("/contacts").send().await.status == 200 {}
        assert_limited(&app.get("/contacts").send().await, "3");
        let contacts = |user: &Browser| user.in_project(&app, app.project_id(), "GET", "/contacts").send();
        let heard = contacts(&grace).await.assert_status(200);
        assert_eq!(required_header(&heard, "ratelimit-limit"), "2");
        assert_eq!(required_header(&heard, "ratelimit-remaining"), "1");
        contacts(&grace).await.assert_status(200);
        assert_limited(&contacts(&grace).await, "3");
        // each member has a share of his own
        let keys = format!("/users/@me/projects/{}/regenerate-keys", app.project_id());
        owner.request(&app, "POST", &keys).send().await.assert_status(200);
        app.get("/contacts").send().await.assert_error(401, "INVALID_API_KEY");
    }

    async fn what_a_person_asks_about_the_account_is_limited(engine: Engine) {
        let app = App::builder(engine)
            .env("MAILWRIGHT_RATE_LIMIT_PER_MINUTE", "1000")
            .env("MAILWRIGHT_PERSON_REQUESTS_PER_MINUTE", "2")
            .start()
            .await;
        let (owner, grace) =
            (Browser::log_in(&app, OWNER.0, OWNER.1).await, Browser::sign_up(&app, "grace@example.com").await);
        early_in_a_minute(&app).await;
        let asked = |person: &Browser, path: &str| person.request(&app, "GET", path).send();
        let heard = asked(&owner, "/users/@me").await.assert_status(200);
        assert_eq!(required_header(&heard, "ratelimit-remaining"), "1");
        asked(&owner, "/users/@me/projects").await.assert_status(200);
        assert_limited(&asked(&owner, "/users/@me").await, "2");
        // others, and projects, have limits of their own
        asked(&grace, "/users/@me").await.assert_status(200);
        asked(&owner, &format!("/projects/{}/members", app.project_id())).await.assert_status(200);
    }

    async fn who_goes_on_asking_beyond_a_limit_is_slowed_down(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_RATE_LIMIT_PER_MINUTE", "1").start().await;
        early_in_a_minute(&app).await;
        app.get("/contacts").send().await.assert_status(200);
        for _ in 0..3 {
            let asked = Instant::now();
            assert_limited(&app.get("/contacts").send().await, "1");
            assert!(asked.elapsed() >= PAUSE, "answered after {:?}", asked.elapsed());
        }
    }

    async fn keys_that_are_not_valid_are_limited_by_client(engine: Engine) {
        let app = App::builder(engine)
            .env("MAILWRIGHT_RATE_LIMIT_PER_MINUTE", "1000")
            .env("MAILWRIGHT_INVALID_KEYS_PER_MINUTE", "4")
            .env("MAILWRIGHT_TRUSTED_PROXIES", "1")
            .start()
            .await;
        early_in_a_minute(&app).await;
        let wrong = format!("sk_{}", "0".repeat(64));
        let attempt = |path: &str, client: &str| {
            from(app.request("POST", path).bearer(&wrong).json(&json!({})), client).send()
        };
        let known = from(app.get("/contacts"), "192.0.2.1");
        known.clone().send().await.assert_status(200);
        for path in ["/v1/send", "/v1/track", "/contacts", "/events/track"] {
            attempt(path, "192.0.2.1").await.assert_error(401, "INVALID_API_KEY");
        }
        for path in ["/v1/send", "/v1/track", "/contacts", "/events/track"] {
            assert_limited(&attempt(path, "192.0.2.1").await, "4");
        }
        // of those behind one address, who has a key that works is not kept out
        known.send().await.assert_status(200);
        attempt("/contacts", "192.0.2.2").await.assert_error(401, "INVALID_API_KEY");
    }

    async fn what_needs_no_key_is_limited_by_client_and_unsubscribing_is_not(engine: Engine) {
        let app = App::builder(engine)
            .env("MAILWRIGHT_KEYLESS_REQUESTS_PER_MINUTE", "5")
            .env("MAILWRIGHT_RATE_LIMIT_PER_MINUTE", "1000")
            .env("MAILWRIGHT_TRUSTED_PROXIES", "1")
            .start()
            .await;
        early_in_a_minute(&app).await;
        let created = app.post("/contacts").json(&json!({"email": "ann@example.com"})).send().await;
        let id = text(&created.json()["id"]).to_owned();
        let visit = |method: &str, path: String| from(app.request(method, &path), "192.0.2.1").send();
        for path in [format!("/manage/{id}"), "/docs".into(), "/config".into(), "/auth/oauth-config".into()] {
            visit("GET", path).await.assert_status(200);
        }
        visit("GET", format!("/contacts/public/{id}")).await.assert_status(200);
        for (method, path) in [
            ("GET", format!("/manage/{id}")),
            ("POST", format!("/contacts/public/{id}/subscribe")),
            ("GET", "/openapi.json".into()),
            ("POST", "/auth/login".into()),
        ] {
            assert_limited(&visit(method, path).await, "5");
        }
        for _ in 0..5 {
            visit("GET", format!("/unsubscribe/{id}")).await.assert_status(200);
            visit("POST", format!("/unsubscribe/{id}")).await.assert_status(200);
            visit("POST", format!("/contacts/public/{id}/unsubscribe")).await.assert_status(200);
            visit("GET", "/health".into()).await.assert_status(200);
        }
        from(app.request("GET", "/docs"), "192.0.2.2").send().await.assert_status(200);
    }

    async fn a_subscription_is_not_changed_for_ever_without_a_key(engine: Engine) {
        let app = App::start(engine).await;
        let created = app.post("/contacts").json(&json!({"email": "ann@example.com"})).send().await;
        let path = format!("/contacts/public/{}", text(&created.json()["id"]));
        let set = async |action: &str| app.request("POST", &format!("{path}/{action}")).send().await;
        let mut resubscribed = 0;
        let refused = loop {
            set("unsubscribe").await.assert_status(200);
            let answer = set("subscribe").await;
            if answer.status != 200 {
                break answer;
            }
            resubscribed += 1;
            // an hour may turn meanwhile
            assert!(resubscribed <= 20, "{resubscribed} times");
        };
        assert!(resubscribed >= 10, "{resubscribed} times");
        let error = refused.assert_error(429, "RATE_LIMIT_EXCEEDED");
        assert!(error["details"]["retryAfter"].as_u64().is_some_and(|wait| (1..=3600).contains(&wait)), "{error}");
        let id = path.rsplit('/').next().unwrap_or_default();
        let page = app.request("POST", &format!("/subscribe/{id}")).header("accept", "text/html").send().await;
        assert_eq!(page.status, 429);
        assert!(page.text().starts_with("<!doctype html>"), "{}", page.text());
        // who is out stays out, and a wish that is fulfilled writes nothing
        let before = app.get("/events?limit=100").send().await.json();
        for _ in 0..5 {
            set("unsubscribe").await.assert_status(200);
            app.request("POST", &format!("/unsubscribe/{id}")).send().await.assert_status(200);
        }
        let after = app.get("/events?limit=100").send().await.json();
        assert_eq!(before, after);
        let contact = contact_by_email(&app, "ann@example.com").await.expect("the contact");
        assert_eq!(contact["subscribed"], false);
        // the project itself decides as it likes
        let id = text(&contact["id"]);
        app.patch(&format!("/contacts/{id}")).json(&json!({"subscribed": true})).send().await.assert_status(200);
        set("unsubscribe").await.assert_status(200);
    }

    async fn what_a_public_key_claims_stops_no_send(engine: Engine) {
        let app = App::start(engine).await;
        let event = json!({"email": "ann@example.com", "event": "visit"});
        let mail = json!({"to": "ann@example.com", "subject": "Receipt", "body": "<p>Thanks</p>", "from": app.from()});
        let by_visitor = || track(&app, &event).header("idempotency-key", "order-1001").send();
        let by_server = || app.post("/v1/send").header("idempotency-key", "order-1001").json(&mail).send();
        by_visitor().await.assert_status(200);
        by_server().await.assert_status(200);
        by_visitor().await.assert_error(409, "IDEMPOTENCY_KEY_REUSED");
        let error = by_server().await.assert_error(409, "IDEMPOTENCY_KEY_REUSED");
        assert_eq!((&error["details"]["key"], &error["details"]["originalRequest"]), (&json!("order-1001"), &json!("POST /v1/send")));
        // nor the other way round
        let server = app.post("/v1/track").header("idempotency-key", "order-1002").json(&event);
        server.clone().send().await.assert_status(200);
        track(&app, &event).header("idempotency-key", "order-1002").send().await.assert_status(200);
        server.send().await.assert_error(409, "IDEMPOTENCY_KEY_REUSED");
    }
}
