//! Bodies that are refused, large, slow, or all of that.

use std::time::Duration;

use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::early_in_a_minute;
use serde_json::json;

use crate::edge::{Answer, answer, assert_is_closed, connect, connect_from, head, write};

const MB: usize = 1024 * 1024;

/// Sends a request whose body comes after its head, and another one on the same connection. The second is answered, or
/// the client was told that it would not be.
async fn assert_ends_well(app: &App, head_of_first: &str, body: &str, status: u16) -> Answer {
    let mut stream = connect(app).await;
    write(&mut stream, head_of_first).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    write(&mut stream, body).await;
    let first = answer(&mut stream).await.expect("an answer to the first request");
    assert_eq!(first.status, status, "{}", first.body);
    if first.closes {
        assert_is_closed(&mut stream).await;
    } else {
        write(&mut stream, head("GET", "/health", None, "")).await;
        assert_eq!(answer(&mut stream).await.map(|answer| answer.status), Some(200), "after {status}");
    }
    first
}

both_engines! {
    async fn a_connection_outlives_a_refused_request(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_RATE_LIMIT_PER_MINUTE", "30").start().await;
        early_in_a_minute(&app).await;
        let mail = json!({"to": "ann@example.com", "subject": "Hi", "body": "<p>Hi</p>", "from": app.from()});
        app.post("/v1/send").header("idempotency-key", "k-1").json(&mail).send().await.assert_status(200);
        let stranger = format!("sk_{}", "0".repeat(64));
        let body = mail.to_string();
        let length = format!("Content-Length: {}\r\n", body.len());
        let used = format!("{length}Idempotency-Key: k-1\r\n");
        let key = app.secret_key();
        for (head, status) in [
            (head("POST", "/v1/send", Some(key), &used), 409),
            (head("POST", "/v1/send", Some(&stranger), &length), 401),
            (head("POST", "/contacts", None, &length), 401),
            (head("POST", "/nowhere", Some(key), &length), 404),
            (head("PUT", "/v1/send", Some(key), &length), 405),
        ] {
            let answer = assert_ends_well(&app, &head, &body, status).await;
            assert!(!answer.closes || cfg!(not(target_os = "linux")), "a short rest is read: {status}");
        }
        while app.get("/contacts").send().await.status == 200 {}
        assert_ends_well(&app, &head("POST", "/v1/send", Some(key), &length), &body, 429).await;
        let long = format!("Content-Length: {}\r\n", 60 * MB);
        let told = assert_ends_well(&app, &head("POST", "/v1/send", None, &long), &"x".repeat(3 * MB), 401).await;
        assert!(told.closes, "a long rest is not read, and the client is told");
        let waits = format!("{length}Expect: 100-continue\r\n");
        let told = assert_ends_well(&app, &head("POST", "/contacts", None, &waits), "", 401).await;
        assert!(told.closes, "nobody asked for the body");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_is_too_large_is_told_so_while_it_is_sent() {
    let app = App::start(Engine::Sqlite).await;
    let length = format!("Content-Length: {}\r\n", 60 * MB);
    let head = head("POST", "/v1/send", Some(app.secret_key()), &length);
    let told = assert_ends_well(&app, &head, &"x".repeat(4 * MB), 413).await;
    assert!(told.closes);
    let message = told.body["error"]["message"].as_str().unwrap_or_default();
    assert_eq!(message, "The request body is larger than 50 MB.");
    let small =
        app.request("POST", "/auth/login").body("x".repeat(17 * 1024), "application/json").send().await;
    let error = small.assert_error(413, "PAYLOAD_TOO_LARGE");
    assert_eq!(error["message"], "The request body is larger than 16 KB.");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_pauses_is_given_up() {
    let app = App::builder(Engine::Sqlite).env("MAILWRIGHT_HTTP_BODY_PAUSE_SECONDS", "1").start().await;
    let mut stream = connect(&app).await;
    write(&mut stream, head("POST", "/contacts", Some(app.secret_key()), "Content-Length: 100\r\n") + "{")
        .await;
    let told = answer(&mut stream).await.expect("an answer");
    assert_eq!((told.status, told.closes), (408, true), "{}", told.body);
    assert_eq!(told.body["error"]["code"], "REQUEST_TIMEOUT");
    assert_is_closed(&mut stream).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_drips_is_given_up() {
    let app = App::builder(Engine::Sqlite).env("MAILWRIGHT_HTTP_BODY_SECONDS", "1").start().await;
    let mut stream = connect(&app).await;
    let mut dripping = connect(&app).await;
    write(&mut stream, head("POST", "/contacts", Some(app.secret_key()), "Content-Length: 100000\r\n")).await;
    let drip = async {
        let head = head("POST", "/contacts", Some(app.secret_key()), "Content-Length: 100000\r\n");
        write(&mut dripping, head).await;
        let (mut reading, mut writing) = dripping.split();
        let writing = async {
            loop {
                if tokio::io::AsyncWriteExt::write_all(&mut writing, b" ").await.is_err() {
                    std::future::pending::<()>().await;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let reading = async {
            let mut text = vec![0; 1024];
            let bytes = tokio::io::AsyncReadExt::read(&mut reading, &mut text).await.expect("an answer");
            String::from_utf8_lossy(&text[..bytes]).into_owned()
        };
        tokio::select! { () = writing => unreachable!(), text = reading => text }
    };
    let text = tokio::time::timeout(crate::edge::PATIENCE, drip).await.expect("an answer");
    assert!(text.starts_with("HTTP/1.1 408"), "{text}");
    assert_eq!(answer(&mut stream).await.map(|told| told.status), Some(408));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_body_costs_a_small_multiple_of_its_size() {
    const SIZE: usize = 20 * MB;
    let app = App::start(Engine::Sqlite).await;
    let before = app.peak_memory();
    let zeros = |open: &str, close: &str| format!("{open}{}{close}", "0,".repeat(SIZE / 2));
    for body in [
        zeros(r#"{"to":["#, "0]}"),
        zeros(r#"{"to":"ann@example.com","unknown":["#, "0]}"),
        zeros(r#"{"to":"ann@example.com","data":{"list":["#, "0]}}"),
        format!(r#"{{"to":{}1{}}}"#, "[".repeat(SIZE / 2), "]".repeat(SIZE / 2)),
    ] {
        let refused = app.post("/v1/send").body(body, "application/json").send().await;
        refused.assert_issue("", "too_big");
    }
    let grown = app.peak_memory() - before;
    assert!(grown < 4 * SIZE, "{} MB for bodies of {} MB", grown / MB, SIZE / MB);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_bodies_share_what_there_is() {
    const LARGE: usize = 45 * MB;
    let app = App::builder(Engine::Sqlite).env("MAILWRIGHT_HTTP_BODY_BUDGET_MB", "100").start().await;
    let head = head("POST", "/v1/send", Some(app.secret_key()), &format!("Content-Length: {LARGE}\r\n"));
    let mut first = connect_from(&app, [127, 0, 0, 5]).await;
    write(&mut first, &head).await;
    write(&mut first, " ".repeat(40 * MB)).await;
    // the client has as much in memory as it may, or will have in a moment
    let mut second = connect_from(&app, [127, 0, 0, 5]).await;
    write(&mut second, &head).await;
    let rest = " ".repeat(40 * MB);
    let (mut reading, mut writing) = second.split();
    let refused = async {
        let mut text = Vec::new();
        while !String::from_utf8_lossy(&text).contains("\"timestamp\"") {
            assert!(tokio::io::AsyncReadExt::read_buf(&mut reading, &mut text).await.expect("an answer") > 0);
        }
        String::from_utf8_lossy(&text).into_owned()
    };
    let sending = async {
        let _ = tokio::io::AsyncWriteExt::write_all(&mut writing, rest.as_bytes()).await;
        std::future::pending::<()>().await;
    };
    let text = async {
        tokio::select! { text = refused => text, () = sending => unreachable!() }
    };
    let text = tokio::time::timeout(crate::edge::PATIENCE, text).await.expect("an answer");
    assert!(text.starts_with("HTTP/1.1 503") && text.contains("SERVICE_UNAVAILABLE"), "{text}");
    assert!(text.to_lowercase().contains("retry-after: 1"), "{text}");
    // small ones go through meanwhile, also those of the same client
    for client in [[127, 0, 0, 5], [127, 0, 0, 6]] {
        let mut stream = connect_from(&app, client).await;
        let body = json!({"email": "ann@example.com", "event": "visit"}).to_string();
        let length = format!("Content-Length: {}\r\n", body.len());
        write(&mut stream, crate::edge::head("POST", "/v1/track", Some(app.public_key()), &length) + &body)
            .await;
        assert_eq!(answer(&mut stream).await.map(|answer| answer.status), Some(200));
    }
    drop(first);
}
