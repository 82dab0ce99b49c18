//! `Idempotency-Key` on POST /v1/send and POST /v1/track.

use std::time::Duration;

use futures_util::future::join_all;
use mailwright_testkit::{App, Engine, Request, Response, both_engines};
use mailwright_tests::{
    UNKNOWN_ID, assert_only_keys, assert_timestamp, contact_by_email, inline, items, read,
};
use mailwright_tests::{shown, text, with};
use serde_json::{Value, json};

fn send(app: &App, key: &str, body: &Value) -> Request {
    app.post("/v1/send").header("idempotency-key", key).json(body)
}

fn track(app: &App, key: &str, body: &Value) -> Request {
    let request = app.request("POST", "/v1/track").bearer(app.public_key());
    request.header("idempotency-key", key).json(body)
}

fn event(email: &str) -> Value {
    json!({"email": email, "event": "signup"})
}

/// The answer is the refusal of a key that this request used before; returns the status recorded for that one.
fn assert_reused(response: &Response, key: &str, request: &str) -> Option<u64> {
    let error = response.assert_error(409, "IDEMPOTENCY_KEY_REUSED");
    assert!(text(&error["message"]).contains(key), "the message names the key: {error}");
    assert!(error["suggestion"].is_string(), "{error}");
    let details = &error["details"];
    assert_only_keys(details, &["key", "originalRequest", "originalRequestAt", "originalStatusCode"]);
    assert_eq!(details["key"], key);
    assert_eq!(details["originalRequest"], request);
    assert_timestamp(&details["originalRequestAt"]);
    let status = &details["originalStatusCode"];
    assert!(status.is_u64() || status.is_null(), "{details}");
    status.as_u64()
}

both_engines! {
    async fn of_twenty_equal_requests_at_once_exactly_one_is_performed(engine: Engine) {
        let app = App::start(engine).await;
        let body = inline(&app, &json!("ann@example.com"));
        let answers = join_all((0..20).map(|_| send(&app, "order-1", &body).send())).await;
        let (accepted, refused): (Vec<_>, Vec<_>) =
            answers.iter().partition(|response| response.status == 200);
        assert_eq!(accepted.len(), 1, "{:?}", answers.iter().map(|r| r.status).collect::<Vec<_>>());
        for response in refused {
            let status = assert_reused(response, "order-1", "POST /v1/send");
            assert!(matches!(status, None | Some(200)), "{status:?}");
        }
        let late = send(&app, "order-1", &body).send().await;
        assert_eq!(assert_reused(&late, "order-1", "POST /v1/send"), Some(200));
        assert_eq!(read(&app, "/emails").await["total"], 1);

        let body = event("bob@example.com");
        let answers = join_all((0..20).map(|_| track(&app, "visit-1", &body).send())).await;
        let (accepted, refused): (Vec<_>, Vec<_>) =
            answers.iter().partition(|response| response.status == 200);
        assert_eq!(accepted.len(), 1, "{:?}", answers.iter().map(|r| r.status).collect::<Vec<_>>());
        for response in refused {
            assert_reused(response, "visit-1", "POST /v1/track");
        }
        let events = read(&app, "/events?eventName=signup").await;
        assert_eq!(items(&events["events"]).len(), 1, "{events}");
    }

    async fn the_key_alone_decides_whatever_the_body_or_endpoint(engine: Engine) {
        let app = App::start(engine).await;
        let first = inline(&app, &json!("ann@example.com"));
        let other = inline(&app, &json!("bob@example.com"));
        send(&app, "k-1", &first).send().await.assert_status(200);
        assert_reused(&send(&app, "k-1", &other).send().await, "k-1", "POST /v1/send");
        // A used key is refused before the body is looked at.
        assert_reused(&send(&app, "k-1", &json!({})).send().await, "k-1", "POST /v1/send");
        // Secret keys of a project share its keys; what comes with the public one is apart.
        let by_server = |key: &str, email: &str| track(&app, key, &event(email)).bearer(app.secret_key());
        assert_reused(&by_server("k-1", "bob@example.com").send().await, "k-1", "POST /v1/send");

        by_server("k-2", "carl@example.com").send().await.assert_status(200);
        assert_reused(&send(&app, "k-2", &other).send().await, "k-2", "POST /v1/track");

        send(&app, "K-1", &first).send().await.assert_status(200);
        assert_eq!(contact_by_email(&app, "bob@example.com").await, None, "a refused request does nothing");
    }

    async fn without_a_key_a_repeated_request_is_performed_again(engine: Engine) {
        let app = App::start(engine).await;
        for _ in 0..2 {
            app.send(inline(&app, &json!("ann@example.com"))).await.assert_status(200);
            app.track(event("ann@example.com")).await.assert_status(200);
            // Other endpoints do not know the header.
            let contact = json!({"email": "bob@example.com"});
            let created = app.post("/contacts").header("idempotency-key", "c-1").json(&contact).send().await;
            assert!(matches!(created.status, 200 | 201), "{}", shown(&created));
        }
        assert_eq!(read(&app, "/emails").await["total"], 2);
    }

    async fn projects_do_not_share_keys(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let body = inline(&app, &json!("ann@example.com"));
        send(&app, "shared", &body).send().await.assert_status(200);
        let theirs = with(body.clone(), &json!({"from": other.from}));
        send(&app, "shared", &theirs).bearer(&other.secret_key).send().await.assert_status(200);
        let again = send(&app, "shared", &theirs).bearer(&other.secret_key).send().await;
        assert_reused(&again, "shared", "POST /v1/send");
        assert_reused(&send(&app, "shared", &body).send().await, "shared", "POST /v1/send");
    }

    async fn a_refused_request_gives_its_key_back(engine: Engine) {
        let app = App::start(engine).await;
        let good = inline(&app, &json!("ann@example.com"));
        for (key, bad, status) in [
            ("k-422", with(good.clone(), &json!({"subject": ""})), 422),
            ("k-404", json!({"to": "ann@example.com", "template": UNKNOWN_ID}), 404),
            ("k-403", with(good.clone(), &json!({"from": "x@unregistered.example"})), 403),
        ] {
            for _ in 0..2 {
                send(&app, key, &bad).send().await.assert_status(status);
            }
            send(&app, key, &good).send().await.assert_status(200);
            assert_reused(&send(&app, key, &good).send().await, key, "POST /v1/send");
        }
        let malformed = app.post("/v1/send").header("idempotency-key", "k-400").body("{", "application/json");
        malformed.send().await.assert_status(400);
        send(&app, "k-400", &good).send().await.assert_status(200);
        // An answer before the key was looked at leaves it alone.
        send(&app, "k-401", &good).bearer("sk_wrong").send().await.assert_status(401);
        send(&app, "k-401", &good).send().await.assert_status(200);

        let reserved = json!({"email": "ann@example.com", "event": "email.sent"});
        track(&app, "t-422", &reserved).send().await.assert_status(422);
        track(&app, "t-422", &event("ann@example.com")).send().await.assert_status(200);
    }

    async fn a_key_is_one_to_255_printable_ascii_characters(engine: Engine) {
        let app = App::start(engine).await;
        for key in [String::new(), "k".repeat(256), "tab\there".to_owned(), "schlüssel".to_owned()] {
            let body = inline(&app, &json!("ann@example.com"));
            send(&app, &key, &body).send().await.assert_error(400, "BAD_REQUEST");
            track(&app, &key, &event("ann@example.com")).send().await.assert_error(400, "BAD_REQUEST");
        }
        assert_eq!(contact_by_email(&app, "ann@example.com").await, None, "nothing was done");

        for key in ["k".repeat(255), "~ !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}".to_owned(), "0".to_owned()] {
            track(&app, &key, &event("ann@example.com")).send().await.assert_status(200);
            assert_reused(&track(&app, &key, &event("ann@example.com")).send().await, &key, "POST /v1/track");
        }
    }

    async fn an_expired_key_is_as_if_it_was_never_used(engine: Engine) {
        let app = App::start(engine).await;
        let body = event("ann@example.com");
        track(&app, "daily", &body).send().await.assert_status(200);
        app.advance(Duration::from_hours(24) - Duration::from_mins(1)).await;
        assert_reused(&track(&app, "daily", &body).send().await, "daily", "POST /v1/track");
        app.advance(Duration::from_mins(1)).await;
        track(&app, "daily", &body).send().await.assert_status(200);
        let events = read(&app, "/events").await;
        assert_eq!(items(&events["events"]).len(), 2, "{events}");
    }
}
