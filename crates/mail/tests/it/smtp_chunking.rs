//! Content by BDAT (RFC 3030) against scripted servers.

use mailwright_mail::smtp::{Connection, ContentError, EnvelopeError, Reply, Security, Stage};

use crate::smtp_server::{Server, envelope, open};

/// How a session begins with a server that takes chunks.
const HELLO: &str = "S: 220 hi\nC: EHLO client.test\nS: 250-hi\nS: 250-PIPELINING\nS: 250 CHUNKING\n";
const ENVELOPE: &str = "C: MAIL FROM:<a@example.com>\nC: RCPT TO:<b@example.org>\n";
const TAKEN: &str = "S: 250 ok\nS: 250 ok\n";
const QUIT: &str = "C: QUIT\nS: 221 bye\n";

/// A connection after `script`, with the envelope accepted.
async fn accepted(script: &str) -> (Server, Connection) {
    let server = Server::run(&[&format!("{HELLO}{ENVELOPE}{TAKEN}{script}")]).await;
    let mut connection = open(&server).await;
    envelope(&mut connection).await.unwrap();
    (server, connection)
}

/// More than the buffers of both ends hold.
fn large() -> Vec<u8> {
    b"a line of the content\r\n".repeat(2_000_000)
}

#[tokio::test]
async fn content_goes_as_it_is_with_its_size() {
    let message = format!("{ENVELOPE}{TAKEN}C: BDAT 18 LAST\nC: [18 bytes]\nS: 250 2.0.0 queued\n");
    let server = Server::run(&[&format!("{HELLO}{message}{message}{QUIT}")]).await;
    let mut connection = open(&server).await;
    for _ in 0..2 {
        envelope(&mut connection).await.unwrap();
        assert!(!connection.is_reusable(), "it waits for content");
        let reply = connection.content(b"X: y\r\n", b".a\n.\r..b").await.unwrap();
        assert_eq!(reply, Reply { code: 250, enhanced: Some((2, 0, 0)), text: "2.0.0 queued".into() });
        assert!(connection.is_reusable());
    }
    connection.quit().await;
    assert_eq!(server.contents().await, ["X: y\r\n.a\r\n.\r\n..b\r\n"; 2]);
}

#[tokio::test]
async fn content_of_any_size_goes_in_one_chunk() {
    let (server, mut connection) = accepted("C: BDAT 0 LAST\nS: 250 ok").await;
    connection.content(b"", b"").await.unwrap();
    drop(connection);
    server.contents().await;
    let content = ".a line\r\n".repeat(30_000);
    let length = content.len();
    let (server, mut connection) =
        accepted(&format!("C: BDAT {length} LAST\nC: [{length} bytes]\nS: 250 ok")).await;
    connection.content(b"", content.as_bytes()).await.unwrap();
    drop(connection);
    assert!(server.contents().await == [content]);
}

#[tokio::test]
async fn content_that_is_refused_is_cleared_before_the_next() {
    for (code, is_closing) in [(451, false), (503, false), (554, false), (421, true)] {
        let next = if is_closing {
            String::new()
        } else {
            format!("C: RSET\n{ENVELOPE}S: 250 ok\n{TAKEN}C: BDAT 3 LAST\nC: [3 bytes]\nS: 250 ok\n")
        };
        let (server, mut connection) =
            accepted(&format!("C: BDAT 3 LAST\nC: [3 bytes]\nS: {code} no\n{next}S: [hold]")).await;
        match connection.content(b"", b"x").await {
            Err(ContentError::Refused(reply)) => assert_eq!(reply.code, code),
            other => panic!("{other:?}"),
        }
        assert_eq!(connection.is_reusable(), !is_closing);
        if !is_closing {
            envelope(&mut connection).await.unwrap();
            connection.content(b"", b"y").await.unwrap();
        }
        drop(connection);
        server.contents().await;
    }
}

#[tokio::test]
async fn a_refused_recipient_needs_no_empty_message() {
    let server = Server::run(&[&format!(
        "{HELLO}{ENVELOPE}S: 250 ok\nS: 550 no\nC: RSET\n{ENVELOPE}S: 250 ok\n{TAKEN}S: [hold]"
    )])
    .await;
    let mut connection = open(&server).await;
    let refused = envelope(&mut connection).await;
    assert!(matches!(refused, Err(EnvelopeError::Refused { stage: Stage::RcptTo, .. })), "{refused:?}");
    envelope(&mut connection).await.unwrap();
}

#[tokio::test]
async fn a_break_is_certain_before_the_last_bytes_and_in_doubt_after_them() {
    for end in ["S: [reset]", "S: [close]"] {
        let (_server, mut connection) = accepted(&format!("C: [some]\n{end}")).await;
        let result = connection.content(b"", &large()).await;
        assert!(matches!(result, Err(ContentError::LostBefore { .. })), "{end}: {result:?}");
        let (_server, mut connection) = accepted(&format!("C: BDAT 3 LAST\nC: [3 bytes]\n{end}")).await;
        let result = connection.content(b"", b"x").await;
        assert!(matches!(result, Err(ContentError::InDoubt { .. })), "{end}: {result:?}");
        assert!(!connection.is_reusable());
    }
}

#[tokio::test]
async fn without_chunks_where_they_are_not_wanted() {
    let server = Server::run(&[&format!(
        "{HELLO}{ENVELOPE}C: DATA\n{TAKEN}S: 354 go\nC: [content]\nS: 250 ok\n{QUIT}"
    )])
    .await;
    let mut config = server.config(Security::None);
    config.chunking = false;
    let mut connection = Connection::open(&config).await.unwrap();
    envelope(&mut connection).await.unwrap();
    connection.content(b"", b".x").await.unwrap();
    connection.quit().await;
    assert_eq!(server.contents().await, ["..x\r\n"]);
}

#[tokio::test]
async fn chunks_can_be_given_up_between_messages() {
    let server = Server::run(&[&format!(
        "{HELLO}{ENVELOPE}{TAKEN}C: BDAT 3 LAST\nC: [3 bytes]\nS: 250 ok\n{ENVELOPE}C: DATA\n{TAKEN}S: 354 go\n\
         C: [content]\nS: 250 ok\n{QUIT}"
    )])
    .await;
    let mut connection = open(&server).await;
    envelope(&mut connection).await.unwrap();
    connection.stop_chunking();
    assert!(connection.sends_chunks(), "the server waits for a chunk");
    connection.content(b"", b"x").await.unwrap();
    connection.stop_chunking();
    assert!(!connection.sends_chunks());
    envelope(&mut connection).await.unwrap();
    connection.content(b"", b".y").await.unwrap();
    connection.quit().await;
    assert_eq!(server.contents().await, ["x\r\n", "..y\r\n"]);
}
