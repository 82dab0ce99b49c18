//! Real connections: our own client, TLS, limits of time, shutdown.

use std::future::pending;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::network::{Client, Mailbox, connect, connect_until, within};
use super::player::config;
use crate::smtp::{Connection, RelayConfig, Security};
use crate::smtp_server::{Config, End, Refusal, Summary, refuse, serve};

const SHORT: Duration = Duration::from_millis(60);

/// A server's side of TLS for `localhost`, and its certificate.
fn tls() -> (TlsAcceptor, CertificateDer<'static>) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = made.cert.der().clone();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key.into())
        .unwrap();
    (TlsAcceptor::from(Arc::new(config)), certificate)
}

fn connector(certificate: CertificateDer<'static>) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

#[tokio::test]
async fn a_message_comes_as_it_was_sent() {
    let mut client = connect(config(), None);
    client.hear(220).await;
    client.begin().await;
    client.ask("Subject: x\r\n\r\n..\r\n.\r\n", 250).await;
    client.say("QUIT\r\n").await;
    let mailbox = client.mailbox.clone();
    let (last, summary) = client.end().await;
    assert_eq!((last.as_str(), summary.end, summary.messages), ("221 2.0.0 Goodbye\r\n", End::Quit, 1));
    let messages = mailbox.0.lock().unwrap();
    assert_eq!(messages[0].1, b"Subject: x\r\n\r\n.\r\n");
    assert_eq!(messages[0].0.client_name, "client.test");
}

#[tokio::test]
async fn our_own_client_is_served_with_and_without_tls() {
    let (acceptor, certificate) = tls();
    for security in [Security::None, Security::StartTls] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let mailbox = Mailbox::default();
        let (receiver, acceptor) = (mailbox.clone(), acceptor.clone());
        let server = tokio::spawn(async move {
            let (stream, address) = listener.accept().await.unwrap();
            serve(stream, address.ip(), Arc::new(config()), Some(acceptor), &receiver, pending()).await
        });
        let relay = RelayConfig::new("localhost", port, security);
        let mut relay = relay.with_extra_roots(vec![certificate.clone()]);
        relay.helo_name = "client.test".to_owned();
        let mut connection = Connection::open(&relay).await.unwrap();
        assert_eq!(connection.max_size(), Some(25 * 1024 * 1024));
        assert!(connection.envelope("a@example.com", "unknown@example.net", 9).await.is_err());
        let content = b".a line\r\n..\r\n".repeat(200_000);
        for _ in 0..2 {
            connection.envelope("a@example.com", "b@example.net", content.len()).await.unwrap();
            connection.content(b"Subject: x\r\n\r\n", &content).await.unwrap();
        }
        connection.quit().await;
        let summary = within(server).await.unwrap();
        assert_eq!((summary.end, summary.messages), (End::Quit, 2));
        assert_eq!(summary.tls, security == Security::StartTls);
        let messages = mailbox.0.lock().unwrap();
        let expected = [b"Subject: x\r\n\r\n", &content[..]].concat();
        assert!(messages.iter().all(|(_, received)| *received == expected));
        assert_eq!(messages[0].0.protocol(), if summary.tls { "ESMTPS" } else { "ESMTP" });
    }
}

#[tokio::test]
async fn tls_begins_anew_over_any_stream() {
    let (acceptor, certificate) = tls();
    let mut client = connect(config(), Some(acceptor));
    client.hear(220).await;
    assert!(client.ask("EHLO client.test\r\n", 250).await.contains("250-STARTTLS\r\n"));
    client.ask("MAIL FROM:<a@example.com>\r\n", 250).await;
    client.ask("STARTTLS\r\n", 220).await;
    let name = ServerName::try_from("localhost").unwrap();
    let stream = within(connector(certificate).connect(name, client.stream)).await.unwrap();
    let mut client = Client { stream, server: client.server, mailbox: client.mailbox };
    client.ask("RCPT TO:<b@example.net>\r\n", 503).await;
    client.ask("MAIL FROM:<a@example.com>\r\n", 503).await;
    client.begin().await;
    client.ask("x\r\n.\r\n", 250).await;
    assert_eq!(client.mailbox.0.lock().unwrap()[0].0.tls, Some("TLSv1_3"));
    client.say("QUIT\r\n").await;
    let (_, summary) = client.end().await;
    assert_eq!((summary.end, summary.tls), (End::Quit, true));
}

#[tokio::test]
async fn a_handshake_that_fails_ends_it() {
    let (acceptor, _) = tls();
    let mut slow = config();
    slow.timeouts.handshake = SHORT;
    for (config, say) in [(config(), "EHLO evil.test\r\n"), (slow, "")] {
        let mut client = connect(config, Some(acceptor.clone()));
        client.hear(220).await;
        client.ask("EHLO client.test\r\n", 250).await;
        client.ask("STARTTLS\r\n", 220).await;
        client.say(say).await;
        assert_eq!(client.end().await.1.end, End::Handshake);
    }
}

#[tokio::test]
async fn a_client_that_talks_first_is_refused() {
    let mut patient = config();
    patient.timeouts.greeting = Duration::from_secs(10);
    let mut client = connect(patient, None);
    client.say("EHLO client.test\r\n").await;
    let (last, summary) = client.end().await;
    assert_eq!((last.as_str(), summary.end), ("554 5.5.0 You talk before you are greeted\r\n", End::Refused));
}

/// The defaults, but for something.
fn with(change: impl FnOnce(&mut Config)) -> Config {
    let mut config = config();
    change(&mut config);
    config
}

#[tokio::test]
async fn clients_have_a_time_for_a_command() {
    // they say nothing, or a piece of a command
    for say in ["", "NO"] {
        let mut client = connect(with(|config| config.timeouts.command = SHORT), None);
        client.hear(220).await;
        client.say(say).await;
        let (last, summary) = client.end().await;
        assert_eq!((last.as_str(), summary.end), ("421 4.4.2 It takes too long\r\n", End::TimedOut));
    }
}

#[tokio::test]
async fn a_session_ends_however_much_there_is_to_say() {
    let config = with(|config| (config.timeouts.session, config.limits.commands) = (SHORT, u32::MAX));
    let mut client = connect(config, None);
    client.hear(220).await;
    let (heard, summary) = talk_on(client, b"NOOP\r\n").await;
    assert_eq!(summary.end, End::TimedOut);
    assert!(heard.ends_with("421 4.4.2 It takes too long\r\n"), "{heard}");
}

#[tokio::test]
async fn content_has_a_time() {
    let silent = with(|config| config.timeouts.block = SHORT);
    let slow = with(|config| (config.timeouts.block, config.timeouts.slowest) = (SHORT * 3, u32::MAX));
    let long = with(|config| config.timeouts.message = SHORT);
    for (config, say) in [(silent, &b""[..]), (slow, b"x\r\n"), (long, b"x\r\n")] {
        let mut client = connect(config, None);
        client.hear(220).await;
        client.begin().await;
        let mailbox = client.mailbox.clone();
        let (heard, summary) = talk_on(client, say).await;
        assert_eq!((heard.as_str(), summary.end), ("421 4.4.2 It takes too long\r\n", End::TimedOut));
        assert!(mailbox.0.lock().unwrap().is_empty());
    }
}

/// Says the same until the server closes: what it said, and why it ended.
async fn talk_on(client: Client<DuplexStream>, say: &[u8]) -> (String, Summary) {
    let (mut input, mut output) = tokio::io::split(client.stream);
    let talk = async { while !say.is_empty() && output.write_all(say).await.is_ok() {} };
    let mut heard = String::new();
    let ((), result) = within(async { tokio::join!(talk, input.read_to_string(&mut heard)) }).await;
    result.unwrap();
    drop((input, output));
    (heard, within(client.server).await.unwrap())
}

#[tokio::test]
async fn each_message_has_a_time_of_its_own() {
    let limit = Duration::from_millis(600);
    let config = with(|config| {
        config.timeouts.message = limit;
        (config.limits.messages, config.limits.commands) = (u32::MAX, u32::MAX);
    });
    let mut client = connect(config, None);
    client.hear(220).await;
    client.begin().await;
    let began = Instant::now();
    // the session never waits for a command: the next message comes with the end of the last one
    while began.elapsed() < limit * 2 {
        let group = "x\r\n.\r\nMAIL FROM:<>\r\nRCPT TO:<b@example.net>\r\nDATA\r\n";
        client.ask(group, 354).await;
    }
}

#[tokio::test]
async fn a_client_that_is_still_sending_hears_why_it_is_refused() {
    let mut client = connect(config(), None);
    client.hear(220).await;
    client.begin().await;
    client.ask("smuggled\n.\r\n", 554).await;
    // a connection that is closed at once would be reset by this, and the reply perhaps lost
    client.say(&"x".repeat(100_000)).await;
    assert_eq!(client.end().await.1.end, End::Refused);
}

#[tokio::test]
async fn a_client_that_is_gone_is_forgotten() {
    for begin in [false, true] {
        let mut client = connect(config(), None);
        client.hear(220).await;
        if begin {
            client.begin().await;
            client.say("half a message\r\n").await;
        }
        let mailbox = client.mailbox.clone();
        drop(client.stream);
        let summary = within(client.server).await.unwrap();
        assert_eq!((summary.end, summary.messages), (End::Gone, 0));
        assert!(mailbox.0.lock().unwrap().is_empty());
    }
}

#[tokio::test]
async fn a_verdict_that_does_not_come_is_not_waited_for() {
    let mut client = connect(with(|config| config.timeouts.verdict = SHORT), None);
    client.hear(220).await;
    client.ask("EHLO client.test\r\n", 250).await;
    client.ask("MAIL FROM:<a@example.com>\r\n", 250).await;
    assert_eq!(client.ask("RCPT TO:<never@example.net>\r\n", 451).await, "451 4.3.0 Try again later\r\n");
    client.ask("RCPT TO:<b@example.net>\r\n", 250).await;
}

#[tokio::test]
async fn a_client_that_does_not_read_is_left() {
    let mut client = connect(with(|config| config.timeouts.write = SHORT), None);
    // more than the stream holds, and nothing is read
    let replies = "EHLO client.test\r\n".repeat(30);
    client.hear(220).await;
    client.say(&replies).await;
    assert_eq!(within(client.server).await.unwrap().end, End::TimedOut);
}

async fn told(mut orders: watch::Receiver<Option<End>>) -> End {
    // who cannot tell any more has shut down
    orders.wait_for(Option::is_some).await.ok().and_then(|end| *end).unwrap_or(End::ShutDown)
}

#[tokio::test]
async fn a_shutdown_ends_sessions_between_commands() {
    let (orders, receiver) = watch::channel(None);
    let mut client = connect_until(config(), None, told(receiver));
    client.hear(220).await;
    client.ask("EHLO client.test\r\n", 250).await;
    orders.send_replace(Some(End::ShutDown));
    let (last, summary) = client.end().await;
    assert_eq!((last.as_str(), summary.end), ("421 4.3.2 The server is shutting down\r\n", End::ShutDown));
}

#[tokio::test]
async fn a_shutdown_lets_a_message_come_to_its_end() {
    for is_slow in [false, true] {
        let (orders, receiver) = watch::channel(None);
        let grace = if is_slow { SHORT } else { Duration::from_secs(20) };
        let mut client = connect_until(with(|config| config.timeouts.grace = grace), None, told(receiver));
        client.hear(220).await;
        client.begin().await;
        client.say("half a message\r\n").await;
        orders.send_replace(Some(End::ShutDown));
        if !is_slow {
            client.ask("and the rest\r\n.\r\n", 250).await;
        }
        let (last, summary) = client.end().await;
        assert_eq!(last, "421 4.3.2 The server is shutting down\r\n");
        assert_eq!((summary.end, summary.messages), (End::ShutDown, u32::from(!is_slow)));
    }
}

#[tokio::test]
async fn a_connection_that_makes_room_hears_why_and_is_not_waited_for() {
    // a message that is being received has no time more
    for begin in [false, true] {
        let (orders, receiver) = watch::channel(None);
        let mut client = connect_until(config(), None, told(receiver));
        client.hear(220).await;
        if begin {
            client.begin().await;
            client.say("half a message\r\n").await;
        }
        orders.send_replace(Some(End::NoRoom));
        assert_eq!(client.hear(421).await, "421 4.3.2 Too busy, try again later\r\n");
        // it ends although the client does not close
        let summary = within(client.server).await.unwrap();
        assert_eq!((summary.end, summary.messages), (End::NoRoom, 0));
    }
}

#[tokio::test]
async fn a_connection_without_a_place_is_refused_at_once() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (stream, _) = listener.accept().await.unwrap();
    refuse(stream, &Refusal::too_many_connections());
    let mut heard = String::new();
    within(client.read_to_string(&mut heard)).await.unwrap();
    assert_eq!(heard, "421 4.7.0 Too many connections, try again later\r\n");
}

#[tokio::test]
async fn a_thousand_idle_connections_stop_nobody() {
    let mut idle = Vec::new();
    for _ in 0..1000 {
        let mut client = connect(config(), None);
        client.hear(220).await;
        client.ask("EHLO client.test\r\n", 250).await;
        idle.push(client);
    }
    let mut client = connect(config(), None);
    client.hear(220).await;
    client.begin().await;
    client.ask("x\r\n.\r\n", 250).await;
    assert_eq!(client.mailbox.0.lock().unwrap().len(), 1);
    assert!(idle.iter().all(|client| !client.server.is_finished()));
}

#[test]
fn a_connection_that_waits_is_small() {
    let (_, stream) = duplex(1);
    let mailbox = Mailbox::default();
    let address = "192.0.2.1".parse().unwrap();
    let future = serve(stream, address, Arc::new(config()), None, &mailbox, pending());
    let size = size_of_val(&future);
    assert!(size < 2048, "{size} bytes");
}
