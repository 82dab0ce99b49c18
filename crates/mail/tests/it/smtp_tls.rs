//! STARTTLS and implicit TLS.

use mailwright_mail::smtp::{Connection, ContentError, Credentials, OpenStage, Security, TlsFailure};

use crate::smtp_server::Server;

const OFFER: &str = "S: 220 hi\nC: EHLO client.test\nS: 250-hi\nS: 250 STARTTLS\n";
const START: &str = "C: STARTTLS\nS: 220 go\nS: [tls]\n";
const HELLO: &str = "C: EHLO client.test\nS: 250-hi\nS: 250-AUTH PLAIN\nS: 250 PIPELINING\n";
const MESSAGE: &str =
    "C: MAIL FROM:<a@example.com>\nC: RCPT TO:<b@example.org>\nC: DATA\nS: 250 ok\nS: 250 ok\nS: 354 go\n";
const QUIT: &str = "C: QUIT\nS: 221 bye\n";

fn credentials() -> Credentials {
    Credentials { username: "u".into(), password: "p".into() }
}

#[tokio::test]
async fn messages_go_under_tls() {
    let end = format!("{HELLO}C: AUTH PLAIN AHUAcA==\nS: 235 in\n{MESSAGE}C: [content]\nS: 250 ok\n{QUIT}");
    for (security, script) in [
        (Security::StartTls, format!("{OFFER}{START}{end}")),
        (Security::Opportunistic, format!("{OFFER}{START}{end}")),
        (Security::ImplicitTls, format!("S: [tls]\nS: 220 hi\n{end}")),
    ] {
        let server = Server::run(&[&script]).await;
        let mut config = server.trusted(security);
        config.credentials = Some(credentials());
        let mut connection = Connection::open(&config).await.unwrap();
        assert!(connection.tls());
        connection.envelope("a@example.com", "b@example.org", 1).await.unwrap();
        connection.content(b"", &b"line\r\n".repeat(100_000)).await.unwrap();
        connection.quit().await;
        assert_eq!(server.contents().await[0].len(), 600_000);
    }
}

#[tokio::test]
async fn a_certificate_that_is_not_trusted_ends_it() {
    for (security, script) in
        [(Security::StartTls, format!("{OFFER}{START}")), (Security::ImplicitTls, "S: [tls]\n".to_owned())]
    {
        let server = Server::run(&[&script]).await;
        let error = Connection::open(&server.config(security)).await.unwrap_err();
        assert_eq!((error.stage, error.permanent), (OpenStage::Tls, false), "{error}");
        assert_eq!(error.tls, Some(TlsFailure::NotTrusted), "{error}");
        assert!(error.ends.is_some_and(|ends| ends.theirs.is_loopback() && ends.ours.is_loopback()));
    }
    // With credentials, opportunistic is no excuse: no second connection is made without TLS.
    let server = Server::run(&[&format!("{OFFER}{START}")]).await;
    let mut config = server.config(Security::Opportunistic);
    config.credentials = Some(credentials());
    let error = Connection::open(&config).await.unwrap_err();
    assert_eq!(error.stage, OpenStage::Tls, "{error}");
    // A name that the certificate does not have.
    let server = Server::run(&[&format!("{OFFER}{START}")]).await;
    let mut config = server.trusted(Security::StartTls);
    config.host = "127.0.0.1".to_owned();
    let error = Connection::open(&config).await.unwrap_err();
    assert_eq!(error.stage, OpenStage::Tls, "{error}");
    assert!(error.error.contains("not valid for name"), "{error}");
    assert_eq!(error.tls, Some(TlsFailure::HostMismatch));
}

#[tokio::test]
async fn any_certificate_does_when_asked_or_opportunistic() {
    let script = format!("{OFFER}{START}{HELLO}{QUIT}");
    let server = Server::run(&[&script]).await;
    let mut config = server.config(Security::StartTls);
    config.accept_invalid_certs = true;
    let connection = Connection::open(&config).await.unwrap();
    assert!(connection.tls());
    connection.quit().await;
    let server = Server::run(&[&script]).await;
    let connection = Connection::open(&server.config(Security::Opportunistic)).await.unwrap();
    assert!(connection.tls());
    assert_eq!(connection.unencrypted(), None);
    assert!(connection.ends().is_some_and(|ends| ends.theirs.is_loopback()));
    connection.quit().await;
}

#[tokio::test]
async fn required_tls_is_required() {
    let server = Server::run(&["S: 220 hi\nC: EHLO client.test\nS: 250 hi\nS: [hold]"]).await;
    let error = Connection::open(&server.trusted(Security::StartTls)).await.unwrap_err();
    assert_eq!((error.stage, error.permanent), (OpenStage::Tls, true), "{error}");
    assert_eq!(error.tls, Some(TlsFailure::NotOffered));
    let server = Server::run(&[&format!("{OFFER}C: STARTTLS\nS: 454 not now\nS: [hold]")]).await;
    let error = Connection::open(&server.trusted(Security::StartTls)).await.unwrap_err();
    assert_eq!((error.stage, error.permanent), (OpenStage::Tls, false), "{error}");
}

#[tokio::test]
async fn opportunistic_tls_falls_back_but_never_with_credentials() {
    let plain = "S: 220 hi\nC: EHLO client.test\nS: 250-hi\nS: 250 STARTTLS\n";
    for (broken, failure) in [
        ("C: STARTTLS\nS: 454 not now\nS: [close]", TlsFailure::NotOffered),
        ("C: STARTTLS\nS: 220 go\nS: [close]", TlsFailure::Other),
        // right after the handshake, as a server does in TLS 1.3 that demands a certificate of the client
        ("C: STARTTLS\nS: 220 go\nS: [tls]\nS: [close]", TlsFailure::Other),
        ("C: STARTTLS\nS: 220 go\nS: [tls]\nC: EHLO client.test\nS: [close]", TlsFailure::Other),
    ] {
        let server = Server::run(&[&format!("{OFFER}{broken}"), &format!("{plain}{QUIT}")]).await;
        let connection = Connection::open(&server.config(Security::Opportunistic)).await.unwrap();
        assert!(!connection.tls());
        assert_eq!(connection.unencrypted().map(|(why, _)| why), Some(failure), "{broken}");
        connection.quit().await;
        server.contents().await;
    }
    // what is asked for is not given up
    let server = Server::run(&[&format!("{OFFER}{START}C: EHLO client.test\nS: [close]")]).await;
    let error = Connection::open(&server.trusted(Security::StartTls)).await.unwrap_err();
    assert_eq!((error.stage, error.permanent), (OpenStage::Hello, false), "{error}");
    // and a server that says no under TLS says it about something else
    let refusal = format!("{OFFER}{START}C: EHLO client.test\nS: 421 too busy\nS: [hold]");
    let server = Server::run(&[&refusal]).await;
    let error = Connection::open(&server.config(Security::Opportunistic)).await.unwrap_err();
    assert_eq!((error.stage, error.permanent), (OpenStage::Hello, false), "{error}");
    // a server that is silent about STARTTLS has the time of a handshake, not that of a reply
    let silent = format!("{OFFER}C: STARTTLS\nS: [hold]");
    let server = Server::run(&[&silent, &format!("{plain}{QUIT}")]).await;
    let mut config = server.config(Security::Opportunistic);
    config.timeouts.connect = std::time::Duration::from_millis(300);
    let connection = tokio::time::timeout(std::time::Duration::from_secs(5), Connection::open(&config)).await;
    connection.expect("the connection is opened in time").unwrap().quit().await;
    let server =
        Server::run(&["S: 220 hi\nC: EHLO client.test\nS: 250-hi\nS: 250 AUTH PLAIN\nS: [hold]"]).await;
    let mut config = server.config(Security::Opportunistic);
    config.credentials = Some(credentials());
    let error = Connection::open(&config).await.unwrap_err();
    assert_eq!((error.stage, error.permanent), (OpenStage::Auth, true), "{error}");
}

#[tokio::test]
async fn what_is_injected_before_the_handshake_is_not_believed() {
    let server =
        Server::run(&[&format!("{OFFER}C: STARTTLS\nS: [raw]220 go\\r\\n250 injected\\r\\n\nS: [hold]")])
            .await;
    let error = Connection::open(&server.trusted(Security::StartTls)).await.unwrap_err();
    assert_eq!(error.stage, OpenStage::Tls, "{error}");
}

#[tokio::test]
async fn a_break_under_tls_is_told_apart_too() {
    let begin = format!("S: [tls]\nS: 220 hi\n{HELLO}{MESSAGE}");
    let large = b"a line of the content\r\n".repeat(2_000_000);
    for (end, content) in [
        ("C: [some]\nS: [close]", &large[..]),
        ("C: [some]\nS: 552 too big\nS: [close]", &large),
        ("C: [content]\nS: [close]", b"x"),
    ] {
        let server = Server::run(&[&format!("{begin}{end}")]).await;
        let mut connection = Connection::open(&server.trusted(Security::ImplicitTls)).await.unwrap();
        connection.envelope("a@example.com", "b@example.org", 1).await.unwrap();
        let result = connection.content(b"", content).await;
        match (end, &result) {
            ("C: [some]\nS: [close]", Err(ContentError::LostBefore { .. }))
            | ("C: [content]\nS: [close]", Err(ContentError::InDoubt { .. })) => {}
            (_, Err(ContentError::Refused(reply))) if reply.code == 552 => {}
            _ => panic!("{end}: {result:?}"),
        }
        assert!(!connection.is_reusable());
    }
}
