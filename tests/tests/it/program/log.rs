//! What the log does not hold, and what it does not stop.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::{inline, mail_to, read, track_ok, with};
use serde_json::json;

use super::process::start;

both_engines! {
    async fn secrets_are_never_logged(engine: Engine) {
        let secret = "5e5e5e5e0badcafe5e5e5e5e0badcafe5e5e5e5e0badcafe5e5e5e5e0badcafe";
        let mut app = App::builder(engine)
            .env("MAILWRIGHT_LOG", "debug")
            .env("MAILWRIGHT_SECRET", secret)
            .env("MAILWRIGHT_TRANSPORT", "smtp://relay-user:relay-pa55word@127.0.0.1:9?tls=none")
            .start()
            .await;
        let body =
            with(inline(&app, &json!("ann@example.com")), &json!({"data": {"code": "one-off-483920"}}));
        app.send(body).await.assert_status(200);
        app.request("GET", "/contacts").bearer("sk_of_somebody_else").send().await.assert_status(401);
        let track = json!({"email": "ann@example.com", "event": "signup"});
        app.request("POST", "/v1/track")
            .bearer(app.public_key())
            .json(&track)
            .send()
            .await
            .assert_status(200);
        app.stop().await;
        let log = app.log();
        assert!(!log.is_empty(), "the server logs");
        for hidden in [
            app.secret_key(),
            secret,
            "relay-pa55word",
            "sk_of_somebody_else",
            "correct horse battery staple",
        ] {
            assert!(!log.contains(hidden), "{hidden} in the log:\n{log}");
        }
    }

    async fn the_ordinary_log_holds_no_addresses_or_content(engine: Engine) {
        let mut app = App::builder(engine).env("MAILWRIGHT_LOG", "info").start().await;
        let content = json!({"subject": "Purple elephants", "body": "<p>Green elephants</p>"});
        app.send(with(inline(&app, &json!("ann.private@example.com")), &content)).await.assert_status(200);
        let data = json!({"email": "ann.private@example.com", "event": "signup", "data": {"note": "Blue elephants"}});
        track_ok(&app, data).await;
        mail_to(&app, "ann.private@example.com").await;
        read(&app, "/contacts?search=ann.private").await;
        app.stop().await;
        let log = app.log();
        for hidden in ["ann.private", "elephants", app.public_key(), app.secret_key()] {
            assert!(!log.contains(hidden), "{hidden} in the log:\n{log}");
        }
    }
}

/// The status of an answer; 0 without one.
fn status(address: &str, request: &str) -> u16 {
    let mut answer = String::new();
    let exchanged = TcpStream::connect(address).and_then(|mut stream| {
        stream.write_all(request.as_bytes())?;
        stream.read_to_string(&mut answer)
    });
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    exchanged.ok().and(status).unwrap_or_default()
}

/// The disk of the log is full, or nobody reads it any more.
#[test]
fn a_log_that_takes_no_more_lines_stops_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let address =
        TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port").to_string();
    let settings = [
        ("MAILWRIGHT_DATA_DIR", folder.path().to_str().expect("UTF-8")),
        ("MAILWRIGHT_LISTEN", &address),
        ("MAILWRIGHT_TRANSPORT", "capture"),
        ("MAILWRIGHT_LOG", "trace"),
    ];
    let full = OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
    let mut child = start(&["serve"], &settings, full);
    let since = Instant::now();
    let ready = format!("GET /ready HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    while status(&address, &ready) != 200 {
        assert!(since.elapsed() < Duration::from_mins(1), "it is not ready");
        assert!(child.try_wait().expect("its state").is_none(), "it has ended");
        std::thread::yield_now();
    }
    for n in 0..5 {
        let body =
            json!({"email": format!("a{n}@example.com"), "password": "correct horse battery"}).to_string();
        let request = format!(
            "POST /auth/signup HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let answered = status(&address, &request);
        assert!((200..300).contains(&answered), "{answered}");
    }
    assert_eq!(status(&address, &ready), 200);
    let asked = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().expect("kill");
    assert!(asked.success());
    let ended = child.wait().expect("its end");
    assert!(ended.success(), "{ended}");
}
