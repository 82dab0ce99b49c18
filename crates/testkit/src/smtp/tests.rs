use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

use super::*;
use crate::tls::Certificate;

/// A client that writes lines and reads replies.
struct Client(BufReader<TcpStream>);

impl Client {
    async fn connect(server: &ScriptedServer) -> Self {
        Self(BufReader::new(TcpStream::connect(("127.0.0.1", server.port)).await.unwrap()))
    }

    async fn write(&mut self, text: &str) {
        self.0.get_mut().write_all(text.as_bytes()).await.unwrap();
    }

    /// The next reply without its line end, the last line when there are several; empty when there is none.
    async fn reply(&mut self) -> String {
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).await.is_err() {
                return String::new();
            }
            if line.as_bytes().get(3) != Some(&b'-') {
                return line.trim_end().to_owned();
            }
        }
    }

    async fn says(&mut self, line: &str) -> String {
        self.write(&format!("{line}\r\n")).await;
        self.reply().await
    }

    /// Greets and hands over one message; the reply that ended it.
    async fn hand_over(&mut self, to: &str, content: &str) -> String {
        self.says("MAIL FROM:<a@example.com>").await;
        let reply = self.says(&format!("RCPT TO:<{to}>")).await;
        if !reply.starts_with("250") {
            return reply;
        }
        assert_eq!(self.says("DATA").await, "354 go ahead");
        self.says(&format!("{content}\r\n.")).await
    }
}

async fn greeted(server: &ScriptedServer) -> Client {
    let mut client = Client::connect(server).await;
    assert!(client.reply().await.starts_with("220"));
    assert!(client.says("EHLO me").await.starts_with("250"));
    client
}

#[tokio::test]
async fn each_answer_is_given() {
    let server = ScriptedServer::start(|to, attempt| match (to, attempt) {
        ("refused@example.com", _) => Answer::RefuseRcpt(550, "5.1.1 unknown"),
        ("spam@example.com", _) => Answer::RefuseData(554, "5.7.1 no"),
        ("grey@example.com", 1) => Answer::RefuseRcpt(451, "4.7.1 later"),
        ("dot@example.com", _) => Answer::DropAfterDot,
        ("rcpt@example.com", _) => Answer::DropAtRcpt,
        ("mid@example.com", _) => Answer::DropMidData,
        ("slow@example.com", _) => Answer::Delay(Duration::from_millis(30)),
        _ => Answer::Accept,
    })
    .await;
    let mut client = greeted(&server).await;
    assert_eq!(client.hand_over("Ok@Example.com", "Subject: x\r\n\r\n..dot").await, "250 2.0.0 taken");
    assert_eq!(client.hand_over("refused@example.com", "x").await, "550 5.1.1 unknown");
    assert_eq!(client.hand_over("spam@example.com", "x").await, "554 5.7.1 no");
    assert_eq!(client.hand_over("grey@example.com", "x").await, "451 4.7.1 later");
    assert_eq!(client.hand_over("grey@example.com", "x").await, "250 2.0.0 taken");
    let since = Instant::now();
    assert_eq!(client.hand_over("slow@example.com", "x").await, "250 2.0.0 taken");
    assert!(since.elapsed() >= Duration::from_millis(30));
    assert_eq!(client.hand_over("dot@example.com", "x").await, "");
    assert_eq!(greeted(&server).await.hand_over("rcpt@example.com", "x").await, "");
    assert_eq!(greeted(&server).await.hand_over("mid@example.com", &"x".repeat(900)).await, "");

    let received = server.received_for("ok@example.com");
    assert_eq!(received[0].data, b"Subject: x\r\n\r\n.dot\r\n");
    assert_eq!((received[0].mail_from.as_str(), received[0].connection), ("a@example.com", 1));
    let all: Vec<_> = server.received().into_iter().flat_map(|message| message.rcpt_to).collect();
    assert_eq!(all, ["Ok@Example.com", "grey@example.com", "slow@example.com", "dot@example.com"]);
    assert_eq!(server.attempts_for("grey@example.com").len(), 2);
    assert_eq!(server.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn what_is_held_is_there_before_it_is_answered() {
    let server = ScriptedServer::start(|_, _| Answer::HoldAfterDot).await;
    let mut client = greeted(&server).await;
    let watched = async {
        while server.received().is_empty() {
            tokio::task::yield_now().await;
        }
        server.release();
    };
    let (reply, ()) = tokio::join!(client.hand_over("b@example.com", "x"), watched);
    assert_eq!(reply, "250 2.0.0 taken");
    assert_eq!(client.hand_over("b@example.com", "x").await, "250 2.0.0 taken");
    assert_eq!(server.received().len(), 2);
}

#[tokio::test]
async fn senders_are_refused() {
    let server = ScriptedServer::start(|_, attempt| match attempt {
        1 => Answer::RefuseMail(550, "5.7.1 not you"),
        _ => Answer::Accept,
    })
    .await;
    let mut client = greeted(&server).await;
    assert_eq!(client.says("MAIL FROM:<a@example.com>").await, "550 5.7.1 not you");
    assert_eq!(client.hand_over("b@example.com", "x").await, "250 2.0.0 taken");
    assert_eq!(server.refused_senders(), 1);
}

#[tokio::test]
async fn limits_are_kept() {
    let server = ScriptedServer::builder()
        .most_connections(1)
        .mails_per_connection(2)
        .mails_per_window(3, Duration::from_mins(1))
        .size(100)
        .start(|_, _| Answer::Accept)
        .await;
    let mut client = greeted(&server).await;
    assert_eq!(Client::connect(&server).await.reply().await, "421 4.7.0 too many connections");
    for _ in 0..2 {
        assert_eq!(client.hand_over("b@example.com", "x").await, "250 2.0.0 taken");
    }
    let too_many = client.says("MAIL FROM:<a@example.com>").await;
    assert_eq!(too_many, "452 4.5.3 too many messages on this connection");
    assert_eq!(client.says("QUIT").await, "221 2.0.0 bye");
    assert_eq!(client.reply().await, "");
    let mut client = greeted(&server).await;
    let too_large = client.says("MAIL FROM:<a@example.com> SIZE=101").await;
    assert_eq!(too_large, "552 5.3.4 message size exceeds fixed limit");
    let too_fast = client.says("MAIL FROM:<a@example.com> SIZE=100").await;
    assert_eq!(too_fast, "450 4.7.1 too much mail, come back later");
    assert_eq!((server.refused_connections(), server.refused_mails(), server.busiest()), (1, 2, 1));
    assert_eq!(server.helo_names(), ["me", "me"]);
}

#[tokio::test]
async fn pipelining_is_noticed() {
    let server = ScriptedServer::builder().pipelining(false).start(|_, _| Answer::Accept).await;
    let mut client = greeted(&server).await;
    client.write("MAIL FROM:<a@example.com>\r\nRCPT TO:<b@example.com>\r\n").await;
    assert_eq!(client.reply().await, "250 2.1.0 ok");
    assert_eq!(client.reply().await, "250 2.1.5 ok");
    assert_eq!(server.violations().len(), 1);
}

#[tokio::test]
async fn content_comes_by_bdat() {
    let server = ScriptedServer::builder().chunking().start(|to, _| match to {
        "spam@example.com" => Answer::RefuseData(554, "5.7.1 no"),
        "dot@example.com" => Answer::DropAfterDot,
        _ => Answer::Accept,
    });
    let server = server.await;
    let mut client = greeted(&server).await;
    assert_eq!(client.says("BDAT 3 LAST\r\nx").await, "503 5.5.1 RCPT first");
    for to in ["b@example.com", "spam@example.com"] {
        client.says("MAIL FROM:<a@example.com>").await;
        client.says(&format!("RCPT TO:<{to}>")).await;
        client.write("BDAT 5\r\n.a\r\n.").await;
        assert_eq!(client.reply().await, "250 2.0.0 and the next");
        client.write("BDAT 4 LAST\r\n.b\r\n").await;
        let expected = if to == "b@example.com" { "250 2.0.0 taken" } else { "554 5.7.1 no" };
        assert_eq!(client.reply().await, expected);
    }
    let received = server.received();
    assert_eq!((received.len(), &*received[0].data, received[0].chunks), (1, &b".a\r\n..b\r\n"[..], 2));
    assert_eq!(server.violations(), Vec::<String>::new());
    client.write("MAIL FROM:<a@example.com>\r\nRCPT TO:<b@example.com>\r\nBDAT 1 LAST\r\nx").await;
    for _ in 0..3 {
        assert!(client.reply().await.starts_with("250"));
    }
    let violations = server.violations();
    assert!(violations[0].contains("before the reply to RCPT"), "{violations:?}");
    assert!(violations[1].contains("without an end"), "{violations:?}");
    assert_eq!(violations.len(), 2);
}

#[tokio::test]
async fn chunks_are_offered_and_not_taken() {
    let server =
        ScriptedServer::builder().refusing_chunks(501, "5.5.4 no").start(|_, _| Answer::Accept).await;
    let mut client = greeted(&server).await;
    assert_eq!(client.says("BDAT 3\r\nx").await, "501 5.5.4 no");
    assert_eq!(client.reply().await, "502 5.5.1 unknown command");
    assert_eq!(server.unknown_commands(), ["x"]);
    let server = ScriptedServer::builder().closing_at_chunks().start(|_, _| Answer::Accept).await;
    assert_eq!(greeted(&server).await.says("BDAT 3\r\nx").await, "");
}

#[tokio::test]
async fn a_host_goes_down_and_comes_back() {
    let mut server = ScriptedServer::start(|_, _| Answer::Accept).await;
    let mut client = greeted(&server).await;
    server.stop().await;
    assert_eq!(client.reply().await, "");
    assert!(TcpStream::connect(("127.0.0.1", server.port)).await.is_err());
    server.start_again().await;
    server.set_greeting(Some((421, "4.3.2 busy")));
    assert_eq!(Client::connect(&server).await.reply().await, "421 4.3.2 busy");
    server.set_greeting(None);
    assert_eq!(greeted(&server).await.hand_over("b@example.com", "x").await, "250 2.0.0 taken");
}

#[tokio::test]
async fn mail_is_taken_after_starttls_and_login() {
    let certificate = Certificate::generate();
    let server = ScriptedServer::builder()
        .starttls(&certificate)
        .auth("user", "secret")
        .start(|_, _| Answer::Accept)
        .await;
    let mut client = greeted(&server).await;
    assert_eq!(client.says("MAIL FROM:<a@example.com>").await, "530 5.7.0 authentication required");
    assert_eq!(client.says("STARTTLS").await, "220 go ahead");

    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(certificate.chain());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    let stream = connector.connect("127.0.0.1".try_into().unwrap(), client.0.into_inner()).await.unwrap();
    let mut stream = BufReader::new(stream);
    let mut says = async |text: &str| {
        stream.get_mut().write_all(text.as_bytes()).await.unwrap();
        stream.get_mut().flush().await.unwrap();
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        line
    };
    assert_eq!(says("HELO me\r\n").await, "250 testkit\r\n");
    assert_eq!(
        says(&format!("AUTH PLAIN {}\r\n", STANDARD.encode("\0user\0wrong"))).await,
        "535 5.7.8 wrong user or password\r\n"
    );
    assert_eq!(says("AUTH LOGIN\r\n").await, "334 VXNlcm5hbWU6\r\n");
    assert_eq!(says(&format!("{}\r\n", STANDARD.encode("user"))).await, "334 UGFzc3dvcmQ6\r\n");
    assert_eq!(says(&format!("{}\r\n", STANDARD.encode("secret"))).await, "235 2.7.0 welcome\r\n");
    assert_eq!(says("MAIL FROM:<>\r\n").await, "250 2.1.0 ok\r\n");
    assert_eq!(says("RCPT TO:<b@example.com>\r\n").await, "250 2.1.5 ok\r\n");
    assert_eq!(says("DATA\r\n").await, "354 go ahead\r\n");
    assert_eq!(says("x\r\n.\r\n").await, "250 2.0.0 taken\r\n");
    let received = &server.received()[0];
    assert_eq!((received.tls, received.user.as_deref()), (true, Some("user")));
}
