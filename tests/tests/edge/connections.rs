//! Connections that are opened and not used.

use std::time::Duration;

use mailwright_testkit::{App, Engine};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::{answer, assert_is_closed, connect, connect_from, head, write};

/// Runs a server that can have few files open.
const FEW_FILES: [&str; 4] = ["sh", "-c", "ulimit -n 256; exec \"$@\"", "sh"];

/// New clients are served, and the service says that it is well.
async fn assert_serves(app: &App) {
    for _ in 0..10 {
        for path in ["/health", "/ready"] {
            let mut stream = connect_from(app, [127, 0, 0, 2]).await;
            write(&mut stream, head("GET", path, None, "")).await;
            assert_eq!(answer(&mut stream).await.map(|answer| answer.status), Some(200), "{path}");
        }
        let mut stream = connect_from(app, [127, 0, 0, 2]).await;
        write(&mut stream, head("GET", "/contacts", Some(app.secret_key()), "")).await;
        assert_eq!(answer(&mut stream).await.map(|answer| answer.status), Some(200));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_say_nothing_do_not_keep_others_out() {
    let app = App::builder(Engine::Sqlite).wrapper(&FEW_FILES).start().await;
    let mut silent = Vec::new();
    for number in 0..600 {
        let mut stream = connect(&app).await;
        if number % 2 == 0 {
            // some of them begin to say something
            let _ = stream.write_all(b"GET /health HTTP/1.1\r\nHost: loc").await;
        }
        silent.push(stream);
    }
    assert_serves(&app).await;
    // the first ones have waited longest, and made room
    assert_is_closed(&mut silent[1]).await;
    // clients that keep their connection are served as well
    app.track(json!({"email": "ann@example.com", "event": "visit"})).await.assert_status(200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_do_not_end_do_not_keep_others_out() {
    let app = App::builder(Engine::Sqlite)
        .wrapper(&FEW_FILES)
        .env("MAILWRIGHT_HTTP_BODY_PAUSE_SECONDS", "5")
        .start()
        .await;
    let mut stalled = Vec::new();
    for _ in 0..400 {
        let mut stream = connect(&app).await;
        let unfinished = head("POST", "/auth/login", None, "Content-Length: 100\r\n") + "{";
        let _ = stream.write_all(unfinished.as_bytes()).await;
        stalled.push(stream);
    }
    assert_serves(&app).await;
    // the client that has too many is told so, and where it asks how the service is, it is answered
    app.eventually("the client is served again", async || {
        let mut stream = connect(&app).await;
        write(&mut stream, head("GET", "/config", None, "")).await;
        answer(&mut stream).await.filter(|answer| answer.status == 200)
    })
    .await;
    drop(stalled);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_has_its_share_is_told_and_probes_are_answered() {
    let app = App::builder(Engine::Sqlite).env("MAILWRIGHT_HTTP_CONNECTIONS_PER_CLIENT", "3").start().await;
    let mut stalled = Vec::new();
    for _ in 0..3 {
        let mut stream = connect_from(&app, [127, 0, 0, 3]).await;
        let waits = "Content-Length: 100\r\nExpect: 100-continue\r\n";
        write(&mut stream, head("POST", "/auth/login", None, waits)).await;
        // from here on somebody waits for the body
        assert_eq!(answer(&mut stream).await.map(|answer| answer.status), Some(100));
        stalled.push(stream);
    }
    let ask = async |path: &str| {
        let mut stream = connect_from(&app, [127, 0, 0, 3]).await;
        write(&mut stream, head("GET", path, None, "")).await;
        let answer = answer(&mut stream).await.expect("an answer");
        if answer.closes {
            assert_is_closed(&mut stream).await;
        }
        answer
    };
    let refused = ask("/config").await;
    assert_eq!((refused.status, refused.closes), (503, true));
    assert_eq!(refused.body["error"]["code"], "SERVICE_UNAVAILABLE", "{}", refused.body);
    for path in ["/health", "/ready"] {
        assert_eq!(ask(path).await.status, 200, "{path}");
    }
    // others do not notice
    let mut other = connect_from(&app, [127, 0, 0, 4]).await;
    write(&mut other, head("GET", "/config", None, "")).await;
    assert_eq!(answer(&mut other).await.map(|answer| answer.status), Some(200));
    // a request that is over makes room
    write(&mut stalled[0], "x".repeat(100)).await;
    assert!(answer(&mut stalled[0]).await.is_some());
    app.eventually("the client is served again", async || {
        Some(ask("/config").await).filter(|answer| answer.status == 200)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_is_closed_when_nothing_comes() {
    let app = App::builder(Engine::Sqlite)
        .env("MAILWRIGHT_HTTP_HEADER_SECONDS", "1")
        .env("MAILWRIGHT_HTTP_IDLE_SECONDS", "1")
        .start()
        .await;
    let mut silent = connect(&app).await;
    let mut begun = connect(&app).await;
    write(&mut begun, "GET /health HT").await;
    let mut kept = connect(&app).await;
    write(&mut kept, head("GET", "/health", None, "")).await;
    assert_eq!(answer(&mut kept).await.map(|answer| (answer.status, answer.closes)), Some((200, false)));
    for stream in [&mut silent, &mut begun, &mut kept] {
        assert_is_closed(stream).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_header_has_a_length() {
    let app = App::builder(Engine::Sqlite).env("MAILWRIGHT_HTTP_HEADER_KB", "16").start().await;
    for (kilobytes, status) in [(8, 200), (20, 431)] {
        let mut stream = connect(&app).await;
        let long = format!("X-Long: {}\r\n", "x".repeat(kilobytes * 1024));
        write(&mut stream, head("GET", "/health", None, &long)).await;
        assert_eq!(answer(&mut stream).await.map(|answer| answer.status), Some(status), "{kilobytes} KB");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_takes_no_answer_is_let_go() {
    let app = App::builder(Engine::Sqlite)
        .env("MAILWRIGHT_HTTP_WRITE_SECONDS", "1")
        .env("MAILWRIGHT_HTTP_HEADER_SECONDS", "1")
        .start()
        .await;
    let mut stream = connect(&app).await;
    let many = head("GET", "/openapi.json", None, "").repeat(100);
    write(&mut stream, many).await;
    app.eventually("the server lets go", async || is_broken(&mut stream).await.then_some(())).await;
}

/// Whether the other end is gone; nothing is read.
async fn is_broken(stream: &mut TcpStream) -> bool {
    tokio::time::sleep(Duration::from_millis(20)).await;
    let writing = tokio::time::timeout(Duration::from_millis(20), stream.write_all(b"\r\n")).await;
    matches!(writing, Ok(Err(_)))
}
