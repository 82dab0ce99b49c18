//! Connections that are opened and not used.

use std::time::Duration;

use mailwright_testkit::{App, Engine};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::edge::{answer, assert_is_closed, connect, connect_from, head, write};

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
async fn bodies_that_do_not_come_do_not_keep_others_out() {
    let app = App::builder(Engine::Sqlite).wrapper(&FEW_FILES).start().await;
    // the first one is known to be in the middle of its request: one that had not begun would be closed without a word
    let mut first = connect_from(&app, [127, 0, 0, 9]).await;
    let begun = head("POST", "/auth/login", None, "Content-Length: 100\r\nExpect: 100-continue\r\n");
    write(&mut first, begun).await;
    let mut goes_on = *b"HTTP/1.1 100 Continue\r\n\r\n";
    first.read_exact(&mut goes_on).await.expect("the body is asked for");
    assert!(goes_on.starts_with(b"HTTP/1.1 100"), "{}", String::from_utf8_lossy(&goes_on));
    let mut stalled = vec![first];
    for number in (0..6).cycle().take(400) {
        let mut stream = connect_from(&app, [127, 0, 0, 10 + number]).await;
        let unfinished = head("POST", "/auth/login", None, "Content-Length: 100\r\n") + "{";
        let _ = stream.write_all(unfinished.as_bytes()).await;
        stalled.push(stream);
    }
    assert_serves(&app).await;
    // those that have waited longest were told that their place is needed
    let told = answer(&mut stalled[0]).await.expect("an answer");
    assert_eq!((told.status, told.closes), (503, true));
    assert_eq!(told.body["error"]["code"], "SERVICE_UNAVAILABLE", "{}", told.body);
    assert_is_closed(&mut stalled[0]).await;
    // clients that hold places themselves are served too
    let mut stream = connect_from(&app, [127, 0, 0, 10]).await;
    write(&mut stream, head("GET", "/config", None, "")).await;
    assert_eq!(answer(&mut stream).await.map(|answer| answer.status), Some(200));
    // and a body that comes is read, though others make room
    let body = r#"{"email":"nobody@example.com","password":"not the one"}"#;
    let length = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
    let mut stream = connect_from(&app, [127, 0, 0, 3]).await;
    write(&mut stream, head("POST", "/auth/login", None, &length)).await;
    for piece in body.as_bytes().chunks(8) {
        write(&mut stream, piece).await;
    }
    assert_eq!(answer(&mut stream).await.map(|answer| answer.status), Some(401));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_has_its_share_is_told_and_probes_are_answered() {
    let client = [127, 0, 0, 3];
    let app = App::builder(Engine::Postgres)
        .database_proxy()
        .env("MAILWRIGHT_HTTP_CONNECTIONS_PER_CLIENT", "3")
        .start()
        .await;
    // from here on the database takes connections and says nothing, so that who asks it waits
    app.database_proxy().cut().await;
    let silent_database =
        std::net::TcpListener::bind(("127.0.0.1", app.database_proxy().port())).expect("a free port");
    let ask = async |path: &str| {
        let mut stream = connect_from(&app, client).await;
        write(&mut stream, head("GET", path, None, "")).await;
        let answer = answer(&mut stream).await.expect("an answer");
        if answer.closes {
            assert_is_closed(&mut stream).await;
        }
        answer
    };
    let mut held = Vec::new();
    for _ in 0..3 {
        let mut stream = connect_from(&app, client).await;
        write(&mut stream, head("GET", "/health", None, "")).await;
        assert_eq!(answer(&mut stream).await.map(|answer| answer.status), Some(200));
        held.push(stream);
    }
    for stream in &mut held {
        write(stream, head("GET", "/contacts", Some(app.secret_key()), "")).await;
    }
    // what comes later is answered: those are read and under way
    let mut later = connect_from(&app, [127, 0, 0, 4]).await;
    for _ in 0..20 {
        write(&mut later, head("GET", "/health", None, "")).await;
        assert_eq!(answer(&mut later).await.map(|answer| answer.status), Some(200));
    }
    let refused = ask("/config").await;
    assert_eq!(refused.status, 503);
    assert!(refused.closes);
    assert_eq!(refused.body["error"]["code"], "SERVICE_UNAVAILABLE", "{}", refused.body);
    for path in ["/health", "/metrics"] {
        assert_eq!(ask(path).await.status, 200, "{path}");
    }
    // it has no more than its share of what is kept for probes either, and others have theirs
    let mut silent = Vec::new();
    for _ in 0..8 {
        silent.push(connect_from(&app, client).await);
    }
    let mut other = connect_from(&app, [127, 0, 0, 4]).await;
    write(&mut other, head("GET", "/openapi.json", None, "")).await;
    assert_eq!(answer(&mut other).await.map(|answer| answer.status), Some(200));
    let bare = answer(&mut silent[7]).await.expect("an answer");
    assert_eq!((bare.status, bare.body.is_null()), (503, true));
    drop((silent, silent_database));
    // a request that is over makes room
    app.database_proxy().restore().await;
    for stream in &mut held {
        assert!(answer(stream).await.is_some());
    }
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
    let most = 16 * 1024;
    let header = |bytes: usize| {
        let without = head("GET", "/health", None, "X-Long: \r\n").len();
        head("GET", "/health", None, &format!("X-Long: {}\r\n", "x".repeat(bytes - without)))
    };
    for (bytes, status) in
        [(most / 2, 200), (most, 200), (most + 1, 431), (most + 3000, 431), (2 * most, 431)]
    {
        // at once, and in pieces
        for piece in [bytes, 1000] {
            let mut stream = connect(&app).await;
            for piece in header(bytes).as_bytes().chunks(piece) {
                if stream.write_all(piece).await.is_err() {
                    break;
                }
                tokio::task::yield_now().await;
            }
            assert_eq!(answer(&mut stream).await.map(|answer| answer.status), Some(status), "{bytes} bytes");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_has_one_length_and_no_coding() {
    let app = App::start(Engine::Sqlite).await;
    for (headers, status) in [
        ("Transfer-Encoding: chunked\r\n", 401),
        ("Transfer-Encoding: Chunked\r\n", 401),
        ("Transfer-Encoding: gzip, chunked\r\n", 501),
        ("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", 501),
        ("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", 400),
        ("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", 400),
    ] {
        let body = r#"{"email":"nobody@example.com","password":"not the one"}"#;
        let more = format!("Content-Type: application/json\r\n{headers}");
        let request =
            format!("{}{:x}\r\n{body}\r\n0\r\n\r\n", head("POST", "/auth/login", None, &more), body.len());
        let mut stream = connect(&app).await;
        write(&mut stream, request).await;
        let answer = answer(&mut stream).await.expect("an answer");
        assert_eq!((answer.status, answer.closes), (status, status != 401), "{headers}");
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
