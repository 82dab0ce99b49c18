//! What holds for every endpoint: keys, envelopes, request ids, headers, limits, and the pages about the service.

use mailwright_testkit::{App, Engine, Response, both_engines, one_engine};
use mailwright_tests::{assert_envelope, assert_timestamp, header, inline, issue, items, members};
use mailwright_tests::{read, required_header, shown, text};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const SECRET_KEY_ENDPOINTS: &[(&str, &str)] = &[
    ("POST", "/v1/send"),
    ("GET", "/contacts"),
    ("POST", "/contacts"),
    ("GET", "/contacts/fields"),
    ("DELETE", "/contacts/01890000-0000-7000-8000-000000000001"),
    ("GET", "/templates"),
    ("POST", "/templates"),
    ("GET", "/events"),
    ("GET", "/emails"),
    ("GET", "/mailbox"),
    ("DELETE", "/mailbox"),
    ("POST", "/domains"),
];

/// Every path of the contract that the server serves so far, with its parameters left unnamed.
const DOCUMENTED: &[(&str, &str)] = &[
    ("post", "/v1/send"),
    ("post", "/v1/track"),
    ("get", "/contacts"),
    ("post", "/contacts"),
    ("get", "/contacts/{}"),
    ("patch", "/contacts/{}"),
    ("delete", "/contacts/{}"),
    ("post", "/contacts/lookup"),
    ("get", "/contacts/fields"),
    ("get", "/contacts/fields/{}/values"),
    ("get", "/contacts/fields/{}/usage"),
    ("delete", "/contacts/fields/{}"),
    ("get", "/contacts/public/{}"),
    ("post", "/contacts/public/{}/subscribe"),
    ("post", "/contacts/public/{}/unsubscribe"),
    ("get", "/templates"),
    ("post", "/templates"),
    ("get", "/templates/{}"),
    ("patch", "/templates/{}"),
    ("delete", "/templates/{}"),
    ("post", "/templates/{}/duplicate"),
    ("get", "/templates/{}/usage"),
    ("get", "/events"),
    ("get", "/events/contact/{}"),
    ("get", "/events/names"),
    ("post", "/domains"),
    ("get", "/domains/project/{}"),
    ("get", "/domains/{}/verify"),
    ("delete", "/domains/{}"),
    ("get", "/emails"),
    ("get", "/emails/{}"),
    ("get", "/mailbox"),
    ("delete", "/mailbox"),
    ("get", "/mailbox/{}"),
    ("get", "/mailbox/{}/raw"),
    ("delete", "/mailbox/{}"),
    ("get", "/unsubscribe/{}"),
    ("post", "/unsubscribe/{}"),
];

fn event(email: &str) -> Value {
    json!({"email": email, "event": "signup"})
}

/// Writes bytes to the server as they are and reads what comes back until it closes or falls silent.
async fn raw_answer(app: &App, request: &str) -> String {
    let address = app.base_url().trim_start_matches("http://").trim_end_matches('/');
    let mut stream = tokio::net::TcpStream::connect(address).await.expect("the server accepts connections");
    stream.write_all(request.as_bytes()).await.expect("the server reads a request");
    let mut answer = Vec::new();
    let reading = stream.read_to_end(&mut answer);
    tokio::time::timeout(Duration::from_secs(10), reading).await.ok();
    String::from_utf8(answer).expect("an answer in UTF-8")
}

/// `{id}` and `{contactId}` are the same path to a client.
fn unnamed(path: &str) -> String {
    let segments = path.split('/').map(|s| if s.starts_with('{') { "{}" } else { s });
    segments.collect::<Vec<_>>().join("/")
}

fn assert_carries_security_headers(response: &Response) {
    assert_eq!(header(response, "x-content-type-options"), Some("nosniff"), "{}", shown(response));
    assert!(header(response, "referrer-policy").is_some(), "no Referrer-Policy: {}", shown(response));
    let policy = header(response, "content-security-policy").unwrap_or_default();
    let framing = header(response, "x-frame-options").is_some() || policy.contains("frame-ancestors");
    assert!(framing, "framing is not refused: {}", shown(response));
}

both_engines! {
    async fn a_request_without_a_usable_authorization_header_is_missing_auth(engine: Engine) {
        let app = App::start(engine).await;
        for (method, path) in SECRET_KEY_ENDPOINTS.iter().chain(&[("POST", "/v1/track")]) {
            let response = app.request(method, path).json(&json!({})).send().await;
            assert_eq!(response.status, 401, "{method} {path}: {}", shown(&response));
            response.assert_error(401, "MISSING_AUTH");
        }
        let secret = app.secret_key();
        for value in [
            format!("Basic {secret}"),
            format!("bearer {secret}"),
            format!("Bearer {secret} {secret}"),
            secret.to_owned(),
            "Bearer".to_owned(),
            "Bearer ".to_owned(),
        ] {
            let response = app.request("GET", "/contacts").header("authorization", &value).send().await;
            let error = response.assert_error(401, "MISSING_AUTH");
            assert!(error["suggestion"].is_string(), "{value}: {error}");
        }
    }

    async fn an_unknown_key_or_one_of_the_wrong_type_is_invalid_api_key(engine: Engine) {
        let app = App::start(engine).await;
        let unknown_secret = format!("sk_{}", "0".repeat(64));
        let unknown_public = format!("pk_{}", "0".repeat(64));
        for (method, path) in SECRET_KEY_ENDPOINTS {
            for key in [app.public_key(), &unknown_secret, &unknown_public, "nonsense"] {
                let response = app.request(method, path).bearer(key).json(&json!({})).send().await;
                assert_eq!(response.status, 401, "{method} {path} with {key}: {}", shown(&response));
                response.assert_error(401, "INVALID_API_KEY");
            }
        }
        let response = app.request("GET", "/contacts").bearer(app.public_key()).send().await;
        let message = text(&response.assert_error(401, "INVALID_API_KEY")["message"]).to_lowercase();
        assert!(
            message.contains("secret") && message.contains("public"),
            "the message names both: {message}"
        );

        for key in [&unknown_public, &unknown_secret] {
            let request = app.request("POST", "/v1/track").bearer(key).json(&event("a@example.com"));
            request.send().await.assert_error(401, "INVALID_API_KEY");
        }
    }

    async fn track_takes_the_secret_key_only_outside_browsers(engine: Engine) {
        let app = App::start(engine).await;
        let body = event("visitor@example.com");
        let track = |key: &str| app.request("POST", "/v1/track").bearer(key).json(&body);
        let origin = "https://shop.example";

        track(app.public_key()).send().await.assert_status(200);
        track(app.public_key()).header("origin", origin).send().await.assert_status(200);
        track(app.secret_key()).send().await.assert_status(200);
        let refused = track(app.secret_key()).header("origin", origin).send().await;
        refused.assert_error(401, "INVALID_API_KEY");
        let events = read(&app, "/events").await;
        assert_eq!(items(&events["events"]).len(), 3, "{events}");
    }

    async fn browsers_may_track_from_anywhere_and_nothing_else(engine: Engine) {
        let app = App::start(engine).await;
        let origin = "https://shop.example";
        let preflight = app
            .request("OPTIONS", "/v1/track")
            .header("origin", origin)
            .header("access-control-request-method", "POST")
            .header("access-control-request-headers", "authorization,content-type,idempotency-key")
            .send()
            .await;
        assert!(matches!(preflight.status, 200 | 204), "{}", shown(&preflight));
        let allowed = required_header(&preflight, "access-control-allow-origin");
        assert!(allowed == "*" || allowed == origin, "{allowed}");
        assert!(required_header(&preflight, "access-control-allow-methods").contains("POST"));
        let headers = required_header(&preflight, "access-control-allow-headers").to_lowercase();
        for name in ["authorization", "content-type", "idempotency-key"] {
            assert!(headers.contains(name), "{name} in {headers}");
        }

        // A page can read an answer, good or bad, only when the answer itself names the origin.
        for (body, status) in [(event("visitor@example.com"), 200), (json!({}), 422)] {
            let request = app.request("POST", "/v1/track").bearer(app.public_key()).header("origin", origin);
            let response = request.json(&body).send().await.assert_status(status);
            let allowed = required_header(&response, "access-control-allow-origin");
            assert!(allowed == "*" || allowed == origin, "{allowed}");
        }
        for path in ["/contacts", "/templates", "/emails"] {
            for method in ["GET", "OPTIONS"] {
                let request = app.request(method, path).bearer(app.secret_key()).header("origin", origin);
                let response = request.header("access-control-request-method", "GET").send().await;
                let allowed = header(&response, "access-control-allow-origin");
                assert!(
                    !matches!(allowed, Some("*" | "https://shop.example")),
                    "{method} {path}: {allowed:?}"
                );
            }
        }
    }

    async fn a_project_is_limited_per_minute_and_told_so(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_RATE_LIMIT_PER_MINUTE", "5").start().await;
        let first = app.get("/contacts").send().await.assert_status(200);
        assert_eq!(required_header(&first, "ratelimit-limit"), "5");
        assert_eq!(required_header(&first, "ratelimit-remaining"), "4");
        let reset: u64 = required_header(&first, "ratelimit-reset").parse().expect("whole seconds");
        assert!(reset <= 60, "{reset}");

        let mut accepted = 1;
        let refused = loop {
            // A window may turn or a bucket refill meanwhile, so up to twice the limit may pass.
            assert!(accepted <= 10, "the limit of 5 let {accepted} requests through");
            let response = app.get("/contacts").send().await;
            if response.status != 200 {
                break response;
            }
            accepted += 1;
        };
        assert!(accepted >= 5, "refused after {accepted} of 5");
        let error = refused.assert_error(429, "RATE_LIMIT_EXCEEDED");
        let wait = error["details"]["retryAfter"].as_u64().expect("whole seconds");
        assert!((1..=60).contains(&wait), "{error}");
        assert_eq!(required_header(&refused, "retry-after"), wait.to_string());
        assert_eq!(required_header(&refused, "ratelimit-remaining"), "0");
        assert!(error["suggestion"].is_string(), "{error}");

        // All secret keys and endpoints of a project share the limit; nobody else does, nor its public key.
        // The window may turn between two requests, and then the next few pass.
        let track =
            || app.request("POST", "/v1/track").bearer(app.secret_key()).json(&event("a@example.com")).send();
        let mut passed = 0;
        let refused = loop {
            let answer = track().await;
            if answer.status != 200 {
                break answer;
            }
            passed += 1;
            assert!(passed <= 10, "the limit of 5 let {passed} more requests through");
        };
        refused.assert_error(429, "RATE_LIMIT_EXCEEDED");
        app.track(event("a@example.com")).await.assert_status(200);
        let domain = app.domain().to_owned();
        let other = app.bootstrap("Neighbour", &format!("other.{domain}")).await;
        app.request("GET", "/contacts").bearer(&other.secret_key).send().await.assert_status(200);
        app.request("GET", "/contacts").send().await.assert_error(401, "MISSING_AUTH");
        app.request("GET", "/health").send().await.assert_status(200);
    }

    async fn health_readiness_and_metrics_need_no_key(engine: Engine) {
        let app = App::start(engine).await;
        app.send(inline(&app, &json!("someone@example.com"))).await.assert_status(200);
        let health = app.request("GET", "/health").send().await.assert_status(200);
        assert_eq!(health.json()["status"], "ok", "{}", shown(&health));
        app.request("GET", "/ready").send().await.assert_status(200);
        let metrics = app.request("GET", "/metrics").send().await.assert_status(200);
        let kind = required_header(&metrics, "content-type");
        assert!(kind.starts_with("text/plain") || kind.starts_with("application/openmetrics-text"), "{kind}");
        let body = String::from_utf8_lossy(&metrics.body);
        assert!(body.lines().any(|line| line.starts_with("# TYPE ")), "{body}");
        assert!(!body.contains("someone@example.com") && !body.contains(app.secret_key()), "{body}");
    }
}

one_engine! {
    async fn unknown_routes_and_methods_answer_with_the_envelope(engine: Engine) {
        let app = App::start(engine).await;
        for path in ["/nowhere", "/v1/nowhere", "/contacts/a/b/c/d"] {
            app.get(path).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        }
        app.request("GET", "/nowhere").send().await.assert_error(404, "RESOURCE_NOT_FOUND");

        for (method, path) in [("DELETE", "/v1/send"), ("GET", "/v1/track"), ("PUT", "/contacts")] {
            let response = app.request(method, path).bearer(app.secret_key()).send().await;
            assert_envelope(&response, 405);
            assert!(
                required_header(&response, "allow").len() > 2,
                "405 names the methods: {}",
                shown(&response)
            );
        }
    }

    async fn a_body_that_is_not_json_is_400_and_one_that_is_no_object_is_422(engine: Engine) {
        let app = App::start(engine).await;
        let paths = ["/v1/send", "/v1/track", "/contacts", "/templates", "/domains"];
        for path in paths {
            for body in ["{", "{\"email\": }", "{} trailing", "\u{feff}nope"] {
                let response = app.post(path).body(body.to_owned(), "application/json").send().await;
                assert_eq!(response.status, 400, "{path} {body}: {}", shown(&response));
                let error = response.assert_error(400, "VALIDATION_ERROR");
                assert_eq!(error.get("errors"), None, "{error}");
                assert!(error["suggestion"].is_string(), "{error}");
            }
        }
        for body in [json!([]), json!("text"), json!(5)] {
            for path in ["/v1/send", "/v1/track"] {
                assert_eq!(issue(&app.post(path).json(&body).send().await, "")["code"], "invalid_type");
            }
        }
        let binary = app.post("/v1/send").body(vec![0xff_u8, 0xfe, 0x00], "application/json").send().await;
        binary.assert_error(400, "VALIDATION_ERROR");
    }

    async fn a_body_above_fifty_megabytes_is_413(engine: Engine) {
        let app = App::start(engine).await;
        for path in ["/v1/send", "/contacts"] {
            let answer = raw_answer(
                &app,
                &format!(
                    "POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nContent-Type: \
                     application/json\r\nContent-Length: 60000000\r\nConnection: close\r\n\r\n",
                    app.secret_key()
                ),
            )
            .await;
            let (head, body) = answer.split_once("\r\n\r\n").expect("an answer before the body is read");
            assert!(head.starts_with("HTTP/1.1 413"), "{answer}");
            let body: Value = serde_json::from_str(body.trim()).expect("an answer in JSON");
            assert_eq!(body["success"], false, "{body}");
            assert_eq!(body["error"]["statusCode"], 413, "{body}");
            assert!(body["error"]["code"].is_string() && body["error"]["message"].is_string(), "{body}");
            assert!(head.contains(text(&body["error"]["requestId"])), "{answer}");
            assert_timestamp(&body["timestamp"]);
        }
        app.get("/contacts").send().await.assert_status(200);
    }

    async fn every_answer_carries_security_headers(engine: Engine) {
        let app = App::start(engine).await;
        assert_carries_security_headers(&app.get("/contacts").send().await.assert_status(200));
        assert_carries_security_headers(&app.request("GET", "/contacts").send().await.assert_status(401));
        assert_carries_security_headers(&app.get("/nowhere").send().await.assert_status(404));
        assert_carries_security_headers(&app.request("GET", "/docs").send().await);
        assert_carries_security_headers(&app.request("GET", "/health").send().await);
    }

    async fn the_interface_describes_itself(engine: Engine) {
        let app = App::start(engine).await;
        let document = app.request("GET", "/openapi.json").send().await.assert_status(200).json();
        assert!(text(&document["openapi"]).starts_with("3.1"), "{}", document["openapi"]);

        let paths: BTreeMap<String, &Value> =
            members(&document["paths"]).iter().map(|(path, item)| (unnamed(path), item)).collect();
        let missing: Vec<_> = DOCUMENTED
            .iter()
            .filter(|(method, path)| paths.get(*path).is_none_or(|item| item.get(method).is_none()))
            .collect();
        assert!(missing.is_empty(), "not documented: {missing:?}");

        let mut operations = BTreeSet::new();
        for operation in paths.values().flat_map(|item| members(item).values()).filter(|o| o.is_object()) {
            if let Some(id) = operation.get("operationId") {
                assert!(operations.insert(text(id)), "operationId {id} twice");
            }
        }
        let docs = app.request("GET", "/docs").send().await.assert_status(200);
        assert!(required_header(&docs, "content-type").starts_with("text/html"), "{}", shown(&docs));
    }

    async fn request_ids_are_taken_over_made_and_cleaned(engine: Engine) {
        let app = App::start(engine).await;
        let given = app.get("/contacts").header("x-request-id", "checkout-42.a_B").send().await;
        assert_eq!(header(&given, "x-request-id"), Some("checkout-42.a_B"));
        let given = app.request("GET", "/contacts").header("x-request-id", "checkout-43").send().await;
        assert_eq!(given.assert_error(401, "MISSING_AUTH")["requestId"], "checkout-43");

        let first = app.get("/contacts").send().await;
        let second = app.get("/contacts").send().await;
        let made = required_header(&first, "x-request-id");
        assert!(!made.is_empty());
        assert_ne!(made, required_header(&second, "x-request-id"), "each request has its own id");

        for odd in ["x".repeat(2000), "two words".to_owned(), "<script>\"'".to_owned(), String::new()] {
            let response = app.get("/contacts").header("x-request-id", &odd).send().await.assert_status(200);
            let used = required_header(&response, "x-request-id");
            assert_ne!(used, odd, "an odd id is replaced");
            assert!(!used.is_empty() && used.len() <= 256, "{used}");
        }
    }
}
