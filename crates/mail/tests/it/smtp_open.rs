//! Opening a connection: greeting, EHLO, AUTH.

use std::time::Duration;

use mailwright_mail::smtp::{Connection, Credentials, OpenError, OpenStage, Security};

use crate::smtp_server::Server;

const QUIT: &str = "C: QUIT\nS: 221 bye\n";

#[tokio::test]
async fn a_server_without_ehlo_is_greeted_with_helo() {
    let server = Server::run(&["S: 220 hi\nC: EHLO client.test\nS: 502 what\nC: HELO client.test\nS: 250 hi\nC: MAIL FROM:<>\nS: 451 no"]).await;
    let mut connection = Connection::open(&server.config(Security::None)).await.unwrap();
    assert!(connection.envelope("", "b@example.org", 7).await.is_err());
    assert!(connection.is_reusable());
}

#[tokio::test]
async fn without_a_name_we_greet_with_our_address() {
    let server = Server::run(&["S: 220 hi\nC: EHLO [127.0.0.1]\nS: 250 hi"]).await;
    let mut config = server.config(Security::None);
    config.helo_name.clear();
    Connection::open(&config).await.unwrap();
}

async fn failure(script: &str) -> OpenError {
    let server = Server::run(&[script]).await;
    let mut config = server.config(Security::None);
    config.timeouts.opening = Duration::from_millis(200);
    config.timeouts.command = Duration::from_millis(200);
    let error = Connection::open(&config).await.unwrap_err();
    assert!(error.reply.is_some() || !error.permanent);
    error
}

#[tokio::test]
async fn why_a_connection_cannot_be_opened_is_told() {
    let endless = format!("S: [raw]220 {}", "x".repeat(20_000));
    let many = format!("S: [raw]{}", "220-x\\r\\n".repeat(20_000));
    for (script, stage, permanent) in [
        ("S: 554 go away", OpenStage::Greeting, true),
        ("S: 421 busy", OpenStage::Greeting, false),
        ("S: HTTP/1.1 400 Bad Request", OpenStage::Greeting, false),
        ("S: [close]", OpenStage::Greeting, false),
        ("S: [hold]", OpenStage::Greeting, false),
        (&endless, OpenStage::Greeting, false),
        (&many, OpenStage::Greeting, false),
        ("S: 220 hi\nC: EHLO client.test\nS: 450 later", OpenStage::Hello, false),
        ("S: 220 hi\nC: EHLO client.test\nS: 550 no\nC: HELO client.test\nS: 550 no", OpenStage::Hello, true),
        ("S: 220 hi\nC: EHLO client.test\nS: [close]", OpenStage::Hello, false),
    ] {
        let error = failure(script).await;
        assert_eq!((error.stage, error.permanent), (stage, permanent), "{error}");
    }
}

#[tokio::test]
async fn a_port_that_nobody_listens_on_is_told() {
    let server = Server::run(&[]).await;
    let config = server.config(Security::None);
    server.contents().await;
    let error = Connection::open(&config).await.unwrap_err();
    assert_eq!((error.stage, error.permanent), (OpenStage::Connect, false), "{error}");
}

const LOGIN: &str = "S: 220 hi\nC: EHLO client.test\nS: 250-hi\nS: 250 AUTH";

#[tokio::test]
async fn logins_succeed_by_plain_and_by_login() {
    for script in [
        format!("{LOGIN} LOGIN PLAIN CRAM-MD5\nC: AUTH PLAIN AHVzZXIAcMOkc3M=\nS: 235 2.7.0 in"),
        format!("{LOGIN}=plain\nC: AUTH PLAIN AHVzZXIAcMOkc3M=\nS: 334 \nC: AHVzZXIAcMOkc3M=\nS: 235 in"),
        format!(
            "{LOGIN} LOGIN\nC: AUTH LOGIN\nS: 334 VXNlcm5hbWU6\nC: dXNlcg==\nS: 334 UGFzc3dvcmQ6\nC: cMOkc3M=\nS: 235 in"
        ),
    ] {
        let server = Server::run(&[&format!("{script}\n{QUIT}")]).await;
        let mut config = server.config(Security::None);
        config.credentials = Some(Credentials { username: "user".into(), password: "p\u{e4}ss".into() });
        Connection::open(&config).await.unwrap().quit().await;
        server.contents().await;
    }
}

#[tokio::test]
async fn logins_that_fail_say_why() {
    for (script, permanent) in [
        (format!("{LOGIN} PLAIN\nC: AUTH PLAIN AHVzZXIAcGFzcw==\nS: 535 5.7.8 wrong"), true),
        (
            format!(
                "{LOGIN} PLAIN\nC: AUTH PLAIN AHVzZXIAcGFzcw==\nS: 535 5.7.8 not AUTH PLAIN AHVzZXIAcGFzcw=="
            ),
            true,
        ),
        (format!("{LOGIN} PLAIN\nC: AUTH PLAIN AHVzZXIAcGFzcw==\nS: 454 4.7.0 later"), false),
        (format!("{LOGIN} LOGIN\nC: AUTH LOGIN\nS: 334 x\nC: dXNlcg==\nS: 535 unknown"), true),
        (
            format!(
                "{LOGIN} LOGIN\nC: AUTH LOGIN\nS: 334 x\nC: dXNlcg==\nS: 334 x\nC: cGFzcw==\nS: 334 more"
            ),
            false,
        ),
        (format!("{LOGIN} GSSAPI\nS: [hold]"), true),
        (format!("{LOGIN} PLAIN\nC: AUTH PLAIN AHVzZXIAcGFzcw==\nS: [close]"), false),
    ] {
        let server = Server::run(&[&script]).await;
        let mut config = server.config(Security::None);
        config.credentials = Some(Credentials { username: "user".into(), password: "pass".into() });
        let error = Connection::open(&config).await.unwrap_err();
        assert_eq!((error.stage, error.permanent), (OpenStage::Auth, permanent), "{error}");
        assert!(!error.to_string().contains("pass") || error.reply.is_none());
        assert!(!format!("{error:?}").contains("AHVz"), "a server may repeat what we said: {error:?}");
    }
}

#[tokio::test]
async fn the_largest_message_is_what_the_server_says() {
    for (line, most) in [("SIZE 1000", Some(1000)), ("SIZE", None), ("SIZE 0", None), ("SIZE all", None)] {
        let script = format!("S: 220 hi\nC: EHLO client.test\nS: 250-hi\nS: 250 {line}");
        let server = Server::run(&[&script]).await;
        let connection = Connection::open(&server.config(Security::None)).await.unwrap();
        assert_eq!(connection.max_size(), most, "{line}");
    }
}
